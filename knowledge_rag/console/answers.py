"""Recent answers, stored across restarts, and a file of reports about wrong citations."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import os
import secrets
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.console import limits
from knowledge_rag.console.rendering import AnswerRenderer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_logger = logging.getLogger(__name__)

_ID_BYTES: Final = 16
_DAMAGED: Final = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""Exceptions that reading an answer's file may raise."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    ``text`` is verified Markdown, ``blocks`` is its HTML, and ``parts`` its words and references as the orchestrator
    reports them. ``sources`` are the cards of the evidence, ``incident`` is that of a pasted alert; ``asked_at`` is ISO
    8601, UTC.
    """

    question: str
    asked_at: str
    advisor: str
    filters: Mapping[str, str]
    text: str
    blocks: tuple[str, ...]
    sources: tuple[Mapping[str, Any], ...]
    recommendation: Mapping[str, Any]
    removed: tuple[Mapping[str, Any], ...] = ()
    parts: tuple[Mapping[str, Any], ...] = ()
    by_model: bool = False
    incident: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "question": self.question,
            "askedAt": self.asked_at,
            "advisor": self.advisor,
            "filters": dict(self.filters),
            **({"incident": self.incident} if self.incident else {}),
            "text": self.text,
            "byModel": self.by_model,
            "blocks": list(self.blocks),
            "sources": list(self.sources),
            "recommendation": self.recommendation,
            "removed": list(self.removed),
        }


class Answers:
    """The last answers, by unguessable ids; thread-safe.

    A folder stores them across restarts, a file each, readable by its owner only; ``None`` keeps them in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Answer, int]] = OrderedDict()
        self._bytes = 0
        self._folder = folder

    def keep(self, answer: Answer) -> str:
        """Store an answer and return its id; the oldest ones are dropped if there are too many."""
        key = secrets.token_urlsafe(_ID_BYTES)
        data = _written(answer)
        with self._lock:
            self._kept[key] = answer, len(data)
            self._bytes += len(data)
            while len(self._kept) > limits.MAX_ANSWERS or self._bytes > limits.MAX_ANSWERS_BYTES:
                _, (_, gone) = self._kept.popitem(last=False)
                self._bytes -= gone
            if self._folder is not None:
                try:
                    _store(self._folder, key, data)
                except OSError as error:  # it is in memory, and the reader waits for it
                    reason = error.strerror or type(error).__name__
                    _logger.warning("an answer is kept in memory only: %s", reason)
        return key

    def sources(self, source_file: str) -> list[Mapping[str, Any]]:
        """Return the cards of a document in answers of this run, those of the last answer first."""
        with self._lock:
            kept = [answer for answer, _ in reversed(self._kept.values())]
        return [one for answer in kept for one in answer.sources if one["source"] == source_file]

    def get(self, key: str) -> Answer | None:
        """Return an answer; ``None`` if no answer has that id, it was dropped, or its file is damaged."""
        with self._lock:
            found = self._kept.get(key)
        return found[0] if found else self._stored(key)

    def outcomes(self) -> Iterator[tuple[str, str]]:
        """Yield question and status of each stored answer, the last one first."""
        with self._lock:
            kept = dict(reversed(self._kept.items()))
        for answer, _ in kept.values():
            yield answer.question, answer.recommendation.get("status", "")
        for path in _files(self._folder):
            if path.stem not in kept:
                with suppress(*_DAMAGED):
                    fields = _fields(path.read_bytes())
                    yield fields["question"], fields["recommendation"]["status"]

    def _stored(self, key: str) -> Answer | None:
        for path in _files(self._folder):
            if path.stem == key:  # compared with existing names: a request must not make up a path
                try:
                    return _read(path.read_bytes())
                except _DAMAGED:
                    _logger.warning("%s is damaged, and left out", path)
        return None


def _written(answer: Answer) -> bytes:
    """Return the answer's file: its fields and their digest; blocks are rendered again from the parts."""
    fields = {one.name: getattr(answer, one.name) for one in dataclasses.fields(answer)}
    kept = json.dumps({name: value for name, value in fields.items() if name != "blocks"})
    return json.dumps({"sha256": _digest(kept), "answer": kept}).encode()


def _fields(data: bytes) -> dict[str, Any]:
    """Return the fields of an answer's file.

    Raises:
        ValueError: the file was changed.
    """
    file = json.loads(data)
    if _digest(file["answer"]) != file["sha256"]:
        raise ValueError("digest")
    fields: dict[str, Any] = json.loads(file["answer"])
    return fields


def _read(data: bytes) -> Answer:
    """Return the answer of a file, or raise :exc:`ValueError`."""
    kept = _fields(data)
    lists = {name: tuple(kept[name]) for name in ("sources", "removed", "parts")}
    renderer = AnswerRenderer()
    renderer.feed(kept["parts"])
    blocks = tuple(block.html for block in renderer.render() if block.html)
    return Answer(**{**kept, **lists, "blocks": blocks})


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _files(folder: Path | None) -> list[Path]:
    """Return the files of answers, the newest first."""
    if folder is None or not folder.is_dir():
        return []
    found = []
    for path in folder.glob("*.json"):
        with suppress(OSError):  # another console has just removed it
            found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found, reverse=True)]


def _store(folder: Path, key: str, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{key}.json"
    part = path.with_suffix(".part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as opened:
        opened.write(data)
    part.replace(path)
    total = 0
    for number, old in enumerate(_files(folder)):
        with suppress(OSError):
            total += old.stat().st_size
            if number >= limits.MAX_ANSWERS or total > limits.MAX_ANSWERS_BYTES:
                old.unlink()


_INSUFFICIENT_STORAGE = 507


class Reports:
    """Appends reports to a file, readable by its owner only; thread-safe. A path of ``None`` refuses reports."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()

    def add(self, report: Mapping[str, Any]) -> Path:
        """Append a report as a line of JSON and return the path of the file."""
        line = json.dumps(report, allow_nan=False).encode() + b"\n"
        if self._path is None:
            raise Refused(_INSUFFICIENT_STORAGE, "this console keeps no reports")
        with self._lock:
            try:
                self._append(self._path, line)
            except OSError as error:
                message = (
                    f"the report could not be written: {error.strerror or type(error).__name__}"
                )
                raise Refused(_INSUFFICIENT_STORAGE, message) from error
        return self._path

    def _append(self, path: Path, line: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        known = path.read_bytes() if path.exists() else b""
        if (
            known.count(b"\n") >= limits.MAX_REPORTS
            or len(known) + len(line) > limits.MAX_REPORTS_BYTES
        ):
            message = f"{path} is full: read it and move it away, then report again"
            raise Refused(_INSUFFICIENT_STORAGE, message)
        whole = known.endswith(b"\n") or not known
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab") as opened:
            opened.write(line if whole else b"\n" + line)  # a line that was cut off stays a line
