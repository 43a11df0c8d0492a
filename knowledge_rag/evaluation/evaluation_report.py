"""Figures of an evaluation, and whether each target is reached.

A degraded query has no results, so every measure of relevance counts it as a miss. It is excluded from the
zero-result rate, which only covers searched queries, and from latency: otherwise a knowledge base that gives
up after two seconds would look quick.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from knowledge_rag.core.errors import InvalidRequest, how_to_install
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.evaluation.evaluation_run import CUTOFFS, MEASURES, answer_hit
from knowledge_rag.local.errors import NotInstalled
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike
    from rich.console import RenderableType

    from knowledge_rag.evaluation.evaluation_run import Judged


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Percentiles of some times, in milliseconds."""

    p50: float
    p95: float
    p99: float


def percentiles(seconds: Sequence[float]) -> Percentiles:
    """Return the nearest-rank percentiles of at least one time in seconds, as milliseconds."""
    ordered = sorted(seconds)

    def rank(percent: int) -> float:
        return ordered[-(-len(ordered) * percent // 100) - 1] * 1000

    return Percentiles(rank(50), rank(95), rank(99))


_Item = TypeVar("_Item")


def auroc(higher: ArrayLike, lower: ArrayLike) -> float | None:
    """Return the share of pairs in the right order, equal ones counting half; ``None`` without pairs."""
    above, below = np.asarray(higher), np.sort(np.asarray(lower))
    if not above.size or not below.size:
        return None
    left, right = (np.searchsorted(below, above, side=side) for side in ("left", "right"))
    return float((left + right).sum() / 2 / (above.size * below.size))


LATENCY_P95_BELOW_MS: Final = 2000.0
SUCCESS_ABOVE: Final = 0.95
RELEVANCE_ABOVE: Final = 0.80
"""Target for hit@5 on labelled questions."""
ZERO_RESULTS_BELOW: Final = 0.20


@dataclass(frozen=True, slots=True)
class Setup:
    """How an evaluation was run: ``way`` is ``local``, ``function`` or ``retrieve``.

    ``search`` is ``hybrid`` or ``semantic``, ``""`` if the function decides; ``rows_sha256`` is of the questions and
    their truth.
    """

    way: str
    search: str
    max_results: int
    with_alert: bool
    rows_sha256: str
    docs_sha256: str


@dataclass(frozen=True, slots=True)
class Goal:
    """A target and the measurement, in words; never reached if there was nothing to measure."""

    name: str
    wanted: str
    measured: str
    reached: bool


def missed_of(goals: Iterable[Goal]) -> tuple[str, ...]:
    """Return the names of the missed targets."""
    return tuple(goal.name for goal in goals if not goal.reached)


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of some questions. Rates and measures are 0..1, ``None`` if there was nothing to measure.

    Args:
        queries: number of questions.
        measures: the mean of each measure by name; a degraded query counts as 0.
        answer_hits: share with a line of the exact answer among the first k, by ``answer_hit@k``;
            empty if no answer's lines are known.
        line_overlap: the mean over questions with labelled lines.
        citations: number of results compared with the files.
        citation_exact: share of them that equal the files.
        success_rate: share of searched questions.
        degraded_rate: share of the others.
        degraded: number of those, by reason.
        zero_result_rate: share of the searched questions without results.
        latency_ms: of the searched questions.
        degraded_latency_ms: of the others.
    """

    queries: int
    measures: Mapping[str, float]
    answer_hits: Mapping[str, float]
    line_overlap: float | None
    citations: int
    citation_exact: float | None
    success_rate: float
    degraded_rate: float
    degraded: Mapping[str, int]
    zero_result_rate: float | None
    latency_ms: Percentiles | None
    degraded_latency_ms: Percentiles | None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, flat."""
        fields = asdict(self)
        return {
            "queries": fields.pop("queries"),
            **fields.pop("measures"),
            **fields.pop("answer_hits"),
            **fields,
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A run."""

    setup: Setup
    judged: tuple[Judged, ...]
    figures: Figures
    by_dataset: Mapping[str, Figures]

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Return the targets and the measurements."""
        found = self.figures
        latency = found.latency_ms.p95 if found.latency_ms else None
        hits, exact = found.measures["hit@5"], found.citation_exact
        zero = found.zero_result_rate
        return (
            Goal(
                "latency p95",
                f"< {LATENCY_P95_BELOW_MS:.0f} ms",
                "-" if latency is None else f"{latency:.0f} ms",
                latency is not None and latency < LATENCY_P95_BELOW_MS,
            ),
            _above("success", SUCCESS_ABOVE, found.success_rate),
            Goal("citation accuracy", "100%", _percent(exact), exact == 1.0),
            _above("relevance (hit@5)", RELEVANCE_ABOVE, hits),
            Goal(
                "zero results",
                f"< {ZERO_RESULTS_BELOW:.0%}",
                _percent(zero),
                zero is not None and zero < ZERO_RESULTS_BELOW,
            ),
        )

    @property
    def missed(self) -> tuple[str, ...]:
        """Return the names of the missed targets."""
        return missed_of(self.goals)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: the figures at the top level, then how they were measured."""
        return {
            **self.figures.to_dict(),
            "passed": not self.missed,
            "missed": list(self.missed),
            "by_dataset": {name: found.to_dict() for name, found in self.by_dataset.items()},
            **asdict(self.setup),
        }


def summarise(setup: Setup, judged: Sequence[Judged]) -> Evaluation:
    """Sum up a run of at least one question."""
    by_dataset = grouped(judged, lambda each: each.asked.row.dataset)
    summed = {name: figures(those) for name, those in by_dataset.items()}
    return Evaluation(setup, tuple(judged), figures(judged), summed)


def grouped(items: Iterable[_Item], name_of: Callable[[_Item], str]) -> dict[str, list[_Item]]:
    """Return items by name, in order of each name's first appearance."""
    groups: dict[str, list[_Item]] = {}
    for item in items:
        groups.setdefault(name_of(item), []).append(item)
    return groups


def figures(judged: Sequence[Judged]) -> Figures:
    """Sum up at least one question."""
    searched = [each for each in judged if each.searched]
    others = [each for each in judged if not each.searched]
    exact = [found for each in judged for found in each.exact]
    empty = [each.asked.outcome.status is Status.NO_MATCH for each in searched]
    reasons = Counter(each.asked.outcome.reason for each in others)
    return Figures(
        queries=len(judged),
        measures={
            name: round(fmean(each.measures[name] for each in judged), 6) for name in MEASURES
        },
        answer_hits=_answer_hits(judged),
        line_overlap=_mean(each.overlap for each in judged if each.overlap is not None),
        citations=len(exact),
        # never rounded up to 1 with one wrong citation in a million
        citation_exact=fmean(exact) if exact else None,
        success_rate=len(searched) / len(judged),
        degraded_rate=len(others) / len(judged),
        degraded={reason.value: count for reason, count in reasons.items() if reason},
        zero_result_rate=_mean(empty),
        latency_ms=_latency(searched),
        degraded_latency_ms=_latency(others),
    )


def _answer_hits(judged: Sequence[Judged]) -> dict[str, float]:
    ranks = [each.answer_rank for each in judged if each.asked.row.answer is not None]
    if not ranks:
        return {}
    return {
        answer_hit(k): round(fmean(rank is not None and rank <= k for rank in ranks), 6)
        for k in CUTOFFS
    }


def _latency(judged: Sequence[Judged]) -> Percentiles | None:
    if not judged:
        return None
    found = percentiles([each.asked.seconds for each in judged])
    return Percentiles(*(round(value, 3) for value in (found.p50, found.p95, found.p99)))


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return round(fmean(known), 6) if known else None


def _above(name: str, wanted: float, measured: float) -> Goal:
    return Goal(name, f"> {wanted:.0%}", _percent(measured), measured > wanted)


def _percent(value: float | None) -> str:
    if value is None:
        return "-"
    # cut, not rounded: an almost reached target must not read as reached
    return f"{int(value * 1000 + 1e-9) / 10:.1f}%"


def as_tables(evaluation: Evaluation) -> Group:
    """Lay out an evaluation: the figures, also by dataset, and the targets."""
    parts = [_figures(evaluation)]
    if len(evaluation.by_dataset) > 1:
        parts.append(_by_dataset(evaluation))
    return laid_out(parts, evaluation.goals)


def laid_out(parts: Iterable[RenderableType], goals: Sequence[Goal]) -> Group:
    """Lay parts out one below the other, then the targets with the measurements."""
    spaced = [each for part in parts for each in (part, Text())]
    table = new_table("targets", "target", "wanted", "measured")
    table.add_column("", justify="left")
    for goal in goals:
        verdict = Text("reached", "green") if goal.reached else Text("missed", "red")
        table.add_row(goal.name, goal.wanted, goal.measured, verdict)
    missed = ", ".join(missed_of(goals))
    end = [Text(), Text(f"missed: {missed}", style="red")] if missed else []
    return Group(*spaced, table, *end)


def new_table(title: str, name: str, *figures: str) -> Table:
    """Create a table whose first column names a row and whose others are figures."""
    table = Table(title=title)
    table.add_column(name, overflow="fold")
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _figures(evaluation: Evaluation) -> Table:
    setup = evaluation.setup
    asked = " with the alert's name" if setup.with_alert else ""
    how = f"{setup.search} search, {setup.way}" if setup.search else setup.way
    queries = counted(evaluation.figures.queries, "query")
    table = Table(title=f"{queries}{asked}, {how}", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for row in _rows(evaluation.figures):
        table.add_row(*row)
    return table


def _by_dataset(evaluation: Evaluation) -> Table:
    headings = ("queries", "hit@1", "hit@5", "mrr@10", "ndcg@10", "overlap")
    table = new_table("by dataset", "dataset", *headings)
    for name, found in evaluation.by_dataset.items():
        measured = [_share(found.measures[measure]) for measure in headings[1:-1]]
        table.add_row(neutralise(name), str(found.queries), *measured, _share(found.line_overlap))
    return table


def _rows(found: Figures) -> Iterator[tuple[str, str]]:
    for name, value in (*found.measures.items(), *found.answer_hits.items()):
        yield name, _share(value)
    yield "line overlap of the best result", _share(found.line_overlap)
    exact = round((found.citation_exact or 0) * found.citations)
    yield "citations exact", f"{exact} of {found.citations}"
    yield "zero results", _share(found.zero_result_rate)
    reasons = ", ".join(f"{reason} {count}" for reason, count in found.degraded.items())
    yield "degraded", _share(found.degraded_rate) + (f" ({reasons})" if reasons else "")
    yield "latency p50 / p95 / p99, ms", _times(found.latency_ms)
    if found.degraded_latency_ms is not None:
        yield "latency of degraded queries", _times(found.degraded_latency_ms)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _times(found: Percentiles | None) -> str:
    return "-" if found is None else f"{found.p50:.0f} / {found.p95:.0f} / {found.p99:.0f}"


SUFFIXES: Final = (".svg", ".png")
BLUE: Final = "#56b4e9"
ORANGE: Final = "#e69f00"
GREY: Final = "#777777"
"""From the palette by Okabe and Ito, which people with any common colour blindness can distinguish."""

_CONFIG_VARIABLE: Final = "MPLCONFIGDIR"
_STYLE: Final[Any] = {  # matplotlib's own type for it lists hundreds of names
    "svg.hashsalt": "knowledge-rag",
    "svg.fonttype": "none",  # text stays text, for search and for screen readers
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
}
_BINS: Final = 30
_TICKS: Final = 20


def check_plot(path: Path, cache_dir: Path) -> None:
    """Check that a plot can be drawn; matplotlib's font cache goes to ``cache_dir``.

    Raises:
        InvalidRequest: its name doesn't end in one of SUFFIXES.
        NotInstalled: matplotlib is missing.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidRequest(f"--plot {path}: its name must end in {' or '.join(SUFFIXES)}")
    os.environ.setdefault(_CONFIG_VARIABLE, str(cache_dir / "matplotlib"))
    # it reports on standard error that it searches the fonts, if that takes five seconds
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    try:
        import matplotlib.figure  # noqa: F401, PLC0415 - an extra, and slow to load
    except ImportError as error:
        raise NotInstalled(
            f"{error.name} is not installed, and plots need it: {how_to_install('eval')}"
        ) from error


def write_plot(evaluation: Evaluation, path: Path) -> None:
    """Draw an evaluation; see :func:`check_plot`."""
    with saved(path, (9, 3.6)) as figure:
        left, right = figure.subplots(1, 2)
        _draw_hits(left, evaluation)
        _draw_latency(right, evaluation)


@contextmanager
def saved(path: Path, size: tuple[float, float]) -> Iterator[Figure]:
    """Yield a figure of this size in inches to draw on, and write it when the block ends."""
    import matplotlib as mpl  # noqa: PLC0415 - likewise
    from matplotlib.figure import Figure  # noqa: PLC0415 - likewise

    kind = path.suffix.lower().removeprefix(".")
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        figure.savefig(path, format=kind, dpi=150, metadata=metadata)


def hit_curve(evaluation: Evaluation) -> list[float]:
    """Return the share of queries answered among the first k results, for each k from 1."""
    ranks = [each.rank for each in evaluation.judged]
    return [
        sum(rank is not None and rank <= k for rank in ranks) / len(ranks)
        for k in range(1, evaluation.setup.max_results + 1)
    ]


def _draw_hits(axes: Axes, evaluation: Evaluation) -> None:
    curve = hit_curve(evaluation)
    axes.plot(range(1, len(curve) + 1), curve, color=BLUE, marker="o", linewidth=2, label="hit@k")
    axes.axhline(RELEVANCE_ABOVE, color=GREY, linestyle="--", linewidth=1, label="target for hit@5")
    axes.set(
        title=f"Answered among the first k ({counted(evaluation.figures.queries, 'query')})",
        xlabel="k (results)",
        ylabel="share of queries (0 to 1)",
        ylim=(0, 1.02),
    )
    if len(curve) <= _TICKS:
        axes.set_xticks(range(1, len(curve) + 1))
    axes.legend(loc="lower right", edgecolor="none")


def _draw_latency(axes: Axes, evaluation: Evaluation) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - likewise

    searched = _milliseconds(evaluation, searched=True)
    degraded = _milliseconds(evaluation, searched=False)
    series = [(searched, BLUE, "searched"), (degraded, ORANGE, "degraded")]
    shown = [(times, colour, label) for times, colour, label in series if times]
    axes.hist(
        [times for times, _, _ in shown],
        bins=_BINS,
        color=[colour for _, colour, _ in shown],
        label=[label for _, _, label in shown],
        stacked=True,
    )
    found = evaluation.figures.latency_ms
    if found is not None:
        label = f"p95 of searched queries: {found.p95:.0f} ms"
        axes.axvline(found.p95, color=GREY, linestyle="--", linewidth=1, label=label)
    axes.set(title="Latency", xlabel="time (ms)", ylabel="number of queries")
    axes.set_xlim(left=0)
    axes.set_ylim(top=1.4 * axes.get_ylim()[1])  # room for the legend, so that it hides no bar
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper right", edgecolor="none")


def _milliseconds(evaluation: Evaluation, *, searched: bool) -> Sequence[float]:
    return [each.asked.seconds * 1000 for each in evaluation.judged if each.searched is searched]
