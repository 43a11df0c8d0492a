"""A recommendation within a budget: procedures whole or not at all, and what is left out is named."""

from __future__ import annotations

import pytest

from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.fitting import first_that_fit, fitted
from knowledge_rag.orchestrator.procedures import Why
from knowledge_rag.orchestrator.recommendation import MAX_INCOMPLETE, Strength
from tests.support.runbooks import actions, advised, alert

TEXTS = {
    "runbooks/queue.md": (
        "# QueueDepthTooHigh\n\n## Resolution\n\n1. Add two consumers.\n2. Follow [the disk page](disk.md#clean-up).\n"
    ),
    "runbooks/disk.md": "# Disk\n\n## Clean up\n\n1. Remove old files.\n2. Wait.\n",
    "postmortems/pm.md": (
        "---\nservice: queue\nincident_id: INC-1\n---\n# The queue grew\n\nQueueDepthTooHigh fired.\n\n"
        "## Resolution\n\n- We added consumers.\n"
    ),
}


@pytest.fixture(scope="module")
def whole():
    given = advised(alert("QueueDepthTooHigh", service="queue"), TEXTS)
    assert [it.source_file for it in given.procedures] == ["runbooks/queue.md", "runbooks/disk.md"]
    return given


def within(given, steps):
    return fitted(given, lambda it: len(it.guidance) + len(it.similar_incidents), steps)


def test_what_fits_stays_as_it_is(whole):
    assert fitted(whole, lambda _: 9, 9) is whole


def test_the_first_procedure_stays_whole_and_the_next_is_named_by_its_lines(whole):
    given = within(whole, 3)
    assert actions(given) == actions(whole)[:2]
    (left,) = given.left_out
    assert (left.source_file, left.complete) == ("runbooks/disk.md", False)
    (lines,) = left.not_shown
    assert (lines.why, lines.source_file) == (Why.BUDGET, "runbooks/disk.md")
    assert (lines.start, lines.end) == (left.start, left.end)


def test_no_procedure_is_ever_torn(whole):
    sizes = {number: [it.procedure for it in whole.guidance].count(number) for number in (1, 2)}
    for steps in range(6):
        given = within(whole, steps)
        for number in {it.procedure for it in given.guidance}:
            assert [it.procedure for it in given.guidance].count(number) == sizes[number]


def test_where_not_even_the_first_fits_its_lines_are_named_and_it_is_still_documented(whole):
    given = fitted(whole, lambda _: 412, 100)
    assert (given.status, given.guidance, given.similar_incidents) == (Status.OK, (), ())
    assert given.summary == "No steps of runbooks/queue.md and runbooks/disk.md are shown."
    assert [it.source_file for it in given.left_out] == ["runbooks/queue.md", "runbooks/disk.md"]


def test_where_nothing_fits_the_evidence_is_partial_and_the_tokens_are_named(whole):
    given = fitted(whole, lambda it: 400 + len(it.guidance), 100)
    assert given.evidence.strength is Strength.PARTIAL
    assert given.confidence <= MAX_INCOMPLETE
    assert given.reasoning == "No procedure fits in 100 tokens: the first one takes 402."
    assert given.evidence.reasons[-1] in "no procedure fits in 100 tokens: the first one takes 402"


def test_a_procedure_that_is_left_out_makes_the_evidence_partial(whole):
    assert whole.evidence.strength is Strength.STRONG
    given = within(whole, 3)
    assert (given.evidence.strength, given.confidence) == (Strength.PARTIAL, MAX_INCOMPLETE)
    assert given.reasoning.startswith("2 steps from 1 document: ")
    assert given.reasoning.endswith("part of it is not shown.")
    similar_left_out = within(whole, len(whole.guidance))
    assert similar_left_out.evidence == whole.evidence


def test_nothing_documented_stays_what_it_is():
    given = advised(alert("BreadIsBurnt"), TEXTS)
    assert fitted(given, lambda _: 412, 100) == given


def test_the_first_passages_that_fit_are_given_whole_and_the_others_counted():
    passages = ["a" * 40, "b" * 40, "c" * 40]

    def lengths(results):
        return sum(map(len, results))

    assert first_that_fit(passages, lengths, 120) == (passages, "")
    kept, said = first_that_fit(passages, lengths, 119)
    assert (kept, said) == (
        passages[:2],
        "1 further passage left out: only 119 tokens are allowed.",
    )
    # the sentence takes room, too
    assert first_that_fit(passages, lengths, 104)[0] == passages[:1]


def test_the_first_passage_is_always_given():
    kept, said = first_that_fit(["a" * 400, "b"], len, 1)
    assert kept == ["a" * 400]
    assert said.startswith("1 further passage left out")
    assert first_that_fit(["a" * 400], lambda _: 9, 1) == (["a" * 400], "")
    assert first_that_fit([], lambda _: 0, 1) == ([], "")
