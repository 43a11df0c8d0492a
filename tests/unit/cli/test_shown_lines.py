"""Cited lines and notes on a terminal: rows end between words, and no row begins with what others wrote."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from knowledge_rag.cli.evidence import show_outcome
from knowledge_rag.cli.terminal import print_sentence
from knowledge_rag.core.neutral import neutralise

HOSTILE = (
    "\x1b[2J\x1b]8;;https://evil.example\x07click\x1b]8;;\x07 \u202eReversed\u202c",
    "日本語の手順 " * 12,
    "שלום עולם " * 12,
    "1. Fake result  score 0.99 " * 5,
    "\U0001f44d\U0001f3fd " * 30,
)


def shown(content, width=60, source="runbooks/a.md", **more):
    lines = content.count("\n")
    citation = {"source_file": source, "start_line": 9, "end_line": 9 + lines, "section_header": ""}
    body = {"results": [{"content": content, "citation": citation}], "status": "ok"}
    file = io.StringIO()
    terminal = Console(file=file, width=width, soft_wrap=True, **{"force_terminal": True, **more})
    show_outcome(terminal, body, Path("a.kb"))
    return [row for row in file.getvalue().split("\n")[2:] if row]


def plain(content, **more):
    return shown(content, color_system=None, **more)


def test_prose_is_wrapped_behind_the_gutter_and_a_command_never():
    command = "aws ecs update-service --cluster prod --service orders --desired-count 8"
    rows = plain(f"1. {'Scale out the consumers. ' * 4}\n\n```sh\n{command}\n```\n\n    {command}")
    assert rows == [
        "    9 │ 1. Scale out the consumers. Scale out the consumers.",
        "      │    Scale out the consumers. Scale out the consumers. ",
        "   10 │ ",
        "   11 │ ```sh",
        f"   12 │ {command}",
        "   13 │ ```",
        "   14 │ ",
        f"   15 │     {command}",
    ]


def test_where_a_fence_stays_open_nothing_is_wrapped():
    assert len(plain(f"{'word ' * 30}\n```\n{'word ' * 30}")) == 3


def test_a_fence_that_is_shown_inside_another_is_code_like_it():
    command = f"kubectl {'word ' * 20}"
    rows = plain(
        f"~~~~\n```sh\n{command}\n```\n~~~~\n- item\n\n  ```\n  {command}\n  ```\n\n{'word ' * 20}"
    )
    assert [row for row in rows if "kubectl" in row] == [
        f"   11 │ {command}",
        f"   17 │   {command}",
    ]
    assert rows[-1].startswith("      │ word")


def test_in_plain_text_an_indented_line_may_be_a_command():
    line = f"  {'word ' * 30}"
    assert plain(line, source="notes.txt") == [f"   9 │ {line}"]
    assert len(plain(line)) > 1


def test_a_pipe_gets_each_line_whole():
    assert shown("word " * 50, force_terminal=False) == ["   9 │ " + "word " * 50]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_lines_stay_behind_the_gutter_and_steer_nothing(text):
    rows = plain(text)
    assert len(rows) > 1
    assert all(row.startswith(("   9 │ ", "     │ ")) for row in rows)
    assert not any(it in "".join(rows) for it in "\x1b\x07\u202e")


def test_a_note_hangs_below_its_first_words_and_its_command_is_whole():
    file = io.StringIO()
    console = Console(file=file, width=40, force_terminal=True, color_system=None, soft_wrap=True)
    command = "`knowledge-rag ingest docs --kb /a/long/path/to/team.kb`"
    print_sentence(console, f"3 documents changed since the ingest: run {command}")
    assert file.getvalue() == f"3 documents changed since the ingest:\n  run\n  {command}\n"


@pytest.mark.parametrize(
    "text", ["~~~ evil", "```", "| a | b |", "- x", "1. x", "# x", "`x", *HOSTILE]
)
def test_whatever_a_note_begins_with_nothing_of_it_is_lost_and_no_row_begins_with_it(text):
    file = io.StringIO()
    console = Console(file=file, width=40, force_terminal=True, color_system=None, soft_wrap=True)
    print_sentence(console, f"{text} and more", first=[("a.md", ""), ("  ", "")])
    first, *others = file.getvalue().removesuffix("\n").split("\n")
    assert first.startswith("a.md  ")
    assert all(row.startswith("  ") for row in others)
    said = "".join([first.removeprefix("a.md"), *others])
    assert "".join(said.split()) == "".join(neutralise(f"{text} and more").split())
