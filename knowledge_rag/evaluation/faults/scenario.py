"""Surroundings of a fault: servers on loopback, the environment that leads to them, the clients that ask."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

from knowledge_rag.core.outcome import Status
from knowledge_rag.evaluation.faults.model import CannotRun, Expected
from knowledge_rag.evaluation.faults.payloads import QUERY, evidence, item, retrieved
from knowledge_rag.evaluation.faults.server import RawServer, answering, http, self_signed
from lambdas.retrieve_knowledge.handler import lambda_handler

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from pathlib import Path

    from knowledge_rag.evaluation.faults.model import Fault, SetUp
    from knowledge_rag.evaluation.faults.server import Certificate, Script

KNOWLEDGE_BASE_ID: Final = "GAMEDAY001"
ENDPOINT: Final = "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME"
BUNDLE: Final = "AWS_CA_BUNDLE"

_SOUND: Final = (item(), item("Tell the incident channel.", start=40))
HEALTHY: Final = http(retrieved(*_SOUND))
"""What a healthy service answers."""

HEALTHY_ANSWER: Final = Expected(status=Status.OK, evidence=tuple(map(evidence, _SOUND)))
"""What the caller must then get."""

_HEALTH: Final = answering(HEALTHY)
_INIT_SECONDS: Final = 30

_OURS: Final = (
    "AWS_", "POWERTOOLS_", "GUARDRAIL_", "EVIDENCE_", "KNOWLEDGE_BASE", "SEARCH_TYPE",
    "DEADLINE_SECONDS", "MAX_QUERIES_PER_TURN", "LOG_", "RAISE_INTERNAL_ERRORS", "_X_AMZN",
)  # fmt: skip
"""Beginnings of variables that would change how a fault is met."""


class Scenario:
    """One fault's surroundings; a context manager that takes them down.

    Args:
        folder: for files that are part of the fault.
        lasting: whether the service stays as it is, or is healthy after the fault's scripts.

    Attributes:
        environment: variables of the process under test; :meth:`enter` puts them in place.
        server: the knowledge base's, once there is one.
        command: to start instead of calling the function here, where its start is the fault.
        mend: makes the surroundings healthy once the fault has been met.
        exit: takes down what was set up.
    """

    def __init__(self, folder: Path, *, lasting: bool = False) -> None:
        self.folder = folder
        self.lasting = lasting
        self.environment: dict[str, str] = {
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",  # nothing checks a signature here
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "KNOWLEDGE_BASE_ID": KNOWLEDGE_BASE_ID,
        }
        self.server: RawServer | None = None
        self.command: tuple[str, ...] = ()
        self.mend: Callable[[], None] = lambda: None
        self.exit = contextlib.ExitStack()

    def serve(
        self,
        *scripts: Script,
        tls: ssl.SSLContext | None = None,
        then: Script = _HEALTH,
        port: int = 0,
    ) -> RawServer:
        """Start a server in the knowledge base's place.

        Args:
            scripts: the fault's, one a connection.
            tls: for all connections.
            then: for all later connections, unless the fault lasts.
            port: to listen on, 0 for any free one.
        """
        queue = scripts if scripts and self.lasting else (*scripts, then)
        self.server = RawServer(*queue, tls=tls, port=port)
        self.exit.callback(self.server.close)
        self.environment[ENDPOINT] = self.server.url
        return self.server

    def trusted(self) -> Certificate:
        """Make a certificate that the client trusts, or raise :exc:`CannotRun`."""
        certificate = self_signed(self.folder)
        self.environment[BUNDLE] = certificate.bundle
        return certificate

    def enter(self) -> None:
        """Make the process's environment the scenario's; variables of other kinds stay."""
        for name in list(os.environ):
            upper = name.upper()
            if upper.startswith(_OURS) or upper.endswith(("_PROXY", "CA_BUNDLE")):
                del os.environ[name]
        os.environ.update(self.environment)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.exit.close()


def healthy(scenario: Scenario) -> None:
    """Set up no fault at all."""
    scenario.serve()


def wire(*scripts: Script) -> SetUp:
    """Run these scripts, one a connection, before the service is healthy again."""

    def set_up(scenario: Scenario) -> None:
        scenario.serve(*scripts)

    return set_up


def over_tls(*scripts: Script) -> SetUp:
    """Run these scripts over TLS, under a certificate that the client trusts."""

    def set_up(scenario: Scenario) -> None:
        scenario.serve(*scripts, tls=scenario.trusted().tls)

    return set_up


class Target(StrEnum):
    """Whom the faults happen to."""

    FUNCTION = "function"
    """``retrieve_knowledge``: the real handler, unmodified botocore, real sockets."""
    PLAIN_BOTO3 = "plain-boto3"
    """A default client, and ``.get("retrievalResults", [])``, as most code has it."""
    LANGCHAIN_AWS = "langchain-aws"
    """``AmazonKnowledgeBasesRetriever`` with its defaults."""

    @property
    def packages(self) -> tuple[str, ...]:
        """Return the packages that it takes beyond this product."""
        own = {Target.PLAIN_BOTO3: ("boto3",), Target.LANGCHAIN_AWS: ("langchain_aws.retrievers",)}
        return own.get(self, ())

    @property
    def promises(self) -> bool:
        """Whether it is ours, so that a fault which it does not survive is a finding."""
        return self is Target.FUNCTION


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the function: its time, its answer or exception, and its standard output."""

    seconds: float
    answer: Any = None
    raised: str = ""
    output: str = ""


def call_function(fault: Fault, scenario: Scenario) -> Call:
    """Call the function once, in this process or in one that starts it."""
    if scenario.command:
        return _start(fault, scenario)
    output, answer, raised = io.StringIO(), None, ""
    started = time.perf_counter()
    with contextlib.redirect_stdout(output):
        try:
            answer = lambda_handler(fault.event, fault.context)
        except Exception as error:  # noqa: BLE001 - nothing may be raised: that is what is tested
            raised = f"{type(error).__name__}: {error}"
    return Call(time.perf_counter() - started, answer, raised, output.getvalue())


def _start(fault: Fault, scenario: Scenario) -> Call:
    done = subprocess.run(  # noqa: S603 - a row's own command
        scenario.command,
        input=json.dumps(fault.event).encode(),
        capture_output=True,
        env=os.environ,
        timeout=_INIT_SECONDS,
        check=False,
    )
    if done.returncode:
        cause = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        return Call(0.0, raised=cause, output=done.stdout.decode())
    written, _, last = done.stdout.decode().rstrip("\n").rpartition("\n")
    result = json.loads(last)
    return Call(result["seconds"], result["answer"], "", written)


def other_client(target: Target) -> Callable[[], tuple[object, ...]]:
    """Make a client as people do; calling it returns the texts that it found.

    Raises:
        CannotRun: its package is not installed.
    """
    try:
        return _langchain() if target is Target.LANGCHAIN_AWS else _boto3()
    except ImportError as error:
        raise CannotRun(f"{target} is not installed: {error.name}") from error


def _boto3() -> Callable[[], tuple[object, ...]]:
    import boto3  # noqa: PLC0415 - the function is tried without it

    client = boto3.client("bedrock-agent-runtime")

    def ask() -> tuple[object, ...]:
        response = client.retrieve(
            knowledgeBaseId=KNOWLEDGE_BASE_ID, retrievalQuery={"text": QUERY}
        )
        results = response.get("retrievalResults", [])
        return tuple(result["content"]["text"] for result in results)

    return ask


def _langchain() -> Callable[[], tuple[object, ...]]:
    from langchain_aws.retrievers import (  # noqa: PLC0415 - need not be installed
        AmazonKnowledgeBasesRetriever,
    )

    retriever = AmazonKnowledgeBasesRetriever(
        knowledge_base_id=KNOWLEDGE_BASE_ID,
        retrieval_config={"vectorSearchConfiguration": {"numberOfResults": 5}},
        min_score_confidence=None,
    )
    return lambda: tuple(document.page_content for document in retriever.invoke(QUERY))
