"""Where a fault is played: servers on loopback, and the environment that leads to them."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Final, Self

from knowledge_rag.core.outcome import Status
from knowledge_rag.evaluation.faults.certificates import self_signed
from knowledge_rag.evaluation.faults.items import evidence, item, retrieved
from knowledge_rag.evaluation.faults.model import Expected
from knowledge_rag.evaluation.faults.scripts import answering, http
from knowledge_rag.evaluation.faults.server import RawServer

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from pathlib import Path

    from knowledge_rag.evaluation.faults.certificates import Certificate
    from knowledge_rag.evaluation.faults.model import Play
    from knowledge_rag.evaluation.faults.server import Script

KNOWLEDGE_BASE_ID: Final = "GAMEDAY001"
ENDPOINT: Final = "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME"
BUNDLE: Final = "AWS_CA_BUNDLE"

_SOUND: Final = (item(), item("Tell the incident channel.", start=40))
HEALTHY: Final = http(retrieved(*_SOUND))
"""What a healthy service answers."""

HEALTHY_ANSWER: Final = Expected(status=Status.OK, evidence=tuple(map(evidence, _SOUND)))
"""What the caller must then get."""

_HEALTH: Final = answering(HEALTHY)

_OURS: Final = (
    "AWS_", "POWERTOOLS_", "GUARDRAIL_", "EVIDENCE_", "KNOWLEDGE_BASE", "SEARCH_TYPE",
    "DEADLINE_SECONDS", "MAX_QUERIES_PER_TURN", "LOG_", "RAISE_INTERNAL_ERRORS", "_X_AMZN",
)  # fmt: skip
"""Beginnings of variables that would change how a fault is met."""


class Stage:
    """One fault's surroundings; leave it as a context manager to take them down.

    Args:
        folder: for files that are part of the fault.
        own_network: whether this process has stepped into :mod:`own_network`.
        lasting: whether the service stays as it is, or is healthy after each of the fault's scripts.

    Attributes:
        folder, own_network, lasting: as given.
        environment: variables of the process that is tried; :meth:`enter` puts them in place.
        server: the knowledge base's, once there is one.
        command: to start in place of calling the function here, where its start is the fault.
        mend: makes the surroundings healthy once the fault has been met.
        exit: takes down what was set up.
    """

    def __init__(self, folder: Path, *, own_network: bool = False, lasting: bool = False) -> None:
        self.folder = folder
        self.lasting = lasting
        self.own_network = own_network
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
            tls: over which all of them are played.
            then: for all later connections, unless the fault lasts.
            port: to listen on, 0 for any free one.
        """
        queue = scripts if scripts and self.lasting else (*scripts, then)
        self.server = RawServer(*queue, tls=tls, port=port)
        self.exit.callback(self.server.close)
        self.environment[ENDPOINT] = self.server.url
        return self.server

    def trusted(self) -> Certificate:
        """Make a certificate that the client trusts.

        Raises:
            NotPlayable: this machine can't make one.
        """
        certificate = self_signed(self.folder)
        self.environment[BUNDLE] = certificate.bundle
        return certificate

    def enter(self) -> None:
        """Make the process's environment the stage's; variables of other kinds stay."""
        for name in list(os.environ):
            upper = name.upper()
            if upper.startswith(_OURS) or upper.endswith(("_PROXY", "CA_BUNDLE")):
                del os.environ[name]
        os.environ.update(self.environment)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.exit.close()


def healthy(stage: Stage) -> None:
    """Play no fault at all."""
    stage.serve()


def wire(*scripts: Script) -> Play:
    """Play these scripts, one a connection, before the service is healthy again."""

    def play(stage: Stage) -> None:
        stage.serve(*scripts)

    return play


def over_tls(*scripts: Script) -> Play:
    """Play these scripts over TLS, under a certificate that the client trusts."""

    def play(stage: Stage) -> None:
        stage.serve(*scripts, tls=stage.trusted().tls)

    return play
