"""Chooses and checks the score threshold (the evidence floor) below which a hit doesn't count.

It is chosen on one half of the labelled questions and reported on the other, held-out half.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.table import Table

from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.evaluation.datasets import read_lines, read_rows
from knowledge_rag.local.action_group import EVIDENCE_FLOOR_HYBRID, EVIDENCE_FLOOR_SEMANTIC
from knowledge_rag.local.corpus import MAX_FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knowledge_rag.local.knowledge_base import KnowledgeBase

MAX_LOST: Final = 0.05
"""Maximum share of on-topic questions that find nothing."""
MIN_REJECTED: Final = 0.90
"""Minimum share of off-topic questions that find nothing."""

_AIMED_LOST: Final = 0.04
_AIMED_REJECTED: Final = 0.92
"""Goal on the choosing half, a little stricter than required, since the other half differs."""

SHIPPED_FLOORS: Final = {
    SearchType.HYBRID: EVIDENCE_FLOOR_HYBRID,
    SearchType.SEMANTIC: EVIDENCE_FLOOR_SEMANTIC,
}

Scores = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Question:
    """A labelled question, reduced to its id and text."""

    id: str
    query: str

    @property
    def chooses(self) -> bool:
        """Whether it is in the half on which floors are chosen, by its id."""
        return in_choosing_half(self.id)


def in_choosing_half(question_id: str) -> bool:
    """Return whether a question is in the half on which floors are chosen, by its id."""
    return hashlib.sha256(question_id.encode()).digest()[-1] % 2 == 0


@dataclass(frozen=True, slots=True)
class FloorFigures:
    """The effect of a floor on some questions: shares of the on-topic lost and the off-topic rejected, 0..1."""

    lost: float
    rejected: float
    on_topic: int
    off_topic: int

    @property
    def passes(self) -> bool:
        """Whether both requirements are met."""
        return self.lost <= MAX_LOST and self.rejected >= MIN_REJECTED


@dataclass(frozen=True, slots=True)
class FloorReport:
    """The floor of one search type: the one suggested by the choosing half, and the one in use."""

    search_type: SearchType
    chosen: float
    on_choosing_half: FloorFigures
    on_other_half: FloorFigures
    shipped: float
    shipped_on_other_half: FloorFigures
    shipped_on_all: FloorFigures

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


def as_table(report: FloorReport) -> Table:
    """Lay out a report for a terminal."""
    table = Table(title=f"evidence floor, {report.search_type.value.lower()} search")
    for heading in ("floor", "questions", "on-topic lost", "off-topic rejected"):
        table.add_column(heading, justify="left" if heading == "questions" else "right")
    for floor, name, found in (
        (report.shipped, "in use, all", report.shipped_on_all),
        (report.shipped, "in use, other half", report.shipped_on_other_half),
        (report.chosen, "newly chosen, choosing half", report.on_choosing_half),
        (report.chosen, "newly chosen, other half", report.on_other_half),
    ):
        count = f"{name} ({found.on_topic} + {found.off_topic})"
        table.add_row(f"{floor:.3f}", count, f"{found.lost:.1%}", f"{found.rejected:.1%}")
    table.caption = f"required: at most {MAX_LOST:.0%} lost, at least {MIN_REJECTED:.0%} rejected"
    return table


def load_questions(path: Path) -> list[Question]:
    """Read questions from JSON Lines with ``id`` and ``query``, or raise :exc:`UnreadableDocument`."""
    reason = "is not a JSON object with id and query"
    return read_rows(
        read_lines(path, MAX_FILE_BYTES),
        lambda _, row: Question(str(row["id"]), str(row["query"])),
        lambda number: UnreadableDocument(str(path), f"line {number} {reason}"),
    )


def measure_floor(
    knowledge_base: KnowledgeBase,
    on_topic: Sequence[Question],
    off_topic: Sequence[Question],
    search_type: SearchType = SearchType.HYBRID,
) -> FloorReport:
    """Choose a floor for a knowledge base and measure it beside the one in use.

    Raises:
        InvalidRequest: there are too few questions of a kind to choose on some and check on others.
    """
    for kind, questions in {"on-topic": on_topic, "off-topic": off_topic}.items():
        if len({question.chooses for question in questions}) < 2:
            raise InvalidRequest(f"{len(questions)} {kind} questions are too few: add some")
    wanted = _best_scores(knowledge_base, on_topic, search_type)
    unwanted = _best_scores(knowledge_base, off_topic, search_type)
    first = np.array([question.chooses for question in on_topic])
    second = np.array([question.chooses for question in off_topic])
    chosen = choose_floor(wanted[first], unwanted[second])
    shipped = SHIPPED_FLOORS[search_type]
    return FloorReport(
        search_type,
        chosen,
        figures(chosen, wanted[first], unwanted[second]),
        figures(chosen, wanted[~first], unwanted[~second]),
        shipped,
        figures(shipped, wanted[~first], unwanted[~second]),
        figures(shipped, wanted, unwanted),
    )


def choose_floor(on_topic: Scores, off_topic: Scores) -> float:
    """Choose between the scores that exclude few on-topic and most off-topic questions.

    If no floor meets both requirements, the on-topic side wins: a missed answer during an incident costs more
    than a hit that its reader recognises as irrelevant.
    """
    highest = float(np.quantile(on_topic, _AIMED_LOST))
    lowest = float(np.quantile(off_topic, _AIMED_REJECTED))
    return round(min(highest, (highest + lowest) / 2), 3)


def figures(floor: float, on_topic: Scores, off_topic: Scores) -> FloorFigures:
    """Measure a floor on the best scores of some questions."""
    return FloorFigures(
        float(np.mean(on_topic < floor)),
        float(np.mean(off_topic < floor)),
        len(on_topic),
        len(off_topic),
    )


def _best_scores(
    knowledge_base: KnowledgeBase, questions: Sequence[Question], search_type: SearchType
) -> Scores:
    found = [knowledge_base.search(q.query, limit=1, search_type=search_type) for q in questions]
    return np.array([hits[0].score if hits else 0.0 for hits in found])
