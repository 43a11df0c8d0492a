"""What became of a citation, as a person reads it and as a program does."""

import pytest

from knowledge_rag.guardrails.staleness import FileNow, compare, describe, to_dict
from tests.unit.guardrails.versions import FILE, STEPS, cited, held_against


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (FILE, "same"),
        (FILE + "x\n", "same, in a file that has changed elsewhere"),
        ("\n" * 4 + FILE, "moved to lines 9-14"),
        (f"{STEPS}\n\n{STEPS}", "moved to lines 8-13, the nearest of 2 places that hold this text"),
        (
            f"x\n\n{FILE}".replace("2.", "two").replace("4.", "four"),
            "changed: 4 of 6 lines still stand at lines 7-12",
        ),
        (
            FILE.replace("4.", "Ask.\n4."),
            "changed: all its lines still stand at lines 5-11, but not one after the other as cited",
        ),
        (
            FILE.replace("\n", "\r\n"),
            "changed: the same text with other white space stands at lines 5-10",
        ),
        (FILE.replace(".", "").replace("`", ""), "changed: most like it now: lines 5-10"),
    ],
)
def test_a_person_reads_one_sentence(text, sentence):
    assert describe(held_against(text)) == f"runbooks/a.md, lines 5-10: {sentence}"


def test_one_line_is_called_a_line():
    one = cited("2. Promote the replica.", start=7)
    assert describe(held_against("\n" + FILE, one)) == "runbooks/a.md, line 7: moved to line 8"


def test_a_program_reads_what_is_known_and_nothing_else():
    moved = to_dict(held_against("\n" + FILE))
    assert moved["moved_to"] == {"start_line": 6, "end_line": 11, "others": 0}
    assert set(moved) == {"citation", "state", "document_changed", "moved_to"}
    like = to_dict(held_against(FILE.replace("lag", "age")))["resembling"]
    assert like == {"start_line": 5, "end_line": 10, "likeness": "lines", "kept": 5, "of": 6}
    unread = to_dict(compare(cited(), FileNow(None, None, "Permission denied")))
    assert unread["not_searched"] == "Permission denied"
    assert set(unread) == {"citation", "state", "not_searched"}
