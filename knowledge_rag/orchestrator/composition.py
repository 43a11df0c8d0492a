"""From an advisor's answer to a recommendation: the one way there, whoever wrote the answer.

The answer is verified against the evidence first, and only what is left of it is read. Every
citation of a recommendation is one of the verified answer's; a step that kept none is left out and
counted.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.metadata import DOCUMENT_SHA256, DOCUMENT_TYPE, is_sha256
from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.draft import Kind
from knowledge_rag.guardrails.support.report import Verdict
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator import wording
from knowledge_rag.orchestrator.advisors.noted import NotedFindings
from knowledge_rag.orchestrator.advisors.passages import path_of
from knowledge_rag.orchestrator.advisors.subjects import is_at
from knowledge_rag.orchestrator.answer import read_answer
from knowledge_rag.orchestrator.confidence import ground
from knowledge_rag.orchestrator.gaps import earlier_missing
from knowledge_rag.orchestrator.linked import called_alike, followed, words_of_link
from knowledge_rag.orchestrator.recommendation import (
    MAX_STEPS,
    MAX_WARNINGS,
    CitedLines,
    Concern,
    Recommendation,
    Shortfall,
    SimilarIncident,
    Step,
    Warned,
)
from knowledge_rag.orchestrator.relevance import documents_about
from knowledge_rag.orchestrator.support import judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.guardrails.verify import Cited, Settings, Verified
    from knowledge_rag.orchestrator.advisors.advisor import Advice
    from knowledge_rag.orchestrator.answer import Answer, Part
    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.incident import Incident

INCIDENT_ID: Final = "incident_id"

MAX_NAMED: Final = 3
"""Documents that are about an incident and give no step: so many are named."""

_SHOWN_UNCITED: Final = 60
"""Characters of a step that was left out that its warning quotes."""


def recommend(
    incident: Incident, advice: Advice, settings: Settings | None = None
) -> Recommendation:
    """Turn an advisor's answer into a recommendation.

    Args:
        incident: that the answer is for.
        advice: the answer, and the evidence that it was written from.
        settings: of the verification.
    """
    verified = verify(advice.text, advice.findings.ledger, settings)
    return compose(incident, verified, advice.findings, advice.advisor)


def compose(
    incident: Incident, verified: Verified, findings: Findings, advisor: str
) -> Recommendation:
    """Make a recommendation of a verified answer.

    Args:
        incident: that the answer is for.
        verified: the answer, verified against the ledger of ``findings``.
        findings: the evidence.
        advisor: the name of who wrote the answer.
    """
    if findings.status is not Status.OK:
        return without_advice(incident, findings)
    composer = _Composer(incident, verified, findings)
    if not composer.steps and not composer.similar:
        return composer.nothing(advisor)
    return composer.recommendation(advisor)


def without_advice(incident: Incident, findings: Findings) -> Recommendation:
    """Say honestly that there is none: nothing documented, no search, or no advisor's answer.

    Args:
        incident: that advice was wanted for.
        findings: what retrieval gave for it.
    """
    warnings = _bounded(list(_of_search(incident, findings)))
    asked = wording.counted(len(findings.asked), "query")
    if findings.status is Status.OK:
        summary, reason = wording.NO_ADVICE, Shortfall.ADVICE_FAILED
        told = f"{asked} returned {wording.counted(len(findings.ledger), 'passage')}; nobody wrote advice."
        return Recommendation(Status.DEGRADED, summary, told, warnings=warnings, reason=reason)
    if findings.status is Status.NO_MATCH:
        told = f"{asked} found nothing." if findings.asked else "There was nothing to ask about."
        return Recommendation(Status.NO_MATCH, wording.NO_MATCH, told, warnings=warnings)
    return _degraded(findings, warnings)


def _degraded(
    findings: Findings, warnings: tuple[Warned, ...], advisor: str = ""
) -> Recommendation:
    failed = sum(asked.outcome.status is Status.DEGRADED for asked in findings.asked)
    asked = wording.counted(len(findings.asked), "query")
    told = f"{failed} of {asked} could not be answered: {wording.listed([*findings.failures])}."
    return Recommendation(
        Status.DEGRADED,
        wording.UNREACHABLE,
        told,
        warnings=warnings,
        advisor=advisor,
        reason=findings.failures[0],
    )


class _Composer:
    """Makes steps and warnings out of the parts of one answer."""

    def __init__(self, incident: Incident, verified: Verified, findings: Findings) -> None:
        self._incident = incident
        self._verified = verified
        self._findings = findings
        self._warnings: list[Warned] = []
        self._answer = read_answer(verified, self._is_past)
        self._cut(self._answer)
        self._cited = [it for part in self._answer.steps for it in part.cited]
        self.steps = [self._step(part, n) for n, part in enumerate(self._answer.steps, start=1)]
        self.similar = [self._similar_incident(part) for part in self._answer.similar]

    def recommendation(self, advisor: str) -> Recommendation:
        """Give the recommendation of an answer that has any step or similar incident."""
        grounds = ground(
            self._incident,
            self._findings,
            self._answer,
            self._backed(),
        )
        return Recommendation(
            Status.OK,
            self._summary(),
            grounds.reasoning,
            guidance=tuple(self.steps),
            similar_incidents=tuple(self.similar),
            analysis="\n\n".join(filter(None, self._answer.analysis)),
            confidence=grounds.confidence,
            warnings=_bounded(list(self._all_warnings())),
            advisor=advisor,
        )

    def _backed(self) -> int:
        said: list[Step | SimilarIncident] = [*self.steps, *self.similar]
        return sum(it.support is not Verdict.UNSUPPORTED for it in said)

    def nothing(self, advisor: str) -> Recommendation:
        """Give the recommendation of an answer that kept none, though there was evidence."""
        warnings = _bounded(list(self._all_warnings()))
        admitted = wording.NO_MATCH.casefold() in " ".join(self._verified.text.casefold().split())
        if self._answer.uncited or not admitted:
            told = f"{wording.counted(len(self._answer.uncited), 'step')} cited nothing that retrieval returned."
            return Recommendation(
                Status.DEGRADED,
                wording.UNVERIFIED,
                told,
                warnings=warnings,
                advisor=advisor,
                reason=Shortfall.UNVERIFIED_ADVICE,
            )
        if self._findings.failures:
            return _degraded(self._findings, warnings, advisor)
        about = documents_about(self._findings.ledger.results, self._incident)
        # its notes tell of an answer that was cut off, or of an advisor in whose place another wrote
        finished = not isinstance(self._findings, NotedFindings)
        told = wording.fruitless(len(self._findings.ledger), about[:MAX_NAMED], finished=finished)
        return Recommendation(
            Status.NO_MATCH, wording.NO_MATCH, told, warnings=warnings, advisor=advisor
        )

    # parts

    def _cut(self, answer: Answer) -> None:
        for name, parts in (("steps", answer.steps), ("similar incidents", answer.similar)):
            if len(parts) > MAX_STEPS:
                message = f"{len(parts)} {name}, the first {MAX_STEPS} are given."
                self._warnings.append(Warned(Concern.TRUNCATED, message))
                del parts[MAX_STEPS:]

    def _step(self, part: Part, number: int) -> Step:
        support, concerns = judge((part.text, *part.commands), part.cited, self._known(part.cited))
        self._warnings += [Warned(kind, message, number) for kind, message in concerns]
        if missing := earlier_missing(part.cited, self._cited, self._path):
            self._warnings.append(Warned(Concern.EARLIER_STEPS, missing, number))
        return Step(part.text, self._lines(part.cited), part.commands, support)

    def _similar_incident(self, part: Part) -> SimilarIncident:
        cited = sorted(part.cited, key=lambda it: not self._is_past(it))  # stable: reports first
        name = self._metadata(cited[0], INCIDENT_ID)
        text = _without_name(part.text, name)
        support, concerns = judge((text, *part.commands), cited, self._known(cited))
        self._warnings += [Warned(kind, message) for kind, message in concerns]
        said = "\n".join((text, *part.commands))
        return SimilarIncident(said, self._lines(cited), name, support)

    def _path(self, cited: Cited) -> tuple[str, ...]:
        return path_of(self._findings.result(cited.number))

    def _lines(self, cited: Sequence[Cited]) -> tuple[CitedLines, ...]:
        return tuple(
            dict.fromkeys(
                CitedLines(
                    it.citation,
                    hashlib.sha256(it.content.encode()).hexdigest(),
                    self._document_sha256(it),
                )
                for it in cited
            )
        )

    def _known(self, cited: Sequence[Cited]) -> tuple[str, ...]:
        """Give what a step may name though its lines don't: they stand under it."""
        known = (
            text
            for it in cited
            for text in (it.citation.section_header, *(self._metadata(it, key) for key in _ABOVE))
        )
        return tuple(dict.fromkeys(filter(None, known)))

    def _document_sha256(self, cited: Cited) -> str:
        known = self._metadata(cited, DOCUMENT_SHA256)
        return known if is_sha256(known) else ""

    def _metadata(self, cited: Cited, key: str) -> str:
        value = self._findings.result(cited.number).metadata.get(key)
        return value if isinstance(value, str) else ""

    def _is_past(self, cited: Cited) -> bool:
        return self._metadata(cited, DOCUMENT_TYPE) == DocumentType.POSTMORTEM

    # words around them

    def _summary(self) -> str:
        said = "\n\n".join(filter(str.strip, self._answer.summary)).strip()
        if said and said.rstrip(".") != wording.NO_MATCH:
            cited = [
                it for part in (*self._answer.steps, *self._answer.similar) for it in part.cited
            ]
            _, concerns = judge((said,), cited, self._known(cited))
            self._warnings += [Warned(kind, f"Summary: {message}") for kind, message in concerns]
            return said
        files = [step.citations[0].citation.source_file for step in self.steps]
        names = [it.incident_id for it in self.similar]
        return wording.told(len(self.steps), list(dict.fromkeys(files)), names)

    def _all_warnings(self) -> Iterator[Warned]:
        yield from _of_search(self._incident, self._findings)
        yield from self._of_linked()
        for part in self._answer.uncited:
            quoted = " ".join(part.text.split())[:_SHOWN_UNCITED]
            yield Warned(Concern.UNCITED_STEPS, f'"{quoted}" cites nothing, so it is no step')
        yield from self._warnings
        for warned in self._verified.warnings:
            number = self._number_at(warned.start)
            if number and warned.kind in _DISTANT and self._backs(number):
                continue
            yield Warned(warned.kind, warned.message, number)

    def _of_linked(self) -> Iterator[Warned]:
        """Say if the steps are not from where the alert links, though it was found."""
        results = self._findings.ledger.results
        for link in followed(results, self._incident.links) if self.steps else ():
            files = wording.listed([*link.files])
            cited = [it for it in self._cited if it.citation.source_file in link.files]
            if len({self._sha256_or_name(file) for file in link.files}) > 1:
                message = f"The alert's link may mean any of {files}."
                yield Warned(Concern.LINKED_RUNBOOK, message)
            if not cited:
                message = f"No step is from the runbook that the alert links ({files})."
                yield Warned(Concern.LINKED_RUNBOOK, message)
            elif link.anchor and not any(is_at(self._path(it), link.anchor) for it in cited):
                message = (
                    f"No step is from a section of {files} that is called as in the alert's link."
                )
                yield Warned(Concern.LINKED_RUNBOOK, message)

    def _sha256_or_name(self, file: str) -> str:
        """Give the hash of a retrieved document, its name where that is not known."""
        its = (it for it in self._findings.ledger.results if it.citation.source_file == file)
        known = next(its).metadata.get(DOCUMENT_SHA256)
        return known if isinstance(known, str) and is_sha256(known) else file

    def _number_at(self, offset: int) -> int | None:
        """Give the number of the step that a place in the answer is in."""
        numbered = enumerate(self._answer.steps, start=1)
        return next((n for n, part in numbered if part.start <= offset < part.end), None)

    def _backs(self, number: int) -> bool:
        return self.steps[number - 1].support is Verdict.SUPPORTED


_DISTANT: Final = frozenset({Kind.UNCITED_NUMBER, Kind.CONFIDENT_WORDING})
"""Warnings of how far a reference is, which say nothing of a step whose lines hold all of it."""

_ABOVE: Final = ("title", "section_path", "service", INCIDENT_ID)


def _of_search(incident: Incident, findings: Findings) -> Iterator[Warned]:
    """Give what there is to say before anybody has written anything."""
    for asked in findings.asked:
        if asked.outcome.reason is not None and findings.status is Status.OK:
            message = (
                f"A query could not be answered ({asked.outcome.reason}): more may be documented."
            )
            yield Warned(Concern.INCOMPLETE_SEARCH, message)
    if findings.status is not Status.DEGRADED and incident.links:
        yield from _of_links(incident, findings)
    yield from (Warned(Concern.NOTICE, notice) for notice in findings.notices)
    yield from (Warned(Concern.UNREADABLE_STATE, problem) for problem in incident.problems)


def _of_links(incident: Incident, findings: Findings) -> Iterator[Warned]:
    """Say if nothing was found of the runbook that the alert links; its own words are never shown as they are."""
    results = findings.ledger.results
    if followed(results, incident.links):
        return
    words = words_of_link(incident.links)
    told = "Nothing was found of the runbook that the alert links"
    told = f"{told}: {words}." if words else f"{told}."
    if alike := called_alike(results, incident.links)[:MAX_NAMED]:
        told += f" Of its name, but in another folder: {wording.listed(alike)}."
    yield Warned(Concern.LINKED_RUNBOOK, told)


def _bounded(warnings: list[Warned]) -> tuple[Warned, ...]:
    """Give as many warnings as a recommendation holds, and say if there were more."""
    if len(warnings) <= MAX_WARNINGS:
        return tuple(warnings)
    message = f"{len(warnings)} warnings, the first {MAX_WARNINGS - 1} are given."
    return (*warnings[: MAX_WARNINGS - 1], Warned(Concern.TRUNCATED, message))


def _without_name(text: str, name: str) -> str:
    """Take the incident's own name off the beginning of what is said of it."""
    if not name:
        return text
    rest = re.sub(
        rf"^[*_`\s]*{re.escape(name)}[*_`\s]*[:,\u2013\u2014-][*_`\s]*", "", text, count=1
    )
    return rest if rest.strip() else text
