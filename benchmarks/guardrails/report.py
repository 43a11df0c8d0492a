"""The figures of the support checks, and their targets."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.console import Group

from benchmarks.guardrails.cases import CHUNK_CITED
from benchmarks.guardrails.edits import EDITS
from benchmarks.guardrails.timing import MAX_VERIFY_MS
from knowledge_rag.evaluation.evaluation_report import new_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.table import Table

    from benchmarks.guardrails.timing import Timing, VerifyTiming

MIN_RECALL: Final = 0.95
"""At least this share of changed and misplaced guidance must be found unsupported."""
MAX_FALSE_ALARMS: Final = 0.01
"""At most this share of true guidance may be found unsupported."""

NEGATION: Final = "negation"
_APART: Final = frozenset({NEGATION, "steps reversed", *EDITS})
_Z: Final = 1.96
MISPLACED: Final = "wrong section"


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """The outcome of one family of claims.

    Args:
        family: how the claims were made.
        supported: whether their lines support them.
        cases: number of claims.
        alarms: share found unsupported, 0..1.
        warned: share with a warning of negation, 0..1.
    """

    family: str
    supported: bool
    cases: int
    alarms: float
    warned: float


@dataclass(frozen=True, slots=True)
class CheckRow:
    """The findings of one check.

    Args:
        check: a kind of atom, a change of a sentence, ``coverage``, ``negation`` or ``any``.
        caught: unsupported claims that it reports.
        alone: of these, claims that no other check reports.
        false: supported claims that it reports.
        unsupported: unsupported claims that it should report.
        supported: all supported claims.
    """

    check: str
    caught: int
    alone: int
    false: int
    unsupported: int
    supported: int

    @property
    def precision(self) -> float | None:
        """Share of its reports that are right; ``None`` without reports."""
        fired = self.caught + self.false
        return self.caught / fired if fired else None

    @property
    def recall(self) -> float | None:
        """Share of the unsupported claims that it reports; ``None`` without such claims."""
        return self.caught / self.unsupported if self.unsupported else None

    @property
    def false_alarms(self) -> float | None:
        """Share of the supported claims that it reports; ``None`` without such claims."""
        return self.false / self.supported if self.supported else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the recall (Wilson's); ``None`` without a recall."""
        if self.recall is None:
            return None
        spread = _Z**2 / self.unsupported
        middle = (self.recall + spread / 2) / (1 + spread)
        inner = self.recall * (1 - self.recall) / self.unsupported + spread**2 / (4 * _Z**2)
        half = _Z * math.sqrt(inner) / (1 + spread)
        return middle - half, middle + half

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        shares = {"precision": self.precision, "recall": self.recall, "interval": self.interval}
        return asdict(self) | shares | {"false_alarms": self.false_alarms}


@dataclass(frozen=True, slots=True)
class GuardrailsReport:
    """A run of the benchmark.

    Args:
        documents: number of documents with guidance.
        min_coverage: the setting in use.
        chosen_coverage: the setting that the choosing half suggests; ``None`` if none is enough.
        families: on the reported half, the supported ones first.
        checks: on the reported half.
        claims: name of each file of claims -> its rows.
        timing: CPU time of the checks.
        verify_timing: CPU time of ``verify``.
    """

    documents: int
    min_coverage: float
    chosen_coverage: float | None
    families: tuple[FamilyRow, ...]
    checks: tuple[CheckRow, ...]
    claims: Mapping[str, tuple[CheckRow, ...]]
    timing: Timing
    verify_timing: VerifyTiming

    @property
    def recall(self) -> float:
        """Share of changed and misplaced guidance found unsupported, 0..1, without edits of its meaning."""
        return _share(row for row in self.families if not row.supported and counts(row.family))

    @property
    def false_alarms(self) -> float:
        """Share of true guidance found unsupported, 0..1."""
        return _share(row for row in self.families if row.supported and counts(row.family))

    @property
    def reached(self) -> bool:
        """Whether both targets are met; times depend on the machine and have a target of their own."""
        return self.recall >= MIN_RECALL and self.false_alarms <= MAX_FALSE_ALARMS

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "documents": self.documents,
            "settings": {
                "min_coverage": self.min_coverage,
                "chosen_coverage": self.chosen_coverage,
            },
            "recall": self.recall,
            "false_alarms": self.false_alarms,
            "reached": self.reached,
            "families": [asdict(row) for row in self.families],
            "checks": [row.to_dict() for row in self.checks],
            "claims": {name: [row.to_dict() for row in rows] for name, rows in self.claims.items()},
            "timing": asdict(self.timing),
            "verify_timing": self.verify_timing.to_dict(),
        }


def counts(family: str) -> bool:
    """Whether a family counts for the targets: not negations, edits of meaning, or claims that cite a whole chunk."""
    return family not in _APART and not family.endswith(CHUNK_CITED)


def _share(rows: Iterable[FamilyRow]) -> float:
    listed = list(rows)
    return sum(row.alarms * row.cases for row in listed) / max(sum(row.cases for row in listed), 1)


def as_tables(report: GuardrailsReport) -> Group:
    """Return a table of the families of claims, one of the checks, and one of each file of claims."""
    timing, verifying = report.timing, report.verify_timing
    tables = [
        _families(report),
        _checks("each check alone, on the same half", report.checks),
        *(_checks(name, rows) for name, rows in report.claims.items()),
    ]
    return Group(
        *tables,
        f"recall {report.recall:.1%} (at least {MIN_RECALL:.0%}), false alarms"
        f" {report.false_alarms:.2%} (at most {MAX_FALSE_ALARMS:.0%}); negation, edits of"
        " meaning and claims that cite a whole chunk are not counted",
        f"1,000 words of claims: {timing.own_lines_ms:.1f} ms against their own lines,"
        f" {timing.chunks_ms:.1f} ms against chunks of {timing.evidence_words:,} words",
        f"verify, 1,000 words with {verifying.references} references: {verifying.short_ms:.2f} ms,"
        f" in an answer of 10,000 words {verifying.long_ms:.2f} ms"
        f" (aim: at most {MAX_VERIFY_MS:g} ms)",
    )


def _families(report: GuardrailsReport) -> Table:
    title = f"guidance of {report.documents} documents, the half that chose nothing"
    table = new_table(
        title, "claims", "say what their lines say", "cases", "alarms", "negation warned"
    )
    for row in report.families:
        says = "yes" if row.supported else "no"
        table.add_row(row.family, says, str(row.cases), f"{row.alarms:.1%}", f"{row.warned:.1%}")
    return table


def _checks(title: str, rows: Sequence[CheckRow]) -> Table:
    table = new_table(
        title, "check", "caught", "alone", "of", "false", "of", "precision", "recall", "95 %"
    )
    for row in rows:
        table.add_row(
            row.check,
            str(row.caught),
            str(row.alone),
            str(row.unsupported),
            str(row.false),
            str(row.supported),
            _percent(row.precision),
            _percent(row.recall),
            " - ".join(map(_percent, row.interval)) if row.interval else "-",
        )
    return table


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
