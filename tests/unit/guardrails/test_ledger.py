"""The ledger: what retrieval returned, numbered, and nothing else."""

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidCitation
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.guardrails.ledger import Ledger


def result(source_file, start_line, content, section="Steps"):
    end_line = start_line + content.count("\n")
    return RetrievalResult(content, Citation(source_file, start_line, end_line, section), 0.5)


RDS = result("runbooks/rds.md", 5, "one\ntwo\n\nfour")
SQS = result("runbooks/sqs.md", 1, "only\r")


def test_entries_are_numbered_by_first_appearance_over_all_queries():
    ledger = Ledger.of([RDS], [SQS, RDS])
    assert [(entry.number, entry.citation) for entry in ledger.entries] == [
        (1, RDS.citation),
        (2, SQS.citation),
    ]
    assert ledger.results == (RDS, SQS)


def test_the_first_of_two_results_with_the_same_lines_stands():
    again = result("runbooks/rds.md", 5, "1\n2\n3\n4", section="Other")
    assert Ledger.of([RDS, again]).entries[0].content == RDS.content


@pytest.mark.parametrize("number", [-1, 0, 3, 10**30])
def test_there_is_no_entry_of_another_number(number):
    assert Ledger.of([RDS, SQS]).numbered(number) is None


def test_exact_lines_are_the_whole_entry():
    ledger = Ledger.of([SQS, RDS])
    assert ledger.lines("runbooks/rds.md", 5, 8) is ledger.numbered(2)


def test_lines_inside_a_result_are_given_byte_for_byte_with_its_number_and_section():
    evidence = Ledger.of([SQS, RDS]).lines("runbooks/rds.md", 6, 7)
    assert evidence.content == "two\n"
    assert evidence.citation == Citation("runbooks/rds.md", 6, 7, "Steps")
    assert evidence.number == 2


def test_an_entry_with_exactly_the_lines_comes_before_an_earlier_one_that_holds_more():
    narrow = result("runbooks/rds.md", 6, "two")
    assert Ledger.of([RDS, narrow]).lines("runbooks/rds.md", 6, 6).number == 2


@pytest.mark.parametrize(
    ("source_file", "start_line", "end_line"),
    [
        ("runbooks/rds.md", 4, 5),
        ("runbooks/rds.md", 8, 9),
        ("runbooks/rds.md", 7, 6),
        ("runbooks/RDS.md", 5, 8),
        ("./runbooks/rds.md", 5, 8),
        ("rds.md", 5, 8),
    ],
)
def test_other_lines_or_another_spelling_of_the_file_are_no_evidence(
    source_file, start_line, end_line
):
    assert Ledger.of([RDS, SQS]).lines(source_file, start_line, end_line) is None


def test_lines_across_two_results_are_no_evidence():
    below = result("runbooks/rds.md", 9, "nine")
    assert Ledger.of([RDS, below]).lines("runbooks/rds.md", 8, 9) is None


def test_a_result_whose_text_has_other_lines_than_it_cites_is_refused():
    wrong = RetrievalResult("one\ntwo", Citation("a.md", 1, 3), None)
    with pytest.raises(InvalidCitation, match="cites 3 lines, its text has 2"):
        Ledger.of([wrong])


def test_an_empty_ledger_knows_nothing():
    assert len(Ledger()) == 0
    assert not Ledger().knows("runbooks/rds.md")
