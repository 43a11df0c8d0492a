"""What a command does is told in one line of a terminal of 80 columns."""

from __future__ import annotations

import shlex

import pytest
from typer import Context
from typer.main import get_command

from knowledge_rag.cli.app import COMMANDS, TASKS, command_line

ROOT = get_command(command_line())
GROUPS = {"": ROOT, **{name: it for name, it in ROOT.commands.items() if hasattr(it, "commands")}}


@pytest.mark.parametrize("name", GROUPS)
def test_no_line_of_a_list_of_commands_is_cut_short(name):
    shown = GROUPS[name].get_help(Context(GROUPS[name], info_name="knowledge-rag"))
    lists = shown.partition("--help")[2]
    assert all(f"  {it} " in lists for it in GROUPS[name].commands)
    assert "..." not in lists
    assert max(map(len, shown.splitlines())) <= 80


def test_commands_are_listed_below_their_tasks():
    shown = ROOT.get_help(Context(ROOT, info_name="knowledge-rag"))
    places = [shown.index(f"\n{task}:\n") for task in TASKS]
    assert places == sorted(places)
    listed = shown[places[0] :].split("\n\n")
    assert [line.split()[0] for part in listed for line in part.splitlines() if line[:2] == "  "][
        : len(COMMANDS)
    ] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_begins_with_what_it_is_for_and_an_example_that_it_takes(name):
    command = ROOT.commands[name]
    at = Context(command, info_name=name, parent=Context(ROOT, info_name="knowledge-rag"))
    assert command.get_help(at).split("\n")[2].startswith("  ")
    typed = command.get_help(at).split("\n\n")[2].strip()
    program, called, *arguments = shlex.split(typed)
    assert (program, called) == ("knowledge-rag", name)
    while hasattr(command, "commands"):
        command = command.commands[arguments.pop(0)]
    command.make_context(name, arguments)  # an option that it doesn't have would raise


@pytest.mark.parametrize(
    "typed", [["-h"], ["bench", "-h"], ["ingest", "-h"], ["bench", "floor", "-h"]]
)
def test_help_has_a_short_name_everywhere(typed, capsys):
    assert get_command(command_line()).main(typed, "knowledge-rag", standalone_mode=False) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: knowledge-rag{''.join(f' {word}' for word in typed[:-1])}")
