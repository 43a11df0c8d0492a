"""Fakes of the makers, and a worker whose time a test moves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import httpx
import pytest

from knowledge_rag.channel.destinations import sender
from knowledge_rag.channel.events import events_of
from knowledge_rag.channel.message import message_from
from knowledge_rag.channel.queue import Queue
from knowledge_rag.channel.receipts import id_of
from knowledge_rag.channel.settings import Hook, HookSettings, Maker
from knowledge_rag.channel.worker import Worker
from tests.unit.console.test_answers import RECOMMENDATION


@pytest.fixture
def client():
    with httpx.Client(timeout=60.0, trust_env=False) as made:
        yield made


def fires(name, number=0, status="firing"):
    """Return Alertmanager's webhook for one alert."""
    labels = {"alertname": name, "instance": f"host-{number}"}
    alert = {"labels": labels, "status": status, "startsAt": "2026-03-02T08:14:00Z"}
    return {"version": "4", "status": status, "alerts": [alert]}


def pagerduty(number, name="DiskFull", kind="incident.triggered"):
    """Return PagerDuty's webhook for one incident."""
    data = {
        "id": f"P{number}",
        "type": "incident",
        "title": f"{name}: /data",
        "status": "triggered",
    }
    event = {
        "id": f"e{number}{kind}",
        "event_type": kind,
        "resource_type": "incident",
        "data": data,
    }
    return {"event": event}


def answer(event, now, paragraphs=1):
    """Return a short answer with a receipt of its own."""
    text = "\n\n".join(
        f"{n}. Look at {event.name}" + " x" * 100 * (paragraphs > 1)
        for n in range(1, paragraphs + 1)
    )
    whole = {**RECOMMENDATION, "status": "ok", "warnings": []}
    made = message_from(event.name, whole, [{"text": text}], by_model=False)
    return replace(made, receipt=id_of({"event": event.key, "at": now}))


@dataclass
class Played:
    """A queue and its worker at a time that a test moves."""

    path: object
    settings: HookSettings
    send: object
    answer: object = answer
    now: float = 1_000_000.0
    queue: Queue = field(init=False)
    worker: Worker = field(init=False)

    def __post_init__(self):
        self.open()

    def open(self):
        self.queue = Queue(self.path)
        self.queue._connection.execute("PRAGMA synchronous = OFF")  # no test loses power
        self.worker = Worker(self.queue, self.settings, self.answer, self.send, lambda: 0.5)

    def restart(self):
        self.queue.close()
        self.open()

    def states(self):
        """Return how many posts are in each state."""
        counted = "SELECT state, count(*) FROM posts GROUP BY state"
        return dict(self.queue._connection.execute(counted))

    def receive(self, payload, hook="hook"):
        found = events_of(self.settings.hooks[hook].maker, payload)
        return self.queue.receive(hook, found, self.now)

    def fired(self, *args, seconds=0.0, **more):
        """Receive Alertmanager's webhook for one alert, and work."""
        self.receive(fires(*args, **more))
        self.run(seconds)

    def run(self, seconds=0.0):
        """Work as long as there is something to do, until so many seconds have passed."""
        until, step = self.now + seconds, max(1.0, seconds / 60)
        while True:
            while self.worker.step(self.now):
                pass
            if self.now >= until:
                return
            self.now = min(until, self.now + step)


@pytest.fixture
def play(tmp_path, makers, client):
    """Return what makes a worker for some kinds of destinations and one hook."""
    made = []

    def begin(*kinds, maker=Maker.ALERTMANAGER, send=None, answers=answer, **more):
        destinations = {it.name: it for it in map(makers.destination, kinds)}
        hooks = {"hook": Hook("hook", maker, "secret", tuple(destinations))}
        settings = HookSettings(hooks, destinations, **more)
        made.append(Played(tmp_path / "queue.sqlite", settings, send or sender(client), answers))
        return made[-1]

    yield begin
    for it in made:
        it.queue.close()
