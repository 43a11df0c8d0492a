"""``knowledge-rag eval`` and ``bench``, which measure on people's own questions and documents."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from knowledge_rag.cli.backend import BackendOptions, deployed
from knowledge_rag.cli.options import JsonOption, KbOption, Search, SearchOption, with_options
from knowledge_rag.cli.reports import print_report, progress_bar
from knowledge_rag.cli.terminal import print_note
from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knowledge_rag.evaluation.answers_alerts import AlertsReport
    from knowledge_rag.evaluation.answers_cases import Case
    from knowledge_rag.evaluation.answers_eval import AnswersReport, Question
    from knowledge_rag.evaluation.datasets import Row
    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck, Documents
    from knowledge_rag.evaluation.evaluation_report import Evaluation
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.local.knowledge_base import KnowledgeBase
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval

DatasetsArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="DATASET...", help="Labelled questions, JSON Lines.")
]
AnswersOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="CASES",
        help="Score whole answers: labelled cases, JSON Lines; more files may follow.",
    ),
]
ClaimsOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Score the support checks: labelled claims with evidence, JSON Lines; repeatable.",
    ),
]
DocumentsKbOption = Annotated[
    Path | None,
    typer.Option(
        "--kb",
        metavar="PATH",
        help="Knowledge base of the documents.  [default: one in the cache, created if missing]",
    ),
]
DocsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The documents that the labels name.  [default: docs/ beside the datasets]",
    ),
]
MaxResultsOption = Annotated[
    int, typer.Option(min=5, max=100, help="Number of results for each question.")
]
WithAlertOption = Annotated[
    bool, typer.Option("--with-alert", help="Ask with the alert's name before the question.")
]
LimitOption = Annotated[
    int | None, typer.Option(min=1, help="Ask only this many questions, chosen by the seed.")
]
SeedOption = Annotated[int, typer.Option(help="Seed for choosing questions.")]
ResultsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the result of each question, JSON Lines.")
]
PlotOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Plot hit@k and latency, *.svg or *.png.")
]
CompareOption = Annotated[
    tuple[Path, Path] | None,
    typer.Option(metavar="A B", help="Compare two files from --results, and ask nothing."),
]


_OF_RANKINGS: Final = frozenset({"max_results", "with_alert", "results", "plot", "compare"})


@with_options
def evaluate(
    *,
    context: typer.Context,
    datasets: DatasetsArgument = None,
    answers: AnswersOption = None,
    claims: ClaimsOption = None,
    docs: DocsOption = None,
    kb: DocumentsKbOption = None,
    search: SearchOption = None,
    max_results: MaxResultsOption = 10,
    with_alert: WithAlertOption = False,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    backend: BackendOptions,
    results: ResultsOption = None,
    plot: PlotOption = None,
    compare: CompareOption = None,
    json: JsonOption = False,
) -> None:
    """Measure retrieval, answers or claim checks on labelled data.

    Retrieval goes through the real Lambda. Exits 1 if a target is missed: latency p95 < 2 s,
    success > 95 %, all citations exact, hit@5 > 80 %, zero results < 20 %. --compare shows the
    difference between two runs, and whether it is more than chance. --answers asks like `ask`,
    and exits 1 if under 90 % of the cases pass, one is torn, or over 1 % are dangerous.
    --claims asks nothing: it checks each claim against the evidence in its row, and has no target.
    """
    if claims or compare is not None:
        _apart(context, claims, compare, datasets, json=json)
        return
    backend = replace(backend, search=search)
    backend.check_alone(kb=kb)
    if answers:
        for option in _given(context, _OF_RANKINGS.__contains__):
            raise InvalidRequest(f"--answers scores answers, not rankings: leave {option} out")
        backend.check_region()
        files = [*answers, *(datasets or [])]
        _answers(files, docs, kb, backend, limit=limit, seed=seed, json=json)
        return
    if not datasets:
        raise InvalidRequest("name a dataset, or compare two runs with --compare A B")
    from knowledge_rag.evaluation.comparison import write_results
    from knowledge_rag.evaluation.evaluation_report import as_tables, write_plot

    backend.check_region()
    _check_outputs(results, plot, datasets)
    rows = read_rows(datasets, limit, seed, with_alert=with_alert)
    reader = read_labelled(rows, docs, datasets)
    done = _evaluated(rows, reader, backend, kb, max_results=max_results, with_alert=with_alert)
    if results is not None:
        write_results(done, results)
    if plot is not None:
        write_plot(done, plot)
    print_report(done.to_dict() if json else as_tables(done), passed=not done.missed)


def _apart(
    context: typer.Context,
    claims: list[Path] | None,
    compare: tuple[Path, Path] | None,
    datasets: list[Path] | None,
    *,
    json: bool,
) -> None:
    """Run the options that ask nothing and stand alone."""
    from knowledge_rag.evaluation import claims_eval, comparison

    name, reads = (
        ("--claims", "labelled claims") if claims else ("--compare", "two files of results")
    )
    if datasets:
        raise InvalidRequest(f"{name} reads {reads}: leave out the datasets")
    for option in _given(context, lambda other: other not in {name.removeprefix("--"), "json"}):
        raise InvalidRequest(f"{name} asks nothing: leave {option} out")
    if claims:
        checked = claims_eval.evaluate_claims(claims)
        print_report(checked.to_dict() if json else claims_eval.as_table(checked))
    elif compare:
        both = comparison.compare(*map(comparison.read_results, compare))
        print_report(both.to_dict() if json else comparison.as_table(both))


def _given(context: typer.Context, wanted: Callable[[str], bool]) -> Iterator[str]:
    """Yield the given options whose parameters have matching names."""
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if wanted(option.name or "") and source and source.name == "COMMANDLINE":
            yield option.opts[0]


def _answers(
    files: list[Path],
    docs: Path | None,
    kb: Path | None,
    backend: BackendOptions,
    *,
    limit: int | None,
    seed: int,
    json: bool,
) -> None:
    from knowledge_rag.evaluation import answers_alerts, answers_eval
    from knowledge_rag.evaluation.answers_cases import has_cases

    if not has_cases(files[0]):
        alerts = _rated_alerts(files, docs, kb, backend, limit=limit, seed=seed)
        shown = alerts.to_dict() if json else answers_alerts.as_tables(alerts)
        print_report(shown, passed=not alerts.missed)
        return
    if limit is not None:
        raise InvalidRequest("--limit samples labelled questions: ask all cases")
    cases = _scored_cases(files, docs, kb, backend)
    shown = cases.to_dict() if json else answers_eval.as_tables(cases)
    print_report(shown, passed=not cases.missed)


def _check_outputs(results: Path | None, plot: Path | None, datasets: Sequence[Path]) -> None:
    """Refuse outputs that can't be written, or would overwrite a dataset."""
    from knowledge_rag.evaluation.evaluation_report import check_plot
    from knowledge_rag.evaluation.evaluation_run import check_installed
    from knowledge_rag.local.settings import LocalSettings

    check_installed()
    if plot is not None:
        check_plot(plot, LocalSettings.from_environment().cache_dir)
    for path in filter(None, (results, plot)):
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise InvalidRequest(f"can't write {path}: it is a folder, or its folder is missing")
        if not os.access(path.absolute().parent, os.W_OK):
            raise InvalidRequest(f"can't write {path}: its folder is not writable")
        if path.resolve() in {dataset.resolve() for dataset in datasets}:
            raise InvalidRequest(f"can't write {path}: it is a dataset")
    if results is not None and plot is not None and results.resolve() == plot.resolve():
        raise InvalidRequest("--results and --plot need different files")


def read_rows(
    datasets: Sequence[Path], limit: int | None, seed: int, *, with_alert: bool
) -> tuple[Row, ...]:
    """Read the questions, or a sample of them."""
    from knowledge_rag.evaluation.datasets import load_datasets, sample

    rows = sample(load_datasets(datasets), limit, seed)
    if with_alert and not any(row.alert for row in rows):
        raise InvalidRequest("--with-alert: no question names an alert")
    return rows


def read_labelled(
    rows: tuple[Row, ...], docs: Path | None, datasets: Sequence[Path]
) -> CitationCheck:
    """Read the documents, and warn if the labels don't match them."""
    from knowledge_rag.evaluation.datasets import docs_beside
    from knowledge_rag.evaluation.evaluation_corpus import Documents, doubts_about_labels

    documents = Documents.of(docs or docs_beside(datasets))
    for skipped in documents.skipped:
        print_note("skipped", str(skipped))
    reader = documents.reader()
    for doubt in doubts_about_labels(rows, reader):
        print_note("warning", doubt)
    return reader


def _evaluated(
    rows: tuple[Row, ...],
    reader: CitationCheck,
    backend: BackendOptions,
    kb: Path | None,
    *,
    max_results: int,
    with_alert: bool,
) -> Evaluation:
    from knowledge_rag.evaluation.datasets import fingerprint
    from knowledge_rag.evaluation.evaluation_report import Setup, summarise
    from knowledge_rag.evaluation.evaluation_run import ask_all, judge

    documents = reader.documents
    with progress_bar() as progress, _retrieval(backend, documents, progress, kb) as (retrieval, _):
        asked = ask_all(
            retrieval, rows, max_results=max_results, with_alert=with_alert, progress=progress
        )
    of_data = (fingerprint(rows), documents.fingerprint)
    setup = Setup(backend.name, backend.method, max_results, with_alert, *of_data)
    return summarise(setup, judge(asked, reader))


def _scored_cases(
    files: Sequence[Path], docs: Path | None, kb: Path | None, backend: BackendOptions
) -> AnswersReport:
    """Ask every case in some files like ``knowledge-rag ask``, and score the answers."""
    from knowledge_rag.evaluation.answers_cases import LabelledLines, doubts_about_cases, read_cases
    from knowledge_rag.evaluation.answers_eval import run_cases
    from knowledge_rag.evaluation.datasets import docs_beside
    from knowledge_rag.evaluation.evaluation_corpus import Documents

    cases = read_cases(files)
    reader = Documents.of(docs or docs_beside(files)).reader()
    lines = LabelledLines(reader)
    for doubt in doubts_about_cases(cases, lines):
        print_note("warning", doubt)
    with (
        progress_bar() as progress,
        _retrieval(backend, reader.documents, progress, kb) as (retrieval, opened),
    ):
        asked = [(case, _question(case, opened)) for case in cases]
        return run_cases(retrieval, asked, reader, lines, progress)


def _rated_alerts(
    files: Sequence[Path],
    docs: Path | None,
    kb: Path | None,
    backend: BackendOptions,
    *,
    limit: int | None,
    seed: int,
) -> AlertsReport:
    """Ask every labelled alert in some datasets, and score the answers."""
    from knowledge_rag.evaluation.answers_alerts import Local, run_alerts
    from knowledge_rag.evaluation.datasets import load_datasets, sample
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.settings import LocalSettings

    if not backend.is_local:
        raise InvalidRequest(
            "--answers with labelled alerts needs a knowledge base on this machine"
        )
    alerts = [row for row in load_datasets(files) if row.alert]
    if not alerts:
        raise InvalidRequest("--answers: no question names an alert")
    rows = sample(alerts, limit, seed)
    reader = read_labelled(rows, docs, files)
    embedder = MiniLm(LocalSettings.from_environment())
    with progress_bar() as progress, _knowledge_base(reader.documents, progress, kb) as opened:
        local = Local(opened, embedder, backend.search_type, backend.budget)
        return run_alerts(local, rows, reader, progress)


def _question(case: Case, knowledge_base: KnowledgeBase | None) -> Question | str:
    """Return the question that ``ask`` would ask, or why it would refuse."""
    from knowledge_rag.cli.advice import incident_of, queries_of
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
        return "nothing in it to ask about"
    queries = queries_of(question, incident)
    if knowledge_base is not None:
        incident = replace(incident, title=knowledge_base.corrected(incident.title).text)
    return Question(incident, queries)


@contextmanager
def _retrieval(
    backend: BackendOptions, documents: Documents, progress: Progress, kb: Path | None
) -> Iterator[tuple[BoundedRetrieval, KnowledgeBase | None]]:
    """Yield the retrieval, and the knowledge base if it is on this machine."""
    if not backend.is_local:
        with deployed(backend) as found:
            yield found.retrieval, None
        return
    from knowledge_rag.local.local_retrieval import local_retrieval

    with (
        _knowledge_base(documents, progress, kb) as opened,
        local_retrieval(opened, search_type=backend.search_type, budget=backend.budget) as local,
    ):
        yield local, opened


@contextmanager
def _knowledge_base(
    documents: Documents, progress: Progress, kb: Path | None
) -> Iterator[KnowledgeBase]:
    from knowledge_rag.evaluation.evaluation_corpus import ingested
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.knowledge_base import KnowledgeBase
    from knowledge_rag.local.models import embedder_of
    from knowledge_rag.local.settings import LocalSettings

    settings = LocalSettings.from_environment()
    embedder, besides = MiniLm(settings), (settings.default_knowledge_base,)
    with (
        KnowledgeBase(kb, embedder_of(kb, settings))
        if kb is not None
        else ingested(documents, settings.cache_dir, embedder, progress, besides=besides)
    ) as opened:
        yield opened


bench = typer.Typer(no_args_is_help=True)


@bench.callback()
def _group() -> None:
    """Measure on your own questions and documents."""


@bench.command()
def floor(
    kb: KbOption = None,
    on: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Questions that it answers, JSON Lines with id and query."
        ),
    ] = None,
    off: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Questions that it doesn't answer.")
    ] = None,
    search: Annotated[Search, typer.Option(help="Whose scores.")] = Search.HYBRID,
    json: JsonOption = False,
) -> None:
    """Measure how well off-topic questions are rejected.

    By default uses the sample knowledge base and this project's labelled questions. Exits 1 if the
    threshold in use rejects under 90 % of off-topic or loses over 5 % of on-topic questions.
    """
    from knowledge_rag.cli.knowledge_bases import opened, sample_knowledge_base
    from knowledge_rag.core.files import shipped
    from knowledge_rag.evaluation.floor import as_table, load_questions, measure_floor

    on_topic = load_questions(on or shipped("tests/data/questions/on_topic.jsonl"))
    off_topic = load_questions(off or shipped("tests/data/questions/off_topic.jsonl"))
    with opened(kb or sample_knowledge_base()[0]) as knowledge_base:
        report = measure_floor(knowledge_base, on_topic, off_topic, search.search_type)
    print_report(
        report.to_dict() if json else as_table(report), passed=report.shipped_on_all.passes
    )


@bench.command()
def ingest(
    docs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to ingest.  [default: the sample runbooks]"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Time an ingest, and a second one that changes nothing.

    Exits 1 if the embedding model takes under 90 % of the first, or the second embeds anything.
    """
    from knowledge_rag.core.files import shipped
    from knowledge_rag.evaluation.local_speed import run_ingest_bench
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.settings import LocalSettings

    model = MiniLm(LocalSettings.from_environment())
    report = run_ingest_bench(docs or shipped("knowledge-corpus"), model)
    print_report(report.to_dict() if json else report.as_table(), passed=report.reached)


@bench.command()
def drift(
    docs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to copy.  [default: the sample runbooks]"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Time the checks of drift on increasing numbers of documents.

    Exits 1 if under 1,000 documents are checked per minute, or memory grows with their number.
    """
    from knowledge_rag.core.files import shipped
    from knowledge_rag.evaluation.local_speed import run_drift_bench

    report = run_drift_bench(docs or shipped("knowledge-corpus"))
    print_report(report.to_dict() if json else report.as_table(), passed=report.reached)
