"""Asks the gateway, as a client of the Model Context Protocol does over streamable HTTP.

Requests are signed with SigV4 for ``bedrock-agentcore``, or bring a token of the deployment's issuer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies

from knowledge_rag.core.errors import UnreadableResponse
from knowledge_rag.core.tool import TOOL_NAMES
from knowledge_rag.deployment.aws import CONNECT_SECONDS
from knowledge_rag.deployment.errors import CallFailed, Trouble, call_failed
from knowledge_rag.deployment.smoke.answers import WayBroken
from knowledge_rag.deployment.smoke.function_way import MAX_RESULTS
from knowledge_rag.orchestrator.backends import mcp_messages as mcp
from knowledge_rag.orchestrator.backends.authorisation import GATEWAY_SERVICE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from botocore.awsrequest import AWSResponse

    from knowledge_rag.deployment.aws import Aws

READ_SECONDS: Final = 15
_ACTION: Final = "bedrock-agentcore:InvokeGateway"
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
        try:
            body = mcp.tool_body(result)
        except mcp.Refused as error:
            raise WayBroken(f"the gateway's tool failed: {error.message}") from error
        except UnreadableResponse as error:
            raise WayBroken(f"the gateway's tool: {error}") from error
        if not isinstance(body, dict):
            raise WayBroken("the gateway's tool answers with JSON that is no object")
        return body

    def _begin(self) -> None:
        begun = self._request("initialize", mcp.introduction("knowledge-rag smoke"))
        try:
            self._session["MCP-Protocol-Version"] = mcp.protocol_of(begun)
            self._send(mcp.notification("notifications/initialized"))
            tools = mcp.tool_names(self._request("tools/list", {}))
        except UnreadableResponse as error:
            raise WayBroken(str(error)) from error
        fitting = mcp.fitting(tools)
        if not fitting:
            raise WayBroken(
                f"the gateway has no tool {TOOL_NAMES[0]}, but {', '.join(tools) or 'none'}"
            )
        self._tool = fitting[0]

    def _request(self, method: str, parameters: Mapping[str, object]) -> Mapping[str, Any]:
        self._sent += 1
        response = self._send(mcp.request(self._sent, method, parameters))
        kind = response.headers.get("content-type", "")
        try:
            result = mcp.read_result(response.content, kind, self._sent)
            if "mcp-session-id" in response.headers:
                self._session["Mcp-Session-Id"] = mcp.session_id(response.headers["mcp-session-id"])
        except mcp.Refused as error:
            raise WayBroken(f"the gateway refuses {method}: {error.message}") from error
        except UnreadableResponse as error:
            raise WayBroken(f"{method}: {error}") from error
        return result

    def _send(self, message: bytes) -> AWSResponse:
        headers = {**mcp.HEADERS, **self._session}
        request = AWSRequest("POST", self._url, headers, message)
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
        SigV4Auth(credentials, GATEWAY_SERVICE, self._aws.region).add_auth(request)


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
