"""``docs/reference/commands.md``: the command line, from the program itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from typer import Context
from typer.main import get_command

from knowledge_rag.cli.app import command_line
from knowledge_rag.cli.exits import ExitCode
from tools.reference.markdown import attribute_docs, cell, code, page, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "knowledge-rag"
_AS_IT_IS = "\b\n"
"""Typer's mark for a paragraph that keeps its line breaks."""
_BRACKETS = re.compile(r"\s*\[([^\[\]]*)\]$")


def commands_page() -> str:
    """Return the page: exit codes, what all commands share, then each command."""
    root = context(NAME, get_command(command_line()), None)
    every = list(commands(root))
    about = "Every command, with each argument and option, its default and its bounds."
    return page("Commands", about, _contents(every), _exit_codes(), *map(_section, every))


def commands(at: Context) -> Iterator[Context]:
    """Yield the contexts of a command and its subcommands, as if each were called."""
    yield at
    for name, command in getattr(at.command, "commands", {}).items():
        yield from commands(context(name, command, at))


def context(name: str, command: Any, parent: Context | None) -> Context:
    """Return the context of a command without calling it."""
    return Context(command, info_name=name, parent=parent)


def _section(at: Context) -> str:
    usage = " ".join([at.command_path, *at.command.collect_usage_pieces(at)])
    parts = [f"## {at.command_path}", _prose(at.command.help), f"```text\n{usage}\n```"]
    if rows := list(_rows(at)):
        parts.append(table(["argument or option", "description", "default, bounds"], rows))
    return "\n\n".join(parts)


def _contents(every: list[Context]) -> str:
    """Return a line of links, one per command."""
    paths = [at.command_path for at in every[1:]]
    links = [f"[{path.removeprefix(NAME)[1:]}](#{path.replace(' ', '-')})" for path in paths]
    return " · ".join(links)


def _prose(words: str | None) -> str:
    """Return a help text's paragraphs, each on one line."""
    paragraphs = (words or "").split("\n\n")
    return "\n\n".join(
        f"```sh\n{paragraph.removeprefix(_AS_IT_IS).strip()}\n```"
        if paragraph.startswith(_AS_IT_IS)
        else text(" ".join(paragraph.split()))
        for paragraph in paragraphs
    )


def _rows(at: Context) -> Iterator[list[str]]:
    for parameter in at.command.params:
        if record := parameter.get_help_record(at):
            declaration, words = record
            bounds: list[str] = []
            while found := _BRACKETS.search(words):
                bounds.insert(0, found[1])
                words = words[: found.start()]
            shown = "; ".join(bounds).removeprefix("default: ")
            yield [code(declaration), cell(words), cell(shown)]


def _exit_codes() -> str:
    docs = attribute_docs(ExitCode)
    rows = [[code(each.value), cell(docs[each.name] or "All is well.")] for each in ExitCode]
    return "\n\n".join(["## Exit codes", table(["code", "meaning"], rows)])
