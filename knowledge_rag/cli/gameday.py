"""``knowledge-rag gameday``."""

from __future__ import annotations

from typing import Annotated

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.progress import progress_bar
from knowledge_rag.cli.terminal import out, print_json


def gameday(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this fault; may be given several times."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the faults and run none.")] = False,
    json: JsonOption = False,
) -> None:
    """Run every known fault against the real function.

    Shows the time, answer, metrics and alarms of each; takes about a minute. Exits 1 if any
    promise is broken: an answer after 2 s, a wrong status, an alarm that doesn't fire.
    """
    from knowledge_rag.evaluation.gameday import as_list, as_table, chosen, run_gameday

    faults = chosen(only or [])
    if list_:
        names = [{"name": it.name, "group": it.group, "what": it.what} for it in faults]
        if json:
            print_json(names)
        else:
            out().print(as_list(faults))
        return
    with progress_bar() as progress:
        day = run_gameday(faults, progress)
    if json:
        print_json(day.to_dict())
    else:
        out().print(as_table(day))
    if not day.kept:
        raise typer.Exit(ExitCode.FINDINGS)
