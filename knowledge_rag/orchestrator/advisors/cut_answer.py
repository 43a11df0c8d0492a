"""What is left of an answer that was cut off at its length limit: whole steps alone."""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(r"\s*(?P<marks>`{3,}|~{3,})(?P<rest>[^\n]*)")
_BEGINS: Final = re.compile(r"(?:#{1,6}|[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
"""A heading, or an item of a list that is in no other item: what is indented may be."""


def without_unfinished(answer: str) -> str:
    r"""Leave out the step, heading or paragraph that an answer breaks off in.

    Half a command is worse than none. A step with inner items goes whole, since nobody knows how
    many there would have been; what stands in a code block begins nothing.

    >>> without_unfinished("1. Stop the consumers [1].\n2. Purge the qu")
    '1. Stop the consumers [1].\n'
    """
    last = position = 0
    fence, blank = "", True
    for line in answer.split("\n"):
        marks = _FENCE.match(line)
        if marks and not fence:
            fence = marks["marks"]
        elif marks and marks["marks"].startswith(fence) and not marks["rest"].strip():
            fence = ""
        elif not fence and (_BEGINS.match(line) or (blank and line[:1].strip())):
            last = position
        blank = not line.strip() and not fence
        position += len(line) + 1
    return answer[:last]
