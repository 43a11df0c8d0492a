"""The console on loopback, for as long as a block runs."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from http import HTTPStatus
from unittest.mock import patch
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from knowledge_rag.console import limits
from knowledge_rag.console import server as server_module
from knowledge_rag.console.app import ConsoleSettings, create_console
from knowledge_rag.console.questions import Asker
from knowledge_rag.console.server import FunctionInItsProcess, running
from knowledge_rag.core.errors import RetrievalFailed
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.local import http_server
from knowledge_rag.local.action_group import FunctionFailed
from knowledge_rag.local.errors import ServerFailed
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.retrieval import on_behalf_of
from tests.support.local import WordHashes, write_files
from tests.support.patience import longer
from tests.support.retrievals import Answering, Waiting
from tests.unit.console.test_http import Console
from tests.unit.console.test_questions import FOUND

HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX: "


async def slow(_request):
    await asyncio.sleep(2 * http_server.REQUEST_SECONDS)  # longer than a head may take
    return PlainTextResponse("here")


@pytest.fixture
def server():
    quick = Route("/", lambda _: PlainTextResponse("here"))
    app = Starlette(routes=[quick, Route("/slow", slow)])
    with running(app, 0) as url:
        yield url


def connected(server):
    address = urlsplit(server)
    return socket.create_connection((address.hostname, address.port), timeout=60)


@pytest.mark.parametrize("said", [b"", HALF])
def test_half_requests_leave_a_place_for_whole_ones(server, said):
    with contextlib.ExitStack() as stack:
        for _ in range(http_server.MAX_CONNECTIONS + 12):
            stack.enter_context(connected(server)).sendall(said)
        for _ in range(3):
            assert httpx.get(server, timeout=60).text == "here"


@pytest.mark.parametrize("said", [b"", HALF, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + HALF])
def test_a_head_that_does_not_come_ends_the_connection(server, monkeypatch, said):
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 0.05)
    with connected(server) as client, contextlib.suppress(ConnectionError):
        client.sendall(said)
        while client.recv(4096):
            pass


def test_a_request_that_has_come_may_take_its_time(server, monkeypatch):
    for seconds in longer(0.05):
        monkeypatch.setattr(http_server, "REQUEST_SECONDS", seconds)
        with contextlib.suppress(httpx.TransportError):
            answer = httpx.get(f"{server}slow", timeout=300)
            if answer.status_code != HTTPStatus.REQUEST_TIMEOUT:
                break
    assert answer.text == "here"


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_where_the_usual_port_is_taken_another_one_is_found(taken, monkeypatch):
    monkeypatch.setattr(server_module, "DEFAULT_PORT", taken)
    with running(Console().app) as url:
        assert not url.endswith(f":{taken}/")
        assert httpx.get(f"{url}api/console", timeout=60).json()["advisors"] == ["extractive"]


def test_a_port_that_was_named_is_kept_to(taken):
    with (
        pytest.raises(ServerFailed, match=f"can't listen on 127.0.0.1:{taken}"),
        running(Console().app, taken),
    ):
        pass  # never reached


def test_a_failure_behind_the_console_is_not_taken_for_a_taken_port():
    with pytest.raises(ServerFailed, match="mine"), running(Console().app):
        raise ServerFailed("mine")


def test_while_nothing_is_to_be_told_there_are_signs_of_life(monkeypatch):
    monkeypatch.setattr(limits, "PING_SECONDS", 0.01)
    app = create_console(Waiting(), None, {"extractive": ExtractiveAdvisor()})
    asked = {"json": {"question": "Is anybody there?"}, "timeout": 60}
    with running(app, 0) as url, httpx.stream("POST", f"{url}api/ask", **asked) as response:
        for line in response.iter_lines():
            if line.startswith(": ping"):
                break


def test_a_body_that_never_ends_is_given_up(monkeypatch):
    with running(Console().app, 0) as url:
        address = url.removeprefix("http://").strip("/")
        host, _, port = address.partition(":")
        head = f"POST /api/ask HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{{"
        for seconds in longer(0.05):
            monkeypatch.setattr(http_server, "REQUEST_SECONDS", seconds)
            answer = b""
            with (
                socket.create_connection((host, int(port)), timeout=60) as connection,
                contextlib.suppress(ConnectionError),
            ):
                connection.sendall(head.encode())
                answer = connection.recv(65536)
            if answer:
                break
        assert answer.startswith(b"HTTP/1.1 408 ")


class Process:
    """Stands for the function's process."""

    def __init__(self, answer):
        self.answer, self.events = answer, []

    def invoke(self, event, endpoint_url):
        self.events.append((event, endpoint_url))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_the_function_is_asked_as_a_direct_caller_does():
    way = FunctionInItsProcess("http://127.0.0.1:1")
    way._function = Process({"results": [], "status": "no_match"})
    with on_behalf_of(incident_id="INC-7"):
        outcome = way.ask(Query("q", 3, {"service": "rds"}), Deadline.after(30))
    assert outcome.status is Status.NO_MATCH
    event = {"query": "q", "max_results": 3, "service": "rds", "incident_id": "INC-7"}
    assert way._function.events == [(event, "http://127.0.0.1:1")]


def test_a_mistyped_question_is_asked_as_it_was_meant(tmp_path):
    files = {"a.md": "# Failover\n\nPromote it.\n", "b.md": "# After a failover\n\nLook.\n"}
    folder = write_files(tmp_path / "corpus", files)
    ingest(folder, tmp_path / "x.kb", embedder=WordHashes())
    with KnowledgeBase(tmp_path / "x.kb", WordHashes()) as opened:
        way = FunctionInItsProcess("http://127.0.0.1:1", knowledge_base=opened)
        way._function = Process({"results": [], "status": "no_match"})
        outcome = way.ask(Query("failovr"), Deadline.after(30))
    assert outcome.notice == 'searched for "failover" (you typed "failovr")'
    (((event, _),)) = way._function.events
    assert event["query"] == "failover"


def test_procedures_are_chosen_by_the_question_as_it_was_meant():
    class Listening(ExtractiveAdvisor):
        async def advise(self, incident, findings):
            titles.append(incident.title)
            return await super().advise(incident, findings)

    titles = []
    settings = ConsoleSettings(corrected=lambda text: text.replace("failovr", "failover"))
    app = create_console(Answering(FOUND), None, {"listening": Listening()}, settings)
    with running(app, 0) as url:
        asked = httpx.post(f"{url}api/ask", json={"question": "RDS failovr?"}, timeout=60)
    assert asked.status_code == 200
    assert titles == ["RDS failover?"]


def test_an_answer_may_take_longer_where_its_queries_may():
    def seconds(**settings):
        with patch("knowledge_rag.console.app.Asker", wraps=Asker) as made:
            create_console(
                Waiting(), None, {"extractive": ExtractiveAdvisor()}, ConsoleSettings(**settings)
            )
        return made.call_args.args[5]

    assert (seconds(), seconds(budget=Budget(30)), seconds(budget=Budget(600))) == (120, 120, 1200)


def test_a_function_that_died_is_unavailable():
    way = FunctionInItsProcess("http://127.0.0.1:1")
    way._function = Process(FunctionFailed("it is gone"))
    for ask in (
        lambda: way.prepare(Deadline.after(30)),
        lambda: way.ask(Query("q"), Deadline.after(30)),
    ):
        with pytest.raises(RetrievalFailed) as failed:
            ask()
        assert failed.value.reason is Reason.UNAVAILABLE
