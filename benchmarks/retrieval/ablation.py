"""Measures the gain of each part of the search: every question with every part, on both halves.

Settings were chosen on one half of the questions (``chooses``, by a hash of the question's id) and
are judged on the other. The same code as in ``knowledge-rag eval`` decides whether a ranking answers a
question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.console import Group
from rich.table import Table

from benchmarks.retrieval.ablation_parts import DEPTH, Asked, parts_of
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.metadata import prove
from knowledge_rag.core.outcome import DropReason
from knowledge_rag.evaluation.comparison import MIN_PAIRS, Results, compare
from knowledge_rag.evaluation.datasets import fingerprint
from knowledge_rag.evaluation.evaluation_run import first_hit
from knowledge_rag.evaluation.floor import Question as Labelled
from knowledge_rag.local.keywords import query_terms
from knowledge_rag.local.search import Question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.retrieval.ablation_parts import Part
    from knowledge_rag.core.citations import Citation
    from knowledge_rag.evaluation.comparison import Comparison
    from knowledge_rag.evaluation.datasets import Row
    from knowledge_rag.local.embeddings import Embedder
    from knowledge_rag.local.index import Index
    from knowledge_rag.local.ingest import Progress

HITS: Final = (1, DEPTH)
METRICS: Final = tuple(f"hit@{k}" for k in HITS)
RESAMPLES: Final = 2_000
"""Resamples of each interval; not more, since there are many intervals."""

Values = dict[str, dict[str, float | None]]
"""A question's id -> its hit@1 and hit@5, 0 or 1."""


@dataclass(frozen=True, slots=True)
class Set:
    """Questions of one kind.

    Args:
        name: ``alerts``, ``alerts, named`` or ``questions``.
        rows: the labelled questions, at least one.
        with_alert: whether they are asked with the alert's name.
    """

    name: str
    rows: tuple[Row, ...]
    with_alert: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """One part on one half of one set.

    Args:
        questions: number of questions.
        hits: hit@1 and hit@5 by these names, 0..1.
        gain: gain over the part that it builds on, with intervals; ``None`` if there is no such part, or
            there are too few questions.
    """

    questions: int
    hits: Mapping[str, float]
    gain: Comparison | None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        gains = self.gain.to_dict()["metrics"] if self.gain else {}
        return {"questions": self.questions, **self.hits, "gain": gains}


@dataclass(frozen=True, slots=True)
class Finding:
    """One part on all sets.

    Args:
        part: the part.
        held_out: figures by set, on the half that no setting was chosen on.
        choosing: figures by set, on the half that settings were chosen on.
    """

    part: Part
    held_out: Mapping[str, Measured]
    choosing: Mapping[str, Measured]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "part": self.part.name,
            "on": self.part.on or None,
            "holds": self.part.holds,
            "held_out": {name: each.to_dict() for name, each in self.held_out.items()},
            "choosing": {name: each.to_dict() for name, each in self.choosing.items()},
        }


@dataclass(frozen=True, slots=True)
class Ablation:
    """All parts.

    Args:
        chunks: number of chunks in the knowledge base.
        findings: in the order of the parts.
    """

    chunks: int
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"chunks": self.chunks, "parts": [each.to_dict() for each in self.findings]}


def sets_of(rows: Sequence[Row]) -> list[Set]:
    """Group questions by kind: alerts, asked without and with their name, and others."""
    alerts = tuple(row for row in rows if row.alert)
    others = tuple(row for row in rows if not row.alert)
    found = [Set("alerts", alerts), Set("alerts, named", alerts, with_alert=True)]
    return [each for each in (*found, Set("questions", others)) if each.rows]


def run_ablation(
    index: Index,
    embedder: Embedder,
    rows: Sequence[Row],
    *,
    again: bool = False,
    progress: Progress | None = None,
) -> Ablation:
    """Ask every question with every part of the search.

    Args:
        index: the knowledge base that is searched.
        embedder: the model of its vectors.
        rows: the labelled questions.
        again: whether to embed every chunk again, without its prefix and with it in the text only.
        progress: called before each question is embedded, and before each part is asked.

    Raises:
        InvalidRequest: there are no questions.
    """
    if not rows:
        raise InvalidRequest("no questions to ask")
    citations = _citations(index)
    parts = parts_of(index, embedder if again else None)
    found: dict[str, dict[str, Values]] = {part.name: {} for part in parts}
    sets = sets_of(rows)
    for each in sets:
        asked = _asked(each, embedder, progress)
        for done, part in enumerate(parts):
            if progress is not None:
                progress(done, len(parts), f"{each.name}: {part.name}")
            found[part.name][each.name] = {
                row.id: _hits(row, [citations[n] for n in part.rank(question)])
                for row, question in zip(each.rows, asked, strict=True)
            }
    return Ablation(len(index), tuple(_finding(part, found, sets) for part in parts))


def _asked(of: Set, embedder: Embedder, progress: Progress | None) -> list[Asked]:
    asked = []
    for done, row in enumerate(of.rows):
        if progress is not None:
            progress(done, len(of.rows), f"embedding {of.name}")
        text = row.question(with_alert=of.with_alert)
        asked.append(Asked(text, Question(embedder.embed(text), query_terms(text))))
    return asked


def _citations(index: Index) -> list[Citation]:
    found = []
    for row, text in enumerate(index.texts):
        proven = prove(text, index.metadata(row))
        if isinstance(proven, DropReason):
            raise InvalidRequest(f"chunk {row} of the knowledge base can't be proven: {proven}")
        found.append(proven.citation)
    return found


def _hits(row: Row, ranking: Sequence[Citation]) -> dict[str, float | None]:
    rank = first_hit(row, ranking)
    return {f"hit@{k}": float(rank is not None and rank <= k) for k in HITS}


def _finding(part: Part, found: Mapping[str, Mapping[str, Values]], sets: Sequence[Set]) -> Finding:
    held_out, choosing = (
        {
            each.name: _measured(part, {name: found[name][each.name] for name in found}, rows)
            for each in sets
            if (rows := [row for row in each.rows if Labelled(row.id, "").chooses is chooses])
        }
        for chooses in (False, True)
    )
    return Finding(part, held_out, choosing)


def _measured(part: Part, found: Mapping[str, Values], rows: Sequence[Row]) -> Measured:
    mine = _results(part.name, found, rows)
    hits = {
        f"hit@{k}": sum(each[f"hit@{k}"] or 0.0 for each in mine.values.values()) / len(rows)
        for k in HITS
    }
    if not part.on or len(rows) < MIN_PAIRS:
        return Measured(len(rows), hits, None)
    gain = compare(_results(part.on, found, rows), mine, resamples=RESAMPLES)
    return Measured(len(rows), hits, gain)


def _results(name: str, found: Mapping[str, Values], rows: Sequence[Row]) -> Results:
    return Results(name, fingerprint(rows), "", {row.id: found[name][row.id] for row in rows})


def as_tables(ablation: Ablation) -> Group:
    """Return tables for a terminal: figures and gains on the held-out half."""
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
        cells = [_shown(each) for each in finding.held_out.values()]
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


def _shown(measured: Measured) -> str:
    return " / ".join(f"{value:.3f}" for value in measured.hits.values())


def _gain(gain: Comparison, metric: str) -> str:
    found = next(each for each in gain.differences if each.metric == metric)
    star = "*" if found.more_than_chance else ""
    return f"{found.difference:+.3f} ({found.low:+.3f}..{found.high:+.3f}){star}"
