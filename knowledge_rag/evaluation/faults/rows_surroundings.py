"""Rows: the function's own settings, credentials and code."""

from __future__ import annotations

import datetime as dt
import json
import sys
from typing import TYPE_CHECKING, Any, Final

import knowledge_rag
import lambdas
from knowledge_rag.core.outcome import Reason
from knowledge_rag.evaluation.faults.events import QUERY
from knowledge_rag.evaluation.faults.model import Expected, Fault, Group, degrades
from knowledge_rag.evaluation.faults.scripts import mute
from knowledge_rag.evaluation.faults.server import RawServer
from knowledge_rag.evaluation.faults.stage import ENDPOINT, HEALTHY_ANSWER, KNOWLEDGE_BASE_ID
from lambdas.retrieve_knowledge.service import service

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Unpack

    from knowledge_rag.evaluation.faults.model import Details, Play
    from knowledge_rag.evaluation.faults.stage import Stage

INIT: Final = "knowledge_rag.evaluation.faults.init"
"""Module that starts the function as Lambda does, and asks it once."""

_SLOW_SECONDS: Final = 5

_PAST, _FUTURE = "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"


def _setting(name: str, value: str, healthy_value: str) -> Play:
    def play(stage: Stage) -> None:
        stage.serve()
        stage.environment[name] = value
        stage.mend = lambda: stage.environment.update({name: healthy_value})

    return play


def _no_credentials(stage: Stage) -> None:
    stage.serve()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        del stage.environment[name]


def _expired(stage: Stage) -> None:
    _no_credentials(stage)
    path = stage.folder / "credentials.json"
    _credentials(path, _PAST)
    config = stage.folder / "config"
    config.write_text(f"[default]\ncredential_process = cat {path}\n")
    stage.environment["AWS_CONFIG_FILE"] = str(config)
    stage.mend = lambda: _credentials(path, _FUTURE)


def _slow(stage: Stage) -> None:
    """Give credentials that have to be renewed, and then take longer than a query has."""
    _no_credentials(stage)
    first = stage.folder / "first.json"
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=5)
    _credentials(first, soon.isoformat())
    script = stage.folder / "credentials.sh"
    script.write_text(f'cat "{first}" || exec sleep {_SLOW_SECONDS}\nrm "{first}"\n')
    config = stage.folder / "config"
    config.write_text(f"[default]\ncredential_process = sh {script}\n")
    stage.environment["AWS_CONFIG_FILE"] = str(config)


def _failing(stage: Stage) -> None:
    _no_credentials(stage)
    config = stage.folder / "config"
    config.write_text("[default]\ncredential_process = false\n")
    stage.environment["AWS_CONFIG_FILE"] = str(config)


def _short_lived(stage: Stage) -> None:
    """Give credentials for 12 minutes twice, and take longer than a query has from then on."""
    _no_credentials(stage)
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=12)
    script = stage.folder / "credentials.sh"
    lines = []
    for name in ("first.json", "second.json"):
        _credentials(stage.folder / name, soon.isoformat())
        path = stage.folder / name
        lines.append(f'if [ -e "{path}" ]; then cat "{path}"; rm "{path}"; exit; fi')
    script.write_text("\n".join([*lines, f"exec sleep {_SLOW_SECONDS}", ""]))
    config = stage.folder / "config"
    config.write_text(f"[default]\ncredential_process = sh {script}\n")
    stage.environment["AWS_CONFIG_FILE"] = str(config)


def _never_first(stage: Stage) -> None:
    """Let the source of the very first credentials be silent from the function's start on."""
    _no_credentials(stage)
    source = RawServer(mute)
    stage.exit.callback(source.close)
    stage.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = source.url
    stage.command = (sys.executable, "-m", INIT)


def _credentials(path: Path, expiration: str) -> None:
    keys = {"AccessKeyId": "testing", "SecretAccessKey": "testing", "SessionToken": "testing"}
    path.write_text(json.dumps({"Version": 1, "Expiration": expiration, **keys}))


def _defect(stage: Stage) -> None:
    stage.serve()
    stage.enter()
    events: Any = service().client.api.meta.events

    def broken(**_: object) -> None:
        raise ZeroDivisionError(f"about {QUERY}")

    events.register("before-sign", broken)
    stage.mend = lambda: events.unregister("before-sign", broken)


def _init_without_settings(stage: Stage) -> None:
    stage.serve()
    del stage.environment["KNOWLEDGE_BASE_ID"]
    stage.command = (sys.executable, "-m", INIT)


def _init_without_packages(stage: Stage) -> None:
    stage.serve()
    package = stage.folder / "package"
    package.mkdir()
    for module in (knowledge_rag, lambdas):
        name, (source, *_) = module.__name__, module.__path__
        (package / name).symlink_to(source, target_is_directory=True)
    stage.environment["PYTHONPATH"] = str(package)
    # -S: without site-packages, as in a package that was built without its dependencies
    stage.command = (sys.executable, "-S", "-m", INIT)


def _row(name: str, what: str, play: Play, expected: Expected, **more: Unpack[Details]) -> Fault:
    return Fault(name, Group.SURROUNDINGS, what, play, expected, **more)


_WRONG: Final = degrades(Reason.CONFIGURATION, "InvalidSettings")

ROWS: Final = (
    _row(
        "no-knowledge-base-id",
        "KNOWLEDGE_BASE_ID is empty",
        _setting("KNOWLEDGE_BASE_ID", "", KNOWLEDGE_BASE_ID),
        _WRONG,
        connections=1,
    ),
    _row(
        "bad-knowledge-base-id",
        "KNOWLEDGE_BASE_ID that botocore would refuse",
        _setting("KNOWLEDGE_BASE_ID", "not an id", KNOWLEDGE_BASE_ID),
        _WRONG,
        connections=1,
    ),
    _row(
        "bad-endpoint",
        "an endpoint that is no URL",
        _setting(ENDPOINT, "kb.example", "http://127.0.0.1:1"),
        _WRONG,
        healthy_after=False,
    ),
    _row(
        "init-without-settings",
        "start-up without KNOWLEDGE_BASE_ID",
        _init_without_settings,
        _WRONG,
        healthy_after=False,
    ),
    _row(
        "init-crash",
        "start-up of a package that lacks its dependencies",
        _init_without_packages,
        Expected(http=0, error="No module named"),
        crashes=True,
        healthy_after=False,
    ),
    _row(
        "no-credentials",
        "no credentials anywhere",
        _no_credentials,
        degrades(Reason.ACCESS_DENIED, "NoCredentialsError"),
        healthy_after=False,
    ),
    _row(
        "expired-credentials",
        "a credential_process that gives expired ones",
        _expired,
        degrades(Reason.ACCESS_DENIED),
        connections=1,
    ),
    _row(
        "credentials-slow",
        "a credential_process that takes 5 s to renew them",
        _slow,
        degrades(Reason.TIMEOUT, "DeadlineExceeded"),
        healthy_after=False,
    ),
    _row(
        "credentials-short",
        "a credential_process that gives them for 12 minutes, and then takes 5 s",
        _short_lived,
        HEALTHY_ANSWER,
    ),
    _row(
        "credentials-never",
        "a container's endpoint for credentials that is silent from the start",
        _never_first,
        degrades(Reason.TIMEOUT, "DeadlineExceeded"),
        healthy_after=False,
    ),
    _row(
        "credentials-fail",
        "a credential_process that fails",
        _failing,
        _WRONG,
        healthy_after=False,
    ),
    _row(
        "defect",
        "an exception that nobody foresaw",
        _defect,
        degrades(Reason.INTERNAL, "ZeroDivisionError"),
        connections=1,
        hook="raised by a botocore event handler of ours",
    ),
)
