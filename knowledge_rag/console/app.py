"""The console's application: its routes, the page's files, and a guard against other pages.

The console serves one person on their own machine and has no authentication. So it answers only to names of this
machine, against DNS rebinding, and only to its own page; the page is restricted in browsers.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.console.answers import Answers, Reports
from knowledge_rag.console.api import Api
from knowledge_rag.console.documents import AnswerPassages, KeptDocuments
from knowledge_rag.console.events import utc_now
from knowledge_rag.console.health import Commands, Health, checks_of
from knowledge_rag.console.json_http import Json
from knowledge_rag.console.limits import ASK_SECONDS
from knowledge_rag.console.metrics import ConsoleMetrics, MeasuredRetrieval
from knowledge_rag.console.model_api import ModelApi
from knowledge_rag.console.model_formats import FORMS, refusal
from knowledge_rag.console.questions import Asker
from knowledge_rag.console.replies import Replies
from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.local.errors import described
from knowledge_rag.local.http_server import LOOPBACK_HOSTS
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.retrieval import log_defect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from knowledge_rag.console.agent_api import Agents
    from knowledge_rag.core.repository_links import RepositoryLinks
    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.retrieval import Retrieval


Handler = Callable[[Request], Awaitable[Response]]

_WORTH_BYTES: Final = 1_000
"""Minimum size of a response to compress, if the browser accepts it; streams of events never are."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """Settings of a console.

    Args:
        about: the knowledge base, in a few words.
        repository: for links to change documents; ``None`` if unknown.
        reports: file for reports of wrong citations; ``None`` refuses them.
        answers: folder that stores answers across restarts; ``None`` keeps them in memory.
        budget: for each query.
        corrected: corrects spelling mistakes in a question.
        corpus: folder that was ingested, for the health page; ``None`` if unknown.
        rules: files, folders or patterns of alert rules, for the health page.
        agents: answers other agents; ``None`` leaves these paths out.
    """

    about: str = ""
    repository: RepositoryLinks | None = None
    reports: Path | None = None
    answers: Path | None = None
    budget: Budget = field(default_factory=Budget)
    corrected: Callable[[str], str] = str
    corpus: Path | None = None
    rules: tuple[str, ...] = ()
    agents: Callable[[Asker], Agents] | None = None


def create_console(
    retrieval: Retrieval,
    documents: KeptDocuments | None,
    advisors: Mapping[str, Advisor],
    settings: ConsoleSettings | None = None,
    *,
    prepare: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> Starlette:
    """Create the console application.

    The first advisor is the default. Without documents, citations lead to the retrieved passages only. ``prepare`` is
    work to start with the server, so that the first question needn't wait for it.
    """
    settings = settings or ConsoleSettings()
    metrics = ConsoleMetrics(utc_now())
    answers = Answers(settings.answers)
    kept = documents or KeptDocuments(AnswerPassages(answers))
    asked = MeasuredRetrieval(retrieval, metrics)
    seconds = max(ASK_SECONDS, 2 * settings.budget.seconds)
    asker = Asker(asked, advisors, kept, answers, metrics, seconds, settings.corrected)
    commands = Commands()
    checks = checks_of(settings.corpus, settings.rules, kept, answers, commands)
    health = Health(checks, kept.may_have, settings.repository)
    api = Api(asker, Reports(settings.reports), settings.about, settings.repository, health)

    agents = settings.agents(asker) if settings.agents else None

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        if prepare is not None:
            asker.prepare(prepare())
        yield
        commands.close()
        if agents is not None:
            await agents.aclose()

    pages = Pages(read_assets())

    async def document_page(request: Request) -> Response:
        found = await asyncio.to_thread(kept.read, request.path_params["path"])
        return pages.shown(200 if found else 404)

    async def no_route(request: Request, error: Exception) -> Response:
        """Answer a wrong path or method: people get the page, programs JSON."""
        assert isinstance(error, HTTPException)  # noqa: S101 - registered only for it
        if error.status_code == 404 and "text/html" in request.headers.get("accept", ""):
            return pages.shown(404)
        wrong = Refused(error.status_code, error.detail, error.headers)
        return _refused(request, wrong)

    return Starlette(
        routes=list(_routes(api, ModelApi(Replies(asker)), pages, document_page, agents)),
        middleware=[Middleware(Guard), Middleware(GZipMiddleware, minimum_size=_WORTH_BYTES)],
        exception_handlers={HTTPException: no_route},
        lifespan=lifespan,
    )


def _routes(
    api: Api, model_api: ModelApi, pages: Pages, document_page: Handler, agents: Agents | None
) -> Iterator[Route]:
    reading: dict[str, Handler] = {
        **dict.fromkeys(("/", "/dashboard", "/health", "/documents", "/verify"), pages.page),
        "/doc/{path:path}": document_page,
        "/static/{name:path}": pages.asset,
        "/api/console": api.console,
        "/api/document": api.document,
        "/api/documents": api.documents,
        "/api/page": api.page,
        "/api/rendered": api.rendered,
        "/api/health": api.health,
        "/api/metrics": api.metrics,
        "/api/answers/{name}": api.answer,
        "/v1/models": model_api.models,
        "/v1/models/{name}": model_api.models,
    }
    writing: dict[str, Handler] = {
        "/api/ask": api.ask,
        "/api/health": api.health,
        "/api/reports": api.report,
        "/api/verify": api.verify,
        **dict.fromkeys(FORMS, model_api.reply),
    }
    if agents is not None:
        reading |= agents.reading
        writing |= agents.writing
    for methods, handlers in (("GET", reading), ("POST", writing)):
        for path, handler in handlers.items():
            yield Route(path, _answered(handler), methods=[methods])


def _answered(handler: Handler) -> Handler:
    """Turn a handler's exceptions into responses."""

    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except Refused as error:
            return _refused(request, error)
        except ClientDisconnect:
            return Response(status_code=400)  # the client has left
        except KnowledgeRagError as error:
            _logger.warning("%s", described(error))
            return _refused(request, Refused(503, "the knowledge base could not be read"))
        except Exception as error:  # noqa: BLE001 - logged without its message; the client learns nothing
            log_defect(error, "a request failed")
            return _refused(request, Refused(500, "the console failed; its log says why"))

    return answered


def _refused(request: Request, error: Refused) -> Response:
    return Json(refusal(request.url.path, error), error.status, error.headers)


class Pages:
    """Serves the one page, which decides by its address what to show, and its files."""

    def __init__(self, assets: Mapping[str, bytes]) -> None:
        self._assets = assets

    async def page(self, _request: Request) -> Response:
        """Serve the page."""
        return self.shown(200)

    def shown(self, status: int) -> Response:
        """Serve the page with a status; the page itself reports a missing document."""
        return self._file("index.html", status)

    async def asset(self, request: Request) -> Response:
        """Serve a file of the page, by its exact name."""
        return self._file(request.path_params["name"], 200)

    def _file(self, name: str, status: int) -> Response:
        if name not in self._assets:
            raise Refused(404, "there is no such file")
        headers = {"Cache-Control": "no-cache"}
        kind = TYPES[Path(name).suffix]
        return Response(self._assets[name], status, headers=headers, media_type=kind)


TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Media types of the files to serve, by ending; other files in the folder aren't served."""

FOLDER: Final = Path(__file__).parent / "static"


def read_assets(folder: Path = FOLDER) -> dict[str, bytes]:
    """Read the page's files, by their paths below the folder, ``/``-separated."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in TYPES and path.is_file() and not path.name.startswith(".")
    }


POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types knowledge-rag",
    )
)
"""The Content-Security-Policy: code and styles only from our own files, and connections only to our server."""

_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_HOST: Final = re.compile(r"(.*?)(?::[0-9]{1,5})?")
_READING: Final = frozenset({"GET", "HEAD"})
_OWN: Final = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site for our own page and the address bar."""


class Guard:
    """Refuses requests from other pages and for other hosts with 403, and adds security headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def bound(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            self._check(scope)
        except Refused as error:
            body = refusal(scope["path"], error)
            await Json(body, error.status)(scope, receive, bound)
        else:
            await self._app(scope, receive, bound)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        named = _HOST.fullmatch(host)
        if named is None or named[1] not in LOOPBACK_HOSTS:
            raise Refused(403, "requests for this Host are refused")
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host}":
            raise Refused(403, "requests from another origin are refused")
        if not _is_own(scope, headers):
            raise Refused(403, "requests from another site are refused")


def _is_own(scope: Scope, headers: Headers) -> bool:
    """Whether a request comes from our own page, the address bar, a link, or no browser at all."""
    site = headers.get("sec-fetch-site")
    if site is None or site in _OWN:
        return True
    follows_link = (
        scope["method"] in _READING
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )
    # links from a chat to a document are allowed; requests of another site's page aren't
    return follows_link and not scope["path"].startswith(("/api/", "/v1/"))
