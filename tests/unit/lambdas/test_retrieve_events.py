from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.outcome import DropReason, RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query, select
from knowledge_rag.evaluation.faults.payloads import FILE, item
from lambdas.retrieve_knowledge.events import (
    MAX_AGENT_RESPONSE_BYTES,
    MAX_DIRECT_RESPONSE_BYTES,
    MAX_GATEWAY_RESPONSE_BYTES,
    Caller,
    recognise,
    to_query,
    unread,
)

EVENTS = Path(__file__).parents[2] / "events"


def load(name):
    return json.loads((EVENTS / f"{name}.json").read_text())


def gateway_context(**custom):
    custom = {**load("gateway_client_context")["custom"], **custom}
    return SimpleNamespace(client_context=SimpleNamespace(custom=custom))


def body_of(answer):
    return json.loads(answer["response"]["responseBody"]["application/json"]["body"])


def found(*items):
    return select(list(items), 100, None)


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


class TestAgent:
    def test_values_arrive_in_the_body(self):
        call = recognise(load("agent_request_body"), None)
        assert call.caller is Caller.AGENT
        assert call.query() == Query("RDS failover steps", 3)
        assert (call.session_id, call.incident_id) == ("914912543234567", "INC-4711")

    def test_values_arrive_as_parameters(self):
        assert recognise(load("agent_parameters"), None).query() == Query(
            "RDS failover steps", 3, {"document_type": "runbook"}
        )

    def test_the_body_wins_over_a_parameter(self):
        event = load("agent_request_body")
        event["parameters"] = [{"name": "query", "type": "string", "value": "other"}]
        assert recognise(event, None).query().text == "RDS failover steps"

    def test_the_answer_is_the_envelope_and_echoes_the_session(self):
        call = recognise(load("agent_request_body"), None)
        answer = call.answer(found(item()), counted=True)
        body = answer["response"].pop("responseBody")["application/json"]["body"]
        assert json.loads(body)["status"] == "ok"
        assert answer == {
            "messageVersion": "1.0",
            "response": {
                "actionGroup": "knowledge",
                "apiPath": "/retrieve",
                "httpMethod": "POST",
                "httpStatusCode": 200,
            },
            "sessionAttributes": {"incident_id": "INC-4711"},
            "promptSessionAttributes": {"locale": "en", "knowledgeRagQueries": "1"},
        }

    def test_text_in_any_script_goes_as_it_is(self):
        call = recognise(load("agent_request_body"), None)
        answer = call.answer(found(item("主库故障 \u2028 ü")))
        assert "主库故障 \u2028 ü" in answer["response"]["responseBody"]["application/json"]["body"]

    def test_the_count_of_queries_travels_with_the_turn(self):
        event = load("agent_request_body")
        event["promptSessionAttributes"] = {"knowledgeRagQueries": "2"}
        call = recognise(event, None)
        assert call.queries_before == 2
        assert call.answer(found(), counted=True)["promptSessionAttributes"] == {
            "knowledgeRagQueries": "3"
        }
        assert call.answer(found())["promptSessionAttributes"] == {"knowledgeRagQueries": "2"}
        refused = call.refuse(InvalidRequest("no"))
        assert refused["promptSessionAttributes"] == {"knowledgeRagQueries": "2"}

    def test_only_text_is_echoed_and_only_what_can_be_sent(self):
        event = load("agent_request_body") | {
            "actionGroup": "a\ud800" + "x" * 5000,
            "apiPath": nested(3000),
            "httpMethod": float("nan"),
            "sessionAttributes": {"k\udfff": "v\ud800", "n": math.nan, "d": nested(3000), 5: "x"},
            "promptSessionAttributes": {"big": "x" * 20_000},
        }
        call = recognise(event, None)
        answer = call.answer(found(), counted=True)
        written = json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
        assert len(written) < 3000
        assert answer["response"]["actionGroup"].startswith("a?xxx")
        assert (answer["response"]["apiPath"], answer["response"]["httpMethod"]) == ("", "")
        assert answer["sessionAttributes"] == {"k?": "v?"}
        assert answer["promptSessionAttributes"] == {"knowledgeRagQueries": "1"}

    @pytest.mark.parametrize("path", ["/retrieve", "\U0001f600" * 2000])
    def test_an_answer_has_room_for_itself_beside_all_that_it_echoes(self, path):
        for session, prompt in ((12_000, 12_000), (15_900, 15_900), (15_900, 50), (0, 15_900)):
            event = load("agent_request_body") | {
                "actionGroup": "\U0001f600" * 2000,
                "apiPath": path,
                "httpMethod": "\U0001f600" * 2000,
                "sessionAttributes": {"a": "x" * session},
                "promptSessionAttributes": {"b": "y" * prompt},
            }
            call = recognise(event, None)
            assert call.answer(found())["sessionAttributes"] == {"a": "x" * session}
            for answer in (call.answer(found()), call.refuse(InvalidRequest("x" * 500))):
                assert len(json.dumps(answer).encode()) <= 25_000

    @pytest.mark.parametrize("name", ["messageVersion", "apiPath", "httpMethod"])
    @pytest.mark.parametrize("value", [[[]], {"a": 1}, 5, math.nan, True, "x\ud800" * 99])
    def test_what_names_no_operation_is_told_briefly(self, name, value):
        for change in (value, nested(3000)):
            call = recognise(load("agent_request_body") | {name: change}, None)
            with pytest.raises(InvalidRequest) as caught:
                call.query()
            assert len(str(caught.value).encode()) < 500

    @pytest.mark.parametrize("count", [None, "", "x", "-3", "1.5", 3, "٣", "9x", "1234567x"])
    def test_a_garbled_count_starts_anew(self, count):
        event = load("agent_request_body")
        event["promptSessionAttributes"] = {"knowledgeRagQueries": count}
        assert recognise(event, None).queries_before == 0

    @pytest.mark.parametrize(
        ("change", "status", "why"),
        [
            ({"messageVersion": "2.0"}, 400, "messageVersion must be '1.0', not '2.0'"),
            ({"messageVersion": None}, 400, "messageVersion"),
            ({"apiPath": "/delete"}, 404, "no path '/delete'; there is /retrieve"),
            ({"apiPath": None}, 404, "no path"),
            ({"httpMethod": "GET"}, 405, "takes POST, not 'GET'"),
            ({"requestBody": None}, 400, "query is missing"),
            ({"requestBody": None, "parameters": "x"}, 400, "parameters must be a list"),
            ({"requestBody": None, "parameters": [{"value": "x"}]}, 400, "parameters must be"),
            (
                {"requestBody": {"content": {"application/json": {"properties": {}}}}},
                400,
                "requestBody",
            ),
        ],
    )
    def test_what_can_t_be_served_is_refused_in_the_envelope(self, change, status, why):
        call = recognise(load("agent_request_body") | change, None)
        with pytest.raises(InvalidRequest, match=why) as caught:
            call.query()
        answer = call.refuse(caught.value)
        assert answer["response"]["httpStatusCode"] == status
        assert set(body_of(answer)) == {"error"}

    def test_an_action_group_of_functions_is_told_what_there_is(self):
        call = recognise(load("agent_function_details"), None)
        with pytest.raises(InvalidRequest, match=r"function details.*there is /retrieve"):
            call.query()

    def test_no_more_than_five_results(self):
        event = load("agent_parameters")
        event["parameters"][1]["value"] = "60"
        assert recognise(event, None).query().max_results == 5

    def test_an_answer_over_the_size_limit_loses_its_lowest_ranks(self):
        call = recognise(load("agent_request_body"), None)
        outcome = found(*[item('say "x"\n' * 800 + "é", start=n * 1000 + 1) for n in range(5)])
        fitted = call.fitted(outcome).outcome
        assert 0 < len(fitted.results) < 5
        assert fitted.results == outcome.results[: len(fitted.results)]
        assert fitted.dropped[DropReason.OVER_SIZE] == 5 - len(fitted.results)
        wire = json.dumps(call.answer(fitted, counted=True), ensure_ascii=False).encode()
        assert len(wire) < MAX_AGENT_RESPONSE_BYTES + 100


class TestGateway:
    def test_the_event_is_the_arguments_and_the_answer_is_plain(self):
        call = recognise(load("gateway"), gateway_context())
        assert call.caller is Caller.GATEWAY
        assert call.query() == Query("RDS failover steps", 3)
        assert call.answer(found()) == {"results": [], "status": "no_match"}
        assert call.refuse(InvalidRequest("no")) == {"error": "no"}

    def test_no_more_than_five_results(self):
        call = recognise({"query": "x", "max_results": 60}, gateway_context())
        assert call.query().max_results == 5

    def test_an_answer_is_kept_to_what_a_model_can_read(self):
        call = recognise({"query": "x"}, gateway_context())
        outcome = found(*[item("x" * 30_000, start=n) for n in range(1, 6)])
        fitted = call.fitted(outcome).outcome
        assert fitted.results == outcome.results[:3]
        assert len(json.dumps(call.answer(fitted))) <= MAX_GATEWAY_RESPONSE_BYTES

    def test_of_one_document_a_hundred_results_may_be_asked_for(self):
        event = {"query": "x", "max_results": 101, "source_file": "a.md"}
        assert recognise(event, gateway_context()).query().max_results == 100
        assert recognise({**event, "source_file": " "}, gateway_context()).query().max_results == 5

    def test_what_of_one_document_is_too_much_is_told_within_the_limit(self):
        call = recognise({"query": "x", "source_file": FILE}, gateway_context())
        outcome = found(*[item("x" * 30_000, start=n, score=n / 10) for n in range(1, 6)])
        fitted = call.fitted(outcome)
        assert [result.citation.start_line for result in fitted.outcome.results] == [3, 4, 5]
        assert fitted.answer["notice"] == (
            "2 passages of this document are left out to keep the answer small."
        )
        assert len(json.dumps(fitted.answer)) <= MAX_GATEWAY_RESPONSE_BYTES

    @pytest.mark.parametrize(
        "name", ["t___retrieveKnowledge", "a___b___retrieve_knowledge", "retrieve_knowledge"]
    )
    def test_the_tool_goes_by_either_name(self, name):
        recognise({"query": "x"}, gateway_context(bedrockAgentCoreToolName=name)).query()

    def test_another_tool_is_refused(self):
        call = recognise({"query": "x"}, gateway_context(bedrockAgentCoreToolName="t___delete"))
        with pytest.raises(InvalidRequest, match="no tool 'delete'") as caught:
            call.query()
        assert caught.value.status == 404


class TestDirect:
    def test_up_to_a_hundred_results_and_ids_for_the_metrics(self):
        call = recognise(load("direct"), SimpleNamespace(client_context=None))
        assert call.caller is Caller.DIRECT
        assert call.query() == Query("RDS failover steps", 20, {"service": "rds"})
        assert (call.session_id, call.incident_id) == ("orchestrator-7", "INC-4711")

    def test_an_answer_may_be_as_large_as_lambda_takes(self):
        call = recognise({"query": "x"}, None)
        outcome = found(*[item("x" * 30_000, start=n) for n in range(1, 101)])
        assert call.fitted(outcome).outcome is outcome
        outcome = found(*[item("ü" * 30_000, start=n) for n in range(1, 101)])
        fitted = call.fitted(outcome).outcome
        assert 0 < len(fitted.results) < 100
        escaped = sys.version_info < (3, 12)  # as Lambda's runtime of that version writes it
        written = json.dumps(call.answer(fitted), ensure_ascii=escaped).encode()
        assert len(written) <= MAX_DIRECT_RESPONSE_BYTES

    def test_the_nearest_passages_go_to_a_direct_caller_alone(self):
        outcome = RetrievalOutcome(Status.NO_MATCH, nearest=found(item(start=1)).results)
        direct = recognise({"query": "x"}, None).answer(outcome)
        assert [it["citation"]["start_line"] for it in direct["nearest"]] == [1]
        gateway = gateway_context(bedrockAgentCoreToolName="t___retrieve_knowledge")
        for call in (recognise({"query": "x"}, gateway), recognise(load("agent_parameters"), None)):
            assert "nearest" not in json.dumps(call.answer(outcome))

    def test_a_result_of_a_million_tags_does_not_take_the_others_with_it(self):
        tagged = item(start=1, tags=["abcd"] * 1_000_000)
        outcome = found(tagged, item(start=50))
        fitted = recognise({"query": "x"}, None).fitted(outcome).outcome
        assert [result.citation.start_line for result in fitted.results] == [50]
        assert fitted.dropped[DropReason.OVER_SIZE] == 1

    @pytest.mark.parametrize(
        ("event", "why"),
        [
            ({}, "query is missing"),
            ([], "must be a JSON object"),
            (None, "must be a JSON object"),
            ("query", "must be a JSON object"),
            (load("api_gateway_proxy"), "unknown argument 'version', 'routeKey', 'rawPath'; known"),
            ({"query": "x" * 6_000_000}, "6000000 characters"),
            ({"k" * 6_000_000: 1}, "unknown argument"),
        ],
        ids=["empty", "list", "null", "text", "api gateway", "6 MB query", "6 MB name"],
    )
    def test_other_events_are_refused_briefly(self, event, why):
        call = recognise(event, None)
        with pytest.raises(InvalidRequest, match=why) as caught:
            call.query()
        assert len(json.dumps(call.refuse(caught.value))) < 300

    def test_ids_that_are_none_are_left_out(self):
        call = recognise(
            {"query": "x", "session_id": 5, "incident_id": "a\ud800" + "b" * 500}, None
        )
        assert call.session_id == ""
        assert call.incident_id == "a?" + "b" * 198


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats()
    | st.text(max_size=5) | st.text(st.characters(categories=["Cs"]), max_size=2),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["messageVersion", "apiPath", "httpMethod", "actionGroup", "parameters", "requestBody",
             "content", "application/json", "properties", "name", "value", "query", "sessionId",
             "sessionAttributes", "promptSessionAttributes", "knowledgeRagQueries", "incident_id"]
        ),
        inner | st.sampled_from(["1.0", "/retrieve", "POST", "query"]),
        max_size=6,
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_any_event_is_either_a_query_or_a_refusal_in_the_caller_s_form(event):
    call = recognise(event, None)
    try:
        call.query()
    except InvalidRequest as error:
        answer = call.refuse(error)
    else:
        answer = call.answer(found(), counted=True)
    assert ("response" in answer) == (call.caller is Caller.AGENT)
    json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
    assert (unread(event).caller is Caller.AGENT) == (call.caller is Caller.AGENT)


@pytest.mark.parametrize(
    "context",
    [None, 5, SimpleNamespace(), SimpleNamespace(client_context=None),
     SimpleNamespace(client_context=SimpleNamespace(custom=None)),
     SimpleNamespace(client_context=SimpleNamespace(custom={"other": 1}))],
)  # fmt: skip
def test_any_other_context_is_a_direct_caller_s(context):
    assert recognise({"query": "x"}, context).caller is Caller.DIRECT


def max_results(value, most=5):
    return to_query({"query": "x", "max_results": value}, most).max_results


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3), (3.0, 3), ("3", 3), ("3.0", 3), (" 3. ", 3), ("+3", 3),
        (0, 1), (-1, 1), ("-1", 1), (10**9, 5), ("1000000000", 5), (-(10**400), 1),
        ("9" * 5000, 5), (1e300, 5),
    ],
)  # fmt: skip
def test_whole_numbers_are_taken_and_clamped(value, expected):
    assert max_results(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        "five",
        "3.7",
        3.7,
        None,
        True,
        "true",
        "",
        "null",
        [],
        {},
        "1e3",
        "٣",
        float("nan"),
        float("inf"),
    ],
)
def test_anything_else_is_refused_and_why(value):
    with pytest.raises(InvalidRequest, match="max_results must be a whole number from 1 to 5, not"):
        max_results(value)


def test_of_one_document_more_may_be_asked_for():
    def most(**arguments):
        return to_query({"query": "x", "max_results": 60, **arguments}, 5, most_of_document=100)

    assert most(source_file="runbooks/rds.md").max_results == 60
    assert most().max_results == most(source_file=" ").max_results == 5
    assert to_query({"query": "x", "max_results": 60, "source_file": "a.md"}, 5).max_results == 5


def test_without_it_five_come_and_a_direct_caller_may_have_more():
    assert to_query({"query": "x"}, 5).max_results == 5
    assert max_results(60, most=100) == 60


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "query is missing"),
        ({"query": None}, "query is missing"),
        ({"query": 5}, "query must be text"),
        ({"query": " \n\t "}, "query is blank"),
        ({"query": "x" * 20_001}, "20001 characters long; at most 20000"),
        ({"query": "\ud800"}, "query contains a lone surrogate"),
        ({"query": "x", "service": 5}, "service must be text"),
        ({"query": "x", "service": None}, "service must be text"),
        ({"query": "x", "service": "y" * 201}, "service is longer than 200"),
        ({"query": "x", "document_type": "\udfff"}, "document_type contains a lone"),
        ({"query": "x", "source_file": 5}, "source_file must be text"),
        ({"query": "x", "source_file": "y" * 1_025}, "source_file is longer than 1024"),
        ({"query": "x", "source_file": "\ud800.md"}, "source_file contains a lone"),
        ({"query": "x", "source_file": "/a.md"}, "'/a.md' is not the path of a document"),
        ({"query": "x", "source_file": "a/../b.md"}, "is not the path of a document"),
        ({"query": "x", "source_file": "a//b.md"}, "is not the path of a document"),
        ({"query": "x", "source_file": "a\\b.md"}, "is not the path of a document"),
        ({"query": "x", "source_file": "a.md, lines 1-2"}, "is not the path of a document"),
        ({"query": "x", "source_file": "z" * 1_000 + "/.."}, "is not the path of a document"),
        ({"query": "x", "maxResults": 3}, "unknown argument 'maxResults'; known: query"),
    ],
)
def test_what_makes_no_sense_is_refused_and_why(arguments, why):
    with pytest.raises(InvalidRequest, match=why) as caught:
        to_query(arguments, 5)
    assert caught.value.status == 400
    assert len(str(caught.value)) < 300


def test_a_query_goes_on_as_it_is_and_blank_filters_are_none():
    query = to_query({"query": " rds? ", "service": " rds ", "document_type": " "}, 5)
    assert query.text == " rds? "
    assert query.filters == {"service": "rds"}


def test_a_path_goes_on_as_it_is_for_it_has_to_match_exactly():
    path = "runbooks/Über uns (2).md"
    assert to_query({"query": "x", "source_file": path}, 5).source_file == path
    assert to_query({"query": "x", "source_file": "a.md "}, 5).source_file == "a.md "
    assert to_query({"query": "x", "source_file": " \n"}, 5).source_file is None
    assert to_query({"query": "x", "source_file": "y" * 1_024}, 5).source_file == "y" * 1_024


@given(
    st.dictionaries(
        st.sampled_from(
            ["query", "max_results", "service", "document_type", "source_file", "other"]
        ),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()),
    )
)
def test_any_arguments_are_either_a_query_within_bounds_or_a_refusal(arguments):
    try:
        query = to_query(arguments, 5)
    except InvalidRequest as error:
        str(error).encode()
    else:
        assert query.text.strip()
        assert 1 <= query.max_results <= 5
