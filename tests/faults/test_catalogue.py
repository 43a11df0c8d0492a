"""The catalogue is sound, and what is promised of a row is worth something."""

import dataclasses
import json
import os
import re

import pytest

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.outcome import DropReason, Reason
from knowledge_rag.evaluation.faults import run
from knowledge_rag.evaluation.faults.payloads import (
    agent,
    agent_function,
    agent_parameters,
    direct,
    evidence,
    gateway,
    item,
)
from knowledge_rag.evaluation.faults.run import CATALOGUE, broken_by, named, run_fault
from knowledge_rag.evaluation.faults.scenario import (
    HEALTHY_ANSWER,
    Call,
    Group,
    answers,
    degrades,
    refuses,
)
from tests.support.local import PROJECT

EVENTS = PROJECT / "tests" / "events"
TRIES = 10
"""Of a machine that others use, too: what is late is late each time, or it was not the function."""


@pytest.fixture
def surroundings(monkeypatch):
    """This process's environment, which playing a row here takes over."""
    before = dict(os.environ)
    yield monkeypatch
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


def broken(name, surroundings, **change):
    assert surroundings
    for _ in range(TRIES):
        played = run_fault(dataclasses.replace(named(name), **change))
        if not played.late:
            break
    return {one.promise for one in played.broken}


def test_rows_have_names_that_can_be_typed_and_told_apart():
    names = [fault.name for fault in CATALOGUE]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+([-.][a-z0-9]+)*", name) for name in names)
    assert all(len(name) <= 22 for name in names)  # so that a table of 80 columns holds them


def test_rows_stand_together_by_their_group():
    order = [fault.group for fault in CATALOGUE]
    assert order == sorted(order, key=list(Group).index)
    assert set(order) == set(Group)


def test_every_reason_that_a_fault_can_have_is_played():
    played = {fault.expected.reason for fault in CATALOGUE}
    assert played - {None} == set(Reason) - {Reason.QUERY_LIMIT}  # which is no fault


def test_every_drop_that_a_fault_can_cause_is_played():
    played = {reason for fault in CATALOGUE for reason in fault.expected.dropped or ()}
    # what only a setting drops: tests/contract/test_located_retrieval.py plays those of located lines
    located = {DropReason.UNLOCATED, DropReason.AMBIGUOUS, DropReason.UNREAD}
    assert played == set(DropReason) - {DropReason.BELOW_FLOOR} - located


def test_a_name_that_is_none_is_told_with_what_is_near():
    with pytest.raises(InvalidRequest, match="did you mean drip-body, drip-body-tls"):
        named("drip-bod")


class TestBrokenPromises:
    """The real function, held against what it does not do."""

    @pytest.mark.parametrize(
        ("expected", "promise"),
        [
            (degrades(Reason.THROTTLED), "reason"),
            (degrades(Reason.UNAVAILABLE, "OtherCode"), "the code in the log"),
            (answers(evidence(item())), "status"),
            (answers(evidence(item())), "exactly the proven results"),
            (refuses(400, "query is missing"), "HTTP code"),
            (degrades(Reason.ACCESS_DENIED), "KnowledgeRetrievalPermanentErrors"),
            (degrades(Reason.TIMEOUT), "KnowledgeRetrievalTimeouts"),
            (degrades(Reason.UNAVAILABLE, "", {DropReason.NOT_TEXT: 1}), "dropped and counted"),
        ],
    )
    def test_another_answer_than_the_promised_one_is_told(self, surroundings, expected, promise):
        assert promise in broken("refused", surroundings, expected=expected)

    def test_a_connection_too_many_is_told(self, surroundings):
        assert broken("reset", surroundings, connections=1) == {"connections made"}

    def test_another_result_is_told(self, surroundings):
        expected = answers(evidence(item(score=0.51)), *HEALTHY_ANSWER.evidence[1:])
        assert "exactly the proven results" in broken("kept", surroundings, expected=expected)

    def test_an_answer_logged_without_the_service_s_id_of_the_request_is_told(self, surroundings):
        surroundings.setattr(run, "REQUEST_ID", "another")
        assert "the request id in the log" in broken("kept", surroundings)

    def test_a_row_that_leaves_its_successor_sick_is_told(self, surroundings):
        told = broken("no-credentials", surroundings, healthy_after=True)
        assert "the next call is healthy: status" in told

    def test_a_kept_row_breaks_nothing(self, surroundings):
        assert broken("refused", surroundings) == set()


@pytest.mark.parametrize(
    ("heard", "promise"),
    [
        (Call(2.01, {"error": "query is missing"}), "answered in time"),
        (Call(0.1, raised="KeyError: 'query'"), "nothing raised"),
        (Call(0.1, {"error": "query is missing", "results": []}), "only the reason"),
        (Call(0.1, {"error": float("nan")}), "a JSON answer"),
        (Call(0.1, {"error": "no"}), "the reason for refusal"),
        (
            Call(
                0.1, {"error": "query is missing"}, output=f'{{"message": "{direct()["query"]}"}}'
            ),
            "no query text in the log",
        ),
        (
            Call(0.1, {"error": "query is missing"}, output='{"message": "rds-7q4z"}'),
            "no query text in the log",
        ),
    ],
)
def test_what_no_call_may_do_is_told(heard, promise):
    fault = named("query-missing")
    assert promise in {one.promise for one in broken_by(fault, heard, fault.expected)}


def test_an_answer_in_another_caller_s_form_is_told():
    heard, fault = Call(0.1, {"error": "query is missing"}), named("query-missing-agent")
    told = {one.promise for one in broken_by(fault, heard, fault.expected)}
    assert "the caller's own form" in told


class TestEvents:
    """The catalogue asks as the callers do: its events have the shape of those whose origin is known."""

    @pytest.mark.parametrize(
        ("name", "event"),
        [
            ("agent_request_body", agent({"query": "x", "max_results": "3"})),
            ("agent_parameters", agent_parameters({"query": "x"})),
            ("agent_function_details", agent_function()),
            ("direct", direct()),
        ],
    )
    def test_an_event_has_a_known_shape(self, name, event):
        known = json.loads((EVENTS / f"{name}.json").read_text())
        if name == "direct":
            assert event.keys() <= known.keys()
        else:
            assert shape(event) == shape(known)

    def test_a_gateway_names_its_tool_as_it_is_known_to(self):
        known = json.loads((EVENTS / "gateway_client_context.json").read_text())
        name = "bedrockAgentCoreToolName"
        assert gateway().client_context.custom[name] == known["custom"][name]


def shape(value):
    """Give the names in a value, with one member standing for all of a list."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else type(value)
