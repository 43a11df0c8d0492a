"""Makes the calls of one fault, and checks the results against every promise."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core import telemetry
from knowledge_rag.core.errors import InvalidRequest, InvalidSettings
from knowledge_rag.core.net.deadline import RETRIEVAL_BUDGET_SECONDS
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.evaluation.faults.payloads import QUERY, QUERY_MARK, Context, direct
from knowledge_rag.evaluation.faults.rows_function import REQUESTS, SURROUNDINGS
from knowledge_rag.evaluation.faults.rows_service import (
    BODIES,
    CONNECTIONS,
    ERRORS,
    RESULTS,
    REUSED,
    SLOWNESS,
)
from knowledge_rag.evaluation.faults.scenario import (
    HEALTHY_ANSWER,
    PERMANENT,
    UNPROVEN,
    Fault,
    Scenario,
    call_function,
)
from knowledge_rag.evaluation.faults.server import REQUEST_ID, CannotRun
from knowledge_rag.orchestrator.wording import counted
from lambdas.retrieve_knowledge import service

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.evaluation.faults.scenario import Call, Expected

AT_ONCE_SECONDS: Final = 1.0
"""Maximum time of a healthy call after a fault, for a busy machine; it usually takes some milliseconds."""

_ENVELOPE: Final = {"messageVersion", "response", "sessionAttributes", "promptSessionAttributes"}
_SEEN_CHARACTERS: Final = 160


@dataclass(frozen=True, slots=True)
class Broken:
    """A promise that was broken; ``timing`` means that a busy machine can break it too."""

    promise: str
    expected: str
    seen: str
    timing: bool = False


@dataclass(frozen=True, slots=True)
class FaultResult:
    """The outcome of one fault.

    Args:
        name: of the fault.
        seconds: of the slowest call during the fault.
        answer: the caller's: ``timeout``, ``ok, 2 results``, ``400``, an exception's name...
        status: of the retrieval, ``""`` if there is none.
        reason: of a degraded one.
        http: status code, 0 without an answer.
        metrics: one EMF record per call during the fault, without its envelope.
        crashed: whether the function died, which Lambda counts.
        broken: the broken promises.
        not_run: why this machine can't run the fault, ``""`` if it did.
    """

    name: str
    seconds: float
    answer: str
    status: str = ""
    reason: str = ""
    http: int = 0
    metrics: tuple[dict[str, Any], ...] = ()
    crashed: bool = False
    broken: tuple[Broken, ...] = ()
    not_run: str = ""

    @property
    def late(self) -> bool:
        """Whether it broke a promise about time."""
        return any(one.timing for one in self.broken)


def run_fault(fault: Fault) -> FaultResult:
    """Run one fault in this process, taking over its environment and service.

    Raises:
        CannotRun: this machine lacks something that it needs.
    """
    service.reset()
    with tempfile.TemporaryDirectory() as folder, Scenario(Path(folder)) as scenario:
        fault.set_up(scenario)
        scenario.enter()
        try:
            return _met(fault, scenario)
        finally:
            service.reset()


def _met(fault: Fault, scenario: Scenario) -> FaultResult:
    if not scenario.command:
        with suppress(InvalidSettings):  # as Lambda's init does it, outside any query's budget
            service.service().client.prepare()
    broken: list[Broken] = []
    for _ in range(fault.healthy_before):
        broken += _healthy(fault, scenario, "a healthy call before")
    time.sleep(fault.pause_seconds)
    calls = [call_function(fault, scenario) for _ in range(fault.calls)]
    for call in calls:
        broken += broken_by(fault, call, fault.expected)
    scenario.mend()
    scenario.enter()
    if fault.healthy_after:
        broken += _healthy(fault, scenario, "the next call is healthy")
    seen = scenario.server.connections if scenario.server else 0
    if fault.connections not in (None, seen):
        broken.append(Broken("connections made", str(fault.connections), str(seen)))
    return _summary(fault, calls, tuple(broken))


def _healthy(fault: Fault, scenario: Scenario, promise: str) -> Iterator[Broken]:
    plain = replace(fault, event=direct(), context=Context(), expected=HEALTHY_ANSWER)
    call = call_function(plain, scenario)
    if call.seconds > AT_ONCE_SECONDS:
        at_once, seen = f"within {AT_ONCE_SECONDS} s", f"after {call.seconds:.2f} s"
        yield Broken(promise, at_once, seen, timing=True)
    for broken in broken_by(plain, call, HEALTHY_ANSWER):
        yield replace(broken, promise=f"{promise}: {broken.promise}")


def _summary(fault: Fault, calls: list[Call], broken: tuple[Broken, ...]) -> FaultResult:
    slowest = max(calls, key=lambda call: call.seconds)
    if slowest.raised:
        answer = "the function dies" if fault.crashes else slowest.raised[:60]
        return FaultResult(
            fault.name, slowest.seconds, answer, crashed=fault.crashes, broken=broken
        )
    answers = [_Answer.of(fault, call) for call in calls]
    first = answers[0]
    return FaultResult(
        fault.name,
        slowest.seconds,
        first.in_words,
        str(first.body.get("status", "")),
        str(first.body.get("reason", "")),
        first.http,
        tuple(
            {name: value for name, value in record.items() if name != "_aws"}
            for answer in answers
            for record in answer.metrics
        ),
        broken=broken,
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """A call's answer and output, parsed; malformed parts appear as missing.

    Args:
        http: status code: the envelope's, or 200 or 400 as the body of a flat answer indicates.
        body: of the answer.
        logs: lines that are not metrics.
        metrics: EMF records.
    """

    http: int
    body: Mapping[str, Any]
    logs: tuple[Mapping[str, Any], ...]
    metrics: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, fault: Fault, call: Call) -> _Answer:
        http, body = 0, {}
        if _is_envelope(call.answer):
            response = call.answer["response"]
            http = response["httpStatusCode"]
            body = json.loads(response["responseBody"]["application/json"]["body"])
        elif isinstance(call.answer, dict):
            # a flat answer says that it is refused, and why, but has no status code
            body, refused = call.answer, "error" in call.answer
            http = (fault.expected.http or 400) if refused else 200
        records = [json.loads(line) for line in call.output.splitlines()]
        logs = tuple(record for record in records if "_aws" not in record)
        return cls(http, body, logs, tuple(record for record in records if "_aws" in record))

    @property
    def in_words(self) -> str:
        if "error" in self.body:
            return f"{self.http}: {self.body['error']}"
        if self.body.get("status") == Status.DEGRADED:
            return f"degraded: {self.body.get('reason')}"
        return f"{self.body.get('status')}, {counted(len(self.body.get('results', ())), 'result')}"


def broken_by(fault: Fault, call: Call, expected: Expected) -> Iterator[Broken]:
    """Check one call against the promises for every call, and for this one."""
    if call.seconds > RETRIEVAL_BUDGET_SECONDS:
        budget = f"at most {RETRIEVAL_BUDGET_SECONDS} s"
        yield Broken("answered in time", budget, f"{call.seconds:.2f} s", timing=True)
    if fault.crashes:
        if expected.error not in call.raised:
            yield Broken("a clear cause", expected.error, call.raised)
        return
    if call.raised:
        yield Broken("nothing raised", "an answer", call.raised)
        return
    answer = _Answer.of(fault, call)
    yield from _broken_form(fault, call.answer)
    yield from _broken_answer(answer, expected)
    yield from _broken_logs(answer, expected, call.output)


def _broken_form(fault: Fault, answer: object) -> Iterator[Broken]:
    try:
        json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        yield Broken("a JSON answer", "JSON in UTF-8", str(error))
    wants_envelope = isinstance(fault.event, dict) and "messageVersion" in fault.event
    form = {True: "an agent's envelope", False: "a flat body"}
    yield from _differ("the caller's own form", form[wants_envelope], form[_is_envelope(answer)])


def _broken_answer(answer: _Answer, expected: Expected) -> Iterator[Broken]:
    body = answer.body
    yield from _differ("HTTP code", expected.http, answer.http)
    if expected.status is None:
        error = str(body.get("error", ""))
        if expected.error not in error:
            yield Broken("the reason for refusal", expected.error, error)
        yield from _differ("only the reason", ["error"], sorted(body))
        return
    yield from _differ("status", expected.status, body.get("status"))
    for reason in _differ("reason", expected.reason, body.get("reason")):
        yield replace(reason, timing=body.get("reason") == Reason.TIMEOUT)
    shown = [
        {k: v for k, v in result.items() if k != "metadata"} for result in body.get("results", ())
    ]
    yield from _differ("exactly the proven results", list(expected.evidence), shown)


def _broken_logs(answer: _Answer, expected: Expected, output: str) -> Iterator[Broken]:
    if QUERY_MARK.casefold() in output.casefold():
        yield Broken("no query text in the log", "none", QUERY)
    if expected.status is None:
        yield from _differ("log lines", ["WARNING"], [log.get("level") for log in answer.logs])
        yield from _differ("metric records", 0, len(answer.metrics))
        return
    failed = expected.status is Status.DEGRADED
    lines = [log for log in answer.logs if str(log.get("message", "")).startswith("query ")]
    levels = [log.get("level") for log in lines]
    yield from _differ("log lines", ["ERROR" if failed else "INFO"], levels)
    yield from _differ("metric records", 1, len(answer.metrics))
    if len(lines) == 1 and len(answer.metrics) == 1:
        yield from _broken_line(lines[0], expected, failed=failed)
        yield from _miscounted(answer.metrics[0], expected)


def _broken_line(line: Mapping[str, Any], expected: Expected, *, failed: bool) -> Iterator[Broken]:
    if expected.status is Status.OK:  # an answer from the service has its request id
        yield from _differ("the request id in the log", REQUEST_ID, line.get("request_id"))
    if failed and not line.get("code"):
        yield Broken("a code in the log", "the failure's own name", "none")
    if expected.code:
        yield from _differ("the code in the log", expected.code, line.get("code"))
    if expected.dropped is not None:
        yield from _differ("dropped and counted", dict(expected.dropped), line.get("dropped"))


def _miscounted(record: Mapping[str, Any], expected: Expected) -> Iterator[Broken]:
    wanted = {
        telemetry.RETRIEVAL_COUNT: 1,
        telemetry.RETRIEVAL_ERRORS: expected.status is Status.DEGRADED,
        telemetry.RETRIEVAL_PERMANENT_ERRORS: expected.reason in PERMANENT,
        telemetry.RETRIEVAL_TIMEOUTS: expected.reason is Reason.TIMEOUT,
        telemetry.RETRIEVAL_GUARDRAIL_INTERVENED: expected.reason is Reason.GUARDRAIL,
    }
    if expected.dropped is not None:
        unproven = (n for reason, n in expected.dropped.items() if reason in UNPROVEN)
        wanted[telemetry.RETRIEVAL_DROPPED_RESULTS] = sum(unproven)
    for name, value in wanted.items():
        yield from _differ(name, [float(value)], record.get(name))
    timed = telemetry.RETRIEVAL_LATENCY in record
    yield from _differ("latency of answers only", expected.status is not Status.DEGRADED, timed)


def _differ(promise: str, expected: object, seen: object) -> Iterator[Broken]:
    if expected != seen:
        yield Broken(promise, str(expected)[:_SEEN_CHARACTERS], str(seen)[:_SEEN_CHARACTERS])


def _is_envelope(answer: object) -> bool:
    return isinstance(answer, dict) and answer.keys() == _ENVELOPE


CATALOGUE: Final[tuple[Fault, ...]] = (
    *ERRORS, *CONNECTIONS, *SLOWNESS, *BODIES, *RESULTS, *REUSED, *SURROUNDINGS, *REQUESTS
)  # fmt: skip
"""In the order of the report."""

_BY_NAME: Final = {fault.name: fault for fault in CATALOGUE}


def named(name: str) -> Fault:
    """Return one fault, or raise :exc:`InvalidRequest` with similar names."""
    fault = _BY_NAME.get(name)
    if fault is None:
        part = [known for known in _BY_NAME if name and name in known]
        hint = f"did you mean {', '.join(part[:5])}?" if part else "see --list"
        raise InvalidRequest(f"no fault {name[:60]!r}; {hint}")
    return fault


WATCHED_SECONDS: Final = 35.0
"""Maximum time of a fault; a client that still waits then is interrupted, and reported in the row."""

RunFault = Callable[[Fault], FaultResult]
"""Runs a fault; a module-level function, which a new process can import."""


def run_all(
    faults: Sequence[Fault],
    progress: Callable[[int], None],
    *,
    run: RunFault = run_fault,
    workers: int = 6,
) -> list[FaultResult]:
    """Run faults in parallel processes (rows mostly wait) and return the outcome of each, in order.

    ``progress`` is called with the number of finished faults, first with 0.

    Raises:
        CannotRun: a process that runs faults could not start, or died.
    """
    results: dict[str, FaultResult] = {}
    longest_first = sorted(faults, key=lambda it: it.pause_seconds + it.calls, reverse=True)
    with (
        # a killed process doesn't clean up, so its files go where this process removes them
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(
            min(workers, len(faults)), multiprocessing.get_context("spawn"), _prepare, (folder,)
        ) as pool,
    ):
        try:
            with _interrupt_delayed():
                running = [
                    pool.submit(_run, fault.name, run, WATCHED_SECONDS) for fault in longest_first
                ]
            progress(0)
            for future in as_completed(running):
                result = future.result()
                results[result.name] = result
                progress(len(results))
        except BrokenProcessPool as error:
            raise CannotRun("a process that runs faults could not start, or died") from error
        except BaseException:  # Ctrl-C above all: don't wait for queued faults
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.kill()
            raise
    return [results[fault.name] for fault in faults]


@contextmanager
def _interrupt_delayed() -> Iterator[None]:
    """Delay Ctrl-C until the block ends: a process interrupted while starting prints a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare(folder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the parent
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


class _StillWaiting(BaseException):
    """The time of a fault is over; no client catches it as its own failure."""


def _run(name: str, run: RunFault, watched_seconds: float) -> FaultResult:
    fault = named(name)
    try:
        with _interrupted_after(watched_seconds + fault.pause_seconds):
            return run(fault)
    except CannotRun as error:
        return FaultResult(name, 0.0, "", not_run=str(error))
    except _StillWaiting:
        waiting = f"still waiting after {watched_seconds:.0f} s"
        late = Broken("answered in time", "an answer", waiting, timing=True)
        return FaultResult(name, watched_seconds, waiting, broken=(late,))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the game day goes on, and reports it
        broken = Broken("run", "to the end", f"{type(error).__name__}: {error}")
        return FaultResult(name, 0.0, "not run to the end", broken=(broken,))


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise _StillWaiting

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
