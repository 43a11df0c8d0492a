"""Rows: the function's own settings, credentials and code, and requests that are wrong or unusual."""

from __future__ import annotations

import datetime as dt
import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import knowledge_rag
import lambdas
from knowledge_rag.core.outcome import DropReason, Reason
from knowledge_rag.evaluation.faults.payloads import (
    QUERY,
    Context,
    agent,
    agent_function,
    agent_parameters,
    direct,
    gateway,
    http_api,
)
from knowledge_rag.evaluation.faults.scenario import (
    HEALTHY_ANSWER,
    Expected,
    Fault,
    Group,
    answers,
    degrades,
    healthy,
    refuses,
)
from knowledge_rag.evaluation.faults.server import RawServer, mute
from lambdas.retrieve_knowledge.service import service

if TYPE_CHECKING:
    from pathlib import Path

    from knowledge_rag.evaluation.faults.scenario import Scenario

_START: Final = """
import json, os, sys, time
event = json.load(sys.stdin)
os.environ["AWS_LAMBDA_INITIALIZATION_TYPE"] = "on-demand"
from lambdas.retrieve_knowledge.handler import lambda_handler
started = time.perf_counter()
answer = lambda_handler(event, None)
print(json.dumps({"answer": answer, "seconds": time.perf_counter() - started}))
"""
"""Starts the function like Lambda, and calls it once; the last line is its answer."""

_SLOW_SECONDS: Final = 5
"""Longer than the limit of a query."""


def _bad_knowledge_base_id(scenario: Scenario) -> None:
    scenario.serve()
    good = scenario.environment["KNOWLEDGE_BASE_ID"]
    scenario.environment["KNOWLEDGE_BASE_ID"] = "not an id"
    scenario.mend = lambda: scenario.environment.update(KNOWLEDGE_BASE_ID=good)


def _no_credentials(scenario: Scenario) -> None:
    scenario.serve()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        del scenario.environment[name]


def _expired_credentials(scenario: Scenario) -> None:
    path = scenario.folder / "credentials.json"
    _write_credentials(path, "2020-01-01T00:00:00Z")
    _credential_process(scenario, f"cat {path}")
    scenario.mend = lambda: _write_credentials(path, "2099-01-01T00:00:00Z")


def _credentials_that_run_out(scenario: Scenario, *, renewals: int, minutes: int) -> None:
    """Renew credentials instantly ``renewals`` times, and then take longer than a query may; 5 minutes are too few."""
    expiration = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=minutes)
    lines = []
    for path in (scenario.folder / f"{number}.json" for number in range(1 + renewals)):
        _write_credentials(path, expiration.isoformat())
        lines.append(f'if [ -e "{path}" ]; then cat "{path}"; rm "{path}"; exit; fi')
    script = scenario.folder / "credentials.sh"
    script.write_text("\n".join([*lines, f"exec sleep {_SLOW_SECONDS}", ""]))
    _credential_process(scenario, f"sh {script}")


def _credential_process(scenario: Scenario, command: str) -> None:
    _no_credentials(scenario)
    config = scenario.folder / "config"
    config.write_text(f"[default]\ncredential_process = {command}\n")
    scenario.environment["AWS_CONFIG_FILE"] = str(config)


def _write_credentials(path: Path, expiration: str) -> None:
    keys = {"AccessKeyId": "testing", "SecretAccessKey": "testing", "SessionToken": "testing"}
    path.write_text(json.dumps({"Version": 1, "Expiration": expiration, **keys}))


def _silent_credentials(scenario: Scenario) -> None:
    """Make the source of the very first credentials silent from the function's start."""
    _no_credentials(scenario)
    source = RawServer(mute)
    scenario.exit.callback(source.close)
    scenario.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = source.url
    scenario.command = (sys.executable, "-c", _START)


def _defect(scenario: Scenario) -> None:
    scenario.serve()
    scenario.enter()
    events: Any = service().client.api.meta.events

    def broken(**_: object) -> None:
        raise ZeroDivisionError(f"about {QUERY}")

    events.register("before-sign", broken)
    scenario.mend = lambda: events.unregister("before-sign", broken)


def _init_without_settings(scenario: Scenario) -> None:
    scenario.serve()
    del scenario.environment["KNOWLEDGE_BASE_ID"]
    scenario.command = (sys.executable, "-c", _START)


def _init_without_packages(scenario: Scenario) -> None:
    scenario.serve()
    package = scenario.folder / "package"
    package.mkdir()
    for module in (knowledge_rag, lambdas):
        name, (source, *_) = module.__name__, module.__path__
        (package / name).symlink_to(source, target_is_directory=True)
    scenario.environment["PYTHONPATH"] = str(package)
    # -S: without site-packages, as in a package that was built without its dependencies
    scenario.command = (sys.executable, "-S", "-c", _START)


_row = partial(Fault, group=Group.SURROUNDINGS)
_WRONG_SETTINGS: Final = degrades(Reason.CONFIGURATION, "InvalidSettings")
_TOO_LATE: Final = degrades(Reason.TIMEOUT, "DeadlineExceeded")

SURROUNDINGS: Final = (
    _row("bad-knowledge-base-id", "KNOWLEDGE_BASE_ID that botocore would refuse",
        _bad_knowledge_base_id, _WRONG_SETTINGS, connections=1),
    _row("init-without-settings", "start-up without KNOWLEDGE_BASE_ID", _init_without_settings,
        _WRONG_SETTINGS, healthy_after=False),
    _row("init-crash", "start-up of a package that lacks its dependencies", _init_without_packages,
        Expected(http=0, error="No module named"), crashes=True, healthy_after=False),
    _row("no-credentials", "no credentials anywhere", _no_credentials,
        degrades(Reason.ACCESS_DENIED, "NoCredentialsError"), healthy_after=False),
    _row("expired-credentials", "a credential_process that returns expired ones",
        _expired_credentials, degrades(Reason.ACCESS_DENIED), connections=1),
    _row("credentials-slow", "a credential_process that takes 5 s to renew them",
        partial(_credentials_that_run_out, renewals=0, minutes=5), _TOO_LATE, healthy_after=False),
    _row("credentials-short",
        "a credential_process that returns them for 12 minutes, then takes 5 s",
        partial(_credentials_that_run_out, renewals=1, minutes=12), HEALTHY_ANSWER),
    _row("credentials-never", "a container's credentials endpoint that is silent from the start",
        _silent_credentials, _TOO_LATE, healthy_after=False),
    _row("defect", "an unforeseen exception", _defect,
        degrades(Reason.INTERNAL, "ZeroDivisionError"), connections=1,
        hook="raised by a botocore event handler of ours"),
)  # fmt: skip


def _agent(**properties: str) -> dict[str, Any]:
    return agent({"query": QUERY, **properties})


def _request(
    name: str, what: str, event: object, expected: Expected, context: Context | None = None
) -> Fault:
    row = partial(Fault, name, what, healthy, expected, Group.REQUESTS, connections=1)
    return row(event=event, context=context or Context())


_SIX_MB: Final = "x" * 6_000_000
_ONE: Final = answers(*HEALTHY_ANSWER.evidence[:1], dropped={DropReason.OVER_LIMIT: 1})
_MISSING: Final = refuses(400, "query is missing")
_NO_WHOLE: Final = refuses(400, "max_results must be a whole number")
_NO_OBJECT: Final = refuses(400, "the event must be a JSON object")
_TOO_LONG: Final = refuses(400, "at most 20000")

REQUESTS: Final = (
    _request("query-missing", "no query, direct", {"max_results": 3}, _MISSING),
    _request("query-missing-agent", "no query, from an agent", agent({"max_results": "3"}),
        _MISSING),
    _request("query-blank", "a blank query", {"query": " \n\t"}, refuses(400, "query is blank")),
    _request("query-too-long", "a query of 20,001 characters", {"query": "x" * 20_001}, _TOO_LONG),
    _request("max-results-word", 'max_results "five"', direct(max_results="five"), _NO_WHOLE),
    _request("max-results-fraction", "max_results 3.7", direct(max_results=3.7), _NO_WHOLE),
    _request("max-results-null", "max_results null", direct(max_results=None), _NO_WHOLE),
    _request("max-results-3.0", 'max_results "3.0" is 3', _agent(max_results="3.0"),
        HEALTHY_ANSWER),
    _request("max-results-0", "max_results 0, which is 1", direct(max_results=0), _ONE),
    _request("max-results-negative", "max_results -1, which is 1", direct(max_results=-1), _ONE),
    _request("max-results-huge", "max_results 10^9", direct(max_results=10**9), HEALTHY_ANSWER),
    _request("unknown-argument", "an unknown argument", direct(top_k=3), refuses(400, "top_k")),
    _request("in-request-body", "arguments under requestBody", _agent(), HEALTHY_ANSWER),
    _request("in-parameters", "arguments under parameters",
        agent_parameters({"query": QUERY, "max_results": "3"}), HEALTHY_ANSWER),
    _request("in-neither", "arguments under neither", agent({}), _MISSING),
    _request("path-unknown", "another path", _agent() | {"apiPath": "/search"},
        refuses(404, "/search")),
    _request("method-wrong", "GET", _agent() | {"httpMethod": "GET"}, refuses(405, "takes POST")),
    _request("version-wrong", 'messageVersion "2.0"', _agent() | {"messageVersion": "2.0"},
        refuses(400, "messageVersion must be '1.0'")),
    _request("tool-unknown", "an unknown gateway tool", direct(),
        refuses(404, "no tool 'delete_everything'"), gateway("delete_everything")),
    _request("event-empty", "{}", {}, _MISSING),
    _request("event-list", "[]", [], _NO_OBJECT),
    _request("event-null", "null", None, _NO_OBJECT),
    _request("event-http-api", "an API Gateway event", http_api(),
        refuses(400, "unknown argument")),
    _request("event-function", "an action group with function details", agent_function(),
        refuses(404, "function details")),
    _request("event-6-mb", "a query of 6 MB", direct(query=_SIX_MB), _TOO_LONG),
    _request("event-6-mb-agent", "6 MB of session attributes around a valid query",
        _agent() | {"sessionAttributes": {"notes": _SIX_MB}}, HEALTHY_ANSWER),
)  # fmt: skip
