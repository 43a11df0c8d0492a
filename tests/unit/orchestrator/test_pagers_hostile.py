"""Whatever JSON comes, an incident is read from it: one bounded line for each text, and no exception."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_rag.orchestrator.incident import MAX_LINKS, MAX_NAMES, Incident
from knowledge_rag.orchestrator.pagers import pasted
from knowledge_rag.orchestrator.queries import build_queries
from knowledge_rag.orchestrator.state import MAX_ITEMS, MAX_NAME, MAX_PROBLEMS, MAX_TEXT
from tests.support.local import PROJECT

RECORDED = [
    json.loads(file.read_text())
    for file in sorted((PROJECT / "tests/data/incidents").glob("*.json"))
]


def keys_of(payload):
    if isinstance(payload, dict):
        yield from payload
        for member in payload.values():
            yield from keys_of(member)
    elif isinstance(payload, list):
        for member in payload:
            yield from keys_of(member)


KEYS = sorted({key for payload in RECORDED for key in keys_of(payload)} | {"incident", "signals", "history", "Records", "Sns", "messages", "x"})  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from(["firing", "resolved", "OK", "a\nb", "<p>a", "[FIRING:1]", '{"title": "x"}', "[[{", "CamelCaseName: x", "aws.cloudwatch", "\ud800"])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=25,
)


def check(incident, *, is_member=False):
    for name in (
        "incident_id",
        "alert_name",
        "service",
        "severity",
        "title",
        "description",
        "read_as",
    ):
        text = getattr(incident, name)
        assert len(text) <= (MAX_TEXT if name in ("title", "description", "read_as") else MAX_NAME)
        assert "\n" not in text
        text.encode()
    for texts in (incident.signals, incident.evidence, incident.history):
        assert len(texts) <= MAX_ITEMS
        assert all(len(text) <= MAX_TEXT and "\n" not in text for text in texts)
    assert len(incident.labels) <= MAX_ITEMS
    assert len(incident.links) <= MAX_LINKS
    assert len(incident.names) <= MAX_NAMES
    assert len(incident.problems) <= MAX_PROBLEMS
    assert len(incident.alerts) <= MAX_ITEMS
    assert not (is_member and incident.alerts)
    assert len(incident.alerts) != 1
    for alert in incident.alerts:
        check(alert, is_member=True)
    build_queries(incident)


@given(VALUES)
@settings(max_examples=400)
def test_any_json_is_read_into_bounded_lines(payload):
    check(Incident.from_state(payload))


@st.composite
def mutated(draw):
    """A recorded payload, some of whose members are something else."""
    payload = json.loads(json.dumps(draw(st.sampled_from(RECORDED))))
    for _ in range(draw(st.integers(1, 4))):
        place = payload
        while isinstance(place, (dict, list)) and place:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(st.sampled_from(keys))
            if not isinstance(place[key], (dict, list)) or draw(st.integers(0, 3)) == 0:
                place[key] = draw(VALUES)
                break
            place = place[key]
    return payload


@given(mutated())
@settings(max_examples=400)
def test_a_payload_with_anything_in_it_is_read_into_bounded_lines(payload):
    check(Incident.from_state(payload))
    check(Incident.from_state({"incident": payload, "signals": "s"}))


@pytest.mark.parametrize("payload", RECORDED)
def test_texts_lists_and_objects_of_any_size_are_cut(payload):
    def grown(value):
        if isinstance(value, dict):
            return {key: grown(member) for key, member in value.items()} | {
                f"k{n}": n for n in range(500)
            }
        if isinstance(value, list):
            return [grown(member) for member in value] * 200
        return f"{value} \n<a [x]( Labels:\n - a = b\n" * 2_000 if isinstance(value, str) else value

    large = grown(payload)
    started = time.perf_counter()
    check(Incident.from_state(large))
    assert time.perf_counter() - started < 5


def test_a_payload_nested_as_deeply_as_json_may_be_is_read():
    for text in ('{"data":' * 900 + '{"subject": "a1"}' + "}" * 900, "[" * 900 + "{}" + "]" * 900):
        check(Incident.from_state(json.loads(text)))
    nested = {"subject": "innermost"}
    for _ in range(12):
        nested = {"incident": json.dumps(nested)}
    check(Incident.from_state(nested))
    assert pasted(json.dumps(nested)) == nested


def test_keys_and_values_that_no_json_has_are_passed_over():
    payload = {
        10**5_000: 1,
        None: {},
        b"x": object(),
        ("a",): [object()],
        "message": "m1",
        "labels": {10**5_000: "x"},
    }
    incident = Incident.from_state(payload)
    assert incident.description == "m1"
