"""Compares a hybrid search with other libraries', and with its lower limit: reading every vector once.

All search the same made-up chunks for the same questions, whose vectors are given, and take turns.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.table import Table

from benchmarks.speed.search_corpus import as_index, as_questions, make_up
from benchmarks.speed.search_peers import PEERS
from knowledge_rag.evaluation.evaluation_report import percentiles
from knowledge_rag.local.search import rank

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.speed.search_corpus import MadeUp
    from knowledge_rag.evaluation.evaluation_report import Percentiles

OURS: Final = "knowledge-rag"
FILTERED: Final = "knowledge-rag, a third allowed"
LIMIT: Final = "every vector read once, by one thread"
REACH: Final = 2.5 / 1.2
"""Maximum ratio to the limit. A search of 10,000 chunks may take 2.5 ms if reading their vectors once takes 1.2 ms.
As a ratio within one run it is valid on any machine, and for 100,000 chunks too (25 to 11.4 ms)."""
FELT_FROM: Final = 10_000
"""Number of chunks from which on the limit dominates; with fewer, everything else weighs more."""

_RESULTS: Final = 5
_WARM_UP: Final = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One search at one size.

    Args:
        name: name of the search.
        chunks: number of chunks.
        milliseconds: time of a question.
        ratio: median ratio of its time to the limit's for the same question.
    """

    name: str
    chunks: int
    milliseconds: Percentiles
    ratio: float


@dataclass(frozen=True, slots=True)
class SearchReport:
    """A run of the benchmark.

    Args:
        questions: number of questions at each size.
        rows: by size; ours first, the limit last.
        missing: peers that are not installed.
        reach: maximum ratio to the limit, from 10,000 chunks on.
    """

    questions: int
    rows: tuple[Row, ...]
    missing: tuple[str, ...]
    reach: float = REACH

    @property
    def reached(self) -> bool:
        """Whether our search meets the target at sizes from ``FELT_FROM`` on."""
        ours = [row for row in self.rows if row.name == OURS and row.chunks >= FELT_FROM]
        return all(row.ratio <= self.reach for row in ours)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"reached": self.reached}


def run_search_bench(sizes: Sequence[int], questions: int = 100) -> SearchReport:
    """Time searches of made-up knowledge bases of several sizes."""
    rows: list[Row] = []
    missing: dict[str, None] = {}
    for size in sizes:
        made = make_up(size, questions + _WARM_UP)
        kinds = _ours(made)
        for name, peer in PEERS.items():
            try:
                kinds[name] = _asking(peer(made), made)
            except ImportError:
                missing[name] = None
        kinds[LIMIT] = _limit(made)
        rows += _timed(kinds, size, questions)
    return SearchReport(questions, tuple(rows), tuple(missing))


def as_table(report: SearchReport) -> Table:
    """Return a report as a table."""
    table = Table(title=f"hybrid search, {report.questions} questions in turns, made-up chunks")
    for heading in ("search", "chunks", "p50 ms", "p95 ms", "limit = 1"):
        table.add_column(heading, justify="left" if heading == "search" else "right")
    before = None
    for row in report.rows:
        if before not in (None, row.chunks):
            table.add_section()
        before = row.chunks
        times = f"{row.milliseconds.p50:.2f}", f"{row.milliseconds.p95:.2f}", f"{row.ratio:.2f}"
        table.add_row(row.name, f"{row.chunks:,}", *times)
    verdict = "reached" if report.reached else "missed"
    left_out = f"; not installed: {', '.join(report.missing)}" if report.missing else ""
    table.caption = (
        f"aim: at most {report.reach:.2f} of the limit from 10,000 chunks on: {verdict}{left_out}"
    )
    return table


def _ours(made: MadeUp) -> dict[str, Callable[[int], object]]:
    index, asked = as_index(made), list(as_questions(made))
    third = np.arange(len(made.texts)) % 3 == 0
    return {
        OURS: lambda turn: rank(index, asked[turn], limit=_RESULTS),
        FILTERED: lambda turn: rank(index, asked[turn], limit=_RESULTS, mask=third),
    }


def _asking(ask: Callable[[str, Any], object], made: MadeUp) -> Callable[[int], object]:
    return lambda turn: ask(*made.questions[turn])


def _limit(made: MadeUp) -> Callable[[int], object]:
    return lambda turn: np.vecdot(made.vectors, made.questions[turn][1])


def _timed(kinds: dict[str, Callable[[int], object]], size: int, questions: int) -> list[Row]:
    taken: dict[str, list[float]] = {name: [] for name in kinds}
    names = list(kinds)
    for turn in range(_WARM_UP + questions):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            started = time.perf_counter()
            kinds[name](turn)
            taken[name].append(time.perf_counter() - started)
    measured = {name: times[_WARM_UP:] for name, times in taken.items()}
    return [
        Row(name, size, percentiles(times), _ratio(times, measured[LIMIT]))
        for name, times in measured.items()
    ]


def _ratio(times: Sequence[float], limits: Sequence[float]) -> float:
    return median(ours / least for ours, least in zip(times, limits, strict=True))
