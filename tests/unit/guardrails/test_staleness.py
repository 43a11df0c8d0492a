"""A citation is the same only where its lines are, byte for byte, and moved only to lines that are."""

import re
import sys
from collections import Counter
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidCitation
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.resemblance import (
    Likeness,
    LineRange,
    Resembling,
    occurrences,
    places_of,
    resembling,
    says_something,
)
from knowledge_rag.guardrails.staleness import (
    MAX_ELSEWHERE,
    WORDLESS,
    CitedLines,
    FileNow,
    Staleness,
    State,
    compare,
    compare_all,
)
from knowledge_rag.guardrails.staleness_report import describe, to_dict

STEPS = "\n".join(
    [
        "## Fail over",
        "1. Check the replica's lag with `aws rds describe-db-instances`.",
        "2. Promote the replica.",
        "3. Point the service at the new writer.",
        "4. Tell #incidents.",
        "5. Watch the error rate for ten minutes.",
    ]
)
BEFORE = "# RDS\n\nOwned by the storage team.\n\n"
AFTER = "\n\n## Afterwards\n\nWrite the postmortem.\n"
FILE = BEFORE + STEPS + AFTER


def cited(content=STEPS, start=5, of=FILE, name="runbooks/a.md"):
    citation = Citation(name, start, start + content.count("\n"))
    return CitedLines(citation, content, FileNow.of(name, of.encode()).sha256)


def now(text):
    data = text if isinstance(text, bytes) else text.encode()
    return FileNow.of("runbooks/a.md", data)


def held_against(text, one=None):
    return compare(one or cited(), now(text))


class Folder:
    """A corpus in memory that counts how often each file is read."""

    def __init__(self, **files):
        self._files = {f"runbooks/{name}.md": text for name, text in files.items()}
        self.reads = []

    def files(self):
        return self._files

    def now(self, source_file):
        self.reads.append(source_file)
        text = self._files.get(source_file)
        return None if text is None else now(text)


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


def test_the_text_of_a_file_that_is_gone_is_looked_for_in_the_others():
    corpus = Folder(b=f"new\n{FILE}", c=STEPS.replace("2.", "two"), d=FILE)
    (found,) = compare_all([cited()], corpus)
    assert (found.state, found.citation) == (State.GONE, cited().citation)
    assert describe(found) == (
        "runbooks/a.md, lines 5-10: gone; the same text now stands in runbooks/d.md, lines 5-10 "
        "(the same file by another name) and runbooks/b.md, lines 6-11"
    )
    assert to_dict(found) == {
        "citation": cited().citation.to_dict(),
        "state": "gone",
        "now_in": [
            {"source_file": "runbooks/d.md", "start_line": 5, "end_line": 10, "same_document": True},
            {"source_file": "runbooks/b.md", "start_line": 6, "end_line": 11, "same_document": False},
        ],
    }  # fmt: skip


def test_a_section_that_moved_into_another_file_is_found_there():
    (found,) = compare_all([cited()], Folder(a=BEFORE + AFTER, b=STEPS))
    assert found.state is State.CHANGED
    assert [str(place) for place in found.now_in] == ["runbooks/b.md, lines 1-6"]


def test_a_text_that_stands_twice_in_another_file_is_named_where_it_is_nearest():
    (found,) = compare_all([cited()], Folder(b=f"{STEPS}\n{STEPS}\nx\n{STEPS}"))
    assert [str(place) for place in found.now_in] == ["runbooks/b.md, lines 7-12"]


def test_a_text_inside_longer_lines_of_another_file_does_not_stand_there():
    (found,) = compare_all([cited()], Folder(b=f"x{STEPS}", c=f"{STEPS} x\n"))
    assert found.now_in == ()


def test_without_a_hash_no_file_is_called_the_same_by_another_name():
    (found,) = compare_all([CitedLines(cited().citation, STEPS)], Folder(b=FILE))
    assert [place.same_document for place in found.now_in] == [False]


def test_a_file_that_changes_while_it_is_compared_is_no_other_file():
    class Restless(Folder):
        def now(self, source_file):
            found = super().now(source_file)
            self._files["runbooks/a.md"] = FILE
            return found

    (found,) = compare_all([cited()], Restless(a=BEFORE + AFTER))
    assert (found.state, found.now_in) == (State.CHANGED, ())


def test_other_files_are_no_matter_while_the_text_is_in_its_own():
    corpus = Folder(a="x\n" + FILE, b=FILE)
    (found,) = compare_all([cited()], corpus)
    assert (found.state, found.now_in) == (State.MOVED, ())
    assert corpus.reads == ["runbooks/a.md"]


def test_other_files_are_named_up_to_a_limit_and_read_once_for_all_citations():
    corpus = Folder(**{f"f{n}": f"{n}\n{FILE}" for n in range(9)}, bad=b"\xff" + FILE.encode())
    lines = [cited(), cited("2. Promote the replica.", start=7), cited("nowhere at all")]
    found = compare_all(lines, corpus)
    assert [len(one.now_in) for one in found] == [MAX_ELSEWHERE, MAX_ELSEWHERE, 0]
    assert sorted(corpus.reads) == sorted(["runbooks/a.md", *corpus.files()])


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


@pytest.mark.parametrize(
    "wrong", [{"state": State.MOVED}, {"state": State.SAME, "moved_to": LineRange(1, 1)}]
)
def test_only_what_moved_has_a_new_place(wrong):
    with pytest.raises(ValueError, match=" to "):
        Staleness(cited().citation, **wrong)


def test_only_what_changed_resembles_anything():
    like = Resembling(LineRange(1, 1), Likeness.LINES, 1, 1)
    with pytest.raises(ValueError, match="same with"):
        Staleness(cited().citation, State.SAME, resembling=like)


LINES = st.sampled_from(
    ["", "}", "a", "b", "a\r", " a", "é\u2028b", "the same words", "same words"]
)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "replace", "move", "duplicate", "swap"]),
        st.integers(0, 20),
        st.integers(0, 20),
        LINES,
    ),
    max_size=8,
)


def edited(lines, edits):
    lines = list(lines)
    for kind, first, second, line in edits:
        at, to = first % (len(lines) + 1), second % (len(lines) + 1)
        if kind == "insert":
            lines.insert(at, line)
        elif kind == "delete":
            del lines[at : at + 1 + to % 3]
        elif kind == "replace":
            lines[at : at + 1] = [line]
        elif kind == "move":
            section = lines[at : at + 3]
            del lines[at : at + 3]
            lines[to:to] = section
        elif kind == "duplicate":
            lines[to:to] = lines[at : at + 4]
        else:
            lines[:] = lines[at:] + lines[:at]
    return lines


@given(
    lines=st.lists(LINES, min_size=1, max_size=12),
    where=st.tuples(st.integers(0, 11), st.integers(0, 11)),
    edits=EDITS,
    ending=st.sampled_from(["", "\n"]),
)
def test_after_any_edits_what_is_said_of_the_lines_is_true_byte_for_byte(
    lines, where, edits, ending
):
    first, last = sorted(at % len(lines) for at in where)
    content = "\n".join(lines[first : last + 1])
    text = "\n".join(edited(lines, edits)) + ending
    current = text.removesuffix("\n").split("\n")
    places = [
        at + 1
        for at in range(len(current))
        if "\n".join(current[at : at + last - first + 1]) == content and at + last - first < len(current)
    ]  # fmt: skip
    found = held_against(text or "\n", cited(content, start=first + 1))
    if first + 1 in places:
        assert found.state is State.SAME
    elif not any(character.isalnum() for character in content):
        assert (found.state, found.not_searched) == (State.CHANGED, WORDLESS)
    elif places:
        assert found.moved_to.start_line in places
        assert found.moved_to.end_line - found.moved_to.start_line == last - first
        assert abs(found.moved_to.start_line - first - 1) == min(abs(p - first - 1) for p in places)
        assert found.others == len(places) - 1
    else:
        assert found.state is State.CHANGED
        check_resembling(found.resembling, content, current)


def check_resembling(like, content, current):
    cited_lines = [line for line in content.split("\n") if any(map(str.isalnum, line))]
    standing = [line for line in cited_lines if line in current]
    if like is None:
        assert not standing
        return
    there = current[like.lines.start_line - 1 : like.lines.end_line]
    assert 1 <= like.lines.start_line <= like.lines.end_line <= len(current)
    kept = sum(min(cited_lines.count(line), there.count(line)) for line in set(cited_lines))
    assert (like.kept, like.of) == (kept, len(cited_lines))
    if like.likeness is Likeness.LINES:
        assert kept > 0
        assert {there[0], there[-1]} <= set(cited_lines)


def test_every_occurrence_of_a_sequence_is_found_however_it_overlaps_itself():
    for wanted in (w for length in range(1, 7) for w in product("ab", repeat=length)):
        for overlap in range(len(wanted) + 1):
            found = (*wanted, *wanted[overlap:], "c", *wanted[1:], *wanted)
            places = [at for at in range(len(found)) if found[at : at + len(wanted)] == wanted]
            assert occurrences(wanted, found) == places, (wanted, found)


def squeezed(lines):
    return [" ".join(line.split()) for line in lines]


def common(some, others):
    return (Counter(some) & Counter(others)).total()


def best_range(wanted, lines, start):
    """Give what most resembles the wanted lines by its definition, every range tried."""
    solid = [line for line in wanted if any(map(str.isalnum, line))]
    words = re.findall(r"\w+", "\n".join(wanted))
    size, count = len(wanted), len(lines)
    ranges = [
        (a, b) for a in range(1, count + 1) for b in range(a, min(count, a + 2 * size - 1) + 1)
    ]
    cut = {(a, b): lines[a - 1 : b] for a, b in ranges}

    def best(candidates, key):
        near = max(candidates, key=lambda r: (*key(r), -abs(r[0] - start), -r[0]), default=None)
        return near if near and key(near)[0] else None

    def words_in(where):
        return re.findall(r"\w+", "\n".join(cut[where]))

    same = [r for r in ranges if squeezed(cut[r]) == squeezed(wanted)]
    if spaced := best(same, lambda _: (1,)):
        return Likeness.SPACING, spaced
    by_lines = best(ranges, lambda r: (common(solid, cut[r]), r[0] - r[1]))
    if by_lines and 2 * common(solid, cut[by_lines]) >= len(solid):
        return Likeness.LINES, by_lines
    whole = [(a, b) for a, b in ranges if b - a + 1 == size] or [(1, count)]
    by_words = best(whole, lambda r: (common(words, words_in(r)),))
    if by_words and 2 * common(words, words_in(by_words)) >= len(words):
        return Likeness.WORDS, by_words
    return by_lines and (Likeness.LINES, by_lines)


TEXTS = st.sampled_from(["", "```", "p", "q", " p", "p q", "p q r", "q r s t", "r s", "s t u"])


@settings(max_examples=300)
@given(
    st.lists(TEXTS, min_size=1, max_size=4).filter(lambda w: says_something("\n".join(w))),
    st.lists(TEXTS, min_size=1, max_size=10),
    st.integers(1, 10),
)
def test_the_lines_named_are_the_most_like_of_all(wanted, lines, start):
    content = "\n".join(wanted)
    assume(not places_of(content, lines))
    found = resembling(content, lines, start)
    best = best_range(wanted, lines, start)
    assert (found and (found.likeness, (found.lines.start_line, found.lines.end_line))) == best


def steps_of(text, one):
    """Count the lines of Python that a comparison executes."""
    steps = 0

    def count(_frame, event, _argument):
        nonlocal steps
        steps += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        compare(one, now(text))
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize(
    ("block", "wanted", "last"),
    [
        ("same\n", "same\n", "another"),
        ("same\nsame\nelse\n", "same\nsame\nelse\n", "else"),
        ("some same old words\n", "other same old words\n", "at last"),
        ("\n", "\n", "x"),
    ],
    ids=["lines", "borders", "words", "blank"],
)
def test_a_file_in_which_everything_nearly_matches_takes_time_in_proportion(block, wanted, last):
    def work(size):
        return steps_of(block * size, cited(wanted * (size // 4) + last, start=size))

    assert work(800) < 2.2 * work(400)
