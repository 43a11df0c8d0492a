"""Other libraries' hybrid searches over the same texts and vectors; each is returned as a function.

Those that aren't installed are left out and named. Not considered: sqlite-vec, because this Python's SQLite
can't load extensions; LanceDB, whose packages are larger than all of this product.
"""

from __future__ import annotations

import sqlite3
import weakref
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.speed.search_corpus import MadeUp

    Ask = Callable[[str, Any], object]

_NEAREST: Final = 50
"""Best results by vectors, and by keywords, that are combined."""


def bm25s_numpy(made: MadeUp) -> Ask:
    """Return a search with bm25s and a matrix-vector product."""
    import bm25s  # noqa: PLC0415 - a peer that may be missing

    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(made.texts), show_progress=False), show_progress=False)

    def ask(text: str, vector: Any) -> object:  # noqa: ANN401 - numpy's
        tokens = bm25s.tokenize([text], return_ids=False, show_progress=False)
        scores = index.get_scores(tokens[0])
        return _fused(made.vectors @ vector, scores)

    return ask


def fts5_numpy(made: MadeUp) -> Ask:
    """Return a search with SQLite's full-text index and a matrix-vector product."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(text)")
    rows = ((number, text) for number, text in enumerate(made.texts))
    database.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", rows)
    found = "SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?"

    def ask(text: str, vector: Any) -> object:  # noqa: ANN401 - numpy's
        scores = np.zeros(len(made.texts), dtype=np.float32)
        for row, score in database.execute(found, (" OR ".join(text.split()), _NEAREST)):
            scores[row] = score
        return _fused(made.vectors @ vector, scores)

    weakref.finalize(ask, database.close)  # Python 3.13 warns about a database that isn't closed
    return ask


def tantivy_usearch(made: MadeUp) -> Ask:
    """Return a search with tantivy and usearch's graph, which is approximate."""
    import tantivy  # noqa: PLC0415 - peers that may be missing
    from usearch.index import Index  # noqa: PLC0415

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text")
    builder.add_unsigned_field("row", stored=True)
    index = tantivy.Index(builder.build())
    writer = index.writer()
    for row, text in enumerate(made.texts):
        writer.add_document(tantivy.Document(text=text, row=row))
    writer.commit()
    index.reload()
    searcher = index.searcher()
    graph = Index(ndim=made.vectors.shape[1], metric="cos")
    graph.add(np.arange(len(made.texts)), made.vectors)

    def ask(text: str, vector: Any) -> object:  # noqa: ANN401 - numpy's
        words = searcher.search(index.parse_query(text, ["text"]), _NEAREST).hits
        near = graph.search(vector, _NEAREST)
        return len(words), len(near)

    return ask


PEERS: Final[dict[str, Callable[[MadeUp], Ask]]] = {
    "bm25s + NumPy": bm25s_numpy,
    "SQLite FTS5 + NumPy": fts5_numpy,
    "tantivy + usearch (approximate)": tantivy_usearch,
}


def _fused(cosine: Any, keywords: Any) -> object:  # noqa: ANN401 - numpy's
    scores = cosine + keywords / (keywords.max() or 1.0)
    best = np.argpartition(-scores, 5)[:5]
    return best[np.argsort(-scores[best])]
