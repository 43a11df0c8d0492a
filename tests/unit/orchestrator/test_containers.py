"""Tabs, admonitions and folded parts of documentation tools."""

from __future__ import annotations

import pytest

from knowledge_rag.orchestrator.containers import MAX_DEPTH, Container, shown_as, unfolded
from knowledge_rag.orchestrator.governing import Governs
from knowledge_rag.orchestrator.procedures import Why
from tests.support.runbooks import actions, advised, procedure_in, question


def unfold(text: str) -> tuple[list[str], list[Container]]:
    lines = text.split("\n")
    found = unfolded(lines)
    return lines, found


def test_tabs_are_sections_without_their_indent():
    lines, found = unfold(
        '=== "Linux"\n\n    1. a\n\n        code\n\n=== "Windows"\n\n    1. b\n\nthen c'
    )
    assert found == [Container(0, 4, "Linux"), Container(6, 8, "Windows")]
    assert lines == ["###### Linux", "", "1. a", "", "    code", "", "###### Windows", "", "1. b", "", "then c"]  # fmt: skip


@pytest.mark.parametrize("kind", ["danger", "warning", "caution"])
def test_what_warns_is_a_quotation_even_with_a_list(kind):
    lines, found = unfold(f'!!! {kind} "Ask first"\n    - the desk\n    - the owner\n')
    assert not found
    assert lines == ["> **Ask first**", "> - the desk", "> - the owner", ""]


def test_other_admonitions_are_sections_if_they_hold_steps():
    assert unfold("??? note\n    1. a\n    2. b")[1] == [Container(0, 2, "Note")]
    assert unfold("!!! note\n    It is old.") == (["> **Note**", "> It is old."], [])


def test_containers_between_colons_may_stand_in_one_another():
    lines, found = unfold(":::tip[Do this]\n1. a\n:::danger\nNot twice.\n:::\n:::")
    assert found == [Container(0, 4, "Do this")]
    assert lines == ["###### Do this", "1. a", "> **Danger**", "> Not twice.", "***", "***"]


def test_what_is_aside_is_a_quotation():
    lines, found = unfold("<aside>\n🔴 Not twice.\n- a\n</aside>\n\n1. b\n<aside>\nopen")
    assert not found
    assert lines == ["***", "> 🔴 Not twice.", "> - a", "***", "", "1. b", "<aside>", "open"]


def test_a_callout_of_notion_governs_the_steps_of_its_section_and_of_its_page():
    """Notion's exports have one above the title's second occurrence, too."""
    text = (
        "# Money 5f2c9a\n\nOwner: us\n\n<aside>\n⚠️ A file that is sent twice pays twice.\n</aside>\n\n# Money\n\n"
        "## Not sent\n\n<aside>\n🔴 Do **not** send it by mail.\n</aside>\n\n1. Send it.\n"
    )
    given = advised(question("money: the file was not sent"), {"notion/money.md": text})
    assert actions(given) == ["Send it."]
    guards = [it.to_dict() for it in given.guidance[0].guards]
    told = [(it["kind"], it["text"], it["citation"]["start_line"]) for it in guards]
    assert [it for it in told if it[0] != "note"] == [
        ("caution", "⚠️ A file that is sent twice pays twice.", 6),
        ("caution", "🔴 Do **not** send it by mail.", 14),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "- a\n<details><summary>If it is <b>full</b></summary>\n\n- b\n</details>\n- c",
        "- a\n<DETAILS open>\n<summary>If it is full</summary>\n\n- b\n</DETAILS>\n- c",
    ],
)
def test_a_folded_part_of_html_is_a_section_that_its_summary_heads(text):
    procedure = procedure_in(f"# Mail\n\n## Fix\n\n{text}\n", "Fix")
    assert [it.text for it in procedure.items] == ["a", "b", "c"]
    conditions = [[it.text for it in item.governing[-1:]] for item in procedure.items]
    assert conditions[1] == ["If it is full"]
    assert procedure.items[1].governing[-1].kind is Governs.CONDITION
    assert procedure.items[2].path == ("Mail", "Fix")


@pytest.mark.parametrize(
    ("summary", "why"),
    [("Old procedure", Why.OBSOLETE), ("Never do this", Why.PROHIBITED)],
)
def test_a_folded_part_of_what_must_not_be_done_is_named_and_no_step(summary, why):
    text = f"# Mail\n\n- a\n\n<details><summary>{summary}</summary>\n\n- drop it\n\n</details>\n\n- c\n"
    procedure = procedure_in(text)
    assert [it.text for it in procedure.items] == ["a", "c"]
    assert [(it.heading, it.why) for it in procedure.not_shown] == [(summary, why)]


@pytest.mark.parametrize(
    "text",
    [
        '```\n=== "Linux"\n\n    1. a\n```',
        "===\n\n    code",
        '=== "Linux"\n1. a',
        ":::tip\n1. a",
        "!!!\n    code",
        "a === b",
        "<details>\n\n- a\n\n</details>",
        "<details><summary>A</summary>\n\n- a",
    ],
)
def test_what_is_none_stays_as_it_is(text):
    assert unfold(text) == (text.split("\n"), [])


def test_depth_is_bounded():
    _, found = unfold("\n".join("    " * depth + f'=== "{depth}"' for depth in range(50)) + "\n")
    assert len(found) == MAX_DEPTH


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('!!! danger "Ask first"\n    Call the desk.', "Danger: **Ask first**\n\nCall the desk."),
        ("??? info\n    It is old.", "Info: It is old."),
        (":::warning Twice\nNot twice.\n:::", "Warning: **Twice**\n\nNot twice."),
        ("[!CAUTION]\nIt deletes all.", "Caution: It deletes all."),
        ("Never by day.", "Never by day."),
    ],
)
def test_a_quotation_is_shown_with_its_type_and_title(text, shown):
    assert shown_as(text) == shown
