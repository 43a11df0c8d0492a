"""Asks labelled questions and measures how well the rankings answer them (``ir_measures``).

A measure ranks documents; a ranking here has lines. So each target of a row is one document, and a
result represents the first target that it reaches and that no better result represents; a result in
an ``also_acceptable`` file represents any. All other results are irrelevant documents. No result
counts twice, so no measure exceeds 1.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from knowledge_rag.core.errors import how_to_install
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.local.errors import NotInstalled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.evaluation.datasets import Row, Target
    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck
    from knowledge_rag.local.ingest import Progress

CUTOFFS: Final = (1, 3, 5)
MEASURES: Final[Mapping[str, tuple[str, int]]] = {
    **{f"hit@{k}": ("Success", k) for k in CUTOFFS},
    "recall@10": ("R", 10),
    "mrr@10": ("RR", 10),
    "ndcg@10": ("nDCG", 10),
}
"""Maps names in reports to those of ``ir_measures``, each with its cutoff."""


def answer_hit(cutoff: int) -> str:
    """Name the share of questions with a line of the exact answer among the first results."""
    return f"answer_hit@{cutoff}"


def check_installed() -> None:
    """Raise :exc:`NotInstalled` if the extra ``eval`` is missing."""
    try:
        import ir_measures  # noqa: F401, PLC0415
    except ImportError as error:
        raise NotInstalled(
            f"{error.name} is not installed, and evaluations need it: {how_to_install('eval')}"
        ) from error


def met_targets(row: Row, ranking: Sequence[Citation]) -> list[int | None]:
    """Return, for each citation in order, the target of the row that it represents, if any."""
    open_targets = list(range(len(row.targets)))
    met: list[int | None] = []
    for citation in ranking:
        anything = citation.source_file in row.also_acceptable
        reached = (n for n in open_targets if anything or row.targets[n].reached_by(citation))
        found = next(reached, None)
        if found is not None:
            open_targets.remove(found)
        met.append(found)
    return met


def measure(rows: Sequence[Row], rankings: Sequence[Sequence[Citation]]) -> list[dict[str, float]]:
    """Return the measures of each question's ranking by their names in reports, 0..1.

    Raises:
        NotInstalled: the extra ``eval`` is missing.
    """
    check_installed()
    import ir_measures  # noqa: PLC0415 - an extra

    # not its parse_measure, which uses a feature that Python 3.14 removed
    names = {getattr(ir_measures, name) @ k: ours for ours, (name, k) in MEASURES.items()}
    qrels = [
        ir_measures.Qrel(str(number), f"target {target}", 1)
        for number, row in enumerate(rows)
        for target in range(len(row.targets))
    ]
    run = [
        ir_measures.ScoredDoc(
            str(number), f"result {rank}" if target is None else f"target {target}", -float(rank)
        )
        for number, (row, ranking) in enumerate(zip(rows, rankings, strict=True))
        for rank, target in enumerate(met_targets(row, ranking), start=1)
    ]
    measured = [dict.fromkeys(MEASURES, 0.0) for _ in rows]
    for found in ir_measures.iter_calc(list(names), qrels, run):
        measured[int(found.query_id)][names[found.measure]] = float(found.value)
    return measured


def first_hit(row: Row, ranking: Sequence[Citation]) -> int | None:
    """Return the rank of the first result that answers, 1 or more; ``None`` if none does."""
    met = met_targets(row, ranking)
    return next((rank for rank, target in enumerate(met, start=1) if target is not None), None)


def answer_rank(row: Row, ranking: Sequence[Citation]) -> int | None:
    """Return the rank of the first result with a line of the answer itself; ``None`` if none has one."""
    if row.answer is None:
        return None
    answer = row.answer
    ranks = (rank for rank, each in enumerate(ranking, start=1) if answer.reached_by(each))
    return next(ranks, None)


def line_overlap(row: Row, ranking: Sequence[Citation]) -> float | None:
    """Return lines in both the best-ranked result and the truth, divided by lines in either, 0..1.

    That is for the best matching target; 0 if the result is elsewhere or there is none, ``None`` if no lines
    are labelled.
    """
    targets = [target for target in row.targets if target.lines is not None]
    if not targets:
        return None
    if not ranking:
        return 0.0
    return max(_overlap(target, ranking[0]) for target in targets)


def _overlap(target: Target, citation: Citation) -> float:
    if target.lines is None or not target.reached_by(citation):
        return 0.0
    first, last = target.lines
    both = min(last, citation.end_line) - max(first, citation.start_line) + 1
    either = max(last, citation.end_line) - min(first, citation.start_line) + 1
    return both / either  # they share a line, so there is no gap between them


class Askable(Protocol):
    """Queries a knowledge base; a failure becomes ``degraded``."""

    async def prepare(self) -> None:
        """Do the work that would delay the first question."""
        ...

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Ask one question."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and its outcome."""

    row: Row
    question: str
    outcome: RetrievalOutcome
    seconds: float


@dataclass(frozen=True, slots=True)
class Judged:
    """One question, judged.

    Args:
        asked: the question and its outcome.
        measures: by their names in reports, 0..1; all 0 without results.
        rank: of the first result that answers, 1 or more.
        answer_rank: of the first result with a line of the answer itself.
        overlap: of the best result's lines with the true ones, 0..1; ``None`` without true lines.
        exact: for each result, whether it matches the disk.
    """

    asked: Asked
    measures: Mapping[str, float]
    rank: int | None
    answer_rank: int | None
    overlap: float | None
    exact: tuple[bool, ...]

    @property
    def searched(self) -> bool:
        """Whether the knowledge base could be searched, with or without results."""
        return self.asked.outcome.status is not Status.DEGRADED

    def to_dict(self) -> dict[str, Any]:
        """Return the line of a results file."""
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
    """Ask at least one question.

    The first one is first asked once without measuring: in AWS, too, the function creates its client and its
    first connection before any query.
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
    """Measure every answer, and compare every citation with the file on disk."""
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
