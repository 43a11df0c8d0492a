"""Reads questions from requests, and answers each with one consultation, as a stream of events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sse_starlette.event import ServerSentEvent

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.channel.markdown import note_from
from knowledge_rag.channel.message import message_of
from knowledge_rag.console import limits
from knowledge_rag.console.answers import Answer
from knowledge_rag.console.events import AnswerEvents, html_of, pasted_incident, removed_of, utc_now
from knowledge_rag.console.json_http import only, text_in, whole_in
from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.citations import MAX_PATH
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.metadata import DOCUMENT_TYPE, SOURCE_FILE
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.retrieval import FILTER_KEYS, MAX_QUERY_CHARACTERS
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.consultation import advise_on, look_up
from knowledge_rag.orchestrator.fitting import MIN_TOKENS, within
from knowledge_rag.orchestrator.incident import Incident, name_of, read_place
from knowledge_rag.orchestrator.queries import build_queries, queries_for
from knowledge_rag.orchestrator.retrieval import log_defect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Coroutine

    from knowledge_rag.console.answers import Answers
    from knowledge_rag.console.documents import KeptDocuments
    from knowledge_rag.console.events import Event
    from knowledge_rag.console.metrics import ConsoleMetrics
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.consultation import Consultation, Notify
    from knowledge_rag.orchestrator.retrieval import Retrieval

_TYPES: Final = frozenset(kind.value for kind in DocumentType)
_RUNBOOK: Final = DocumentType.RUNBOOK.value
_FILTERS: Final = tuple(name for name in FILTER_KEYS if name != SOURCE_FILE)
"""Without ``source_file``: no score threshold applies to one document, so nothing would ever be undocumented."""

_LINES: Final = len(":1234567-1234567")


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    Args:
        text: one line, not blank, at most MAX_QUERY_CHARACTERS; for a pasted incident, its name.
        advisor: name of the advisor.
        filters: values that ``document_type`` and ``service`` of a document must have.
        pasted: the incident whose JSON was pasted as the question; ``None`` for a question in words.
        lines: a question in words with its lines, of which some may be a program's output; ``""`` if it has one.
        at: document and line of the procedure that the reader chose among several.
        max_tokens: of the answer, without the addresses of its links; 0 for the whole answer.
    """

    text: str
    advisor: str
    filters: Mapping[str, str] = field(default_factory=dict)
    pasted: Incident | None = None
    lines: str = field(default="", compare=False)
    at: tuple[str, int] | None = None
    max_tokens: int = 0

    @property
    def incident(self) -> Incident:
        """The pasted incident, otherwise one with the question as its title."""
        asked = self.pasted or Incident.asked(self.lines or self.text)
        return replace(asked, at=self.at)

    def queries(self) -> tuple[Query, ...] | None:
        """Return the queries, each with the reader's filters; ``None`` for a group, whose alerts have their own."""
        if self.pasted is None:
            return queries_for(self.text, self.filters)
        if self.pasted.is_group:
            return None
        return tuple(
            _narrowed(query, self.filters)
            for query in build_queries(self.pasted)
            if all(query.filters.get(name, value) == value for name, value in self.filters.items())
        )


def read_question(body: dict[str, Any], advisors: Collection[str]) -> Question:
    """Read a question from the body of a request."""
    only(body, "question", "advisor", "at", "max_tokens", *_FILTERS)
    pasted = pasted_incident(text_in(body, "question", limits.MAX_BODY_BYTES))
    lines = ""
    if pasted is None:
        lines = text_in(body, "question", MAX_QUERY_CHARACTERS, required=True)
        asked = " ".join(lines.split())
    else:
        asked = name_of(pasted)
    if not any(character.isalnum() for character in asked):
        raise Refused(400, "question has no letter or digit")
    filters = {
        name: value
        for name in _FILTERS
        if (value := text_in(body, name, limits.MAX_FILTER_CHARACTERS))
    }
    if filters.get(DOCUMENT_TYPE, _RUNBOOK) not in _TYPES:
        raise Refused(400, f"document_type must be one of {', '.join(sorted(_TYPES))}")
    advisor = text_in(body, "advisor", limits.MAX_FILTER_CHARACTERS) or next(iter(advisors))
    if advisor not in advisors:
        raise Refused(400, f"advisor must be one of {', '.join(advisors)}")
    most = whole_in(body, "max_tokens", limits.MAX_TOKENS)
    if 0 < most < MIN_TOKENS:
        raise Refused(400, f"max_tokens must be a whole number of at least {MIN_TOKENS}")
    return Question(asked, advisor, filters, pasted, lines, _place_in(body), most)


def _place_in(body: dict[str, Any]) -> tuple[str, int] | None:
    try:
        return read_place(at) if (at := text_in(body, "at", MAX_PATH + _LINES)) else None
    except InvalidRequest as error:
        raise Refused(400, f"at: {error}") from error


class NarrowedRetrieval:
    """Adds filters to every query."""

    def __init__(self, retrieval: Retrieval, filters: Mapping[str, str]) -> None:
        self.floors = getattr(retrieval, "floors", None)
        self._retrieval = retrieval
        self._filters = dict(filters)

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """See ``orchestrator.retrieval.Retrieval``."""
        return await self._retrieval.retrieve(_narrowed(query, self._filters))


def _narrowed(query: Query, filters: Mapping[str, str]) -> Query:
    return replace(query, filters={**query.filters, **filters})


_BUSY: Final = f"{limits.MAX_ASKS} questions are being answered; ask again in a moment"
LATE: Final = "the answer took too long and was given up"
BROKEN: Final = "the answer could not be written; the server's log says why"

_Queue = asyncio.Queue[Mapping[str, Any] | None]
"""Events of the consultation, then ``None``."""


@dataclass(slots=True)
class Asker:
    """Answers questions, at most MAX_ASKS at a time."""

    retrieval: Retrieval
    advisors: Mapping[str, Advisor]
    documents: KeptDocuments
    answers: Answers
    metrics: ConsoleMetrics
    seconds: float = limits.ASK_SECONDS
    corrected: Callable[[str], str] = str
    _tasks: set[asyncio.Task[Consultation]] = field(default_factory=set)
    _ready: asyncio.Task[None] | None = None

    @property
    def running(self) -> int:
        """Number of questions being answered."""
        return len(self._tasks)

    def prepare(self, work: Coroutine[Any, Any, None]) -> None:
        """Start work that questions need; those that come before its end wait for it."""
        self._ready = asyncio.get_running_loop().create_task(work)

    def begin(self, question: Question) -> AsyncIterator[ServerSentEvent]:
        """Start to answer, and return :meth:`events` in the form that the page reads."""
        return _numbered(self.events(question))

    def events(self, question: Question) -> AsyncGenerator[Event]:
        """Start to answer, and return the events; closing them ends the consultation.

        Raises:
            Refused: too many questions are being answered.
        """
        self._check_room()
        queue: _Queue = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def notify(event: Mapping[str, Any]) -> None:
            with suppress(RuntimeError):  # the loop has ended, and its listeners with it
                loop.call_soon_threadsafe(queue.put_nowait, event)

        task = loop.create_task(self._consult(question, self.advisors[question.advisor], notify))
        self._tasks.add(task)
        task.add_done_callback(partial(self._over, queue))
        return self._events(question, queue, task)

    async def offered(self, question: Question) -> Consultation:
        """Return the consultation of a question without a model; no metric counts it.

        Raises:
            Refused: too many questions are being answered.
            TimeoutError: it took too long.
        """
        self._check_room()
        task = asyncio.ensure_future(self._consult(question, ExtractiveAdvisor(), _unheard))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await task
        finally:
            task.cancel()

    def _check_room(self) -> None:
        if self.running >= limits.MAX_ASKS:
            self.metrics.ended("refused")
            raise Refused(503, _BUSY, {"Retry-After": "2"})

    def _over(self, queue: _Queue, task: asyncio.Task[Consultation]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # reported at the end of the events, if anyone still listens
        queue.put_nowait(None)

    async def _consult(self, question: Question, advisor: Advisor, notify: Notify) -> Consultation:
        queries = question.queries()
        retrieval = self.retrieval
        if queries is None and question.filters:
            retrieval = NarrowedRetrieval(retrieval, question.filters)
        async with asyncio.timeout(self.seconds):  # even if nobody ever listens
            if self._ready is not None and not self._ready.done():
                notify({"event": "preparing"})
                await asyncio.wait([self._ready])  # a reader who leaves doesn't end it for others
            incident = question.incident
            incident = replace(incident, title=self.corrected(incident.title))
            fit = None
            if question.max_tokens:
                words = partial(_words_of, incident)
                fit = partial(within, written=words, most=question.max_tokens)
            findings = await look_up(incident, retrieval, queries=queries, notify=notify)
            return await advise_on(incident, findings, advisor, notify=notify, fit=fit)

    async def _events(
        self, question: Question, queue: _Queue, task: asyncio.Task[Consultation]
    ) -> AsyncGenerator[Event]:
        stream = AnswerEvents(self.documents.current(), utc_now(), question.pasted)
        deadline, how = asyncio.get_running_loop().time() + self.seconds, "left"
        try:
            while events := await _next(queue, deadline):
                for event in await asyncio.to_thread(stream.events_for, events):
                    yield event
            last = await asyncio.to_thread(self._end, question, stream, task.result())
            cited = [source for source, _, _ in stream.cited]
            self.metrics.answered(task.result(), cited)
            how = ""
            for event in last:
                yield event
        except TimeoutError:
            how = "timeout"
            yield "error", {"message": LATE, "reason": how}
        except Exception as error:  # noqa: BLE001 - logged without its message; the reader learns nothing
            log_defect(error, "an answer failed")
            how = "internal"
            yield "error", {"message": BROKEN, "reason": how}
        finally:
            task.cancel()
            if how:
                self.metrics.ended(how)

    def _end(
        self, question: Question, stream: AnswerEvents, consultation: Consultation
    ) -> list[Event]:
        """Store the answer, and return its last events."""
        recommendation = consultation.recommendation.to_dict()
        kept = Answer(
            question.text,
            stream.now,
            question.advisor,
            question.filters,
            stream.text,
            tuple(html_of(stream.blocks)),
            tuple(stream.sources),
            recommendation,
            tuple(removed_of(consultation)),
            tuple(stream.parts),
            stream.by_model,
            stream.incident.get("incident"),
        )
        done = {
            "success": consultation.recommendation.status is not Status.DEGRADED,
            "citationCount": len(stream.cited),
            "recommendation": recommendation,
            "answerId": self.answers.keep(kept),
        }
        return [*stream.end(consultation), ("done", done)]


def _words_of(incident: Incident, consultation: Consultation) -> str:
    """Return an answer's text for chat clients, without the addresses of its links."""
    return note_from(message_of(incident, consultation), lambda _: "").text


def _unheard(event: Mapping[str, Any]) -> None:
    """Ignore an event."""


async def _next(queue: _Queue, deadline: float) -> list[Mapping[str, Any]]:
    """Wait for an event, and return it with those already queued after it; none at the end.

    Raises:
        TimeoutError: the deadline has passed.
    """
    async with asyncio.timeout_at(deadline):
        first = await queue.get()
    events = [first]
    while events[-1] is not None and not queue.empty():
        events.append(queue.get_nowait())
    if events[-1] is None and len(events) > 1:
        queue.put_nowait(None)  # for the next call
    return [event for event in events if event is not None]


async def _numbered(events: AsyncGenerator[Event]) -> AsyncIterator[ServerSentEvent]:
    number = 0
    async with aclosing(events) as open_events:
        async for name, data in open_events:
            number += 1
            yield ServerSentEvent(json.dumps(data), event=name, id=str(number), sep="\n")
