"""What the tests of InvokeAgent share: an unmodified boto3, and how they read its streams."""

from __future__ import annotations

import contextlib
import json

import boto3
from botocore.config import Config

from knowledge_rag.core.response import read_outcome
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.local.bedrock.invoke_agent import ALIAS_ID
from tests.support import stream_faults
from tests.support.misbehaving_agents import QUOTING_ID

QUESTION = "How to handle RDS failover?"


def never_ending_until(left):
    """Give a way to send an answer that never ends, and that sets an event once nobody reads it."""

    def send(messages):
        play = stream_faults.never_ending(0.01, most_seconds=60)(messages)
        try:
            yield from play
        except GeneratorExit:
            left.set()
            raise

    return send


def make_client(bedrock, service="bedrock-agent-runtime", **config):
    return boto3.client(
        service,
        endpoint_url=bedrock.endpoint_url,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=Config(retries={"total_max_attempts": 1}, **config),
    )


def invoke(client, agent=QUOTING_ID, text=QUESTION, *, trace=True, session="a-session", **more):
    names = {"agentId": agent, "agentAliasId": ALIAS_ID, "sessionId": session}
    return client.invoke_agent(**(names | {"inputText": text, "enableTrace": trace} | more))


def events(client, *arguments, came=None, **more):
    """Give all events; ``came`` has those before a failure, too."""
    came = [] if came is None else came
    with contextlib.closing(invoke(client, *arguments, **more)["completion"]) as stream:
        came.extend(stream)
    return came


def said(events):
    return b"".join(event["chunk"]["bytes"] for event in events if "chunk" in event).decode()


def observations(events):
    steps = [event["trace"]["trace"]["orchestrationTrace"] for event in events if "trace" in event]
    return [step["observation"] for step in steps if "observation" in step]


def bodies(events):
    outputs = [seen.get("actionGroupInvocationOutput") for seen in observations(events)]
    return [json.loads(output["text"]) for output in outputs if output]


def verified(events):
    outcomes = [read_outcome(body) for body in bodies(events)]
    return verify(said(events), Ledger.of(*(outcome.results for outcome in outcomes)))
