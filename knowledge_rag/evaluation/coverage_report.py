"""What a check of coverage found, and whether a build may pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowledge_rag.evaluation.coverage_wanted import StepsCheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.evaluation.coverage_baseline import Key
    from knowledge_rag.evaluation.coverage_files import BrokenFile, RuleFiles
    from knowledge_rag.evaluation.coverage_run import Checked
    from knowledge_rag.evaluation.coverage_wanted import Wanted


@dataclass(frozen=True, slots=True)
class Coverage:
    """The outcome for all alerts.

    Args:
        checked: each alert, in the order of the files; at least one.
        new: findings that no baseline knows, those that are told and are no gaps among them.
        known: findings of the baseline.
        mended: entries of the baseline that are gaps no more.
        broken: files of rules of which nothing was checked.
        skipped: files of folders and patterns that hold no rules.
        wanted: what makes a build pass.
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
        """Give the findings that no baseline knows, and that leave an alert uncovered."""
        return tuple(each for each in self.new if each.gap is not None)

    @property
    def warnings(self) -> tuple[Checked, ...]:
        """Give the other findings that no baseline knows: covered, and no step to take."""
        return tuple(each for each in self.new if each.gap is None)

    @property
    def unknown(self) -> tuple[Checked, ...]:
        """Give the alerts of which it could not be found out."""
        return tuple(each for each in self.checked if each.reason is not None)

    @property
    def steps_unknown(self) -> tuple[Checked, ...]:
        """Give the covered alerts of which nobody knows whether there are steps."""
        return tuple(each for each in self.checked if each.steps_unknown is not None)

    @property
    def covered(self) -> int:
        """Give how many alerts find their own runbook, and steps in it where they have to."""
        return sum(each.covered for each in self.checked)

    @property
    def without_steps(self) -> int:
        """Give how many of the covered alerts find no step in their runbook."""
        return sum(each.covered and each.finding is not None for each in self.checked)

    @property
    def share(self) -> float:
        """Give the share of alerts that are covered; known gaps are not."""
        return self.covered / len(self.checked)

    @property
    def passed(self) -> bool:
        """Whether a build may pass; not while anything is unknown of an alert or a file."""
        if self.broken or self.unknown or (self.wanted.baseline is not None and self.gaps):
            return False
        return self.share >= self.wanted.share

    def to_dict(self) -> dict[str, Any]:
        """Give the report as JSON has it."""
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
    """Sum up what was found.

    Args:
        checked: each alert, at least one.
        rules: the files that they are from.
        wanted: what makes a build pass.
    """
    strict = wanted.steps is StepsCheck.REQUIRE
    judged = tuple(each.needing_steps() if strict else each for each in checked)
    # gaps first, so that what a baseline knows is not used up by what does not fail
    found = [each for each in judged if each.gap is not None]
    found += [each for each in judged if each.gap is None and each.finding is not None]
    baseline = wanted.baseline
    new, known = baseline.split(found) if baseline else (tuple(found), ())
    unsure = [each for each in judged if each.reason is not None or each.steps_unknown is not None]
    mended: tuple[Key, ...] = ()
    if baseline:
        knows_steps = wanted.steps is not StepsCheck.OFF
        mended = baseline.mended([*found, *unsure], rules.files, knows_steps=knows_steps)
    return Coverage(judged, new, known, mended, rules.broken, rules.skipped, wanted)


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
        targets = [
            {"source_file": target.source_file}
            | (
                dict(zip(("start_line", "end_line"), target.lines, strict=True))
                if target.lines
                else {}
            )
            for target in each.runbook.targets
        ]
        detail["runbook"] = {"by": each.runbook.by.value, "targets": targets}
    if each.hit is not None:
        found = each.hit
        detail["hit"] = {"query": found.query, "rank": found.rank, **found.citation.to_dict()}
    if each.steps is not None:
        detail["steps"] = each.steps.to_dict()
    return detail
