"""What a page folds away is no step, and what undoes something is given whole, with its warning."""

import pytest

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.orchestrator.advisors.folded import shown, still_open
from knowledge_rag.orchestrator.advisors.selection import choose
from knowledge_rag.orchestrator.answer_text import Line
from knowledge_rag.orchestrator.incident import Incident
from tests.unit.orchestrator.evidence import findings_of, results_of

HEAD = "# Mail queue\n\n## Rollback\n\n"
OLD_WAY = "<details><summary>Old way</summary>\n\n- postsuper -d ALL\n\n</details>\n"


def actions(text, told="mail queue"):
    findings = findings_of(results_of("runbooks/mail.md", text))
    return [step.action for step in choose(findings, Incident(title=told))]


def left(text, within=()):
    """Give the lines that are shown, those without words aside."""
    lines = [Line(0, line, number) for number, line in enumerate(text.split("\n"), start=1)]
    return [line.text for line in shown(lines, within) if line.text.strip(" >")]


def test_a_tag_in_code_folds_nothing_away_whatever_other_backticks_the_code_holds():
    assert left("Write ``a ` b <details> c`` here.\n\n- Restart.") == [
        "Write ``a ` b <details> c`` here.",
        "- Restart.",
    ]
    assert left("It`s open: <details>\n\n- Restart.") == ["It`s open: <details>"]


def test_what_undoes_something_is_given_whole_with_its_warning_and_nothing_that_is_folded_away():
    listed = "- [ ] Start the sender again.\n- [x] Tell the team that the mail queue is back.\n\n"
    warned = "> **Warning**: never delete the mail queue.\n\n"
    wanted = [
        "Start the sender again.",
        "Tell the team that the mail queue is back.",
        "**Warning**: never delete the mail queue.",
    ]
    assert actions(HEAD + listed + warned + OLD_WAY) == wanted
    assert actions(HEAD + OLD_WAY + "\n" + listed + warned) == wanted


def test_what_is_warned_of_above_several_ways_to_undo_something_is_told_with_each():
    warned = "> **Warning**: this takes an hour.\n\n"
    text = f"{HEAD}{warned}### The mail queue\n\n- Start the mail queue.\n\n### All\n\n- Burn it.\n"
    assert actions(text)[:2] == ["**Warning**: this takes an hour.", "Start the mail queue."]
    many = "".join(f"- Restart mail queue {number}.\n" for number in range(9))
    assert actions(f"{HEAD}{many}\n{warned}")[-1] == "**Warning**: this takes an hour."


def test_a_section_that_undoes_nothing_else_than_in_an_old_way_gives_no_step():
    assert actions(HEAD + OLD_WAY.replace("postsuper", "mail queue")) == []


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("<details>\n\na\n\n</details>\n\nb", ["b"]),
        ("<DETAILS open>\n\n- a\n</Details>\n\nb", ["b"]),
        ("<div>\n\n<div>\n\na\n\n</div>\n\nb\n\n</div>\n\nc", ["c"]),
        ("<div>\n\n<div/>\n\na\n\n</div>\n\nc", ["c"]),
        ("<details>\n\n```\n</details>\n```\n\na\n\n</details>\n\nb", ["b"]),
        ("<details>\n\n> a\n\n1. b\n\n   </details>\n\nc", ["c"]),
        ("<details>\n\nthe words</details>\n\nb", ["b"]),
        ("See: <details>\n\n- a\n\n</details>\n\nb", ["See: <details>", "b"]),
        ("- a\n\n  <details>\n\n  - b\n\n  </details>\n\n- c", ["- a", "- c"]),
        ("- a\n\n  <details>\n\n  - b\n\n- c", ["- a", "- c"]),
        ("- <details><summary>a</summary>\n\n  - b\n\n  </details>\n- c", ["- c"]),
        ("> <details>\n>\n> a\n>\n> </details>\n>\n> b", ["> b"]),
        ("a\n\n</details>\n\nb", ["b"]),
        ("<!-- <details> -->\n\na", ["a"]),
        ("<p>\n\na", ["a"]),
        ("<br>\n\na", ["a"]),
        ("<details>x</details>\n\na", ["a"]),
        ("Write `<details>`.\n\na", ["Write `<details>`.", "a"]),
        ("Drop the <table>\n\na", ["Drop the <table>", "a"]),
        ("- <queue-url>: your own\n\na", ["- <queue-url>: your own", "a"]),
        ("- <!-- first --> a\n- <!-- none -->\n- b", ["- <!-- first --> a", "- b"]),
        ("```\n<details>\n```\n\na", ["```", "<details>", "```", "a"]),
    ],
)
def test_what_stands_within_an_element_is_not_shown(text, seen):
    assert left(text) == seen


def test_what_an_element_holds_is_known_where_the_lines_above_opened_it():
    opening = [Line(0, text, number) for number, text in enumerate(("<details>", "", "a"), start=1)]
    assert still_open(opening) == ("details",)
    assert left("a\n\n</details>\n\nb", still_open(opening)) == ["b"]


def test_an_old_way_with_headings_of_its_own_is_folded_away_with_them():
    inner = "### Old way\n\n- Delete the mail queue.\n\n### Older way\n\n- Burn the mail queue.\n\n"
    text = f"{HEAD}- Start the mail queue.\n\n<details>\n\n{inner}</details>\n"
    document, decoded = read_document("runbooks/mail.md", text.encode())
    assert len(list(chunk_text(document, decoded))) >= 3
    assert actions(text) == ["Start the mail queue."]
