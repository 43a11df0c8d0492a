"""Recent answers in memory, and a file of reports about wrong citations."""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.console.json_http import Refused
from knowledge_rag.console.limits import (
    MAX_ANSWERS,
    MAX_ANSWERS_BYTES,
    MAX_REPORTS,
    MAX_REPORTS_BYTES,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Args:
        question: as it was asked.
        asked_at: ISO 8601, UTC.
        advisor: name of the advisor.
        filters: set by the reader.
        text: verified, in Markdown.
        blocks: the text, rendered.
        sources: cards of the evidence.
        recommendation: see ``schemas/recommendation.schema.json``.
        removed: references that were removed.
        parts: the text, cut into words and references, as the orchestrator reports it.
        by_model: whether a model wrote it.
        incident: card of a pasted alert.
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
            "staleAsOf": self.asked_at,
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
    """The last answers, by unguessable ids; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Answer, int]] = OrderedDict()
        self._bytes = 0

    def keep(self, answer: Answer) -> str:
        """Keep an answer; return its id. The oldest ones go where there are too many."""
        key = secrets.token_urlsafe(_ID_BYTES)
        size = len(json.dumps([answer.to_dict(), answer.parts]))
        with self._lock:
            self._kept[key] = answer, size
            self._bytes += size
            while len(self._kept) > MAX_ANSWERS or self._bytes > MAX_ANSWERS_BYTES:
                _, (_, gone) = self._kept.popitem(last=False)
                self._bytes -= gone
        return key

    def sources(self, source_file: str) -> list[Mapping[str, Any]]:
        """Return the cards of a document in kept answers, the last answer's first."""
        with self._lock:
            kept = [answer for answer, _ in reversed(self._kept.values())]
        return [one for answer in kept for one in answer.sources if one["source"] == source_file]

    def get(self, key: str) -> Answer | None:
        """Return an answer; ``None`` if there is none of that id, or it isn't kept any more."""
        with self._lock:
            found = self._kept.get(key)
        return found[0] if found else None


_INSUFFICIENT_STORAGE = 507


class Reports:
    """Appends reports to a file, readable by its owner alone; thread-safe. ``None`` keeps no reports."""

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
        if known.count(b"\n") >= MAX_REPORTS or len(known) + len(line) > MAX_REPORTS_BYTES:
            message = f"{path} is full: read it and move it away, then report again"
            raise Refused(_INSUFFICIENT_STORAGE, message)
        whole = known.endswith(b"\n") or not known
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab") as opened:
            opened.write(line if whole else b"\n" + line)  # one that was cut off stays one line
