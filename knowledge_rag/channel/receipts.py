"""Receipts of posted answers: what was asked, and hashes of the lines that were cited.

A receipt's id is made of the hash of what it says. The receipts of a day stand in one file, each line with the hash of
the line before it, so that none can be changed, removed or put in without the rest of the day showing it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.events import canonical
from knowledge_rag.channel.text import to_text
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.metadata import DOCUMENT_SHA256
from knowledge_rag.core.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from knowledge_rag.channel.message import Message
    from knowledge_rag.orchestrator.consultation import Consultation

FIRST: Final = "0" * 64
"""In place of the hash before the first receipt of a day."""

_ID: Final = 20
"""Characters of base32, which are 100 bits."""


@dataclass(frozen=True, slots=True)
class Found:
    """A receipt, and whether its day's file is as it was written up to it.

    Args:
        says: what it records.
        problems: what doesn't fit; none if all is as it was written.
    """

    says: Mapping[str, Any]
    problems: tuple[str, ...]


def receipt_of(message: Message, consultation: Consultation, asked_at: str) -> dict[str, Any]:
    """Return what a receipt of an answer records.

    Args:
        message: that is posted, without a receipt.
        consultation: that it says.
        asked_at: ISO 8601, UTC.
    """
    findings = consultation.findings
    evidence = []
    for cited in message.places:
        found = findings.ledger.lines(*cited)
        if found is None:  # what is not in the ledger can't be cited
            continue
        metadata = findings.result(found.number).metadata
        evidence.append(
            {
                "source_file": cited[0],
                "start_line": cited[1],
                "end_line": cited[2],
                "text_sha256": hashlib.sha256(found.content.encode()).hexdigest(),
                "document_sha256": str(metadata.get(DOCUMENT_SHA256, "")),
            }
        )
    return {
        "asked_at": asked_at,
        "question": message.title,
        "queries": [it.query.text for it in findings.asked],
        "status": message.status.value,
        "advisor": consultation.recommendation.advisor,
        "by_model": message.by_model,
        "evidence": evidence,
        "answer_sha256": hashlib.sha256(to_text(message).encode()).hexdigest(),
        "version": VERSION,
    }


def id_of(says: Mapping[str, Any]) -> str:
    """Return the id of a receipt, ``kr-`` and 20 characters of the hash of what it says."""
    hashed = hashlib.sha256(canonical(says)).digest()
    return "kr-" + base64.b32encode(hashed).decode().lower()[:_ID]


class Receipts:
    """The receipts of a folder, a file for each day (UTC), readable by its owner alone; thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def add(self, says: Mapping[str, Any]) -> str:
        """Append a receipt to the file of its day, and return its id; one that is there already stays alone."""
        number = id_of(says)
        with self._lock:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = self._folder / f"{str(says['asked_at'])[:10]}.jsonl"
            before = FIRST
            for one in _lines(path):
                if one.get("id") == number:
                    return number
                before = str(one.get("sha256"))
            line = {"id": number, "says": says, "before": before, "sha256": _chained(before, says)}
            data = canonical(line) + b"\n"
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "ab") as opened:
                opened.write(data)
                opened.flush()
                os.fsync(opened.fileno())
        return number

    def find(self, number: str) -> Found:
        """Return a receipt, and check its day's chain.

        Raises:
            InvalidRequest: there is none of that id.
        """
        for path in sorted(self._folder.glob("*.jsonl"), reverse=True):
            lines = list(_lines(path))
            for position, one in enumerate(lines):
                if one.get("id") == number:
                    return Found(one["says"], tuple(_problems(path.name, lines, position)))
        raise InvalidRequest(f"no receipt {number[:80]} in {self._folder}")


def citation_in(evidence: Mapping[str, Any]) -> Citation:
    """Return the citation of an entry of a receipt's evidence."""
    return Citation(evidence["source_file"], evidence["start_line"], evidence["end_line"])


def _problems(name: str, lines: list[dict[str, Any]], last: int) -> Iterator[str]:
    before = FIRST
    for number, one in enumerate(lines, start=1):
        says = one.get("says")
        if not isinstance(says, dict):
            yield f"{name}, line {number}: no receipt"
            continue
        if number - 1 == last and id_of(says) != one.get("id"):
            yield f"{name}, line {number}: the id is not of what the receipt says"
        if one.get("before") != before or one.get("sha256") != _chained(before, says):
            yield f"{name}, line {number}: the chain is broken"
        before = str(one.get("sha256"))


def _chained(before: str, says: Mapping[str, Any]) -> str:
    return hashlib.sha256(before.encode() + canonical(says)).hexdigest()


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    for line in data.split(b"\n")[:-1]:  # one that was cut off has no end
        try:
            one = json.loads(line)
        except ValueError:
            one = {}
        yield one if isinstance(one, dict) else {}
