"""``knowledge-rag eval``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption, RegionOption, Search
from knowledge_rag.cli.terminal import out, print_json
from knowledge_rag.cli.ways import (
    FunctionOption,
    GatewayOption,
    KnowledgeBaseOption,
    StackOption,
    Way,
)
from knowledge_rag.core.errors import InvalidRequest

DatasetsArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="DATASET...", help="Labelled questions, JSON Lines."),
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


def evaluate(
    context: typer.Context,
    datasets: DatasetsArgument = None,
    docs: DocsOption = None,
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
    json: JsonOption = False,
) -> None:
    """Evaluate retrieval on labelled questions.

    It asks through the real Lambda. Exits 1 if a target is missed: latency p95 < 2 s, success > 95 %, all citations exact, hit@5 >
    80 %, zero results < 20 %. --compare tells the difference of two runs, and whether it is more
    than chance.
    """
    if compare is not None:
        if datasets:
            raise InvalidRequest("--compare reads two files of results: name no dataset")
        _check_alone(context)
        _compare(*compare, json=json)
        return
    if not datasets:
        raise InvalidRequest("name a dataset, or compare two runs with --compare A B")
    from knowledge_rag.cli import evaluating
    from knowledge_rag.evaluation.evaluation_table import as_tables
    from knowledge_rag.local.settings import LocalSettings

    settings = LocalSettings.from_environment()
    way = Way(function, knowledge_base, search, region, stack, gateway)
    way.check_region()
    evaluating.check_outputs(results, plot, datasets, settings)
    rows = evaluating.read_rows(datasets, limit, seed, with_alert=with_alert)
    reader = evaluating.read_labelled(rows, docs, datasets)
    done = evaluating.run(
        rows, reader, way, settings, max_results=max_results, with_alert=with_alert
    )
    evaluating.write(done, results, plot)
    if json:
        print_json(done.to_dict())
    else:
        out().print(as_tables(done))
    if done.missed:
        raise typer.Exit(ExitCode.FINDINGS)


def _check_alone(context: typer.Context) -> None:
    """Refuse what would be passed over beside --compare."""
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name not in _OF_COMPARING and source and source.name == "COMMANDLINE":
            raise InvalidRequest(f"--compare asks nothing: leave {option.opts[0]} out")


def _compare(a: Path, b: Path, *, json: bool) -> None:
    from knowledge_rag.evaluation.comparison import as_table, compare
    from knowledge_rag.evaluation.evaluation_results import read_results

    done = compare(read_results(a), read_results(b))
    if json:
        print_json(done.to_dict())
    else:
        out().print(as_table(done))
