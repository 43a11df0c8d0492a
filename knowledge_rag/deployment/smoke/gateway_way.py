"""Asks the gateway, as a client of the Model Context Protocol does over streamable HTTP.

Requests are signed with SigV4 for ``bedrock-agentcore``, or bring a token of the deployment's issuer.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies

from knowledge_rag.deployment.aws import CONNECT_SECONDS
from knowledge_rag.deployment.errors import CallFailed, Trouble, call_failed
from knowledge_rag.deployment.smoke.answers import WayBroken
from knowledge_rag.deployment.smoke.function_way import MAX_RESULTS, read_body
from lambdas.retrieve_knowledge.events import TOOL_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from botocore.awsrequest import AWSResponse

    from knowledge_rag.deployment.aws import Aws

READ_SECONDS: Final = 15
_SERVICE: Final = "bedrock-agentcore"
_ACTION: Final = "bedrock-agentcore:InvokeGateway"
_PROTOCOL: Final = "2025-06-18"
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


class GatewayWay:
    """A session of the protocol: initialised with the first question, then reused.

    Args:
        aws: account and region.
        url: of the gateway.
        token: of the deployment's issuer; ``""`` signs requests instead.

    Raises:
        WayBroken: the address would carry requests without encryption.
    """

    name = "gateway"
    seconds = 3.0 * READ_SECONDS

    def __init__(self, aws: Aws, url: str, token: str = "") -> None:
        where = urlsplit(url)
        if where.scheme != "https" and where.hostname not in _LOOPBACK:
            raise WayBroken(f"the gateway's address is not https: {url[:200]}")
        self._aws = aws
        self._url = url
        self._token = token
        options: dict[str, Any] = {  # whose annotations are narrower than what is taken
            "verify": aws.ca_bundle or True,
            "timeout": (CONNECT_SECONDS, READ_SECONDS),
        }
        self._http = URLLib3Session(proxies=get_environ_proxies(url), **options)
        self._session: dict[str, str] = {}
        self._tool = ""
        self._sent = 0

    def ask(self, query: str) -> Mapping[str, Any]:
        """Call the tool."""
        if not self._tool:
            self._begin()
        arguments = {"query": query, "max_results": MAX_RESULTS}
        result = self._request("tools/call", {"name": self._tool, "arguments": arguments})
        texts = [
            str(part.get("text", ""))
            for part in result.get("content", [])
            if part.get("type") == "text"
        ]
        if result.get("isError"):
            raise WayBroken(f"the gateway's tool failed: {' '.join(texts)[:300]}")
        if len(texts) != 1:
            raise WayBroken(f"the gateway's tool answers with {len(texts)} texts")
        return read_body(texts[0], "the gateway's tool")

    def _begin(self) -> None:
        client = {"name": "knowledge-rag smoke", "version": "1"}
        about = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client}
        begun = self._request("initialize", about)
        # the gateway may speak an older version, which is then the one to name
        self._session["MCP-Protocol-Version"] = str(begun.get("protocolVersion", _PROTOCOL))
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = [each.get("name", "") for each in self._request("tools/list", {}).get("tools", [])]
        fitting = [name for name in tools if name.rpartition("___")[2] in TOOL_NAMES]
        if not fitting:
            raise WayBroken(
                f"the gateway has no tool {TOOL_NAMES[0]}, but {', '.join(tools) or 'none'}"
            )
        self._tool = fitting[0]

    def _request(self, method: str, parameters: Mapping[str, object]) -> Mapping[str, Any]:
        self._sent += 1
        message = {"jsonrpc": "2.0", "id": self._sent, "method": method, "params": parameters}
        response = self._send(message)
        answer = _message(response, self._sent)
        if "error" in answer:
            raise WayBroken(f"the gateway refuses {method}: {answer['error'].get('message')}")
        if "mcp-session-id" in response.headers:
            self._session["Mcp-Session-Id"] = response.headers["mcp-session-id"]
        if not isinstance(answer.get("result"), dict):
            raise WayBroken(f"the gateway answers {method} without a result")
        result: dict[str, Any] = answer["result"]
        return result

    def _send(self, message: Mapping[str, object]) -> AWSResponse:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **self._session,
        }
        request = AWSRequest("POST", self._url, headers, json.dumps(message).encode())
        self._authorise(request)
        try:
            response: AWSResponse = self._http.send(request.prepare())
            _ = response.content  # read here, where failures are told
        except BotoCoreError as error:
            raise call_failed(error, _ACTION) from error
        _check_status(response, with_token=bool(self._token))
        return response

    def _authorise(self, request: AWSRequest) -> None:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
            return
        credentials = self._aws.credentials()
        if credentials is None:
            raise CallFailed(Trouble.NO_CREDENTIALS, _ACTION, "NoCredentials", "none to sign with")
        SigV4Auth(credentials, _SERVICE, self._aws.region).add_auth(request)


def _check_status(response: AWSResponse, *, with_token: bool) -> None:
    status = response.status_code
    if status < 300:
        return
    if status in (401, 403):
        hint = (
            "it does not accept the token"
            if with_token
            else f"grant {_ACTION}, or give a token by --token-file with gateway_authorizer=jwt"
        )
        raise WayBroken(f"the gateway refuses the caller (HTTP {status}): {hint}")
    if status in (429, 503):
        raise CallFailed(Trouble.THROTTLED, _ACTION, f"HTTP {status}", "the gateway is busy")
    raise WayBroken(f"the gateway answers HTTP {status}")


def _message(response: AWSResponse, identity: int) -> Mapping[str, Any]:
    """Find the answer to a request in a JSON body, or among the events of a stream."""
    text = response.content.decode(errors="replace")
    if "text/event-stream" not in response.headers.get("content-type", ""):
        return read_body(text, "the gateway")
    for event in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].lstrip() for line in event.split("\n") if line.startswith("data:")]
        if lines:
            message = read_body("\n".join(lines), "the gateway")
            if message.get("id") == identity:
                return message
    raise WayBroken("the gateway's stream ends without an answer")
