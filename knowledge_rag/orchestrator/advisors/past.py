"""What resolved earlier incidents, lifted from the reports that retrieval returned."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.metadata import DOCUMENT_TYPE
from knowledge_rag.orchestrator.advisors.lifting import ROWS, Lifted, lifted_from
from knowledge_rag.orchestrator.advisors.passages import passages_of
from knowledge_rag.orchestrator.advisors.sections import Purpose
from knowledge_rag.orchestrator.relevance import shared_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.incident import Incident

MAX_PAST: Final = 3
"""Similar incidents at most."""

MIN_SHARED: Final = 3
"""Words that the report of a similar incident shares with this one at least."""

MAX_SAID: Final = 3
"""Paragraphs or items of a report's section that are given."""

SERVICE: Final = "service"
INCIDENT_ID: Final = "incident_id"

_RESOLVED: Final = re.compile(
    r"\b(?:resolved|restored|recover(?:ed|s)|mitigated|fixed|ended the (?:outage|incident)"
    r"|rolled back|rebuilt|reverted|raised from|failed over|successful|is gone|completed|stops?)\b",
    re.IGNORECASE,
)


class Past(NamedTuple):
    """An earlier incident: its id, ``""`` if its report names none, and what resolved it."""

    name: str
    resolution: Lifted


def past_of(findings: Findings, incident: Incident, told: set[str]) -> list[Past]:
    """Give the earlier incidents like this one, the most alike first.

    Alike is a report of the same service, or of one whose runbook was found best; a report without
    a service if it shares MIN_SHARED words with the incident.

    Args:
        findings: what retrieval gave.
        incident: this one.
        told: the words that tell of it.

    Returns:
        At most MAX_PAST, each with the lines that say what resolved it; a report whose retrieved
        lines don't say that is left out.
    """
    alike = _reports(findings, incident, told)
    ranked = sorted(alike, key=lambda name: -alike[name])
    resolutions: dict[str, Lifted] = {}
    for lifted in _resolutions(findings, told):
        resolutions.setdefault(lifted.source_file, lifted)
    found = [resolutions[name] for name in ranked if name in resolutions]
    names = {
        r.citation.source_file: _text(r.metadata.get(INCIDENT_ID)) for r in findings.ledger.results
    }
    return [Past(names[it.source_file], it) for it in found[:MAX_PAST]]


def _reports(findings: Findings, incident: Incident, told: set[str]) -> dict[str, float]:
    """Give the reports of incidents that are alike, with how much they are so."""
    shared = shared_words(findings.ledger.results, told)
    services = {incident.service.casefold(), _best_service(findings)} - {""}
    alike: dict[str, float] = defaultdict(float)
    for asked in findings.asked:
        for rank, result in enumerate(asked.outcome.results):
            name, metadata = result.citation.source_file, result.metadata
            if metadata.get(DOCUMENT_TYPE) != DocumentType.POSTMORTEM:
                continue
            service = _text(metadata.get(SERVICE)).casefold()
            if service in services or (not service and len(shared[name]) >= MIN_SHARED):
                alike[name] += 1 / (2 + rank)
    return alike


def _best_service(findings: Findings) -> str:
    """Give the service of the runbook that came first."""
    for asked in findings.asked:
        for result in asked.outcome.results:
            if result.metadata.get(DOCUMENT_TYPE) != DocumentType.POSTMORTEM:
                return _text(result.metadata.get(SERVICE)).casefold()
    return ""


def _resolutions(findings: Findings, told: set[str]) -> Iterator[Lifted]:
    """Give what may say how an incident was resolved, the likeliest of each report first."""
    reports = {
        result.citation.source_file
        for result in findings.ledger.results
        if result.metadata.get(DOCUMENT_TYPE) == DocumentType.POSTMORTEM
    }
    passages = [it for it in passages_of(findings) if it.source_file in reports]
    lifted = {id(passage): lifted_from(passage, told) for passage in passages}
    for passage in passages:
        said = [it for it in lifted[id(passage)] if it.kind is not ROWS]
        if passage.purpose is Purpose.RESOLUTION and said:
            yield _together(said[:MAX_SAID])
    for passage in passages:
        if not any("action item" in heading.casefold() for heading in passage.path):
            yield from (it for it in lifted[id(passage)] if _RESOLVED.search(it.action))


def _together(said: Sequence[Lifted]) -> Lifted:
    """Make one of what a section says first; its heading, which says nothing of it, left out."""
    bare = [it for it in said if it.action != it.passage.path[-1]]
    words = [line for it in bare for line in it.action.split("\n")]
    headings = {it.numbers[0] for it in said if it not in bare} if words else set()
    return Lifted(
        "\n".join(words) or said[0].action,
        tuple(command for it in said for command in it.commands),
        tuple(sorted({number for it in said for number in it.numbers} - headings)),
        said[0].passage,
        said[0].kind,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
