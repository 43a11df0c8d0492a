"""The Model Context Protocol's messages, as far as calling one tool needs them.

A client of one tool, under one deadline: the protocol's own library brings an HTTP client whose
timeouts are a read's and not a call's (``docs/decisions/0002-deadline-at-the-socket.md``).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import RetrievalFailed, UnreadableResponse
from knowledge_rag.core.outcome import TARGET_SEPARATOR, TOOL_NAMES, Reason
from knowledge_rag.core.response import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROTOCOL_VERSION: Final = "2025-06-18"
"""What is offered; a gateway may answer with another version, which is then the one to name."""

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"
HEADERS: Final = {"Content-Type": JSON, "Accept": f"{JSON}, {EVENT_STREAM}"}
"""Of every message that is sent."""

MAX_MESSAGE_CHARACTERS: Final = 300

_VERSION: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NAME: Final = re.compile(r"[\x21-\x7e]{1,256}")
_OUR_MISTAKES: Final = frozenset({-32700, -32600, -32601, -32602})
"""JSON-RPC's codes for a message that is wrong: no retry mends it."""


class Refused(RetrievalFailed):
    """The gateway answered with an error, or its tool did.

    Args:
        reason: the coarse reason that callers see.
        code: the protocol's, for the log.
        message: the gateway's own words, cut; it can quote the query, so no log has it.
    """

    def __init__(self, reason: Reason, *, code: str, message: str) -> None:
        super().__init__(reason, code=code, permanent=reason is Reason.CONFIGURATION)
        self.message = message[:MAX_MESSAGE_CHARACTERS]


def request(number: int, method: str, parameters: Mapping[str, object]) -> bytes:
    """Write a request."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
    return json.dumps(message).encode()


def notification(method: str) -> bytes:
    """Write a notification, which has no answer."""
    return json.dumps({"jsonrpc": "2.0", "method": method}).encode()


def introduction(name: str) -> dict[str, object]:
    """Give the parameters of ``initialize``."""
    client = {"name": name, "version": "1"}
    return {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}


def read_result(data: bytes, content_type: str, number: int) -> dict[str, Any]:
    """Find the result of a request in a JSON body, or among the events of a stream.

    Args:
        data: of the response.
        content_type: of the response, with or without parameters.
        number: of the request.

    Raises:
        UnreadableResponse: it holds no answer to that request.
        Refused: the answer is an error.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == EVENT_STREAM:
        messages = _events(data)
    elif kind == JSON:
        messages = [read_json(data)]
    else:
        raise UnreadableResponse("the gateway's answer is neither JSON nor an event stream")
    for message in messages:
        if isinstance(message, dict) and message.get("id") == number and "method" not in message:
            return _result(message)
    raise UnreadableResponse("the gateway's answer is to another request")


def protocol_of(initialized: Mapping[str, Any]) -> str:
    """Give the version that the gateway speaks.

    Raises:
        UnreadableResponse: it is no version.
    """
    version = initialized.get("protocolVersion")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise UnreadableResponse("the gateway's protocol version is none")
    return version


def session_id(value: str) -> str:
    """Give the id of a session back.

    Raises:
        UnreadableResponse: it can't be sent as a header.
    """
    if not _NAME.fullmatch(value):
        raise UnreadableResponse("the gateway's session id is none")
    return value


def tool_names(listed: Mapping[str, Any]) -> list[str]:
    """Give the names of the listed tools.

    Raises:
        UnreadableResponse: it is no list of tools.
    """
    tools = listed.get("tools")
    if not isinstance(tools, list):
        raise UnreadableResponse("the gateway's tools are no list")
    names = [tool.get("name") if isinstance(tool, dict) else None for tool in tools]
    return [name for name in names if isinstance(name, str)]


def fitting(names: Sequence[str]) -> list[str]:
    """Give those names that are the retrieval function's."""
    return [name for name in names if name.rpartition(TARGET_SEPARATOR)[2] in TOOL_NAMES]


def tool_body(result: Mapping[str, Any]) -> object:
    """Give what the tool returned: its structured content, or the JSON in its one text.

    Raises:
        UnreadableResponse: it returned neither.
        Refused: it failed.
    """
    if result.get("isError"):
        message = " ".join(_texts(result.get("content")))
        raise Refused(Reason.UNAVAILABLE, code="ToolError", message=message)
    if isinstance(result.get("structuredContent"), dict):
        return result["structuredContent"]
    return read_json(_only_text(result.get("content")))


def _only_text(content: object) -> str:
    texts = _texts(content)
    if len(texts) != 1:
        raise UnreadableResponse(f"the gateway's tool returned {len(texts)} texts")
    return texts[0]


def _texts(content: object) -> list[str]:
    parts: Sequence[object] = content if isinstance(content, list) else ()
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)]


def _result(message: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in message:
        raise _refused(message["error"])
    if not isinstance(message.get("result"), dict):
        raise UnreadableResponse("the gateway's answer has no result")
    result: dict[str, Any] = message["result"]
    return result


def _refused(error: object) -> Refused:
    members = error if isinstance(error, dict) else {}
    code = members.get("code")
    number = code if isinstance(code, int) and abs(code) < 100_000 else 0
    reason = Reason.CONFIGURATION if number in _OUR_MISTAKES else Reason.UNAVAILABLE
    return Refused(reason, code=f"JsonRpc {number}", message=str(members.get("message", "")))


def _events(data: bytes) -> list[Any]:
    try:
        text = data.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise UnreadableResponse("the gateway's stream is not UTF-8") from error
    events = (
        [line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:")]
        for event in text.split("\n\n")
    )
    return [read_json("\n".join(lines)) for lines in events if lines]
