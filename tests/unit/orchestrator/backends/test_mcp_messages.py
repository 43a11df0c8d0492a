"""Messages of the protocol, as other implementations frame them."""

from __future__ import annotations

import json

import pytest

from knowledge_rag.core.errors import (
    UnreadableResponse,
)
from knowledge_rag.orchestrator.backends import gateway as mcp


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
