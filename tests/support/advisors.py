"""What the tests of the advisors with a model share: turns of an agent as bytes, and incidents."""

from __future__ import annotations

import asyncio
import hashlib
import json
from contextlib import closing
from datetime import UTC, datetime
from functools import lru_cache

from botocore.parsers import create_parser

from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.local.bedrock.invoke_agent import InvokeRequest
from knowledge_rag.local.bedrock.wire import encode, service_model
from knowledge_rag.orchestrator.advisors.bedrock_agent import read_turn
from knowledge_rag.orchestrator.incident import Incident
from tests.support.scripted import ScriptedTraces

ACTION_GROUP = "retrieve_knowledge"
INCIDENT = Incident(
    incident_id="INC-7",
    title="RDS failover",
    service="rds",
    description="The writer is gone and connections are refused",
)
TRACES = ScriptedTraces(
    InvokeRequest("AGENT00001", "ALIAS00001", "a-session", traced=True),
    lambda: datetime(2026, 11, 21, tzinfo=UTC),
    "trace",
)


def body_of(*results, **more):
    """Give what the retrieval function answers with."""
    status = Status.OK if results else Status.NO_MATCH
    return json.dumps(RetrievalOutcome(status, results).to_dict() | more)


def searched(text, step=0, query="How to diagnose it?"):
    """Give the two traces of a search: what was asked, and what came back."""
    asked = [{"name": "query", "type": "string", "value": query}]
    return TRACES.tool_input(step, asked), TRACES.tool_output(step, text)


def encoded(*events):
    """Give the bytes of a stream."""
    return b"".join(map(encode, events))


def decoded(data):
    """Give the events of a stream as botocore's own parser reads them."""
    return _parser().parse(
        {
            "status_code": 200,
            "headers": {},
            "body": _Raw(data),
            "context": {"operation_name": "InvokeAgent"},
        },
        service_model("bedrock-agent-runtime").operation_model("InvokeAgent").output_shape,
    )["completion"]


def turn(*events):
    """Send events through the wire's format and read them."""
    return read_turn(decoded(encoded(*events)))


def advise(advisor, *arguments):
    """Have an advisor write, and close it."""
    with closing(advisor):
        return asyncio.run(advisor.advise(*arguments))


def cited_lines(recommendation):
    """Give the citations of a recommendation as it goes out: file, first and last line, hash."""
    shown = recommendation.to_dict()["recommendation"]
    parts = [*shown["guidance"], *shown["similar_incidents"]]
    cited = [it for part in parts for it in (part["citation"], *part.get("further_citations", ()))]
    return [
        (it["source_file"], it["start_line"], it["end_line"], it["text_sha256"]) for it in cited
    ]


def assert_exact(recommendation, root):
    """Hold every citation of a recommendation to the bytes of its lines on disk."""
    for name, first, last, digest in cited_lines(recommendation):
        lines = (root / name).read_bytes().split(b"\n")[first - 1 : last]
        assert hashlib.sha256(b"\n".join(lines)).hexdigest() == digest


def words_of(recommendation):
    """Give all that a recommendation says."""
    shown = recommendation.to_dict()
    given = shown["recommendation"]
    said = [step["action"] for step in given["guidance"]]
    said += [command for step in given["guidance"] for command in step.get("commands", ())]
    said += [similar["resolution"] for similar in given["similar_incidents"]]
    return "\n".join([given["summary"], *said, shown.get("analysis", "")])


@lru_cache(maxsize=1)
def _parser():
    return create_parser("rest-json")


class _Raw:
    def __init__(self, data):
        self._data = data

    def stream(self):
        yield self._data
