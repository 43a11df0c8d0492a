"""One X-Ray subsegment a call, as one datagram, without the X-Ray SDK.

Active tracing gives the function's own segment; the daemon beside it takes what this sends. The
SDK (in maintenance) would cost a tenth of a cold start to say the same. Content never travels:
names, times, a request id and whether it failed.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import RetrievalFailed
from knowledge_rag.core.outcome import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TRACE_VARIABLE: Final = "_X_AMZN_TRACE_ID"
DAEMON_VARIABLE: Final = "AWS_XRAY_DAEMON_ADDRESS"

_HEADER: Final = b'{"format": "json", "version": 1}\n'


@dataclass(slots=True)
class Span:
    """What is known of a call while it runs.

    Attributes:
        request_id: the service's id of the request, once there is one.
        failure: how it failed, if it did.
    """

    request_id: str = ""
    failure: RetrievalFailed | None = None


@contextmanager
def subsegment(
    operation: str, region: str, environ: Mapping[str, str] = os.environ
) -> Iterator[Span]:
    """Trace the block as one AWS call, where a daemon listens and the trace is sampled.

    Args:
        operation: the AWS operation's name.
        region: that it is called in.
        environ: where Lambda puts the trace header and the daemon's address, anew each call.
    """
    span, started = Span(), time.time()
    try:
        yield span
    except RetrievalFailed as error:
        span.failure = error
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
        "aws": {"operation": operation, "region": region, "request_id": _request_id(span)},
    }
    if span.failure is not None:
        document |= _flags(span.failure)
    return _HEADER + json.dumps(document).encode()


def _request_id(span: Span) -> str:
    return span.request_id or (span.failure.request_id if span.failure else "")


def _flags(failure: RetrievalFailed) -> dict[str, object]:
    # X-Ray's own three kinds: throttled, the caller's error (4xx), the service's fault (5xx).
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
    except (OSError, UnicodeError):  # no daemon or no name, a full buffer: not worth a delay
        return


def _udp(address: str) -> tuple[str, str]:
    # Either one address for both protocols, or "tcp:" and "udp:" in front of one each.
    for part in address.split():
        kind, _, rest = part.partition(":")
        if kind == "udp":
            address = rest
    host, _, port = address.rpartition(":")
    return host.strip("[]"), port
