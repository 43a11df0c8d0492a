"""An answer on a terminal while it is written: its last lines, harmless, and gone in the end."""

import io

import pytest
from rich.console import Console

from knowledge_rag.cli.advice import LiveAnswer


@pytest.fixture
def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=40, height=10)


@pytest.fixture
def live(terminal):
    with LiveAnswer(terminal) as made:
        yield made


def shown(live):
    return live._shown().plain.split("\n")


def test_stages_and_text_are_shown_as_they_come(live):
    live.notify({"event": "searching", "queries": ["a", "b"]})
    assert shown(live) == ["searching: 2 queries ..."]
    live.notify({"event": "found", "status": "ok", "sources": 7})
    for text in ("1. Promote", " it [1].\n2. ", "Wait"):
        live.notify({"event": "text", "text": text, "parts": []})
    assert shown(live) == ["found 7 passages, writing ...", "| 1. Promote it [1].", "| 2. Wait"]


def test_one_is_not_told_as_several(live):
    live.notify({"event": "searching", "queries": ["a"]})
    assert shown(live) == ["searching: 1 query ..."]
    live.notify({"event": "found", "status": "ok", "sources": 1})
    assert shown(live) == ["found 1 passage, writing ..."]


def test_what_was_taken_back_is_gone(live):
    for event in ({"event": "text", "text": "old"}, {"event": "restarted"}, {"event": "evidence"}):
        live.notify(event)
    live.notify({"event": "text", "text": "new"})
    assert shown(live)[1:] == ["| new"]


def test_only_the_last_lines_are_shown_where_there_is_no_room_for_more(live):
    live.notify({"event": "text", "text": "\n".join(map(str, range(100)))})
    assert shown(live)[1:] == [f"| {number}" for number in range(92, 100)]


def test_nothing_in_it_steers_the_terminal(terminal):
    with LiveAnswer(terminal) as live:
        live.notify({"event": "text", "text": "a\x1b]0;owned\x07b \u202egnp [bold]x[/bold]\n"})
        live._live.refresh()
    written = terminal.file.getvalue()
    assert "\x1b]0;" not in written
    assert "\u202e" not in written
    assert "[bold]x[/bold]" in written


def test_nothing_is_written_where_nobody_watches():
    console = Console(file=io.StringIO(), force_terminal=False)
    with LiveAnswer(console) as live:
        live.notify({"event": "text", "text": "1. Promote it [1]."})
    assert console.file.getvalue() == ""


def test_no_line_of_it_reads_as_our_own_however_it_is_wrapped(live, terminal):
    live.notify({"event": "text", "text": "word " * 30 + "\nEvidence: strong\n\nx"})
    written = shown(live)[1:]
    assert all(line.startswith("|") and len(line) <= terminal.width for line in written)


def test_an_answer_that_comes_at_once_does_not_flash(terminal):
    with LiveAnswer(terminal) as live:
        live.notify({"event": "searching", "queries": ["a"]})
        live.notify({"event": "text", "text": "1. Promote it.", "parts": []})
    assert "Promote" not in terminal.file.getvalue()
