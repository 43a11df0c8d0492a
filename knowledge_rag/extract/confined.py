"""Readers of formats that a small file can make slow or large, in a process with limits.

A megabyte of PDF can unpack to gigabytes, and pdfium, a C++ library, ends its process where memory does. So these
documents are read in a process of its own: if it ends, or takes too long, one file is unreadable and everything
else goes on. The process is started for the first document and serves all that follow. A request is a header of
nine bytes (the kind, the data's length), then the data; an answer is a header of eight bytes, then JSON.
"""

from __future__ import annotations

import atexit
import json
import os
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from selectors import EVENT_READ, DefaultSelector
from typing import IO, TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import UnreadableDocument

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MAX_MEMORY_BYTES: Final = 768 * 2**20
"""Address space of the process that reads, so that it and an ingest stay below a gigabyte; half of a Lambda
function's memory where that is less."""
MAX_SECONDS: Final = 60.0
"""Wall time that one document may take; the largest PDF that is read takes some three."""
HTML_SECONDS: Final = 20.0
"""Likewise of one web page; the largest that is read takes some six."""
KINDS: Final = ("pdf", "html", "docx", "ipynb")
"""What is read here, by the endings of the files' names."""

_REQUEST: Final = struct.Struct(">BQ")
_HEADER: Final = struct.Struct(">Q")
_MAX_ANSWER_BYTES: Final = 160_000_000
"""Twice four bytes for each of the 20 million characters that a PDF may have."""
_PIECE_BYTES: Final = 1 << 16


def read_confined(
    kind: str, name: str, data: bytes, seconds: float = MAX_SECONDS
) -> dict[str, Any]:
    """Read a document of one of KINDS, with limits on memory and time.

    Returns:
        The fields of what the reader of that kind returns.

    Raises:
        UnreadableDocument: as from that reader; or it takes more memory or time than it may.
    """
    answer = _reader.ask(kind, data, seconds)
    if isinstance(answer, str):
        raise UnreadableDocument(name, answer)
    if reason := answer.get("unreadable"):
        raise UnreadableDocument(name, reason)
    return answer


class _Reader:
    """The process that reads, for all threads of this one, one document at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, kind: str, data: bytes, seconds: float) -> dict[str, Any] | str:
        """Return the answer; if there is none, why."""
        with self._lock:
            process = self._started()
            deadline = time.monotonic() + seconds
            try:
                return _exchange(process, kind, data, deadline)
            except TimeoutError:
                self.stop()
                return f"reading it takes over {seconds:g} s"
            except (OSError, EOFError):
                self.stop()
                return (
                    f"reading it takes over {_memory() // 2**20} MB of memory, or breaks the reader"
                )

    def stop(self) -> None:
        process, self._process = self._process, None
        if process and self._owner == os.getpid():
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    pipe.close()  # type: ignore[union-attr] # both are pipes
            process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        # a forked process must not read from its parent's pipes
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            self.stop()
            paths = os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109 - as sys.path means it
            self._process = subprocess.Popen(
                [sys.executable, "-m", "knowledge_rag.extract.confined"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": paths},
            )
            self._owner = os.getpid()
        return self._process


_reader: Final = _Reader()
atexit.register(_reader.stop)


def _exchange(
    process: subprocess.Popen[bytes], kind: str, data: bytes, deadline: float
) -> dict[str, Any]:
    assert process.stdin is not None  # noqa: S101 - it was started with pipes
    assert process.stdout is not None  # noqa: S101
    # all of a request is taken in before anything is read, so this can't wait for the answer
    process.stdin.write(_REQUEST.pack(KINDS.index(kind), len(data)))
    process.stdin.write(data)
    process.stdin.flush()
    (length,) = _HEADER.unpack(_received(process.stdout, _HEADER.size, deadline))
    if length > _MAX_ANSWER_BYTES:
        raise EOFError
    answer: dict[str, Any] = json.loads(_received(process.stdout, length, deadline))
    return answer


def _received(pipe: IO[bytes], size: int, deadline: float) -> bytes:
    """Read bytes before a deadline; raise TimeoutError if they are late, EOFError if they end."""
    parts: list[bytes] = []
    with DefaultSelector() as selector:
        selector.register(pipe, EVENT_READ)
        while size:
            if not selector.select(max(deadline - time.monotonic(), 0)):
                raise TimeoutError
            part = os.read(pipe.fileno(), min(size, _PIECE_BYTES))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
    return b"".join(parts)


def _memory() -> int:
    function = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "")
    return min(MAX_MEMORY_BYTES, int(function) * 2**19) if function.isdigit() else MAX_MEMORY_BYTES


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Read documents until the other side is gone."""
    while header := requests.read(_REQUEST.size):
        kind, length = _REQUEST.unpack(header)
        data = requests.read(length)
        try:
            answer = asdict(_read(KINDS[kind], data))
        except UnreadableDocument as error:
            answer = {"unreadable": error.reason}
        body = json.dumps(answer).encode()
        answers.write(_HEADER.pack(len(body)) + body)
        answers.flush()


def _read(kind: str, data: bytes) -> DataclassInstance:
    # each reader's library is loaded where there is such a document
    if kind == "pdf":
        from knowledge_rag.extract.pdf import read_pdf  # noqa: PLC0415

        return read_pdf("", data)
    if kind == "html":
        from knowledge_rag.extract.html import read_html  # noqa: PLC0415

        return read_html("", data)
    if kind == "docx":
        from knowledge_rag.extract.docx import read_docx  # noqa: PLC0415

        return read_docx("", data)
    from knowledge_rag.extract.notebook import read_notebook  # noqa: PLC0415

    return read_notebook("", data)


def _confine() -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - Unix only

        resource.setrlimit(resource.RLIMIT_AS, (_memory(), _memory()))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    _confine()
    serve(sys.stdin.buffer, sys.stdout.buffer)
