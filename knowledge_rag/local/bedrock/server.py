"""Bedrock's wire API on this machine, for unmodified boto3 clients."""

from __future__ import annotations

import json
import logging
import re
import uuid
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import unquote

import anyio
import anyio.to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.local.bedrock.converse import Models
from knowledge_rag.local.bedrock.invoke_agent import MAX_BODY_BYTES as MAX_LONG_BODY_BYTES
from knowledge_rag.local.bedrock.invoke_agent import Agents
from knowledge_rag.local.bedrock.retrieve import retrieve
from knowledge_rag.local.bedrock.wire import CONTENT_TYPE, ServiceError
from knowledge_rag.local.errors import described
from knowledge_rag.local.http_server import (
    LOOPBACK,
    LOOPBACK_HOSTS,
    BoundedConnection,
    ServerThread,
    http_server,
    listening_on,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence

    import uvicorn
    from starlette.types import Receive, Scope, Send

    from knowledge_rag.local.knowledge_base import KnowledgeBase


MAX_TURNS: Final = 16
"""Maximum concurrent answers. Each waits in a thread for the function, which in turn calls this
server: without a limit of their own they would leave no thread for its request."""

MAX_BODY_BYTES: Final = 1024 * 1024
"""Several times the largest text request: 20,000 characters, escaped, and a filter."""

_HOST = re.compile(r"(.*?)(?::[0-9]*)?")
_ORIGIN = re.compile(r"https?://(.*)")
_SHOWN_MESSAGE: Final = 4096
_SHOWN_OPERATION: Final = 40
_logger = logging.getLogger(__name__)


class _Service:
    """The ASGI application; the caller closes the agents. Only pages of ``hosts`` may send requests."""

    def __init__(
        self, knowledge_base: KnowledgeBase, hosts: Sequence[str], agents: Agents, models: Models
    ) -> None:
        self._knowledge_base = knowledge_base
        self._hosts = frozenset(host.lower() for host in hosts)
        self._agents = agents
        self._models = models
        self._turns = anyio.CapacityLimiter(MAX_TURNS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            _refuse_strangers(request, self._hosts)
            response = await self.answer(request)
        except ServiceError as error:
            response = failure(error)
        except ClientDisconnect:
            return  # the client is gone
        except Exception as error:  # noqa: BLE001 - logged in one line; the client learns nothing
            operation = neutralise(request.url.path.rpartition("/")[2][:_SHOWN_OPERATION])
            _logger.error("local %s failed: %s", operation, described(error))  # noqa: TRY400
            response = failure(
                ServiceError("InternalServerException", 500, "Internal server error")
            )
        await response(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        # the raw path: a knowledge base may be named by an ARN, with its slash encoded as %2F
        path = request.scope.get("raw_path", b"").decode("latin-1")
        for pattern, operation in _ROUTES if request.method == "POST" else ():
            if found := pattern.fullmatch(path):
                return await operation(self, request, *map(unquote, found.groups()))
        raise ServiceError(
            "UnknownOperationException", 404, f"Unknown operation: {request.method} {path[:200]}"
        )

    async def retrieve(self, request: Request, knowledge_base_id: str) -> Response:
        body = _decode(await _read(request))
        return _response(
            200, await run_in_threadpool(retrieve, self._knowledge_base, knowledge_base_id, body)
        )

    async def invoke_agent(self, request: Request, *names: str) -> Response:
        body = _decode(await _read(request, MAX_LONG_BODY_BYTES))
        agent, alias, session = names
        pieces = await run_in_threadpool(
            self._agents.invoke, (agent, alias, session), body, _own_address(request)
        )
        return self._streamed(
            pieces,
            {
                "x-amzn-bedrock-agent-content-type": "application/json",
                "x-amz-bedrock-agent-session-id": session,
            },
        )

    async def converse(self, request: Request, model_id: str) -> Response:
        body = _decode(await _read(request, MAX_LONG_BODY_BYTES))
        return _response(200, await run_in_threadpool(self._models.converse, model_id, body))

    async def converse_stream(self, request: Request, model_id: str) -> Response:
        body = _decode(await _read(request, MAX_LONG_BODY_BYTES))
        return self._streamed(await run_in_threadpool(self._models.stream, model_id, body), {})

    def _streamed(self, messages: Generator[bytes], headers: Mapping[str, str]) -> Response:
        return StreamingResponse(
            _made_in_threads(messages, self._turns),
            media_type=CONTENT_TYPE,
            headers={"x-amzn-RequestId": str(uuid.uuid4()), **headers},
        )


async def _made_in_threads(
    messages: Generator[bytes], limiter: anyio.CapacityLimiter
) -> AsyncIterator[bytes]:
    """Yield messages, each made in one of the limiter's threads; the generator is closed at the end."""
    try:
        while (
            one := await anyio.to_thread.run_sync(next, messages, None, limiter=limiter)
        ) is not None:
            yield one
    finally:
        messages.close()


_ROUTES: Final[Sequence[tuple[re.Pattern[str], Callable[..., Awaitable[Response]]]]] = (
    (re.compile(r"/knowledgebases/([^/]*)/retrieve"), _Service.retrieve),
    (
        re.compile(r"/agents/([^/]*)/agentAliases/([^/]*)/sessions/([^/]*)/text"),
        _Service.invoke_agent,
    ),
    (re.compile(r"/model/([^/]*)/converse"), _Service.converse),
    (re.compile(r"/model/([^/]*)/converse-stream"), _Service.converse_stream),
)


def _own_address(request: Request) -> str:
    host, port = request.scope["server"]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _refuse_strangers(request: Request, hosts: frozenset[str]) -> None:
    """Refuse web pages of other sites, which can send requests here uninvited."""
    if not _is_named(request.headers.get("host", ""), hosts):
        raise ServiceError("AccessDeniedException", 403, "This Host is not allowed")
    origin = request.headers.get("origin")
    if origin is not None:
        page = _ORIGIN.fullmatch(origin.lower())
        if page is None or not _is_named(page[1], hosts):
            raise ServiceError("AccessDeniedException", 403, "Pages of this Origin are not allowed")


def _is_named(authority: str, hosts: frozenset[str]) -> bool:
    host = _HOST.fullmatch(authority.lower())
    return host is not None and host[1] in hosts


async def _read(request: Request, most: int = MAX_BODY_BYTES) -> bytes:
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise ServiceError("ValidationException", 400, f"Request body exceeds {most} bytes")
    return bytes(data)


def _decode(data: bytes) -> dict[str, Any]:
    try:
        body = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ServiceError("ValidationException", 400, "Request body is not valid JSON") from error
    if not isinstance(body, dict):
        raise ServiceError("ValidationException", 400, "Request body is not a JSON object")
    return body


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def failure(error: ServiceError) -> Response:
    """Return the service's response for one of its errors."""
    message = str(error)[:_SHOWN_MESSAGE]
    return _response(error.status, {"message": message}, {"x-amzn-ErrorType": error.code})


def _response(
    status: int, body: Mapping[str, object], headers: dict[str, str] | None = None
) -> Response:
    # escaped to ASCII: a lone surrogate in a message is then sent, and can't break the response
    return Response(
        json.dumps(body),
        status_code=status,
        media_type="application/json",
        headers={"x-amzn-RequestId": str(uuid.uuid4()), **(headers or {})},
    )


_REFUSALS: Final = {
    HTTPStatus.BAD_REQUEST: ("ValidationException", 400),
    HTTPStatus.REQUEST_TIMEOUT: ("RequestTimeoutException", 408),
    HTTPStatus.SERVICE_UNAVAILABLE: ("ThrottlingException", 429),
}


class _ServiceConnection(BoundedConnection):
    def refusal(self, status: HTTPStatus, message: str) -> Response:
        """Return the service's error."""
        return failure(ServiceError(*_REFUSALS[status], message))


class LocalBedrock:
    """The wire server on a free port of the loopback interface, while the block runs.

    >>> with LocalBedrock(knowledge_base) as bedrock:  # doctest: +SKIP
    ...     client = boto3.client("bedrock-agent-runtime", endpoint_url=bedrock.endpoint_url)

    Port 0 picks a free one. ``agents`` and ``models`` replace the server's own. The agents are closed on exit, and the
    knowledge base by the caller.

    Raises:
        ServerFailed: on entering, if the port is taken or the server does not start.
        ModelUnavailable: on entering, if the embedding model isn't available.
    """

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        *,
        port: int = 0,
        agents: Agents | None = None,
        models: Models | None = None,
    ) -> None:
        self._knowledge_base = knowledge_base
        self._agents = agents or Agents()
        server = _server(knowledge_base, LOOPBACK_HOSTS, self._agents, models or Models())
        self._running = ServerThread(server, "local server", port)

    @property
    def endpoint_url(self) -> str:
        """The address to give to a client, e.g. ``http://127.0.0.1:49152``."""
        return self._running.url

    def __enter__(self) -> Self:
        self._knowledge_base.warm_up()  # loading the model would use up a query's time
        try:
            self._running.start()
        except BaseException:
            self._agents.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._agents.close()
        self._running.stop()


def serve(
    knowledge_base: KnowledgeBase,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    hosts: Sequence[str] = LOOPBACK_HOSTS,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve in the foreground until the process is told to stop (Ctrl-C, SIGTERM).

    It listens on loopback by default, because there is no authentication; port 0 picks a free one. ``on_ready`` is
    called with the endpoint's address once the port is taken.

    Raises:
        ServerFailed: the port is taken.
        ModelUnavailable: the embedding model isn't available.
    """
    with listening_on(host, port) as listening:  # first: without the port there's no need to wait
        knowledge_base.warm_up()
        if on_ready is not None:
            on_ready(f"http://{host}:{listening.getsockname()[1]}")
        agents = Agents()
        try:
            _server(knowledge_base, hosts, agents, Models()).run([listening])
        finally:
            agents.close()


def _server(
    knowledge_base: KnowledgeBase, hosts: Sequence[str], agents: Agents, models: Models
) -> uvicorn.Server:
    app = _Service(knowledge_base, hosts, agents, models)
    return http_server(app, lifespan="off", connection=_ServiceConnection)
