"""Plots an evaluation: the ranks of the answers, and the latencies.

The same evaluation gives the same SVG, byte for byte: no date, no random ids.
"""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest, how_to_install
from knowledge_rag.evaluation.evaluation_report import RELEVANCE_ABOVE
from knowledge_rag.local.errors import NotInstalled
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from knowledge_rag.evaluation.evaluation_report import Evaluation

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
