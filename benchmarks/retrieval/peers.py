"""Compares our retrieval with other libraries', on the same documents, questions and embeddings, in one run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table

from benchmarks.retrieval.peer_systems import PEERS, Embedded, PeerRetrieval
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.evaluation.evaluation_report import figures as figures_of
from knowledge_rag.evaluation.evaluation_run import ask_all, judge
from knowledge_rag.local.corpus_files import read_extracted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.evaluation.datasets import Row as Labelled
    from knowledge_rag.evaluation.evaluation_corpus import Documents
    from knowledge_rag.evaluation.evaluation_report import Figures
    from knowledge_rag.evaluation.evaluation_run import Askable
    from knowledge_rag.local.embeddings import Embedder
    from knowledge_rag.local.ingest import Progress

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
