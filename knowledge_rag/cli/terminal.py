"""Standard output and standard error: text and JSON."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment, Segments
from rich.text import Text

from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


MAX_WIDTH: Final = 120
MIN_WIDTH: Final = 20
"""Columns to which words are wrapped, whatever the terminal's width."""


class _Plain(Console):
    """Shows text literally, without markup, emoji names or coloured numbers, and never wraps lines."""

    def __init__(self, file: TextIO) -> None:
        super().__init__(
            file=file,
            soft_wrap=True,
            highlight=False,
            markup=False,
            emoji=False,
            color_system=None if os.environ.get("NO_COLOR") else "auto",
        )

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # which the command line handles


def out() -> Console:
    """Return the console for results."""
    return _Plain(sys.stdout)


def printed(show: Callable[[Console], None]) -> str:
    """Return what is shown, as it is where the output is no terminal."""
    shown = io.StringIO()
    show(_Plain(shown))
    return shown.getvalue()


def err() -> Console:
    """Return the console for notes and progress."""
    return _Plain(sys.stderr)


def width_of(console: Console, *, anywhere: bool = False) -> int | None:
    """Return the columns to which words are wrapped: a terminal's, or those of any output."""
    if console.is_terminal or anywhere:
        return max(MIN_WIDTH, min(console.width, MAX_WIDTH))
    return None


def shows_styles(console: Console) -> bool:
    """Whether style alone can distinguish words."""
    return console.is_terminal and console.color_system is not None


def print_note(kind: str, message: str) -> None:
    """Print one line on standard error, or a paragraph on a terminal: the kind of note, then the note."""
    style = "bold red" if kind.startswith("error") else "yellow"
    print_sentence(err(), message, first=[(kind, style), (" ", "")])


def print_sentence(
    console: Console,
    text: str,
    style: str = "",
    *,
    first: Sequence[tuple[str, str]] = (),
    rest: str = "  ",
) -> None:
    """Print a sentence on one line; a terminal's lines end between words, and text in backticks stays whole.

    Pieces ``first`` stand before it, and ``rest`` is the left margin of further lines.
    """
    words = neutralise(" ".join(text.split()))
    before = [(neutralise(piece), its_style) for piece, its_style in first]
    start = sum(cell_len(piece) for piece, _ in before)
    for row in _rows(words, console, start, rest):
        print_pieces(console, [*before, (row, style)])
        before = []


_HANGING: Final = "    "


def print_finding(console: Console, text: str) -> None:
    """Print a finding in one line; a terminal's rows end between words, and none of them begins with a document's."""
    shown = neutralise(text).replace(
        "\n", "\\n"
    )  # of a file's name: a log takes lines for commands
    if width_of(console) is None:
        console.print(Text(shown))
        return
    for row in _rows(shown, console, 0, _HANGING):
        print_pieces(console, [(row, "")])


def _rows(text: str, console: Console, start: int, hanging: str) -> Iterable[str]:
    width = width_of(console)
    if width is None:
        return [text]
    # the layout takes longer to import than a pipe should wait
    from knowledge_rag.cli.prose import folded

    return folded(text, width, start=start, hanging=hanging)


def print_json(value: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    """Print one JSON document on one line; non-ASCII is escaped, so any terminal is safe."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")


def print_pieces(console: Console, pieces: Iterable[tuple[str, str]]) -> None:
    """Print one line of text and styles; control characters are made visible, tabs stay."""
    # as segments, because rich turns the tabs of a text into spaces
    segments = [Segment(neutralise(text), console.get_style(style)) for text, style in pieces]
    console.print(Segments([*Segment.simplify(segments), Segment.line()]), end="")


def print_address(about: str, url: str, *, json: bool, key: str = "url") -> None:
    """Print a server's address immediately: a program may wait for it."""
    if json:
        print_json({key: url})
    else:
        err().print(f"serving {neutralise(about)}, Ctrl-C stops")
        out().print(url)
    sys.stdout.flush()


class _OneLine(logging.Formatter):
    """Writes a record on one line, so that nothing in it can steer a terminal or pass for another record."""

    def format(self, record: logging.LogRecord) -> str:
        return neutralise(" ".join(super().format(record).split()))


def log_to_standard_error(logger: str = "knowledge_rag", *, info_of: str = "") -> None:
    """Log a logger's warnings, ``""`` for all, to standard error; for ``info_of`` below it also level INFO."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine("%(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.INFO if info_of else logging.WARNING)
    if info_of:
        logging.getLogger(info_of).setLevel(logging.INFO)
    logging.getLogger(logger).addHandler(handler)


def prepare_streams() -> None:
    """Make both streams accept any text: escaped if the encoding lacks it, dropped if the stream is closed."""
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Discard the buffered output: writing it has failed, and would fail again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _nowhere() -> io.TextIOWrapper:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - for the process's life
