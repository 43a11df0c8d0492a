"""The function that posts advice, with a clock, on moto's services and the makers of ``makers``; its environments end as a test says."""

from __future__ import annotations

import contextlib
import io
import json
from types import SimpleNamespace

import boto3
import httpx
import pytest
from moto import mock_aws

from knowledge_rag.channel.destinations import sender
from knowledge_rag.channel.visits import Visits
from lambdas.advise_incident import handler
from lambdas.advise_incident.kept import QUEUE, KeptObject, KeptQueue, KeptReceipts
from tests.support.makers import CHANNEL
from tests.support.retrievals import Answering, found, result

NAME = "knowledge-rag-dev"
BUCKET = "kept"
MINUTE = 60.0
SECRET = {"SLACK": "slack-key", "PAGER": "pagerduty-key"}
DESTINATIONS = """
[destinations.oncall]
kind = "slack"
token_env = "SLACK"
channel = "{channel}"
url = "{url}/slack"

[destinations.pager]
kind = "pagerduty"
token_env = "PAGER"
sender = "bot@acme.example"
url = "{url}/pagerduty"
"""


def alarm(name, at="2026-03-02T08:14:44.120+0000", **more):
    """Return EventBridge's event of an alarm that begins."""
    detail = {"alarmName": name, "state": {"value": "ALARM", "timestamp": at}}
    event = {"source": "aws.cloudwatch", "account": "123456789012", "region": "us-east-1"}
    return {**event, "detail": detail, **more}


def batch(*events):
    bodies = [it if isinstance(it, str) else json.dumps(it) for it in events]
    return {
        "Records": [{"messageId": f"m-{n}", "body": body} for n, body in enumerate(bodies)],
    }


@pytest.fixture(name="aws")
def aws_fixture(aws_environment):
    """S3, SQS and Secrets Manager of moto, and the variables of a function."""
    aws_environment.setenv("AWS_REGION", "us-east-1")
    aws_environment.setenv("POWERTOOLS_SERVICE_NAME", NAME)
    with mock_aws():
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket=BUCKET)
        sqs = boto3.client("sqs", region_name="us-east-1")
        url = sqs.create_queue(QueueName="dead.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
        aws_environment.setenv("DEAD_LETTERS_URL", url)
        aws_environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        yield SimpleNamespace(sqs=sqs, dead=url, environment=aws_environment)


@pytest.fixture(name="function")
def function_fixture(aws, makers, client, tmp_path):
    """The function with a clock, and environments that a test ends."""

    class Function:
        now = 1_772_439_284.0
        left = 120.0
        text = DESTINATIONS.format(channel=CHANNEL, url=makers.url)
        keys = staticmethod(lambda: SECRET)
        retrieval = Answering(found(result()))
        advisor = None
        number = 0

        def __init__(self):
            self.records = []
            self.renew()

        def renew(self, send=None):
            """Begin a new environment, which knows nothing of the one before."""
            self.number += 1
            folder = tmp_path / str(self.number)
            folder.mkdir()
            s3 = boto3.client("s3", region_name="us-east-1")
            visits = Visits(
                KeptQueue(KeptObject(s3, BUCKET, QUEUE), folder),
                self.text,
                lambda: dict(self.keys()),
                self.retrieval,
                self.advisor,
                KeptReceipts(s3, BUCKET, folder),
                lambda: self.now,
                send or sender(client),
            )
            aws.environment.setattr(handler, "_visits", lambda: visits)
            return visits

        def __call__(self, *events):
            context = SimpleNamespace(get_remaining_time_in_millis=lambda: self.left * 1000)
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                answer = handler.lambda_handler(batch(*events), context)
            assert answer == {"batchItemFailures": []}
            made = [json.loads(line) for line in output.getvalue().splitlines()]
            self.records += made
            return next((it for it in made if "KnowledgeAdviceAlerts" in it), None)

        def tick(self, seconds):
            """Let time pass, with the schedule's events."""
            until = self.now + seconds
            while self.now < until:
                self.now = min(until, self.now + MINUTE)
                counted = self({"source": "aws.events", "time": str(self.now), "detail": {}})
            return counted

    return Function()


@pytest.fixture(name="client")
def client_fixture():
    with httpx.Client(timeout=60.0, trust_env=False) as made:
        yield made
