"""Rows: connections and answers of the service that fail, and results that can't be shown as they are."""

from __future__ import annotations

import io
import socket
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.outcome import DropReason, Reason
from knowledge_rag.evaluation.faults.payloads import (
    QUERY,
    agent,
    direct,
    evidence,
    item,
    retrieved,
    without,
)
from knowledge_rag.evaluation.faults.scenario import (
    BUNDLE,
    ENDPOINT,
    HEALTHY,
    HEALTHY_ANSWER,
    Fault,
    Group,
    answers,
    degrades,
    healthy,
    over_tls,
    wire,
)
from knowledge_rag.evaluation.faults.server import (
    answering,
    dripping,
    http,
    mute,
    refused_port,
    resetting,
    secured,
    self_signed,
    sending,
    silent,
    unanswered_port,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from knowledge_rag.evaluation.faults.scenario import Expected, Scenario, SetUp
    from knowledge_rag.evaluation.faults.server import RawServer, Script

PAUSE_SECONDS: Final = 21.0
"""Longer than an unused connection is kept (``transport.MAX_IDLE_SECONDS``)."""

_HOST: Final = "kb.game-day.test"
"""The ``test`` domain is reserved (RFC 6761): no real resolver knows it."""
_REPLACED: Final = "socket.getaddrinfo replaced"

_UNAVAILABLE: Final = degrades(Reason.UNAVAILABLE)
_TIMEOUT: Final = degrades(Reason.TIMEOUT)
_WRONG_CERTIFICATE: Final = degrades(Reason.UNAVAILABLE, "SSLCertVerificationError")
_DRIPPING_BODY: Final = dripping(HEALTHY, at_once=300)
_ANOTHER: Final = http(retrieved(item("The answer to another question.", start=70)))


def _occupied(occupied: Callable[[], AbstractContextManager[int]]) -> SetUp:
    """Connect to an unserved port until a healthy server takes it over."""

    def set_up(scenario: Scenario) -> None:
        port = scenario.exit.enter_context(occupied())
        scenario.environment[ENDPOINT] = f"http://127.0.0.1:{port}"

        def serve() -> None:
            scenario.exit.pop_all().close()
            scenario.serve(port=port)

        scenario.mend = serve

    return set_up


def _names(*, fail: bool = False, seconds: float = 0.0) -> SetUp:
    """Replace ``socket.getaddrinfo``, which only queries port 53, until the fault is over."""

    def set_up(scenario: Scenario) -> None:
        real: Any = socket.getaddrinfo
        is_mended = False

        def lookup(host: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - getaddrinfo's own
            if host != _HOST or kwargs.get("flags"):  # an address needs no lookup
                return real(host, *args, **kwargs)
            if not is_mended:
                time.sleep(seconds)
                if fail:
                    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return real("127.0.0.1", *args, **kwargs)

        def mend() -> None:
            nonlocal is_mended
            is_mended = True

        socket.getaddrinfo = lookup
        scenario.exit.callback(setattr, socket, "getaddrinfo", real)
        scenario.environment[ENDPOINT] = f"http://{_HOST}:{scenario.serve().port}"
        scenario.mend = mend

    return set_up


def _over_https(scenario: Scenario, first: Script, tls: ssl.SSLContext) -> None:
    server = scenario.serve(first, then=secured(answering(HEALTHY), tls))
    scenario.environment[ENDPOINT] = f"https://localhost:{server.port}"


def _plain_port(first: Script) -> SetUp:
    def set_up(scenario: Scenario) -> None:
        _over_https(scenario, first, scenario.trusted().tls)

    return set_up


def _speak_first(sock: socket.socket, _server: RawServer) -> None:
    sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def _unknown_certificate(scenario: Scenario) -> None:
    good = scenario.trusted()
    folder = scenario.folder / "stranger"
    folder.mkdir()
    _over_https(scenario, secured(answering(HEALTHY), self_signed(folder).tls), good.tls)


def _another_host(scenario: Scenario) -> None:
    good = scenario.trusted()
    other = self_signed(scenario.folder, "other.example")
    both = scenario.folder / "both.pem"
    both.write_text("".join(Path(each.bundle).read_text() for each in (good, other)))
    scenario.environment[BUNDLE] = str(both)
    _over_https(scenario, secured(answering(HEALTHY), other.tls), good.tls)


_connection = partial(Fault, group=Group.CONNECTIONS)

CONNECTIONS: Final = (
    _connection("refused", "nothing listens on the port", _occupied(refused_port), _UNAVAILABLE),
    _connection("syn-unanswered", "the SYN gets no answer", _occupied(unanswered_port), _TIMEOUT),
    _connection("dns-failure", "the name does not resolve", _names(fail=True), _UNAVAILABLE,
        hook=_REPLACED),
    _connection("dns-slow", "the name resolves after 4 s", _names(seconds=4.0), _TIMEOUT,
        hook=_REPLACED),
    _connection("reset", "reset instead of an answer", wire(resetting), _UNAVAILABLE,
        connections=2),
    _connection("garbage", "bytes that are not HTTP", wire(sending(b"\x00\xffSSH-2.0\r\n\r\n")),
        _UNAVAILABLE, connections=2),
    _connection("tls-to-plain-mute", "TLS to a port that does not respond to it", _plain_port(mute),
        _TIMEOUT),
    _connection("tls-to-plain", "TLS to a port that speaks plain HTTP", _plain_port(_speak_first),
        _UNAVAILABLE),
    _connection("certificate-unknown", "an untrusted certificate", _unknown_certificate,
        _WRONG_CERTIFICATE),
    _connection("certificate-other-host", "a certificate for another host", _another_host,
        _WRONG_CERTIFICATE),
)  # fmt: skip

_slow = partial(Fault, expected=_TIMEOUT, group=Group.SLOWNESS)

SLOWNESS: Final = (
    _slow("six-drips", "six bodies that drip, one after another", wire(*[_DRIPPING_BODY] * 6),
        calls=6, connections=7),
    _slow("silent", "accepts, never answers", wire(silent), connections=2),
    _slow("drip-body", "the body drips, a byte every 0.3 s", wire(_DRIPPING_BODY), connections=2),
    _slow("drip-headers", "the headers drip", wire(dripping(HEALTHY, at_once=20)), connections=2),
    _slow("drip-body-tls", "the body drips, under TLS", over_tls(_DRIPPING_BODY), connections=2),
)  # fmt: skip


def _then(last: Script) -> SetUp:
    """Answer the first request, and handle the next one on the connection with ``last``."""

    def script(sock: socket.socket, server: RawServer) -> None:
        server.read_request(sock)
        sock.sendall(HEALTHY)
        last(sock, server)

    return wire(script)


def _dies(sock: socket.socket, server: RawServer) -> None:
    server.read_request(sock)


def _speaks_unasked(sock: socket.socket, server: RawServer) -> None:
    sock.sendall(http("", "408 Request Timeout", headers=("Connection: close",)))
    server.stopping.wait(PAUSE_SECONDS)


def _answers_twice(sock: socket.socket, server: RawServer) -> None:
    """Send two answers as one TLS record, the first of which fills a reader's buffer exactly.

    The rest is then neither in that buffer nor visible at the socket.
    """
    server.read_request(sock)
    head, _, body = HEALTHY.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
    blank = b"\r\n".join([*lines, b"Content-Length: %d", b"", b""])
    room = io.DEFAULT_BUFFER_SIZE - len(blank % io.DEFAULT_BUFFER_SIZE)
    sock.sendall(blank % room + body.ljust(room) + _ANOTHER)
    server.stopping.wait(PAUSE_SECONDS)


_reused = partial(
    Fault, expected=HEALTHY_ANSWER, group=Group.REUSED, healthy_before=1, connections=2
)

REUSED: Final = (
    _reused("pause", "21 s without a call; the network has forgotten the connection", _then(silent),
        pause_seconds=PAUSE_SECONDS),
    _reused("kept", "no fault: five calls share a connection", healthy, calls=5, connections=1),
    _reused("stale", "the peer closed it after the last answer", wire(sending(HEALTHY))),
    _reused("stale-on-request", "it dies when the request comes", _then(_dies)),
    _reused(
        "unasked",
        "the peer sent an unrequested 408",
        _then(_speaks_unasked),
        pause_seconds=0.5,  # it has to arrive before the next question, on a busy machine too
    ),
    _reused("answers-twice",
        "the peer sent a second answer after the first, in the same TLS record",
        over_tls(_answers_twice)),
    _reused("dies-within-answer", "it dies after half an answer, and may not be retried",
        _then(sending(HEALTHY[: len(HEALTHY) // 2])), expected=degrades(Reason.MALFORMED_RESPONSE)),
)  # fmt: skip


def _error(name: str, what: str, response: bytes, reason: Reason, code: str = "") -> Fault:
    expected = degrades(reason, code)
    return Fault(name, what, wire(sending(response)), expected, Group.ERRORS, connections=2)


def _modelled(name: str, status: str, code: str, reason: Reason) -> Fault:
    body = {"__type": code, "message": "no"}
    return _error(name, f"{status.split(maxsplit=1)[0]} {code}", http(body, status), reason, code)


ERRORS: Final = (
    _modelled("throttled", "429 Slow", "ThrottlingException", Reason.THROTTLED),
    _error("throttled-retry-after", "429 with a request to wait 5 s",
        http("{}", "429 Slow", headers=("Retry-After: 5", "x-amz-retry-after: 5000")),
        Reason.THROTTLED),
    _modelled("quota", "400 Bad", "ServiceQuotaExceededException", Reason.THROTTLED),
    _modelled("error-500", "500 Oops", "InternalServerException", Reason.UNAVAILABLE),
    _error("error-502-html", "502 with a web page",
        http("<html>", "502 Bad", content_type="text/html"), Reason.UNAVAILABLE, "502"),
    _error("error-503-empty", "503 without a body", http(b"", "503 Busy"), Reason.UNAVAILABLE),
    _modelled("conflict", "409 Conflict", "ConflictException", Reason.UNAVAILABLE),
    _modelled("dependency", "424 Failed", "DependencyFailedException", Reason.UNAVAILABLE),
    _modelled("access-denied", "403 No", "AccessDeniedException", Reason.ACCESS_DENIED),
    _modelled("expired-token", "403 No", "ExpiredTokenException", Reason.ACCESS_DENIED),
    _modelled("not-found", "404 None", "ResourceNotFoundException", Reason.CONFIGURATION),
    _modelled("validation", "400 Bad", "ValidationException", Reason.CONFIGURATION),
    _error("redirect", "301 to another address",
        http("", "301 Moved", headers=("Location: http://127.0.0.1:9/",)), Reason.CONFIGURATION,
        "301"),
)  # fmt: skip


def _body(name: str, what: str, data: bytes, reason: Reason = Reason.MALFORMED_RESPONSE) -> Fault:
    return Fault(name, what, wire(sending(data)), degrades(reason), Group.BODIES, connections=2)


BODIES: Final = (
    _body("truncated", "shorter than announced", HEALTHY[:-40]),
    _body("empty", "no body", http(b"")),
    _body("empty-object", "{}", http({})),
    _body("results-null", "retrievalResults is null", http({"retrievalResults": None})),
    _body("json-list", "a JSON list", http([])),
    _body("json-string", "a JSON string", http('"text"')),
    _body("html", "a web page", http("<html>hi</html>", content_type="text/html")),
    _body("not-json", "text that is not JSON", http("retrievalResults: none")),
    _body("not-utf8", "a byte that is not UTF-8", http(b'{"retrievalResults": ["\xff"]}')),
    _body("announces-9-mb", "9 MB announced", http(b"{", length=9 * 2**20)),
    _body("lists-2-mb", "2 MB of lists, expensive to parse",
        http(b'{"retrievalResults":[' + b"[]," * 690_000 + b"[]]}"), Reason.TIMEOUT),
)  # fmt: skip

_SOUND: Final = item("Tell the incident channel.", start=40, score=0.4)
_TWO_KB: Final = "x" * 1_900
_EIGHT_KB: Final = "line of a long runbook\n" * 350


def _row(name: str, what: str, body: object, expected: Expected, *, event: object = None) -> Fault:
    # The next request on the same connection is healthy: nothing of this one may reach it.
    row = partial(Fault, name, what, wire(answering(http(body), HEALTHY)), expected)
    return row(group=Group.RESULTS, event=event or direct(), connections=1)


def _dropped(name: str, what: str, reason: DropReason, *unsound: object) -> Fault:
    """Invalid items around a valid one: they are dropped and counted, and don't affect it."""
    half = len(unsound) // 2
    body = retrieved(*unsound[:half], _SOUND, *unsound[half:])
    return _row(name, what, body, answers(evidence(_SOUND), dropped={reason: len(unsound)}))


def _shown(name: str, what: str, *items: dict[str, Any]) -> Fault:
    return _row(name, what, retrieved(*items), answers(*map(evidence, items)))


def _of_type(kind: str, **content: object) -> dict[str, Any]:
    return item() | {"content": {"type": kind, **content}}


def _with_text(text: object) -> dict[str, Any]:
    return _of_type("TEXT", text=text)


def _restamped(**metadata: object) -> dict[str, Any]:
    sound = item()
    return sound | {"metadata": sound["metadata"] | metadata}


def _numbered(count: int, content: str) -> list[dict[str, Any]]:
    return [
        item(f"{n} {content}", start=1 + 1_000 * n, score=(count - n) / count) for n in range(count)
    ]


def _cut(
    name: str, what: str, event: object, items: list[dict[str, Any]], dropped: dict[DropReason, int]
) -> Fault:
    shown = items[: len(items) - sum(dropped.values())]
    expected = answers(*map(evidence, shown), dropped=dropped)
    return _row(name, what, retrieved(*items), expected, event=event)


_GARBLED_LINES: Final[tuple[object, ...]] = (
    5.5, "5.5", "five", "", " 5", "+5", "٥", True, None, [5], {}, -5, 0, float("inf"), 10**40,
)  # fmt: skip
_BAD_FILES: Final = (
    "", "/etc/passwd", "../a.md", "a/../../b.md", "a\n.md", "a\x1b[2J.md", "a\x00.md",
    "\u202egpj.md",
)  # fmt: skip

RESULTS: Final = (
    _dropped("item-no-text", "null, {}, ROW, IMAGE, AUDIO, VIDEO, text empty or none",
        DropReason.NOT_TEXT, None, {}, [], 5, "text",
        _of_type("ROW", row=[{"columnName": "a", "columnValue": "b", "type": "STRING"}]),
        _of_type("IMAGE", text=item()["content"]["text"]),
        _of_type("IMAGE", byteContent="data:image/png;base64,AAAA"),
        _of_type("AUDIO", audio={"s3Uri": "s3://corpus/a.mp3"}),
        _of_type("VIDEO", video={"s3Uri": "s3://corpus/a.mp4"}), _with_text(""), _with_text(None),
        _with_text(7), without(item(), "content")),
    _shown("score-absent", "a score absent, or null", item(score=None), _SOUND | {"score": None}),
    _shown("score-not-finite", "a score of NaN, Infinity, or text", item(score=float("nan")),
        item("Page.", score=float("inf")), _SOUND | {"score": "0.9"}),
    _shown("score-out-of-range", "a score of 17.5 or -0.25", item(score=17.5),
        _SOUND | {"score": -0.25}),
    _shown("lines-as-digits", 'start_line "5", end_line "6"', item(start_line="5", end_line="6")),
    _dropped("lines-garbled",
        "start_line 5.5, five, true, null, 0, -5, Infinity..., or after end_line",
        DropReason.NO_CITATION, *(item(start_line=value) for value in _GARBLED_LINES),
        item(start_line=9.0, end_line=5.0), without(item(), "start_line"),
        without(item(), "end_line")),
    _dropped("metadata-none", "no metadata, null, a list, or none of ours beside a location",
        DropReason.NO_CITATION, without(item(), "metadata"), item() | {"metadata": None},
        item() | {"metadata": []}, item() | {"metadata": {}},
        item() | {"metadata": {"x-amz-bedrock-kb-source-uri": "s3://corpus/x.md"}}),
    _dropped("source-file-bad", "source_file missing, absolute, with .., with control characters",
        DropReason.NO_CITATION, without(item(), "source_file"),
        *(item(source_file=name) for name in _BAD_FILES), _restamped(source_file=5)),
    _shown("metadata-unshowable", "a title with a lone surrogate, a page of NaN, invalid tags",
        item(title="RDS \ud800", page=float("nan"), tags=[None, 5, "x\ud800"], service={"a": 1}),
        _SOUND),
    _row("duplicates", "the same chunk three times",
        retrieved(item(), item(score=0.49), _SOUND, item(score=0.1)),
        answers(evidence(item()), evidence(_SOUND), dropped={DropReason.DUPLICATE: 2})),
    _dropped("text-surrogate", "a lone surrogate in the text", DropReason.NOT_PROVEN,
        item("Promote \ud800 it.")),
    _shown("text-control", "NUL, escape codes and bidi controls in the text",
        item("a\x00b\x1b[2Jc"), item("pay \u202eevil\u202c now", start=20)),
    _dropped("prefix-wrong", "a context prefix that is different, missing, or longer than the text",
        DropReason.NOT_PROVEN, item(context_length=3.0), item(context_length=0.0),
        item(context_length=9_999.0), item(context_length=-1.0), item(context_length="many"),
        item(context_length=None), without(item(), "context_length")),
    _dropped("hash-mismatch", "the text doesn't match its sha256", DropReason.NOT_PROVEN,
        item(content_sha256="0" * 64), item(content_sha256=None), without(item(), "content_sha256"),
        _with_text(item()["content"]["text"].replace("replica", "primary"))),
    _dropped("citation-forged", "true text with another file, other lines, or too few or many",
        DropReason.NOT_PROVEN, _restamped(source_file="runbooks/other.md"),
        item(start_line=6.0, end_line=7.0), item(end_line=5.0), item(end_line=7.0),
        item(chunk_id="0" * 32), without(item(), "chunk_id")),
    _cut("more-than-asked", "ten items for max_results 2", direct(max_results=2),
        _numbered(10, "Check."), {DropReason.OVER_LIMIT: 8}),
    _row(
        "every-item-dropped",
        "five items, none proven",
        retrieved(None, {}, item(start_line=None), item(content_sha256=""), item(context_length=1)),
        degrades(
            Reason.UNVERIFIABLE_RESULTS,
            "",
            {DropReason.NOT_TEXT: 2, DropReason.NO_CITATION: 1, DropReason.NOT_PROVEN: 2},
        ),
    ),
    _cut("60-results-of-2-kb", "60 items of 2 KB, to an agent", agent({"query": QUERY}),
        _numbered(60, _TWO_KB), {DropReason.OVER_LIMIT: 55}),
    _cut("over-25-kb", "five items of 8 KB, to an agent that accepts 25 KB",
        agent({"query": QUERY}), _numbered(5, _EIGHT_KB), {DropReason.OVER_SIZE: 3}),
    _cut("60-results-direct", "60 items of 2 KB, to a caller that requested them",
        direct(max_results=100), _numbered(60, _TWO_KB), {}),
    _shown("location-other", "a web location, an unknown one, none; valid metadata",
        item() | {"location": {"type": "WEB", "webLocation": {"url": "https://example.org/x"}}},
        _SOUND | {"location": {"type": "MOON"}},
        without(item("No location.", start=70), "location")),
    _row("guardrail", "a guardrail intervened", retrieved(item(), guardrailAction="INTERVENED"),
        degrades(Reason.GUARDRAIL)),
)  # fmt: skip
