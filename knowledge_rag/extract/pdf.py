"""PDFs: the text of each page, in the order in which the page holds it.

The reader is pdfium, which browsers use. It joins a word that a hyphen parts at a line's end; here it
is parted again, because the lines are what is cited. Nothing is recognised in pictures.

A megabyte of PDF can unpack to gigabytes, and pdfium, a C++ library, ends its process where memory
does. So PDFs are read in a process of its own with limits: if it ends, or takes too long, one file is
unreadable and everything else goes on. The process is started for the first PDF and serves all that
follow. A request is a header of eight bytes (the data's length), then the data; an answer is such a
header, then JSON.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import struct
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from selectors import EVENT_READ, DefaultSelector
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Final

import pypdfium2  # type: ignore[import-untyped]  # it has no types
from pypdfium2 import PdfiumError
from pypdfium2.raw import (  # type: ignore[import-untyped]
    FPDF_ERR_PASSWORD,
    FPDF_ERR_SECURITY,
)

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.markdown import MAX_HEADING

if TYPE_CHECKING:
    from collections.abc import Iterable


MAX_PAGES: Final = 2_000
"""A longer document has to be split. Some three seconds of reading."""
MAX_CHARACTERS: Final = 20_000_000
"""Of all pages together: a small file may unpack to any size."""

_pdfium = Lock()
"""pdfium may be in one thread at a time."""

_HYPHEN: Final = re.compile(r"[\x02\ufffe](?:\r\n?|\n)?")
"""pdfium's mark where it joined a word that was parted at a line's end."""
_LINE_END: Final = re.compile(r"[ \t]*(?:\r\n?|\n)")
_WRITTEN_BY: Final = re.compile(r"^Microsoft (?:Word|PowerPoint|Excel) - ")
_SHOWN_PAGES: Final = 10


@dataclass(frozen=True, slots=True)
class PdfText:
    """A PDF's title, and text of every page: ``""`` for one without, no blank lines around."""

    title: str
    pages: tuple[str, ...]
    notes: tuple[str, ...]


def read_pdf(name: str, data: bytes) -> PdfText:
    """Read the text of a PDF's pages.

    Raises:
        UnreadableDocument: it is empty, no PDF, damaged, locked by a password, too long, or holds no
            text at all.
    """
    if not data:
        raise UnreadableDocument(name, "empty file")
    with _pdfium, closing(_opened(name, data)) as document:
        count = len(document)
        if not 1 <= count <= MAX_PAGES:
            reason = f"{count} pages, at most {MAX_PAGES} are read" if count else "it has no pages"
            raise UnreadableDocument(name, reason)
        title = _title(document)
        pages, damaged = _pages(name, document, count)
    bare = [n for n, page in enumerate(pages, 1) if not page and n not in damaged]
    if len(bare) + len(damaged) == count:
        reason = (
            "no page of it can be read: the file is damaged"
            if len(damaged) == count
            else f"no text on any of its {count} pages: pictures of text need recognition (OCR) first"
        )
        raise UnreadableDocument(name, reason.replace("any of its 1 pages", "its one page"))
    notes = [f"no text on {_listed(bare)}"] if bare else []
    notes += [f"damaged and left out: {_listed(damaged)}"] if damaged else []
    return PdfText(title, tuple(pages), tuple(notes))


def _opened(name: str, data: bytes) -> pypdfium2.PdfDocument:
    with suppress(PdfiumError):
        return pypdfium2.PdfDocument(data)
    with suppress(PdfiumError):  # some failures leave the code of the one before: this sets it anew
        pypdfium2.PdfDocument(b"no PDF").close()
    try:
        return pypdfium2.PdfDocument(data)
    except PdfiumError as error:
        if error.err_code == FPDF_ERR_PASSWORD:
            reason = "encrypted: it opens with a password only"
        elif error.err_code == FPDF_ERR_SECURITY:
            reason = "encrypted in a way that can't be read"
        elif not data[:1024].lstrip().startswith(b"%PDF"):
            reason = "no PDF, whatever its name says"
        else:
            reason = "a damaged PDF: it ends early, or its parts can't be found"
        raise UnreadableDocument(name, reason) from error


def _pages(name: str, document: pypdfium2.PdfDocument, count: int) -> tuple[list[str], list[int]]:
    """Return the text of every page, and the numbers of those that can't be read."""
    pages: list[str] = []
    damaged: list[int] = []
    total = 0
    for number in range(1, count + 1):
        try:
            text = _page(document, number - 1)
        except PdfiumError:
            text = ""
            damaged.append(number)
        total += len(text)
        if total > MAX_CHARACTERS:
            raise UnreadableDocument(
                name, f"more than {MAX_CHARACTERS} characters of text by page {number}"
            )
        pages.append(text)
    return pages, damaged


def _page(document: pypdfium2.PdfDocument, index: int) -> str:
    with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
        if text_page.count_chars() > MAX_CHARACTERS:
            return " " * (MAX_CHARACTERS + 1)  # too long to take out; the caller counts it
        text = text_page.get_text_bounded()
    return _lines(text)


def _lines(text: str) -> str:
    text = _HYPHEN.sub("-\n", text.replace("\0", ""))
    lines = _LINE_END.sub("\n", text).split("\n")
    whole = "\n".join(line.rstrip(" \t") for line in lines).strip("\n")
    return whole if whole.strip() else ""


def _title(document: pypdfium2.PdfDocument) -> str:
    try:
        title = document.get_metadata_value("Title")
    except (PdfiumError, UnicodeDecodeError):  # half a character, where the file is damaged
        return ""
    title = _WRITTEN_BY.sub("", " ".join(title.replace("\0", "").split()))
    return "" if title.lower() in ("untitled", "title") else title[:MAX_HEADING]


def _listed(pages: Iterable[int]) -> str:
    numbers = list(pages)
    shown = ", ".join(map(str, numbers[:_SHOWN_PAGES]))
    more = f" and {len(numbers) - _SHOWN_PAGES} more" if len(numbers) > _SHOWN_PAGES else ""
    return f"page{'s' if len(numbers) > 1 else ''} {shown}{more}"


MAX_MEMORY_BYTES: Final = 2**30
"""Address space of the process that reads; half of a Lambda function's memory where that is less."""
MAX_SECONDS: Final = 60.0
"""Wall time that one PDF may take; the largest that is read takes some three."""

_HEADER: Final = struct.Struct(">Q")
_MAX_ANSWER_BYTES: Final = 8 * MAX_CHARACTERS
_PIECE_BYTES: Final = 1 << 16


def read_pdf_confined(name: str, data: bytes, seconds: float = MAX_SECONDS) -> PdfText:
    """Read a PDF as :func:`read_pdf` does, with limits on its memory and time.

    Raises:
        UnreadableDocument: as there; or it takes more memory or time than it may.
    """
    answer = _reader.ask(data, seconds)
    if isinstance(answer, str):
        raise UnreadableDocument(name, answer)
    if reason := answer.get("unreadable"):
        raise UnreadableDocument(name, reason)
    return PdfText(answer["title"], tuple(answer["pages"]), tuple(answer["notes"]))


class _Reader:
    """The process that reads, for all threads of this one, one PDF at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, data: bytes, seconds: float) -> dict[str, Any] | str:
        """Return the answer; if there is none, why."""
        with self._lock:
            process = self._started()
            deadline = time.monotonic() + seconds
            try:
                return _exchange(process, data, deadline)
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
                [sys.executable, "-m", "knowledge_rag.extract.pdf"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": paths},
            )
            self._owner = os.getpid()
        return self._process


_reader: Final = _Reader()
atexit.register(_reader.stop)


def _exchange(process: subprocess.Popen[bytes], data: bytes, deadline: float) -> dict[str, Any]:
    assert process.stdin is not None  # noqa: S101 - it was started with pipes
    assert process.stdout is not None  # noqa: S101
    # all of a request is taken in before anything is read, so this can't wait for the answer
    process.stdin.write(_HEADER.pack(len(data)))
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
    """Read PDFs until the other side is gone."""
    while header := requests.read(_HEADER.size):
        data = requests.read(_HEADER.unpack(header)[0])
        try:
            read = read_pdf("", data)
            answer = {"title": read.title, "pages": read.pages, "notes": read.notes}
        except UnreadableDocument as error:
            answer = {"unreadable": error.reason}
        body = json.dumps(answer).encode()
        answers.write(_HEADER.pack(len(body)) + body)
        answers.flush()


def _confine() -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - Unix only

        resource.setrlimit(resource.RLIMIT_AS, (_memory(), _memory()))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    _confine()
    serve(sys.stdin.buffer, sys.stdout.buffer)
