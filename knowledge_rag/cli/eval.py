"""``knowledge-rag eval``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption, RegionOption, Search, TimeoutOption
from knowledge_rag.cli.terminal import out, print_json
from knowledge_rag.cli.ways import (
    FunctionOption,
    GatewayOption,
    KnowledgeBaseOption,
    StackOption,
    Way,
)
from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DatasetsArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="DATASET...", help="Labelled questions, JSON Lines."),
]
AnswersOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="CASES",
        help="Score whole answers: labelled cases, JSON Lines; further files may follow.",
    ),
]
KbOption = Annotated[
    Path | None,
    typer.Option(
        "--kb",
        metavar="PATH",
        help="Knowledge base of the documents.  [default: one in the cache, made if it is missing]",
    ),
]
DocsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The documents that the labels name.  [default: docs/ beside the datasets]",
    ),
]
SearchOption = Annotated[
    Search | None, typer.Option(help="Vectors and keywords, or vectors alone.  [default: hybrid]")
]
MaxResultsOption = Annotated[
    int, typer.Option(min=5, max=100, help="Results asked for with each question.")
]
WithAlertOption = Annotated[
    bool, typer.Option("--with-alert", help="Ask with the alert's name before the question.")
]
LimitOption = Annotated[
    int | None, typer.Option(min=1, help="Ask so many questions only, chosen by the seed.")
]
SeedOption = Annotated[int, typer.Option(help="Of that choice.")]
ResultsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write what each question gave, JSON Lines.")
]
PlotOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw hit@k and latency, *.svg or *.png.")
]
CompareOption = Annotated[
    tuple[Path, Path] | None,
    typer.Option(metavar="A B", help="Compare two files of --results, and ask nothing."),
]


_OF_COMPARING: Final = frozenset({"compare", "json"})
_OF_RANKINGS: Final = frozenset({"max_results", "with_alert", "results", "plot", "compare"})


def evaluate(
    context: typer.Context,
    datasets: DatasetsArgument = None,
    answers: AnswersOption = None,
    docs: DocsOption = None,
    kb: KbOption = None,
    search: SearchOption = None,
    max_results: MaxResultsOption = 10,
    with_alert: WithAlertOption = False,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    stack: StackOption = None,
    function: FunctionOption = None,
    knowledge_base: KnowledgeBaseOption = None,
    gateway: GatewayOption = None,
    region: RegionOption = None,
    results: ResultsOption = None,
    plot: PlotOption = None,
    compare: CompareOption = None,
    timeout: TimeoutOption = None,
    json: JsonOption = False,
) -> None:
    """Evaluate retrieval or whole answers on labelled questions.

    Retrieval goes through the real Lambda. Exits 1 if a target is missed: latency p95 < 2 s, success > 95 %, all citations
    exact, hit@5 > 80 %, zero results < 20 %. --compare shows the difference between two runs, and whether it is more
    than chance. --answers asks as `ask` does, and exits 1 if under 90 % of the cases pass, one is torn, or over 1 % are
    dangerous.
    """
    if compare is not None:
        if datasets:
            raise InvalidRequest("--compare reads two files of results: name no dataset")
        for option in _given(context, lambda name: name not in _OF_COMPARING):
            raise InvalidRequest(f"--compare asks nothing: leave {option} out")
        _compare(*compare, json=json)
        return
    way = Way(function, knowledge_base, search, region, stack, gateway, timeout)
    way.check_alone(kb=kb)
    if answers:
        for option in _given(context, _OF_RANKINGS.__contains__):
            raise InvalidRequest(f"--answers scores answers, not rankings: leave {option} out")
        way.check_region()
        files = [*answers, *(datasets or [])]
        _answers(files, docs, kb, way, limit=limit, seed=seed, json=json)
        return
    if not datasets:
        raise InvalidRequest("name a dataset, or compare two runs with --compare A B")
    from knowledge_rag.cli import evaluating
    from knowledge_rag.evaluation.evaluation_report import as_tables
    from knowledge_rag.local.settings import LocalSettings

    settings = LocalSettings.from_environment()
    way.check_region()
    evaluating.check_outputs(results, plot, datasets, settings)
    rows = evaluating.read_rows(datasets, limit, seed, with_alert=with_alert)
    reader = evaluating.read_labelled(rows, docs, datasets)
    done = evaluating.run(
        rows, reader, way, settings, kb, max_results=max_results, with_alert=with_alert
    )
    evaluating.write(done, results, plot)
    if json:
        print_json(done.to_dict())
    else:
        out().print(as_tables(done))
    if done.missed:
        raise typer.Exit(ExitCode.FINDINGS)


def _given(context: typer.Context, wanted: Callable[[str], bool]) -> Iterator[str]:
    """Yield the options on the command line whose parameters' names are wanted."""
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if wanted(option.name or "") and source and source.name == "COMMANDLINE":
            yield option.opts[0]


def _answers(
    files: list[Path],
    docs: Path | None,
    kb: Path | None,
    way: Way,
    *,
    limit: int | None,
    seed: int,
    json: bool,
) -> None:
    from knowledge_rag.cli import evaluating
    from knowledge_rag.cli.bench_output import show
    from knowledge_rag.evaluation import answers_alerts, answers_report
    from knowledge_rag.evaluation.answers_cases import has_cases

    if not has_cases(files[0]):
        alerts = evaluating.run_alerts(files, docs, kb, way, limit=limit, seed=seed)
        shown = alerts.to_dict() if json else answers_alerts.as_tables(alerts)
        show(shown, passed=not alerts.missed)
        return
    if limit is not None:
        raise InvalidRequest("--limit samples labelled questions: ask all cases")
    cases = evaluating.run_cases(files, docs, kb, way)
    shown = cases.to_dict() if json else answers_report.as_tables(cases)
    show(shown, passed=not cases.missed)


def _compare(a: Path, b: Path, *, json: bool) -> None:
    from knowledge_rag.evaluation.comparison import as_table, compare, read_results

    done = compare(read_results(a), read_results(b))
    if json:
        print_json(done.to_dict())
    else:
        out().print(as_table(done))
