"""Environment of a fault: servers on loopback, the variables that lead to them, a call of the function."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

from knowledge_rag.core.outcome import DropReason, Reason, Status
from knowledge_rag.evaluation.faults.payloads import Context, direct, evidence, item, retrieved
from knowledge_rag.evaluation.faults.server import RawServer, answering, http, self_signed
from lambdas.retrieve_knowledge.handler import lambda_handler

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from pathlib import Path

    from knowledge_rag.evaluation.faults.server import Certificate, Script

SetUp = Callable[["Scenario"], None]
"""Prepares the servers and the environment for a fault's calls."""

PERMANENT: Final = frozenset({Reason.ACCESS_DENIED, Reason.CONFIGURATION})
"""Reasons that no retry fixes; listed here and not taken from the code under test."""

UNPROVEN: Final = frozenset({DropReason.NOT_TEXT, DropReason.NO_CITATION, DropReason.NOT_PROVEN})
"""Drop reasons for items that the knowledge base shouldn't contain; also listed independently."""


class Group(StrEnum):
    """Kinds of faults, in the order of the report."""

    ERRORS = "The service answers an error"
    CONNECTIONS = "No connection, or one that breaks"
    SLOWNESS = "The service is slow"
    BODIES = "A 200 that isn't an answer"
    RESULTS = "Results that can't be shown as they are"
    REUSED = "Kept connections"
    SURROUNDINGS = "Settings, credentials and code"
    REQUESTS = "The request"


@dataclass(frozen=True, slots=True)
class Expected:
    """The answer that the caller must get.

    Args:
        http: status code; the envelope's for an agent.
        status: of the retrieval; ``None`` for a refused request.
        reason: if degraded.
        evidence: content, citation and score of each result, in order.
        dropped: results not shown, by reason; ``None`` if not part of the promise.
        error: part of the message of a refused request.
        code: the failure's own name in the log, ``""`` if not part of the promise.
    """

    http: int = 200
    status: Status | None = None
    reason: Reason | None = None
    evidence: tuple[Mapping[str, Any], ...] = ()
    dropped: Mapping[DropReason, int] | None = None
    error: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the catalogue.

    Args:
        name: short, unique, easy to type.
        what: the fault in a few words.
        set_up: prepares it.
        expected: for every call while the fault lasts.
        group: its kind.
        event: for those calls, like ``context``.
        calls: number of calls.
        healthy_before: number of earlier calls, which must succeed.
        pause_seconds: between those and the calls during the fault.
        healthy_after: whether the next call must succeed; false if that takes another deployment or other
            credentials.
        connections: number that the server must have accepted in the end; ``None`` for any number.
        crashes: whether the function itself dies, so that only Lambda can report it.
        hook: the replacement for the real thing, shown with the row; ``""`` if there is none.
    """

    name: str
    what: str
    set_up: SetUp
    expected: Expected
    group: Group
    event: object = field(default_factory=direct)
    context: Context = field(default_factory=Context)
    calls: int = 1
    healthy_before: int = 0
    pause_seconds: float = 0.0
    healthy_after: bool = True
    connections: int | None = None
    crashes: bool = False
    hook: str = ""


def degrades(
    reason: Reason, code: str = "", dropped: Mapping[DropReason, int] | None = None
) -> Expected:
    """Promise an honest "could not be searched"."""
    return Expected(status=Status.DEGRADED, reason=reason, code=code, dropped=dropped)


def answers(
    *evidence: Mapping[str, Any], dropped: Mapping[DropReason, int] | None = None
) -> Expected:
    """Promise these results, in this order, and that those were dropped."""
    return Expected(status=Status.OK, evidence=evidence, dropped=dropped or {})


def refuses(http: int, error: str) -> Expected:
    """Promise a 4xx that says what is wrong, and no call to AWS."""
    return Expected(http=http, error=error)


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
        """Start a server in the knowledge base's place: a script per connection, ``then`` for all later ones."""
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
