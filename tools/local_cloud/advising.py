"""Delivers a cloud's alarms and events to ``advise_incident``, by the deployed rules and queue, as moto stores them.

The function is the deployed one, called in this process with the environment of its deployment, and with its role's
rights for each call to AWS.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from knowledge_rag.local.action_group import collected_output
from lambdas.advise_incident import handler
from tools.local_cloud.kinds import ACCOUNT, REGION
from tools.local_cloud.living import client, environment, may
from tools.local_cloud.registration import LambdaContext

if TYPE_CHECKING:
    from collections.abc import Sequence

_BATCH = 10


class Advising:
    """Simulates what happens after an alarm.

    Args:
        name: the deployment's name.

    Attributes:
        log: the function's log records.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.log: list[dict[str, Any]] = []
        sqs = client("sqs")
        self._queue = sqs.get_queue_url(QueueName=f"{name}-alerts.fifo")["QueueUrl"]
        self.dead_letters = sqs.get_queue_url(QueueName=f"{name}-alerts-failed.fifo")["QueueUrl"]
        self.restart()

    @staticmethod
    def restart() -> None:
        """Make the next invocation the first of a new environment."""
        handler._visits.cache_clear()  # noqa: SLF001 - what an environment keeps

    def alarm(self, name: str, state: str = "ALARM", at: float = 1_772_439_284.0) -> None:
        """Change an alarm's state, and send the event that CloudWatch would."""
        moment = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000+0000")
        detail = {
            "alarmName": name,
            "state": {"value": state, "timestamp": moment, "reason": "Threshold Crossed"},
            "configuration": {"description": ""},
        }
        arn = f"arn:aws:cloudwatch:{REGION}:{ACCOUNT}:alarm:{name}"
        self.put("aws.cloudwatch", "CloudWatch Alarm State Change", detail, resources=[arn])

    def put(
        self,
        source: str,
        kind: str,
        detail: dict[str, Any],
        bus: str = "default",
        resources: Sequence[str] = (),
    ) -> None:
        """Put an event on a bus."""
        entry = {
            "Source": source,
            "DetailType": kind,
            "Detail": json.dumps(detail),
            "EventBusName": bus,
            "Resources": list(resources),
        }
        answer = client("events").put_events(Entries=[entry])
        if answer["FailedEntryCount"]:
            raise ValueError(f"EventBridge rejects the event: {answer['Entries']}")

    def work(self) -> int:
        """Serve the queue until it is empty; return the number of invocations."""
        calls = 0
        while found := self._received():
            calls += 1
            self.invoke(found)
        return calls

    def invoke(self, messages: Sequence[dict[str, Any]]) -> None:
        """Call the function with messages, and delete those that it has handled."""
        records = [{"messageId": it["MessageId"], "body": it["Body"]} for it in messages]
        deployed = client("lambda").get_function_configuration(
            FunctionName=f"{self._name}-advise-incident"
        )
        variables = deployed["Environment"]["Variables"]
        role = deployed["Role"].rpartition("/")[2]
        asked = variables["RETRIEVE_FUNCTION"]
        if not may(role, "lambda:InvokeFunction", asked):
            raise PermissionError(f"{role} may not invoke {asked}")
        with environment(variables), collected_output() as output:
            answer = handler.lambda_handler({"Records": records}, LambdaContext())
        again = {it["itemIdentifier"] for it in answer["batchItemFailures"]}
        for it in messages:
            if it["MessageId"] not in again:
                client("sqs").delete_message(
                    QueueUrl=self._queue, ReceiptHandle=it["ReceiptHandle"]
                )
        for line in output.getvalue().splitlines():
            with suppress(ValueError):
                self.log.append(json.loads(line))

    def _received(self) -> list[dict[str, Any]]:
        answer = client("sqs").receive_message(QueueUrl=self._queue, MaxNumberOfMessages=_BATCH)
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages
