"""Markdown that the pages are made of: text that stays text, tables, a page's head."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COMMAND = "make reference"
"""Makes the pages anew."""


def page(title: str, about: str, *parts: str) -> str:
    """Give a whole page, which says what it was made of."""
    head = f"# {title}\n\n{about} Made by `{COMMAND}`; a test tells when it is old."
    return "\n\n".join([head, *(part.strip("\n") for part in parts)]) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Give a table; cells are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def text(words: str) -> str:
    """Give the words of a docstring or a help text as Markdown that shows them as they are."""
    plain = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", words).replace("``", "`")
    parts = re.split(r"(`[^`\n]*`)", plain)
    return "".join(part if index % 2 else _escaped(part) for index, part in enumerate(parts))


def cell(words: str) -> str:
    """Give words for a table's cell: one line, and no bar that would end it."""
    return " ".join(text(words).split()).replace("|", r"\|")


def code(words: object) -> str:
    """Give a word as code for a table's cell; nothing for nothing."""
    shown = str(words).replace("|", r"\|")
    return f"`{shown}`" if shown else ""


def codes(words: Iterable[object]) -> str:
    """Give words as code, with commas."""
    return ", ".join(code(word) for word in words)


def _escaped(words: str) -> str:
    return re.sub(r"([*<\[\]])", r"\\\1", words)
