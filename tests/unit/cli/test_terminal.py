"""Tables, and how commands print them."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from knowledge_rag.cli.reports import make_room_for_names

NAMES = ("ours", "newly chosen, choosing half (116 + 81)")


def table(*figures):
    made = Table()
    made.add_column("questions")
    for heading in figures:
        made.add_column(heading, justify="right")
    for name in NAMES:
        made.add_row(name, *("100.0%" for _ in figures))
    return made


def lines(shown, width=80):
    make_room_for_names(shown, width)
    file = io.StringIO()
    Console(file=file, width=width).print(shown)
    return file.getvalue().splitlines()


def test_a_name_stays_whole_and_a_heading_breaks_between_words():
    shown = lines(table("on-topic lost", "off-topic rejected", "of those with lines"))
    assert any(NAMES[1] in line for line in shown)
    assert not any("off-topic rejected" in line for line in shown)
    assert any("off-topic" in line for line in shown)
    assert max(map(len, shown)) <= 80


def test_where_there_is_room_nothing_breaks():
    shown = lines(table("on-topic lost", "off-topic rejected"), 120)
    assert any("on-topic lost ┃ off-topic rejected" in line for line in shown)
    assert len({len(line) for line in shown}) == 1


@pytest.mark.parametrize("names", [0, 2])
def test_a_table_of_another_kind_is_left_as_it_is(names):
    made = Table()
    for number in range(3):
        made.add_column("x", justify="left" if number < names else "right")
    make_room_for_names(made, 80)
    assert [column.width for column in made.columns] == [None] * 3
