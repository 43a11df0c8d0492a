"""Reads formats in which a small file can take much time or memory, in a process with limits.

A megabyte of PDF can decompress to gigabytes, and pdfium, a C++ library, ends its process when memory runs out.
So these documents are read in a separate process: if it ends, or takes too long, one file is unreadable and
everything else continues. The process starts with the first document and reads all later ones. A request is two
messages (the kind, the data); an answer is one, in JSON.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import UnreadableDocument

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from _typeshed import DataclassInstance

MAX_MEMORY_BYTES: Final = 768 * 2**20
"""Address space of the reading process, so that it and an ingest stay below a gigabyte; half of a Lambda
function's memory if that is less."""
MAX_SECONDS: Final = 60.0
"""Maximum wall time for one document; the largest accepted PDF takes some three."""
HTML_SECONDS: Final = 20.0
"""The same for one web page; the largest accepted one takes some six."""
PAGE: Final = "page "
"""Prefix of the kind of a request to draw a PDF's page; its number follows."""
_MAX_ANSWER_BYTES: Final = 160_000_000
"""Twice four bytes for each of the 20 million characters that a PDF may have."""


def read_confined(
    kind: str, name: str, data: bytes, seconds: float = MAX_SECONDS
) -> dict[str, Any]:
    """Read a document with limits on memory and time; return the fields of its kind's result.

    Args:
        kind: ``pdf``, ``html``, ``docx`` or ``ipynb``; PAGE and a number draw that page of a PDF.
        name: of the document, for errors.
        data: of its file.
        seconds: time limit.

    Raises:
        UnreadableDocument: as from that kind's reader; or it exceeds the limits on memory or time.
    """
    answer = _reader.ask(kind, data, seconds)
    if isinstance(answer, str):
        raise UnreadableDocument(name, answer)
    if reason := answer.get("unreadable"):
        raise UnreadableDocument(name, reason)
    return answer


class _Reader:
    """The reading process, for all threads of this one, one document at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._owner = 0

    def ask(self, kind: str, data: bytes, seconds: float) -> dict[str, Any] | str:
        """Return the answer, or the reason if there is none."""
        with self._lock:
            connection = self._connected()
            try:
                # a request is received completely before reading starts, so this can't wait for the answer
                connection.send_bytes(kind.encode())
                connection.send_bytes(data)
                if connection.poll(seconds):
                    answer: dict[str, Any] = json.loads(connection.recv_bytes(_MAX_ANSWER_BYTES))
                    return answer
                reason = f"reading it takes over {seconds:g} s"
            except (OSError, EOFError):
                megabytes = _memory() // 2**20
                reason = f"reading it takes over {megabytes} MB of memory, or breaks the reader"
            self.stop()
            return reason

    def stop(self) -> None:
        """End the process, unless it belongs to a process from which this one was forked."""
        if self._connection:
            self._connection.close()
        if self._process and self._owner == os.getpid():
            self._process.kill()
            self._process.wait()
        self._process = self._connection = None

    def _connected(self) -> Connection:
        # a forked process must not read its parent's answers
        is_running = self._process and self._owner == os.getpid() and self._process.poll() is None
        if self._connection and is_running:
            return self._connection
        self.stop()
        from multiprocessing.connection import Pipe  # noqa: PLC0415 - most starts read no such document

        self._connection, theirs = Pipe()
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109 - as sys.path means it
        self._process = subprocess.Popen(  # noqa: S603 - this module
            [sys.executable, "-m", "knowledge_rag.extract.confined", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": paths},
        )
        theirs.close()
        self._owner = os.getpid()
        return self._connection


_reader: Final = _Reader()
atexit.register(_reader.stop)


def _memory() -> int:
    function = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "")
    return min(MAX_MEMORY_BYTES, int(function) * 2**19) if function.isdigit() else MAX_MEMORY_BYTES


def serve(connection: Connection) -> None:
    """Read documents until the other side closes."""
    with suppress(EOFError):
        while True:
            kind, data = connection.recv_bytes().decode(), connection.recv_bytes()
            try:
                answer = asdict(_read(kind, data))
            except UnreadableDocument as error:
                answer = {"unreadable": error.reason}
            connection.send_bytes(json.dumps(answer).encode())


def _read(kind: str, data: bytes) -> DataclassInstance:
    # each reader's library is imported with the first such document
    if kind.startswith(PAGE):
        from knowledge_rag.extract.pdf import draw_page  # noqa: PLC0415

        return draw_page("", data, int(kind.removeprefix(PAGE)))
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
    from multiprocessing.connection import Connection

    _confine()
    serve(Connection(int(sys.argv[1])))
