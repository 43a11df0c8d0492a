"""Processes a queue in visits: for a function that is invoked with messages, and has no process between them.

Events are in the stored queue before a visit acknowledges them, and a post is marked there as possibly sent before it
is sent. So an interrupted visit loses nothing, and the next one knows which posts to look up before it sends again.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpx

from knowledge_rag.channel.destinations import TIMEOUT, sender
from knowledge_rag.channel.events import events_of_bus
from knowledge_rag.channel.json_requests import Refused, decoded
from knowledge_rag.channel.receipts import Answering
from knowledge_rag.channel.settings import read_destinations
from knowledge_rag.channel.worker import Worker
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.outcome import Reason
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.retrieval import log_defect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from knowledge_rag.channel.destinations import Call, Send
    from knowledge_rag.channel.events import Event
    from knowledge_rag.channel.message import Message
    from knowledge_rag.channel.queue import Queue
    from knowledge_rag.channel.receipts import KeepsReceipts
    from knowledge_rag.channel.settings import HookSettings, Maker
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.retrieval import Retrieval

KEEP_SECONDS: Final = 7 * 24 * 3600.0
"""How long finished data are kept and repeated events recognised; a queue keeps its messages for four days."""

MAX_MESSAGE: Final = 1_100_000
"""Maximum bytes of a message; SQS accepts 1 MiB."""

PAUSES: Final = (5.0, 15.0)
"""Seconds between the tries of a failed search: nobody waits for it, and a sleeping store wakes in half a minute."""

STEP_SECONDS: Final = 60.0
"""Time for an answer or a round of posts: none starts with less left."""
ANSWER_SECONDS: Final = 50.0
"""Time for one look-up; with less left, an alert of a list is reported as not looked up."""
MODEL_SECONDS: Final = 30.0
"""Additional time for an answer that a model writes."""
SEND_SECONDS: Final = 15.0
"""Time for one request."""

TICK: Final = "aws.events"
"""Source of scheduled events, which only say that time has passed."""


_PASSING: Final = (Reason.TIMEOUT, Reason.THROTTLED, Reason.UNAVAILABLE)
"""Reasons that may be temporary."""


@dataclass(frozen=True, slots=True)
class Patient:
    """Repeats a search that failed for a temporary reason."""

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
    """A queue that is stored between visits."""

    def load(self) -> Queue:
        """Return the stored queue; the same object as before if nobody else has written it."""

    def save(self) -> None:
        """Store the current queue; raises if somebody else has written it."""

    def forget(self) -> None:
        """Make the next visit read it again."""


@dataclass(frozen=True, slots=True)
class Visit:
    """The result of a visit.

    Args:
        posts: number that destinations accepted.
        given_up: number of posts that a destination never accepts.
        waiting_seconds: how long the oldest alert or post has waited.
        unreadable: messages without a readable event, by position, with the reason.
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
    """Answers the events in messages, and posts the answers.

    Args:
        settings: TOML, see :func:`~knowledge_rag.channel.settings.read_destinations`.
        keys: returns the keys that it names; raises InvalidSettings if they aren't available.
        advisor: the model that writes, within MODEL_SECONDS; ``None`` for the documents' own lines.
        now: returns the seconds since 1970.
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
        """Receive the events in messages, each an EventBridge event as JSON, and work while seconds are ``left``.

        Raises:
            Exception: the queue can't be stored: nothing was received, and the messages must be delivered again.
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
        except InvalidSettings as error:  # a person can fix it: everything waits
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
        """Return the queue's worker, which knows the destinations with trouble."""
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
    """Return the maker of a message's event, and its alerts; none if it is about something else.

    Raises:
        Refused: it is not an event.
    """
    data = body.encode("utf-8", "replace")
    if len(data) > MAX_MESSAGE:
        raise Refused(413, f"it has more than {MAX_MESSAGE} bytes")
    event = decoded(data)
    if not isinstance(event, dict) or not isinstance(event.get("source"), str):
        raise Refused(400, "it is not an EventBridge event")
    maker, events = events_of_bus(event)
    return maker, [] if event["source"] == TICK else events
