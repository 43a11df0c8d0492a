"""A knowledge base whose scores are those of a store in AWS: real embeddings, the store's own formula.

:func:`holding` says which sample knowledge base the embeddings are from: making them takes a minute.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from knowledge_rag.core.metadata import stored_text, to_metadata
from knowledge_rag.extract.documents import cut, extract
from tests.support.local import CORPUS, minilm

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Scores = np.ndarray[Any, np.dtype[np.float64]]


@cache
def _chunks() -> list[Any]:
    files = sorted(CORPUS.rglob("*.md"))
    names = [path.relative_to(CORPUS).as_posix() for path in files]
    both = zip(names, files, strict=True)
    return [chunk for name, path in both for chunk in cut(extract(name, path.read_bytes()))]


_vectors: list[Scores] = []


def holding(kb_path: Path) -> None:
    """Take the embeddings of the sample runbooks from a knowledge base of them."""
    with closing(sqlite3.connect(kb_path)) as connection:
        joined = "SELECT text, vector FROM chunks JOIN vectors ON vectors.chunk = chunks.id"
        stored = dict(connection.execute(joined))
    texts = [stored_text(chunk) for chunk in _chunks()]
    _vectors[:] = [np.array([np.frombuffer(stored[text], "<f4") for text in texts])]


@cache
def cosines(question: str) -> Scores:
    """Score as S3 Vectors: the cosine."""
    return _vectors[0] @ minilm().embed(question)


def euclidean(question: str) -> Scores:
    """Score as OpenSearch does over an ``l2`` index of unit vectors."""
    return 1 / (1 + 2 * (1 - cosines(question)))


@cache
def hybrid(question: str) -> Scores:
    """Score half by vectors and half by keywords (BM25, brought below 1); Bedrock's own isn't documented."""
    words = _bm25(question)
    return 0.5 * euclidean(question) + 0.5 * words / (words + 10)


@cache
def _counts() -> tuple[list[Counter[str]], Counter[str], Scores]:
    """Return each chunk's words, in how many a word stands, and the chunks' relative lengths."""
    documents = [Counter(_words(stored_text(chunk))) for chunk in _chunks()]
    frequency = Counter(word for document in documents for word in document)
    lengths = np.array([each.total() for each in documents], dtype=float)
    return documents, frequency, lengths / lengths.mean()


def _bm25(question: str) -> Scores:
    documents, frequency, lengths = _counts()
    scores = np.zeros(len(documents))
    for word in set(_words(question)) & set(frequency):
        found = frequency[word]
        rarity = np.log(1 + (len(documents) - found + 0.5) / (found + 0.5))
        for index, document in enumerate(documents):
            if count := document[word]:
                length = 0.25 + 0.75 * lengths[index]
                scores[index] += rarity * count / (count + 1.2 * length)
    return scores


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def retrieve(scored: Callable[[str], Scores]) -> Callable[[str, bytes], dict[str, Any]]:
    """Answer Retrieve over the sample runbooks with these scores."""
    scored("anything")  # the runbooks are read now, while no caller's time runs

    def answer(_path: str, body: bytes) -> dict[str, Any]:
        request = json.loads(body)
        most = request["retrievalConfiguration"]["vectorSearchConfiguration"]["numberOfResults"]
        scores = scored(request["retrievalQuery"]["text"])
        best = np.argsort(-scores)[:most]
        return {"retrievalResults": [_item(int(index), float(scores[index])) for index in best]}

    return answer


def _item(index: int, score: float) -> dict[str, Any]:
    chunk = _chunks()[index]
    metadata = {
        key: float(value) if isinstance(value, int) else value
        for key, value in to_metadata(chunk).items()
    }
    content = {"text": stored_text(chunk), "type": "TEXT"}
    return {"content": content, "metadata": metadata, "score": score}
