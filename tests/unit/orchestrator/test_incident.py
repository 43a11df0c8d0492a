"""An incident reads what a graph's state holds, and survives what it should not hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.orchestrator.incident import MAX_PROBLEMS, Incident
from knowledge_rag.orchestrator.pager_texts import MAX_ITEMS, MAX_NAME, MAX_TEXT
from knowledge_rag.orchestrator.queries import MAX_QUERIES, build_queries

PROMETHEUS = {
    "labels": {"alertname": "KubePodCrashLooping", "severity": "critical", "service": "orders"},
    "annotations": {"summary": "Pod orders-7f restarts", "description": "12 restarts in an hour"},
}
CLOUDWATCH = {
    "AlarmName": "sqs-oldest-message-orders",
    "AlarmDescription": "Oldest message above 15 minutes",
    "NewStateReason": "Threshold Crossed",
}


def test_a_state_is_read_where_incident_and_signals_stand_side_by_side():
    incident = Incident.from_state(
        {
            "incident": {"id": "INC-7", "title": "Checkout down", "severity": "SEV1"},
            "signals": ["WriteLatency 900 ms", PROMETHEUS],
            "evidence": {"metrics": "ReplicaLag 64 s"},
            "history": [{"incident_id": "INC-2024-001", "resolution": "Manual failover"}],
            "messages": object(),
        }
    )
    assert incident == Incident(
        incident_id="INC-7",
        title="Checkout down",
        alert_name="KubePodCrashLooping",
        service="orders",
        severity="SEV1",
        signals=("WriteLatency 900 ms", "KubePodCrashLooping: Pod orders-7f restarts"),
        evidence=("ReplicaLag 64 s",),
        history=("Manual failover",),
    )


@pytest.mark.parametrize(
    ("state", "alert", "service"),
    [
        ({"incident": PROMETHEUS}, "KubePodCrashLooping", "orders"),
        (PROMETHEUS, "KubePodCrashLooping", "orders"),
        ({"alert_name": "HighLatency", "service": "api"}, "HighLatency", "api"),
        ({"signals": [CLOUDWATCH]}, "sqs-oldest-message-orders", ""),
        ({"labels": {"alertname": "A", "service": 7}}, "A", "7"),
    ],
)
def test_names_are_found_where_alerting_systems_put_them(state, alert, service):
    incident = Incident.from_state(state)
    assert (incident.alert_name, incident.service) == (alert, service)
    assert not incident.problems


def test_an_incident_told_in_a_sentence_is_its_description():
    assert (
        Incident.from_state({"incident": "Checkout\n is  down"}).description == "Checkout is down"
    )


def test_labels_are_those_of_the_alert():
    assert Incident.from_state({"incident": PROMETHEUS}).labels == PROMETHEUS["labels"]


def test_a_signals_own_id_is_not_the_incidents():
    assert Incident.from_state({"signals": [{"id": "s-1", "name": "lag"}]}).incident_id == ""


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        (None, None),
        ({}, None),
        ({"unknown": object()}, None),
        ("text", "state: str, wanted: a mapping"),
        ({"incident": 7}, "incident: int, wanted: a mapping"),
        ({"incident": {"title": ["x"]}}, "incident.title: list, wanted: a text"),
        ({"title": 10**5000}, "state.title: int, wanted: a text"),
        ({"signals": [["x"]]}, "signals[0]: list, wanted: a text"),
        ({"signals": [{"deep": {"er": 1}}]}, "signals[0]: a mapping without any text"),
        ({"labels": {"a": None}}, "state.labels[a]: NoneType, wanted: a text"),
    ],
)
def test_what_cannot_be_read_is_reported_and_no_more(state, problem):
    assert Incident.from_state(state).problems == ((problem,) if problem else ())


def test_sizes_are_bounded():
    incident = Incident.from_state(
        {
            "alert_name": "a" * 10_000,
            "description": "d " * 10_000,
            "signals": [f"signal {n}" for n in range(10_000)],
            "labels": {f"l{n}": "v" * 10_000 for n in range(10_000)},
            "evidence": [object() for _ in range(10_000)],
        }
    )
    assert len(incident.alert_name) == MAX_NAME
    assert len(incident.description) <= MAX_TEXT
    assert len(incident.signals) == len(incident.labels) == MAX_ITEMS
    assert len(incident.problems) == MAX_PROBLEMS
    assert "signals: 10000 members, the first 50 are read" in incident.problems


def test_a_programs_output_in_a_question_is_its_description():
    question = "2 hospitals complain. facade log:\n\nWARN introspection failed upstream=401\nexit 1\n\n  134 PIN_LOCKED\n\nrestart it?"
    assert Incident.asked(question) == Incident(
        title="2 hospitals complain. facade log: restart it?",
        description="WARN introspection failed upstream=401 exit 1 134 PIN_LOCKED",
    )


@pytest.mark.parametrize(
    "question", ["disk full\non web-1, what now", "ERROR: disk full", "ERROR: x\nFATAL: y"]
)
def test_a_question_without_output_or_of_nothing_else_is_its_title(question):
    assert Incident.asked(question) == Incident(title=" ".join(question.split()))


def test_what_no_query_can_carry_is_blanked():
    assert Incident.from_state({"title": "a\ud800\x00\x1b[31m b"}).title == "a [31m b"


@pytest.mark.parametrize("wrong", [{"title": "x" * (MAX_TEXT + 1)}, {"service": "a\nb"}])
def test_an_incident_holds_its_bounds_where_it_is_built(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Incident(**wrong)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
KEYS = st.sampled_from(
    ["incident", "signals", "evidence", "history", "labels", "annotations", "title", "service",
     "alertname", "id", "description", "name", "x"]
)  # fmt: skip
STATES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5)
)


@given(STATES)
def test_whatever_a_state_holds_queries_can_be_built(state):
    queries = build_queries(Incident.from_state(state))
    assert len(queries) <= MAX_QUERIES
    assert all(query.text.encode() for query in queries)
