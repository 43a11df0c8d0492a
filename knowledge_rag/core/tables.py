"""Tables in Markdown."""

from __future__ import annotations

import re
from typing import Final

_BARS: Final = re.compile(r"(?<!\\)\|")


def cells_of(line: str) -> list[str]:
    r"""Return the cells of a table's line in Markdown.

    >>> cells_of(r"| a | b \| c |")
    ['a', 'b | c']
    """
    return [it.strip().replace("\\|", "|") for it in _BARS.split(line.strip().strip("|"))]
