"""The questions for an incident: at most three, in three forms, always the same for the same."""

import pytest

from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.queries import MAX_SYMPTOM, build_queries
from knowledge_rag.orchestrator.state import MAX_ITEMS, MAX_NAME, MAX_TEXT

FULL = Incident(
    title="Checkout fails",
    alert_name="OrdersDbWriterUnavailable",
    service="rds",
    description="Writes time out.",
    signals=("DatabaseConnections is 0",),
)


DIAGNOSIS = "Diagnosis in the runbook, diagnosis steps, diagnosis commands, diagnosis"
RESOLUTION = "resolution in the runbook, resolution commands, resolution"
LAG = [
    f"How to diagnose lag? {DIAGNOSIS}",
    f"Resolution steps for lag: {RESOLUTION}",
    "Similar incidents involving lag: resolution",
]


def texts(incident):
    return [query.text for query in build_queries(incident)]


def test_a_full_incident_is_asked_about_in_the_three_forms():
    named = "rds: OrdersDbWriterUnavailable (Orders Db Writer Unavailable)"
    noticed = "Checkout fails Writes time out. DatabaseConnections is 0"
    assert texts(FULL) == [
        f"How to diagnose {named}? {DIAGNOSIS}",
        f"Resolution steps for {named}: {noticed}: {RESOLUTION}",
        f"Similar incidents involving {named}: resolution",
    ]


def test_every_query_names_the_alert_as_it_is_written():
    assert all(FULL.alert_name in text for text in texts(FULL))


def test_the_first_query_searches_everything():
    filters = [dict(query.filters) for query in build_queries(FULL)]
    assert filters == [{}, {"document_type": "runbook"}, {"document_type": "postmortem"}]


def test_where_steps_may_stand_in_any_document_only_past_incidents_are_filtered():
    filters = [dict(query.filters) for query in build_queries(FULL, guidance_type="")]
    assert filters == [{}, {}, {"document_type": "postmortem"}]


def test_every_query_asks_for_five_results():
    assert {query.max_results for query in build_queries(FULL)} == {5}


@pytest.mark.parametrize(
    ("incident", "expected"),
    [
        (Incident(), []),
        (Incident(severity="SEV1", incident_id="INC-1"), []),
        (Incident(alert_name="lag"), LAG),
        (Incident(title="lag", alert_name="lag", service="lag"), LAG),
        (Incident(service="rds"), ["Similar incidents involving rds: resolution"]),
        (Incident(signals=("lag",)), LAG),
    ],
)
def test_what_is_not_known_is_not_asked_about(incident, expected):
    assert texts(incident) == expected


def test_nothing_that_is_known_makes_a_query_too_long():
    longest = Incident(
        title="t" * MAX_TEXT,
        alert_name="A" * MAX_NAME,
        service="s" * MAX_NAME,
        description="d" * MAX_TEXT,
        signals=tuple(f"{n} " + "x" * (MAX_TEXT - 9) for n in range(MAX_ITEMS)),
    )
    lengths = [len(text) for text in texts(longest)]
    assert len(lengths) == 3
    assert max(lengths) <= MAX_QUERY_CHARACTERS
    assert lengths[1] < 2 * MAX_NAME + MAX_SYMPTOM + 100
