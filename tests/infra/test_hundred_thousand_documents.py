"""100,000 documents that are synced into a bucket: what it takes until they are found.

The figures are those of ``docs/documents-in-aws.md``. A job's duration is the one that the page derives.
"""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from infra.ingestion import HELD_BACK, LOOK_EVERY, MAX_LOOKS, MESSAGE
from lambdas.start_ingestion import handler
from tests.support.ingestion import DATA_SOURCE_ID, KNOWLEDGE_BASE_ID, ended
from tools.local_cloud.changes import Changes, Clock, Queue, TimedJobs

PAGE = Path(__file__).parents[2] / "docs" / "documents-in-aws.md"
DOCUMENTS = 100_000
HOUR = 3_600
TOKENS_A_DOCUMENT = 2_000
TOKENS_A_MINUTE = 300_000


class Counted(TimedJobs):
    """Counts the calls of Bedrock's operations."""

    def serve(self, method, path, body):
        self.operations[
            ("start" if method == "PUT" else "list") if path.endswith("/") else "get"
        ] += 1
        return super().serve(method, path, body)


@pytest.fixture
def jobs(aws_environment):
    clock = Clock()
    server = Counted(clock)
    server.operations, server.clock = Counter(), clock
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT", server.url)
    aws_environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
    handler._jobs.cache_clear()
    yield server
    handler._jobs.cache_clear()
    server.close()


def test_the_page_says_what_a_sync_of_a_hundred_thousand_documents_takes(jobs, aws_environment):
    aws_environment.setenv("KNOWLEDGE_BASE_ID", KNOWLEDGE_BASE_ID)
    aws_environment.setenv("DATA_SOURCE_ID", DATA_SOURCE_ID)
    pattern = {"source": ["aws.s3"], "detail": {"bucket": {"name": ["b"]}}}
    queue = Queue(jobs.clock, HELD_BACK.to_seconds(), LOOK_EVERY.to_seconds(), MAX_LOOKS)
    changes = Changes(jobs.clock, {"EventPattern": json.dumps(pattern)}, MESSAGE, queue, {})
    put, seen = 0, 0

    def ingest():
        nonlocal seen
        new, seen = put - seen, put
        jobs.lasting = max(60.0, new * TOKENS_A_DOCUMENT / TOKENS_A_MINUTE * 60)
        return ended("COMPLETE", new=new)

    jobs.ingest = ingest
    begun, most = jobs.clock.now, 0
    for _ in range(50):  # a sync of 50 minutes
        for _ in range(DOCUMENTS // 50):
            put += 1
            changes.tell("b", f"{put}.md")
        changes.pass_time(60)
        most = max(most, len(queue.messages))
    while queue.messages:
        changes.pass_time(60)
    hours = (jobs.clock.now - begun) / HOUR
    assert (seen, queue.sent, queue.dead) == (DOCUMENTS, DOCUMENTS, [])
    assert not any(raised for _, raised in changes.calls)
    rows = {
        "events": f"{queue.sent:,}",
        "messages at a time, at most": str(most),
        "ingestion jobs, one after the other": str(len(jobs.started)),
        "calls of `start_ingestion`": str(len(changes.calls)),
        "calls of Bedrock's control plane": str(sum(jobs.operations.values())),
        "hours until the last document is found": f"{hours:.0f}",
    }
    told = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE))
    assert {name: told.get(name) for name in rows} == rows
