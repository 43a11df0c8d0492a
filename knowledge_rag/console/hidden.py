"""Characters of a line that nobody sees, or that turn its order: where the page makes them visible."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from typing import TYPE_CHECKING, Any

from knowledge_rag.console.limits import MAX_HIDDEN
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def hidden_in(lines: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    r"""Find what hides in the lines of a document.

    Args:
        lines: without their ``\n``; a ``\r`` at a line's end is part of the ending, and no finding.

    Returns:
        By the number of each line that holds any: ``at``, the offset in UTF-16 units, as JavaScript
        counts; ``code``, such as ``U+202E``; ``name``, ``""`` where it has none. At most
        MAX_HIDDEN: a document of nothing else must not make a page of ten times its size.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for number, one in islice(_all(lines), MAX_HIDDEN):
        found.setdefault(str(number), []).append(one)
    return found


def _all(lines: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        text = line.removesuffix("\r")
        if neutralise(text) != text:
            yield from ((number, one) for one in _in_line(text))


def _in_line(text: str) -> Iterator[dict[str, Any]]:
    hiding = "".join(it for it in set(text) if it == "\r" or neutralise(it) != it)
    units = behind = 0
    for match in re.finditer(f"[{re.escape(hiding)}]", text):
        units += len(text[behind : match.start()].encode("utf-16-le", "surrogatepass")) // 2
        behind = match.start()
        code = f"U+{ord(match[0]):04X}"
        yield {"at": units, "code": code, "name": unicodedata.name(match[0], "")}
