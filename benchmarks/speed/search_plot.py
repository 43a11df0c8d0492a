"""Plots the time of a search by the size of the knowledge base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.speed.search import FILTERED, LIMIT, OURS
from knowledge_rag.evaluation.evaluation_report import BLUE, GREY, ORANGE, saved

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from benchmarks.speed.search import SearchReport

_STYLES: Final = {OURS: (BLUE, "o", "-"), LIMIT: (GREY, "", "--")}
_PEERS: Final = (ORANGE, "#009e73", "#cc79a7")


def write_search_plot(report: SearchReport, path: Path) -> None:
    """Plot a report; see :func:`knowledge_rag.evaluation.evaluation_report.check_plot`.

    Raises:
        OSError: the file can't be written.
    """
    with saved(path, (6, 4)) as figure:
        _draw(figure.subplots(), report)


def _draw(axes: Axes, report: SearchReport) -> None:
    names = [name for name in dict.fromkeys(row.name for row in report.rows) if name != FILTERED]
    peers = iter(_PEERS)
    for name in names:
        colour, marker, line = _STYLES.get(name) or (next(peers, ORANGE), "s", "-")
        rows = [row for row in report.rows if row.name == name]
        axes.plot(
            [row.chunks for row in rows],
            [row.milliseconds.p50 for row in rows],
            color=colour,
            marker=marker,
            linestyle=line,
            label=name,
        )
    axes.set(
        title="A hybrid search, median",
        xlabel="chunks in the knowledge base",
        ylabel="milliseconds",
        xscale="log",
        yscale="log",
    )
    axes.legend(edgecolor="none", fontsize="small")
