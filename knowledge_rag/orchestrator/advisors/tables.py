"""Tables in retrieved lines: of most the rows that speak of an incident, of steps all of them."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from knowledge_rag.orchestrator.confidence import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.orchestrator.answer_text import Block, Line

MIN_ROW_WORDS: Final = 2
"""Words that a row of a table shares with the incident at least to be given."""

MAX_ROWS: Final = 3
"""Rows of one table at most, unless they are steps."""

_BORDER: Final = re.compile(r"(?<!\\)\|")
_EMPHASIS: Final = " \t\r*_`"
_OF_STEPS: Final = re.compile(
    r"(?:steps?|actions?)(?: ?(?:no\.?|nr\.?|number|#))?|no\.?|nr\.?|#", re.IGNORECASE
)
"""What stands above the first column of a table of steps."""
_NUMBER: Final = re.compile(r"(?:step )?(\d{1,4})[.):]?", re.IGNORECASE)


def is_of_steps(table: Block) -> bool:
    """Whether a table's rows are steps: they are counted, from 0 or 1, or its first column says so."""
    if _OF_STEPS.fullmatch(_first_cell(table.lines[0])):
        return True
    numbers = [_NUMBER.fullmatch(_first_cell(line)) for line in table.lines[2:]]
    counted = [int(number[1]) for number in numbers if number]
    return (
        len(counted) == len(numbers) > 1
        and counted[0] in (0, 1)
        and all(after == before + 1 for before, after in pairwise(counted))
    )


def is_rest_of_steps(block: Block) -> bool:
    """Whether a paragraph is rows of a table of steps, of which what its columns are is missing."""
    first = block.lines[0]
    return first.text.lstrip().startswith("|") and bool(_NUMBER.fullmatch(_first_cell(first)))


def rows_of(table: Block, told: set[str]) -> Sequence[Line]:
    """Give the rows of a table that are worth giving, below what its columns are, without borders.

    Steps are given all: one without those before it may do harm.

    Args:
        table: its lines, the one below what its columns are included.
        told: the words that tell of the incident: of other tables only the rows that share some count.
    """
    chosen = table.lines[2:] if is_of_steps(table) else _rows_about(table, told)
    return [_bare(line) for line in ([table.lines[0], *chosen] if chosen else [])]


def _rows_about(table: Block, told: set[str]) -> Sequence[Line]:
    ranked = [(len(told & words_of([line.text])), line) for line in table.lines[2:]]
    shared = sorted((it for it in ranked if it[0] >= MIN_ROW_WORDS), key=lambda it: -it[0])
    return sorted((line for _, line in shared[:MAX_ROWS]), key=lambda line: line.number)


def _first_cell(line: Line) -> str:
    return _BORDER.split(_bare(line).text)[0].strip(_EMPHASIS)


def _bare(line: Line) -> Line:
    text = line.text.strip().removeprefix("|").removesuffix("|").strip()
    return line._replace(text=text)
