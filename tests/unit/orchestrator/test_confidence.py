"""Confidence comes from evidence: none gives none, and more of it never gives less."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.composition import recommend
from knowledge_rag.orchestrator.confidence import (
    AGREEMENT_WEIGHT,
    COVERAGE_WEIGHT,
    DOCUMENTS_WEIGHT,
    PAST_WEIGHT,
    STEPS_WEIGHT,
    Grounds,
    words_of,
)
from knowledge_rag.orchestrator.findings import Asked, Findings
from knowledge_rag.orchestrator.incident import Incident
from tests.unit.orchestrator.evidence import (
    FINDINGS,
    POSTMORTEM_RESULTS,
    RUNBOOK_RESULTS,
    findings_of,
)

FULL = Grounds(queries=3, agreeing=3, words=8, covered=8, steps=3, documents=2, past=1, said=4, backed=4)  # fmt: skip
A = "[Source: runbooks/rds-failover.md, lines 15-19]"
P = "[Source: postmortems/2024-01-rds.md, lines 11-15]"


def confidence(text, findings=FINDINGS, title="Writer of orders-db unavailable"):
    return recommend(Incident(title=title), Advice(text, findings, "test")).confidence


def test_the_weights_are_one_together():
    weights = (AGREEMENT_WEIGHT, COVERAGE_WEIGHT, DOCUMENTS_WEIGHT, PAST_WEIGHT, STEPS_WEIGHT)
    assert sum(weights) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("grounds", "figure"),
    [
        (Grounds(), 0.0),
        (FULL, 1.0),
        (replace(FULL, backed=0), 0.0),
        (replace(FULL, backed=2), 0.5),
        (replace(FULL, past=0), 0.85),
        (replace(FULL, steps=1), 0.9),
        (replace(FULL, documents=1), 0.95),
        (replace(FULL, agreeing=1), 0.8),
        (replace(FULL, covered=0), 0.7),
        (replace(FULL, words=0, covered=0), 0.7),
        (replace(FULL, steps=30, documents=9, past=5), 1.0),
    ],
)
def test_the_formula(grounds, figure):
    assert grounds.confidence == figure


COUNTS = st.integers(0, 12)


@given(st.builds(Grounds, **{field.name: COUNTS for field in fields(Grounds)}))
def test_it_is_a_share(grounds):
    real = replace(
        grounds,
        agreeing=min(grounds.agreeing, grounds.queries),
        covered=min(grounds.covered, grounds.words),
        backed=min(grounds.backed, grounds.said),
    )
    assert 0.0 <= real.confidence <= 1.0


@given(
    st.builds(Grounds, **{field.name: COUNTS for field in fields(Grounds)}),
    st.sampled_from(["agreeing", "covered", "steps", "documents", "past", "backed"]),
)
def test_more_evidence_never_gives_less(grounds, kind):
    more = replace(grounds, **{kind: getattr(grounds, kind) + 1})
    assert more.confidence >= grounds.confidence


def test_no_evidence_and_no_search_give_none():
    nothing = Findings((Asked(Query("q"), RetrievalOutcome(Status.NO_MATCH)),))
    broken = Findings((Asked(Query("q"), degraded(Reason.TIMEOUT)),))
    assert confidence(f"1. Verify {A}", nothing) == confidence(f"1. Verify {A}", broken) == 0.0


def test_it_grows_with_what_is_cited_and_shrinks_with_what_cites_nothing():
    one = f"1. Verify replica health {A}"
    two = f"{one}\n2. Tell the incident commander [Source: runbooks/rds-failover.md, lines 27-27]"
    three = f"{two}\n\n## Similar incidents\n- Manual failover was successful {P}"
    assert 0 < confidence(one) < confidence(two) < confidence(three) <= 1
    assert confidence(f"{one}\n2. Reboot") == pytest.approx(confidence(one) / 2, abs=0.01)


def test_queries_that_agree_count_and_one_that_failed_does_not():
    text = f"1. Verify replica health {A}"
    agreeing = confidence(text, findings_of(RUNBOOK_RESULTS, RUNBOOK_RESULTS))
    apart = confidence(text, findings_of(RUNBOOK_RESULTS, POSTMORTEM_RESULTS))
    failed = Findings(
        (*findings_of(RUNBOOK_RESULTS).asked, Asked(Query("q"), degraded(Reason.TIMEOUT)))
    )
    assert agreeing > apart == confidence(text, failed)


def test_an_incident_that_the_lines_speak_of_counts_for_more():
    text = f"1. Verify replica health {A}"
    assert confidence(text, title="RDS replica health") > confidence(text, title="Printer on fire")


def test_the_reasoning_says_what_it_rests_on():
    assert replace(FULL, backed=3, agreeing=2, covered=5).reasoning == (
        "3 steps from 2 documents; 2 of 3 queries returned what is cited; the cited lines hold 5 of 8 words "
        "that tell of the incident; 1 similar incident documented; 1 of 4 statements are not backed."
    )


def test_names_are_taken_apart_and_words_of_any_incident_left_out():
    assert words_of(["OrdersDbWriterUnavailable", "the alarm for orders-db"]) == {
        "order", "db", "writer", "unavail"
    }  # fmt: skip


def test_words_that_differ_in_a_last_y_are_one():
    assert words_of(["expiry"]) == words_of(["expires"]) == words_of(["expired", "EXPIRING"])
    assert words_of(["query"]) != words_of(["quer"])
