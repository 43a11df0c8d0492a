"""A loopback server in the place of an AgentCore gateway: MCP over streamable HTTP, callers proven."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.loopback import Loopback, Raw

if TYPE_CHECKING:
    from collections.abc import Callable

TOKEN = "token-of-the-issuer"
TOOL = "knowledge___retrieveKnowledge"
PROTOCOL = "2025-03-26"
"""An older version than clients ask for; they have to go on with it."""
_SCOPE = re.compile(
    r"AWS4-HMAC-SHA256 Credential=testing/\d{8}/(?P<region>[a-z0-9-]+)/bedrock-agentcore/aws4_request,"
    r" SignedHeaders=(?P<signed>[a-z0-9;-]+), Signature=(?P<signature>[0-9a-f]{64})"
)


class McpGateway(Loopback):
    """Serves one tool to whoever signs as the account's user, or brings the token.

    Attributes:
        answer: from the tool's arguments to its result.
        streams: whether requests are answered with an event stream.
        wants_token: whether signatures are refused and only the token counts.
        methods: that were called, in order.
        arguments: of each call of the tool, in order.
        session: id of the session that is known.
        unknown_session: the status for any other.
        results: in place of a method's usual result or error.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        self.answer = answer
        self.streams = False
        self.wants_token = False
        self.tools = [TOOL]
        self.methods: list[str] = []
        self.arguments: list[dict[str, Any]] = []
        self.session = "session-1"
        self.unknown_session = 400
        self.results: dict[str, dict[str, Any]] = {}
        super().__init__()

    @property
    def url(self) -> str:
        return f"{super().url}/mcp"

    def respond(self, method: str, path: str, headers: Any, body: bytes) -> Raw:  # noqa: ARG002 - it has one address
        status, message = self.serve(headers, body, self.url)
        text, kind = json.dumps(message).encode() if message else b"", "application/json"
        if self.streams and message:
            text, kind = b": hello\n\nevent: message\ndata: " + text + b"\n\n", "text/event-stream"
        return Raw(text, kind, status, (("Mcp-Session-Id", self.session),))

    def serve(self, headers: Any, body: bytes, url: str) -> tuple[int, Any]:
        """Give the status and the message for one request."""
        if not self._knows(headers, body, url):
            return 403, {"message": "refused"}
        message = json.loads(body)
        method = message["method"]
        self.methods.append(method)
        if method != "initialize" and not self._goes_on(headers):
            return self.unknown_session, None
        if "id" not in message:
            return 202, None
        return 200, {"jsonrpc": "2.0", "id": message["id"], **self._result(method, message)}

    def _result(self, method: str, message: Any) -> dict[str, Any]:
        if method in self.results:
            return self.results[method]
        if method == "initialize":
            about = {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}}
            return {"result": {**about, "serverInfo": {"name": "gateway", "version": "1"}}}
        if method == "tools/list":
            return {"result": {"tools": [{"name": name, "inputSchema": {}} for name in self.tools]}}
        if method != "tools/call" or message["params"]["name"] not in self.tools:
            return {"error": {"code": -32601, "message": f"no {method}"}}
        self.arguments.append(message["params"]["arguments"])
        text = json.dumps(self.answer(message["params"]["arguments"]))
        return {"result": {"content": [{"type": "text", "text": text}], "isError": False}}

    def _goes_on(self, headers: Any) -> bool:
        """Whether a request belongs to the session, and names the version that was agreed on."""
        session = headers.get("Mcp-Session-Id") == self.session
        return session and headers.get("MCP-Protocol-Version") == PROTOCOL

    def _knows(self, headers: Any, body: bytes, url: str) -> bool:
        given = headers.get("Authorization", "")
        if self.wants_token:
            return given == f"Bearer {TOKEN}"
        found = _SCOPE.fullmatch(given)
        return found is not None and found["signature"] == _signature(headers, body, url, found)


def _signature(headers: Any, body: bytes, url: str, found: re.Match[str]) -> str:
    """Compute what AWS would: the signature of the request as it arrived."""
    signed = {name: headers[name] for name in found["signed"].split(";")}
    request = AWSRequest("POST", url, signed, body)
    request.context["timestamp"] = headers["X-Amz-Date"]
    auth = SigV4Auth(Credentials("testing", "testing"), "bedrock-agentcore", found["region"])
    text = auth.string_to_sign(request, auth.canonical_request(request))
    signature: str = auth.signature(text, request)
    return signature
