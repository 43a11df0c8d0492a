"""The ``knowledge-rag`` command: its sub-commands, and the handling of failures.

A command raises an exception; here it becomes one line on standard error and an exit code.
"""

from __future__ import annotations

import logging
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from inspect import getdoc
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command

from knowledge_rag.cli.exits import ExitCode, exit_cleanly_when_killed, exit_code_for
from knowledge_rag.cli.terminal import discard_output, prepare_streams, print_note
from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.core.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TASKS: Final = {
    "Ask": {
        "ask": ("ask.ask", 'ask "SQS queue is backing up"'),
        "retrieve": ("retrieve.retrieve", 'retrieve "SQS queue is backing up" --max-results 3'),
        "serve": ("serve.serve", "serve --kb team.kb --corpus docs"),
        "slack": ("slack.slack", "slack --kb team.kb"),
        "mcp": ("mcp.mcp", "mcp --kb team.kb"),
    },
    "Keep runbooks": {
        "ingest": ("ingest.ingest", "ingest docs --kb team.kb"),
        "documents": ("contents.documents", "documents --filter service=rds --kb team.kb"),
        "status": ("contents.status", "status --kb team.kb"),
        "lint": ("folders.lint", "lint docs"),
        "drift": ("drift.drift", "drift docs --code ../infrastructure"),
        "coverage": ("coverage.coverage", "coverage --rules alerts.yml --docs docs"),
        "chunk": ("folders.chunk", "chunk docs/rds.md"),
        "skills": ("skills.skills", "skills export skills --kb team.kb"),
    },
    "Check answers": {
        "verify": ("verify.verify", "verify --answer note.md --evidence evidence.json"),
        "locate": ("verify.locate", "locate --retrieve-output response.json --docs docs"),
        "receipt": ("verify.receipt", "receipt ID --corpus docs"),
    },
    "Measure": {
        "eval": ("measure.evaluate", "eval questions.jsonl --kb team.kb"),
        "bench": ("measure.bench", "bench floor --kb team.kb"),
    },
    "Run it in AWS": {
        "doctor": ("cloud.doctor", "doctor --region eu-west-1"),
        "smoke": ("cloud.smoke", "smoke --name prod"),
        "gameday": ("cloud.gameday", "gameday"),
    },
    "Set up": {"demo": ("setup.demo", "demo"), "model": ("setup.model", "model install")},
}
"""Tasks in help order; for each command its function or group here, and an example."""

COMMANDS: Final = {name: made for commands in TASKS.values() for name, made in commands.items()}


class _ByTask(TyperGroup):
    """Lists commands by task."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - typer's
        longest = max(map(len, self.commands))
        for task, names in TASKS.items():
            listed = [(it, self.commands[it]) for it in names if it in self.commands]
            room = formatter.width - longest - len("    ")
            if listed:
                with formatter.section(task):
                    formatter.write_dl(
                        [(name.ljust(longest), it.get_short_help_str(room)) for name, it in listed]
                    )


def command_line(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Create the command line of some commands; only their modules are imported."""
    app = typer.Typer(
        cls=_ByTask,
        no_args_is_help=True,
        context_settings={"help_option_names": ["--help", "-h"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        epilog="Exit codes: 0 ok, 1 findings or nothing found, 2 bad input, 3 degraded, 4 other failure.",
    )
    app.callback()(_common)
    for name in commands:
        place, example = COMMANDS[name]
        module, _, attribute = place.partition(".")
        found = getattr(import_module(f"knowledge_rag.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            about = found.registered_callback and found.registered_callback.callback
            app.add_typer(found, name=name, help=_help(about, example))
        else:
            app.command(name, help=_help(found, example))(found)
    return app


def _help(command: object, example: str) -> str:
    """Return the first line of a command's help, an example, and then the rest."""
    first, _, more = (getdoc(command) or "").partition("\n\n")
    return f"{first}\n\n\b\n  knowledge-rag {example}\n\n{more}".rstrip()


def _wanted() -> typer.Typer:
    """Create the command line of the typed command, or the whole one."""
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
    """Runbook answers in which every citation points to exact lines of a real file."""


def main() -> None:
    """Run the command line; every failure ends in one line and its exit code."""
    prepare_streams()
    exit_cleanly_when_killed()
    logging.getLogger("knowledge_rag").addHandler(
        logging.NullHandler()
    )  # commands report it themselves
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
    except SystemExit as ending:  # typer's result of some broken pipes
        if not isinstance(ending.__context__, BrokenPipeError):
            raise
    else:
        return code
    discard_output()  # the reader is gone (`... | head`), which is fine
    return ExitCode.OK


def _wrong_usage(error: typer.TyperException) -> int:
    message = error.format_message().replace("Value error, ", "")  # pydantic's prefix, for programs
    if message.startswith("Usage:"):  # a group without a command: the message is its help
        sys.stderr.write(message + "\n")
        return ExitCode.BAD_INPUT
    context = getattr(error, "ctx", None)
    command = context.command_path if context else _command_named(sys.argv[1:])
    return _failed(f"{message.rstrip('.')}; see {command} --help", ExitCode.BAD_INPUT)


def _command_named(words: Sequence[str]) -> str:
    """Return the typed command, which an error about an option lacks."""
    command: object = get_command(command_line())
    named = ["knowledge-rag"]
    for word in words:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        named.append(word)
    return " ".join(named)


def _failed(message: str, code: int) -> int:
    with suppress(OSError):  # nowhere left to report it
        print_note("error:", message)
    return code
