"""A server that replaces the knowledge base, so fast that its time doesn't matter.

It runs in a process of its own, because a thread would share the interpreter with the measured code.
``python -m benchmarks.speed.server fixed|derived`` prints its port and ends
when its standard input does.

- ``fixed``: answers every request with the same proven results.
- ``derived``: answers with results derived from the question (:func:`results_for`), or with the fault
  that the question names (:data:`FAULTS`).
"""

from __future__ import annotations

import hashlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.chunks import Chunk, Document, DocumentType
from knowledge_rag.core.metadata import stored_text, to_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIXED_RESULTS: Final = 10
"""The number that the function requests: five, and five to replace dropped ones."""

FAULT_MARK: Final = "fault="
"""Precedes the name of a fault of :data:`FAULTS` at the end of a question."""

FAULTS: Final = (
    "503", "throttled", "reset", "closed", "truncated", "html", "empty", "silent", "dripping",
)  # fmt: skip
"""Faults of derived answers."""

SILENCE_SECONDS: Final = 5.0
"""Longer than any deadline."""

DRIP_SECONDS: Final = 0.03
"""Time between two bytes: shorter than any read timeout, so that those don't limit the whole answer."""

_LINGER_NOT: Final = b"\1\0\0\0\0\0\0\0"


def results_for(question: str, count: int) -> list[Chunk]:
    """Return chunks that belong to this question only."""
    digest = hashlib.sha256(question.encode()).hexdigest()
    document = Document(f"answers/{digest[:16]}.md", digest, question[:60], DocumentType.RUNBOOK)
    text = f"What to do about {digest}:\n" + "Look at the graph, then promote the replica.\n" * 9
    first = 1 + int(digest[:4], 16)
    return [
        Chunk(document, line, line + 10, ("Resolution", f"Step {n}"), f"{text}Step {n}.")
        for n, line in enumerate(range(first, first + count * 20, 20))
    ]


def response_to(chunks: list[Chunk]) -> bytes:
    """Return Retrieve's HTTP response with these chunks; its numbers are doubles."""
    items = [
        {
            "content": {"type": "TEXT", "text": stored_text(chunk)},
            "location": {"type": "S3", "s3Location": {"uri": f"s3://corpus/{index}"}},
            "metadata": {
                name: float(value) if isinstance(value, int) else value
                for name, value in to_metadata(chunk).items()
            },
            "score": 0.9 - index / 100,
        }
        for index, chunk in enumerate(chunks)
    ]
    return _http("200 OK", json.dumps({"retrievalResults": items}).encode())


@contextmanager
def bench_server(kind: str) -> Iterator[str]:
    """Run the server during the block; yield its URL.

    Args:
        kind: ``fixed`` or ``derived``.
    """
    process = subprocess.Popen(  # noqa: S603 - this very module
        [sys.executable, "-m", "benchmarks.speed.server", kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:  # its exit closes the server's standard input and waits
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"


def _http(status: str, body: bytes, length: int | None = None) -> bytes:
    announced = len(body) if length is None else length
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {announced}\r\n"
        "x-amzn-requestid: 11111111-2222-3333-4444-555555555555\r\n\r\n"
    )
    return head.encode() + body


def _fixed() -> Callable[[bytes], bytes]:
    response = response_to(results_for("fixed", FIXED_RESULTS))
    return lambda _: response


def _derived(body: bytes) -> bytes | str:
    request: dict[str, Any] = json.loads(body)
    question: str = request["retrievalQuery"]["text"]
    fault = question.rpartition(FAULT_MARK)[2] if FAULT_MARK in question else ""
    if fault == "503":
        return _http("503 Busy", b"<html>")
    if fault == "throttled":
        return _http("429 Slow", b'{"__type": "ThrottlingException"}')
    if fault == "html":
        return _http("200 OK", b"<html>hi</html>")
    if fault == "empty":
        return _http("200 OK", b"{}")
    if fault:
        return fault
    return response_to(results_for(question, 2))


def _converse(sock: socket.socket, answer: Callable[[bytes], bytes | str]) -> None:
    with suppress(OSError), sock, sock.makefile("rb") as incoming:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while (body := _request(incoming)) is not None:
            response = answer(body)
            if isinstance(response, str):
                _fail(sock, response)
                return
            sock.sendall(response)


def _request(incoming: Any) -> bytes | None:  # noqa: ANN401 - the type of makefile() is private
    length = 0
    while (line := incoming.readline()) != b"\r\n":
        if not line:
            return None
        if line[:15].lower() == b"content-length:":
            length = int(line[15:])
    body: bytes = incoming.read(length)
    return body


def _fail(sock: socket.socket, fault: str) -> None:
    if fault == "reset":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    elif fault == "truncated":
        sock.sendall(_http("200 OK", b'{"retrievalResults": [', 900))
    elif fault == "silent":
        sock.settimeout(SILENCE_SECONDS)
        sock.recv(1)  # until the client gives up
    elif fault == "dripping":
        for byte in _http("200 OK", b" " * int(SILENCE_SECONDS / DRIP_SECONDS)):
            sock.sendall(bytes([byte]))
            time.sleep(DRIP_SECONDS)
    # "closed": nothing at all


def _serve(answer: Callable[[bytes], bytes | str]) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        print(listener.getsockname()[1], flush=True)  # noqa: T201 - to the process that started it
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=_converse, args=(sock, answer), daemon=True).start()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C also reaches the process that started it
    serving = _fixed() if sys.argv[1] == "fixed" else _derived
    threading.Thread(target=_serve, args=(serving,), daemon=True).start()
    sys.stdin.buffer.read()
