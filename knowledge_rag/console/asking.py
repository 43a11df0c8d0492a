"""Answers questions: one consultation each, told as a stream of events while it goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sse_starlette.event import ServerSentEvent

from knowledge_rag.console.answers import Answer
from knowledge_rag.console.errors import Refused
from knowledge_rag.console.limits import ASK_SECONDS, MAX_ASKS
from knowledge_rag.console.narrowed import NarrowedRetrieval
from knowledge_rag.console.story import Story, html_of, removed_of, utc_now
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.held import tell_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine

    from knowledge_rag.console.answers import Answers
    from knowledge_rag.console.documents import Documents
    from knowledge_rag.console.metrics import ConsoleMetrics
    from knowledge_rag.console.questions import Question
    from knowledge_rag.console.story import Event
    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.consultation import Consultation
    from knowledge_rag.orchestrator.retrieval import Retrieval
    from knowledge_rag.orchestrator.telling import Notify

_BUSY: Final = f"{MAX_ASKS} questions are being answered; ask again in a moment"
_LATE: Final = "the answer took too long and was given up"
_BROKEN: Final = "the answer could not be written; the server's log says why"

_Told = asyncio.Queue[Mapping[str, Any] | None]
"""What the consultation tells, and ``None`` when it is over."""


@dataclass(slots=True)
class Asker:
    """Answers questions, some at a time.

    Args:
        retrieval: the way to the knowledge base.
        advisors: who can write, by name.
        documents: where documents are kept.
        answers: where answers are kept.
        metrics: where it is counted.
        seconds: that one answer may take.
        corrected: corrects the typing mistakes in a question.
    """

    retrieval: Retrieval
    advisors: Mapping[str, Advisor]
    documents: Documents
    answers: Answers
    metrics: ConsoleMetrics
    seconds: float = ASK_SECONDS
    corrected: Callable[[str], str] = str
    _tasks: set[asyncio.Task[Consultation]] = field(default_factory=set)
    _ready: asyncio.Task[None] | None = None

    @property
    def running(self) -> int:
        """How many questions are being answered."""
        return len(self._tasks)

    def prepare(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin what the first question would have to wait for; who asks meanwhile waits for it."""
        self._ready = asyncio.get_running_loop().create_task(work)

    def begin(self, question: Question) -> AsyncIterator[ServerSentEvent]:
        """Begin to answer.

        Returns:
            The events, each with its id; whoever stops taking them ends the consultation.

        Raises:
            Refused: too many questions are being answered.
        """
        if self.running >= MAX_ASKS:
            self.metrics.ended("refused")
            raise Refused(503, _BUSY, {"Retry-After": "2"})
        told: _Told = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def notify(event: Mapping[str, Any]) -> None:
            with suppress(RuntimeError):  # the loop has ended, and with it whoever listened
                loop.call_soon_threadsafe(told.put_nowait, event)

        task = loop.create_task(self._consult(question, notify))
        self._tasks.add(task)
        task.add_done_callback(partial(self._over, told))
        return _numbered(self._events(question, told, task))

    def _over(self, told: _Told, task: asyncio.Task[Consultation]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # it is told where the events end, if anyone still listens
        told.put_nowait(None)

    async def _consult(self, question: Question, notify: Notify) -> Consultation:
        advisor, queries = self.advisors[question.advisor], question.queries()
        is_filtered_here = queries is None and question.filters
        retrieval = (
            NarrowedRetrieval(self.retrieval, question.filters)
            if is_filtered_here
            else self.retrieval
        )
        async with asyncio.timeout(self.seconds):  # even where nobody ever began to listen
            if self._ready is not None and not self._ready.done():
                notify({"event": "preparing"})
                await asyncio.wait([self._ready])  # who leaves meanwhile ends it for nobody else
            incident = question.incident
            incident = replace(incident, title=self.corrected(incident.title))
            return await consult(incident, retrieval, advisor, queries=queries, notify=notify)

    async def _events(
        self,
        question: Question,
        told: _Told,
        task: asyncio.Task[Consultation],
    ) -> AsyncGenerator[Event]:
        named = question.text if question.pasted else ""
        story = Story(self.documents.current(), utc_now(), named)
        loop = asyncio.get_running_loop()
        started, first_text, how = loop.time(), None, "left"
        try:
            while events := await _next(told, started + self.seconds):
                for event in await asyncio.to_thread(story.tell, events):
                    if first_text is None and event[0] == "chunk":
                        first_text = loop.time() - started
                    yield event
            last = await asyncio.to_thread(self._end, question, story, task.result())
            cited = [source for source, _, _ in story.cited]
            self.metrics.answered(task.result(), cited, first_text, loop.time() - started)
            how = ""
            for event in last:
                yield event
        except TimeoutError:
            how = "timeout"
            yield "error", {"message": _LATE, "reason": how}
        except Exception as error:  # noqa: BLE001 - told without its message; the reader learns nothing
            tell_of(error, "an answer failed")
            how = "internal"
            yield "error", {"message": _BROKEN, "reason": how}
        finally:
            task.cancel()
            if how:
                self.metrics.ended(how)

    def _end(self, question: Question, story: Story, consultation: Consultation) -> list[Event]:
        """Keep the answer, and tell that it is over."""
        recommendation = consultation.recommendation.to_dict()
        kept = Answer(
            question.text,
            story.now,
            question.advisor,
            question.filters,
            story.text,
            tuple(html_of(story.blocks)),
            tuple(story.sources),
            recommendation,
            tuple(removed_of(consultation)),
            tuple(story.parts),
            story.by_model,
        )
        done = {
            "success": consultation.recommendation.status is not Status.DEGRADED,
            "citationCount": len(story.cited),
            "recommendation": recommendation,
            "answerId": self.answers.keep(kept),
        }
        return [*story.end(consultation), ("done", done)]


async def _next(told: _Told, deadline: float) -> list[Mapping[str, Any]]:
    """Wait for an event, and take those that have come meanwhile; none when it is over.

    Raises:
        TimeoutError: the deadline has passed.
    """
    async with asyncio.timeout_at(deadline):
        first = await told.get()
    events = [first]
    while events[-1] is not None and not told.empty():
        events.append(told.get_nowait())
    if events[-1] is None and len(events) > 1:
        told.put_nowait(None)  # for the next time
    return [event for event in events if event is not None]


async def _numbered(events: AsyncGenerator[Event]) -> AsyncIterator[ServerSentEvent]:
    number = 0
    async with aclosing(events) as open_events:
        async for name, data in open_events:
            number += 1
            yield ServerSentEvent(json.dumps(data), event=name, id=str(number), sep="\n")
