"""What every row promises, held against what came of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core import telemetry
from knowledge_rag.core.net.deadline import RETRIEVAL_BUDGET_SECONDS
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.evaluation.faults.events import QUERY, QUERY_MARK
from knowledge_rag.evaluation.faults.model import PERMANENT, UNPROVEN
from knowledge_rag.evaluation.faults.scripts import REQUEST_ID

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.evaluation.faults.model import Expected, Fault
    from knowledge_rag.evaluation.faults.targets import Heard

_ENVELOPE: Final = {"messageVersion", "response", "sessionAttributes", "promptSessionAttributes"}
_SEEN_CHARACTERS: Final = 160


@dataclass(frozen=True, slots=True)
class Broken:
    """A promise that was not kept.

    Args:
        promise: in a few words.
        expected: what was to be seen.
        seen: what was.
        timing: whether it is one about time, which a busy machine can break too.
    """

    promise: str
    expected: str
    seen: str
    timing: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """A call's answer and output, taken apart.

    Args:
        http: status code: the envelope's, or 200 or 400 as the body of a flat answer has it.
        body: of the answer.
        logs: lines that are no metrics.
        metrics: EMF records.
    """

    http: int
    body: Mapping[str, Any]
    logs: tuple[Mapping[str, Any], ...]
    metrics: tuple[Mapping[str, Any], ...]


def take_apart(fault: Fault, heard: Heard) -> Told:
    """Read a call's answer and output; what is not as it should be shows as missing."""
    records = [json.loads(line) for line in heard.output.splitlines()]
    http, body = _unwrapped(heard.answer)
    if fault.expected.http and http == 400 and not _is_envelope(heard.answer):
        http = fault.expected.http  # a flat answer says that it is refused, and why: no code
    return Told(
        http,
        body,
        tuple(record for record in records if "_aws" not in record),
        tuple(record for record in records if "_aws" in record),
    )


def broken_by(fault: Fault, heard: Heard, expected: Expected) -> Iterator[Broken]:
    """Hold one call against what is promised of every call, and of this one.

    Args:
        fault: that was played.
        heard: what came of the call.
        expected: of this call.
    """
    if heard.seconds > RETRIEVAL_BUDGET_SECONDS:
        budget = f"at most {RETRIEVAL_BUDGET_SECONDS} s"
        yield Broken("answered in time", budget, f"{heard.seconds:.2f} s", timing=True)
    if fault.crashes:
        if expected.error not in heard.raised:
            yield Broken("a clear cause", expected.error, heard.raised)
        return
    if heard.raised:
        yield Broken("nothing raised", "an answer", heard.raised)
        return
    told = take_apart(fault, heard)
    expected = expected.given(str(told.body.get("reason")))
    yield from _form(fault, heard.answer)
    yield from _answer(told, expected)
    yield from _told(told, expected, heard.output)


def _form(fault: Fault, answer: object) -> Iterator[Broken]:
    try:
        json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        yield Broken("an answer that is JSON", "JSON in UTF-8", str(error))
    wants_envelope = isinstance(fault.event, dict) and "messageVersion" in fault.event
    form = {True: "an agent's envelope", False: "a flat body"}
    if wants_envelope is not _is_envelope(answer):
        seen = form[_is_envelope(answer)]
        yield Broken("the caller's own form", form[wants_envelope], seen)


def _answer(told: Told, expected: Expected) -> Iterator[Broken]:
    body = told.body
    yield from _differ("HTTP code", expected.http, told.http)
    if expected.status is None:
        error = str(body.get("error", ""))
        if expected.error not in error:
            yield Broken("why it is refused", expected.error, error)
        yield from _differ("nothing but why", ["error"], sorted(body))
        return
    yield from _differ("status", expected.status, body.get("status"))
    for reason in _differ("reason", expected.reason, body.get("reason")):
        yield replace(reason, timing=body.get("reason") == Reason.TIMEOUT)
    shown = [
        {k: v for k, v in result.items() if k != "metadata"} for result in body.get("results", ())
    ]
    yield from _differ("the proven results and no other", list(expected.evidence), shown)


def _told(told: Told, expected: Expected, output: str) -> Iterator[Broken]:
    if QUERY_MARK.casefold() in output.casefold():
        yield Broken("no query text in the log", "none", QUERY)
    if expected.status is None:
        yield from _differ("log lines", ["WARNING"], [log.get("level") for log in told.logs])
        yield from _differ("metric records", 0, len(told.metrics))
        return
    failed = expected.status is Status.DEGRADED
    lines = [log for log in told.logs if str(log.get("message", "")).startswith("query ")]
    levels = [log.get("level") for log in lines]
    yield from _differ("log lines", ["ERROR" if failed else "INFO"], levels)
    yield from _differ("metric records", 1, len(told.metrics))
    if len(lines) == 1 and len(told.metrics) == 1:
        yield from _line(lines[0], expected, failed=failed)
        yield from _counted(told.metrics[0], expected)


def _line(line: Mapping[str, Any], expected: Expected, *, failed: bool) -> Iterator[Broken]:
    if expected.status is Status.OK:  # an answer of the service's has its id of the request
        yield from _differ("the request id in the log", REQUEST_ID, line.get("request_id"))
    if failed and not line.get("code"):
        yield Broken("a code in the log", "the failure's own name", "none")
    if expected.code:
        yield from _differ("the code in the log", expected.code, line.get("code"))
    if expected.dropped is not None:
        yield from _differ("dropped and counted", dict(expected.dropped), line.get("dropped"))


def _counted(record: Mapping[str, Any], expected: Expected) -> Iterator[Broken]:
    dropped = expected.dropped
    wanted = {
        telemetry.RETRIEVAL_COUNT: 1,
        telemetry.RETRIEVAL_ERRORS: expected.status is Status.DEGRADED,
        telemetry.RETRIEVAL_PERMANENT_ERRORS: expected.reason in PERMANENT,
        telemetry.RETRIEVAL_TIMEOUTS: expected.reason is Reason.TIMEOUT,
        telemetry.RETRIEVAL_GUARDRAIL_INTERVENED: expected.reason is Reason.GUARDRAIL,
    }
    if dropped is not None:
        unproven = sum(count for reason, count in dropped.items() if reason in UNPROVEN)
        wanted[telemetry.RETRIEVAL_DROPPED_RESULTS] = unproven
    for name, value in wanted.items():
        yield from _differ(name, [float(value)], record.get(name))
    timed = telemetry.RETRIEVAL_LATENCY in record
    yield from _differ("latency of answers only", expected.status is not Status.DEGRADED, timed)


def _differ(promise: str, expected: object, seen: object) -> Iterator[Broken]:
    if expected != seen:
        yield Broken(promise, str(expected)[:_SEEN_CHARACTERS], str(seen)[:_SEEN_CHARACTERS])


def _unwrapped(answer: object) -> tuple[int, Mapping[str, Any]]:
    if not isinstance(answer, dict):
        return 0, {}
    if not _is_envelope(answer):
        return (400 if "error" in answer else 200), answer
    response = answer["response"]
    return response["httpStatusCode"], json.loads(
        response["responseBody"]["application/json"]["body"]
    )


def _is_envelope(answer: object) -> bool:
    return isinstance(answer, dict) and answer.keys() == _ENVELOPE
