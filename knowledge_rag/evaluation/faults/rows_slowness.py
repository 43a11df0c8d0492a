"""Rows: the service takes its time, in every way it can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.core.outcome import Reason
from knowledge_rag.evaluation.faults.model import Fault, Group, degrades
from knowledge_rag.evaluation.faults.scripts import dripping, http, paced, silent
from knowledge_rag.evaluation.faults.stage import HEALTHY, over_tls, wire

if TYPE_CHECKING:
    from typing import Unpack

    from knowledge_rag.evaluation.faults.model import Details, Play
    from knowledge_rag.evaluation.faults.server import Script

_CHUNKED: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_BODY_DRIPS: Final = dripping(HEALTHY, at_once=300)


def _row(name: str, what: str, *scripts: Script, **more: Unpack[Details]) -> Fault:
    more["connections"] = len(scripts) + 1
    return _played(name, what, wire(*scripts), **more)


def _played(name: str, what: str, play: Play, **more: Unpack[Details]) -> Fault:
    return Fault(name, Group.SLOWNESS, what, play, degrades(Reason.TIMEOUT), **more)


ROWS: Final = (
    _row("six-drips", "six bodies that drip, one after another", *[_BODY_DRIPS] * 6, calls=6),
    _row("silent", "accepts, never answers", silent),
    _row("drip-body", "the body drips, a byte each 0.3 s", _BODY_DRIPS),
    _row("drip-headers", "the headers drip", dripping(HEALTHY, at_once=20)),
    _row("drip-status", "the status line drips", dripping(HEALTHY, at_once=0)),
    _row(
        "drip-chunks",
        "chunks of a byte drip",
        dripping(_CHUNKED + b"1\r\n{\r\n" * 99, at_once=50),
    ),
    _row(
        "drip-error",
        "the body of a 500 drips",
        dripping(http("x" * 99, "500 Oops"), at_once=200),
    ),
    _row(
        "drip-continue",
        "100 Continue, again and again",
        dripping(b"HTTP/1.1 100 Continue\r\n\r\n" * 9, at_once=0),
    ),
    _played("silent-tls", "never answers, under TLS", over_tls(silent), connections=2),
    _played("drip-body-tls", "the body drips, under TLS", over_tls(_BODY_DRIPS), connections=2),
    _row(
        "late-objects",
        "1.3 MB of objects, complete after 1.4 s",
        paced(http(b'{"retrievalResults":[' + b"{}," * 450_000 + b"{}]}"), seconds=1.4),
    ),
)
