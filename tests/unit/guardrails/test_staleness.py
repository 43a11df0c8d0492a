"""A citation is the same only where its lines are, byte for byte, and moved only to lines that are."""

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidCitation
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.staleness import (
    WORDLESS,
    CitedLines,
    FileNow,
    Likeness,
    LineRange,
    Resembling,
    Staleness,
    State,
    compare,
    compare_all,
    describe,
    to_dict,
)
from tests.unit.guardrails.versions import AFTER, BEFORE, FILE, STEPS, Folder, cited, held_against


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (FILE, False),
        (FILE + "\nOne more line.\n", True),
        ("\ufeff" + FILE, True),
        (FILE.replace("storage", "data"), True),
        (BEFORE + STEPS, True),
        (BEFORE + STEPS + "\n", True),
        (FILE + STEPS + "\n", True),
    ],
    ids=["untouched", "longer", "BOM", "edit above", "cut, no final newline", "cut", "twice"],
)
def test_lines_that_hold_the_cited_text_are_the_same_whatever_happens_around_them(text, changed):
    assert held_against(text) == Staleness(cited().citation, State.SAME, changed)


def test_a_byte_order_mark_that_goes_leaves_the_lines_the_same():
    assert held_against(FILE, cited(of="\ufeff" + FILE)).state is State.SAME


def test_without_a_hash_nothing_is_said_of_the_document():
    one = CitedLines(cited().citation, STEPS)
    assert [held_against(text, one).document_changed for text in (FILE, FILE + "x")] == [None, None]


@pytest.mark.parametrize(
    ("text", "lines", "others"),
    [
        ("intro\n" * 4 + FILE, (9, 14), 0),
        (STEPS, (1, 6), 0),
        (STEPS + AFTER + BEFORE, (1, 6), 0),
        (f"{STEPS}\n{STEPS}\nx\n{STEPS}", (7, 12), 2),
        (f"{STEPS}\nbetween\n\n{STEPS}", (1, 6), 1),
    ],
    ids=["insert above", "delete above", "section first", "nearest of three", "earlier of two"],
)
def test_text_that_stands_elsewhere_in_the_file_moved_to_the_nearest_place(text, lines, others):
    found = held_against(text)
    assert (found.state, found.moved_to) == (State.MOVED, LineRange(*lines))
    assert found.others == others


def test_places_that_overlap_are_all_counted():
    found = held_against("x\na\na\na\na\n", cited("a\na", start=9))
    assert (found.moved_to, found.others) == (LineRange(4, 5), 2)


@pytest.mark.parametrize(
    ("text", "likeness", "lines", "kept"),
    [
        (FILE.replace("4. Tell #incidents.\n", ""), Likeness.LINES, (5, 9), 5),
        (FILE.replace("replica.", "replica!"), Likeness.LINES, (5, 10), 5),
        (FILE.replace("4.", "Ask first.\n\n4."), Likeness.LINES, (5, 12), 6),
        ("intro\n" * 4 + FILE.replace("lag", "age"), Likeness.LINES, (9, 14), 5),
        (FILE.replace("\n", "\r\n"), Likeness.SPACING, (5, 10), 0),
        ("x\n" + FILE.replace("2. Pro", "   2.  Pro"), Likeness.SPACING, (6, 11), 5),
        (
            FILE.replace("Point", "Aim").replace("Tell", "Ask").replace("ten", "5"),
            Likeness.LINES,
            (5, 7),
            3,
        ),
        (FILE.replace(".", " !").replace("`", ""), Likeness.WORDS, (5, 10), 1),
    ],
    ids=["delete", "edit", "insert", "moved and edited", "CRLF", "indented", "half", "everywhere"],
)
def test_of_changed_text_the_lines_most_like_it_are_named(text, likeness, lines, kept):
    found = held_against(text)
    assert found.state is State.CHANGED
    assert found.resembling == Resembling(LineRange(*lines), likeness, kept, 6)


@pytest.mark.parametrize("text", ["# Something else\n\nEntirely.\n", BEFORE + AFTER])
def test_of_deleted_text_nothing_is_left(text):
    found = held_against(text)
    assert found == Staleness(cited().citation, State.CHANGED, document_changed=True)
    assert describe(found).endswith("changed: nothing like it is left in the file")


def test_one_edited_line_is_found_again_by_its_words():
    one = cited("2. Promote the replica.", start=7)
    found = held_against(FILE.replace("replica.", "reader.").replace("RDS", "RDS\n"), one)
    assert found.resembling == Resembling(LineRange(8, 8), Likeness.WORDS, 0, 1)


def test_a_common_line_far_away_does_not_hide_the_edited_text():
    content = "Run:\nbackup the primary database now\nthen restart every single worker"
    text = (
        "Run:\n"
        + "\n" * 50
        + "Do:\nbackup the main database now\nthen restart each single worker\n"
    )
    found = held_against(text, cited(content))
    assert found.resembling == Resembling(LineRange(52, 54), Likeness.WORDS, 0, 3)


@pytest.mark.parametrize("content", ["}", "", "\n\n", "```\n", "---\n\n***", "___", "|--|"])
def test_text_without_letter_or_digit_stays_or_changes_and_is_never_found_elsewhere(content):
    one = cited(content, start=2)
    assert held_against(f"a\n{content}\nz\n", one).state is State.SAME
    found = held_against(f"a\nb\n{content}\nz\n{content}\nz\n" * 2, one)
    assert (found.state, found.not_searched) == (State.CHANGED, WORDLESS)
    assert "hold something else, and the cited text has no letter or digit" in describe(found)
    corpus = Folder(b=f"a\n{content}\nz\n")
    assert compare_all([one], corpus)[0].now_in == ()


@pytest.mark.parametrize("odd", ["a\u2028b", "a\x85", "a\x0bb\x0c", "a\r", "日本", "a\ufeff"])
def test_only_a_newline_ends_a_line(odd):
    one = cited(f"{odd}\nend", start=2, of=f"x\n{odd}\nend")
    assert held_against(f"x\n{odd}\nend\n", one).state is State.SAME
    assert held_against(f"{odd}\n{odd}\nx\n{odd}\nend", one).moved_to == LineRange(4, 5)
    assert held_against(f"x\n{odd}\nending\n", one).state is State.CHANGED
    assert held_against(f"x\n{odd} \nend\n", one).state is State.CHANGED


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (FILE.encode("utf-16"), "not UTF-8"),
        (FILE.encode() + b"\xff", "not UTF-8: byte 0xff"),
        (FILE.encode() + b"\0", "binary file"),
        (b"", "empty file"),
    ],
)
def test_a_file_that_can_no_longer_be_read_confirms_nothing(data, reason):
    found = held_against(data)
    assert (found.state, found.document_changed) == (State.CHANGED, True)
    assert found.not_searched.startswith(reason)
    assert f"changed: the file can't be read ({reason}" in describe(found)


def test_a_citation_beyond_the_end_of_the_file_is_changed_and_not_an_error():
    one = CitedLines(Citation("runbooks/a.md", 2**31 - 1, 2**31 - 1), "no such words")
    assert held_against(FILE, one).state is State.CHANGED


@pytest.mark.parametrize("text", ["moved\n" + FILE, FILE.replace("lag", "age")])
def test_a_citation_that_its_own_document_contradicts_is_reported_as_never_true(text):
    found = held_against(text, cited(of=text))
    assert found.is_contradicted
    assert describe(found).endswith("so the citation was never true")
    assert to_dict(found)["contradicted"] is True
    assert not held_against(text).is_contradicted


def test_text_with_another_number_of_lines_than_it_is_cited_with_is_refused():
    with pytest.raises(InvalidCitation, match="cites 6 lines, its text has 7"):
        CitedLines(cited().citation, STEPS + "\n")


def test_a_result_and_a_part_of_it_carry_the_hash_of_their_document():
    citation = Citation("runbooks/a.md", 5, 10)
    result = RetrievalResult(STEPS, citation, 0.5, {"document_sha256": "0" * 64})
    other = RetrievalResult("x", Citation("b.md", 1, 1), 0.5, {"document_sha256": 7})
    ledger = Ledger.of([other, result])
    part = CitedLines.part(ledger.lines("runbooks/a.md", 7, 7), ledger)
    assert CitedLines.of(result) == CitedLines(citation, STEPS, "0" * 64)
    assert part == CitedLines(Citation("runbooks/a.md", 7, 7), "2. Promote the replica.", "0" * 64)
    assert CitedLines.of(other).document_sha256 is None


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
