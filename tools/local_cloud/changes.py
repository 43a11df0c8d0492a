"""Simulates what happens after a document changed: S3's event, the rule, the queue, the function, Bedrock's job.

The rule, the queue and the function are the deployed ones, as moto stores them, and the function's own code is
called. Time passes only here, so that days of it take no time.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import boto3
from botocore.config import Config

from lambdas.start_ingestion import handler
from tests.support.ingestion import DATA_SOURCE_ID, KNOWLEDGE_BASE_ID, Ingestion, ended
from tools.local_cloud.kinds import REGION

if TYPE_CHECKING:
    from collections.abc import Callable

NINE = 1_795_942_800.0  # a Monday in November 2026, 09:00 UTC
SWALLOWED_SECONDS = 300
"""Time in which a FIFO queue keeps only the first of equal messages."""
_PATIENT = handler._CALLS.merge(Config(read_timeout=600))  # noqa: SLF001 - a busy machine is not an outage
"""A long timeout, because here a job chunks all its documents within the request that starts it."""


@dataclass
class Clock:
    """Seconds since 1970."""

    now: float = NINE

    def utc(self) -> datetime:
        """Return the time in the services' format."""
        return datetime.fromtimestamp(self.now, UTC)


class TimedJobs(Ingestion):
    """Ingestion jobs that take time on a clock, one at a time.

    Attributes:
        lasting: seconds that the next job takes.
        ingest: run when a job starts; returns the job's final state.
        denied: whether starts are refused because a permission is missing.
        started: each job's start, description and end, in order.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self.lasting = 60.0
        self.ingest: Callable[[], dict[str, Any]] = lambda: ended("COMPLETE", new=1)
        self.denied = False
        self.started: dict[str, dict[str, Any]] = {}

    def stop(self, job_id: str) -> None:
        """Stop a job, as a person can in the console."""
        self.started[job_id] |= {"end": self._clock.now, "result": ended("STOPPED")}

    def by_hand(self) -> None:
        """Start a job without a message."""
        self._begin("started in the console")

    def _start(self, request: dict[str, Any]) -> tuple[int, str, dict[str, Any]]:
        if self.refusals:
            status, code, message = self.refusals.pop(0)
            return status, code, {"message": message}
        if self.denied:
            return 403, "AccessDeniedException", {"message": "not authorized"}
        if any(self._clock.now < job["end"] for job in self.started.values()):
            return 409, "ConflictException", {"message": "a job is running"}
        return 202, "", {"ingestionJob": self._job(self._begin(request["description"]))}

    def _begin(self, description: str) -> str:
        job_id = f"JOB{len(self.started):07d}"
        result = self.ingest()
        self.started[job_id] = {
            "description": description,
            "start": self._clock.utc(),
            "end": self._clock.now + self.lasting,
            "result": result,
        }
        self.jobs[job_id] = []
        return job_id

    def _job(self, job_id: str) -> dict[str, Any]:
        job = self.started[job_id]
        over = self._clock.now >= job["end"]
        latest = job["end"] if over else self._clock.now
        return {
            "knowledgeBaseId": KNOWLEDGE_BASE_ID,
            "dataSourceId": DATA_SOURCE_ID,
            "ingestionJobId": job_id,
            "description": job["description"],
            "startedAt": job["start"].isoformat(),
            "updatedAt": datetime.fromtimestamp(latest, UTC).isoformat(),
            **(job["result"] if over else {"status": "IN_PROGRESS"}),
        }


@dataclass
class _Message:
    id: str
    body: str
    sent: float
    visible: float
    receives: int = 0


@dataclass
class Queue:
    """A FIFO queue with one message group.

    Args:
        delay: seconds before a message becomes visible.
        invisible: seconds after which a message that was not deleted is delivered again.
        max_receives: deliveries after which it becomes a dead letter.
    """

    clock: Clock
    delay: float
    invisible: float
    max_receives: int
    messages: list[_Message] = field(default_factory=list)
    dead: list[_Message] = field(default_factory=list)
    sent: int = 0
    _kept: dict[str, float] = field(default_factory=dict)

    def send(self, body: str) -> None:
        """Accept a message, unless an equal one came within five minutes."""
        self.sent += 1
        now = self.clock.now
        if now < self._kept.get(body, 0) + SWALLOWED_SECONDS:
            return
        self._kept[body] = now
        self.messages.append(_Message(str(uuid.uuid4()), body, now, now + self.delay))

    def receive(self) -> _Message | None:
        """Return the group's first message, unless it is delayed or with a consumer."""
        if not self.messages or self.messages[0].visible > self.clock.now:
            return None
        first = self.messages[0]
        if first.receives >= self.max_receives:
            self.dead.append(self.messages.pop(0))
            return self.receive()
        first.receives += 1
        first.visible = self.clock.now + self.invisible
        return first


class Changes:
    """A bucket's rule, queue and function, on a clock.

    Args:
        rule: as EventBridge describes it.
        message: sent by the rule to the queue.
        environment: the function's environment.

    Attributes:
        calls: calls of the function, with the time of each and whether it raised.
        log: the function's log records.
    """

    def __init__(
        self,
        clock: Clock,
        rule: dict[str, Any],
        message: str,
        queue: Queue,
        environment: dict[str, str],
    ) -> None:
        self._clock = clock
        self._pattern = json.loads(rule["EventPattern"])
        self._schedule = rule.get("ScheduleExpression", "")
        self._message = message
        self.queue = queue
        self._environment = environment
        self.calls: list[tuple[float, bool]] = []
        self.log: list[dict[str, Any]] = []

    def tell(self, bucket: str, key: str, what: str = "Object Created") -> None:
        """Send the event for a change, as S3 does."""
        event = {
            "source": "aws.s3",
            "detail-type": what,
            "detail": {"bucket": {"name": bucket}, "object": {"key": key}},
        }
        if matches(self._pattern, event):
            self.queue.send(self._message)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and run everything due, including the nightly schedule."""
        end = self._clock.now + seconds
        while self._clock.now < end:
            waiting = self.queue.messages[:1]
            due = min([message.visible for message in waiting] + [self._next_night(), end])
            self._clock.now = max(due, self._clock.now)
            if self._clock.now == self._next_night(inclusive=True):
                self.queue.send(self._message)
                self._clock.now += 1
            while message := self.queue.receive():
                self._call(message)

    def _next_night(self, *, inclusive: bool = False) -> float:
        """Return the next time of the rule's schedule, infinity without one."""
        found = re.fullmatch(r"cron\(0 (\d+) \* \* \? \*\)", self._schedule)
        if not found:
            return float("inf")
        day, hour = 86_400, 3_600 * int(found[1])
        passed = (self._clock.now - hour) // day + (0 if inclusive else 1)
        return passed * day + hour

    def _call(self, message: _Message) -> None:
        os.environ.update(self._environment)
        record = {
            "messageId": message.id,
            "body": message.body,
            "attributes": {"SentTimestamp": str(int(message.sent * 1000))},
        }
        output = io.StringIO()
        again = True
        try:
            with patch.object(handler, "_CALLS", _PATIENT), contextlib.redirect_stdout(output):
                again = bool(
                    handler.lambda_handler({"Records": [record]}, None)["batchItemFailures"]
                )
            self.calls.append((self._clock.now, False))
        except Exception:  # noqa: BLE001 - whatever it is, the message comes again
            self.calls.append((self._clock.now, True))
        self.log += [json.loads(line) for line in output.getvalue().splitlines()]
        if not again:
            self.queue.messages.remove(message)


def deployed_changes(name: str, clock: Clock) -> Changes:
    """Return the rule, queue and function of a deployment, as moto stores them."""
    events = boto3.client("events", region_name=REGION)
    (target,) = events.list_targets_by_rule(Rule=f"{name}-changes")["Targets"]
    function = boto3.client("lambda", region_name=REGION).get_function_configuration(
        FunctionName=f"{name}-start-ingestion"
    )
    return Changes(
        clock,
        dict(events.describe_rule(Name=f"{name}-changes")),
        json.loads(target["Input"]),
        _deployed_queue(f"{name}-changes.fifo", clock),
        function["Environment"]["Variables"],
    )


def _deployed_queue(name: str, clock: Clock) -> Queue:
    sqs = boto3.client("sqs", region_name=REGION)
    attributes = sqs.get_queue_attributes(
        QueueUrl=sqs.get_queue_url(QueueName=name)["QueueUrl"], AttributeNames=["All"]
    )["Attributes"]
    if attributes["ContentBasedDeduplication"] != "true" or attributes["FifoQueue"] != "true":
        raise ValueError(f"{name} does not deduplicate messages")
    return Queue(
        clock,
        float(attributes["DelaySeconds"]),
        float(attributes["VisibilityTimeout"]),
        int(json.loads(attributes["RedrivePolicy"])["maxReceiveCount"]),
    )


def matches(pattern: dict[str, Any], event: dict[str, Any]) -> bool:
    """Whether an event matches an EventBridge pattern: values and prefixes."""
    return all(_matches(wanted, event.get(name)) for name, wanted in pattern.items())


def _matches(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and matches(wanted, value)
    return any(
        str(value).startswith(each["prefix"]) if isinstance(each, dict) else value == each
        for each in wanted
    )
