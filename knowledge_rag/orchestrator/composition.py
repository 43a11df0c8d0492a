"""Turns advice into a recommendation: procedures as they are, or a model's answer.

An answer is verified against the evidence first, and only the verified text is read. Every citation of a
recommendation is one of the verified answer's; a step without one is left out and counted.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core import freshness
from knowledge_rag.core.caution import sentence
from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.metadata import (
    CAUTION,
    COMMIT,
    DOCUMENT_TYPE,
    DRIFT,
    LAST_CHANGED,
    LAST_REVIEWED,
)
from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.draft import Kind
from knowledge_rag.guardrails.support.check import check_support
from knowledge_rag.guardrails.support.report import Verdict, WarningKind, describe, described
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator import wording
from knowledge_rag.orchestrator.answer import read_answer
from knowledge_rag.orchestrator.drawn_on import drawn_on
from knowledge_rag.orchestrator.incident import name_of
from knowledge_rag.orchestrator.links import called_alike, linked_documents, words_of_link
from knowledge_rag.orchestrator.outline import SERVICE
from knowledge_rag.orchestrator.planning import MAX_READING, plan_of
from knowledge_rag.orchestrator.procedures import Why
from knowledge_rag.orchestrator.recommendation import (
    MAX_SIMILAR,
    MAX_STEPS,
    MAX_WARNINGS,
    CitedDocument,
    Concern,
    Recommendation,
    Shortfall,
    SimilarIncident,
    Step,
    Warned,
)
from knowledge_rag.orchestrator.steps import (
    INCIDENT_ID,
    Citer,
    dangers_of,
    evidence_of,
    similar_of,
    status_of,
    steps_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.guardrails.support.report import SupportReport
    from knowledge_rag.guardrails.verify import Cited, Verified
    from knowledge_rag.orchestrator.advisors.advisor import Advice
    from knowledge_rag.orchestrator.answer import Answer, Part
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.planning import Plan
    from knowledge_rag.orchestrator.procedures import NotShown
    from knowledge_rag.orchestrator.recommendation import CitedLines, Section
    from knowledge_rag.orchestrator.retrieval import Findings

MAX_NAMED: Final = 3
"""Maximum documents or alerts that a warning names."""

_SHOWN_UNCITED: Final = 60
"""Maximum characters that a warning quotes of a step that was left out."""


def recommend(incident: Incident, advice: Advice) -> Recommendation:
    """Return the recommendation of an advisor's answer, verified."""
    if advice.text is None:
        return state(incident, advice.findings, advice.advisor)
    verified = verify(advice.text, advice.findings.ledger)
    return compose(incident, verified, advice.findings, advice.advisor)


def _with_cautions(given: Recommendation, findings: Findings) -> Recommendation:
    """Add the cited documents, and put first the warnings of lint, one for each document, and of drift."""
    shown = given.shown
    found: dict[str, list[str]] = {}
    for result in findings.ledger.results:
        kinds = result.metadata.get(CAUTION)
        if isinstance(kinds, list) and any(it.overlaps(result.citation) for it in shown):
            said = sentence(result.citation, kinds, of_file=True)
            found.setdefault(result.citation.source_file, []).append(said)
    cautions = [Warned(Concern.SUSPICIOUS_TEXT, _joint(said)) for said in found.values()]
    cautions += _of_drift(given, findings)
    return replace(
        given,
        warnings=_bounded([*cautions, *given.warnings]) if cautions else given.warnings,
        documents=_documents(given, findings),
    )


def _documents(given: Recommendation, findings: Findings) -> tuple[CitedDocument, ...]:
    cited = dict.fromkeys(citation.source_file for citation in given.shown)
    known = {it.citation.source_file: it.metadata for it in reversed(findings.ledger.results)}
    fields = (COMMIT, LAST_CHANGED, LAST_REVIEWED)
    return tuple(
        CitedDocument(name, *(str(known.get(name, {}).get(field, "")) for field in fields))
        for name in cited
    )


def _of_drift(given: Recommendation, findings: Findings) -> Iterator[Warned]:
    """Yield a warning for each drift finding on a shown line, with the step that cites it."""
    steps = [
        (citation, number)
        for number, step in enumerate(given.guidance, 1)
        for citation in (it.citation for it in step.citations)
    ]
    said: dict[tuple[str, int, str], Citation] = {}
    for result in findings.ledger.results:
        stored = result.metadata.get(DRIFT)
        for note in freshness.notes_on(result.citation, stored if isinstance(stored, list) else ()):
            at = replace(result.citation, start_line=note.line, end_line=note.line)
            if any(it.overlaps(at) for it in given.shown):
                said[at.source_file, note.line, note.message] = at
    for (_, line, message), at in said.items():
        step = next((number for citation, number in steps if citation.overlaps(at)), None)
        (sentence_,) = freshness.sentences(at, [f"{line}: {message}"], of_file=True)
        yield Warned(Concern.DRIFT, sentence_, step)


def _joint(said: Sequence[str]) -> str:
    more = len(said) - 1
    if not more:
        return said[0]
    return f"{said[0]} So {'does' if more == 1 else 'do'} {more} more of its passages."


def state(incident: Incident, findings: Findings, advisor: str) -> Recommendation:
    """Return the recommendation of the procedures in findings, as they are."""
    return _with_cautions(_stated(incident, findings, advisor), findings)


def _stated(incident: Incident, findings: Findings, advisor: str) -> Recommendation:
    plan = findings.plan or plan_of(incident, findings)
    if findings.status is not Status.OK:
        return without_advice(incident, findings)
    citer = Citer(findings)
    steps, sections = steps_of(plan, citer)
    is_unclear = any(block.meant for block in plan.blocks)
    similar = [] if is_unclear else similar_of(incident, findings, citer)
    warnings = [
        *_of_search(incident, findings),
        *_of_plan(plan, findings, incident),
        *_of_sections(sections),
    ]
    if not steps and not similar:
        if findings.failures:
            return _degraded(findings, _bounded(warnings), advisor)
        return _nothing(incident, plan, citer, _bounded(warnings), advisor)
    evidence, confidence = evidence_of(incident, plan, sections, findings)
    files = list(dict.fromkeys(it.source_file for it in sections))
    return Recommendation(
        Status.OK,
        wording.summed_up(len(steps), files, [it.incident_id for it in similar]),
        wording.reasoned(len(steps), files, evidence.reasons),
        guidance=tuple(steps),
        similar_incidents=tuple(similar),
        confidence=confidence,
        warnings=_bounded(warnings),
        advisor=advisor,
        procedures=tuple(sections),
        alerts=status_of(plan),
        reading=tuple(_offered(plan, citer)),
        unknown=tuple(
            dict.fromkeys(
                word for block in plan.blocks if not block.procedures for word in block.unknown
            )
        ),
        evidence=evidence,
    )


def _offered(plan: Plan, citer: Citer) -> dict[CitedLines, str]:
    """Return the passages offered as reading, each with the name of its procedure if that may be meant."""
    return {
        one: name
        for block in plan.blocks
        for name, it in zip(block.meant or ("",) * MAX_READING, block.reading, strict=False)
        for one in citer.cite(it.source_file, it.start_line, it.end_line)
    }


def _nothing(
    incident: Incident, plan: Plan, citer: Citer, warnings: tuple[Warned, ...], advisor: str = ""
) -> Recommendation:
    """Return a recommendation of nothing but reading."""
    offered = _offered(plan, citer)
    reading = tuple(offered)
    unknown = tuple(dict.fromkeys(word for block in plan.blocks for word in block.unknown))
    by = next((block for block in plan.blocks if block.declined), None)
    read = by.reading if by else tuple(it.citation for it in reading)
    closest = read[0].source_file if read else ""
    why = wording.near_miss(closest, unknown, by.declined if by else None, by.said if by else "")
    if any(block.meant for block in plan.blocks):
        why = wording.UNCLEAR
    elif incident.at:
        why = wording.no_steps_at(*incident.at)
    return Recommendation(
        Status.NO_MATCH,
        wording.NO_MATCH,
        why,
        warnings=warnings,
        advisor=advisor,
        reading=reading,
        meant=tuple(filter(None, offered.values())),
        unknown=unknown,
    )


def _of_sections(sections: Sequence[Section]) -> Iterator[Warned]:
    for section in sections:
        for it in section.not_shown:
            if it.is_missed:
                yield Warned(Concern.NOT_SHOWN, _named(it))


def _named(it: NotShown) -> str:
    if it.why is Why.ELSEWHERE:
        what = f'"{it.heading}" in {it.source_file}' if it.heading else it.source_file
        return f"{what} belongs to the procedure and is not shown."
    if it.end == it.start and it.why is not Why.NOT_RETRIEVED:
        return f"Line {it.start} of {it.source_file} belongs to the procedure and is not shown."
    lines = f"{it.start}-{it.end}" if it.end > it.start else f"{it.start} and after"
    return f"Lines {lines} of {it.source_file} belong to the procedure and are not shown."


def _of_plan(plan: Plan, findings: Findings, incident: Incident) -> Iterator[Warned]:
    for block in plan.blocks:
        if block.alert and not block.procedures:
            why = "nothing is documented for it" if block.looked_up else "it could not be looked up"
            yield Warned(Concern.NOTICE, f"{block.alert}: {why}.")
    given = {it.source_file for it in plan.procedures}
    for who, links in _linking(incident) if given else ():
        for link in linked_documents(findings.ledger.results, links):
            if not given & set(link.files):
                files = wording.listed([*link.files])
                message = f"No step is from the runbook that {who} ({files})."
                yield Warned(Concern.LINKED_RUNBOOK, message)


def compose(
    incident: Incident, verified: Verified, findings: Findings, advisor: str
) -> Recommendation:
    """Return the recommendation of an answer that was verified against the ledger of ``findings``."""
    if findings.status is not Status.OK:
        return without_advice(incident, findings)
    composer = _Composer(incident, verified, findings)
    if not composer.steps and not composer.similar:
        return composer.nothing(advisor)
    return _with_cautions(composer.recommendation(advisor), findings)


def without_advice(incident: Incident, findings: Findings) -> Recommendation:
    """Return a recommendation without advice: nothing is documented, or the search or the answer failed."""
    warnings = _bounded(list(_of_search(incident, findings)))
    asked = wording.counted(len(findings.asked), "query")
    if findings.status is Status.OK:
        summary, reason = wording.NO_ADVICE, Shortfall.ADVICE_FAILED
        why = f"{asked} returned {wording.counted(len(findings.ledger), 'passage')}; nobody wrote advice."
        return Recommendation(Status.DEGRADED, summary, why, warnings=warnings, reason=reason)
    if findings.status is Status.NO_MATCH:
        if len(findings.ledger) or incident.at:
            plan = findings.plan or plan_of(incident, findings)
            return _nothing(incident, plan, Citer(findings), warnings)
        why = f"{asked} found nothing." if findings.asked else "There was nothing to ask about."
        return Recommendation(Status.NO_MATCH, wording.NO_MATCH, why, warnings=warnings)
    return _degraded(findings, warnings)


def _degraded(
    findings: Findings, warnings: tuple[Warned, ...], advisor: str = ""
) -> Recommendation:
    failed = sum(asked.outcome.status is Status.DEGRADED for asked in findings.asked)
    asked = wording.counted(len(findings.asked), "query")
    why = f"{failed} of {asked} could not be answered: {wording.listed([*findings.failures])}."
    return Recommendation(
        Status.DEGRADED,
        wording.UNREACHABLE,
        why,
        warnings=warnings,
        advisor=advisor,
        reason=findings.failures[0],
    )


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
            warnings=_bounded([*self._all_warnings(), *_of_sections(self._sections)]),
            advisor=advisor,
            evidence=evidence,
        )

    def nothing(self, advisor: str) -> Recommendation:
        """Return the recommendation of an answer without any cited step, although there was evidence."""
        warnings = _bounded(list(self._all_warnings()))
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
            return _degraded(self._findings, warnings, advisor)
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
        yield from _of_search(self._incident, self._findings)
        if self.steps:
            yield from _of_plan(self._used, self._findings, self._incident)
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


def _of_search(incident: Incident, findings: Findings) -> Iterator[Warned]:
    """Yield the warnings that do not depend on the advice."""
    if incident.is_over:
        yield Warned(Concern.READ_AS, wording.RESOLVED)
    for asked in findings.asked:
        if asked.outcome.reason is not None and findings.status is Status.OK:
            message = (
                f"A query could not be answered ({asked.outcome.reason}): more may be documented."
            )
            yield Warned(Concern.INCOMPLETE_SEARCH, message)
    if findings.status is not Status.DEGRADED:
        yield from _of_links(incident, findings)
    yield from (Warned(Concern.NOTICE, notice) for notice in findings.notices)
    yield from (Warned(Concern.UNREADABLE_STATE, problem) for problem in incident.problems)
    if incident.read_as.startswith("unrecognised"):
        yield Warned(Concern.READ_AS, f"{incident.read_as}.")


def _of_links(incident: Incident, findings: Findings) -> Iterator[Warned]:
    """Warn if a linked runbook was not found; the link's own text is never shown verbatim."""
    results = findings.ledger.results
    for who, links in _linking(incident):
        if linked_documents(results, links):
            continue
        words = words_of_link(links)
        why = f"Nothing was found of the runbook that {who}"
        why = f"{why}: {words}." if words else f"{why}."
        if alike := called_alike(results, links)[:MAX_NAMED]:
            why += f" Of its name, but in another folder: {wording.listed(alike)}."
        yield Warned(Concern.LINKED_RUNBOOK, why)


def _linking(incident: Incident) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield who links a runbook, in words that follow "that", and the links.

    In a group, the alerts that link the same one share an entry.
    """
    linked: dict[tuple[str, ...], list[str]] = {}
    for it in incident.alerts if incident.is_group else ():
        if it.links:
            linked.setdefault(it.links, []).append(it.alert_name or name_of(it))
    for links, names in linked.items():
        more = [f"{len(names) - MAX_NAMED} others"] if len(names) > MAX_NAMED else []
        shown = wording.listed([*names[:MAX_NAMED], *more])
        yield f"{shown} link{'s' if len(names) == 1 else ''}", links
    if not linked and incident.links:
        yield "the alert links", incident.links


def _bounded(warnings: list[Warned]) -> tuple[Warned, ...]:
    if len(warnings) <= MAX_WARNINGS:
        return tuple(warnings)
    message = f"{len(warnings)} warnings, the first {MAX_WARNINGS - 1} are given."
    return (*warnings[: MAX_WARNINGS - 1], Warned(Concern.TRUNCATED, message))


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
