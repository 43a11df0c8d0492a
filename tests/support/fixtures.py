"""Fixtures that several folders of tests share; ``tests/conftest.py`` makes them known."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from botocore.loaders import create_loader
from jsonschema import Draft202012Validator

from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.evaluation.faults.server import RawServer
from lambdas.retrieve_knowledge import service
from lambdas.retrieve_knowledge.handler import WARM_UP_SECONDS, lambda_handler

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

    from knowledge_rag.evaluation.faults.server import Script
    from tests.support.ingestion import Ingestion
    from tests.support.makers import Makers

KNOWLEDGE_BASE_ID = "TESTKB0001"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "KNOWLEDGE_BASE_ID": KNOWLEDGE_BASE_ID,
}
"""What the function runs with in every test: dummy credentials, a region, a knowledge base."""


@dataclass(frozen=True)
class Invocation:
    """What one call of the handler gave: the answer, and what it wrote to standard output."""

    answer: Any
    logs: list[dict[str, Any]] = field(default_factory=list)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    output: str = ""


def invoke(event: Any, context: Any = None) -> Invocation:
    """Call the real handler and read its output as Lambda would: a JSON object a line.

    The client is made before, as Lambda's initialisation does: it is no part of a call's time.
    """
    with contextlib.suppress(Exception):  # what is wrong with the environment, the call tells
        service.service(Deadline.after(WARM_UP_SECONDS))
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        answer = lambda_handler(event, context)
    records = [json.loads(line) for line in output.getvalue().splitlines()]
    return Invocation(
        answer,
        [record for record in records if "_aws" not in record],
        [record for record in records if "_aws" in record],
        output.getvalue(),
    )


@pytest.fixture(scope="session", autouse=True)
def _one_reading() -> Iterator[None]:
    """Have botocore read its descriptions of services once, and not for each session that is made."""
    read: dict[str | None, dict[Any, Any]] = defaultdict(dict)

    def loader(path: str | None = None) -> Any:
        made = create_loader(path)
        made._cache = read[path]
        return made

    with patch("botocore.session.create_loader", loader):
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_check_of_schemas() -> Iterator[None]:
    """Have each JSON Schema checked once, and not by each MCP client: nine tenths of a client's time."""
    sound: set[str] = set()
    check = Draft202012Validator.check_schema

    def check_once(schema: Any, **options: Any) -> None:
        written = repr((schema, options))
        if written not in sound:
            check(schema, **options)
            sound.add(written)

    with patch.object(Draft202012Validator, "check_schema", staticmethod(check_once)):
        yield


@pytest.fixture
def aws_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """:data:`ENVIRONMENT`, and nothing of the machine's own settings."""
    for name in os.environ:
        upper = name.upper()
        ours = upper in ("SECONDARY_SCOPE", "POLICY_TODAY", "DATE_ORDER")
        if (
            ours
            or upper.startswith(
                ("AWS_", "POWERTOOLS_", "GUARDRAIL_", "EVIDENCE_", "SOURCE_", "KNOWLEDGE_BASE_")
            )
            or upper.endswith(("_PROXY", "CA_BUNDLE"))
        ):
            monkeypatch.delenv(name)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    service.reset()
    yield monkeypatch
    service.reset()


@pytest.fixture
def knowledge_base(
    aws_environment: pytest.MonkeyPatch,
) -> Iterator[Callable[..., RawServer]]:
    """Start a loopback server in the knowledge base's place, which follows the given scripts."""
    with contextlib.ExitStack() as servers:

        def start(*scripts: Script, tls: ssl.SSLContext | None = None) -> RawServer:
            server = RawServer(*scripts, tls=tls)
            servers.callback(server.close)
            aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", server.url)
            return server

        yield start
    # the servers have hung up, so that a query which was given up closes its own connection
    service.reset()


@pytest.fixture
def ingestion() -> Iterator[Ingestion]:
    """Bedrock's ingestion on loopback."""
    from tests.support.ingestion import Ingestion

    with contextlib.closing(Ingestion()) as served:
        yield served


@pytest.fixture
def makers() -> Iterator[Makers]:
    """The APIs that answers are posted to, on loopback."""
    from tests.support.makers import Makers

    with contextlib.closing(Makers()) as served:
        yield served
