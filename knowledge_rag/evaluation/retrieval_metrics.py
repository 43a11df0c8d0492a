"""How well a ranking answers a question, by the measures that others use (``ir_measures``).

A measure knows documents; a ranking here has lines. So each target of a row is one document, and a
result stands for the first target that it reaches and that no better result stood for before; a
result in an ``also_acceptable`` file stands for any. Whatever else comes back is a document that
nobody asked for. One result never counts twice, so no measure exceeds 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.core.extras import how_to_install
from knowledge_rag.local.errors import NotInstalled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.evaluation.datasets import Row, Target

CUTOFFS: Final = (1, 3, 5)
MEASURES: Final[Mapping[str, tuple[str, int]]] = {
    **{f"hit@{k}": ("Success", k) for k in CUTOFFS},
    "recall@10": ("R", 10),
    "mrr@10": ("RR", 10),
    "ndcg@10": ("nDCG", 10),
}
"""From the names in reports to those of ``ir_measures``, each with its cutoff."""


def answer_hit(cutoff: int) -> str:
    """Name the share of answers whose very lines are among the first results."""
    return f"answer_hit@{cutoff}"


def check_installed() -> None:
    """Say at once, before anything is ingested, if what measures is missing.

    Raises:
        NotInstalled: the extra ``eval`` is missing.
    """
    try:
        import ir_measures  # noqa: F401, PLC0415
    except ImportError as error:
        raise NotInstalled(
            f"{error.name} is not installed, which evaluating needs: {how_to_install('eval')}"
        ) from error


def met_targets(row: Row, ranking: Sequence[Citation]) -> list[int | None]:
    """Give, for each citation in order, which target of the row it stands for, if any."""
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
    """Measure each ranking.

    Args:
        rows: the questions.
        rankings: what came back for each, best first; empty where nothing did.

    Returns:
        The measures of each question by their names in reports, 0..1.

    Raises:
        NotInstalled: the extra ``eval`` is missing.
    """
    check_installed()
    import ir_measures  # noqa: PLC0415 - an extra

    # not its parse_measure: that reads names by what Python 3.14 no longer has
    names = {getattr(ir_measures, name) @ k: ours for ours, (name, k) in MEASURES.items()}
    qrels = [
        ir_measures.Qrel(str(number), f"target {target}", 1)
        for number, row in enumerate(rows)
        for target in range(len(row.targets))
    ]
    run = [
        ir_measures.ScoredDoc(str(number), document, score)
        for number, (row, ranking) in enumerate(zip(rows, rankings, strict=True))
        for document, score in _documents(row, ranking)
    ]
    measured = [dict.fromkeys(MEASURES, 0.0) for _ in rows]
    for found in ir_measures.iter_calc(list(names), qrels, run):
        measured[int(found.query_id)][names[found.measure]] = float(found.value)
    return measured


def first_hit(row: Row, ranking: Sequence[Citation]) -> int | None:
    """Give the rank of the first result that answers, 1 or more; ``None`` if none does."""
    met = met_targets(row, ranking)
    return next((rank for rank, target in enumerate(met, start=1) if target is not None), None)


def answer_rank(row: Row, ranking: Sequence[Citation]) -> int | None:
    """Give the rank of the first result with a line of the answer itself; ``None`` if none has."""
    if row.answer is None:
        return None
    answer = row.answer
    ranks = (rank for rank, each in enumerate(ranking, start=1) if answer.reached_by(each))
    return next(ranks, None)


def line_overlap(row: Row, ranking: Sequence[Citation]) -> float | None:
    """Compare the lines of the best-ranked result with the true ones.

    Returns:
        Lines in both, divided by lines in either, 0..1, for the target that it fits best; 0 where
        it is elsewhere or nothing came back; ``None`` where the truth has no lines.
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
    return both / either  # they share a line, so nothing lies between them


def _documents(row: Row, ranking: Sequence[Citation]) -> Iterator[tuple[str, float]]:
    for rank, target in enumerate(met_targets(row, ranking), start=1):
        yield f"result {rank}" if target is None else f"target {target}", -float(rank)
