"""Made-up chunks and questions for timing searches, at any size.

Words follow Zipf's law, like those of any language; vectors are random directions. They show only how
long a search takes, not how good it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from knowledge_rag.local.embeddings import DIMENSIONS
from knowledge_rag.local.index import Index, build
from knowledge_rag.local.keywords import ENTRY, query_terms, stored_terms
from knowledge_rag.local.search import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.local.embeddings import Matrix

WORDS: Final = 20_000
WORDS_OF_A_CHUNK: Final = 100
WORDS_OF_A_QUESTION: Final = 12
CHUNKS_OF_A_DOCUMENT: Final = 10
_SEED: Final = 20_261_121


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Chunks, and questions about them.

    Args:
        texts: texts of the chunks.
        vectors: shape (chunks, 384), rows of unit length.
        questions: text and vector of each.
    """

    texts: tuple[str, ...]
    vectors: Matrix
    questions: tuple[tuple[str, Any], ...]


def make_up(chunks: int, questions: int) -> MadeUp:
    """Return made-up chunks and questions, the same each time."""
    random = np.random.default_rng(_SEED)
    share = 1.0 / np.arange(1, WORDS + 1)
    share /= share.sum()
    words = np.array([_word(number) for number in range(WORDS)])
    drawn = random.choice(words, size=(chunks, WORDS_OF_A_CHUNK), p=share)
    asked = []
    for vector in _directions(random, questions):
        about = drawn[random.integers(chunks)]
        asked.append((" ".join(random.choice(about, WORDS_OF_A_QUESTION)), vector))
    return MadeUp(tuple(map(" ".join, drawn)), _directions(random, chunks), tuple(asked))


_METADATA: Final = '{"source_file": "a.md", "chunk_id": "a"}'


def as_index(made: MadeUp) -> Index:
    """Return the chunks as this product's index."""
    vocabulary: dict[str, int] = {}
    entries = [_entries(text, vocabulary) for text in made.texts]
    rows = (
        (row // CHUNKS_OF_A_DOCUMENT, 0, 0, "", _METADATA, text, vector.tobytes(), terms.tobytes())
        for row, (text, vector, terms) in enumerate(
            zip(made.texts, made.vectors, entries, strict=True)
        )
    )
    return Index("made-up", build(rows, [*vocabulary], ""))


def as_questions(made: MadeUp) -> Iterator[Question]:
    """Yield the questions in this product's form."""
    for text, vector in made.questions:
        yield Question(vector, query_terms(text))


def _entries(text: str, vocabulary: dict[str, int]) -> Any:  # noqa: ANN401 - a structured array
    terms = stored_terms("", text)
    numbered = [(vocabulary.setdefault(term, len(vocabulary)), n) for term, n in terms.items()]
    return np.array(numbered, dtype=ENTRY)


def _directions(random: np.random.Generator, count: int) -> Matrix:
    vectors = random.standard_normal((count, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _word(number: int) -> str:
    """Return a word of letters for a number; a digit would make it an identifier."""
    letters = ""
    while True:
        number, letter = divmod(number, 26)
        letters += chr(ord("a") + letter)
        if not number:
            return f"w{letters}x"
