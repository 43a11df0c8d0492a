"""Inputs that no one writes by hand: each is read in one pass, or up to a limit.

Nothing is timed: a search for each item, or from each blank, would not end.
"""

from __future__ import annotations

from datetime import date

import pytest

from knowledge_rag.drift import links
from knowledge_rag.drift.actions import check_items, items_in
from knowledge_rag.drift.check import World, check_documents
from knowledge_rag.drift.code import MAX_NAME, MAX_TAILS, read_code, tails
from knowledge_rag.drift.figures import MAX_EXPRESSION, figures_of, of_rule
from knowledge_rag.drift.findings import Check, near
from knowledge_rag.drift.history import Commit
from knowledge_rag.drift.links import check_links
from knowledge_rag.drift.page import MAX_HEADING, Code, read_page
from knowledge_rag.drift.settings import MAX_VALUES, settings_in, values_in
from knowledge_rag.drift.shell import commands_in
from knowledge_rag.drift.upkeep import Ages
from knowledge_rag.guardrails.retired import is_retired
from knowledge_rag.orchestrator.governing import warns
from tests.support.local import write_files
from tests.unit.drift.conftest import world_of

MILLION = 1_000_000


def shell(text: str, *tools: str) -> list[list[str]]:
    codes = [
        Code(text, tuple((n, 1) for n, _ in enumerate(text.split("\n"), 1)), "sh", is_block=True)
    ]
    return [[it.text for it in one.words] for one in commands_in(codes, frozenset(tools))]


@pytest.mark.parametrize(
    ("heading", "anchor"), [("# a" + " " * MILLION + "{b", "a"), ("# b {#" + "a" * MILLION, "b")]
)
def test_a_heading_that_opens_an_id_and_does_not_close_it_has_none(heading, anchor):
    page = read_page("a.md", f"{heading}\n\n# c {{#own}}\n")
    assert {"own", "c"} < page.anchors
    assert len(page.headings) == 2
    assert any(it.startswith(anchor) for it in page.anchors)


def test_a_paragraph_of_opening_brackets_has_the_links_before_them():
    page = read_page("a.md", "x [b](c.md)\n" + "[\n" * 20_000)
    assert [(it.target, it.line, it.column) for it in page.links] == [("c.md", 1, 7)]


@pytest.mark.parametrize("text", ["[" * 40_000, "![a](" * 10_000, "[" * 20_000 + "]" * 20_000])
def test_brackets_that_nest_without_an_end_are_text(text):
    page = read_page("a.md", f"{text}\n\n`b`\n")
    assert [it.text for it in page.codes] == ["b"]


def test_each_of_many_reference_links_has_its_own_place():
    page = read_page("a.md", "[a]: x.md\n\n" + "[a]\n" * 10_000)
    assert [(it.line, it.column, it.end_column) for it in page.links] == [
        (line, 1, 4) for line in range(3, 10_003)
    ]


def test_each_of_many_spans_that_wrap_has_its_own_place():
    page = read_page("a.md", "`kubectl get\n--al`\n" * 5_000)
    assert [it.places for it in page.codes] == [
        ((line, 2), (line + 1, 1)) for line in range(1, 10_000, 2)
    ]


def test_a_wide_table_is_one_paragraph_for_each_row():
    wide = "|a" * 5_000 + "|\n" + "|-" * 5_000 + "|\n" + "|`b`" * 5_000 + "|\n"
    page = read_page("a.md", wide)
    assert [it.line for it in page.paragraphs] == [1, 3]
    assert [it.places[0][1] for it in page.codes] == list(range(3, 20_000, 4))


def test_dead_anchors_are_compared_with_headings_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(links, "MAX_COMPARED", 20_000)
    headings = "".join(f"# heading{n}z\n" for n in range(1_000))
    page = read_page("a.md", f"{headings}\n" + "[a](#headinq1z)\n\n" * 1_000)
    fixes = [it.fix for it in check_links(page, {"a.md": page.anchors}, lambda _: False)]
    compared = links.MAX_COMPARED // len(page.anchors)
    assert all(fixes[:compared])
    assert fixes[compared:] == [""] * (1_000 - compared)


def test_no_like_word_is_looked_for_if_a_word_is_too_long():
    assert near("a" * MILLION, ["a" * MILLION]) == ""


@pytest.mark.parametrize(
    "text", ["{{" * 49_000, "{%" * 49_000, "<%" * 49_000, "[[ a =~ (" * 10_000]
)
def test_placeholders_and_conditions_without_an_end_do_not_stop_a_block(text):
    assert [it[:2] for it in shell(f"aws s3\n: {text}\n", "aws")] in ([["aws", "s3"]], [])


def test_a_block_that_a_parser_reads_over_and_over_is_left_out():
    assert shell("aws s3\n: " + "[[ a =~ (" * 10_000, "aws") == []


def test_commands_that_start_commands_may_be_many():
    assert shell("sudo " * 15_000 + "aws s3 ls", "aws") == [["aws", "s3", "ls"]]
    assert shell("kubectl -- " * 5_000 + "get", "kubectl") == [["kubectl"]] * 5_000


def agreeing(tmp_path, text: str, **files: str):
    write_files(tmp_path / "code", {name.replace("_", "."): it for name, it in files.items()})
    world = world_of(tmp_path / "code", Check.AGREEMENT, Check.NAMES)
    return [(it.line, it.message) for it in check_documents([("a.md", text)], world)]


RULE = "groups:\n- name: a\n  rules:\n  - {alert: A, expr: 'x > 1', for: 10m}\n"


def test_an_alert_of_a_block_may_have_any_number_of_blanks_in_its_name(tmp_path):
    quoted = (
        f"```yaml\nalert: a{' ' * MILLION}b\nfor: 5m\n```\n\n```yaml\nalert: A  \nfor: 5m\n```\n"
    )
    found = agreeing(tmp_path, quoted, a_yaml=RULE)
    assert found == [(8, "A in a.yaml has for: 10m, not 5m")]


def test_each_wait_of_a_block_belongs_to_the_last_alert_before_it(tmp_path):
    quoted = "```yaml\n" + "- alert: B\n" * 100_000 + "- alert: A\n" + "for: 5m\n" * 900 + "```\n"
    found = agreeing(tmp_path, quoted, a_yaml=RULE)
    assert [line for line, _ in found] == list(range(100_003, 100_903))


def test_a_long_heading_is_compared_by_its_beginning(tmp_path):
    text = f"# {'a' * MILLION}\n\n" + "The alert fires for 5 minutes. " * 2_000
    assert agreeing(tmp_path, text, a_yaml=RULE.replace("alert: A", "alert: B")) == []
    (line, above), *_ = read_page("a.md", text).sections
    assert (line, above) == (1, ("a" * MAX_HEADING,))


def test_a_review_is_found_behind_one_that_is_no_date():
    ages = Ages(date(2026, 1, 1), 10, lambda _: (), lambda _: False, lambda _: {})
    text = f"---\nreviewed: a{' ' * 60_000}b\nlast_reviewed: 2025-01-01  \n---\n# a\n"
    world = World(lambda _: True, frozenset({Check.AGE}), ages=ages)
    assert [(it.line, it.column) for it in check_documents([("a.md", text)], world)] == [(3, 16)]


@pytest.mark.parametrize(
    "text", ["*_#|\n" * 200_000, f"status {'* ' * MILLION}", f"status {'*' * MILLION}"]
)
def test_marks_alone_do_not_retire_a_page(text):
    assert not is_retired("a.md", None, [], [(True, text)])
    assert is_retired("a.md", None, [], [(True, f"{text} status: deprecated")])


def dangers(text: str) -> list[int]:
    world = World(lambda _: True, frozenset({Check.DANGER}), warns=warns)
    return [it.line for it in check_documents([("a.md", text)], world)]


DELETE = "```sh\nkubectl delete pvc data\n```\n"


def test_blank_lines_of_a_block_are_no_log():
    assert dangers("```sh\nkubectl delete pvc data\n" + "\n" * 95_000 + "x\n```\n") == [2]


def test_each_section_is_read_once_for_its_warnings():
    read = []
    text = "# a\n\nx\n\n" + f"{DELETE}\n" * 1_000 + f"## b\n\n{DELETE}\n" * 1_000
    world = World(lambda _: True, frozenset({Check.DANGER}), warns=lambda it: bool(read.append(it)))
    assert len(check_documents([("a.md", text)], world)) == 2_000
    assert sum(map(len, read)) < 4 * len(text)


def test_a_warning_holds_for_every_block_behind_it():
    warned = f"Warning: data loss.\n\n{DELETE}\n" + f"{DELETE}\n" * 20
    assert dangers(f"# a\n\n{DELETE}\n\n\n\n\n{warned}# b\n\n{DELETE}") == [4, 100]


@pytest.mark.parametrize(
    "text", ["a: 1\n" + "\n" * MILLION, "a: " + " ," * MILLION, "kind: A\n#" + "{{" * MILLION]
)
def test_a_definition_is_told_by_its_keys_alone(tmp_path, text):
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.yaml").write_text("kind: Job\nmetadata: {name: 'a-{{ x }}-b'}\n")
    assert read_code([tmp_path], frozenset(), tmp_path / "docs").names["job"]


QUEUE = "Resources:\n  A:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: "


def test_a_name_that_is_too_long_defines_nothing(tmp_path):
    write_files(
        tmp_path,
        {
            "a.yaml": f'{QUEUE}"{"${" * MILLION}"\n',
            "b.yaml": f'x: &a "{"b" * 100_000}"\n{QUEUE}{{"Fn::Join": ["", [{",".join(["*a"] * 20_000)}]]}}\n',
            "c.yaml": f"kind: Job\nmetadata:\n  name: {'a-' * MILLION}b\n",
            "d.yaml": f"{QUEUE}orders-${{x}}-main\n",
        },
    )
    names = read_code([tmp_path], frozenset(), tmp_path / "docs").names
    assert list(names["queue"]) == ["orders-\x02-main"]
    assert "job" not in names
    assert all(len(it) <= MAX_NAME for of in names.values() for it in of)


def test_a_word_of_many_parts_is_looked_at_once(tmp_path):
    (tmp_path / "a.js").write_text("a-" * MILLION + "orders-db-main")
    wanted = frozenset(("orders-db-main", "main", "b-main", "rders-db-main", "a-a"))
    assert read_code([tmp_path], wanted, tmp_path / "docs").words == {"orders-db-main", "main"}
    assert len(list(tails("a-" * 1_000 + "b"))) == 1 + MAX_TAILS


def test_a_name_with_many_parts_that_are_filled_in_is_compared_part_by_part(tmp_path):
    name = "x" + "${var.x}a" * 30 + "b"
    (tmp_path / "a.tf").write_text(f'resource "aws_sqs_queue" "a" {{\n name = "{name}"\n}}\n')
    text = f"`x{'a' * 60}-c` `x{'a-' * 30}b` `xaa-b`\n"
    assert agreeing(tmp_path, text, b_tf=(tmp_path / "a.tf").read_text()) == []


def test_figures_of_an_expression_are_read_in_one_pass():
    assert figures_of("9" * MILLION + " > 5").numbers[0] == 5
    assert figures_of('\\"' * MILLION + " > 5").spans == ()
    assert of_rule("a", "1" * (MAX_EXPRESSION + 1), "").figures is None


@pytest.mark.parametrize(
    "text",
    [
        f"`KEY_A`{' ' * 900}x. `KEY_B` is 5.",
        "`KEY_A` " * 20_000 + "is.\n\n`KEY_B` is 5.",
        "a\n" + "\x0c\n" * 50_000 + "\n`KEY_B` is 5.",
        f"| a | b |\n|-|-|\n| `KEY_A`{' ' * MILLION}b | 5 |\n\n`KEY_B` is 5.",
        f"# {'a ' * 50_000}\n\n" + "`k` is 5.\n\n" * 3_000 + "`KEY_B` is 5.",
    ],
)
def test_a_value_is_found_behind_a_long_sentence_table_or_heading(text):
    assert [(it.key, it.text) for it in settings_in(read_page("a.md", text))] == [("KEY_B", "5")]


@pytest.mark.parametrize(
    "text",
    [
        '{"x": [' + '{"KEY_A": {"a": 1}}, ' * 200_000 + "1]}",
        "[" + '"KEY_A",' * 200_000 + "1]",
        f"KEY_A:{' ' * MILLION}x = ",
        f"name: KEY_A{' ' * MILLION}x",
        f"name: KEY_A{chr(10) * MILLION}x",
        'variable "KEY_A" {' + "default " * 200_000,
    ],
)
def test_a_value_is_found_behind_a_long_line_of_code(text):
    assert values_in(f"{text}\nKEY_A = 5\n", ["KEY_A"])["KEY_A"][-1] == "5"
    assert values_in("KEY_A = 5\n" * 1_000, ["KEY_A"]) == {"KEY_A": ["5"] * MAX_VALUES}


POSTMORTEM = "---\ndocument_type: postmortem\n---\n# Incident 2020-01-01\n\n## Action items\n\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "".join(f"### a{n}\n\nx\n\n" for n in range(4_000))
            + "### b\n\nb.md is updated: done\n",
            1,
        ),
        (f"{'a-' * 1_000}x\n\n" * 80 + "b.md is updated: done\n", 1),
        (f"{'a' * 1_990}\n\n" * 200 + "b.md is updated: done\n", 1),
        ("[b](b.md)\n\n" * 100 + "the runbook is updated: done\n\n" * 3_000 + "[c](c.md)\n", 0),
    ],
)
def test_an_action_item_is_found_behind_many_others(text, found):
    items = list(items_in(read_page("incidents/a.md", POSTMORTEM + text)))
    known = [f"incidents/{name}.md" for name in ("b", "c", *range(10_000))]
    commit = Commit("abc", "2019-01-01", "Ada")
    assert len(list(check_items(items, known, lambda _: commit, date(2020, 2, 1)))) == found
