"""Text that has left its file is named where it stands now, in which other files, and in none by guess."""

from knowledge_rag.guardrails.staleness import (
    MAX_ELSEWHERE,
    CitedLines,
    State,
    compare_all,
    describe,
    to_dict,
)
from tests.unit.guardrails.versions import AFTER, BEFORE, FILE, STEPS, Folder, cited


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
