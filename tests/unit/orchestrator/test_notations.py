"""What a page's notation says is gone or forbidden is no step, wherever it stands; tables are read by rows."""

import pytest

from knowledge_rag.orchestrator.html_tables import in_markdown
from tests.support.runbooks import actions, advised, alert, question

PAGE = "runbooks/pool.md"
STEPS = "# Pool\n\n## Pool exhausted\n\n1. Look.\n{}\n3. Check.\n"


def given(step, *, asked="pool exhausted", page=STEPS):
    steps = advised(question(asked), {PAGE: page.format(step)}).guidance
    return ["\n".join(dict.fromkeys((it.action, *it.commands))) for it in steps]


@pytest.mark.parametrize(
    ("step", "left"),
    [
        ("2. Free:\n   - ~~all~~\n   - unseen", "Free:\n- unseen"),
        ("2. Free:\n   a. ~~all~~\n   b. unseen", "Free:\nb. unseen"),
        ("2. Free:\n   - ❌ all\n   - ✔️ unseen", "Free:\n- ✔️ unseen"),
        ("2. Free:\n   - old: all\n   - new: unseen", "Free:\n- new: unseen"),
        ("2. Free:\n   <del>all</del>\n   unseen", "Free:\nunseen"),
        ("2. Free:\n\n   ```diff\n   - all\n   + unseen\n   ```\n", "Free:\n+ unseen"),
        ("2. Free:\n\n   ```\n   unseen\n   all  # DON'T: takes all\n   ```\n", "Free:\nunseen"),
        ("2. {- all -}", None),
        ("2. ~~Free:~~\n   `all`", None),
        ("2. (deleted 2024-05, see CHG-1) all", None),
        ("2. all (N/A since v5, sends duplicates)", None),
    ],
)
def test_a_line_that_its_notation_takes_back_is_left_out_of_its_step(step, left):
    first, *between, last = given(step)
    assert (first, last) == ("Look.", "Check.")
    assert between == ([left] if left else [])


@pytest.mark.parametrize(
    "comment", ["# only on staging: never in prod", "# don't forget the unit", "# 10 GB"]
)
def test_a_comment_behind_a_command_that_forbids_nothing_leaves_it(comment):
    (step,) = given(f"```\nfree --unseen  {comment}\n```", page="# Pool exhausted\n\n{}\n")
    assert comment in step


@pytest.mark.parametrize("heading", ["Also tried", "What others do", "Old pool (removed in 2024)"])
def test_a_section_of_what_nobody_should_do_gives_no_steps(heading):
    page = f"# Pool\n\n## Pool exhausted\n\n1. Look.\n\n## {heading}\n\n1. Free all of the exhausted pool.\n"
    assert actions(advised(question("pool exhausted"), {PAGE: page})) == ["Look."]


def test_a_tab_of_python_markdown_is_one_and_says_whether_it_is_gone():
    page = "# Pool\n\n## Pool exhausted\n\n/// tab | v3\n\n1. Look.\n\n///\n\n/// tab | v2 (none left since 2023)\n\n1. Free all.\n\n///\n"
    recommendation = advised(question("pool exhausted"), {PAGE: page})
    assert actions(recommendation) == ["Look."]
    assert [it.heading for it in recommendation.procedures[0].not_shown] == [
        "v2 (none left since 2023)"
    ]


def test_what_a_comment_of_obsidian_hides_is_no_step():
    assert given("%%\n- Free all.\n%%", page="# Pool exhausted\n\n- Look.\n\n{}\n") == ["Look."]


@pytest.mark.parametrize(
    ("head", "cell"),
    [("Still valid?", "❌ since v9"), ("Valid", "no, collisions"), ("Status", "retired 2024")],
)
def test_a_row_whose_column_says_that_it_does_not_hold_is_no_step_nor_the_best_case(head, cell):
    page = (
        f"# Pool\n\n| Situation | Action | {head} |\n|---|---|---|\n| pool hangs, drive error | reset | {cell} |\n"
        "| pool hangs | unload | yes |\n| pool is empty | fill | yes |\n"
    )
    assert not any(
        "reset" in it for it in given("", asked="pool hangs with a drive error", page=page)
    )


def test_what_to_do_with_what_is_gone_is_a_step():
    page = "# Pods\n\n| Symptom | What to do |\n|---|---|\n| pods vanish | Removed pods: apply them again |\n"
    assert "apply them again" in given("", asked="pods vanish", page=page)[0]


@pytest.mark.parametrize(("today", "is_old"), [("today", True), ("–", True), ("2030-01", False)])
def test_a_row_until_a_date_is_old_where_another_one_holds_today(today, is_old):
    rows = f"| 2019 | 2022-08 | restart |\n| 2022-08 | {today} | reload |\n"
    page = f"# Reload\n\n| Since | Until | Step |\n|---|---|---|\n{rows}"
    assert any("restart" in it for it in given("", asked="reload", page=page)) is not is_old


@pytest.mark.parametrize(
    "facts",
    [
        "| | |\n|---|---|\n| **Owner** | Ann |\n| **Do not use** | in December |\n",
        "<table>\n<tr><th>Owner</th><td>Ann</td></tr>\n<tr><th>Valid for</th><td>building B</td></tr>\n</table>\n",
    ],
)
def test_facts_of_a_page_that_limit_it_come_with_its_steps(facts):
    page = f"# Array\n\n{facts}\n## Failover\n\n1. Look.\n\n## Parts\n\n- Room 1.\n"
    (step,) = advised(question("failover of the array"), {PAGE: page}).guidance
    said = " ".join(it.text for it in step.guards)
    assert "in December" in said or "building B" in said
    assert "Ann" not in said


class TestHtmlTables:
    ROWS = "<tr><th>Code</th><th>Action</th></tr>\n<tr><td>E12</td><td>1. Call. <br/>2. <code>isolate &lt;id&gt;</code></td></tr>\n<tr><td>E31</td><td>Heat it.</td></tr>\n<tr><td>E40</td><td>Stop.</td></tr>\n"

    def test_rows_are_cases_of_their_own(self):
        page = f"# Charger faults\n\n<table>\n{self.ROWS}</table>\n"
        given = actions(advised(question("charger shows E31"), {PAGE: page}))
        assert given == ["Code: E31 | Action: Heat it."]

    def test_codes_of_two_columns_tell_the_row(self):
        page = "# Charger\n\n| Code | Type | Action |\n|---|---|---|\n| E12 | K150 | Isolate it. |\n| E12 | P450 | Reset it. |\n| E31 | both | Heat it. |\n"
        given = actions(advised(question("charger plug stuck, K150 shows E12"), {PAGE: page}))
        assert given == ["Code: E12 | Type: K150 | Action: Isolate it."]

    def test_a_number_in_the_first_column_is_a_code(self):
        page = "# Jobs\n\n| Exit code | Do |\n|---|---|\n| 137 | more memory |\n| 69 | new file |\n| 1 | encode job again |\n"
        given = actions(advised(question("encode job, exit code 137"), {PAGE: page}))
        assert given == ["Exit code: 137 | Do: more memory"]

    @pytest.mark.parametrize(
        "html",
        [
            "<table><tr><th>A</th></tr></table>",
            "<table>\n<tr><td>a\n</td></tr>\n</table>",
            "<table>\n<tr><td>a</td></tr><tr><td>b</td></tr>\n</table>",
            "<table>\n<tr><td>a</td></tr>\nwords\n<tr><td>b</td></tr>\n</table>",
            "```\n<table>\n<tr><td>a</td></tr>\n</table>\n```",
            "<table>\n<tr><td>a</td></tr>",
        ],
    )
    def test_any_other_stays_as_it_is(self, html):
        assert in_markdown(dict(enumerate(html.split("\n")))) == {}

    def test_without_heads_rows_are_facts(self):
        html = "<table><tbody>\n<tr><th>Owner</th><td>a | b</td></tr>\n</tbody></table>"
        assert in_markdown(dict(enumerate(html.split("\n")))) == {
            0: "",
            1: "**Owner:** a \\| b",
            2: "",
        }


def test_a_code_that_a_table_of_codes_lacks_is_not_answered_with_another_one():
    page = "# Charger\n\nK150.\n\n| Code | Action |\n|---|---|\n| E12 | Isolate it. |\n| E31 | Heat it. |\n"
    assert actions(advised(question("charger K150 shows E33"), {PAGE: page})) == []
    assert actions(advised(question("charger K150 shows E12"), {PAGE: page})) != []


def test_a_section_under_another_number_is_not_meant():
    page = "# GPU\n\n## Xid 13 errors of a gpu node\n\n1. Restart.\n\n## Xid 79\n\n1. Cordon.\n"
    assert actions(advised(question("gpu node shows xid 79 errors"), {PAGE: page})) == ["Cordon."]


def test_a_section_of_two_numbers_is_meant_by_either():
    page = "# DC\n\n## One is broken (event 2213 or 4012)\n\n1. Look.\n\n## All are broken (event 4114)\n\n1. Wipe.\n"
    asked = "sysvol is broken on one, event 4012"
    assert actions(advised(question(asked), {PAGE: page})) == ["Look."]


def test_a_table_of_contents_is_no_list_of_steps():
    page = "# Db\n\n- [Failover](#failover)\n- [Restore](#restore)\n\n## Failover\n\n1. Look.\n\n## Restore\n\n1. Wipe.\n"
    assert actions(advised(question("failover of the db"), {PAGE: page})) == ["Look."]


def test_numbered_headings_with_an_alerts_name_are_matters_of_their_own():
    page = (
        "# Gateways\n\n## 1. Is it us\n\n- Look.\n\n## 2. One farm silent (alert FarmTelemetryStale)\n\n- Ping it.\n\n"
        "## 3. Time is wrong\n\n- `chrony restart`\n"
    )
    given = advised(alert("FarmTelemetryStale"), {PAGE: page})
    assert actions(given) == ["Ping it."]


def test_a_section_for_an_alert_may_say_so_in_its_first_words():
    page = "# List\n\n## Rebuild\n\nFor `HotlistCorrupt`, or if somebody asks for it.\n\n1. Build.\n\n## Back\n\n1. Restore.\n"
    given = advised(alert("HotlistCorrupt"), {PAGE: page})
    assert actions(given) == ["Build."]


def test_a_label_of_going_back_may_be_a_word():
    page = "# Source\n\n## Switch to the fallback\n\n1. Call.\n2. Set fallback.\n\nBack:\n\n1. Set model.\n"
    asked = "runs are fine again, how do I get off the fallback"
    assert actions(advised(question(asked), {PAGE: page})) == ["Set model."]
