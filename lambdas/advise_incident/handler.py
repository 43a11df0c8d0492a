"""``advise_incident``: posts the steps for alarms where people are.

Messages of a FIFO queue are EventBridge events: CloudWatch alarms, and alerts that other tools send to the bus. Each alert and its
posts are stored in a bucket before the message is acknowledged (:mod:`knowledge_rag.channel.visits`). A schedule sends an event each
minute, so that waiting posts are sent later.

=================== ======================================================== ==========
variable            value                                                    default
=================== ======================================================== ==========
RETRIEVE_FUNCTION   ARN of the retrieval function's alias                    (required)
DESTINATIONS        TOML with the destinations, without keys                 (required)
STATE_BUCKET        bucket of the queue and the receipts                     (required)
DEAD_LETTERS_URL    URL of the queue for messages without an event           (required)
SECRET_ARN          secret with the destinations' keys, a JSON object        no keys
MODEL_ID            model or inference profile that writes, by Converse      no model
=================== ======================================================== ==========
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from knowledge_rag.channel.settings import read_keys
from knowledge_rag.channel.visits import MODEL_SECONDS, Patient, Visits
from knowledge_rag.core import telemetry
from knowledge_rag.core.errors import InvalidRequest, InvalidSettings
from knowledge_rag.orchestrator.advisors.converse import ConverseAdvisor, ConverseSettings
from knowledge_rag.orchestrator.advisors.fallback import FallbackAdvisor
from knowledge_rag.orchestrator.backends.aws import RetrievalFunction
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.wording import agent_prompt
from lambdas.advise_incident.kept import QUEUE, KeptObject, KeptQueue, KeptReceipts
from lambdas.reporting import MetricUnit, begin, logger, metric_record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knowledge_rag.channel.visits import Visit
    from knowledge_rag.orchestrator.advisors.advisor import Advisor

QUERY_SECONDS: Final = 10.0
"""Time for one query: no person waits for it, and a cold function takes seconds to start."""
KEYS_SECONDS: Final = 300.0
"""How long keys are cached; a corrected key takes effect within that time."""
MAX_BURIED: Final = 200_000
"""Characters of a message without an event that go to the dead letters."""
_CALLS: Final = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 3}
)


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the queue: its id and its body."""

    id: str
    body: str


def lambda_handler(event: object, context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's
    """Serve the messages of one batch.

    Returns:
        ``{"batchItemFailures": []}``: no message is redelivered.

    Raises:
        InvalidRequest: the event is not a batch of queue messages.
        botocore.exceptions.ClientError: the queue's object can't be read or written; all messages are redelivered.
    """
    begin()
    messages = read_messages(event)
    visit = _visits().serve(
        [it.body for it in messages], lambda: context.get_remaining_time_in_millis() / 1000
    )
    for position, why in visit.unreadable.items():
        _bury(messages[position], why)
    if visit.problem:
        logger.error("nothing can be posted", reason=visit.problem)
    _emit(visit)
    return {"batchItemFailures": []}


def read_messages(event: object) -> list[Message]:
    """Read the messages of a batch.

    Raises:
        InvalidRequest: the event is not a batch of queue messages.
    """
    try:
        return [
            Message(str(record["messageId"]), str(record["body"]))
            for record in event["Records"]  # type: ignore[index] # of any type
        ]
    except (KeyError, TypeError) as error:
        raise InvalidRequest(f"the event is not a batch of queue messages: {error!r}") from error


@lru_cache(maxsize=1)
def _visits() -> Visits:
    folder = Path(tempfile.mkdtemp(prefix="advice-"))
    s3, bucket = boto3.client("s3", config=_CALLS), os.environ["STATE_BUCKET"]
    function = RetrievalFunction(os.environ["RETRIEVE_FUNCTION"], os.environ["AWS_REGION"])
    return Visits(
        KeptQueue(KeptObject(s3, bucket, QUEUE), folder),
        os.environ["DESTINATIONS"],
        Keys(os.environ.get("SECRET_ARN", ""), time.monotonic),
        Patient(BoundedRetrieval(function, Budget(QUERY_SECONDS))),
        advisor_of(os.environ),
        KeptReceipts(s3, bucket, folder),
        time.time,
    )


def advisor_of(environment: Mapping[str, str]) -> Advisor | None:
    """Return the model that writes posts, or ``None`` if none is set.

    If it fails, or verification finds an error in its answer, the documents' own lines are posted.
    """
    if not (model := environment.get("MODEL_ID")):
        return None
    settings = ConverseSettings(model, environment["AWS_REGION"], seconds=MODEL_SECONDS)
    return FallbackAdvisor(ConverseAdvisor(settings, agent_prompt()), strict=True)


class Keys:
    """The keys in a secret, read again after KEYS_SECONDS.

    Args:
        arn: the secret's ARN; ``""`` for none.
        clock: returns seconds.
    """

    def __init__(self, arn: str, clock: Callable[[], float]) -> None:
        self._arn = arn
        self._clock = clock
        self._keys: dict[str, str] = {}
        self._until = 0.0

    def __call__(self) -> Mapping[str, str]:
        """Return the keys by name.

        Raises:
            InvalidSettings: the secret can't be read, or has another content.
        """
        if self._arn and self._clock() >= self._until:
            self._keys = self._read()
            self._until = self._clock() + KEYS_SECONDS
        return self._keys

    def _read(self) -> dict[str, str]:
        try:
            client = boto3.client("secretsmanager", config=_CALLS)
            text = client.get_secret_value(SecretId=self._arn).get("SecretString", "")
        except (ClientError, BotoCoreError) as error:
            response: Any = getattr(error, "response", {})
            code = response.get("Error", {}).get("Code", type(error).__name__)
            raise InvalidSettings(f"the secret can't be read: {code}") from error
        return read_keys(text)


def _bury(message: Message, why: str) -> None:
    """Move a message without an event to the dead letters: redelivered, it would block all others."""
    logger.error("a message contains no event", message_id=message.id, reason=why)
    boto3.client("sqs", config=_CALLS).send_message(
        QueueUrl=os.environ["DEAD_LETTERS_URL"],
        MessageBody=message.body[:MAX_BURIED] or "(empty)",
        MessageGroupId="unreadable",
        MessageDeduplicationId=message.id,
    )


def _emit(visit: Visit) -> None:
    """Write the metrics unless all are zero, as in most minutes: a metric costs money by the hour."""
    counts = {
        telemetry.ADVICE_ALERTS: visit.alerts,
        telemetry.ADVICE_POSTS: visit.posts,
        telemetry.ADVICE_GIVEN_UP: visit.given_up,
    }
    if not any(counts.values()) and not visit.waiting_seconds:
        return
    metrics = metric_record()
    for name, count in counts.items():
        metrics.add_metric(name, MetricUnit.Count, count)
    metrics.add_metric(telemetry.ADVICE_WAITING_SECONDS, MetricUnit.Seconds, visit.waiting_seconds)
    metrics.write()
