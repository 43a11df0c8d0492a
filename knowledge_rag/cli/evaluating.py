"""Carries ``knowledge-rag eval`` out: rows, documents, the way to the knowledge base, the files."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_rag.cli.terminal import progress_bar, tell
from knowledge_rag.cli.ways import deployed
from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.cli.ways import Way
    from knowledge_rag.evaluation.answers_alerts import AlertsReport
    from knowledge_rag.evaluation.answers_cases import Case
    from knowledge_rag.evaluation.answers_eval import Question
    from knowledge_rag.evaluation.answers_report import AnswersReport
    from knowledge_rag.evaluation.datasets import Row
    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck, Documents
    from knowledge_rag.evaluation.evaluation_report import Evaluation
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.local.knowledge_base import KnowledgeBase
    from knowledge_rag.local.settings import LocalSettings
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval


def check_outputs(
    results: Path | None, plot: Path | None, datasets: Sequence[Path], settings: LocalSettings
) -> None:
    """Refuse now what would fail after minutes of asking, or take the place of what is asked.

    Raises:
        InvalidRequest: a file can't be written there, or is a dataset, or both are one.
        NotInstalled: what measures or draws is missing.
    """
    from knowledge_rag.evaluation.evaluation_plot import check_plot
    from knowledge_rag.evaluation.evaluation_run import check_installed

    check_installed()
    if plot is not None:
        check_plot(plot, settings.cache_dir)
    for path in filter(None, (results, plot)):
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise InvalidRequest(f"can't write {path}: it is a folder, or its folder is missing")
        if not os.access(path.absolute().parent, os.W_OK):
            raise InvalidRequest(f"can't write {path}: its folder may not be written")
        if path.resolve() in {dataset.resolve() for dataset in datasets}:
            raise InvalidRequest(f"can't write {path}: it is a dataset")
    if results is not None and plot is not None and results.resolve() == plot.resolve():
        raise InvalidRequest("--results and --plot: name two files")


def read_rows(
    datasets: Sequence[Path], limit: int | None, seed: int, *, with_alert: bool
) -> tuple[Row, ...]:
    """Read the questions, or a sample of them.

    Raises:
        InvalidRequest: a row is no labelled question, or none names the alert that is wanted.
        UnreadableDocument: a file can't be read.
    """
    from knowledge_rag.evaluation.datasets import load_datasets, sample

    rows = sample(load_datasets(datasets), limit, seed)
    if with_alert and not any(row.alert for row in rows):
        raise InvalidRequest("--with-alert: no question here names an alert")
    return rows


def read_documents(rows: tuple[Row, ...], docs: Path | None, datasets: Sequence[Path]) -> Documents:
    """Find the documents, and say where the labels don't fit them; see :func:`read_labelled`."""
    return read_labelled(rows, docs, datasets).documents


def read_labelled(
    rows: tuple[Row, ...], docs: Path | None, datasets: Sequence[Path]
) -> CitationCheck:
    """Find the documents, say where the labels don't fit them, and give what has read them for that.

    Raises:
        InvalidRequest: no folder is named, and none lies beside the datasets.
        UnusableCorpus: there are no documents in it.
    """
    from knowledge_rag.evaluation.datasets import docs_beside
    from knowledge_rag.evaluation.evaluation_corpus import Documents, doubts_about_labels

    documents = Documents.of(docs or docs_beside(datasets))
    for skipped in documents.skipped:
        tell("skipped", str(skipped))
    reader = documents.reader()
    for doubt in doubts_about_labels(rows, reader):
        tell("warning", doubt)
    return reader


def run(
    rows: tuple[Row, ...],
    reader: CitationCheck,
    way: Way,
    settings: LocalSettings,
    kb: Path | None = None,
    *,
    max_results: int,
    with_alert: bool,
) -> Evaluation:
    """Ask every question and sum up what came back.

    Args:
        rows: the questions.
        reader: of the documents that they are about; citations are held against it.
        way: whom to ask.
        settings: where the knowledge base is cached.
        kb: the knowledge base on this machine, if it is not the cached one.
        max_results: asked for with each question.
        with_alert: whether to ask with the alert's name.
    """
    from knowledge_rag.evaluation.datasets import fingerprint
    from knowledge_rag.evaluation.evaluation_report import Setup, summarise
    from knowledge_rag.evaluation.evaluation_run import ask_all, judge

    documents = reader.documents
    with (
        progress_bar() as progress,
        _retrieval(way, documents, settings, progress, kb) as (retrieval, _),
    ):
        asked = ask_all(
            retrieval, rows, max_results=max_results, with_alert=with_alert, progress=progress
        )
    setup = Setup(
        way.name, way.method, max_results, with_alert, fingerprint(rows), documents.fingerprint
    )
    return summarise(setup, judge(asked, reader))


def write(done: Evaluation, results: Path | None, plot: Path | None) -> None:
    """Write the files that were asked for.

    Raises:
        OSError: one can't be written.
    """
    from knowledge_rag.evaluation.comparison import write_results
    from knowledge_rag.evaluation.evaluation_plot import write_plot

    if results is not None:
        write_results(done, results)
    if plot is not None:
        write_plot(done, plot)


def run_cases(files: Sequence[Path], docs: Path | None, kb: Path | None, way: Way) -> AnswersReport:
    """Ask every case of some files as ``knowledge-rag ask`` does, and score the answers.

    Args:
        files: of cases.
        docs: the documents that their labels name; by default ``docs/`` beside the files.
        kb: the knowledge base on this machine, if it is not the cached one.
        way: whom to ask.

    Raises:
        InvalidRequest: a row is no case, or no folder of documents is named or lies beside the files.
        UnreadableDocument: a file can't be read.
        UnusableCorpus: there are no documents in the folder.
    """
    from knowledge_rag.evaluation.answers_cases import LabelledLines, doubts_about_cases, read_cases
    from knowledge_rag.evaluation.answers_report import run_cases
    from knowledge_rag.evaluation.datasets import docs_beside
    from knowledge_rag.evaluation.evaluation_corpus import Documents
    from knowledge_rag.local.settings import LocalSettings

    cases = read_cases(files)
    reader = Documents.of(docs or docs_beside(files)).reader()
    lines = LabelledLines(reader)
    for doubt in doubts_about_cases(cases, lines):
        tell("warning", doubt)
    settings = LocalSettings.from_environment()
    with (
        progress_bar() as progress,
        _retrieval(way, reader.documents, settings, progress, kb) as (retrieval, opened),
    ):
        asked = [(case, _question(case, opened)) for case in cases]
        return run_cases(retrieval, asked, reader, lines, progress)


def run_alerts(
    files: Sequence[Path],
    docs: Path | None,
    kb: Path | None,
    way: Way,
    *,
    limit: int | None,
    seed: int,
) -> AlertsReport:
    """Ask every labelled alert of some datasets, and rate the answers.

    Args:
        files: datasets; rows that name no alert are left out.
        docs: the documents that their labels name; by default ``docs/`` beside the files.
        kb: the knowledge base on this machine, if it is not the cached one.
        way: how to search; local.
        limit: ask so many alerts only.
        seed: of that choice.

    Raises:
        InvalidRequest: no row names an alert, a row is wrong, or something deployed is to be asked.
        UnreadableDocument: a file can't be read.
        UnusableCorpus: there are no documents in the folder.
    """
    from knowledge_rag.core.retrieval import SearchType
    from knowledge_rag.evaluation.answers_alerts import Local, run_alerts
    from knowledge_rag.evaluation.datasets import load_datasets, sample
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.settings import LocalSettings

    if not way.is_local:
        raise InvalidRequest(
            "--answers with labelled alerts needs a knowledge base on this machine"
        )
    alerts = [row for row in load_datasets(files) if row.alert]
    if not alerts:
        raise InvalidRequest("--answers: no question here names an alert")
    rows = sample(alerts, limit, seed)
    reader = read_labelled(rows, docs, files)
    settings = LocalSettings.from_environment()
    method = SearchType(way.method.upper())
    with (
        progress_bar() as progress,
        _knowledge_base(reader.documents, settings, progress, kb) as opened,
    ):
        local = Local(opened, MiniLm(settings), method, way.budget)
        return run_alerts(local, rows, reader, progress)


def _question(case: Case, knowledge_base: KnowledgeBase | None) -> Question | str:
    """Return what ``ask`` would ask, or why it would refuse."""
    from knowledge_rag.cli.asking import incident_of, queries_of
    from knowledge_rag.evaluation.answers_eval import Question
    from knowledge_rag.orchestrator.incident import Incident

    question = case.query or None
    try:
        if case.incident is None or isinstance(case.incident, Path):
            incident = incident_of(question, case.incident)
        else:
            incident = Incident.from_state(case.incident)
    except (InvalidRequest, UnreadableDocument) as error:
        return str(error)
    if incident.is_empty:
        return "nothing in it that could be asked about"
    queries = queries_of(question, incident)
    if knowledge_base is not None:
        incident = replace(incident, title=knowledge_base.corrected(incident.title).text)
    return Question(incident, queries)


@contextmanager
def _retrieval(
    way: Way,
    documents: Documents,
    settings: LocalSettings,
    progress: Progress,
    kb: Path | None,
) -> Iterator[tuple[BoundedRetrieval, KnowledgeBase | None]]:
    """Yield the way to the knowledge base, and the knowledge base if it is on this machine."""
    if not way.is_local:
        with deployed(way) as found:
            yield found.retrieval, None
        return
    from knowledge_rag.core.retrieval import SearchType
    from knowledge_rag.local.local_retrieval import local_retrieval

    with (
        _knowledge_base(documents, settings, progress, kb) as opened,
        local_retrieval(
            opened, search_type=SearchType(way.method.upper()), budget=way.budget
        ) as local,
    ):
        yield local, opened


@contextmanager
def _knowledge_base(
    documents: Documents, settings: LocalSettings, progress: Progress, kb: Path | None
) -> Iterator[KnowledgeBase]:
    from knowledge_rag.evaluation.evaluation_corpus import ingested
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.knowledge_base import KnowledgeBase

    embedder = MiniLm(settings)
    if kb is not None:
        with KnowledgeBase(kb, embedder) as opened:
            yield opened
        return
    besides = (settings.default_knowledge_base,)
    with ingested(documents, settings.cache_dir, embedder, progress, besides=besides) as opened:
        yield opened
