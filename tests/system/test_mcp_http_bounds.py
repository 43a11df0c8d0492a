"""Whom the MCP server over HTTP refuses, and how much it takes."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from knowledge_rag.mcp_server.server import create_server
from knowledge_rag.mcp_server.serving import MAX_REQUEST_BYTES, MAX_SESSIONS
from tests.support.mcp_runbooks import (  # noqa: F401 - fixtures among them
    INITIALIZE,
    SEARCH,
    client_fixture,
    corpus_fixture,
    knowledge_base_fixture,
    posted,
    url_fixture,
)
from tests.support.mcp_served import served, texts


def test_the_name_of_anothers_session_opens_nothing(url):
    status, headers, _ = posted(url, INITIALIZE)
    session = {"Mcp-Session-Id": headers["Mcp-Session-Id"]}
    assert status == 200
    search = {"name": "retrieve_knowledge", "arguments": SEARCH}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search}
    assert posted(url, json.dumps(call), **session)[0] == 200
    modern = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    verify = {"name": "verify_citations", "arguments": {"answer": "Yes [1]."}, "_meta": modern}
    claim = session | {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "verify_citations",
    }
    status, _, body = posted(url, json.dumps(call | {"params": verify}), **claim)
    result = json.loads(body)["result"]
    assert (status, result["isError"]) == (200, True)
    assert "this connection has no session" in result["content"][0]["text"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "{own}"}, 200),
        ({"Host": "rebound.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
def test_pages_of_other_origins_and_rebound_names_are_refused(url, headers, status):
    own = url.removesuffix("/mcp")
    sent = {name: value.format(own=own) for name, value in headers.items()}
    answered, given, _ = posted(url, INITIALIZE, **sent)
    assert answered == status
    assert not [name for name in given if name.lower().startswith("access-control-")]


def test_a_preflight_request_gets_no_leave(url):
    address = urlsplit(url)
    with closing(http.client.HTTPConnection(address.hostname, address.port, timeout=30)) as made:
        made.request("OPTIONS", address.path, headers={"Origin": "https://evil.example"})
        answer = made.getresponse()
    assert answer.status >= 400
    assert "access-control-allow-origin" not in answer.headers


def test_what_is_too_large_is_refused_and_the_next_call_served(client, url):
    assert posted(url, b" " * (MAX_REQUEST_BYTES + 1))[0] == 413
    result = client.tool("verify_citations", answer="x" * 50_001)
    assert (result.is_error, texts(result)) == (
        True,
        ["answer is 50001 characters long; at most 50000 are allowed"],
    )
    assert client.tool("retrieve_knowledge", **SEARCH).structured_content["status"] == "ok"


def test_sessions_are_bounded():
    class Nobody:
        async def retrieve(self, query):
            raise NotImplementedError

    with served(create_server(Nobody())) as url:
        opened = [posted(url, INITIALIZE)[0] for _ in range(MAX_SESSIONS + 1)]
    assert opened == [200] * MAX_SESSIONS + [503]
