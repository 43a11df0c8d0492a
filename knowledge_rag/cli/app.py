"""The ``knowledge-rag`` command: its sub-commands, and how failures leave it.

A command raises what went wrong; here it becomes one line on standard error and an exit code.
"""

from __future__ import annotations

import logging
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Final

import typer
from typer.main import get_command

from knowledge_rag.cli.exits import ExitCode, exit_cleanly_when_killed, exit_code_for
from knowledge_rag.cli.terminal import discard_output, prepare_streams, print_note
from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.core.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COMMANDS: Final = {
    "demo": "demo",
    "ingest": "ingest",
    "lint": "lint",
    "drift": "drift",
    "retrieve": "retrieve",
    "ask": "ask",
    "verify": "verify",
    "locate": "locate",
    "chunk": "chunk",
    "serve": "serve",
    "receipt": "receipt",
    "slack": "slack",
    "mcp": "mcp",
    "skills": "skills",
    "gameday": "gameday",
    "doctor": "doctor",
    "smoke": "smoke",
    "eval": "evaluate",
    "coverage": "coverage",
    "bench": "bench",
    "model": "model",
}
"""Each command's module here, and the function or group in it, in the order of the help."""


def command_line(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Make the command line of some commands; only their modules are loaded."""
    app = typer.Typer(
        no_args_is_help=True,
        context_settings={"help_option_names": ["--help", "-h"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        epilog="Exit codes: 0 ok, 1 findings or nothing found, 2 bad input, 3 degraded, 4 other failure.",
    )
    app.callback()(_common)
    for name in commands:
        found = getattr(import_module(f"knowledge_rag.cli.{name}"), COMMANDS[name])
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def _wanted() -> typer.Typer:
    """Make the command line of the one command that was typed, or the whole one."""
    word = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    return command_line([word] if word in COMMANDS else COMMANDS)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        typer.echo(VERSION)
        raise typer.Exit


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
    prepare_streams()
    exit_cleanly_when_killed()
    logging.getLogger("knowledge_rag").addHandler(
        logging.NullHandler()
    )  # commands say it themselves
    try:
        code = _run()
    except typer.TyperException as error:
        code = _wrong_usage(error)
    except KnowledgeRagError as error:
        code = _failed(str(error), exit_code_for(error))
    except OSError as error:
        discard_output()
        where = f"{error.filename}: " if error.filename else ""
        code = _failed(f"{where}{error.strerror or error}", ExitCode.FAILED)
    except Exception:  # noqa: BLE001 - a bug, and Python's own exit code would say "nothing found"
        traceback.print_exc()
        code = ExitCode.FAILED
    if code == ExitCode.INTERRUPTED:
        _failed("interrupted", code)
    sys.exit(code)


def _run() -> int:
    try:
        code = int(_wanted()(standalone_mode=False) or ExitCode.OK)
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except SystemExit as ending:  # which typer makes of some broken pipes
        if not isinstance(ending.__context__, BrokenPipeError):
            raise
    else:
        return code
    discard_output()  # the reader has gone (`... | head`), which is its right
    return ExitCode.OK


def _wrong_usage(error: typer.TyperException) -> int:
    message = error.format_message().replace("Value error, ", "")  # pydantic's, to programs
    if message.startswith("Usage:"):  # a group without a command: the message is its help
        sys.stderr.write(message + "\n")
        return ExitCode.BAD_INPUT
    context = getattr(error, "ctx", None)
    command = context.command_path if context else _command_named(sys.argv[1:])
    return _failed(f"{message.rstrip('.')}; see {command} --help", ExitCode.BAD_INPUT)


def _command_named(words: Sequence[str]) -> str:
    """Return the command that was typed; an error about an option lacks it."""
    command: object = get_command(command_line())
    named = ["knowledge-rag"]
    for word in words:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        named.append(word)
    return " ".join(named)


def _failed(message: str, code: int) -> int:
    with suppress(OSError):  # nowhere left to say it
        print_note("error:", message)
    return code
