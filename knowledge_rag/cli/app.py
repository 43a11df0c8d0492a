"""The ``knowledge-rag`` command: its sub-commands, and how failures leave it.

A command raises what went wrong; here it becomes one line on standard error and an exit code.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from knowledge_rag.cli.bench import bench
from knowledge_rag.cli.chunk import chunk
from knowledge_rag.cli.demo import demo
from knowledge_rag.cli.exits import ExitCode, exit_code_for
from knowledge_rag.cli.ingest import ingest
from knowledge_rag.cli.model import model
from knowledge_rag.cli.retrieve import retrieve
from knowledge_rag.cli.serve import serve
from knowledge_rag.cli.terminal import tell
from knowledge_rag.core.errors import KnowledgeRagError

app = typer.Typer(
    help="Runbook answers whose every citation points at exact lines of a real file.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 ok, 1 findings or nothing found, 2 bad input, 3 degraded, 4 other failure.",
)
for command in (demo, ingest, retrieve, chunk, serve):
    app.command()(command)
app.add_typer(bench, name="bench")
app.add_typer(model, name="model")


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        typer.echo(version("knowledge-rag"))
        raise typer.Exit


@app.callback()
def _common(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Runbook answers whose every citation points at exact lines of a real file."""


def main() -> None:
    """Run the command line; every failure ends in one line and its exit code."""
    try:
        app()
    except KnowledgeRagError as error:
        _fail(str(error), exit_code_for(error))
    except BrokenPipeError:
        # the reader has gone (`... | head`): nothing is wrong, and nothing more can be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", ExitCode.FAILED)


def _fail(message: str, code: ExitCode) -> None:
    tell("error:", message)
    sys.exit(code)
