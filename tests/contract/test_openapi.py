"""The schema, the handler and Bedrock's rules agree."""

import json
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openapi_spec_validator import OpenAPIV30SpecValidator

from knowledge_rag.core.citations import MAX_LINE, MAX_PATH, check_source_file
from knowledge_rag.core.errors import InvalidCitation
from knowledge_rag.core.metadata import SHOWN_FIELDS
from knowledge_rag.core.outcome import MAX_TOOL_RESULTS, Reason, Status
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS, MAX_SERVICE_RESULTS
from knowledge_rag.evaluation.faults.payloads import FILE, item, retrieved
from knowledge_rag.evaluation.faults.server import answering, http, sending
from lambdas.retrieve_knowledge.events import (
    API_PATH,
    ARGUMENTS,
    DEFAULT_MAX_RESULTS,
    HTTP_METHOD,
    MAX_FILTER_CHARACTERS,
)
from tests.support.fixtures import invoke
from tests.support.patience import patient_function

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "schemas/retrieve_knowledge.openapi.json").read_text())
OPERATION = SCHEMA["paths"][API_PATH][HTTP_METHOD.lower()]
REQUEST = OPERATION["requestBody"]["content"]["application/json"]["schema"]
RESPONSES = {
    int(status): response["content"]["application/json"]["schema"]
    for status, response in OPERATION["responses"].items()
}
MAX_INLINE_BYTES = 50_000  # well below what an action group takes in line


@pytest.fixture(autouse=True)
def _patient():
    with patient_function():
        yield


def test_it_is_valid_openapi_3_0():
    OpenAPIV30SpecValidator(SCHEMA).validate()
    assert SCHEMA["openapi"] == "3.0.3"


def test_it_keeps_the_rules_of_action_groups():
    operations = [operation for path in SCHEMA["paths"].values() for operation in path.values()]
    assert [operation["operationId"] for operation in operations] == ["retrieveKnowledge"]
    assert all(operation["description"] for operation in operations)
    assert all(r["description"] for o in operations for r in o["responses"].values())
    assert "enum" not in set(_keys(SCHEMA))
    assert len(json.dumps(SCHEMA)) < MAX_INLINE_BYTES


def test_every_property_is_described():
    for schema in _schemas(SCHEMA):
        for name, member in schema.get("properties", {}).items():
            assert member.get("description"), name


def test_the_request_is_what_the_handler_accepts():
    properties = REQUEST["properties"]
    assert tuple(properties) == ARGUMENTS
    assert REQUEST["required"] == ["query"]
    assert properties["query"]["maxLength"] == MAX_QUERY_CHARACTERS
    assert properties["max_results"]["default"] == DEFAULT_MAX_RESULTS
    assert properties["max_results"]["minimum"] == 1
    assert properties["max_results"]["maximum"] == MAX_SERVICE_RESULTS
    assert f"outside 1 to {MAX_TOOL_RESULTS} count" in properties["max_results"]["description"]
    assert properties["document_type"]["maxLength"] == MAX_FILTER_CHARACTERS
    assert properties["service"]["maxLength"] == MAX_FILTER_CHARACTERS
    assert properties["source_file"]["maxLength"] == MAX_PATH


def test_the_response_names_what_the_code_can_say():
    ok = RESPONSES[200]["properties"]
    assert ok["status"]["pattern"] == f"^({'|'.join(Status)})$"
    assert ok["reason"]["pattern"] == f"^({'|'.join(Reason)})$"
    assert ok["results"]["maxItems"] == MAX_SERVICE_RESULTS
    result = ok["results"]["items"]["properties"]
    assert set(result["metadata"]["properties"]) == set(SHOWN_FIELDS)
    assert result["citation"]["properties"]["end_line"]["maximum"] == MAX_LINE


FULL = item(
    service="rds", severity="critical", owner="sre", last_reviewed="2026-01-01", status="deprecated", page=3.0,
    dates=["2026-01-02", "2026-11-12"],
    incident_id="INC-1", tags=["a", "b"], alerts=["RDSDown"], source_url="https://example.com/x",
)  # fmt: skip


@pytest.mark.parametrize(
    ("response", "status"),
    [
        (http(retrieved(FULL, item(start=30, score=None))), "ok"),
        (http(retrieved()), "no_match"),
        (http(retrieved({}, None)), "degraded"),
        (http({"__type": "ThrottlingException"}, "429 Slow"), "degraded"),
        (http(retrieved(guardrailAction="INTERVENED")), "degraded"),
    ],
    ids=["results", "nothing", "unverifiable", "throttled", "guardrail"],
)
def test_answers_keep_the_schema(knowledge_base, response, status):
    knowledge_base(sending(response))
    answer = _answer(200, agent_event(query="RDS failover"))
    assert answer["status"] == status


def test_an_answer_without_settings_keeps_the_schema(aws_environment):
    aws_environment.delenv("KNOWLEDGE_BASE_ID")
    assert _answer(200, agent_event(query="x"))["reason"] == "configuration"


@pytest.mark.usefixtures("aws_environment")
def test_an_answer_beyond_the_limit_of_a_turn_keeps_the_schema():
    event = agent_event(query="x") | {"promptSessionAttributes": {"knowledgeRagQueries": "3"}}
    assert _answer(200, event)["reason"] == "query_limit"


@pytest.mark.usefixtures("aws_environment")
@pytest.mark.parametrize(
    "arguments", [{}, {"query": " "}, {"query": "x", "max_results": "five"}, {"question": "x"}]
)
def test_refusals_keep_the_schema(arguments):
    _answer(400, agent_event(**arguments))


def test_what_the_schema_allows_is_served_and_what_it_forbids_is_refused_or_clamped(
    knowledge_base,
):
    knowledge_base(answering(http(retrieved(item()))))

    @settings(deadline=None)
    @given(_ARGUMENTS)
    def check(arguments):
        answer = invoke(arguments, gateway_context()).answer
        if (
            _is_valid(arguments, REQUEST)
            and arguments["query"].strip()
            and _is_path(arguments.get("source_file", ""))
        ):
            jsonschema.validate(answer, RESPONSES[200])
        elif "error" in answer:
            jsonschema.validate(answer, RESPONSES[400])
        else:  # the one leniency that the schema's description promises
            assert isinstance(arguments["max_results"], int | float)
            jsonschema.validate(answer, RESPONSES[200])

    check()


_ARGUMENTS = st.fixed_dictionaries(
    {"query": st.text(max_size=30)},
    optional={
        "max_results": st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none(),
        "document_type": st.text(max_size=9),
        "service": st.text(max_size=9) | st.none(),
        "source_file": st.text(max_size=9) | st.just("runbooks/rds.md") | st.integers(),
    },
)


@pytest.mark.parametrize("shape", ["agent", "gateway", "direct"])
def test_each_caller_may_ask_for_one_document_and_the_answer_keeps_the_schema(
    knowledge_base, aws_environment, shape
):
    aws_environment.setenv("EVIDENCE_FLOOR_HYBRID", "0.9")
    passages = [item(start=3 * n + 1, score=0.5) for n in reversed(range(8))]
    server = knowledge_base(answering(http(retrieved(*passages))))
    arguments = {"query": "anything", "max_results": 60, "source_file": FILE}
    if shape == "agent":
        given = {**arguments, "max_results": "60"}
        answer = _answer(200, agent_event(**given))
    else:
        context = gateway_context() if shape == "gateway" else None
        answer = invoke(arguments, context).answer
    jsonschema.validate(answer, RESPONSES[200])
    search = json.loads(server.requests[0][1])["retrievalConfiguration"][
        "vectorSearchConfiguration"
    ]
    assert search["filter"] == {"equals": {"key": "source_file", "value": FILE}}
    starts = [result["citation"]["start_line"] for result in answer["results"]]
    if shape == "agent":  # five are all that an agent is given
        assert search["numberOfResults"] == 10
        assert starts == [10, 13, 16, 19, 22]
        assert answer["notice"] == "3 passages of this document are not shown."
    else:
        assert search["numberOfResults"] == 65
        assert starts == [1, 4, 7, 10, 13, 16, 19, 22]
        assert "notice" not in answer


@pytest.mark.usefixtures("aws_environment")
@pytest.mark.parametrize("path", ["/etc/passwd", "../x.md", "a\\b.md", "x" * 1_025])
def test_a_path_that_no_document_has_is_refused_by_each_caller(path):
    arguments = {"query": "x", "source_file": path}
    _answer(400, agent_event(**arguments))
    for context in (gateway_context(), None):
        answer = invoke(arguments, context).answer
        jsonschema.validate(answer, RESPONSES[400])
        assert answer["error"].startswith("source_file ")


def test_a_query_for_one_document_counts_towards_an_agent_s_turn(knowledge_base):
    knowledge_base(answering(http(retrieved(item()))))
    event = agent_event(query="x", source_file=FILE)
    envelope = invoke(event | {"promptSessionAttributes": {"knowledgeRagQueries": "2"}}).answer
    assert envelope["promptSessionAttributes"] == {"knowledgeRagQueries": "3"}
    event["promptSessionAttributes"] = envelope["promptSessionAttributes"]
    assert _answer(200, event)["reason"] == "query_limit"


def test_the_schema_can_fail():
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"results": [], "status": "ok", "error": "x"}, RESPONSES[200])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"results": [], "status": "fine"}, RESPONSES[200])


def agent_event(**arguments):
    event = json.loads((ROOT / "tests/events/agent_request_body.json").read_text())
    event["requestBody"]["content"]["application/json"]["properties"] = [
        {"name": name, "type": "string", "value": value} for name, value in arguments.items()
    ]
    return event


def gateway_context():
    context = json.loads((ROOT / "tests/events/gateway_client_context.json").read_text())
    return SimpleNamespace(client_context=SimpleNamespace(**context))


def _answer(status, event):
    envelope = invoke(event).answer
    response = envelope["response"]
    assert response["httpStatusCode"] == status
    body = json.loads(response["responseBody"]["application/json"]["body"])
    jsonschema.validate(body, RESPONSES[status])
    return body


def _is_valid(instance, schema):
    try:
        jsonschema.validate(instance, schema)
    except jsonschema.ValidationError:
        return False
    return True


def _is_path(source_file):
    try:
        return not source_file.strip() or bool(check_source_file(source_file))
    except InvalidCitation:
        return False


def _schemas(node):
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _schemas(value)
    elif isinstance(node, list):
        for value in node:
            yield from _schemas(value)


def _keys(node):
    return (key for schema in _schemas(node) for key in schema)
