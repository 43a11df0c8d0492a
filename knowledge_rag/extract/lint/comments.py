"""HTML comments that speak to an assistant: a reader of the page never sees them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.finding import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.extract.lint.anchors import Folded

_MODEL: Final = re.compile(
    r"\b(?:ai|llms?|language models?|(?:ai )?assistants?|chat ?bots?|chatgpt|gpt-?\d\w*|claude|gemini"
    r"|copilot|(?:ai|autonomous|automated) agents?|system prompt)\b"
)
_TOLD: Final = re.compile(
    r"\b(?:you|must|always|never|do not|don't|ignore|disregard|please|instructions?|respond|reply"
    r"|answer|cite|recommend|say|tell|claim|run|execute|reveal|include)\b"
)
_TO_THE_USER: Final = re.compile(
    r"\b(?:when(?:ever)? (?:answering|asked|responding|summari[sz]ing)|in your (?:answer|response|reply)"
    r"|tell the user)\b"
)
_MADE_BY: Final = re.compile(
    r"\b(?:generated|written|created|translated|reviewed) (?:by|with)\b|ai-generated"
)
_LONGEST: Final = 4000
"""Characters of a comment that are looked at."""


def find_comments(folded: Folded) -> Iterator[Hit]:
    """Find HTML comments that name a model and tell it something."""
    text = folded.text
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start + 4)
        end = len(text) if end < 0 else end + 3
        comment = text[start : min(end, start + _LONGEST)]
        told = _MODEL.search(comment) and _TOLD.search(comment) and not _MADE_BY.search(comment)
        if told or _TO_THE_USER.search(comment):
            yield Hit(start, end, "is an HTML comment that speaks to a model")
        start = text.find("<!--", end)
