"""Receipts of posted answers: the question, and hashes of the cited lines.

A receipt's id is derived from the hash of its content. Each day's receipts are in one file, each line with the hash
of the line before it, so that no receipt can be changed, removed or inserted unnoticed. Reports of wrong citations
are in a file of their own beside it.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

from knowledge_rag.channel.events import canonical
from knowledge_rag.channel.message import message_of
from knowledge_rag.channel.text import to_text
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.files import lock
from knowledge_rag.core.metadata import DOCUMENT_SHA256
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.version import VERSION
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.wording import no_steps_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from knowledge_rag.channel.message import Message
    from knowledge_rag.core.repository_links import RepositoryLinks
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.consultation import Consultation
    from knowledge_rag.orchestrator.retrieval import Findings, Retrieval

FIRST: Final = "0" * 64
"""The previous hash in the first receipt of a day."""

_DAYS: Final = "????-??-??.jsonl"
_REPORTS: Final = "reports.jsonl"
_PRESSED: Final = "pressed.jsonl"


@dataclass(frozen=True, slots=True)
class Found:
    """A receipt, and the inconsistencies of its day's file up to it; none if the file is intact."""

    says: Mapping[str, Any]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Offered:
    """A procedure that a posted answer offered.

    Args:
        name: of the procedure; ``""`` for all steps of the one in the answer.
        at: document and line, like ``Incident.at``.
        document_sha256: of the document when it was offered.
    """

    question: str
    name: str
    at: tuple[str, int]
    document_sha256: str

    def check(self, findings: Findings) -> None:
        """Check that the findings are from the document that was offered.

        Raises:
            InvalidRequest: it has changed, is gone, or couldn't be searched.
        """
        file = self.at[0]
        hashes = _hashes(findings, file)
        if hashes == {self.document_sha256} != {""}:
            return
        if hashes:
            raise InvalidRequest(f"{file} has changed since this answer: ask again.")
        asked = (*findings.asked, *findings.completions)
        if any(it.outcome.status is Status.DEGRADED for it in asked):
            raise InvalidRequest(
                "The knowledge base could not be searched: press the button again in a moment."
            )
        raise InvalidRequest(no_steps_at(*self.at))


def _hashes(findings: Findings, file: str) -> set[str]:
    """Return the hashes of a document's versions among the findings."""
    found = (it for it in findings.ledger.results if it.citation.source_file == file)
    return {str(it.metadata.get(DOCUMENT_SHA256, "")) for it in found}


def receipt_of(message: Message, consultation: Consultation, asked_at: str) -> dict[str, Any]:
    """Return the content of the receipt of a consultation's message; ``asked_at`` is ISO 8601, UTC."""
    findings = consultation.findings
    evidence = []
    for cited in message.places:
        found = findings.ledger.lines(*cited)
        if found is None:  # only lines in the ledger can be cited
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
        "offers": [
            {
                "name": it.name,
                "source_file": it.source_file,
                "line": it.line,
                "document_sha256": ",".join(sorted(_hashes(findings, it.source_file))),
            }
            for it in message.offers
        ],
        "answer_sha256": hashlib.sha256(to_text(message).encode()).hexdigest(),
        "version": VERSION,
    }


def id_of(says: Mapping[str, Any]) -> str:
    """Return the id of a receipt: ``kr-`` and 20 characters of the hash of its content."""
    hashed = hashlib.sha256(canonical(says)).digest()
    return "kr-" + base64.b32encode(hashed).decode().lower()[:20]  # 100 bits


def offer_in(says: Mapping[str, Any], number: int) -> Offered:
    """Return an offer in a receipt, by its number from 1.

    Raises:
        InvalidRequest: it has no offer of that number.
    """
    for one in says.get("offers", ())[max(0, number - 1) : number]:
        at = (one["source_file"], one["line"])
        return Offered(says["question"], one["name"], at, one["document_sha256"])
    raise InvalidRequest("This answer has no offer of that number.")


class Receipts:
    """The receipts in a folder, a file for each day (UTC), readable only by its owner.

    Thread-safe, and safe for several processes if the system can lock files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def add(self, says: Mapping[str, Any]) -> str:
        """Append a receipt to the file of its day, and return its id; an existing one isn't repeated."""
        number = id_of(says)
        with self._opened(f"{str(says['asked_at'])[:10]}.jsonl") as (path, append):
            before = FIRST
            for one in _lines(path):
                if one.get("id") == number:
                    return number
                before = str(one.get("sha256"))
            append({"id": number, "says": says, "before": before, "sha256": _chained(before, says)})
        return number

    def find(self, number: str) -> Found:
        """Return a receipt, and check its day's chain.

        Raises:
            InvalidRequest: there is none with that id.
        """
        for path in sorted(self._folder.glob(_DAYS), reverse=True):
            lines = list(_lines(path))
            for position, one in enumerate(lines):
                if one.get("id") == number:
                    return Found(one["says"], tuple(_problems(path.name, lines, position)))
        raise InvalidRequest(f"no receipt {number[:80]} in {self._folder}")

    def report(self, number: str, citation: Citation, person: str, reported_at: str) -> bool:
        """Record that a person reports a citation of a receipt's evidence as wrong; return whether that is new.

        ``person`` is a pseudonym, never a name or an account; ``reported_at`` is ISO 8601, UTC.
        """
        told = {"id": number, "citation": citation.to_dict(), "by": person}
        with self._opened(_REPORTS) as (path, append):
            is_new = all(told != {key: one.get(key) for key in told} for one in _lines(path))
            if is_new:
                append({**told, "reported_at": reported_at})
        return is_new

    def reports(self, number: str) -> list[dict[str, Any]]:
        """Return a receipt's reports: ``citation``, ``by`` and ``reported_at`` of each."""
        found = (it for it in _lines(self._folder / _REPORTS) if it.get("id") == number)
        return [{key: it[key] for key in ("citation", "by", "reported_at")} for it in found]

    def was_pressed(self, button: str) -> bool:
        """Whether a button's answer was posted, see :meth:`pressed`."""
        return {"button": _digest(button)} in _lines(self._folder / _PRESSED)

    def pressed(self, button: str) -> None:
        """Record that a button's answer was posted, so that it isn't repeated after a restart."""
        with self._opened(_PRESSED) as (_, append):
            append({"button": _digest(button)})

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[Path, Callable[[Mapping[str, Any]], None]]]:
        """Yield a locked file of the folder, and a function that appends a line to it."""
        with self._lock:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = self._folder / name
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "a+b") as opened:
                lock(opened)
                _remove_unfinished(opened)

                def append(line: Mapping[str, Any]) -> None:
                    opened.write(canonical(line) + b"\n")
                    opened.flush()
                    os.fsync(opened.fileno())

                yield path, append


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def citation_in(evidence: Mapping[str, Any]) -> Citation:
    """Return the citation of an entry of a receipt's evidence."""
    return Citation(evidence["source_file"], evidence["start_line"], evidence["end_line"])


def _problems(name: str, lines: list[dict[str, Any]], last: int) -> Iterator[str]:
    before = FIRST
    for number, one in enumerate(lines, start=1):
        says = one.get("says")
        if not isinstance(says, dict):
            yield f"{name}, line {number}: not a receipt"
            continue
        if number - 1 == last and id_of(says) != one.get("id"):
            yield f"{name}, line {number}: the id doesn't match the receipt's content"
        if one.get("before") != before or one.get("sha256") != _chained(before, says):
            yield f"{name}, line {number}: the chain is broken"
        before = str(one.get("sha256"))


def _chained(before: str, says: Mapping[str, Any]) -> str:
    return hashlib.sha256(before.encode() + canonical(says)).hexdigest()


def _remove_unfinished(opened: BinaryIO) -> None:
    """Remove an incomplete last line, as a full disk leaves it: the next line would be appended to it."""
    size = opened.seek(0, os.SEEK_END)
    opened.seek(max(0, size - 1))
    if opened.read() != b"\n":
        opened.seek(0)
        opened.truncate(opened.read().rfind(b"\n") + 1)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    for line in data.split(b"\n")[:-1]:  # an incomplete line has no end
        try:
            one = json.loads(line)
        except ValueError:
            one = {}
        yield one if isinstance(one, dict) else {}


class KeepsReceipts(Protocol):
    """A store of receipts."""

    def add(self, says: Mapping[str, Any]) -> str:
        """Store a receipt, and return its id."""


@dataclass(frozen=True, slots=True)
class Answering:
    """Looks incidents up, and stores a receipt of each answer; without an advisor, the documents' own lines are it."""

    retrieval: Retrieval
    advisor: Advisor | None
    links: RepositoryLinks | None
    receipts: KeepsReceipts

    def answer(  # noqa: PLR0913 - what is asked, and what it belongs to
        self,
        incident: Incident,
        title: str,
        now: float,
        queries: tuple[Query, ...] | None = None,
        offered: Offered | None = None,
        *,
        event: str = "",
    ) -> Message:
        """Return the message for an incident, with its receipt.

        The title is the question as asked; the queries are by default those that the incident suggests; ``offered`` by
        an earlier answer, a procedure is returned alone; with an event's key, no two events share a receipt.

        Raises:
            InvalidRequest: the offered procedure is gone or has changed.
        """
        advisor = self.advisor
        if offered is not None:
            incident = replace(incident, at=offered.at)
            if not offered.name:  # all steps, as in the page: neither words nor a model choose
                incident, queries, advisor = Incident(at=offered.at), None, ExtractiveAdvisor()
        consultation = asyncio.run(consult(incident, self.retrieval, advisor, queries=queries))
        if offered is not None:
            offered.check(consultation.findings)
        message = message_of(incident, consultation, self.links, title=title)
        asked_at = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        says = receipt_of(message, consultation, asked_at)
        says |= {"event": event} if event else {}
        return replace(message, receipt=self.receipts.add(says))
