"""Rows: a 200 whose body is no answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from knowledge_rag.core.outcome import DropReason, Reason
from knowledge_rag.evaluation.faults.model import Fault, Group, degrades
from knowledge_rag.evaluation.faults.scripts import http, paced, sending
from knowledge_rag.evaluation.faults.stage import HEALTHY, over_tls, wire

_CHUNKED: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_RESULTS: Final = b'{"retrievalResults":['


def _row(name: str, what: str, data: bytes, reason: Reason = Reason.MALFORMED_RESPONSE) -> Fault:
    play = wire(sending(data))
    return Fault(name, Group.BODIES, what, play, degrades(reason), connections=2)


def _huge(name: str, what: str, data: bytes) -> Fault:
    expected = replace(degrades(Reason.MALFORMED_RESPONSE), or_timeout=True)
    return Fault(name, Group.BODIES, what, wire(sending(data)), expected, connections=2)


def _many(name: str, unit: bytes, count: int, *, seconds: float = 0.0) -> Fault:
    body = _RESULTS + unit * count + unit[:-1] + b"]}"
    dropped = {DropReason.NOT_TEXT: 100, DropReason.OVER_LIMIT: count - 99}
    what = f"{count:,} items of {unit[:-1].decode()}" + f", after {seconds:g} s" * bool(seconds)
    play = wire(paced(http(body), seconds=seconds) if seconds else sending(http(body)))
    expected = replace(degrades(Reason.UNVERIFIABLE_RESULTS, "", dropped), or_timeout=True)
    return Fault(name, Group.BODIES, what, play, expected, connections=2)


ROWS: Final = (
    _row("truncated", "shorter than announced", HEALTHY[:-40]),
    Fault(
        "truncated-tls",
        Group.BODIES,
        "shorter than announced, under TLS",
        over_tls(sending(HEALTHY[:-40])),
        degrades(Reason.MALFORMED_RESPONSE),
        connections=2,
    ),
    _row("truncated-chunks", "ends within a chunk", _CHUNKED + b"ff\r\n{"),
    _row("empty", "no body", http(b"")),
    _row("empty-object", "{}", http({})),
    _row("results-null", "retrievalResults is null", http({"retrievalResults": None})),
    _row("results-object", "retrievalResults is an object", http({"retrievalResults": {}})),
    _row("json-list", "a JSON list", http([])),
    _row("json-string", "a JSON string", http('"text"')),
    _row("html", "a web page", http("<html>hi</html>", content_type="text/html")),
    _row("not-json", "text that is no JSON", http("retrievalResults: none")),
    _row("not-utf8", "a byte that is no UTF-8", http(b'{"retrievalResults": ["\xff"]}')),
    _row("nested", "100,000 brackets", http("[" * 100_000)),
    _row("announces-9-mb", "9 MB announced", http(b"{", length=9 * 2**20)),
    _huge("numbers-8-mb", "8 MB of numbers", http(_RESULTS + b"0," * 4_000_000 + b"0]}")),
    _row(
        "lists-2-mb",
        "2 MB of lists, dear to parse",
        http(_RESULTS + b"[]," * 690_000 + b"[]]}"),
        Reason.TIMEOUT,
    ),
    _huge("chunk-size-1", "a chunk of size -1", _CHUNKED + b"-1\r\n" + b"x" * 2**22),
    _row("chunk-size-5", "a chunk of size -5", _CHUNKED + b"-5\r\n{}"),
    _huge("chunk-size-long", "a chunk size of 4 MB of zeros", _CHUNKED + b"0" * 2**22),
    _huge(
        "trailers",
        "trailers that never end",
        _CHUNKED + b"2\r\n{}\r\n0\r\n" + b"x: y\r\n" * 2**20,
    ),
    _many("million-items", b"0,", 1_000_000),
    _many("lists-50k", b"[],", 50_000),
    _many("objects-50k", b"{},", 50_000),
    _many("million-items-late", b"0,", 1_000_000, seconds=1.0),
    _many("lists-50k-late", b"[],", 50_000, seconds=1.0),
    _many("objects-50k-late", b"{},", 50_000, seconds=1.0),
)
