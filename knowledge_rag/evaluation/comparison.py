"""Compares two runs on the same questions, and distinguishes a difference from chance.

A paired bootstrap: the questions are resampled with replacement, ten thousand times; the middle 95 % of
the mean differences are the interval. If it excludes zero, other questions of this kind would very
likely show a difference in the same direction.

Latency is shown and not judged: other work on the machine slows all questions of a run, so that two runs of
one build, a minute apart, differ by an interval that excludes zero.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from rich.table import Table

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.evaluation.datasets import read_lines
from knowledge_rag.evaluation.evaluation_report import percentiles
from knowledge_rag.evaluation.evaluation_run import CUTOFFS, MEASURES, answer_hit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from knowledge_rag.evaluation.evaluation_report import Evaluation, Percentiles

FORMAT: Final = "knowledge-rag evaluation results 1"
MAX_RESULTS_BYTES: Final = 1024 * 1024 * 1024

LATENCY: Final = "latency_ms"
ZERO_RESULT: Final = "zero_result_rate"
SUCCESS: Final = "success_rate"
DEGRADED: Final = "degraded_rate"
CITATION_EXACT: Final = "citation_exact"
LINE_OVERLAP: Final = "line_overlap"
ANSWER_RANK: Final = "answer_rank"
"""Written for questions whose exact answer is labelled, and for no others."""

_NOT_RESULTS: Final = (
    ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError,
)  # fmt: skip
"""Exceptions from reading other JSON."""


@dataclass(frozen=True, slots=True)
class Results:
    """A file of results: ``values`` has each question's metrics by its id, ``None`` where it has none."""

    name: str
    rows_sha256: str
    docs_sha256: str
    values: Mapping[str, Mapping[str, float | None]]


def write_results(evaluation: Evaluation, path: Path) -> None:
    """Write a line about the run, then one about each question, atomically."""
    head = {"format": FORMAT, "queries": len(evaluation.judged), **asdict(evaluation.setup)}
    lines = [head, *(each.to_dict() for each in evaluation.judged)]
    unfinished = path.with_name(f"{path.name}.part")
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_results(path: Path) -> Results:
    """Read a file from :func:`write_results`.

    Raises:
        InvalidRequest: it is something else, or incomplete.
        UnreadableDocument: it can't be read.
    """
    lines = read_lines(path, MAX_RESULTS_BYTES)
    try:
        head, *rows = (json.loads(line) for _, line in lines)
        if head["format"] != FORMAT:
            raise ValueError(head["format"])
        values = {str(row["id"]): _values(row) for row in rows}
        found = Results(str(path), str(head["rows_sha256"]), str(head["docs_sha256"]), values)
        whole = len(values) == len(rows) == head["queries"]
    except _NOT_RESULTS as error:
        raise InvalidRequest(f"{path}: not results of `knowledge-rag eval --results`") from error
    if not whole or not values:
        raise InvalidRequest(f"{path}: results of {len(values)} queries, not of {head['queries']}")
    return found


def _values(row: Mapping[str, Any]) -> dict[str, float | None]:
    """Return a question's part of each figure; ``None`` if the figure excludes it."""
    status = Status(row["status"])
    searched = status is not Status.DEGRADED
    exact = [bool(result["exact"]) for result in row["results"]]
    values: dict[str, float | None] = {name: _between(row[name], 1) for name in MEASURES}
    overlap = row[LINE_OVERLAP]
    labelled = ANSWER_RANK in row
    rank = row.get(ANSWER_RANK)
    for k in CUTOFFS:
        values[answer_hit(k)] = float(rank is not None and rank <= k) if labelled else None
    return values | {
        LINE_OVERLAP: None if overlap is None else _between(overlap, 1),
        CITATION_EXACT: sum(exact) / len(exact) if exact else None,
        ZERO_RESULT: float(status is Status.NO_MATCH) if searched else None,
        SUCCESS: float(searched),
        DEGRADED: float(not searched),
        LATENCY: _between(row[LATENCY], math.inf) if searched else None,
    }


def _between(value: float, most: float) -> float:
    """Return a figure of 0..most, or raise ``ValueError``, also for NaN."""
    if not 0 <= value <= most or value == math.inf:
        raise ValueError(value)
    return float(value)


RESAMPLES: Final = 10_000
SEED: Final = 2026
CONFIDENCE: Final = 0.95
MIN_PAIRS: Final = 2
_BLOCK: Final = 250
"""Resamples computed at once: limits the memory to some megabytes for thousands of questions."""

LOWER_IS_BETTER: Final = frozenset({DEGRADED, ZERO_RESULT})
NOT_JUDGED: Final = "not judged"

Values = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Difference:
    """The means ``a`` and ``b`` of one metric in both runs: latency in milliseconds, everything else 0..1.

    ``pairs`` is the number of questions with a value in both; ``low`` and ``high`` are the interval's ends.
    """

    metric: str
    pairs: int
    a: float
    b: float
    difference: float
    low: float
    high: float

    @property
    def more_than_chance(self) -> bool:
        """Whether the interval excludes zero; always false for latency."""
        return self.metric != LATENCY and (self.low > 0 or self.high < 0)

    @property
    def verdict(self) -> str:
        """Return the conclusion in words."""
        if self.low == self.high == self.difference == 0:
            return "the same"
        if self.metric == LATENCY:
            return NOT_JUDGED
        if not self.more_than_chance:
            return "no difference shown"
        better = (self.difference < 0) == (self.metric in LOWER_IS_BETTER)
        return "better" if better else "worse"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, by the names of their files: a difference for each metric that any question has in both.

    ``latencies`` are of the searched questions of each run.
    """

    a: str
    b: str
    queries: int
    same_documents: bool
    differences: tuple[Difference, ...]
    latencies: tuple[Percentiles | None, Percentiles | None] = (None, None)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "a": self.a,
            "b": self.b,
            "queries": self.queries,
            "same_documents": self.same_documents,
            "confidence": CONFIDENCE,
            "resamples": RESAMPLES,
            "metrics": {
                each.metric: asdict(each)
                | {"more_than_chance": each.more_than_chance, "verdict": each.verdict}
                for each in self.differences
            },
            "latency_percentiles_ms": {
                name: asdict(found) if found else None
                for name, found in zip(("a", "b"), self.latencies, strict=True)
            },
        }


def compare(a: Results, b: Results, *, resamples: int = RESAMPLES, seed: int = SEED) -> Comparison:
    """Compare two runs question by question; the same seed gives the same intervals.

    Raises:
        InvalidRequest: they are of different questions, or too few.
    """
    if a.rows_sha256 != b.rows_sha256 or a.values.keys() != b.values.keys():
        raise InvalidRequest(
            f"{a.name} and {b.name} are runs of different questions: compare runs with the same "
            "datasets, --limit and --seed"
        )
    if len(a.values) < MIN_PAIRS:
        raise InvalidRequest("one query is too few to compare: any difference could be chance")
    names = list(next(iter(a.values.values())))
    first, second = (  # shape (questions, metrics), NaN where a question has no value
        np.array([[run.values[each][it] for it in names] for each in a.values], dtype=np.float64)
        for run in (a, b)
    )
    both = ~(np.isnan(first) | np.isnan(second))
    low, high = _intervals(np.where(both, second - first, 0.0), both, resamples, seed)
    differences = tuple(
        _difference(name, first[both[:, n], n], second[both[:, n], n], (low[n], high[n]))
        for n, name in enumerate(names)
        if both[:, n].any()
    )
    same = a.docs_sha256 == b.docs_sha256
    latencies = _latency(a), _latency(b)
    return Comparison(a.name, b.name, len(a.values), same, differences, latencies)


def as_table(comparison: Comparison) -> Table:
    """Lay out a comparison for a terminal."""
    table = Table(title=f"{comparison.queries} queries", caption=_caption(comparison))
    interval = f"B - A, {CONFIDENCE:.0%} interval"
    for heading, width in (
        ("metric", 0),
        ("A", 5),
        ("B", 5),
        (interval, len(interval)),
        ("B is", 0),
    ):
        # if there is little room, words are wrapped: a truncated figure is useless
        justify: Literal["left", "right"] = "right" if width else "left"
        table.add_column(
            heading, justify=justify, no_wrap=bool(width), min_width=width or None, overflow="fold"
        )
    for each in comparison.differences:
        digits = 1 if each.metric == LATENCY else 3
        table.add_row(
            each.metric,
            f"{each.a:.{digits}f}",
            f"{each.b:.{digits}f}",
            f"{each.difference:+.{digits}f} ({each.low:+.{digits}f} .. {each.high:+.{digits}f})",
            each.verdict,
        )
    for row in _percentile_rows(comparison):
        table.add_row(*row)
    return table


def _percentile_rows(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    a, b = comparison.latencies
    for name in ("p50", "p95", "p99") if a and b else ():
        first, second = getattr(a, name), getattr(b, name)
        change = f"{second - first:+.1f}"
        yield f"{LATENCY} {name}", f"{first:.1f}", f"{second:.1f}", change, NOT_JUDGED


def _caption(comparison: Comparison) -> str:
    parts = [
        f"A {comparison.a}",
        f"B {comparison.b}",
        f"paired bootstrap, {RESAMPLES:,} resamples",
        "latency depends on the machine's other work, so it is not judged",
    ]
    if not comparison.same_documents:
        parts.append("they searched different documents")
    return "\n".join(map(neutralise, parts))


def _latency(run: Results) -> Percentiles | None:
    times = [each.get(LATENCY) for each in run.values.values()]
    known = [time / 1000 for time in times if time is not None]
    return percentiles(known) if known else None


def _intervals(
    differences: Values, known: np.ndarray[Any, np.dtype[np.bool_]], resamples: int, seed: int
) -> tuple[Values, Values]:
    """Return the ends of the intervals of the mean differences, each of shape (metrics,)."""
    random = np.random.default_rng(seed)
    count = len(differences)
    weights = known.astype(np.float64)
    means = []
    for start in range(0, resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        drawn = random.integers(0, count, (size, count)) + np.arange(size)[:, None] * count
        times = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count)
        pairs = times @ weights
        means.append(times @ differences / np.where(pairs, pairs, np.nan))
    tails = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    low, high = np.zeros(differences.shape[1]), np.zeros(differences.shape[1])
    for metric, drawn_means in enumerate(np.concatenate(means).T):
        # a resample without any question that has a value counts for nothing
        if (said := drawn_means[~np.isnan(drawn_means)]).size:
            low[metric], high[metric] = np.quantile(said, tails)
    return low, high


def _difference(metric: str, a: Values, b: Values, interval: tuple[float, float]) -> Difference:
    low, high = (float(end) for end in interval)
    mean = float(np.mean(b - a))
    return Difference(metric, len(a), float(np.mean(a)), float(np.mean(b)), mean, low, high)
