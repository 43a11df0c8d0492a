"""Environment of a fault: servers on loopback, the variables that lead to them, a call of the function."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from knowledge_rag.core.outcome import Status
from knowledge_rag.evaluation.faults.model import Expected
from knowledge_rag.evaluation.faults.payloads import evidence, item, retrieved
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
"""The response of a healthy service."""

HEALTHY_ANSWER: Final = Expected(status=Status.OK, evidence=tuple(map(evidence, _SOUND)))
"""The answer that the caller must then get."""

_HEALTH: Final = answering(HEALTHY)
_INIT_SECONDS: Final = 30

_OURS: Final = (
    "AWS_", "POWERTOOLS_", "GUARDRAIL_", "EVIDENCE_", "KNOWLEDGE_BASE", "SEARCH_TYPE",
    "DEADLINE_SECONDS", "MAX_QUERIES_PER_TURN", "LOG_", "RAISE_INTERNAL_ERRORS", "_X_AMZN",
)  # fmt: skip
"""Prefixes of variables that would change a fault's effect."""


class Scenario:
    """One fault's environment; a context manager that removes it.

    Args:
        folder: for files that are part of the fault.

    Attributes:
        environment: variables of the process under test; :meth:`enter` sets them.
        server: the knowledge base's, if started.
        command: to start instead of calling the function here, if the fault is in its start.
        mend: makes the environment healthy after the fault.
        exit: removes everything that was set up.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
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
            scripts: the fault's, one per connection.
            tls: for all connections.
            then: for all later connections.
            port: to listen on, 0 for any free one.
        """
        self.server = RawServer(*scripts, then, tls=tls, port=port)
        self.exit.callback(self.server.close)
        self.environment[ENDPOINT] = self.server.url
        return self.server

    def trusted(self) -> Certificate:
        """Create a certificate that the client trusts, or raise :exc:`CannotRun`."""
        certificate = self_signed(self.folder)
        self.environment[BUNDLE] = certificate.bundle
        return certificate

    def enter(self) -> None:
        """Set the process's environment to the scenario's; other variables stay."""
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
    """Run these scripts, one per connection, before the service is healthy again."""

    def set_up(scenario: Scenario) -> None:
        scenario.serve(*scripts)

    return set_up


def over_tls(*scripts: Script) -> SetUp:
    """Run these scripts over TLS, under a certificate that the client trusts."""

    def set_up(scenario: Scenario) -> None:
        scenario.serve(*scripts, tls=scenario.trusted().tls)

    return set_up


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
