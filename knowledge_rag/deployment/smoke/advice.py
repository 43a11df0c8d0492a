"""The promises of the advice stack: nothing waits, nothing is lost, and a test alarm reaches every destination.

The function stores its queue as a file in the stack's bucket, so the states of posts are read from there.
"""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from knowledge_rag.channel.events import events_of
from knowledge_rag.channel.queue import Queue, QueueUnusable
from knowledge_rag.channel.settings import Maker, read_destinations
from knowledge_rag.core.alarms import LATE_SECONDS
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.deployment.aws import CallFailed, read_object
from knowledge_rag.deployment.smoke.promises import Promise, Verdict
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowledge_rag.channel.queue import Posted
    from knowledge_rag.channel.settings import Destination
    from knowledge_rag.deployment.aws import Aws

ADVICE_QUEUE: Final = "advice queue"
TEST_ALARM: Final = "test alarm"

QUEUE_KEY: Final = "queue.sqlite"
"""``QUEUE`` of ``lambdas.advise_incident.kept``."""

DAY: Final = 24 * 3600.0
WAIT_SECONDS: Final = 240.0
"""Time for the test alarm: the function checks its queue every minute, and waits half a minute for a sleeping store."""
POLL_SECONDS: Final = 5.0

_TROUBLE: Final = 'See "If a destination has trouble" in docs/channel.md.'


@dataclass(frozen=True, slots=True)
class AdviceStack:
    """An advice stack to test.

    Args:
        aws: its account and region.
        name: of the deployment.
        bus: name of its event bus.
        bucket: of its queue.
        now: seconds since 1970.
        sleep: waits for a number of seconds.
    """

    aws: Aws
    name: str
    bus: str
    bucket: str
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def check_queue(self) -> Promise:
        """Check waiting posts, those given up within a day, and the dead letters."""
        try:
            lost = self._dead_letters()
            waiting, dead = self._kept(
                lambda queue: (
                    queue.waiting_since(self._destinations()),
                    queue.dead_since(self.now() - DAY),
                )
            ) or (None, [])
        except CallFailed as error:
            return Promise(ADVICE_QUEUE, Verdict.UNKNOWN, str(error))
        except (InvalidSettings, QueueUnusable) as error:
            return Promise(ADVICE_QUEUE, Verdict.BROKEN, str(error), "Deploy it again.")
        late = 0.0 if waiting is None else self.now() - waiting
        said = [
            f"{lost} in the dead-letter queue" if lost else "",
            f"{counted(len(dead), 'post')} given up within a day ({_reasons(dead)})"
            if dead
            else "",
            f"the oldest has waited for {late / 60:.0f} minutes" if late > LATE_SECONDS else "",
        ]
        if wrong := "; ".join(filter(None, said)):
            return Promise(ADVICE_QUEUE, Verdict.BROKEN, wrong, _TROUBLE)
        return Promise(ADVICE_QUEUE, Verdict.KEPT, "nothing is late, given up or lost")

    def send_test_alarm(self) -> list[Promise]:
        """Send one marked alarm, and follow it to each destination or to the dead-letter queue."""
        try:
            to = self._destinations()
            shared = [name for name, it in to.items() if it.is_shared]
            lost = self._dead_letters()
            alert = self._send()
            return [
                *self._followed(shared, alert, lost),
                *(
                    Promise(
                        TEST_ALARM,
                        Verdict.NOTE,
                        f"{name}: not tried, a note needs one of {it.kind}'s own incidents",
                    )
                    for name, it in to.items()
                    if not it.is_shared
                ),
            ]
        except CallFailed as error:
            return [Promise(TEST_ALARM, Verdict.UNKNOWN, str(error))]
        except (InvalidSettings, QueueUnusable) as error:
            return [Promise(TEST_ALARM, Verdict.BROKEN, str(error), "Deploy it again.")]

    def _send(self) -> str:
        """Put the alarm on the bus, and return the alert's id in the queue."""
        at = datetime.fromtimestamp(self.now(), UTC).isoformat(timespec="seconds")
        alert = {
            "status": "firing",
            "labels": {"alertname": f"Test {uuid4().hex[:6]}, nothing is wrong"},
            "annotations": {"summary": "Sent by knowledge-rag smoke --test-alarm."},
            "startsAt": at,
        }
        payload = {"alerts": [alert]}
        entry = {
            "EventBusName": self.bus,
            "Source": "alertmanager",
            "DetailType": "alert",
            "Detail": json.dumps(payload),
        }
        answer = self.aws.call("events", "put_events", expect="Entries", Entries=[entry])
        if answer.get("FailedEntryCount"):
            raise InvalidSettings(
                f"the bus accepted no event: {answer['Entries'][0].get('ErrorCode')}"
            )
        (event,) = events_of(Maker.ALERTMANAGER, payload)
        return event.alert

    def _followed(self, shared: Sequence[str], alert: str, lost: int) -> list[Promise]:
        until = self.now() + WAIT_SECONDS
        found: dict[str, list[Posted]] = {}
        while True:
            posts: list[Posted] = self._kept(lambda queue: queue.posts_about(alert)) or []
            found = {name: [it for it in posts if it.destination == name] for name in shared}
            ended = all(own and all(it.state != "waiting" for it in own) for own in found.values())
            if ended or self.now() >= until:
                break
            self.sleep(POLL_SECONDS)
        if not any(found.values()) and self._dead_letters() > lost:
            detail = "it is in the dead-letter queue"
            return [Promise(TEST_ALARM, Verdict.BROKEN, detail, "Read the function's log.")]
        return [_judged(name, own) for name, own in found.items()]

    def _destinations(self) -> dict[str, Destination]:
        function = f"{self.name}-advise-incident"
        configured = self.aws.call("lambda", "get_function_configuration", FunctionName=function)
        text = configured.get("Environment", {}).get("Variables", {}).get("DESTINATIONS", "")
        return dict(read_destinations(text, None).destinations)

    def _dead_letters(self) -> int:
        queue = f"{self.name}-alerts-failed.fifo"
        url = self.aws.call("sqs", "get_queue_url", QueueName=queue)["QueueUrl"]
        counted = "ApproximateNumberOfMessages"
        answer = self.aws.call(
            "sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=[counted]
        )
        return int(answer["Attributes"][counted])

    def _kept(self, read: Callable[[Queue], Any]) -> Any:  # noqa: ANN401 - what is read
        """Return the result of reading the last stored queue; ``None`` if none is stored yet."""
        content = read_object(self.aws, self.bucket, QUEUE_KEY)
        if content is None:
            return None
        with tempfile.TemporaryDirectory(prefix="knowledge-rag-") as folder:
            path = Path(folder, QUEUE_KEY)
            path.write_bytes(content)
            with closing(Queue(path)) as queue:
                return read(queue)


def _judged(name: str, posts: Sequence[Posted]) -> Promise:
    if not posts:
        detail = f"{name}: nothing was posted within {WAIT_SECONDS / 60:.0f} minutes"
        action = "During a storm of alerts, try again after it; otherwise read the function's log."
        return Promise(TEST_ALARM, Verdict.BROKEN, detail, action)
    for state, word in (("dead", "given up"), ("waiting", "waits")):
        if own := [it for it in posts if it.state == state]:
            detail = f"{name}: {word} ({_reasons(own)})"
            return Promise(TEST_ALARM, Verdict.BROKEN, detail, _TROUBLE)
    return Promise(TEST_ALARM, Verdict.KEPT, f"{name}: posted, {posts[0].key}")


def _reasons(posts: Sequence[Posted]) -> str:
    return ", ".join(dict.fromkeys(it.reason or "not tried yet" for it in posts))
