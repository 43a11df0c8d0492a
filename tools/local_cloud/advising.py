"""Alarms and events of a cloud that reach ``advise_incident``: by the rules and the queue that were deployed, as moto keeps them.

The function is the deployed one, called in this process with the environment that it was deployed with, and for each call to AWS with
the rights that its role has.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import contextmanager, redirect_stdout, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.settings import CONTEXT_KEY
from knowledge_rag.channel.settings import Kind
from knowledge_rag.local.action_group import collected_output
from lambdas.advise_incident import handler
from tests.support.makers import CHANNEL, Makers
from tools.local_cloud.deployment import PROJECT, cloud, deploy_assembly, synth
from tools.local_cloud.kinds import ACCOUNT, REGION
from tools.local_cloud.living import client, environment, living, may
from tools.local_cloud.registration import LambdaContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tools.local_cloud.deployment import Deployed
    from tools.local_cloud.living import Life

KEYS = {"SLACK_BOT_TOKEN": "slack-key", "PAGERDUTY_TOKEN": "pagerduty-key"}
LINKS = "https://git.example/ops/blob/main/{path}#L{start}-L{end}"
DESTINATIONS = """
links = "{links}"
answers_a_minute = 60

[destinations.oncall]
kind = "slack"
token_env = "SLACK_BOT_TOKEN"
channel = "{channel}"
url = "{url}/slack"

[destinations.pager]
kind = "pagerduty"
token_env = "PAGERDUTY_TOKEN"
sender = "bot@acme.example"
url = "{url}/pagerduty"
"""
_BATCH = 10
_INGESTED_SECONDS = 1_800


@contextmanager
def advised(
    folder: Path, makers: Makers, synthesize: Callable[[dict[str, str]], Path]
) -> Iterator[tuple[list[Deployed], Life]]:
    """Deploy the stacks with one of advice that posts to makers on loopback, and ingest the sample documents.

    Args:
        folder: for the destinations' file.
        makers: that are posted to.
        synthesize: makes an assembly with some settings, and returns its folder.
    """
    path = folder / "hooks.toml"
    path.write_text(DESTINATIONS.format(links=LINKS, channel=CHANNEL, url=makers.url))
    with cloud() as running, living(running) as life:
        secret = client("secretsmanager").create_secret(
            Name="on-call/keys", SecretString=json.dumps(KEYS)
        )
        stacks = deploy_assembly(
            synthesize({"advice_destinations": str(path), "advice_secret_arn": secret["ARN"]})
        )
        life.wait(_INGESTED_SECONDS)
        yield stacks, life


def main(alarm: str) -> int:
    """Let an alarm go off in a cloud of this machine, and print what Slack would show."""
    makers = Makers()

    def synthesize(settings: dict[str, str]) -> Path:
        named = {"vector_store": "s3-vectors", "search_type": "SEMANTIC", **settings}
        return synth(
            [f"{CONTEXT_KEY}:{key}={value}" for key, value in named.items()],
            PROJECT / "cdk.out" / "local",
        )

    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            redirect_stdout(sys.stderr),
            advised(Path(folder), makers, synthesize) as (stacks, _),
        ):
            (name,) = (
                it.name.removesuffix("-advice") for it in stacks if it.name.endswith("-advice")
            )
            advising = Advising(name)
            advising.alarm(alarm)
            advising.work()
            posts = makers.of(Kind.SLACK)
    finally:
        makers.close()
    for post in posts:
        for kind, line in lines_in(post["blocks"]):
            sys.stdout.write(f"    {line}\n" if kind == "rich_text_preformatted" else f"{line}\n")
    return 0 if posts else 1


def lines_in(blocks: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each line that Slack shows of blocks, with the kind of element that it stands in."""
    for block in blocks:
        for element in block["elements"] if block["type"] == "rich_text" else ():
            text = "".join(it.get("text", "") for it in element["elements"])
            yield from ((element["type"], line) for line in text.strip("\n").split("\n"))


class Advising:
    """What happens after an alarm went off.

    Args:
        name: of the deployment.

    Attributes:
        log: what the function wrote, records.
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
        """Let the next invocation be the first of a new environment."""
        handler._visits.cache_clear()  # noqa: SLF001 - what an environment keeps

    def alarm(self, name: str, state: str = "ALARM", at: float = 1_772_439_284.0) -> None:
        """Change an alarm's state, as CloudWatch tells of it."""
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
        """Put an event onto a bus."""
        entry = {
            "Source": source,
            "DetailType": kind,
            "Detail": json.dumps(detail),
            "EventBusName": bus,
            "Resources": list(resources),
        }
        answer = client("events").put_events(Entries=[entry])
        if answer["FailedEntryCount"]:
            raise ValueError(f"EventBridge takes no such event: {answer['Entries']}")

    def work(self) -> int:
        """Serve the queue until it is empty; return how many invocations that took."""
        calls = 0
        while found := self._received():
            calls += 1
            self.invoke(found)
        return calls

    def invoke(self, messages: Sequence[dict[str, Any]]) -> None:
        """Call the function with messages, and delete those that it has served."""
        records = [{"messageId": it["MessageId"], "body": it["Body"]} for it in messages]
        deployed = client("lambda").get_function_configuration(
            FunctionName=f"{self._name}-advise-incident"
        )
        variables = deployed["Environment"]["Variables"]
        role = deployed["Role"].rpartition("/")[2]
        asked = variables["RETRIEVE_FUNCTION"]
        if not may(role, "lambda:InvokeFunction", asked):
            raise PermissionError(f"{role} may not invoke {asked}")
        model = variables.get("MODEL_ID", "")
        if model and not may(role, "bedrock:InvokeModel", f"foundation-model/{model}"):
            raise PermissionError(f"{role} may not invoke {model}")
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
