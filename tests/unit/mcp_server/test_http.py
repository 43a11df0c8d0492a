"""Over HTTP as over standard input and output: progress, cancellation, and many sessions at once."""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
import threading
from contextlib import closing
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import pytest
from httpx2 import AsyncClient
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from knowledge_rag.local import http_server
from knowledge_rag.mcp_server.asking import Asking
from knowledge_rag.mcp_server.server import create_server
from tests.support.mcp_served import served
from tests.support.runbooks import Search

TEXTS = {"runbooks/queue.md": "# QueueDepthTooHigh\n\n## Resolution\n\n1. Add two consumers.\n"}
QUESTION = {"question": "QueueDepthTooHigh"}
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
"""The protocol without sessions, and with them."""
SECONDS = 120


class Slow(Search):
    """Answers, but never a question about something slow; knows when all of those were given up."""

    def __init__(self, texts):
        super().__init__(texts)
        self.waiting, self.given_up, self._left = threading.Event(), threading.Event(), 0

    async def retrieve(self, query):
        if "slow" in query.text:
            self._left += 1
            self.waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                self._left -= 1
                if not self._left:
                    self.given_up.set()
        return await super().retrieve(query)


@pytest.fixture
def slow():
    return Slow(TEXTS)


@pytest.fixture
def url(slow):
    with served(create_server(Asking(slow))) as address:
        yield address


@MODES
def test_progress_is_reported_to_a_client_that_asks_for_it(url, mode):
    async def run():
        seen = []

        async def progress(done, total, message):
            seen.append((done, total, message))

        async with Client(url, mode=mode) as sdk:
            result = await sdk.call_tool("ask", QUESTION, progress_callback=progress)
        return seen, result

    seen, result = anyio.run(run)
    assert seen == [(0, 3, "searching"), (1, 3, "found 1 passage"), (2, 3, "answering")]
    assert result.structured_content["status"] == "ok"


@MODES
def test_a_call_that_is_cancelled_stops_searching_and_the_next_one_is_answered(url, slow, mode):
    async def run():
        async with Client(url, mode=mode) as sdk:
            async with anyio.create_task_group() as group:
                group.start_soon(sdk.call_tool, "ask", {"question": "slow"})
                assert await anyio.to_thread.run_sync(slow.waiting.wait, SECONDS)
                group.cancel_scope.cancel()
            assert await anyio.to_thread.run_sync(slow.given_up.wait, SECONDS)
            return await sdk.call_tool("ask", QUESTION)

    assert anyio.run(run).structured_content["status"] == "ok"


def test_a_client_that_goes_away_stops_the_search(url, slow):
    address = urlsplit(url)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "ask", "arguments": {"question": "slow"}, "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "ask",
    }  # fmt: skip
    made = http.client.HTTPConnection(address.hostname, address.port, timeout=SECONDS)
    with closing(made):
        made.request("POST", address.path, json.dumps(call), headers)
        assert slow.waiting.wait(SECONDS)
    assert slow.given_up.wait(SECONDS)


def test_who_asks_for_no_progress_gets_json(url):
    async def run():
        kinds = []

        async def noted(response):
            kinds.append(response.headers["content-type"])

        async with (
            AsyncClient(event_hooks={"response": [noted]}) as http_client,
            Client(streamable_http_client(url, http_client=http_client)) as sdk,
        ):
            await sdk.call_tool("ask", QUESTION)
        return kinds

    assert set(anyio.run(run)) == {"application/json"}


def test_a_hundred_sessions_at_once_each_get_their_own_answer(monkeypatch):
    # all of them in one process that may be busy elsewhere between connecting and asking
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 600.0)

    trust = ssl.create_default_context()  # which takes long to make, a hundred times

    async def one(number, url, given):
        async with (
            AsyncClient(timeout=600, verify=trust) as http_client,
            Client(streamable_http_client(url, http_client=http_client), mode="legacy") as sdk,
        ):
            question = ("QueueDepthTooHigh", "how long do I boil eggs")[number % 2]
            result = await sdk.call_tool("ask", {"question": question})
            given[number] = result.structured_content

    async def all_of_them(url):
        given = [None] * 100
        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(one, number, url, given)
        return given

    with served(create_server(Asking(Search(TEXTS)))) as url:
        given = anyio.run(all_of_them, url)
    assert [it["status"] for it in given] == ["ok", "no_match"] * 50
    assert len({it["evidence_id"] for it in given}) == 100
