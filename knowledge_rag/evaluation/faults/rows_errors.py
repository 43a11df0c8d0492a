"""Rows: the service answers, but an error."""

from __future__ import annotations

from typing import Final

from knowledge_rag.core.outcome import Reason
from knowledge_rag.evaluation.faults.model import Fault, Group, degrades
from knowledge_rag.evaluation.faults.scripts import http, sending
from knowledge_rag.evaluation.faults.stage import wire


def _error(name: str, what: str, response: bytes, reason: Reason, code: str = "") -> Fault:
    play = wire(sending(response))
    return Fault(name, Group.ERRORS, what, play, degrades(reason, code), connections=2)


def _modelled(name: str, status: str, code: str, reason: Reason) -> Fault:
    body = {"__type": code, "message": "no"}
    return _error(name, f"{status.split(maxsplit=1)[0]} {code}", http(body, status), reason, code)


ROWS: Final = (
    _modelled("throttled", "429 Slow", "ThrottlingException", Reason.THROTTLED),
    _error(
        "throttled-retry-after",
        "429 that asks to come back after 5 s",
        http("{}", "429 Slow", headers=("Retry-After: 5", "x-amz-retry-after: 5000")),
        Reason.THROTTLED,
    ),
    _modelled("quota", "400 Bad", "ServiceQuotaExceededException", Reason.THROTTLED),
    _modelled("error-500", "500 Oops", "InternalServerException", Reason.UNAVAILABLE),
    _error(
        "error-502-html",
        "502 with a web page",
        http("<html>", "502 Bad", content_type="text/html"),
        Reason.UNAVAILABLE,
        "502",
    ),
    _error("error-503-empty", "503 without a body", http(b"", "503 Busy"), Reason.UNAVAILABLE),
    _error(
        "error-503-truncated", "503 cut short", http("{", "503 Busy", length=99), Reason.UNAVAILABLE
    ),
    _error("error-500-list", "500 with a JSON list", http([1], "500 Oops"), Reason.UNAVAILABLE),
    _error("error-500-binary", "500, not UTF-8", http(b"\xff\xfe", "500 Oops"), Reason.UNAVAILABLE),
    _error(
        "error-500-odd-code",
        "500 whose code is a list",
        http({"code": [1]}, "500 Oops"),
        Reason.UNAVAILABLE,
    ),
    _error(
        "error-500-endless",
        "500 that goes on for 4 MB",
        b"HTTP/1.1 500 Oops\r\n\r\n" + b"x" * 2**22,
        Reason.UNAVAILABLE,
    ),
    _modelled("conflict", "409 Conflict", "ConflictException", Reason.UNAVAILABLE),
    _modelled("dependency", "424 Failed", "DependencyFailedException", Reason.UNAVAILABLE),
    _modelled("access-denied", "403 No", "AccessDeniedException", Reason.ACCESS_DENIED),
    _modelled("expired-token", "403 No", "ExpiredTokenException", Reason.ACCESS_DENIED),
    _modelled("not-found", "404 None", "ResourceNotFoundException", Reason.CONFIGURATION),
    _modelled("validation", "400 Bad", "ValidationException", Reason.CONFIGURATION),
    _error(
        "error-400-odd-code",
        "400 whose code is a list",
        http({"code": [1]}, "400 Bad"),
        Reason.CONFIGURATION,
    ),
    _error(
        "redirect",
        "301 to another address",
        http("", "301 Moved", headers=("Location: http://127.0.0.1:9/",)),
        Reason.CONFIGURATION,
        "301",
    ),
)
