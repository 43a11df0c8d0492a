"""An evaluation, laid out for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.evaluation.evaluation_report import Evaluation, Figures
    from knowledge_rag.evaluation.timing import Percentiles


def as_tables(evaluation: Evaluation) -> Group:
    """Lay an evaluation out: the figures, of each dataset too, and the targets."""
    parts: list[Table | Text] = [_figures(evaluation)]
    if len(evaluation.by_dataset) > 1:
        parts += [Text(), _by_dataset(evaluation)]
    parts += [Text(), _goals(evaluation)]
    if evaluation.missed:
        parts += [Text(), Text(f"missed: {', '.join(evaluation.missed)}", style="red")]
    return Group(*parts)


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
    table = Table(title="by dataset")
    table.add_column("dataset", overflow="fold")
    headings = ("queries", "hit@1", "hit@5", "mrr@10", "ndcg@10", "overlap")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
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
        yield "the same of degraded ones", _times(found.degraded_latency_ms)


def _goals(evaluation: Evaluation) -> Table:
    table = Table(title="targets")
    for heading in ("target", "wanted", "measured", ""):
        table.add_column(heading, justify="left" if heading in {"target", ""} else "right")
    for goal in evaluation.goals:
        verdict = Text("reached", "green") if goal.reached else Text("missed", "red")
        table.add_row(goal.name, goal.wanted, goal.measured, verdict)
    return table


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _times(found: Percentiles | None) -> str:
    return "-" if found is None else f"{found.p50:.0f} / {found.p95:.0f} / {found.p99:.0f}"
