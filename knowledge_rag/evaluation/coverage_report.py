"""Findings of a coverage check, the baseline of known gaps, and whether a build passes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.drift.baseline import Form
from knowledge_rag.evaluation.coverage_runbooks import Gap
from knowledge_rag.evaluation.coverage_wanted import StepsCheck

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowledge_rag.drift.baseline import Baseline, Key
    from knowledge_rag.evaluation.coverage_check import Checked
    from knowledge_rag.evaluation.coverage_rules import BrokenFile, RuleFiles
    from knowledge_rag.evaluation.coverage_wanted import Wanted
    from knowledge_rag.evaluation.datasets import Target

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
    """The outcome for all alerts.

    Args:
        checked: each alert, in file order; at least one.
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
