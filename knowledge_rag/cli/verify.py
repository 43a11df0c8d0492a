"""``knowledge-rag verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.inputs import STDIN
from knowledge_rag.cli.options import Format, FormatOption, JsonOption, chosen_format
from knowledge_rag.cli.terminal import out, print_json, print_note
from knowledge_rag.core.errors import InvalidRequest


def verify(
    evidence: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="What retrieval returned: JSON of retrieve_knowledge, ask --explain, Retrieve, "
            "RetrieveAndGenerate, InvokeAgent or Converse. Once for each query; - is standard input.",
        ),
    ],
    answer: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The answer, Markdown or text; - is standard input.  "
            "[default: the one in the evidence]",
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The current documents, to check that the cited lines are still there.",
        ),
    ] = None,
    form: FormatOption = Format.TEXT,
    json: JsonOption = False,
    mark: Annotated[
        bool,
        typer.Option("--mark", help="Put [unverified] where a reference is removed."),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show the checks of each claim, and where its details are."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also exit 1 on warnings, not only on errors.")
    ] = False,
) -> None:
    """Check an answer against what was retrieved for it.

    References that retrieval did not return are removed, and each cited claim is compared with the lines that it
    cites. Exits 1 if anything is wrong.
    """
    from knowledge_rag.cli import verification

    shown = chosen_format(form, json=json)
    if form is Format.SARIF and answer in (None, STDIN):
        raise InvalidRequest(
            "--format sarif needs --answer FILE: its findings point into that file"
        )
    if "" in (answer, *evidence):  # an unset variable in a script
        raise InvalidRequest(f"{'--answer' if answer == '' else '--evidence'}: empty name")
    if [answer, *evidence].count(STDIN) > 1:
        raise InvalidRequest(
            "standard input can be read only once: name files instead of the other -"
        )
    done = verification.run(answer, evidence, corpus, mark=mark)
    if shown is Format.JSON:
        print_json(verification.as_json(done))
    elif shown is Format.SARIF:
        print_json(verification.as_sarif(done))
    else:
        verification.show_review(out(), done, explain=explain)
    for message in verification.losses(done):
        print_note("warning", message)
    if done.review.findings if strict else done.review.errors:
        raise typer.Exit(ExitCode.FINDINGS)
