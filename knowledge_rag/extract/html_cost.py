"""Pages that take any parser too long are refused before they are parsed.

HTML's own rules make every parser look through the elements that are open at a tag, and write open formatting
anew in every paragraph: 100,000 nested elements take half a minute, unclosed fonts all memory. The count is one
pass over the tags. What gets around it ends with the process that reads the page, see
:mod:`knowledge_rag.extract.confined`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from knowledge_rag.core.errors import UnreadableDocument

MAX_STEPS: Final = 500_000_000
"""Open elements summed over all tags; the parser takes five to fifteen nanoseconds for each."""
MAX_REMADE: Final = 4_000_000
"""Open formatting summed over all tags: elements that may be made anew, some hundred bytes each."""

_TAG: Final = re.compile(r"<(/?)([A-Za-z][^ \t\n\f\r/>]*)")
_ENDED_BY_OTHERS: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
     "wbr", "html", "head", "body", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot",
     "colgroup", "option", "optgroup", "rt", "rp", "a", "nobr")
)  # fmt: skip
"""Elements without an end tag, and those that authors leave open because the next one ends them."""
_FORMATTING: Final = frozenset(
    ("b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u")
)


def check_cost(name: str, page: str) -> None:
    """Refuse a page that would take a parser too long, or too much memory.

    Raises:
        UnreadableDocument: its elements are nested too deeply for its size, or left open.
    """
    opened: Counter[str] = Counter()
    elements = formatting = steps = remade = 0
    for tag in _TAG.finditer(page):
        element = tag[2].lower()
        change = -1 if tag[1] else 1
        if element not in _ENDED_BY_OTHERS and (change > 0 or opened[element]):
            opened[element] += change
            elements += change
            formatting += change * (element in _FORMATTING)
        steps += elements
        remade += formatting
        if steps > MAX_STEPS or remade > MAX_REMADE:
            reason = "elements nested too deeply, or never closed, to be read"
            raise UnreadableDocument(name, reason)
