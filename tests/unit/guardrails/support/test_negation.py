"""Denials are warned of, and decide nothing."""

import pytest

from knowledge_rag.guardrails.support.check import check_support
from knowledge_rag.guardrails.support.report import Change, Verdict, WarningKind


def denied(claim, *lines):
    report = check_support(claim, lines)
    assert report.verdict is not Verdict.UNSUPPORTED
    return [(it.text, it.line) for it in report.warnings if it.kind is WarningKind.NEGATION]


def test_a_denial_that_the_lines_lack_is_warned_of():
    assert denied("Do not restart the primary.", "Check it.", "Restart the primary.") == [
        ("not restart the primary", 1)
    ]


def test_a_denial_in_other_words_that_is_left_out_is_warned_of():
    assert denied("Restart the primary.", "Avoid to restart the primary.") == [("Restart", 0)]


@pytest.mark.parametrize("no", ["Do not", "Don't", "Never", "You cannot"])
def test_a_denial_of_the_lines_that_is_left_out_of_a_quotation_is_an_error(no):
    report = check_support("Restart the primary.", [f"{no} restart the primary."])
    assert report.verdict is Verdict.UNSUPPORTED
    assert [it.change for it in report.contradictions] == [Change.NEGATION]


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        ("Do not restart the primary.", "Never restart the primary."),
        ("Restart the primary.", "Restart the primary."),
        ("Check that the pod is ready.", "Check that the pod is ready. If not, wait."),
        ("Avoid restarting the primary.", "Don't restart the primary."),
    ],
)
def test_what_both_say_is_not(claim, line):
    assert denied(claim, line) == []


def test_a_word_that_one_line_denies_and_another_says_is_no_matter():
    assert denied("Restart the primary.", "Do not restart a replica.", "Restart the primary.") == []


def test_the_warning_says_where_in_the_claim():
    claim = "At last: never drop the table."
    (warning,) = check_support(claim, ["Drop the table at last."]).warnings
    assert claim[warning.start : warning.end] == warning.text == "never drop the table"
