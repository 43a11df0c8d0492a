"""Turns a consultation's reports into the console's events: source cards, a pasted alert's card, rendered text, warnings."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.channel.marks import is_web_address
from knowledge_rag.console.documents import citation_url, document_url, stale_at_a_glance
from knowledge_rag.console.rendering import AnswerRenderer
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.findings import caution_sentence, drift_sentences
from knowledge_rag.core.metadata import CAUTION, DRIFT
from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.headings import heading_words
from knowledge_rag.guardrails.resolve import why_removed
from knowledge_rag.guardrails.staleness import CitedLines
from knowledge_rag.orchestrator.incident import Incident, name_of
from knowledge_rag.orchestrator.links import Link, fit
from knowledge_rag.orchestrator.pagers import SUPPORTED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.guardrails.staleness import Corpus
    from knowledge_rag.orchestrator.consultation import Consultation


_KNOWN = {
    "title": "title",
    "document_type": "documentType",
    "relevance_score": "score",
    "page": "page",
    "document_sha256": "documentSha256",
    "commit": "commit",
    "last_changed": "lastChanged",
    "last_reviewed": "lastReviewed",
}


def cards(
    evidence: Sequence[Mapping[str, Any]], fetched_at: str, corpus: Corpus | None
) -> list[dict[str, Any]]:
    """Return the cards for evidence."""
    return as_of_now([_card(one, fetched_at) for one in evidence], corpus)


def _card(one: Mapping[str, Any], fetched_at: str) -> dict[str, Any]:
    citation = Citation(**one["citation"])
    card = {
        "number": one["number"],
        "id": f"source-{one['number']}",
        "title": citation.source_file,
        "source": citation.source_file,
        "url": citation_url(citation),
        "fetchedAt": fetched_at,
        "citation": one["citation"],
        "reference": str(citation),
        "content": one["content"],
        "section": heading_words(citation.section_header),
    }
    card |= {name: one[key] for key, name in _KNOWN.items() if key in one}
    if is_web_address(one.get("source_url")):
        card["sourceUrl"] = one["source_url"]
    if caution := caution_sentence(citation, one.get(CAUTION, ())):
        card["caution"] = caution
    if drift := drift_sentences(citation, one.get(DRIFT, ())):
        card["drift"] = drift
    return card


def as_of_now(shown: Sequence[Mapping[str, Any]], corpus: Corpus | None) -> list[dict[str, Any]]:
    """Return cards, each with the current state of its lines."""
    cited = [
        CitedLines(Citation(**one["citation"]), one["content"], one.get("documentSha256"))
        for one in shown
    ]
    known = stale_at_a_glance(cited, corpus)
    return [
        {name: value for name, value in one.items() if name != "stale"}
        | ({"stale": stale} if stale else {})
        for one, stale in zip(shown, known, strict=True)
    ]


def utc_now() -> str:
    """Return the present moment, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


WARNING: Final = "Quality check detected potential issues. Please verify information independently."

Event = tuple[str, dict[str, Any]]
"""Name and data."""


@dataclass(slots=True)
class AnswerEvents:
    """The console events of one consultation, and the verified answer so far; the methods block.

    ``sources`` are the cards that the answer refers to, ``blocks`` its HTML by number, ``cited`` file, first and last
    line of its citations. ``corpus`` is as it is now, ``None`` if unknown; ``now`` is ISO 8601.
    """

    corpus: Corpus | None
    now: str
    pasted: Incident | None = None
    sources: list[dict[str, Any]] = field(default_factory=list)
    text: str = ""
    parts: list[Mapping[str, Any]] = field(default_factory=list)
    by_model: bool = False
    blocks: dict[int, str] = field(default_factory=dict)
    cited: set[tuple[str, int, int]] = field(default_factory=set)
    _renderer: AnswerRenderer = field(default_factory=AnswerRenderer)
    _unsent: str = ""

    @property
    def incident(self) -> dict[str, Any]:
        """The pasted alert's card, with links to the retrieved documents; empty for a question in words."""
        if self.pasted is None:
            return {}
        return {"incident": alert_card(self.pasted, {one["source"] for one in self.sources})}

    def events_for(self, reported: Iterable[Mapping[str, Any]]) -> list[Event]:
        """Return the console events for the consultation's reports since the last call."""
        return list(self._events(reported))

    def end(self, consultation: Consultation) -> list[Event]:
        """Return the last events of an answer: the rest of its text, and warnings if there are any."""
        rest = list(self._chunks(whole=True))
        warnings = [one.to_dict() for one in consultation.recommendation.warnings]
        removed = removed_of(consultation)
        if not warnings and not removed:
            return rest
        return [*rest, ("warnings", {"message": WARNING, "warnings": warnings, "removed": removed})]

    def _events(self, reported: Iterable[Mapping[str, Any]]) -> Iterator[Event]:
        for event in reported:
            if event["event"] == "text":
                self._take(event)
                continue
            yield from self._chunks(whole=True)
            yield from self._status_events(event)
        yield from self._chunks()

    def _status_events(self, event: Mapping[str, Any]) -> Iterator[Event]:
        match event["event"]:
            case "preparing":
                yield "status", {"stage": "searching", "message": "Getting ready"}
            case "searching":
                status = {"stage": "searching", "message": "Searching the knowledge base"}
                status |= {"queries": event["queries"]}
                yield "status", status | self.incident
            case "found":
                yield "status", _found(event)
            case "evidence":
                self.sources = cards(event["sources"], self.now, self.corpus)
                yield "citations", {"sources": self.sources} | self.incident
                yield "status", {"stage": "writing", "message": "Writing the answer"}
            case "restarted":
                self._start_over()
                message = "The text so far is withdrawn: the answer is being rewritten"
                reason = event.get("reason")
                yield "status", {"stage": "restarted", "message": message, "reason": reason}

    def _take(self, event: Mapping[str, Any]) -> None:
        self._renderer.feed(event["parts"])
        self.parts += event["parts"]
        self.text += event["text"]
        self.by_model = event["by_model"]
        self._unsent += event["text"]
        for part in event["parts"]:
            for one in part.get("citations", ()):
                citation = one["citation"]
                where = (citation["source_file"], citation["start_line"], citation["end_line"])
                self.cited.add(where)

    def _chunks(self, *, whole: bool = False) -> Iterator[Event]:
        """Return the blocks that changed; the first one carries the text of them all."""
        if not (self._renderer.is_due() or (whole and self._unsent)):
            return
        for block in self._renderer.render():
            self.blocks[block.number] = block.html
            yield self._chunk(block.number)
        if whole and self._unsent and self.blocks:  # a last line break changes no block
            yield self._chunk(max(self.blocks))

    def _chunk(self, number: int) -> Event:
        text, self._unsent = self._unsent, ""
        block = {"block": number, "html": self.blocks[number]}
        return "chunk", {"text": text, **block, "byModel": self.by_model}

    def _start_over(self) -> None:
        self.text = self._unsent = ""
        self.parts, self.blocks, self.cited = [], {}, set()
        self._renderer = AnswerRenderer()


def removed_of(consultation: Consultation) -> list[dict[str, Any]]:
    """Return the references that were removed from an answer, with the reasons."""
    verified = consultation.verified
    if verified is None:
        return []
    ledger = consultation.findings.ledger
    return [
        {"reference": one.text, "reason": one.why.value, "message": why_removed(one, ledger)}
        for one in verified.removed
    ]


def _found(event: Mapping[str, Any]) -> dict[str, Any]:
    sources, status = event["sources"], event["status"]
    message = f"Found {sources} relevant source{'' if sources == 1 else 's'}"
    if status == Status.NO_MATCH.value:
        message = "Searched, and found nothing documented"
    elif status == Status.DEGRADED.value:
        message = "The knowledge base could not be searched"
    return {"stage": "found", "message": message, "sources": sources, "status": status}


def html_of(blocks: Mapping[int, str]) -> Sequence[str]:
    """Return an answer's rendered blocks in order, without empty ones."""
    return [blocks[number] for number in sorted(blocks) if blocks[number]]


_JSON: Final = re.compile(r"\s*(?:\{|\[\s*[{\[\"])")
"""The beginning of JSON; ``[FIRING:1] DiskFull`` is a title."""


def pasted_incident(text: str) -> Incident | None:
    """Return the incident whose JSON was pasted; ``None`` for a question in words.

    Raises:
        Refused: it begins like JSON, but isn't JSON or has nothing to look up.
    """
    incident = Incident.pasted_in(text)
    if incident is None and _JSON.match(text):
        raise Refused(400, _trouble(text))
    return incident


def _trouble(text: str) -> str:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return f"the pasted JSON is broken or cut off at {where}: paste all of it, or ask in words"
    except (ValueError, RecursionError):
        return "the pasted JSON can't be read: ask in words"
    return f"the pasted JSON names nothing to look up; {SUPPORTED}"


def alert_card(incident: Incident, source_files: Collection[str] = ()) -> dict[str, Any]:
    """Return the card that the page shows for a pasted incident; a link to one of ``source_files`` opens it in the console."""
    return {
        "name": name_of(incident),
        "readAs": incident.read_as,
        "since": incident.since,
        "alerts": [_row(one) for one in incident.alerts or (incident,)],
        "runbooks": [_runbook(link, source_files) for link in incident.links],
        "problems": list(incident.problems),
    }


def _row(alert: Incident) -> dict[str, str]:
    name = alert.alert_name or name_of(alert)
    said = next((it for it in (alert.title, alert.description, *alert.signals) if it != name), "")
    return {
        "name": name,
        "severity": alert.severity,
        "service": alert.service,
        "since": alert.since,
        "said": said,
    }


def _runbook(link: str, source_files: Collection[str]) -> dict[str, str]:
    """Return a link as written, and its target: a document if one fits it, otherwise the web."""
    shown = {"text": link}
    meant = Link.said_in(link)
    fits = {name: it for name in source_files if meant.parts and (it := fit(meant, name, ""))}
    if fits:
        source = max(sorted(fits), key=lambda name: fits[name])
        return {**shown, "source": source, "url": document_url(source)}
    return {**shown, "url": link} if is_web_address(link) else shown
