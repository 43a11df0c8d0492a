"""Works off a queue in visits: of a function that is invoked with messages, and has no process between them.

What is received is in the kept queue before a visit acknowledges it, and a post is marked there as possibly sent before it
is sent. So a visit that is cut off loses nothing, and the next one knows what to look up before it sends again.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpx

from knowledge_rag.channel.answering import Answering
from knowledge_rag.channel.events import events_of_bus
from knowledge_rag.channel.json_requests import Refused, decoded
from knowledge_rag.channel.settings import read_destinations
from knowledge_rag.channel.worker import TIMEOUT, Worker, sender
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.outcome import Reason
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.retrieval import log_defect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from knowledge_rag.channel.answering import KeepsReceipts
    from knowledge_rag.channel.destinations import Call
    from knowledge_rag.channel.events import Event
    from knowledge_rag.channel.message import Message
    from knowledge_rag.channel.queue import Queue
    from knowledge_rag.channel.settings import HookSettings, Maker
    from knowledge_rag.channel.worker import Send
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.retrieval import Retrieval

KEEP_SECONDS: Final = 7 * 24 * 3600.0
"""How long what is finished is kept, and so how late a repeated event is known; a queue keeps its messages for four days."""

MAX_MESSAGE: Final = 1_100_000
"""Bytes of a message; SQS takes 1 MiB."""

PAUSES: Final = (5.0, 15.0)
"""Seconds between the tries of a search that failed: nobody waits for it, and a store that sleeps wakes in half a minute."""

STEP_SECONDS: Final = 60.0
"""Time for an answer or a round of posts: none is begun with less."""
ANSWER_SECONDS: Final = 50.0
"""Time for one look-up; with less, an alert of a list is said not to have been looked up."""
MODEL_SECONDS: Final = 30.0
"""Further time for an answer that a model writes."""
SEND_SECONDS: Final = 15.0
"""Time for one request."""

TICK: Final = "aws.events"
"""Source of what a schedule sends, which only says that time has passed."""


_PASSING: Final = (Reason.TIMEOUT, Reason.THROTTLED, Reason.UNAVAILABLE)
"""Reasons that may have passed a little later."""


@dataclass(frozen=True, slots=True)
class Patient:
    """Searches again where a search failed for a reason that passes.

    Args:
        retrieval: that is asked.
        sleep: waits for so many seconds.
    """

    retrieval: Retrieval
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Answer one query; see the interface."""
        for pause in PAUSES:
            outcome = await self.retrieval.retrieve(query)
            if outcome.reason not in _PASSING:
                return outcome
            await self.sleep(pause)
        return await self.retrieval.retrieve(query)


class KeptQueue(Protocol):
    """A queue that is kept between visits."""

    def load(self) -> Queue:
        """Return the queue as it was kept last; the same object as before if nobody else has written."""

    def save(self) -> None:
        """Keep the queue as it is now; raises if somebody else has written."""

    def forget(self) -> None:
        """Read it anew at the next visit."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What a visit came to.

    Args:
        alerts: that were new.
        posts: that were accepted by their destinations.
        given_up: posts that a destination never takes.
        waiting_seconds: how long the oldest alert or post waits.
        unreadable: messages that hold no event, by their position, and why.
        problem: why nothing could be posted; ``""`` if it could.
    """

    alerts: int
    posts: int
    given_up: int
    waiting_seconds: float
    unreadable: Mapping[int, str]
    problem: str = ""


@dataclass(slots=True)
class Visits:
    """Answers the events of messages, and posts the answers.

    Args:
        kept: the queue.
        settings: TOML, see :func:`~knowledge_rag.channel.settings.read_destinations`.
        keys: returns the keys that it names; raises InvalidSettings if they can't be had.
        retrieval: of the knowledge base.
        advisor: the model that writes, within MODEL_SECONDS; ``None`` for the documents' own lines.
        receipts: where they are kept.
        now: seconds since 1970.
        send: sends a request; by default over HTTP.
    """

    kept: KeptQueue
    settings: str
    keys: Callable[[], Mapping[str, str]]
    retrieval: Retrieval
    advisor: Advisor | None
    receipts: KeepsReceipts
    now: Callable[[], float]
    send: Send = field(default_factory=lambda: sender(httpx.Client(timeout=TIMEOUT)))
    _worker: Worker | None = None

    def serve(self, messages: Sequence[str], left: Callable[[], float]) -> Visit:
        """Receive the events of messages, and work as long as there is time.

        Args:
            messages: each one event of EventBridge as JSON.
            left: returns how many seconds are left.

        Raises:
            Exception: the queue can't be kept: nothing was received, and the messages have to come again.
        """
        try:
            return self._serve(messages, left)
        except BaseException:
            self.kept.forget()
            raise

    def _serve(self, messages: Sequence[str], left: Callable[[], float]) -> Visit:
        queue, now = self.kept.load(), self.now()
        queue.forget(now - KEEP_SECONDS)
        before, alerts, unreadable = queue.counts(), 0, {}
        for position, body in enumerate(messages):
            try:
                maker, events = read_message(body)
            except Refused as error:
                unreadable[position] = str(error)
                continue
            except Exception as error:  # noqa: BLE001 - a message that nobody can read must not hold up the others
                log_defect(error, "a message could not be read")
                unreadable[position] = type(error).__name__
                continue
            alerts += queue.receive(maker.value, events, now)
        self.kept.save()
        problem, names = "", []
        try:
            settings = read_destinations(self.settings, self.keys())
        except InvalidSettings as error:  # a person can mend it: everything waits
            problem = str(error)
            names = list(read_destinations(self.settings, None).destinations)
        else:
            names = list(settings.destinations)
            worker = self._worker_of(queue, settings, left)
            least = STEP_SECONDS + (MODEL_SECONDS if self.advisor else 0.0)
            while left() > least and worker.step(self.now()):
                pass
            self.kept.save()
        after, waiting = queue.counts(), queue.waiting_since(names)
        return Visit(
            alerts,
            after["done"] - before["done"],
            after["dead"] - before["dead"],
            0.0 if waiting is None else max(0.0, self.now() - waiting),
            unreadable,
            problem,
        )

    def _worker_of(self, queue: Queue, settings: HookSettings, left: Callable[[], float]) -> Worker:
        """Return the worker of a queue; it remembers which destinations have trouble."""
        quoting = Answering(self.retrieval, None, settings.links, self.receipts)
        writing = replace(quoting, advisor=self.advisor)

        def answer_by(answering: Answering, seconds: float, event: Event, now: float) -> Message:
            if left() < seconds:
                raise TimeoutError("no time left")
            incident = Incident.from_state(event.payload)
            return answering.answer(incident, event.name, now, event=event.key)

        quote = partial(answer_by, quoting, ANSWER_SECONDS)
        write = partial(answer_by, writing, ANSWER_SECONDS + MODEL_SECONDS)

        def send(call: Call) -> Any:  # noqa: ANN401 - httpx's response
            if left() < SEND_SECONDS:
                raise httpx.ConnectTimeout("no time left")
            if call.method != "GET":
                self.kept.save()
            return self.send(call)

        if self._worker is None or self._worker.queue is not queue:
            self._worker = Worker(queue, settings, quote, send, random.random)
        self._worker.settings, self._worker.send = settings, send
        has_model = self.advisor is not None
        self._worker.answer, self._worker.quote = (write, quote) if has_model else (quote, None)
        return self._worker


def read_message(body: str) -> tuple[Maker, list[Event]]:
    """Return who raised the event of a message, and its alerts; none if it is about something else.

    Raises:
        Refused: it is no event.
    """
    data = body.encode("utf-8", "replace")
    if len(data) > MAX_MESSAGE:
        raise Refused(413, f"it has more than {MAX_MESSAGE} bytes")
    event = decoded(data)
    if not isinstance(event, dict) or not isinstance(event.get("source"), str):
        raise Refused(400, "it is no event of EventBridge")
    maker, events = events_of_bus(event)
    return maker, [] if event["source"] == TICK else events
