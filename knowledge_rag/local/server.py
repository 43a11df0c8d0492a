"""Runs the wire server: in a thread for one command, or in the foreground for ``serve``."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Self

from knowledge_rag.local.bedrock_api import LOOPBACK_HOSTS, create_app, failure
from knowledge_rag.local.converse_operation import Models
from knowledge_rag.local.http_connection import BoundedConnection, http_server
from knowledge_rag.local.invoke_agent import Agents
from knowledge_rag.local.retrieve_operation import ServiceError
from knowledge_rag.local.server_thread import LOOPBACK, ServerThread, listening_on

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    import uvicorn
    from starlette.responses import Response

    from knowledge_rag.local.knowledge_base import KnowledgeBase
    from knowledge_rag.local.scripted_agents import ScriptedAgent
    from knowledge_rag.local.scripted_models import ScriptedModel


_REFUSALS: Final = {
    HTTPStatus.BAD_REQUEST: ("ValidationException", 400),
    HTTPStatus.REQUEST_TIMEOUT: ("RequestTimeoutException", 408),
    HTTPStatus.SERVICE_UNAVAILABLE: ("ThrottlingException", 429),
}


class _ServiceConnection(BoundedConnection):
    """Serves one client of the wire API, and refuses requests in the service's form."""

    def refusal(self, status: HTTPStatus, message: str) -> Response:
        """Return the service's error."""
        return failure(ServiceError(*_REFUSALS[status], message))


class LocalBedrock:
    """The wire server on a free port of the loopback interface, for as long as the block runs.

    >>> with LocalBedrock(knowledge_base) as bedrock:  # doctest: +SKIP
    ...     client = boto3.client("bedrock-agent-runtime", endpoint_url=bedrock.endpoint_url)

    Args:
        knowledge_base: what it serves; the caller closes it.
        port: 0 takes a free one.
        agents: that it plays beside the honest one, by ``agentId``.
        models: that it plays beside the honest one, by ``modelId``.

    Raises:
        ServerFailed: on entering, when the port is taken or the server does not start.
        ModelUnavailable: on entering, when the embedding model can't be had.
    """

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        *,
        port: int = 0,
        agents: Mapping[str, ScriptedAgent] | None = None,
        models: Mapping[str, ScriptedModel] | None = None,
    ) -> None:
        self._knowledge_base = knowledge_base
        self._agents = Agents(knowledge_base, agents)
        server = _server(knowledge_base, LOOPBACK_HOSTS, self._agents, Models(models))
        self._running = ServerThread(server, "local server", port)

    @property
    def endpoint_url(self) -> str:
        """The address to give to a client, e.g. ``http://127.0.0.1:49152``."""
        return self._running.url

    def __enter__(self) -> Self:
        self._knowledge_base.warm_up()  # loading the model would use up a query's time budget
        try:
            self._running.start()
        except BaseException:
            self._agents.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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

    Args:
        knowledge_base: what to serve.
        host: the interface to listen on; loopback, because nothing here asks who is calling.
        port: 0 takes a free one.
        hosts: ``Host`` header values that are answered.
        on_ready: called with the endpoint's address once the port is taken.

    Raises:
        ServerFailed: the port is taken.
        ModelUnavailable: the embedding model can't be had.
    """
    with listening_on(host, port) as listening:  # first: who can't have the port need not wait
        knowledge_base.warm_up()
        if on_ready is not None:
            on_ready(f"http://{host}:{listening.getsockname()[1]}")
        agents = Agents(knowledge_base)
        try:
            _server(knowledge_base, hosts, agents, Models()).run([listening])
        finally:
            agents.close()


def _server(
    knowledge_base: KnowledgeBase, hosts: Sequence[str], agents: Agents, models: Models
) -> uvicorn.Server:
    app = create_app(knowledge_base, hosts, agents=agents, models=models)
    return http_server(app, lifespan="off", connection=_ServiceConnection)
