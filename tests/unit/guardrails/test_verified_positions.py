"""Where warnings, citations and removals stand once something was taken out before them."""

from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.rules import Kind
from knowledge_rag.guardrails.scanner import MARK
from knowledge_rag.guardrails.verify import Settings, VerifiedStream, verify
from tests.unit.guardrails.evidence import LEDGER, result


def warned(text, kind, *, mark=False):
    verified = verify(text, LEDGER, Settings(mark=mark))
    return [
        (one.start, verified.text[one.start : one.end])
        for one in verified.warnings
        if one.kind is kind
    ]


def test_each_removal_is_warned_of_where_it_was():
    assert warned("a [8] b [9] c [7] d", Kind.NON_EXISTENT_SOURCE) == [(2, ""), (5, ""), (8, "")]


def test_a_mark_moves_what_stands_behind_it():
    text = "a [8] b [9] c [7] d"
    behind = [2, 2 + len(MARK) + 3, 2 + 2 * (len(MARK) + 3)]
    assert [at for at, _ in warned(text, Kind.NON_EXISTENT_SOURCE, mark=True)] == behind


def test_a_removed_reference_keeps_its_place_in_what_the_model_wrote():
    removed = verify("a [8] b [9] c", LEDGER, Settings(mark=True)).removed
    assert [(one.start, one.end, one.text) for one in removed] == [(2, 5, "[8]"), (8, 11, "[9]")]


def test_a_placeholder_behind_a_good_reference_is_found_though_others_went_before():
    text = "Restart [8] it [9] now [1] (not provided)."
    assert warned(text, Kind.PLACEHOLDER) == [(20, " (not provided)")]


def test_citations_stand_where_their_references_are_though_others_went_before():
    verified = verify("[8] a [1] [9] b [2]", LEDGER)
    assert [verified.text[one.start : one.end] for one in verified.citations] == ["[1]", "[2]"]


def test_wording_in_code_is_not_the_answers_own():
    assert not warned("`definitely` and\n\n```\nobviously\n```\n", Kind.CONFIDENT_WORDING)


def test_wording_behind_code_is():
    assert warned("`definitely` is definitely so", Kind.CONFIDENT_WORDING) == [(16, "definitely")]


def test_a_stream_marks_if_it_was_told_to():
    stream = VerifiedStream(LEDGER, Settings(mark=True))
    assert stream.feed("a [9] b") == f"a {MARK} "
    assert stream.close() == ("b", verify("a [9] b", LEDGER, Settings(mark=True)))


def test_all_entries_of_a_file_can_be_cited():
    ledger = Ledger.of([result("a.md", 1, "one\ntwo"), result("b.md", 1, "x"), result("a.md", 9, "nine")])  # fmt: skip
    text = "[Source: a.md, lines 1-2] [Source: a.md, line 9] [Source: b.md, line 1]"
    assert [one.number for one in verify(text, ledger).citations] == [1, 3, 2]
