"""Asks every labelled question, one after the other, and judges what came back."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from knowledge_rag.core.outcome import Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.evaluation.retrieval_metrics import (
    answer_rank,
    first_hit,
    line_overlap,
    measure,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.evaluation.datasets import Row
    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck
    from knowledge_rag.local.ingest import Progress


class Askable(Protocol):
    """A way to a knowledge base; what fails there becomes ``degraded``."""

    async def prepare(self) -> None:
        """Do what the first question would have to wait for."""
        ...

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Ask one question."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and what it gave.

    Args:
        row: the labelled question.
        question: what was asked.
        outcome: what came back.
        seconds: wall time that the caller waited.
    """

    row: Row
    question: str
    outcome: RetrievalOutcome
    seconds: float


@dataclass(frozen=True, slots=True)
class Judged:
    """One question, judged.

    Args:
        asked: the question and what it gave.
        measures: by their names in reports, 0..1; all 0 where nothing came back.
        rank: of the first result that answers, 1 or more.
        answer_rank: of the first result with a line of the answer itself.
        overlap: of the best result's lines with the true ones, 0..1; ``None`` without true lines.
        exact: of each result, whether it is what stands on disk.
    """

    asked: Asked
    measures: Mapping[str, float]
    rank: int | None
    answer_rank: int | None
    overlap: float | None
    exact: tuple[bool, ...]

    @property
    def searched(self) -> bool:
        """Whether the knowledge base could be searched, whatever it found."""
        return self.asked.outcome.status is not Status.DEGRADED

    def to_dict(self) -> dict[str, Any]:
        """Give the line of a results file."""
        row, outcome = self.asked.row, self.asked.outcome
        return {
            "id": row.id,
            "dataset": row.dataset,
            "query": self.asked.question,
            "status": outcome.status.value,
            "reason": outcome.reason.value if outcome.reason else None,
            "latency_ms": round(self.asked.seconds * 1000, 3),
            **{name: round(value, 6) for name, value in self.measures.items()},
            "line_overlap": None if self.overlap is None else round(self.overlap, 6),
            "rank": self.rank,
            **({"answer_rank": self.answer_rank} if row.answer else {}),
            "results": [
                {**result.citation.to_dict(), "score": result.relevance_score, "exact": exact}
                for result, exact in zip(outcome.results, self.exact, strict=True)
            ],
        }


def ask_all(
    retrieval: Askable,
    rows: Sequence[Row],
    *,
    max_results: int,
    with_alert: bool = False,
    progress: Progress | None = None,
) -> tuple[Asked, ...]:
    """Ask every question.

    The first one is asked once before, unmeasured: in AWS, too, the function makes its client and
    its first connection before it is asked anything.

    Args:
        retrieval: whom to ask.
        rows: the questions, at least one.
        max_results: asked for with each, 1 or more.
        with_alert: whether to ask with the alert's name.
        progress: called before each question.
    """

    async def run() -> tuple[Asked, ...]:
        await retrieval.prepare()
        questions = [row.question(with_alert=with_alert) for row in rows]
        await retrieval.retrieve(Query(questions[0], max_results))
        asked = []
        for done, (row, question) in enumerate(zip(rows, questions, strict=True)):
            if progress is not None:
                progress(done, len(rows), "asking")
            started = time.perf_counter()
            outcome = await retrieval.retrieve(Query(question, max_results))
            asked.append(Asked(row, question, outcome, time.perf_counter() - started))
        return tuple(asked)

    return asyncio.run(run())


def judge(asked: Sequence[Asked], check: CitationCheck) -> tuple[Judged, ...]:
    """Measure every answer, and hold every citation against the file on disk.

    Raises:
        NotInstalled: the extra ``eval`` is missing.
    """
    rows = [each.row for each in asked]
    rankings = [[result.citation for result in each.outcome.results] for each in asked]
    measured = measure(rows, rankings)
    return tuple(
        Judged(
            asked=each,
            measures=measures,
            rank=first_hit(each.row, ranking),
            answer_rank=answer_rank(each.row, ranking),
            overlap=line_overlap(each.row, ranking),
            exact=tuple(check.is_exact(result) for result in each.outcome.results),
        )
        for each, ranking, measures in zip(asked, rankings, measured, strict=True)
    )
