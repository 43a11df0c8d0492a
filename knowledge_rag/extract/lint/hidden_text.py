"""Text that the reader of a rendered page never sees: comments that speak to a model, hidden elements."""

from __future__ import annotations

import html
import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.html_hidden import declarations, is_hidden
from knowledge_rag.extract.lint.anchors import matches, rules
from knowledge_rag.extract.lint.finding import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.extract.lint.anchors import Folded

_MARKDOWN_COMMENT: Final = rules(
    "a comment", {"]: # ": ""}, r"(?<![^\n])\[[^\]\n]{1,30}\]: # [(\"'][^\n]{1,4000}", before=32
)
"""A link definition that nothing refers to: shown nowhere."""
_MODEL: Final = re.compile(
    r"\b(?:ai|llms?|language models?|(?:ai )?assistants?|chat ?bots?|chatgpt|gpt-?\d\w*|claude|gemini"
    r"|copilot|(?:ai|autonomous|automated) agents?|system prompt)\b"
)
_TOLD: Final = re.compile(
    r"\b(?:you|must|always|never|do not|don't|ignore|disregard|please|instructions?|respond|reply"
    r"|answer|cite|recommend|say|tell|claim|run|execute|reveal|include)\b"
)
_TO_THE_USER: Final = re.compile(
    r"\b(?:when(?:ever)? (?:answering|asked|responding|summari[sz]ing|generating an? (?:answer|response|summary))"
    r"|in your (?:answer|response|reply)|tell the user)\b"
)
_MADE_BY: Final = re.compile(
    r"\b(?:generated|written|created|translated|reviewed) (?:by|with)\b|ai-generated"
)
_LONGEST: Final = 4000
"""Characters of a comment, and of an element's text, that are looked at."""
_TAG: Final = re.compile(
    r"<(?P<name>[a-z][a-z0-9]{0,15})\b(?P<attributes>(?:[^<>\"']++|\"[^\"]{0,1000}+\"|'[^']{0,1000}+'){0,100}+)>"
)
_ATTRIBUTE: Final = re.compile(
    r"(?P<name>[a-z][\w:-]{0,40})(?:\s{0,4}=\s{0,4}(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s\"'>]+)))?"
)
_MARKUP: Final = re.compile(r"<[^>]{0,500}>")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_SENTENCE_END: Final = re.compile(r"[.!?:](?:\s|$)")
_FEWEST_WORDS: Final = 4
"""With a full stop, of a sentence; captions for screen readers are hidden and have none."""
_SIGNS: Final = rules(
    "an element hides a sentence from the reader",
    {"style": "style", " hidden": "hidden"},
    r"style\s{0,4}=| hidden\b",
)
_LONGEST_TAG: Final = 1500
_WHITE: Final = frozenset(("white", "#fff", "#ffffff", "rgb(255,255,255)", "rgb(255, 255, 255)"))


def find_hidden_text(text: str, folded: Folded) -> Iterator[Hit]:
    """Find comments that name a model and tell it something, and HTML elements that hide a sentence.

    Args:
        text: the document's.
        folded: the same, folded.
    """
    comments = (found.span() for _, found in matches(folded.text, _MARKDOWN_COMMENT, folded.words))
    for start, end in chain(_html_comments(folded.text), comments):
        comment = folded.text[start : min(end, start + _LONGEST)]
        told = _MODEL.search(comment) and _TOLD.search(comment) and not _MADE_BY.search(comment)
        if told or _TO_THE_USER.search(comment):
            yield Hit(start, end, "a comment speaks to a model")
    yield from _elements(text, folded)


def _html_comments(text: str) -> Iterator[tuple[int, int]]:
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start + 4)
        end = len(text) if end < 0 else end + 3
        yield start, end
        start = text.find("<!--", end)


def _elements(text: str, folded: Folded) -> Iterator[Hit]:
    for _, sign in matches(folded.text, _SIGNS, folded.words):
        opening = folded.text.rfind("<", max(0, sign.start() - _LONGEST_TAG), sign.start())
        tag = _TAG.match(folded.text, opening) if opening >= 0 else None
        if (
            not tag
            or tag.end() < sign.end()
            or not _hides(tag["attributes"])
            or folded.in_code(opening)
        ):
            continue
        closing = folded.text.find(f"</{tag['name']}", tag.end(), tag.end() + _LONGEST)
        end = closing if closing >= 0 else min(len(text), tag.end() + _LONGEST)
        shown = html.unescape(_MARKUP.sub(" ", text[tag.end() : end]))
        if len(_WORD.findall(shown)) >= _FEWEST_WORDS and _SENTENCE_END.search(shown):
            yield Hit(opening, end, "an element hides a sentence from the reader")


def _hides(attributes: str) -> bool:
    said = {
        found["name"]: html.unescape(found["double"] or found["single"] or found["bare"] or "")
        for found in _ATTRIBUTE.finditer(attributes)
    }
    if is_hidden(said):
        return True
    if "color" not in attributes:
        return False
    style = dict(declarations(said.get("style") or ""))
    color, ground = style.get("color"), style.get("background-color") or style.get("background")
    return color is not None and (color == ground or (color in _WHITE and ground is None))
