"""Turns procedures into a recommendation as they are, or the lack of any."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.findings import caution_sentence, drift_sentences, notes_on
from knowledge_rag.core.metadata import (
    CAUTION,
    COMMIT,
    DRIFT,
    LAST_CHANGED,
    LAST_REVIEWED,
)
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator import wording
from knowledge_rag.orchestrator.incident import name_of
from knowledge_rag.orchestrator.links import called_alike, linked_documents, words_of_link
from knowledge_rag.orchestrator.planning import MAX_READING, plan_of
from knowledge_rag.orchestrator.procedures import Why
from knowledge_rag.orchestrator.recommendation import (
    MAX_WARNINGS,
    CitedDocument,
    Concern,
    Recommendation,
    Shortfall,
    Warned,
)
from knowledge_rag.orchestrator.steps import (
    Citer,
    evidence_of,
    similar_of,
    status_of,
    steps_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.planning import Plan
    from knowledge_rag.orchestrator.procedures import NotShown
    from knowledge_rag.orchestrator.recommendation import CitedLines, Section
    from knowledge_rag.orchestrator.retrieval import Findings

MAX_NAMED: Final = 3
"""Maximum documents or alerts that a warning names."""


def with_cautions(given: Recommendation, findings: Findings) -> Recommendation:
    """Add the cited documents, and put first the warnings of lint, one for each document, and of drift."""
    shown = given.shown
    found: dict[str, list[str]] = {}
    for result in findings.ledger.results:
        kinds = result.metadata.get(CAUTION)
        if isinstance(kinds, list) and any(it.overlaps(result.citation) for it in shown):
            said = caution_sentence(result.citation, kinds, of_file=True)
            found.setdefault(result.citation.source_file, []).append(said)
    cautions = [Warned(Concern.SUSPICIOUS_TEXT, _joint(said)) for said in found.values()]
    cautions += _of_drift(given, findings)
    return replace(
        given,
        warnings=bounded([*cautions, *given.warnings]) if cautions else given.warnings,
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
        for note in notes_on(result.citation, stored if isinstance(stored, list) else ()):
            at = replace(result.citation, start_line=note.line, end_line=note.line)
            if any(it.overlaps(at) for it in given.shown):
                said[at.source_file, note.line, note.message] = at
    for (_, line, message), at in said.items():
        step = next((number for citation, number in steps if citation.overlaps(at)), None)
        (sentence_,) = drift_sentences(at, [f"{line}: {message}"], of_file=True)
        yield Warned(Concern.DRIFT, sentence_, step)


def _joint(said: Sequence[str]) -> str:
    more = len(said) - 1
    if not more:
        return said[0]
    return f"{said[0]} So {'does' if more == 1 else 'do'} {more} more of its passages."


def state(incident: Incident, findings: Findings, advisor: str) -> Recommendation:
    """Return the recommendation of the procedures in findings, as they are."""
    return with_cautions(_stated(incident, findings, advisor), findings)


def _stated(incident: Incident, findings: Findings, advisor: str) -> Recommendation:
    plan = findings.plan or plan_of(incident, findings)
    if findings.status is not Status.OK:
        return without_advice(incident, findings)
    citer = Citer(findings)
    steps, sections = steps_of(plan, citer)
    is_unclear = any(block.meant for block in plan.blocks)
    similar = [] if is_unclear else similar_of(incident, findings, citer)
    warnings = [
        *of_search(incident, findings),
        *of_plan(plan, findings, incident),
        *of_sections(sections),
    ]
    if not steps and not similar:
        if findings.failures:
            return degraded(findings, bounded(warnings), advisor)
        return _nothing(incident, plan, citer, bounded(warnings), advisor)
    evidence, confidence = evidence_of(incident, plan, sections, findings)
    files = list(dict.fromkeys(it.source_file for it in sections))
    return Recommendation(
        Status.OK,
        wording.summed_up(len(steps), files, [it.incident_id for it in similar]),
        wording.reasoned(len(steps), files, evidence.reasons),
        guidance=tuple(steps),
        similar_incidents=tuple(similar),
        confidence=confidence,
        warnings=bounded(warnings),
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
    if unclear := next((it.unclear for it in plan.blocks if it.meant), ""):
        why = unclear
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


def of_sections(sections: Sequence[Section]) -> Iterator[Warned]:
    """Yield a warning for each part of a procedure that isn't shown."""
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


def of_plan(plan: Plan, findings: Findings, incident: Incident) -> Iterator[Warned]:
    """Yield a warning for each alert without a procedure, and for linked runbooks without a step."""
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


def without_advice(incident: Incident, findings: Findings) -> Recommendation:
    """Return a recommendation without advice: nothing is documented, or the search or the answer failed."""
    warnings = bounded(list(of_search(incident, findings)))
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
    return degraded(findings, warnings)


def degraded(findings: Findings, warnings: tuple[Warned, ...], advisor: str = "") -> Recommendation:
    """Return the recommendation of findings without evidence, of which a search failed."""
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


def of_search(incident: Incident, findings: Findings) -> Iterator[Warned]:
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


def bounded(warnings: list[Warned]) -> tuple[Warned, ...]:
    """Return at most MAX_WARNINGS warnings; the last one counts the others."""
    if len(warnings) <= MAX_WARNINGS:
        return tuple(warnings)
    message = f"{len(warnings)} warnings, the first {MAX_WARNINGS - 1} are given."
    return (*warnings[: MAX_WARNINGS - 1], Warned(Concern.TRUNCATED, message))
