"""The server itself: who says nothing, or half of it, keeps nobody else away."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from knowledge_rag.console.server import ConsoleServer
from knowledge_rag.local import http_server

HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX: "


async def slow(_request):
    await asyncio.sleep(0.3)  # longer than a head may take
    return PlainTextResponse("here")


@pytest.fixture
def server():
    quick = Route("/", lambda _: PlainTextResponse("here"))
    app = Starlette(routes=[quick, Route("/slow", slow)])
    with ConsoleServer(app, 0) as running:
        yield running


def connected(server):
    address = urlsplit(server.url)
    return socket.create_connection((address.hostname, address.port), timeout=60)


@pytest.mark.parametrize("said", [b"", HALF])
def test_half_requests_leave_a_place_for_whole_ones(server, said):
    with contextlib.ExitStack() as stack:
        for _ in range(http_server.MAX_CONNECTIONS + 12):
            stack.enter_context(connected(server)).sendall(said)
        for _ in range(3):
            assert httpx.get(server.url).text == "here"


@pytest.mark.parametrize("said", [b"", HALF, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + HALF])
def test_a_head_that_does_not_come_ends_the_connection(server, monkeypatch, said):
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 0.05)
    with connected(server) as client:
        client.sendall(said)
        while client.recv(4096):
            pass


def test_a_request_that_has_come_may_take_its_time(server, monkeypatch):
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 0.05)
    assert httpx.get(f"{server.url}slow").text == "here"
