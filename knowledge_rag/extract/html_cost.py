"""Pages that no parser reads in reasonable time are refused before they are parsed.

HTML's own rules make every parser look through the elements that are open at a tag, and write open formatting
anew in every paragraph: 100,000 nested elements take half a minute, unclosed fonts all memory. The count is one
pass over the tags. What gets around it, with tags that close each other in odd ways, ends with the process that
reads the page, see :mod:`knowledge_rag.extract.confined`.
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
MAX_ATTRIBUTES: Final = 4_000
"""Of one tag; the parser compares each with all before it."""
MAX_TAGS: Final = 1_000_000
"""Of one page: each becomes an object of some hundred bytes."""
_MAX_READINGS: Final = 20
"""How often a character may be read as part of an attribute: once, but for tags within values."""

_BLANK: Final = r"[ \t\n\f\r]"
_ATTRIBUTE: Final = (
    r"(?:[ \t\n\f\r/]*+[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+"
    rf"(?:{_BLANK}*+={_BLANK}*+"
    r"(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>\"'][^ \t\n\f\r>]*+)?)?)"
)
"""As the standard's tokenizer takes them apart (13.2.5.32 to 13.2.5.39)."""
_TAG: Final = re.compile(
    rf"<(/?)([A-Za-z][^ \t\n\f\r/>]*)(?=({_ATTRIBUTE}{{0,{MAX_ATTRIBUTES + 1}}}+))"
)
_ONE: Final = re.compile(_ATTRIBUTE)

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
        UnreadableDocument: its elements are nested too deeply for its size, or left open; a tag has
            thousands of attributes; or it has too many tags.
    """
    opened: Counter[str] = Counter()
    elements = formatting = steps = remade = tags = read = 0
    for tag in _TAG.finditer(page):
        slash, tag_name, attributes = tag.groups()
        element = tag_name.lower()
        change = -1 if slash else 1
        if element not in _ENDED_BY_OTHERS and (not slash or opened[element]):
            opened[element] += change
            elements += change
            formatting += change * (element in _FORMATTING)
        steps += elements
        remade += formatting
        tags += 1
        read += len(attributes)
        if steps > MAX_STEPS or remade > MAX_REMADE:
            reason = "elements nested too deeply, or never closed, to be read"
        elif tags > MAX_TAGS:
            reason = f"a page of more than {MAX_TAGS} tags"
        elif _has_too_many(attributes):
            reason = f"a tag with more than {MAX_ATTRIBUTES} attributes"
        elif read > _MAX_READINGS * len(page):
            reason = "tags within tags: this can't be read as a page"
        else:
            continue
        raise UnreadableDocument(name, reason)


def _has_too_many(attributes: str) -> bool:
    return len(attributes) > MAX_ATTRIBUTES and len(_ONE.findall(attributes)) > MAX_ATTRIBUTES
