"""Files of what each question gave, so that two runs can be compared question by question."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.outcome import Status
from knowledge_rag.evaluation.named_files import read_lines
from knowledge_rag.evaluation.retrieval_metrics import CUTOFFS, MEASURES, answer_hit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from knowledge_rag.evaluation.evaluation_report import Evaluation

FORMAT: Final = "knowledge-rag evaluation results 1"
MAX_RESULTS_BYTES: Final = 1024 * 1024 * 1024

LATENCY: Final = "latency_ms"
ZERO_RESULT: Final = "zero_result_rate"
SUCCESS: Final = "success_rate"
DEGRADED: Final = "degraded_rate"
CITATION_EXACT: Final = "citation_exact"
LINE_OVERLAP: Final = "line_overlap"
ANSWER_RANK: Final = "answer_rank"
"""Written of questions whose very answer is labelled, and of no others."""


@dataclass(frozen=True, slots=True)
class Results:
    """A file of results.

    Args:
        name: of the file.
        rows_sha256: of the questions and their truth.
        docs_sha256: of the documents.
        values: of each question by its id: each metric's value, ``None`` where it has none.
    """

    name: str
    rows_sha256: str
    docs_sha256: str
    values: Mapping[str, Mapping[str, float | None]]


def write_results(evaluation: Evaluation, path: Path) -> None:
    """Write a line about the run, then one about each question; all of it or nothing.

    Raises:
        OSError: it can't be written.
    """
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
    """Read a file that :func:`write_results` wrote.

    Raises:
        InvalidRequest: it is something else, or not whole.
        UnreadableDocument: it can't be read.
    """
    lines = read_lines(path, MAX_RESULTS_BYTES)
    try:
        head, *rows = (json.loads(line) for _, line in lines)
        if head["format"] != FORMAT:
            raise ValueError(head["format"])  # noqa: TRY301 - one message for all that it may be
        values = {str(row["id"]): _values(row) for row in rows}
        found = Results(str(path), str(head["rows_sha256"]), str(head["docs_sha256"]), values)
        whole = len(values) == len(rows) == head["queries"]
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise InvalidRequest(f"{path}: no results of `knowledge-rag eval --results`") from error
    if not whole or not values:
        raise InvalidRequest(f"{path}: results of {len(values)} queries, not of {head['queries']}")
    return found


def _values(row: Mapping[str, Any]) -> dict[str, float | None]:
    """Give what a question adds to each figure; ``None`` where the figure leaves it out."""
    status = Status(row["status"])
    searched = status is not Status.DEGRADED
    exact = [bool(result["exact"]) for result in row["results"]]
    values: dict[str, float | None] = {name: _between(row[name], 1) for name in MEASURES}
    overlap = row[LINE_OVERLAP]
    for k in CUTOFFS:
        labelled = ANSWER_RANK in row
        values[answer_hit(k)] = float(_is_among(row[ANSWER_RANK], k)) if labelled else None
    return values | {
        LINE_OVERLAP: None if overlap is None else _between(overlap, 1),
        CITATION_EXACT: sum(exact) / len(exact) if exact else None,
        ZERO_RESULT: float(status is Status.NO_MATCH) if searched else None,
        SUCCESS: float(searched),
        DEGRADED: float(not searched),
        LATENCY: _between(row[LATENCY], math.inf) if searched else None,
    }


def _between(value: float, most: float) -> float:
    """Give a figure of 0..most as it was written.

    Raises:
        ValueError: it is another one, or none: ``NaN``, which would be no figure of any mean.
    """
    if not 0 <= value <= most or value == math.inf:
        raise ValueError(value)
    return float(value)


def _is_among(rank: int | None, first: int) -> bool:
    return rank is not None and rank <= first
