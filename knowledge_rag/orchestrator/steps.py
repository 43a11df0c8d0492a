"""Makes steps, guards, similar incidents and evidence of procedures; all citations are retrieved lines.

An item's lines are looked up in the ledger: a line that isn't there can't be cited, so it can't be a step.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.headings import ACTIONS, Kind, kind_of_heading
from knowledge_rag.core.metadata import DOCUMENT_SHA256, DOCUMENT_TYPE, is_sha256
from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.danger import dangers_in
from knowledge_rag.guardrails.support.report import Verdict
from knowledge_rag.orchestrator.governing import prohibits
from knowledge_rag.orchestrator.outline import SERVICE, outline_of
from knowledge_rag.orchestrator.procedures import NotShown, Why
from knowledge_rag.orchestrator.recommendation import (
    MAX_INCOMPLETE,
    MAX_STEPS,
    PART_MISSING,
    CitedLines,
    Evidence,
    Guard,
    Section,
    SimilarIncident,
    Step,
    Strength,
)
from knowledge_rag.orchestrator.relevance import ENOUGH
from knowledge_rag.orchestrator.wording import listed
from knowledge_rag.orchestrator.words import told_of, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.guardrails.ledger import Cited, Ledger
    from knowledge_rag.guardrails.ledger import Evidence as Retrieved
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.outline import Block as Lines
    from knowledge_rag.orchestrator.outline import Outline
    from knowledge_rag.orchestrator.planning import Block, Plan
    from knowledge_rag.orchestrator.procedures import Item, Procedure
    from knowledge_rag.orchestrator.retrieval import Findings

MAX_PAST: Final = 3
"""Maximum similar incidents."""
MIN_SHARED: Final = 3
"""Minimum words that the report of a similar incident shares with this one."""
MAX_SAID: Final = 3
"""Maximum paragraphs or items of a report's section that are shown."""

INCIDENT_ID: Final = "incident_id"


class Citer:
    """Cites lines of documents that retrieval returned."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._ledger: Ledger = findings.ledger

    def cite(self, source_file: str, start: int, end: int) -> list[CitedLines]:
        """Return the narrowest citations of lines, in order; none for blank and unknown lines.

        Consecutive lines of one passage are one citation.
        """
        cited: list[CitedLines] = []
        number = start
        while number <= end:
            found = None
            # the longest range from here that one passage contains
            for last in range(end, number - 1, -1):
                if found := self._ledger.lines(source_file, number, last):
                    break
            if found is None:
                number += 1
                continue
            behind = found.citation.end_line + 1
            first, last = number, behind - 1
            lines = found.content.split("\n")
            while first <= last and not lines[first - number].strip():
                first += 1
            while last >= first and not lines[last - number].strip():
                last -= 1
            trimmed = self._ledger.lines(source_file, first, last) if first <= last else None
            if trimmed is not None:
                cited.append(self.lines_of(trimmed))
            number = behind
        return cited

    def lines_of(self, cited: Cited | Retrieved) -> CitedLines:
        """Return lines of the ledger with their checksum and their document's."""
        digest = hashlib.sha256(cited.content.encode()).hexdigest()
        known = self._findings.result(cited.number).metadata.get(DOCUMENT_SHA256)
        document = known if isinstance(known, str) and is_sha256(known) else ""
        return CitedLines(cited.citation, digest, document)


def steps_of(plan: Plan, citer: Citer) -> tuple[list[Step], list[Section]]:
    """Return the steps of all procedures, and the procedures that they belong to.

    Steps beyond MAX_STEPS are named as not shown.
    """
    steps: list[Step] = []
    sections: list[Section] = []
    for procedure in plan.procedures:
        own: list[Step] = []
        left = list(procedure.not_shown)
        for item in procedure.items:
            if len(steps) + len(own) >= MAX_STEPS:
                left.append(
                    NotShown(procedure.source_file, item.start, procedure.items[-1].end, Why.LIMIT)
                )
                break
            if step := _step(procedure, item, len(sections) + 1, citer):
                own.append(step)
            else:
                left.append(
                    NotShown(procedure.source_file, item.start, item.end, Why.NOT_RETRIEVED)
                )
        if own:
            sections.append(Section.of(procedure, left))
            steps += own
    return steps, sections


def _step(procedure: Procedure, item: Item, number: int, citer: Citer) -> Step | None:
    guards = []
    shown: list[CitedLines] = []
    for it in item.governing:
        cited = citer.cite(it.sent_from or procedure.source_file, it.start, it.end)
        if cited:
            guards.append(Guard(it.text, it.kind, it.after, tuple(cited)))
            shown += () if it.withheld else cited
    own = [
        one
        for start, end in _without_withheld(item)
        for one in citer.cite(procedure.source_file, start, end)
    ]
    if not own:
        return None
    kind = item.kind if item.kind in ACTIONS else Kind.OTHER
    return Step(
        item.text,
        tuple(dict.fromkeys((*own, *shown))),
        tuple(it for it in item.commands if it != item.text),
        Verdict.SUPPORTED,
        number,
        item.number,
        kind,
        item.path,
        item.parts,
        tuple(guards),
        dangers_of("\n".join(part.text for part in item.parts)),
    )


def dangers_of(text: str) -> tuple[str, ...]:
    """Return labels of what a step may destroy, each once; prohibited actions don't count."""
    found = []
    for it in dangers_in(text):
        sentence = max(text.rfind(mark, 0, it.start) for mark in (". ", "\n", ": ", "; "))
        if not prohibits(text[max(sentence, 0) : it.start + 1].lstrip(" .:;\n") or " "):
            found.append(it.label)
    return tuple(dict.fromkeys(found))


def _without_withheld(item: Item) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of an item, except lines in it that must not be followed."""
    start = item.start
    for it in sorted(item.governing, key=lambda it: it.start):
        if it.withheld and start <= it.start <= item.end:
            if it.start > start:
                yield start, it.start - 1
            start = it.end + 1
    if start <= item.end:
        yield start, item.end


CONFIDENCE: Final = {
    "linked": 0.85, "named": 0.8, "coded": 0.8, "quoting": 0.65, "told": 0.65, "page": 0.6, "linked page": 0.6,
}  # fmt: skip
"""Confidence by the reason for choosing a procedure: the alert links it; it is filed under the alert's name, or a code of
the question; it quotes a message of the incident; its heading and its page's name have all words of that name; it is the
best section of a page that is filed under it or linked. A good score adds up to a tenth."""
FOUND_MOST: Final = 0.75
"""Maximum confidence in a procedure that search found: its score, or its share of the incident's words."""


def evidence_of(
    incident: Incident, plan: Plan, sections: Sequence[Section], findings: Findings
) -> tuple[Evidence, float]:
    """Return the strength of the evidence with its reasons, and the confidence, 0..1.

    A whole procedure that the alert links or that is filed under its name is strong, unless other pages fit as well.
    A procedure is thin if there is a doubt about it, or if search found it with a score, or a share of the incident's
    words, below ENOUGH. Anything else is partial. The confidence is that of the least certain block, half of it if there is a doubt, and at most
    MAX_INCOMPLETE if anything is missing.
    """
    blocks = [block for block in plan.blocks if block.procedures]
    whys = {block.why for block in blocks}
    fits = {id(block): _fit(block, incident) for block in blocks}
    reasons: list[str] = []
    if not whys:
        reasons.append("no procedure was found, only earlier incidents")
    elif len(whys) > 1:
        reasons.append("not every procedure is filed under its alert's name")
    else:
        reasons += filter(None, [_REASONS.get(*whys)])
    thin = any(block.why == "found" and fits[id(block)] < ENOUGH for block in blocks)
    if thin:
        reasons.append("search found it, and it may be about something else: check that it fits")
    elif whys == {"found"}:
        known = (
            "it is not filed under the alert's name" if incident.alert_name else "no alert names it"
        )
        reasons.append(f"search found it; {known}")
    if unknown := dict.fromkeys(word for block in blocks for word in block.unknown):
        reasons.append(f"it never mentions {', '.join(unknown)}")
    doubts = dict.fromkeys(block.doubt for block in blocks if block.doubt)
    missing = list(_missing(plan, sections, findings))
    also = list(dict.fromkeys(it for block in blocks for it in block.also))
    if also:
        reasons.append(f"so {'are' if len(also) > 1 else 'is'} {listed(also)}")
    strong = bool(whys) and whys <= {"linked", "named", "coded"} and not (missing or also)
    strength = Strength.THIN if thin or doubts else Strength.STRONG if strong else Strength.PARTIAL
    confidence = min((_confidence(it.why, fits[id(it)]) for it in blocks), default=0.0)
    confidence /= 2 if doubts else 1
    return (
        Evidence(strength, tuple(dict.fromkeys((*reasons, *doubts, *missing)))),
        round(min(confidence, MAX_INCOMPLETE) if missing else confidence, 2),
    )


_REASONS: Final = {
    "chosen": "you chose this procedure",
    "linked": "the alert links this procedure",
    "named": "it is filed under the alert's name",
    "coded": "it is filed under a code in the question",
    "quoting": "it quotes a message in the question or alert",
    "told": "its heading and its page's name have all words of the alert's name",
    "linked page": "the alert links its page, and no heading tells which section",
    "page": "its page is filed under the alert's name, and no heading tells which section",
}


def _confidence(why: str, fit: float) -> float:
    base = CONFIDENCE.get(why)
    return min(fit, FOUND_MOST) if base is None else base + 0.1 * fit


def _missing(plan: Plan, sections: Sequence[Section], findings: Findings) -> Iterator[str]:
    if any(not it.complete for it in sections):
        yield PART_MISSING
    if any(it.source_file in plan.cut_off for it in plan.procedures):
        yield "the rest of its document could not be retrieved"
    if any(block.alert and not block.procedures for block in plan.blocks):
        yield "not every alert of the group is documented"
    if findings.failures:
        yield "a query could not be answered"


def _fit(block: Block, incident: Incident) -> float:
    """Return how well a procedure that search found fits the incident, 0..1."""
    if block.score is not None:
        return min(block.score, 1.0)
    words = told_of(incident)
    known = words_of(
        text
        for it in block.procedures
        for text in (
            *it.path,
            it.source_file,
            *(item.text for item in it.items),
            *(command for item in it.items for command in item.commands),
            *(guard.text for item in it.items for guard in item.governing),
        )
    )
    return len(words & known) / len(words) if words else 0.0


# earlier incidents


def similar_of(incident: Incident, findings: Findings, citer: Citer) -> list[SimilarIncident]:
    """Return similar earlier incidents, most similar first, with their resolutions.

    A report is similar if it has the same service, or that of the best runbook found. A report without a service is
    similar if it shares MIN_SHARED words with the incident.
    """
    passages: defaultdict[str, list[RetrievalResult]] = defaultdict(list)
    for it in findings.ledger.results:
        passages[it.citation.source_file].append(it)
    similar: list[SimilarIncident] = []
    for name in _alike(incident, findings, passages):
        if len(similar) == MAX_PAST:
            break
        its = passages[name]
        outline = outline_of(its, whole=False)
        blocks = list(_resolution(outline))[:MAX_SAID]
        cited = [one for block in blocks for one in citer.cite(name, block.start, block.end)]
        said = "\n".join(outline.text(block.start, block.end) for block in blocks)
        known = its[0].metadata.get(INCIDENT_ID)
        if cited and said.strip():
            incident_id = known if isinstance(known, str) else ""
            similar.append(SimilarIncident(said, tuple(cited), incident_id, Verdict.SUPPORTED))
    return similar


def _alike(
    incident: Incident, findings: Findings, passages: Mapping[str, Sequence[RetrievalResult]]
) -> list[str]:
    """Return the reports of similar incidents, most similar first."""
    words = told_of(incident)
    services = {incident.service.casefold(), _best_service(findings)} - {""}

    @cache
    def is_alike(name: str, service: str) -> bool:
        if service:
            return service.casefold() in services
        shared = words & words_of([name, *(it.content for it in passages[name])])
        return len(shared) >= MIN_SHARED

    worth: defaultdict[str, float] = defaultdict(float)
    for asked in findings.asked:
        for rank, result in enumerate(asked.outcome.results):
            name, service = result.citation.source_file, str(result.metadata.get(SERVICE, ""))
            is_report = result.metadata.get(DOCUMENT_TYPE) == DocumentType.POSTMORTEM
            if is_report and is_alike(name, service):
                worth[name] += 1 / (2 + rank)
    return sorted(worth, key=lambda name: -worth[name])


def _resolution(outline: Outline) -> Iterator[Lines]:
    """Yield the blocks of a report's sections that say how the incident was resolved."""
    for section in outline.sections():
        if kind_of_heading(section.heading) is Kind.RESOLUTION and section.level:
            yield from section.blocks


def _best_service(findings: Findings) -> str:
    """Return the service of the first result that isn't a report of an incident."""
    for asked in findings.asked:
        for result in asked.outcome.results:
            if result.metadata.get(DOCUMENT_TYPE) != DocumentType.POSTMORTEM:
                return str(result.metadata.get(SERVICE, "")).casefold()
    return ""


def status_of(plan: Plan) -> tuple[tuple[str, Status], ...]:
    """Return, for each alert of a group, whether anything is documented for it."""
    return tuple(
        (
            block.alert,
            Status.OK
            if block.procedures
            else Status.NO_MATCH
            if block.looked_up
            else Status.DEGRADED,
        )
        for block in plan.blocks
        if block.alert
    )
