"""Shortens a message to a channel's limit: it ends between two steps, never within one.

A step is kept whole, with the lines that govern it and its citations, or dropped: a command without its condition
is worse than none. One line says that steps are missing, and where they begin.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.channel.marks import citations_of, places_in, tree_of, units_of
from knowledge_rag.channel.message import document_of, lines_of, place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markdown_it.tree import SyntaxTreeNode

    from knowledge_rag.channel.message import Message

MISSING: Final = "Steps are missing here: they don't fit in this message."
LEFT_OUT: Final = "The rest doesn't fit in this message."


def shortened(message: Message, write: Callable[[Message], str], most: int) -> str:
    """Return a message as text of at most ``most`` characters.

    Args:
        message: to shorten.
        write: writes it in the channel's form.
        most: characters, at least about 1,000.
    """
    whole = write(message)
    if len(whole) <= most:
        return whole
    ends = _ends(message.marked)
    count = _longest(len(ends), lambda it: len(write(_until(message, ends[it]))) <= most)
    message = _until(message, ends[count])
    if message.missing and len(made := write(message)) <= most:
        return made
    lines = (*message.warnings, *(name for name, _ in message.reading))
    count = _longest(len(lines), lambda it: len(write(_first(message, it))) <= most)
    made = write(_first(message, count))
    if len(made) <= most:
        return made
    return write(
        replace(_first(message, 0), about=(), outcome="", unknown="", places=(), missing=LEFT_OUT)
    )


def words_within(words: str, most: int, write: Callable[[str], str] = str) -> str:
    """Return one line of words, cut so that its written form has at most ``most`` characters."""
    if len(write(words)) <= most:
        return write(words)
    return write(
        words[: _longest(len(words), lambda it: len(write(f"{words[:it]}…")) <= most)] + "…"
    )


def missing_from(message: Message, rest: str) -> tuple[str, tuple[tuple[str, int, int], ...]]:
    """Return the line that says that steps are missing, and the first lines that the rest cites."""
    numbers = places_in(rest)
    cited = [place(it) for it in citations_of(message.references[numbers[0]])] if numbers else []
    where = [f"{document_of(it)}:{lines_of(it)}" for it in cited[:1]]
    return " ".join([MISSING, *(f"They begin at {it}." for it in where)]), tuple(cited[:1])


def _lines(marked: str) -> list[str]:
    return marked.replace("\r\n", "\n").replace("\r", "\n").split("\n")  # as the parser counts


def _ends(marked: str) -> list[int]:
    """Return the lines at which a text may end: its start, and after each unit."""
    units = list(units_of(tree_of(marked)))
    return [0, *(_end(own, after) for own, after in zip(units, [*units[1:], []], strict=True))]


def _end(unit: Sequence[SyntaxTreeNode], following: Sequence[SyntaxTreeNode]) -> int:
    """Return the line after a unit, including a quotation below it, which may govern either side."""
    end = unit
    if following and following[0].type == "blockquote":
        end = following[:1]
    return end[-1].map[1] if end[-1].map else 0


def _until(message: Message, end: int) -> Message:
    """Return a message whose text ends before a line, with the remaining sources."""
    lines = _lines(message.marked)
    kept, rest = "\n".join(lines[:end]).rstrip("\n"), "\n".join(lines[end:])
    if not rest.strip():
        return message
    used = max(places_in(kept), default=-1) + 1
    missing, begins = missing_from(message, rest)
    references = message.references[:used]
    cited = [place(one) for it in references for one in citations_of(it)]
    reading = [place(it) for _, it in message.reading]
    return replace(
        message,
        marked=kept,
        references=references,
        places=tuple(dict.fromkeys([*cited, *begins, *reading])),
        missing=missing,
    )


def _first(message: Message, count: int) -> Message:
    """Return a message without steps that keeps only the first of its warnings and of its sections."""
    warnings = message.warnings[:count]
    reading = message.reading[: count - len(warnings)]
    own = {place(it) for _, it in message.reading} - {place(it) for _, it in reading}
    return replace(
        message,
        warnings=warnings,
        reading=reading,
        places=tuple(it for it in message.places if it not in own),
        missing=" ".join(filter(None, (message.missing, LEFT_OUT))),
    )


def _longest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number below ``most`` that fits, 0 if none does."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
