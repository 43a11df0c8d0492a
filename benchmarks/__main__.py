"""``python -m benchmarks NAME``: its commands, and the handling of failures."""

from __future__ import annotations

import logging
import sys

import typer

from benchmarks.commands import (
    chunking,
    clients,
    coldstart,
    console,
    dates,
    drift,
    embedding,
    everything,
    guardrails,
    handler,
    load,
    located,
    page,
    peers,
    retrieval,
    search,
    skills,
    train_claims,
)
from knowledge_rag.cli.exits import ExitCode, exit_cleanly_when_killed, exit_code_for
from knowledge_rag.cli.terminal import prepare_streams, print_note
from knowledge_rag.core.errors import KnowledgeRagError

NAME = "python -m benchmarks"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 aims reached, 1 an aim missed, 2 bad input, 4 other failure.",
)
for command in (
    chunking,
    search,
    embedding,
    handler,
    coldstart,
    load,
    console,
    page,
    retrieval,
    peers,
    clients,
    located,
    skills,
    guardrails,
    train_claims,
    dates,
    drift,
):
    app.command()(command)
app.command("all")(everything)


@app.callback()
def _common() -> None:
    """Measure this product, in comparison with others, part by part, and against its targets."""


def main() -> None:
    """Run a benchmark; bad input and other failures end in one line and an exit code."""
    prepare_streams()
    exit_cleanly_when_killed()
    logging.getLogger("knowledge_rag").addHandler(logging.NullHandler())  # the reports contain it
    try:
        app(prog_name=NAME)
    except KnowledgeRagError as error:
        print_note("error:", str(error))
        sys.exit(exit_code_for(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print_note("error:", f"{where}{error.strerror or error}")
        sys.exit(ExitCode.FAILED)


if __name__ == "__main__":
    main()
