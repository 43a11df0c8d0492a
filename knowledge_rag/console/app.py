"""The console's application: its routes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from knowledge_rag.console.answers import Answers
from knowledge_rag.console.asking import Asker
from knowledge_rag.console.assets import read_assets
from knowledge_rag.console.bodies import read_object
from knowledge_rag.console.document_view import read_ranges, view
from knowledge_rag.console.errors import Refused
from knowledge_rag.console.limits import PING_SECONDS
from knowledge_rag.console.questions import read_question
from knowledge_rag.console.security import LOOPBACK_HOSTS, Guard
from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.local.defects import described

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from knowledge_rag.console.documents import Documents
    from knowledge_rag.console.links import RepositoryLinks
    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.retrieval import Retrieval

Handler = Callable[[Request], Awaitable[Response]]

_PAGE: Final = "index.html"
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """What a console is like.

    Args:
        about: what it asks, in a few words, e.g. the knowledge base's file.
        repository: where documents can be changed; ``None`` if that isn't known.
        hosts: names that it answers to, without the port.
    """

    about: str = ""
    repository: RepositoryLinks | None = None
    hosts: Sequence[str] = field(default=LOOPBACK_HOSTS)


def create_console(
    retrieval: Retrieval,
    documents: Documents,
    advisors: Mapping[str, Advisor],
    settings: ConsoleSettings | None = None,
    *,
    prepare: Callable[[], None] | None = None,
) -> Starlette:
    """Make the application.

    Args:
        retrieval: the way to the knowledge base.
        documents: where citations lead to.
        advisors: who can write, by name, at least one; the first one does by default.
        settings: what it is like.
        prepare: called in the server's loop when it starts.
    """
    settings = settings or ConsoleSettings()
    answers = Answers()
    asker = Asker(retrieval, advisors, documents, answers)
    console = _Console(asker, documents, settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        if prepare is not None:
            prepare()
        yield

    return Starlette(
        routes=console.routes(),
        middleware=[Middleware(Guard, hosts=settings.hosts)],
        lifespan=lifespan,
    )


class _Console:
    """What is answered on each path."""

    def __init__(self, asker: Asker, documents: Documents, settings: ConsoleSettings) -> None:
        self._asker = asker
        self._documents = documents
        self._settings = settings
        self._assets = read_assets()

    def routes(self) -> list[Route]:
        """Give the routes."""
        reading: list[tuple[str, Handler]] = [
            ("/", self.page),
            ("/dashboard", self.page),
            ("/answer/{key}", self.page),
            ("/doc/{path:path}", self.page),
            ("/static/{name:path}", self.asset),
            ("/api/console", self.console),
            ("/api/document", self.document),
        ]
        writing: list[tuple[str, Handler]] = [("/api/ask", self.ask)]
        return [
            *(Route(path, _answered(handler)) for path, handler in reading),
            *(Route(path, _answered(handler), methods=["POST"]) for path, handler in writing),
        ]

    async def page(self, request: Request) -> Response:
        """Serve the page; it reads from its address what to show."""
        return self._file(_PAGE, request)

    async def asset(self, request: Request) -> Response:
        """Serve a file of the page, by the exact name that it was read under."""
        return self._file(request.path_params["name"], request)

    def _file(self, name: str, request: Request) -> Response:
        asset = self._assets.get(name)
        if asset is None:
            raise Refused(404, "there is no such file")
        return asset.response(request)

    async def console(self, request: Request) -> Response:
        """Tell the page what this console is like."""
        del request
        return JSONResponse(
            {
                "version": version("knowledge-rag"),
                "about": self._settings.about,
                "advisors": list(self._asker.advisors),
                "knowsFiles": self._documents.current() is not None,
            }
        )

    async def ask(self, request: Request) -> Response:
        """Answer a question, as a stream of events."""
        question = read_question(await read_object(request), self._asker.advisors)
        return EventSourceResponse(self._asker.begin(question), ping=PING_SECONDS, sep="\n")

    async def document(self, request: Request) -> Response:
        """Give a document, by the exact name that it was ingested under."""
        ranges = read_ranges(request.query_params.getlist("lines"))
        source = request.query_params.get("source", "")
        return JSONResponse(await asyncio.to_thread(self._view, source, ranges))

    def _view(self, source: str, ranges: Sequence[tuple[int, int]]) -> dict[str, Any]:
        document = self._documents.read(source)
        if document is None:
            raise Refused(404, "no document of this name was ingested")
        return view(document, ranges, self._documents, self._settings.repository)


def _answered(handler: Handler) -> Handler:
    """Turn what a handler raises into a response."""

    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except Refused as error:
            return JSONResponse({"error": str(error)}, error.status, error.headers)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is left to read it
        except KnowledgeRagError as error:
            _logger.warning("path=%s | %s", request.url.path, described(error))
            return JSONResponse({"error": "the knowledge base could not be read"}, 503)

    return answered
