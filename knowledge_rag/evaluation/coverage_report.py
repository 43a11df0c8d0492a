"""What a check of coverage found, and whether a build may pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.evaluation.coverage_baseline import Baseline, Key
    from knowledge_rag.evaluation.coverage_run import Checked

THRESHOLD: Final = 1.0
"""Share of alerts that have to be covered where nobody says anything else."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The outcome for all alerts.

    Args:
        checked: each alert, in the order of the files; at least one.
        new: gaps that no baseline knows.
        known: gaps of the baseline.
        mended: entries of the baseline that are gaps no more.
        threshold: share of alerts that have to be covered, 0..1.
        has_baseline: whether there is one; then no gap may be new, whatever the share.
        top: among how many results of a query a runbook had to be.
    """

    checked: tuple[Checked, ...]
    new: tuple[Checked, ...]
    known: tuple[Checked, ...]
    mended: tuple[Key, ...]
    threshold: float
    has_baseline: bool
    top: int

    @property
    def unknown(self) -> tuple[Checked, ...]:
        """Give the alerts of which it could not be found out."""
        return tuple(each for each in self.checked if each.reason is not None)

    @property
    def covered(self) -> int:
        """Give how many alerts find their own runbook."""
        return sum(each.hit is not None for each in self.checked)

    @property
    def share(self) -> float:
        """Give the share of alerts that find their own runbook; known gaps do not."""
        return self.covered / len(self.checked)

    @property
    def passed(self) -> bool:
        """Whether a build may pass; not while it is unknown of an alert."""
        if self.unknown or (self.has_baseline and self.new):
            return False
        return self.share >= self.threshold

    def to_dict(self) -> dict[str, Any]:
        """Give the report as JSON has it."""
        return {
            "alerts": len(self.checked),
            "covered": self.covered,
            "share": round(self.share, 6),
            "threshold": self.threshold,
            "top": self.top,
            "passed": self.passed,
            "findings": [_finding(gap) for gap in self.new],
            "known": [_finding(gap) for gap in self.known],
            "mended": [{"alert": alert, "file": file} for alert, file in self.mended],
            "degraded": [
                _rule(each) | {"reason": each.reason.value} for each in self.unknown if each.reason
            ],
            "details": [_detail(each) for each in self.checked],
        }


def summarise(
    checked: Sequence[Checked],
    files: Sequence[str],
    *,
    top: int,
    threshold: float | None = None,
    baseline: Baseline | None = None,
) -> Coverage:
    """Sum up what was found.

    Args:
        checked: each alert, at least one.
        files: of rules that were read.
        top: among how many results of a query a runbook had to be.
        threshold: share that has to be covered, 0..1; left out, it is THRESHOLD, or 0 where a
            baseline says which gaps may be.
        baseline: known gaps.
    """
    gaps = [each for each in checked if each.gap is not None]
    new, known = baseline.split(gaps) if baseline else (tuple(gaps), ())
    unsure = [each for each in checked if each.gap is not None or each.reason is not None]
    return Coverage(
        checked=tuple(checked),
        new=new,
        known=known,
        mended=baseline.mended(unsure, files) if baseline else (),
        threshold=threshold if threshold is not None else (0.0 if baseline else THRESHOLD),
        has_baseline=baseline is not None,
        top=top,
    )


def _rule(each: Checked) -> dict[str, Any]:
    return {"alert": each.alert.name, "file": each.alert.file, "line": each.alert.place.line}


def _finding(each: Checked) -> dict[str, Any]:
    gap = each.gap.value if each.gap else None
    return {"kind": gap, "message": each.message, **_rule(each)}


def _detail(each: Checked) -> dict[str, Any]:
    detail = _rule(each) | {
        "covered": each.hit is not None,
        "runbook": None,
        "hit": None,
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
    return detail
