"""Turns a model's answer into a recommendation.

An answer is verified against the evidence first, and only the verified text is read. Every citation of a
recommendation is one of the verified answer's; a step without one is left out and counted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.metadata import DOCUMENT_TYPE
from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.rules import Kind, log_warnings
from knowledge_rag.guardrails.support.check import check_support
from knowledge_rag.guardrails.support.report import Verdict, WarningKind, describe, described
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator import wording
from knowledge_rag.orchestrator.answer import read_answer
from knowledge_rag.orchestrator.composition import (
    bounded,
    degraded,
    of_plan,
    of_search,
    of_sections,
    state,
    with_cautions,
    without_advice,
)
from knowledge_rag.orchestrator.drawn_on import drawn_on
from knowledge_rag.orchestrator.outline import SERVICE
from knowledge_rag.orchestrator.planning import plan_of
from knowledge_rag.orchestrator.recommendation import (
    MAX_SIMILAR,
    MAX_STEPS,
    Concern,
    Recommendation,
    Shortfall,
    SimilarIncident,
    Step,
    Warned,
)
from knowledge_rag.orchestrator.steps import INCIDENT_ID, Citer, dangers_of, evidence_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.guardrails.ledger import Cited
    from knowledge_rag.guardrails.support.report import SupportReport
    from knowledge_rag.guardrails.verify import Verified
    from knowledge_rag.orchestrator.advisors.advisor import Advice
    from knowledge_rag.orchestrator.answer import Answer, Part
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.recommendation import CitedLines
    from knowledge_rag.orchestrator.retrieval import Findings


def recommend(incident: Incident, advice: Advice) -> Recommendation:
    """Return the recommendation of an advisor's answer, verified."""
    if advice.text is None:
        return state(incident, advice.findings, advice.advisor)
    verified = verify(advice.text, advice.findings.ledger)
    return compose(incident, verified, advice.findings, advice.advisor)


def given_by(incident: Incident, text: str, advice: Advice) -> tuple[Recommendation, Verified]:
    """Return the recommendation of a model's answer, whose warnings are logged, and the verified answer."""
    verified = verify(text, advice.findings.ledger)
    log_warnings(verified.warnings)
    return compose(incident, verified, advice.findings, advice.advisor), verified


def compose(
    incident: Incident, verified: Verified, findings: Findings, advisor: str
) -> Recommendation:
    """Return the recommendation of an answer that was verified against the ledger of ``findings``."""
    if findings.status is not Status.OK:
        return without_advice(incident, findings)
    composer = _Composer(incident, verified, findings)
    if not composer.steps and not composer.similar:
        return composer.nothing(advisor)
    return with_cautions(composer.recommendation(advisor), findings)


_SHOWN_UNCITED: Final = 60
"""Maximum characters that a warning quotes of a step that was left out."""


class _Composer:
    """Makes the steps and warnings of one answer."""

    def __init__(self, incident: Incident, verified: Verified, findings: Findings) -> None:
        self._incident = incident
        self._verified = verified
        self._findings = findings
        self._citer = Citer(findings)
        self._plan = findings.plan or plan_of(incident, findings)
        self._warnings: list[Warned] = []
        self._answer = read_answer(verified, self._is_past)
        self._cut(self._answer)
        self.steps = [self._step(part, n) for n, part in enumerate(self._answer.steps, start=1)]
        self.similar = [self._similar_incident(part) for part in self._answer.similar]
        self._used, self._sections = drawn_on(self._plan, self.steps, verified.text)

    def recommendation(self, advisor: str) -> Recommendation:
        """Return the recommendation of an answer that has a step or a similar incident."""
        evidence, confidence = evidence_of(
            self._incident, self._used, self._sections, self._findings
        )
        said = len(self.steps) + len(self.similar) + len(self._answer.uncited)
        stated: list[Step | SimilarIncident] = [*self.steps, *self.similar]
        backed = sum(it.support is not Verdict.UNSUPPORTED for it in stated)
        files = list(dict.fromkeys(it.citations[0].citation.source_file for it in self.steps))
        return Recommendation(
            Status.OK,
            self._summary(),
            wording.reasoned(len(self.steps), files, evidence.reasons, backed=backed, said=said),
            guidance=tuple(self.steps),
            similar_incidents=tuple(self.similar),
            analysis="\n\n".join(filter(None, self._answer.analysis)),
            confidence=round(confidence * backed / said, 2),
            warnings=bounded([*self._all_warnings(), *of_sections(self._sections)]),
            advisor=advisor,
            evidence=evidence,
        )

    def nothing(self, advisor: str) -> Recommendation:
        """Return the recommendation of an answer without any cited step, although there was evidence."""
        warnings = bounded(list(self._all_warnings()))
        admitted = wording.NO_MATCH.casefold() in " ".join(self._verified.text.casefold().split())
        if self._answer.uncited or not admitted:
            why = f"{wording.counted(len(self._answer.uncited), 'step')} cited nothing that retrieval returned."
            return Recommendation(
                Status.DEGRADED,
                wording.UNVERIFIED,
                why,
                warnings=warnings,
                advisor=advisor,
                reason=Shortfall.UNVERIFIED_ADVICE,
            )
        if self._findings.failures:
            return degraded(self._findings, warnings, advisor)
        why = wording.fruitless(len(self._findings.ledger), finished=not self._findings.notes)
        return Recommendation(
            Status.NO_MATCH, wording.NO_MATCH, why, warnings=warnings, advisor=advisor
        )

    # parts

    def _cut(self, answer: Answer) -> None:
        for name, parts, most in (
            ("steps", answer.steps, MAX_STEPS),
            ("similar incidents", answer.similar, MAX_SIMILAR),
        ):
            if len(parts) > most:
                message = f"{len(parts)} {name}, the first {most} are given."
                self._warnings.append(Warned(Concern.TRUNCATED, message))
                del parts[most:]

    def _step(self, part: Part, number: int) -> Step:
        support, concerns = judge((part.text, *part.commands), part.cited, self._known(part.cited))
        self._warnings += [Warned(kind, message, number) for kind, message in concerns]
        labels = dangers_of("\n".join((part.text, *part.commands)))
        return Step(part.text, self._lines(part.cited), part.commands, support, destructive=labels)

    def _similar_incident(self, part: Part) -> SimilarIncident:
        cited = sorted(part.cited, key=lambda it: not self._is_past(it))  # stable: reports first
        name = self._metadata(cited[0], INCIDENT_ID)
        text = _without_name(part.text, name)
        support, concerns = judge((text, *part.commands), cited, self._known(cited))
        self._warnings += [Warned(kind, message) for kind, message in concerns]
        said = "\n".join((text, *part.commands))
        return SimilarIncident(said, self._lines(cited), name, support)

    def _lines(self, cited: Sequence[Cited]) -> tuple[CitedLines, ...]:
        return tuple(dict.fromkeys(map(self._citer.lines_of, cited)))

    def _known(self, cited: Sequence[Cited]) -> tuple[str, ...]:
        """Return the titles and headings above the cited lines, which a step may repeat."""
        known = (
            text
            for it in cited
            for text in (it.citation.section_header, *(self._metadata(it, key) for key in _ABOVE))
        )
        return tuple(dict.fromkeys(filter(None, known)))

    def _metadata(self, cited: Cited, key: str) -> str:
        value = self._findings.result(cited.number).metadata.get(key)
        return value if isinstance(value, str) else ""

    def _is_past(self, cited: Cited) -> bool:
        return self._metadata(cited, DOCUMENT_TYPE) == DocumentType.POSTMORTEM

    # summary and warnings

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
        return wording.summed_up(len(self.steps), list(dict.fromkeys(files)), names)

    def _all_warnings(self) -> Iterator[Warned]:
        yield from of_search(self._incident, self._findings)
        if self.steps:
            yield from of_plan(self._used, self._findings, self._incident)
        for part in self._answer.uncited:
            quoted = " ".join(part.text.split())[:_SHOWN_UNCITED]
            yield Warned(Concern.UNCITED_STEPS, f'"{quoted}" cites nothing, so it is not a step')
        yield from self._warnings
        for warned in self._verified.warnings:
            number = self._number_at(warned.start)
            if number and warned.kind in _DISTANT and self._backs(number):
                continue
            yield Warned(warned.kind, warned.message, number)

    def _number_at(self, offset: int) -> int | None:
        numbered = enumerate(self._answer.steps, start=1)
        return next((n for n, part in numbered if part.start <= offset < part.end), None)

    def _backs(self, number: int) -> bool:
        return self.steps[number - 1].support is Verdict.SUPPORTED


_DISTANT: Final = frozenset({Kind.UNCITED_NUMBER, Kind.CONFIDENT_WORDING})
"""Warnings about a reference's distance, which don't matter for a step that its lines support."""

_ABOVE: Final = ("title", "section_path", SERVICE, INCIDENT_ID)


def _without_name(text: str, name: str) -> str:
    if not name:
        return text
    rest = re.sub(
        rf"^[*_`\s]*{re.escape(name)}[*_`\s]*[:,\u2013\u2014-][*_`\s]*", "", text, count=1
    )
    return rest if rest.strip() else text


Concerned = tuple[Concern, str]


def judge(
    claims: Iterable[str], cited: Sequence[Cited], known: Sequence[str] = ()
) -> tuple[Verdict, list[Concerned]]:
    """Check claims against the lines that they cite.

    Returns:
        Unsupported if any claim is, else supported if any claim is; and the warnings.
    """
    lines = [line for it in cited for line in it.content.split("\n")] + [*known]
    verdicts: set[Verdict] = set()
    concerns: list[Concerned] = []
    for claim in claims:
        report = check_support(claim, lines)
        verdicts.add(report.verdict)
        concerns += _concerns(report, claim)
    for verdict in (Verdict.UNSUPPORTED, Verdict.SUPPORTED):
        if verdict in verdicts:
            return verdict, concerns
    return Verdict.NOTHING_TO_CHECK, concerns


def _concerns(report: SupportReport, claim: str) -> Iterator[Concerned]:
    for atom in report.missing:
        yield Concern.UNSUPPORTED, f"{describe(atom)}."
    for found in report.contradictions:
        yield Concern.UNSUPPORTED, f"Not as in its lines: {described(found, claim)}."
    if report.verdict is Verdict.UNSUPPORTED and not report.missing and not report.contradicted:
        words = ", ".join(report.missing_words[:8])
        yield (
            Concern.UNSUPPORTED,
            f"The cited lines contain too few of its words; missing: {words}.",
        )
    for warning in report.warnings:
        if warning.kind is WarningKind.NEGATION:
            message = f'"{warning.text}": one of the step and its lines denies it.'
            yield Concern.NEGATION, message
        else:
            message = f"{warning.text} fills in what the cited lines leave open."
            yield Concern.FILLED_PLACEHOLDER, message
