"""``knowledge-rag gameday``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import out, print_json, progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.evaluation.faults.model import Fault
    from knowledge_rag.evaluation.faults.scenario import Target
    from knowledge_rag.evaluation.gameday import GameDay


def gameday(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this fault; may be given several times."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHO",
            help="function, plain-boto3 or langchain-aws; several are shown side by side.  "
            "[default: function]",
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the faults and run none.")] = False,
    json: JsonOption = False,
) -> None:
    """Run every known fault against the real function.

    Shows the time, answer, metrics and alarms of each; takes about a minute. Exits 1 if any
    promise is broken: an answer after 2 s, a wrong status, an alarm that stays silent. Other
    clients can run against the same faults, to see the difference.
    """
    from knowledge_rag.core.errors import InvalidRequest
    from knowledge_rag.evaluation.gameday import chosen, run_gameday

    targets = _targets(target or ["function"])
    faults = chosen(only or [], targets)
    if not faults:
        raise InvalidRequest(
            "--only: none of these is played on the wire, so no client can meet it"
        )
    if list_:
        _show_list(faults, json=json)
        return
    with progress_bar() as progress:
        days = [run_gameday(faults, each, progress) for each in targets]
    _show(days, json=json)
    if not all(day.kept for day in days if day.target.promises):
        raise typer.Exit(ExitCode.FINDINGS)


def _targets(names: Sequence[str]) -> list[Target]:
    from knowledge_rag.core.errors import InvalidRequest
    from knowledge_rag.evaluation.faults.scenario import Target

    for name in names:
        if name not in list(Target):
            raise InvalidRequest(f"--target {name[:40]!r}: it is one of {', '.join(Target)}")
    return [Target(name) for name in dict.fromkeys(names)]


def _show_list(faults: Sequence[Fault], *, json: bool) -> None:
    from knowledge_rag.evaluation.gameday import as_list

    if json:
        print_json([{"name": f.name, "group": f.group, "what": f.what} for f in faults])
    else:
        out().print(as_list(faults))


def _show(days: Sequence[GameDay], *, json: bool) -> None:
    from knowledge_rag.evaluation import gameday as shown

    if json:
        print_json(days[0].to_dict() if len(days) == 1 else [day.to_dict() for day in days])
    elif len(days) == 1 and days[0].target.promises:
        out().print(shown.as_table(days[0]))
    else:
        out().print(shown.as_comparison(days))
