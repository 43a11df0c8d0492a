"""The parts of the search as tables: how good each is, and what it brought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table

if TYPE_CHECKING:
    from benchmarks.retrieval.ablation import Ablation, Measured
    from knowledge_rag.evaluation.comparison import Comparison

METRICS: Final = ("hit@1", "hit@5")


def as_tables(ablation: Ablation) -> Group:
    """Lay an ablation out for a terminal: figures and gains on the half that chose nothing."""
    return Group(_figures(ablation), _gains(ablation))


def _names(ablation: Ablation) -> list[str]:
    return list(ablation.findings[0].held_out)


def _figures(ablation: Ablation) -> Table:
    table = Table(title=f"hit@1 / hit@5 on the held-out half, {ablation.chunks:,} chunks")
    table.add_column("part", no_wrap=True)
    table.add_column("holds", no_wrap=True)
    first = ablation.findings[0].held_out
    for name in _names(ablation):
        table.add_column(f"{name} ({first[name].questions:,})", justify="right", no_wrap=True)
    for finding in ablation.findings:
        cells = [_hits(each) for each in finding.held_out.values()]
        table.add_row(finding.part.name, finding.part.holds, *cells)
    return table


def _gains(ablation: Ablation) -> Table:
    table = Table(
        title="what each part brought",
        caption="paired bootstrap, 95 % intervals; * where the interval leaves out 0",
    )
    for heading in ("part (on)", "questions", *METRICS):
        table.add_column(heading, no_wrap=heading in METRICS)
    for finding in ablation.findings:
        for name, each in finding.held_out.items():
            if each.gain is not None:
                title = f"{finding.part.name} (on {finding.part.on})"
                table.add_row(title, name, *(_gain(each.gain, metric) for metric in METRICS))
    return table


def _hits(measured: Measured) -> str:
    return " / ".join(f"{value:.3f}" for value in measured.hits.values())


def _gain(gain: Comparison, metric: str) -> str:
    found = next(each for each in gain.differences if each.metric == metric)
    star = "*" if found.more_than_chance else ""
    return f"{found.difference:+.3f} ({found.low:+.3f}..{found.high:+.3f}){star}"
