"""What a command does is told in one line of a terminal of 80 columns."""

from __future__ import annotations

import pytest
from typer import Context
from typer.main import get_command

from knowledge_rag.cli.app import command_line

ROOT = get_command(command_line())
GROUPS = {"": ROOT, **{name: it for name, it in ROOT.commands.items() if hasattr(it, "commands")}}


@pytest.mark.parametrize("name", GROUPS)
def test_no_line_of_a_list_of_commands_is_cut_short(name):
    shown = GROUPS[name].get_help(Context(GROUPS[name], info_name="knowledge-rag"))
    assert "Commands:" in shown
    assert "..." not in shown.partition("Commands:")[2]
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    "typed", [["-h"], ["bench", "-h"], ["ingest", "-h"], ["bench", "floor", "-h"]]
)
def test_help_has_a_short_name_everywhere(typed, capsys):
    assert get_command(command_line()).main(typed, "knowledge-rag", standalone_mode=False) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: knowledge-rag{''.join(f' {word}' for word in typed[:-1])}")
