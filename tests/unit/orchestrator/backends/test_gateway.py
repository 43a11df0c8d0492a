"""A gateway's session: begun once, begun anew when it is lost, and never guessed at."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from typing import ClassVar

import botocore.session
import pytest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from knowledge_rag.core.errors import (
    DeadlineExceeded,
    InvalidSettings,
    RequestRefused,
    RetrievalFailed,
    UnreadableResponse,
)
from knowledge_rag.core.net.clients import create_transport
from knowledge_rag.core.net.deadline import Deadline, current_deadline
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.orchestrator.backends import gateway as mcp
from knowledge_rag.orchestrator.backends.bounded import Lazily
from knowledge_rag.orchestrator.backends.gateway import Bearer, KnowledgeGateway, SigV4
from tests.support.evidence import passage
from tests.support.mcp_gateway import TOOL

NOTHING = {"status": "no_match", "results": []}
BEGINNING = ["initialize", "notifications/initialized", "tools/list"]
KEYS = Credentials("testing", "testing")


def after(seconds=30.0):
    return Deadline.after(seconds)


@pytest.fixture
def way(gateway):
    with closing(KnowledgeGateway(gateway.url, signed())) as made:
        yield made


def signed(find=lambda: KEYS):
    return SigV4("eu-west-1", find=find)


def ask(way, query=None):
    return way.ask(query or Query("q"), after())


def test_the_session_begins_once(gateway, way):
    assert ask(way).status is ask(way).status is Status.NO_MATCH
    assert gateway.methods == [*BEGINNING, "tools/call", "tools/call"]


def test_three_threads_begin_one_session(gateway, way):
    threads = [threading.Thread(target=ask, args=(way,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gateway.methods == [*BEGINNING, *["tools/call"] * 3]


def test_a_session_begun_beforehand_spares_the_first_question(gateway, way):
    way.prepare(after())
    assert gateway.methods == BEGINNING
    ask(way)
    assert gateway.methods == [*BEGINNING, "tools/call"]


@pytest.mark.parametrize("status", [400, 404])
def test_a_session_that_the_gateway_lost_begins_anew_within_the_question(gateway, way, status):
    ask(way)
    gateway.session, gateway.unknown_session = "session-2", status
    assert ask(way).status is Status.NO_MATCH
    assert gateway.methods[-2:] == ["tools/list", "tools/call"]


def test_a_session_lost_while_it_began_is_forgotten(gateway, way):
    gateway._goes_on = lambda _: False
    with pytest.raises(ClientError):
        ask(way)
    del gateway._goes_on
    assert ask(way).status is Status.NO_MATCH


def test_a_session_lost_before_its_tool_was_found_is_forgotten(gateway, way):
    gateway.results["tools/list"] = {"error": {"code": -32603, "message": "boom"}}
    with pytest.raises(RetrievalFailed):
        ask(way)
    gateway.results.clear()
    gateway.session = "session-2"
    with pytest.raises(ClientError):
        ask(way)
    assert ask(way).status is Status.NO_MATCH


def test_what_has_begun_is_not_begun_again_after_a_fault(gateway, way):
    gateway.results["tools/list"] = {"error": {"code": -32603, "message": "boom"}}
    with pytest.raises(RetrievalFailed):
        ask(way)
    gateway.results.clear()
    assert ask(way).status is Status.NO_MATCH
    assert gateway.methods == [*BEGINNING, "tools/list", "tools/call"]


def test_a_named_tool_is_not_looked_for(gateway):
    with closing(KnowledgeGateway(gateway.url, signed(), tool=TOOL)) as way:
        ask(way)
    assert gateway.methods == [*BEGINNING[:2], "tools/call"]


@pytest.mark.parametrize(
    ("tools", "code"),
    [([], "NoSuchTool"), (["other___search"], "NoSuchTool"), ([TOOL, f"b_{TOOL}"], "SeveralTools")],
)
def test_which_tool_is_meant_is_not_guessed_and_looked_for_again(gateway, way, tools, code):
    gateway.tools = tools
    with pytest.raises(RetrievalFailed) as raised:
        ask(way)
    assert (raised.value.reason, raised.value.code) == (Reason.CONFIGURATION, code)
    gateway.tools = ["other___search", TOOL]
    assert ask(way).status is Status.NO_MATCH


def test_a_tool_that_was_renamed_is_found_by_the_next_question(gateway, way):
    ask(way)
    gateway.tools = ["new___retrieve_knowledge"]
    with pytest.raises(RetrievalFailed, match="JsonRpc -32601"):
        ask(way)
    assert ask(way).status is Status.NO_MATCH


def test_the_tools_of_all_pages_are_looked_through(gateway, way):
    gateway.results["tools/list"] = {"result": {"tools": [{"name": TOOL}, 5], "nextCursor": "x"}}
    with pytest.raises(RetrievalFailed, match="SeveralTools"):  # the same page for every cursor
        ask(way)
    assert gateway.methods.count("tools/list") == 10


def test_no_more_results_are_asked_for_than_the_tools_schema_allows(gateway, way):
    ask(way, Query("q", 100, {"service": "rds"}))
    ask(way, Query("q", 2))
    assert gateway.arguments == [
        {"query": "q", "max_results": 5, "service": "rds"},
        {"query": "q", "max_results": 2},
    ]


def test_more_results_than_were_asked_for_are_cut(gateway, way):
    results = [passage(f"{name}.md").to_dict() for name in "abc"]
    gateway.answer = lambda _: {"status": "ok", "results": results}
    outcome = ask(way, Query("q", 2))
    assert [result.citation.source_file for result in outcome.results] == ["a.md", "b.md"]


def test_structured_content_is_taken_before_text(gateway, way):
    content = [{"type": "text", "text": "ignored"}]
    gateway.results["tools/call"] = {"result": {"content": content, "structuredContent": NOTHING}}
    assert ask(way).status is Status.NO_MATCH


def test_what_the_function_refuses_is_no_outage(gateway, way):
    gateway.answer = lambda _: {"error": "query is blank"}
    with pytest.raises(RequestRefused, match="query is blank"):
        ask(way)


@pytest.mark.parametrize(
    ("result", "reason", "code"),
    [
        ({"error": {"code": -32602, "message": "secret"}}, Reason.CONFIGURATION, "JsonRpc -32602"),
        ({"error": {"code": -32603, "message": "secret"}}, Reason.UNAVAILABLE, "JsonRpc -32603"),
        ({"error": "secret"}, Reason.UNAVAILABLE, "JsonRpc 0"),
        ({"error": {"code": 10**400}}, Reason.UNAVAILABLE, "JsonRpc 0"),
        (
            {"result": {"isError": True, "content": [{"type": "text", "text": "secret"}]}},
            Reason.UNAVAILABLE,
            "ToolError",
        ),
    ],
)
def test_an_error_is_told_by_its_code_and_not_in_its_words(gateway, way, result, reason, code):
    gateway.results["tools/call"] = result
    with pytest.raises(RetrievalFailed) as raised:
        ask(way)
    assert (raised.value.reason, raised.value.code) == (reason, code)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"result": []},
        {"result": {}},
        {"result": {"content": []}},
        {"result": {"content": [{"text": "{}"}, {"text": "{}"}]}},
        {"result": {"content": [{"text": 5}]}},
        {"result": {"content": "text"}},
        {"result": {"content": [{"text": "not JSON"}]}},
        {"result": {"structuredContent": {"status": "fine", "results": []}}},
        {"result": {"structuredContent": NOTHING}, "id": 99},
    ],
)
def test_what_is_no_answer_of_the_tool_is_unreadable(gateway, way, result):
    gateway.results["tools/call"] = result
    with pytest.raises(UnreadableResponse):
        ask(way)


@pytest.mark.parametrize(
    "result",
    [
        {"result": {}},
        {"result": {"protocolVersion": 5}},
        {"result": {"protocolVersion": "2025-06-18\r\nX: y"}},
    ],
)
def test_a_version_that_is_none_is_unreadable(gateway, way, result):
    gateway.results["initialize"] = result
    with pytest.raises(UnreadableResponse, match="protocol version"):
        ask(way)


def test_tools_that_are_no_list_are_unreadable(gateway, way):
    gateway.results["tools/list"] = {"result": {"tools": {}}}
    with pytest.raises(UnreadableResponse, match="tools are not a list"):
        ask(way)


def test_a_session_that_is_slow_to_begin_keeps_others_no_longer_than_their_own_time(way):
    with way._beginning, pytest.raises(DeadlineExceeded, match="did not begin in time"):
        way.ask(Query("q"), after(0.01))


def test_every_exchange_has_the_questions_own_deadline(way):
    class Watched:
        seen: ClassVar[list[Deadline]] = []

        def __init__(self):
            self._transport = create_transport(botocore.session.get_session())
            self.close = self._transport.close

        def send(self, request):
            self.seen.append(current_deadline())
            return self._transport.send(request)

    way._transport = Lazily("transport", Watched)
    deadline = after()
    way.ask(Query("q"), deadline)
    assert Watched.seen == [deadline] * 4


@pytest.mark.parametrize(
    "url",
    [
        "http://gateway.example/mcp",
        "ftp://127.0.0.1/mcp",
        "gateway",
        "",
        "https://",
        "https://user:secret@gateway.example/mcp",
        "https://gateway.example:port/mcp",
        "https://[::1/mcp",
    ],
)
def test_an_address_that_would_show_a_secret_is_refused_without_naming_it(url):
    with pytest.raises(InvalidSettings) as raised:
        KnowledgeGateway(url, Bearer("secret"))
    assert "secret" not in str(raised.value)


def test_an_answer_is_found_among_a_streams_other_events():
    events = [
        b": a comment",
        b"data: " + json.dumps({"method": "ping", "id": 7}).encode(),
        b'event: message\r\nid: 3\r\ndata: {"id": 7,\r\ndata: "result": {"a": 1}}',
    ]
    data = b"\r\n\r\n".join(events)
    assert mcp.read_result(data, "text/event-stream", 7) == {"a": 1}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "text/event-stream"),
        (b"data: \xff\n\n", "text/event-stream"),
        (b"data: {\n\n", "text/event-stream"),
        (b'{"id": 7, "result": {}}', "text/html"),
        (b'{"id": 7, "result": {}}', ""),
        (b'{"id": "7", "result": {}}', "application/json"),
        (b'[{"id": 7, "result": {}}]', "application/json"),
    ],
)
def test_what_holds_no_answer_is_unreadable(data, kind):
    with pytest.raises(UnreadableResponse):
        mcp.read_result(data, kind, 7)


@pytest.mark.parametrize("value", ["", "a b", "a\nb", "caf\u00e9", "x" * 300])
def test_a_session_id_that_no_header_can_have_is_unreadable(value):
    with pytest.raises(UnreadableResponse, match="session id"):
        mcp.session_id(value)
