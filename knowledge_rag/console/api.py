"""Handlers of the paths below ``/api/``."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from anyio import CapacityLimiter, to_thread
from sse_starlette.sse import EventSourceResponse
from starlette.responses import Response

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.console import limits
from knowledge_rag.console.document_view import read_ranges, rendered_view, view, without_known
from knowledge_rag.console.events import as_of_now, utc_now
from knowledge_rag.console.exports import to_chat, to_json, to_markdown, to_note
from knowledge_rag.console.json_http import Json, only, read_object, text_in, whole_in
from knowledge_rag.console.questions import read_question
from knowledge_rag.console.verifying import evidence_of_cards, pasted_evidence, verification
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.version import VERSION
from knowledge_rag.extract.confined import PAGE, read_confined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from knowledge_rag.console.answers import Answer, Reports
    from knowledge_rag.console.documents import IngestedDocument
    from knowledge_rag.console.health import Health
    from knowledge_rag.console.questions import Asker
    from knowledge_rag.core.repository_links import RepositoryLinks

_MAX_KEY: Final = 64
_MAX_DIGITS: Final = 6
_MAX_NUMBER: Final = 10_000
_LOOKED_AT: Final = 100
"""Maximum documents to search for examples."""
_TEXTS: Final = {
    "md": ("text/markdown", to_markdown),
    "slack": ("text/plain", to_chat),
    "txt": ("text/plain", to_note),
}
"""Endings of an exported answer: Markdown, text for a chat, a pager's note."""


@dataclass(frozen=True, slots=True)
class Api:
    """The handlers, and their shared state."""

    asker: Asker
    reports: Reports
    about: str
    repository: RepositoryLinks | None
    health_checks: Health
    _verifying: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))
    """Allows one verification at a time: answers come first."""

    async def console(self, request: Request) -> Response:
        """Return the version, the knowledge base's description, the advisors, and examples of questions."""
        del request
        listed = await asyncio.to_thread(self.asker.documents.listed, _LOOKED_AT)
        runbooks = [one["title"] for one in listed or () if one.get("document_type") == "runbook"]
        return Json(
            {
                "examples": runbooks[: limits.MAX_EXAMPLES],
                "version": VERSION,
                "about": self.about,
                "advisors": list(self.asker.advisors),
            }
        )

    async def ask(self, request: Request) -> Response:
        """Answer a question, as a stream of events."""
        question = read_question(await read_object(request), self.asker.advisors)
        events = self.asker.begin(question)
        return EventSourceResponse(events, ping=limits.PING_SECONDS, sep="\n")

    async def documents(self, request: Request) -> Response:
        """Return all documents with their metadata."""
        del request
        listed = await asyncio.to_thread(self.asker.documents.listed, limits.MAX_LISTED)
        if listed is None:
            raise Refused(404, "the documents of this knowledge base can't be listed")
        return Json({"documents": listed})

    async def document(self, request: Request) -> Response:
        """Return a document, by the exact name under which it was ingested."""
        ranges = read_ranges(request.query_params.getlist("lines"))
        source, known = (request.query_params.get(name, "") for name in ("source", "known"))
        shown = await asyncio.to_thread(self._view, source, ranges)
        return Json(without_known(shown, known))

    async def rendered(self, request: Request) -> Response:
        """Return a document as HTML whose blocks name their lines."""
        source = request.query_params.get("source", "")
        return Json(await asyncio.to_thread(self._rendered, source))

    def _rendered(self, source: str) -> dict[str, Any]:
        return rendered_view(self._document(source), self.asker.documents)

    async def page(self, request: Request) -> Response:
        """Return a page of an ingested PDF as a picture."""
        source, number = (request.query_params.get(name, "") for name in ("source", "page"))
        if (
            not source.lower().endswith(".pdf")
            or not number.isdecimal()
            or len(number) > _MAX_DIGITS
        ):
            raise Refused(400, "source must be a PDF, and page a number")
        png = await asyncio.to_thread(self._page, source, int(number))
        return Response(png, media_type="image/png")

    def _page(self, source: str, number: int) -> bytes:
        data = self.asker.documents.original(source)
        if data is None:
            raise Refused(404, "the file has changed since it was ingested, or is gone")
        try:
            return base64.b64decode(read_confined(f"{PAGE}{number}", source, data)["png"])
        except UnreadableDocument as error:
            raise Refused(404, f"the page can't be drawn: {error.reason}") from error

    def _document(self, source: str) -> IngestedDocument:
        document = self.asker.documents.read(source)
        if document is None:
            raise Refused(404, "no document with this name was ingested")
        return document

    def _view(self, source: str, ranges: Sequence[tuple[int, int]]) -> dict[str, Any]:
        document = self._document(source)
        cards = self.asker.answers.sources(source)
        return view(document, ranges, self.asker.documents, self.repository, cards)

    async def metrics(self, request: Request) -> Response:
        """Return the metrics since the server started."""
        del request
        return Json(self.asker.metrics.to_dict(self.asker.running))

    async def health(self, request: Request) -> Response:
        """Return the problems found so far; POST starts the checks."""
        if request.method == "POST":
            self.health_checks.begin()
        return Json(self.health_checks.to_dict())

    async def answer(self, request: Request) -> Response:
        """Return a recent answer: for the page, or as a file if the id ends in .json or one of _TEXTS."""
        key, _, suffix = request.path_params["name"].partition(".")
        answer = await asyncio.to_thread(self._answer, key)
        if suffix == "":
            corpus = self.asker.documents.current()
            sources = await asyncio.to_thread(as_of_now, answer.sources, corpus)
            return Json({**answer.to_dict(), "sources": sources})
        if suffix == "json":
            return Json(to_json(answer), headers=_saved_as(answer, suffix))
        if suffix not in _TEXTS:
            raise Refused(404, f"answers are available as .json, .{', .'.join(_TEXTS)}")
        kind, export = _TEXTS[suffix]
        text = export(answer, self.repository)
        headers = _saved_as(answer, suffix)
        return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)

    async def verify(self, request: Request) -> Response:
        """Compare an answer with its evidence: both pasted, or both of a stored answer."""
        body = await read_object(request, limits.MAX_EVIDENCE_BYTES)
        only(body, "answer", "evidence", "answerId")
        key = text_in(body, "answerId", _MAX_KEY)
        text = text_in(body, "answer", limits.MAX_VERIFIED_CHARACTERS)
        evidence = text_in(body, "evidence", limits.MAX_EVIDENCE_BYTES, required=not key)
        verified = partial(self._verified, key, text, evidence)
        return Json(await to_thread.run_sync(verified, limiter=self._verifying))

    def _verified(self, key: str, text: str, pasted: str) -> dict[str, Any]:
        if key:
            answer = self._answer(key)
            text, evidence = answer.text, evidence_of_cards(answer.sources)
        else:
            evidence = pasted_evidence(pasted)
        documents = self.asker.documents
        return verification(text, evidence, documents.current(), documents.may_have)

    async def report(self, request: Request) -> Response:
        """Store a report of a wrong citation, and return its file's path."""
        body = await read_object(request, limits.MAX_SHORT_BODY_BYTES)
        only(body, "answerId", "number", "comment")
        key = text_in(body, "answerId", _MAX_KEY, required=True)
        answer = await asyncio.to_thread(self._answer, key)
        number = whole_in(body, "number", _MAX_NUMBER)
        source = next((one for one in answer.sources if one["number"] == number), None)
        if source is None:
            raise Refused(404, "the answer has no source with this number")
        report = {
            "at": utc_now(),
            "question": answer.question,
            "askedAt": answer.asked_at,
            "advisor": answer.advisor,
            "citation": source["citation"],
            "comment": text_in(body, "comment", limits.MAX_COMMENT_CHARACTERS),
        }
        path = await asyncio.to_thread(self.reports.add, report)
        return Json({"path": str(path)}, 201)

    def _answer(self, key: str) -> Answer:
        answer = self.asker.answers.get(key)
        if answer is None:
            raise Refused(404, "there is no such answer, or it isn't kept any more: ask again")
        return answer


def _saved_as(answer: Answer, suffix: str) -> dict[str, str]:
    """Return the header with the name for a saved file, which has no words of the question."""
    when = "".join(character for character in answer.asked_at[:19] if character.isdigit())
    return {"Content-Disposition": f'attachment; filename="answer-{when}.{suffix}"'}
