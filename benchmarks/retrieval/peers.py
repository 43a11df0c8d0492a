"""Compares our retrieval with other libraries', on the same documents, questions and embeddings, in one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from rich.table import Table

from benchmarks.speed.chunking import HEADERS
from benchmarks.speed.chunking import PEERS as SPLITTERS
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.outcome import RetrievalOutcome, RetrievalResult, Status
from knowledge_rag.evaluation.evaluation_report import figures as figures_of
from knowledge_rag.evaluation.evaluation_run import ask_all, judge
from knowledge_rag.local.corpus_files import read_extracted

if TYPE_CHECKING:
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.evaluation.datasets import Row as Labelled
    from knowledge_rag.evaluation.evaluation_corpus import Documents
    from knowledge_rag.evaluation.evaluation_report import Figures
    from knowledge_rag.evaluation.evaluation_run import Askable
    from knowledge_rag.local.embeddings import Embedder
    from knowledge_rag.local.ingest import Progress

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

OURS = "knowledge-rag"
RESULTS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """One retrieval's figures.

    Args:
        name: name of the retrieval.
        dataset: name of the questions' file.
        hit_1: share of the questions that the first result answers, 0..1.
        hit_5: share that one of the first five results answers, 0..1.
        line_overlap: overlap of the best result's lines with the true ones, 0..1; ``None`` without true lines.
        exact: share of the results that are whole lines of their file, byte for byte, 0..1.
        p50_ms: median time of a question.
    """

    name: str
    dataset: str
    hit_1: float
    hit_5: float
    line_overlap: float | None
    exact: float | None
    p50_ms: float


@dataclass(frozen=True, slots=True)
class PeersReport:
    """A run of the benchmark.

    Args:
        questions: number of questions by dataset.
        documents: number of documents.
        rows: by retrieval and dataset, ours first.
        missing: peers that are not installed.
    """

    questions: dict[str, int]
    documents: int
    rows: tuple[Row, ...]
    missing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


def run_peers_bench(
    ours: Askable,
    labelled: Sequence[Labelled],
    documents: Documents,
    embedder: Embedder,
    progress: Progress,
) -> PeersReport:
    """Ask our retrieval and every installed peer the same questions.

    Args:
        ours: our retrieval over the documents.
        labelled: the questions.
        documents: the documents that answer them.
        embedder: the model that all of them use.
        progress: called before each question.
    """
    texts = dict(_texts(documents))
    rows = _rows(OURS, ours, labelled, documents, progress)
    embedded, missing = Embedded(embedder), []
    for name, make in PEERS.items():
        progress(0, len(labelled), f"making {name}")
        try:
            find = make(texts, embedded)
        except ImportError:
            missing.append(name)
            continue
        rows += _rows(name, PeerRetrieval(find, texts), labelled, documents, progress)
    counted = {row.dataset: 0 for row in labelled}
    for row in labelled:
        counted[row.dataset] += 1
    return PeersReport(counted, len(texts), tuple(rows), tuple(missing))


def as_table(report: PeersReport) -> Table:
    """Return a report as a table."""
    told = ", ".join(f"{count} of {name}" for name, count in report.questions.items())
    table = Table(title=f"{report.documents} documents, {told}, the same embeddings")
    for heading in ("retrieval", "questions", "hit@1", "hit@5", "line overlap", "exact", "p50 ms"):
        left = heading in ("retrieval", "questions")
        table.add_column(heading, justify="left" if left else "right")
    for row in report.rows:
        shares = (row.hit_1, row.hit_5, row.line_overlap, row.exact)
        shown = ("" if share is None else f"{share:.3f}" for share in shares)
        table.add_row(row.name, row.dataset, *shown, f"{row.p50_ms:.1f}")
    if report.missing:
        table.caption = f"not installed: {', '.join(report.missing)}"
    return table


def _texts(documents: Documents) -> Any:  # noqa: ANN401 - pairs of texts
    for name, file in documents.files.items():
        try:
            yield name, read_extracted(file).text
        except UnreadableDocument:
            continue


def _rows(
    name: str,
    retrieval: Askable,
    labelled: Sequence[Labelled],
    documents: Documents,
    progress: Progress,
) -> list[Row]:
    asked = ask_all(retrieval, labelled, max_results=RESULTS, progress=progress)
    judged = judge(asked, documents.reader())
    datasets = dict.fromkeys(row.dataset for row in labelled)
    return [
        _row(name, dataset, figures_of([one for one in judged if one.asked.row.dataset == dataset]))
        for dataset in datasets
    ]


def _row(name: str, dataset: str, figures: Figures) -> Row:
    return Row(
        name,
        dataset,
        figures.measures["hit@1"],
        figures.measures["hit@5"],
        figures.line_overlap,
        figures.citation_exact,
        figures.latency_ms.p50 if figures.latency_ms else 0.0,
    )
