"""Other retrieval libraries over the same documents, with the same embeddings.

Their chunks have no line numbers, so they are looked up here, which is more than the libraries offer: at the
place of the whole chunk in its file, else of the chunk's longest line there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from benchmarks.speed.chunking_peers import HEADERS
from benchmarks.speed.chunking_peers import PEERS as SPLITTERS
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import RetrievalOutcome, RetrievalResult, Status

if TYPE_CHECKING:
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.local.embeddings import Embedder

Texts = Mapping[str, str]
"""A document's name -> its text."""
Find = Callable[[str, int], Sequence["Found"]]
"""Returns at most a number of results for a question, best first."""


class Found(NamedTuple):
    """A chunk that a peer found."""

    source_file: str
    text: str


def located(found: Found, texts: Texts) -> RetrievalResult | None:
    """Return a peer's chunk with its lines.

    Returns:
        ``None`` if none of its lines occurs in its file.
    """
    whole, text = texts.get(found.source_file, ""), found.text.strip("\n")
    at = whole.find(text) if text else -1
    if at < 0:
        lines = sorted(filter(str.strip, text.split("\n")), key=len, reverse=True)
        place = next(((whole.find(line), line) for line in lines if line in whole), None)
        if place is None:
            return None
        at, text = place
    start = whole.count("\n", 0, at) + 1
    citation = Citation(found.source_file, start, start + text.count("\n"))
    return RetrievalResult(found.text, citation, None, {})


@dataclass(frozen=True, slots=True)
class PeerRetrieval:
    """A peer with the interface of the other retrieval backends.

    Args:
        find: the peer.
        texts: the documents' texts.
    """

    find: Find
    texts: Texts

    async def prepare(self) -> None:
        """Do nothing, because the peer is ready."""

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Ask one question."""
        found = (located(each, self.texts) for each in self.find(query.text, query.max_results))
        results = tuple(result for result in found if result is not None)
        return RetrievalOutcome(Status.OK if results else Status.NO_MATCH, results)


class Embedded:
    """The same embeddings for every peer; each text is embedded once.

    Args:
        embedder: the model.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Any] = {}

    def __call__(self, text: str) -> list[float]:
        """Return a text's vector."""
        if text not in self._known:
            self._known[text] = self._embedder.embed(text)
        vector: list[float] = self._known[text].tolist()
        return vector


def _sections(texts: Texts) -> list[Found]:
    split = SPLITTERS[HEADERS]()
    return [Found(name, chunk) for name, text in texts.items() for chunk in split(text)]


def _bm25(chunks: Sequence[Found]) -> Find:
    import bm25s  # noqa: PLC0415 - a peer that may be missing

    index = bm25s.BM25()
    tokens = bm25s.tokenize([chunk.text for chunk in chunks], show_progress=False)
    index.index(tokens, show_progress=False)

    def find(question: str, limit: int) -> Sequence[Found]:
        (asked,) = bm25s.tokenize([question], return_ids=False, show_progress=False)
        scores = index.get_scores(asked)
        best = np.argsort(-scores, kind="stable")[:limit]
        return [chunks[row] for row in best if scores[row] > 0]

    return find


def plain_bm25(texts: Texts, _: Embedded) -> Find:
    """Return BM25 over whole files."""
    return _bm25([Found(name, text) for name, text in texts.items()])


def langchain_bm25(texts: Texts, _: Embedded) -> Find:
    """Return BM25 over the sections of langchain's header splitter."""
    return _bm25(_sections(texts))


def langchain_vectors(texts: Texts, embedded: Embedded) -> Find:
    """Return langchain's vector store over the sections of its header splitter."""
    from langchain_core.documents import Document  # noqa: PLC0415
    from langchain_core.embeddings import Embeddings  # noqa: PLC0415
    from langchain_core.vectorstores import InMemoryVectorStore  # noqa: PLC0415

    class Same(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return list(map(embedded, texts))

        def embed_query(self, text: str) -> list[float]:
            return embedded(text)

    store = InMemoryVectorStore(Same())
    store.add_documents(
        [Document(chunk.text, metadata={"file": chunk.source_file}) for chunk in _sections(texts)]
    )

    def find(question: str, limit: int) -> Sequence[Found]:
        documents = store.similarity_search(question, k=limit)
        return [Found(each.metadata["file"], each.page_content) for each in documents]

    return find


def llama_index(texts: Texts, embedded: Embedded) -> Find:
    """Return llama-index's Markdown nodes and its vector retriever."""
    from llama_index.core import Document, VectorStoreIndex  # noqa: PLC0415
    from llama_index.core.embeddings import BaseEmbedding  # noqa: PLC0415
    from llama_index.core.node_parser import MarkdownNodeParser  # noqa: PLC0415

    class Same(BaseEmbedding):  # type: ignore[misc] # the base class is untyped
        def _get_text_embedding(self, text: str) -> list[float]:
            return embedded(text)

        def _get_query_embedding(self, query: str) -> list[float]:
            return embedded(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return embedded(query)

    documents = [Document(text=text, metadata={"file": name}) for name, text in texts.items()]
    nodes = MarkdownNodeParser().get_nodes_from_documents(documents)
    index = VectorStoreIndex(nodes, embed_model=Same())

    def find(question: str, limit: int) -> Sequence[Found]:
        found = index.as_retriever(similarity_top_k=limit).retrieve(question)
        return [Found(each.node.metadata["file"], each.node.get_content()) for each in found]

    return find


PEERS: Final[dict[str, Callable[[Texts, Embedded], Find]]] = {
    "BM25 over whole files": plain_bm25,
    "langchain sections, BM25": langchain_bm25,
    "langchain sections, vectors": langchain_vectors,
    "llama-index nodes, vectors": llama_index,
}
