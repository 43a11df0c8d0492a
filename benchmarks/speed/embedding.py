"""Compares the time to embed one question with its lower limit: the products of the layers' matrices.

A question has few tokens, so most of the work is to load the layers' weights into the processor and
to multiply the tokens with them. NumPy's BLAS does just that, with matrices of the same shapes, in turns
with the model in the same run.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.table import Table

from knowledge_rag.evaluation.evaluation_report import percentiles

if TYPE_CHECKING:
    from knowledge_rag.evaluation.evaluation_report import Percentiles
    from knowledge_rag.local.embeddings import Embedder, Matrix

REACH: Final = 1.3
"""Maximum time of the model, as a multiple of that of its matrix products alone."""

LAYERS: Final = 6
WIDTH: Final = 384
INNER: Final = 1536
TOKENS: Final = 17
"""Tokens of the question, with the two around it."""

_QUESTION: Final = "how do we fail over the orders database when replication lag keeps growing?"
_WARM_UP: Final = 10


@dataclass(frozen=True, slots=True)
class EmbeddingReport:
    """A run of the benchmark.

    Args:
        turns: number of measurements of each.
        model: times of a question's embedding.
        limit: times of as many products of matrices of the same shapes.
        ratio: median ratio of the model's time to the limit's in the same turn.
        reach: maximum ratio of the target.
    """

    turns: int
    model: Percentiles
    limit: Percentiles
    ratio: float
    reach: float = REACH

    @property
    def reached(self) -> bool:
        """Whether the model meets the target."""
        return self.ratio <= self.reach

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"reached": self.reached}


def run_embedding_bench(embedder: Embedder, turns: int = 300) -> EmbeddingReport:
    """Time embedding a question and multiplying matrices, in turns."""
    layers = [_layer() for _ in range(LAYERS)]
    tokens = np.ones((TOKENS, WIDTH), dtype=np.float32)
    model, limit = [], []
    for turn in range(_WARM_UP + turns):
        started = time.perf_counter()
        embedder.embed(_QUESTION)
        between = time.perf_counter()
        for square, wide, narrow in layers:
            for matrix in square:
                tokens @ matrix
            (tokens @ wide) @ narrow
        ended = time.perf_counter()
        if turn >= _WARM_UP:
            model.append(between - started)
            limit.append(ended - between)
    ratio = median(ours / least for ours, least in zip(model, limit, strict=True))
    return EmbeddingReport(turns, percentiles(model), percentiles(limit), ratio)


def _layer() -> tuple[list[Matrix], Matrix, Matrix]:
    """Return matrices of one layer's shapes: query, key, value and output; expansion; reduction."""
    square = [np.ones((WIDTH, WIDTH), dtype=np.float32) for _ in range(4)]
    there, back = (np.ones(shape, dtype=np.float32) for shape in ((WIDTH, INNER), (INNER, WIDTH)))
    return square, there, back


def as_table(report: EmbeddingReport) -> Table:
    """Return a report as a table."""
    table = Table(title=f"one question, {report.turns} turns")
    for heading in ("", "p50 ms", "p95 ms", "limit = 1"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, times, ratio in (
        ("all-MiniLM-L6-v2, fp32", report.model, f"{report.ratio:.2f}"),
        ("its layers' matrix products, by BLAS", report.limit, "1.00"),
    ):
        table.add_row(name, f"{times.p50:.2f}", f"{times.p95:.2f}", ratio)
    verdict = "reached" if report.reached else "missed"
    table.caption = f"aim: at most {report.reach:.1f} of the limit: {verdict}"
    return table
