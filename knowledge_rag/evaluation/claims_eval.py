"""Measures how well the support checks separate supported claims from unsupported ones.

The positive class is "unsupported". Intervals are bootstrapped: the rows of each class are resampled with
replacement, and the middle 95 % of the figures are returned.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.console import Group

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.datasets import read_lines, read_rows
from knowledge_rag.evaluation.evaluation_report import auroc, new_table
from knowledge_rag.guardrails.support.check import check_support
from knowledge_rag.guardrails.support.report import DOUBTED, Verdict
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


MAX_CLAIMS_BYTES: Final = 64 * 1024 * 1024

_DRAWS: Final = 2_000
_SEED: Final = 0


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """A claim, its evidence, and whether the evidence supports it."""

    id: str
    claim: str
    evidence: tuple[str, ...]
    supported: bool


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """The checks' result for a labelled claim.

    Args:
        unsupported: by its label.
        alarm: whether the checks find an error, or the score doubts the claim.
        doubt: the strength of that, 0..1.
        unchecked: whether its words were skipped because of their language.
    """

    unsupported: bool
    alarm: bool
    doubt: float
    unchecked: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a set; ``None`` where one is undefined.

    Args:
        claims: number of rows in the set.
        unsupported: number of rows with that label.
        balanced_accuracy: the mean of recall and of the share of supported claims without an alarm.
        precision: share of alarms that are right.
        recall: share of unsupported claims with an alarm.
        false_alarms: share of supported claims with an alarm.
        auroc: probability that an unsupported claim is doubted more than a supported one.
        unchecked: number of rows whose words were skipped.
    """

    claims: int
    unsupported: int
    balanced_accuracy: float | None
    precision: float | None
    recall: float | None
    false_alarms: float | None
    auroc: float | None
    unchecked: int


@dataclass(frozen=True, slots=True)
class ClaimsReport:
    """The figures of some files of claims with their 95 % intervals, and of each file if there are several."""

    figures: Figures
    intervals: Mapping[str, tuple[float, float]]
    sets: Mapping[str, Figures]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **asdict(self.figures),
            "intervals": {name: list(ends) for name, ends in self.intervals.items()},
            "sets": {name: asdict(each) for name, each in self.sets.items()},
        }


def load_claims(path: Path) -> list[LabelledClaim]:
    """Read a file of claims, JSON Lines.

    Each row has ``id``, ``claim``, ``supported`` (true or false) and ``evidence`` or
    ``evidence_lines``, a list of texts; other keys are ignored.

    Raises:
        InvalidRequest: a row is not of this form, or there is none.
        UnreadableDocument: it can't be read.
    """
    wants = 'expected {"id", "claim", "supported", "evidence": [lines]}'
    rows = read_rows(
        read_lines(path, MAX_CLAIMS_BYTES),
        lambda _, row: _labelled(row),
        lambda number: InvalidRequest(f"{path}, line {number}: {wants}"),
    )
    if not rows:
        raise InvalidRequest(f"no claims in {path}")
    return rows


def _labelled(row: dict[str, Any]) -> LabelledClaim:
    evidence, supported = row.get("evidence_lines", row.get("evidence")), row["supported"]
    if not isinstance(evidence, list) or not all(isinstance(line, str) for line in evidence):
        raise ValueError("evidence must be a list of lines")
    if not isinstance(supported, bool):
        raise ValueError("supported must be true or false")  # noqa: TRY004 - wrong input, not a defect
    return LabelledClaim(str(row["id"]), str(row["claim"]), tuple(evidence), supported)


def judge_claims(claims: Sequence[LabelledClaim]) -> list[JudgedClaim]:
    """Check each claim against its evidence, like ``verify``."""
    judged = []
    for claim in claims:
        report = check_support(claim.claim, claim.evidence)
        doubt = report.doubt or 0.0
        error = report.verdict is Verdict.UNSUPPORTED
        # decisions of a rule come before all doubts of the score
        judged.append(
            JudgedClaim(
                unsupported=not claim.supported,
                alarm=error or doubt >= DOUBTED,
                doubt=(1 + doubt) / 2 if report.contradicted else max(doubt, DOUBTED * error),
                unchecked=bool(report.language),
            )
        )
    return judged


def evaluate_claims(paths: Sequence[Path]) -> ClaimsReport:
    """Check all claims in some files; raises the same as :func:`load_claims`."""
    sets = {str(path): judge_claims(load_claims(path)) for path in dict.fromkeys(paths)}
    together = [judged for each in sets.values() for judged in each]
    apart = {name: figures_of(each) for name, each in sets.items()} if len(sets) > 1 else {}
    return ClaimsReport(figures_of(together), intervals_of(together), apart)


def figures_of(judged: Sequence[JudgedClaim]) -> Figures:
    """Return the figures of judged claims."""
    wrong = [it for it in judged if it.unsupported]
    right = [it for it in judged if not it.unsupported]
    caught, false = sum(it.alarm for it in wrong), sum(it.alarm for it in right)
    recall = caught / len(wrong) if wrong else None
    false_alarms = false / len(right) if right else None
    return Figures(
        claims=len(judged),
        unsupported=len(wrong),
        balanced_accuracy=_mean(recall, false_alarms),
        precision=caught / (caught + false) if caught + false else None,
        recall=recall,
        false_alarms=false_alarms,
        auroc=auroc([it.doubt for it in wrong], [it.doubt for it in right]),
        unchecked=sum(it.unchecked for it in judged),
    )


def _mean(recall: float | None, false_alarms: float | None) -> float | None:
    if recall is None or false_alarms is None:
        return None
    return (recall + 1 - false_alarms) / 2


def intervals_of(judged: Sequence[JudgedClaim]) -> dict[str, tuple[float, float]]:
    """Return the 95 % intervals of the shares; none if all rows have the same label."""
    wrong = np.array([(float(it.alarm), it.doubt) for it in judged if it.unsupported])
    right = np.array([(float(it.alarm), it.doubt) for it in judged if not it.unsupported])
    if not len(wrong) or not len(right):
        return {}
    rng = np.random.default_rng(_SEED)
    drawn: dict[str, list[float]] = {}
    for _ in range(_DRAWS):
        some_wrong = wrong[rng.integers(len(wrong), size=len(wrong))]
        some_right = right[rng.integers(len(right), size=len(right))]
        caught, false = some_wrong[:, 0].sum(), some_right[:, 0].sum()
        recall = caught / len(wrong)
        drawn.setdefault("recall", []).append(recall)
        drawn.setdefault("balanced_accuracy", []).append((recall + 1 - false / len(right)) / 2)
        if caught + false:
            drawn.setdefault("precision", []).append(caught / (caught + false))
        drawn.setdefault("false_alarms", []).append(false / len(right))
        drawn.setdefault("auroc", []).append(auroc(some_wrong[:, 1], some_right[:, 1]) or 0.0)
    ends = {name: np.percentile(values, (2.5, 97.5)) for name, values in drawn.items()}
    return {
        name: (round(float(low), 4), round(float(high), 4)) for name, (low, high) in ends.items()
    }


def as_table(report: ClaimsReport) -> Group:
    """Lay out the figures for a terminal: all together with their intervals, then each file."""
    figures = report.figures
    table = new_table(f"{counted(figures.claims, 'claim')}, positive: unsupported", "", "", "95 %")
    for name in _SHOWN:
        ends = report.intervals.get(name)
        interval = f"{ends[0]:.3f} - {ends[1]:.3f}" if ends else "-"
        table.add_row(name.replace("_", " "), _cell(getattr(figures, name)), interval)
    parts = [table]
    if report.sets:
        apart = new_table("", "file", "claims", "balanced accuracy", "AUROC")
        for name, each in report.sets.items():
            cells = _cell(each.balanced_accuracy), _cell(each.auroc)
            apart.add_row(name.rpartition("/")[2], f"{each.claims:,}", *cells)
        parts.append(apart)
    unchecked = counted(figures.unchecked, "claim")
    note = (
        [f"Words not checked because of their language: {unchecked}."] if figures.unchecked else []
    )
    return Group(*parts, *note)


_SHOWN: Final = ("balanced_accuracy", "precision", "recall", "false_alarms", "auroc")


def _cell(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"
