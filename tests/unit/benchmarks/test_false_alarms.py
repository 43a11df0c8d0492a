"""The guardrails' false alarms on answers in which nothing is wrong."""

from benchmarks.guardrails.false_alarms import false_alarms
from tests.support.local import CORPUS


def test_no_reference_of_an_honest_answer_is_taken_out():
    summary = false_alarms(CORPUS)
    assert summary.answers > 50
    assert summary.removed == 0
    assert summary.citation_rate == 1.0


def test_few_honest_answers_are_warned_of():
    assert false_alarms(CORPUS).warning_rate < 0.35
