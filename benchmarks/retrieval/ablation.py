"""Measures the gain of each part of the search: every question with every part, on both halves.

Settings were chosen on one half of the questions (``chooses``, by a hash of the question's id) and
are judged on the other. The same code as in ``knowledge-rag eval`` decides whether a ranking answers a
question.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.console import Group
from rich.table import Table

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.metadata import CONTEXT_LENGTH, prove
from knowledge_rag.core.outcome import DropReason
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.evaluation.comparison import MIN_PAIRS, Results, compare
from knowledge_rag.evaluation.datasets import fingerprint
from knowledge_rag.evaluation.evaluation_run import first_hit
from knowledge_rag.evaluation.floor import SHIPPED_FLOORS
from knowledge_rag.evaluation.floor import Question as Labelled
from knowledge_rag.local.embeddings import DIMENSIONS
from knowledge_rag.local.keywords import (
    ENTRY,
    K1,
    KeywordIndex,
    is_pair,
    query_terms,
    stored_terms,
    words_of,
)
from knowledge_rag.local.search import (
    KEYWORD_WEIGHT,
    VECTOR_WEIGHT,
    Question,
    keyword_coverage,
    rank,
    word_scores,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.evaluation.comparison import Comparison
    from knowledge_rag.evaluation.datasets import Row
    from knowledge_rag.local.embeddings import Embedder, Matrix
    from knowledge_rag.local.index import Index
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.local.keywords import Scores

DEPTH: Final = 5
"""Results per question."""
RRF_CONSTANT: Final = 60
"""Constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""

USUAL_K1: Final = 1.2
"""BM25's usual k1."""

_PLAIN: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, ready for every kind of search.

    Args:
        text: the question's text.
        question: its vector and its terms.
    """

    text: str
    question: Question


@dataclass(frozen=True, slots=True)
class Part:
    """A search that differs from another one in a single property.

    Args:
        name: name of that property.
        on: name of the part that it is compared with, ``""`` for none.
        holds: where it is available: ``local``, or ``AWS`` if a managed service does it as well.
        rank: returns the best rows for a question, best first, at most DEPTH.
    """

    name: str
    on: str
    holds: str
    rank: Callable[[Asked], list[int]]


def parts_of(index: Index, embedder: Embedder | None = None) -> list[Part]:
    """Return every part, over the chunks of a knowledge base.

    Args:
        index: the knowledge base, with the product's own index and vectors.
        embedder: model of its vectors, to embed every chunk again, without its context prefix and with it
            in the text only, which takes minutes; ``None`` skips that.
    """
    lines = [_lines(index, row) for row in range(len(index))]
    placed = _words_index(index.texts)
    weighed = _weighed_index(index.texts, lines)
    own = _cosine(index.vectors)
    text = _cosine(_vectors([*index.texts], embedder)) if embedder else own
    where = "AWS" if embedder else "local"  # the product's own vectors contain more than the text
    parts = [
        Part("plain BM25", "", "AWS", _by(_bm25(_plain_index(lines), _plain_terms))),
        Part("stems, identifiers", "plain BM25", "local", _by(_bm25(_words_index(lines), _words))),
        Part("context prefix", "stems, identifiers", "AWS", _by(_bm25(placed, _words))),
        Part("prefix threefold, k1 0.9", "context prefix", "local", _by(_bm25(weighed, _words))),
    ]
    if embedder:
        bare = _cosine(_vectors(lines, embedder))
        parts.append(Part("vectors of lines", "", "AWS", _by(bare)))
        parts.append(Part("vectors with prefix", "vectors of lines", "AWS", _by(text)))
    parts += [
        Part("vectors", "vectors with prefix" if embedder else "", "local", _by(own)),
        Part("RRF", "context prefix", where, _rrf(_bm25(placed, _words), text)),
        Part("weighted sum", "RRF", "local", _by(_sum(_bm25(weighed, _words), text))),
    ]
    if embedder:
        added = _by(_sum(_bm25(weighed, _words), own))
        parts.append(Part("prefix's own vector", "weighted sum", "local", added))
    paired = _by(_sum(_product(index), own))
    floor = SHIPPED_FLOORS[SearchType.HYBRID]
    return [
        *parts,
        Part("pairs of words", parts[-1].name, "local", paired),
        Part("best of each document", "pairs of words", "local", _search(index, 0.0)),
        Part("evidence floor", "best of each document", "local", _search(index, floor)),
    ]


def _lines(index: Index, row: int) -> str:
    length = index.metadata(row)[CONTEXT_LENGTH]
    return index.texts[row][length if isinstance(length, int) else 0 :]


def _words(text: str) -> dict[str, int]:
    return words_of(query_terms(text))


def _plain_terms(text: str) -> dict[str, int]:
    return Counter(_PLAIN.findall(text.lower()))


def _plain_index(texts: Iterable[str]) -> KeywordIndex:
    return _index(map(_plain_terms, texts), USUAL_K1)


def _words_index(texts: Iterable[str]) -> KeywordIndex:
    return _index(map(_words, texts), USUAL_K1)


def _weighed_index(texts: Iterable[str], lines: Iterable[str]) -> KeywordIndex:
    """Return the product's own index without pairs of words."""
    cut = ((text[: len(text) - len(own)], own) for text, own in zip(texts, lines, strict=True))
    terms = (stored_terms(context, own) for context, own in cut)
    return _index(({t: n for t, n in each.items() if not is_pair(t)} for each in terms), K1)


def _index(chunks: Iterable[Mapping[str, float]], k1: float) -> KeywordIndex:
    vocabulary: dict[str, int] = {}
    entries = []
    for terms in chunks:
        known = [(vocabulary.setdefault(term, len(vocabulary)), n) for term, n in terms.items()]
        entries.append(np.array(known, dtype=ENTRY))
    return KeywordIndex.of(vocabulary, entries, k1=k1)


def _vectors(texts: Sequence[str], embedder: Embedder) -> Matrix:
    matrix: Matrix = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    for row, text in enumerate(texts):
        matrix[row] = embedder.embed(text)
    return matrix


def _bm25(
    index: KeywordIndex, terms: Callable[[str], Mapping[str, int]]
) -> Callable[[Asked], Scores]:
    def scores(asked: Asked) -> Scores:
        wanted = terms(asked.text)
        return index.score(wanted) / np.float32(index.most(wanted) or 1.0)

    return scores


def _cosine(vectors: Matrix) -> Callable[[Asked], Scores]:
    def scores(asked: Asked) -> Scores:
        cosine: Scores = np.clip(np.vecdot(vectors, asked.question.vector), 0.0, 1.0)
        return cosine

    return scores


def _product(index: Index) -> Callable[[Asked], Scores]:
    def scores(asked: Asked) -> Scores:
        return keyword_coverage(index, asked.question, word_scores(index, asked.question))

    return scores


def _sum(
    keywords: Callable[[Asked], Scores], vectors: Callable[[Asked], Scores]
) -> Callable[[Asked], Scores]:
    def scores(asked: Asked) -> Scores:
        both: Scores = np.float32(VECTOR_WEIGHT) * vectors(asked)
        both += np.float32(KEYWORD_WEIGHT) * keywords(asked)
        return both

    return scores


def _by(scores: Callable[[Asked], Scores]) -> Callable[[Asked], list[int]]:
    return lambda asked: _best(scores(asked))


def _best(scores: Scores) -> list[int]:
    """Return the best rows; among equal ones, the first."""
    if len(scores) > DEPTH:
        threshold = np.partition(scores, len(scores) - DEPTH)[len(scores) - DEPTH]
        rows = np.flatnonzero(scores >= threshold)
    else:
        rows = np.arange(len(scores))
    order = np.argsort(-scores[rows], kind="stable")[:DEPTH]
    return [int(row) for row in rows[order]]


def _rrf(
    first: Callable[[Asked], Scores], second: Callable[[Asked], Scores]
) -> Callable[[Asked], list[int]]:
    def rows(asked: Asked) -> list[int]:
        total = np.zeros(0, dtype=np.float32)
        for scores in (first(asked), second(asked)):
            order = np.argsort(-scores, kind="stable")
            ranks = np.empty(len(order), dtype=np.float32)
            ranks[order] = np.arange(1, len(order) + 1)
            given = np.where(scores > 0, 1.0 / (RRF_CONSTANT + ranks), 0.0).astype(np.float32)
            total = given if not total.size else total + given
        return _best(total)

    return rows


def _search(index: Index, floor: float) -> Callable[[Asked], list[int]]:
    """Return the product's own search, without results below a score threshold."""

    def rows(asked: Asked) -> list[int]:
        found = rank(index, asked.question, limit=DEPTH)
        return [row for row, score in found if score >= floor]

    return rows


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
