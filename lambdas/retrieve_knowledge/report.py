"""Writes one log line, one metric record and one X-Ray subsegment per call.

The first two go to standard output, where Lambda collects them. The subsegment goes to the daemon beside
the function, without the X-Ray SDK, which would add a tenth to a cold start. None contains the query's
text, except the log if a debug setting asks for it.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_rag.core import telemetry
from knowledge_rag.core.errors import RetrievalFailed
from knowledge_rag.core.locating import NOT_LOCATED
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import unproven_count
from lambdas.reporting import MetricUnit, logger, metric_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.core.errors import InvalidRequest
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from lambdas.retrieve_knowledge.events import Call
    from lambdas.retrieve_knowledge.settings import Settings


class End(NamedTuple):
    """How one query ended, for the log and the metrics.

    Args:
        outcome: the caller's outcome.
        settings: the function's settings, ``None`` if they are wrong.
        request_id: the service's id of the request, ``""`` for none.
        code: name of the failure, if it is degraded.
        permanent: whether a retry can't help.
        unread: number of documents that could not be read, by code.
    """

    outcome: RetrievalOutcome
    settings: Settings | None
    request_id: str = ""
    code: str = ""
    permanent: bool = False
    unread: Mapping[str, int] = MappingProxyType({})

    @property
    def failed(self) -> bool:
        """Whether the query went unanswered."""
        return self.outcome.status is Status.DEGRADED


def refused(call: Call, error: InvalidRequest) -> None:
    """Log a request that can't be served, without a metric, because it isn't about the knowledge base."""
    fields: dict[str, Any] = {"caller": call.caller, "http_status": error.status}
    logger.warning("request refused", **fields, **_ids(call))


def defect(error: Exception) -> None:
    """Log a defect and its traceback's lines of code, without its message.

    A message can quote anything, such as the query or a header with signing credentials.
    """
    logger.error(
        "unforeseen error",
        error=type(error).__name__,
        frames=[line.strip() for line in traceback.format_tb(error.__traceback__)],
    )


def secondary_failed(call: Call, failure: RetrievalFailed) -> None:
    """Log that the secondary scope could not be searched; the query itself was answered."""
    logger.warning(
        "secondary scope not searched",
        reason=failure.reason,
        code=failure.code,
        permanent=failure.permanent,
        request_id=failure.request_id,
        **_ids(call),
    )


def answered(call: Call, query: Query | None, end: End, started: float) -> None:
    """Log how a query ended, and count it unless it was never carried out.

    Args:
        call: the call.
        query: its query, ``None`` if it could not be read.
        end: the query's end.
        started: arrival of the event, in seconds of the monotonic clock.
    """
    latency_ms = (time.monotonic() - started) * 1000
    fields = _fields(call, query, end, round(latency_ms, 1))
    if end.failed:
        logger.error("query degraded", **fields)
    else:
        logger.info("query answered", **fields)
    if end.outcome.reason is not Reason.QUERY_LIMIT:
        _write_metrics(call, end, latency_ms)


def _fields(call: Call, query: Query | None, end: End, latency_ms: float) -> dict[str, Any]:
    outcome = end.outcome
    fields: dict[str, Any] = {
        "caller": call.caller,
        "status": outcome.status,
        "results": len(outcome.results),
        "dropped": {reason.value: count for reason, count in outcome.dropped.items()},
        "latency_ms": latency_ms,
        "query_characters": len(query.text) if query else 0,
        "request_id": end.request_id,
    }
    if end.failed:
        fields |= {"reason": outcome.reason, "code": end.code, "permanent": end.permanent}
    if end.unread:
        fields["documents_unread"] = dict(end.unread)
    if call.canary:
        fields["canary"] = True
    if query and end.settings is not None and end.settings.log_query_text:
        fields["query"] = query.text
    return fields | _ids(call)


def _write_metrics(call: Call, end: End, latency_ms: float) -> None:
    metrics = metric_record()
    if call.canary:
        failed = end.outcome.status is not Status.OK
        metrics.add_metric(telemetry.CANARY_FAILURES, MetricUnit.Count, int(failed))
        metrics.write()
        return
    for name, value in _counts(end).items():
        metrics.add_metric(name, MetricUnit.Count, value)
    properties: dict[str, object] = {"status": end.outcome.status, "latency_ms": latency_ms}
    if end.failed:
        # a query that timed out took as long as its deadline, which isn't the search's latency:
        # its time is a property and not part of the metric
        properties |= {"reason": end.outcome.reason, "code": end.code}
    else:
        metrics.add_metric(telemetry.RETRIEVAL_LATENCY, MetricUnit.Milliseconds, latency_ms)
    for key, property_ in (properties | _ids(call)).items():
        metrics.add_metadata(key, property_)
    metrics.write()


def _counts(end: End) -> dict[str, int]:
    outcome = end.outcome
    counts = {
        telemetry.RETRIEVAL_COUNT: 1,
        telemetry.RETRIEVAL_ERRORS: int(end.failed),
        telemetry.RETRIEVAL_PERMANENT_ERRORS: int(end.permanent),
        telemetry.RETRIEVAL_TIMEOUTS: int(outcome.reason is Reason.TIMEOUT),
        telemetry.RETRIEVAL_GUARDRAIL_INTERVENED: int(outcome.reason is Reason.GUARDRAIL),
        telemetry.RETRIEVAL_DROPPED_RESULTS: unproven_count(outcome),
    }
    if end.settings is not None and end.settings.search.source_root:
        counts[telemetry.RETRIEVAL_UNLOCATED_RESULTS] = sum(
            outcome.dropped.get(reason, 0) for reason in NOT_LOCATED
        )
    if not end.failed:
        counts[telemetry.RETRIEVAL_RESULT_COUNT] = len(outcome.results)
        counts[telemetry.RETRIEVAL_ZERO_RESULTS] = int(outcome.status is Status.NO_MATCH)
    return counts


def _ids(call: Call) -> dict[str, Any]:
    ids = {telemetry.SESSION_ID: call.session_id, telemetry.INCIDENT_ID: call.incident_id}
    return {name: value for name, value in ids.items() if value}


TRACE_VARIABLE: Final = "_X_AMZN_TRACE_ID"
DAEMON_VARIABLE: Final = "AWS_XRAY_DAEMON_ADDRESS"

_HEADER: Final = b'{"format": "json", "version": 1}\n'


@dataclass(slots=True)
class Span:
    """The request's id at the service, once there is one, and the call's failure, if any."""

    request_id: str = ""
    failure: RetrievalFailed | None = None


@contextmanager
def subsegment(
    operation: str, region: str, environ: Mapping[str, str] = os.environ
) -> Iterator[Span]:
    """Trace the block as one AWS call, if a daemon listens and the trace is sampled.

    Args:
        operation: the AWS operation's name.
        region: the region of the call.
        environ: environment in which Lambda sets the trace header and the daemon's address for each call.
    """
    span, started = Span(), time.time()
    try:
        yield span
    except RetrievalFailed as error:
        span.failure, span.request_id = error, error.request_id
        raise
    finally:
        header = _trace(environ.get(TRACE_VARIABLE, ""))
        if header is not None:
            document = _document(header, operation, region, span, started)
            _send(document, environ.get(DAEMON_VARIABLE, ""))


def _trace(value: str) -> tuple[str, str] | None:
    fields = dict(part.strip().split("=", 1) for part in value.split(";") if "=" in part)
    if fields.get("Sampled") != "1" or not fields.get("Root") or not fields.get("Parent"):
        return None
    return fields["Root"], fields["Parent"]


def _document(
    trace: tuple[str, str], operation: str, region: str, span: Span, started: float
) -> bytes:
    document: dict[str, object] = {
        "name": operation,
        "id": secrets.token_hex(8),
        "trace_id": trace[0],
        "parent_id": trace[1],
        "type": "subsegment",
        "namespace": "aws",
        "start_time": started,
        "end_time": time.time(),
        "aws": {"operation": operation, "region": region, "request_id": span.request_id},
    }
    if span.failure is not None:
        document |= _flags(span.failure)
    return _HEADER + json.dumps(document).encode()


def _flags(failure: RetrievalFailed) -> dict[str, object]:
    # X-Ray's three kinds: throttled, the caller's error (4xx), the service's fault (5xx)
    if failure.reason is Reason.THROTTLED:
        return {"error": True, "throttle": True}
    return {"error" if failure.permanent else "fault": True}


def _send(document: bytes, address: str) -> None:
    host, port = _udp(address)
    try:
        family, kind, proto, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
        )[0]
        with socket.socket(family, kind, proto) as sock:
            sock.settimeout(0)
            sock.sendto(document, where)
    except (OSError, UnicodeError):  # no daemon, a wrong address, a full buffer: not worth a delay
        return


def _udp(address: str) -> tuple[str, str]:
    # either one address for both protocols, or one each after "tcp:" and "udp:"
    for part in address.split():
        kind, _, rest = part.partition(":")
        if kind == "udp":
            address = rest
    host, _, port = address.rpartition(":")
    return host.strip("[]"), port
