"""``knowledge-rag gameday``."""

from __future__ import annotations

from typing import Annotated

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import out, print_json, progress_bar
from knowledge_rag.core.errors import InvalidRequest


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
    from knowledge_rag.evaluation.faults.scenario import Target
    from knowledge_rag.evaluation.gameday import (
        as_comparison,
        as_list,
        as_table,
        chosen,
        run_gameday,
    )

    for name in target or ():
        if name not in list(Target):
            raise InvalidRequest(f"--target {name[:40]!r}: it is one of {', '.join(Target)}")
    targets = [Target(name) for name in dict.fromkeys(target or ["function"])]
    faults = chosen(only or [], targets)
    if not faults:
        raise InvalidRequest(
            "--only: none of these is played on the wire, so no client can meet it"
        )
    if list_:
        names = [{"name": it.name, "group": it.group, "what": it.what} for it in faults]
        if json:
            print_json(names)
        else:
            out().print(as_list(faults))
        return
    with progress_bar() as progress:
        days = [run_gameday(faults, each, progress) for each in targets]
    if json:
        print_json(days[0].to_dict() if len(days) == 1 else [day.to_dict() for day in days])
    elif len(days) == 1 and days[0].target.promises:
        out().print(as_table(days[0]))
    else:
        out().print(as_comparison(days))
    if not all(day.kept for day in days if day.target.promises):
        raise typer.Exit(ExitCode.FINDINGS)
