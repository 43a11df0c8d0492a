"""Sends an agent's queries for every alert, and looks for lines and steps of the alert's own runbook."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.outcome import Status
from knowledge_rag.drift.baseline import Form
from knowledge_rag.evaluation.coverage_runbooks import Gap, NoRunbook
from knowledge_rag.evaluation.coverage_wanted import StepsCheck, Wanted
from knowledge_rag.orchestrator.consultation import consult, look_up
from knowledge_rag.orchestrator.queries import RESULTS, build_queries

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.core.outcome import Reason, RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.drift.baseline import Baseline, Key
    from knowledge_rag.evaluation.coverage_rules import Alert, BrokenFile, RuleFiles
    from knowledge_rag.evaluation.coverage_runbooks import Runbook, Runbooks
    from knowledge_rag.evaluation.datasets import Target
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.retrieval import Retrieval

NAMED: Final = 3
"""Maximum citations in a message."""
RUNBOOKS_ALONE: Final = Wanted(RESULTS, steps=StepsCheck.OFF)
"""Only checks whether each alert finds its runbook."""
TRIES: Final = 2
"""Maximum tries of a query: a failure on a busy machine is no gap."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The number of steps in a recommendation that cite an alert's own runbook, and the others' citations, in order.

    ``reason`` says why a query could not be answered; then there may be more steps.
    """

    own: int
    elsewhere: tuple[Citation, ...] = ()
    reason: Reason | None = None

    @property
    def are_missing(self) -> bool:
        """Whether everything was searched, and the runbook yields no step."""
        return not self.own and self.reason is None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; ``reason`` is absent if everything was searched."""
        fields: dict[str, Any] = {
            "own": self.own,
            "elsewhere": [citation.to_dict() for citation in self.elsewhere],
        }
        return fields if self.reason is None else {**fields, "reason": self.reason.value}


def _named(citations: Sequence[Citation]) -> str:
    """Name the first citations of a list."""

    def lines(of: Citation) -> str:
        one = of.start_line == of.end_line
        return f"line {of.start_line}" if one else f"lines {of.start_line}-{of.end_line}"

    return ", ".join(f"{it.source_file} {lines(it)}" for it in citations[:NAMED])


@dataclass(frozen=True, slots=True)
class Hit:
    """The query that found the runbook, and the result's rank, from 1."""

    query: str
    rank: int
    citation: Citation


@dataclass(frozen=True, slots=True)
class Checked:
    """One alert and its outcome: a hit, a gap, or the reason why that is unknown.

    Args:
        alert: the alert.
        runbook: its own, if it has one.
        hit: where it was found.
        gap: why the alert is not covered.
        message: of the finding, for people.
        reason: why the search failed.
        queries: the queries sent.
        instead: results before the runbook, or in its place, in order.
        steps: ``None`` if they were not checked, or the runbook wasn't found.
    """

    alert: Alert
    runbook: Runbook | None = None
    hit: Hit | None = None
    gap: Gap | None = None
    message: str = ""
    reason: Reason | None = None
    queries: tuple[str, ...] = ()
    instead: tuple[Citation, ...] = ()
    steps: Steps | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Return its key in a baseline."""
        return self.alert.name, self.alert.file

    @property
    def covered(self) -> bool:
        """Whether the alert is known to find its runbook, and steps if required."""
        return self.hit is not None and self.gap is None and self.reason is None

    @property
    def finding(self) -> Gap | None:
        """Return the gap, or that a covered alert's runbook yields no step."""
        lacks_steps = self.covered and self.steps is not None and self.steps.are_missing
        return Gap.NO_STEPS if lacks_steps else self.gap

    @property
    def steps_unknown(self) -> Reason | None:
        """Return why it is unknown whether the found runbook yields steps."""
        if not self.covered or self.steps is None or self.steps.own:
            return None
        return self.steps.reason

    def needing_steps(self) -> Checked:
        """Return the outcome if a runbook without steps counts as a gap."""
        return replace(self, gap=self.finding, reason=self.reason or self.steps_unknown)


def check_all(
    alerts: Sequence[Alert],
    runbooks: Runbooks,
    retrieval: Retrieval,
    wanted: Wanted = RUNBOOKS_ALONE,
    *,
    progress: Progress | None = None,
) -> tuple[Checked, ...]:
    """Check every alert, in order; send a query that several share only once."""

    async def run() -> tuple[Checked, ...]:
        asking = _Asking(retrieval)
        looks_for_steps = wanted.steps is not StepsCheck.OFF
        checked = []
        for done, alert in enumerate(alerts):
            if progress is not None:
                progress(done, len(alerts), "asking")
            found = await _checked(alert, runbooks.own(alert), asking, wanted.top)
            checked.append(await _with_steps(found, asking) if looks_for_steps else found)
        return tuple(checked)

    return asyncio.run(run())


class _Asking:
    """A retrieval that sends each query once, and once more if it failed."""

    def __init__(self, retrieval: Retrieval) -> None:
        self.floors = getattr(retrieval, "floors", None)
        self._retrieval = retrieval
        self._known: dict[tuple[str, int, tuple[tuple[str, str], ...]], RetrievalOutcome] = {}

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Ask one question; see the interface."""
        key = (query.text, query.max_results, tuple(sorted(query.filters.items())))
        if key not in self._known:
            for _ in range(TRIES):
                outcome = await self._retrieval.retrieve(query)
                self._known[key] = outcome
                if outcome.status is not Status.DEGRADED:
                    break
        return self._known[key]


async def _checked(alert: Alert, own: Runbook | NoRunbook, asking: _Asking, top: int) -> Checked:
    if isinstance(own, NoRunbook):
        return Checked(alert, gap=own.gap, message=own.message)
    asked: list[str] = []
    found: dict[Citation, None] = {}
    reason: Reason | None = None
    # an agent that writes its own questions may never see the link: the alert's words have to suffice
    incident = replace(alert.incident, links=())
    for query in build_queries(incident):
        asked.append(query.text)
        outcome = await asking.retrieve(query)
        reason = reason or outcome.reason
        for rank, result in enumerate(outcome.results[:top], start=1):
            if own.is_reached_by(result.citation):
                hit = Hit(query.text, rank, result.citation)
                return Checked(alert, own, hit, queries=tuple(asked), instead=tuple(found))
            found.setdefault(result.citation)
    instead = tuple(found)
    completed, failed = await _completed(incident, own, asking, top)
    if completed is not None:
        return Checked(alert, own, completed, queries=tuple(asked), instead=instead)
    reason = reason or failed
    if reason is not None:  # it is unknown what that query would have found
        return Checked(alert, own, reason=reason, queries=tuple(asked), instead=instead)
    others = f"found instead: {_named(instead)}" if instead else "found nothing instead"
    message = f"alert {alert.name} does not find {own.named}; {others}"
    return Checked(alert, own, None, Gap.NOT_FOUND, message, None, tuple(asked), instead)


async def _completed(
    incident: Incident, own: Runbook, asking: _Asking, top: int
) -> tuple[Hit | None, Reason | None]:
    """Return where a procedure of the incident has lines of its runbook, in completed documents.

    A document counts if a query found it among its first results. The reason is that of a completion that
    could not be answered.
    """
    findings = await look_up(incident, asking)
    failed = None
    for completion in findings.completions:
        reached = [it for it in completion.outcome.results if own.is_reached_by(it.citation)]
        for asked in findings.asked if reached else ():
            files = [it.citation.source_file for it in asked.outcome.results[:top]]
            if completion.query.source_file in files:
                rank = files.index(completion.query.source_file) + 1
                return Hit(asked.query.text, rank, reached[0].citation), None
        failed = failed or (await asking.retrieve(completion.query)).reason
    return None, failed


async def _with_steps(checked: Checked, asking: _Asking) -> Checked:
    """Consult like ``knowledge-rag ask``, and count the steps from the found runbook."""
    runbook = checked.runbook
    if runbook is None or checked.hit is None:
        return checked
    given = await consult(checked.alert.incident, asking)
    own = 0
    elsewhere: dict[Citation, None] = {}
    for step in given.recommendation.guidance:
        cited = [lines.citation for lines in step.citations]
        if any(map(runbook.may_say, cited)):
            own += 1
        else:
            elsewhere.update(dict.fromkeys(cited))
    failures = given.findings.failures
    steps = Steps(own, tuple(elsewhere), failures[0] if failures else None)
    if not steps.are_missing:
        return replace(checked, steps=steps, message="")
    gives = f"gives those of {_named(steps.elsewhere)}" if elsewhere else "gives none at all"
    found = f"alert {checked.alert.name} finds {runbook.named}, but no step in it"
    return replace(checked, steps=steps, message=f"{found}; `knowledge-rag ask` {gives}")


FORM: Final = Form(("alert", "file"), file=1, mark="gap")
"""Key of a baseline entry: gaps are counted by alert name and rule file, so one gap may replace another."""


def mended(
    baseline: Baseline, found: Sequence[Checked], files: Iterable[str], *, knows_steps: bool = True
) -> tuple[Key, ...]:
    """Return the entries with more gaps than this run found in the files it read, or whose files are gone."""
    read = frozenset(files)
    return tuple(
        key
        for key in baseline.mended(found)
        if (knows_steps or baseline.marks.get(key) != Gap.NO_STEPS)
        and (key[1] in read or not Path(key[1]).exists())
    )


def as_baseline(gaps: Sequence[Checked]) -> str:
    """Return a run's gaps as the text of a baseline."""
    marks = sorted((gap.key, gap.gap.value) for gap in gaps if gap.gap is not None)
    return FORM.text(gaps, dict(marks))


@dataclass(frozen=True, slots=True)
class Coverage:
    """The outcome for all alerts, at least one, in file order.

    Args:
        checked: each alert.
        new: findings that aren't in the baseline, including warnings.
        known: findings in the baseline.
        mended: entries of the baseline that are no longer gaps.
        broken: files of rules that couldn't be checked.
        skipped: files in folders and patterns that contain no rules.
        wanted: criteria for a build to pass.
    """

    checked: tuple[Checked, ...]
    new: tuple[Checked, ...]
    known: tuple[Checked, ...]
    mended: tuple[Key, ...]
    broken: tuple[BrokenFile, ...]
    skipped: tuple[str, ...]
    wanted: Wanted

    @property
    def gaps(self) -> tuple[Checked, ...]:
        """Return the new findings that leave an alert uncovered."""
        return tuple(each for each in self.new if each.gap is not None)

    @property
    def warnings(self) -> tuple[Checked, ...]:
        """Return the other new findings: covered, but no step."""
        return tuple(each for each in self.new if each.gap is None)

    @property
    def unknown(self) -> tuple[Checked, ...]:
        """Return the alerts whose search failed."""
        return tuple(each for each in self.checked if each.reason is not None)

    @property
    def steps_unknown(self) -> tuple[Checked, ...]:
        """Return the covered alerts whose search for steps failed."""
        return tuple(each for each in self.checked if each.steps_unknown is not None)

    @property
    def covered(self) -> int:
        """Return how many alerts find their own runbook, and steps in it if required."""
        return sum(each.covered for each in self.checked)

    @property
    def without_steps(self) -> int:
        """Return how many of the covered alerts find no step in their runbook."""
        return sum(each.covered and each.finding is not None for each in self.checked)

    @property
    def share(self) -> float:
        """Return the share of alerts that are covered; known gaps are not."""
        return self.covered / len(self.checked)

    @property
    def passed(self) -> bool:
        """Whether a build passes; it doesn't while anything is unknown about an alert or a file."""
        if self.broken or self.unknown or (self.wanted.baseline is not None and self.gaps):
            return False
        return self.share >= self.wanted.share

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "alerts": len(self.checked),
            "covered": self.covered,
            "without_steps": self.without_steps,
            "share": round(self.share, 6),
            "threshold": self.wanted.share,
            "top": self.wanted.top,
            "passed": self.passed,
            "findings": [_finding(gap) for gap in self.gaps],
            "warnings": [_finding(each) for each in self.warnings],
            "known": [_finding(each) for each in self.known],
            "mended": [{"alert": alert, "file": file} for alert, file in self.mended],
            "degraded": [
                _rule(each) | {"reason": each.reason.value} for each in self.unknown if each.reason
            ],
            "unreadable": [each.to_dict() for each in self.broken],
            "skipped": list(self.skipped),
            "details": [_detail(each) for each in self.checked],
        }


def summarise(checked: Sequence[Checked], rules: RuleFiles, wanted: Wanted) -> Coverage:
    """Sum up at least one checked alert."""
    strict = wanted.steps is StepsCheck.REQUIRE
    judged = tuple(each.needing_steps() if strict else each for each in checked)
    # gaps first, so that the baseline's entries aren't used up by findings that don't fail
    found = [each for each in judged if each.gap is not None]
    found += [each for each in judged if each.gap is None and each.finding is not None]
    baseline = wanted.baseline
    new, known = baseline.split(found) if baseline else (tuple(found), ())
    unsure = [each for each in judged if each.reason is not None or each.steps_unknown is not None]
    gone: tuple[Key, ...] = ()
    if baseline:
        knows_steps = wanted.steps is not StepsCheck.OFF
        gone = mended(baseline, [*found, *unsure], rules.files, knows_steps=knows_steps)
    return Coverage(judged, new, known, gone, rules.broken, rules.skipped, wanted)


def _rule(each: Checked) -> dict[str, Any]:
    return {"alert": each.alert.name, "file": each.alert.file, "line": each.alert.place.line}


def _finding(each: Checked) -> dict[str, Any]:
    kind = each.finding.value if each.finding else None
    return {"kind": kind, "message": each.message, **_rule(each)}


def _state(each: Checked) -> str:
    if each.reason is not None:
        return "degraded"
    if each.gap is not None:
        return "missing"
    return "covered" if each.finding is None else "covered_without_steps"


def _detail(each: Checked) -> dict[str, Any]:
    detail = _rule(each) | {
        "covered": each.covered,
        "state": _state(each),
        "runbook": None,
        "hit": None,
        "steps": None,
        "queries": list(each.queries),
        "instead": [citation.to_dict() for citation in each.instead],
    }
    if each.runbook is not None:
        targets = [_target(target) for target in each.runbook.targets]
        detail["runbook"] = {"by": each.runbook.by.value, "targets": targets}
    if each.hit is not None:
        found = each.hit
        detail["hit"] = {"query": found.query, "rank": found.rank, **found.citation.to_dict()}
    if each.steps is not None:
        detail["steps"] = each.steps.to_dict()
    return detail


def _target(target: Target) -> dict[str, Any]:
    fields: dict[str, Any] = {"source_file": target.source_file}
    if target.lines:
        fields["start_line"], fields["end_line"] = target.lines
    return fields
