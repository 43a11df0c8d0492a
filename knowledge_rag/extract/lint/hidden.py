"""Finds text that a reader does not see but a model reads: characters, look-alikes, comments, elements.

Characters that writing needs are no findings: emoji sequences, joiners within scripts that join, direction
marks beside right-to-left letters, a variation selector after a character that varies.
"""

from __future__ import annotations

import html
import re
import unicodedata
from itertools import chain
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.html_shown import declarations, is_hidden
from knowledge_rag.extract.lint.patterns import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.extract.lint.patterns import Folded


_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x80-\x84\x86-\x9f]+|\r(?!\n|\Z)")

_BIDI: Final = "\u202a-\u202e\u2066-\u2069"
_MARKS: Final = "\u061c\u200e\u200f"
_ZERO_WIDTH: Final = "\u200b-\u200d\u2060\ufeff"
_FILLERS: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180e\u2061-\u2065\u206a-\u206f\u2800\u3164\uffa0"
    "\ufff9-\ufffb\U0001d173-\U0001d17a"
)
_SELECTORS: Final = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS: Final = "\U000e0000-\U000e007f"
_PRIVATE: Final = "\ue000-\uf8ff\U000f0000-\U0010ffff"

_CLASSES: Final = re.compile(
    f"(?P<bidi>[{_BIDI}])|(?P<mark>[{_MARKS}]+)|(?P<width>[{_ZERO_WIDTH}]+)"
    f"|(?P<filler>[{_FILLERS}]+)|(?P<selector>[{_SELECTORS}]+)|(?P<tag>[{_TAGS}]+)"
    f"|(?P<private>[{_PRIVATE}]+)|(?P<hyphen>\xad)"
)
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff]")
_JOINING: Final = re.compile(
    # Hebrew to Arabic, Indic, Thai to Tibetan, Myanmar, Khmer, Mongolian to Balinese
    "[\u0590-\u08ff\u0900-\u109f\u1700-\u1cff\ua800-\uabff\ufb1d-\ufdff\ufe70-\ufefc]"
)
_FLAG: Final = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
_DATA_RUN: Final = 4
"""Zero-width characters in a row that no script needs: each can carry a bit."""
_LINE_REACH: Final = 400
"""Maximum distance of a right-to-left letter of the same line from a mark that belongs to it."""


def find_hidden(text: str, foreign: str) -> Iterator[Hit]:
    """Find controls, direction overrides, zero-width characters, fillers, tags and the like."""
    for found in _CONTROLS.finditer(text):
        yield Hit(*found.span(), f"control character {_name(found[0][0])}")
    if not _CLASSES.search(foreign):
        return
    for found in _CLASSES.finditer(text):
        if message := _CHECKS[found.lastgroup or ""](text, found):
            yield Hit(*found.span(), message)


def _bidi(_text: str, found: re.Match[str]) -> str:
    return f"{_name(found[0])} makes text read in a different order"


def _mark(text: str, found: re.Match[str]) -> str:
    if _RIGHT_TO_LEFT.search(_around(text, found)):
        return ""
    return f"{_name(found[0][0])} without right-to-left text"


def _width(text: str, found: re.Match[str]) -> str:
    run, before, after = found[0], _before(text, found), text[found.end() : found.end() + 1]
    if len(run) >= _DATA_RUN:
        return f"{len(run)} zero-width characters in a row can carry hidden data"
    if not (before.isalnum() and after.isalnum()):
        return ""
    if _JOINING.match(before) or _JOINING.match(after):
        return ""
    return f"{_name(run[0])} within a word"


def _filler(text: str, found: re.Match[str]) -> str:
    if found[0][0] in "\u115f\u1160\u17b4\u17b5\u180e\u034f" and (
        unicodedata.category(_before(text, found) or " ") in {"Lo", "Mn"}
    ):
        return ""  # old Hangul, Khmer, Mongolian, and marks that must not combine
    return f"invisible {_name(found[0][0])}"


def _selector(text: str, found: re.Match[str]) -> str:
    run, base = found[0], _before(text, found)
    if len(run) > 1:
        return f"{len(run)} variation selectors in a row can carry hidden data"
    if base.isascii() and base.isalpha() and text[found.end() : found.end() + 1].isalpha():
        return f"{_name(run)} within a word"
    if run >= "\U000e0100" and unicodedata.category(base or " ") != "Lo":
        return f"{_name(run)} after a character that has no variants"
    return ""


def _hyphen(text: str, found: re.Match[str]) -> str:
    """Return the problem with a soft hyphen between letters; a legitimate one has two letters on each side."""
    before = text[max(0, found.start() - 2) : found.start()]
    behind = text[found.end() : found.end() + 2]
    if not (before[-1:].isalpha() and behind[:1].isalpha()):
        return ""
    whole = before.isalpha() and behind.isalpha() and len(before + behind) == 4
    return "" if whole else "U+00AD SOFT HYPHEN beside a single letter of a word"


def _tag(text: str, found: re.Match[str]) -> str:
    if _FLAG.fullmatch(text, max(0, found.start() - 1), found.end()):
        return ""
    return f"{len(found[0])} tag characters, text that only a program can read"


def _private(_text: str, found: re.Match[str]) -> str:
    return f"private-use character U+{ord(found[0][0]):04X}, which has no meaning of its own"


_CHECKS: Final = {
    "bidi": _bidi, "mark": _mark, "width": _width, "filler": _filler,
    "selector": _selector, "tag": _tag, "private": _private, "hyphen": _hyphen,
}  # fmt: skip


def _before(text: str, found: re.Match[str]) -> str:
    return text[max(0, found.start() - 1) : found.start()]


def _around(text: str, found: re.Match[str]) -> str:
    before = text[max(0, found.start() - _LINE_REACH) : found.start()].rpartition("\n")[2]
    after = text[found.end() : found.end() + _LINE_REACH].partition("\n")[0]
    return before + after


def _name(character: str) -> str:
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X}" + (f" {name}" if name else "")


_CYRILLIC: Final = "АВЕЅІЈКМНОРСТУХЗаеоірсухѕјԁһԛԝӏѵүгкмтвпн"
_GREEK: Final = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγιηκνορτυχωϲ"
_LOOK_ALIKE: Final = re.compile(f"[{_CYRILLIC}{_GREEK}]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_OTHERS: Final = re.compile("[\u0370-\u03ff\u1f00-\u1fff\u0400-\u052f]")
_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f]")
_SUFFIX: Final = re.compile("[A-Za-z]{2,}[\u0400-\u052f\u0370-\u03ff]{1,3}")
_LEAST_LATIN: Final = 2


def find_look_alikes(text: str, foreign: str) -> Iterator[Hit]:
    """Find words of Latin letters and Cyrillic or Greek ones that all look like Latin.

    ``pаypal`` with a Cyrillic а reads like another word, isn't found by a search and, in a command, runs
    something else.
    """
    if not _LOOK_ALIKE.search(foreign):
        return
    for found in _WORD.finditer(text):
        word = found[0]
        if not word.isascii() and _is_disguised(word) and not _is_inflected(text, found):
            others = dict.fromkeys(_OTHERS.findall(word)[:8])
            shown = ", ".join(f"U+{ord(letter):04X}" for letter in others)
            yield Hit(*found.span(), f"word mixes Latin letters with look-alikes ({shown})")


def _is_disguised(word: str) -> bool:
    foreign = _OTHERS.findall(word)
    return (
        bool(foreign)
        and all(map(_LOOK_ALIKE.match, foreign))
        and len(_LATIN.findall(word)) >= _LEAST_LATIN
    )


def _is_inflected(text: str, found: re.Match[str]) -> bool:
    """Whether it is an English word with the ending of a Russian or Greek sentence around it."""
    if not _SUFFIX.fullmatch(found[0]):
        return False
    around = text[max(0, found.start() - 80) : found.start()] + text[found.end() : found.end() + 80]
    return any(
        len(word) > 1 and not _LATIN.search(word) and not all(map(_LOOK_ALIKE.match, word))
        for word in _WORD.findall(around)
        if _OTHERS.search(word)
    )


_MARKDOWN_COMMENT: Final = re.compile(r"^\[[^\]\n]{1,30}\]: # [(\"'][^\n]{1,4000}", re.MULTILINE)
"""A link definition without references: it is never shown."""
_MODEL: Final = re.compile(
    r"\b(?:ai|llms?|language models?|(?:ai )?assistants?|chat ?bots?|chatgpt|gpt-?\d\w*|claude|gemini"
    r"|copilot|(?:ai|autonomous|automated) agents?|system prompt)\b"
)
_ORDER: Final = re.compile(
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
"""Maximum characters of a comment, and of an element's text, that are checked."""
_TAG: Final = re.compile(
    r"<(?P<name>[a-z][a-z0-9]{0,15})\b(?P<attributes>(?:[^<>\"']++|\"[^\"]{0,1000}+\"|'[^']{0,1000}+'){0,100}+)>"
)
_ATTRIBUTE: Final = re.compile(
    r"(?P<name>[a-z][\w:-]{0,40})(?:\s{0,4}=\s{0,4}(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s\"'>]+)))?"
)
_MARKUP: Final = re.compile(r"<[^>]{0,500}>")
_SHOWN_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_SENTENCE_END: Final = re.compile(r"[.!?:](?:\s|$)")
_FEWEST_WORDS: Final = 4
"""Minimum length of a sentence, with its full stop; captions for screen readers are hidden and have none."""
_STYLED: Final = re.compile(r"style\s{0,4}=| hidden\b")
_LONGEST_TAG: Final = 1500
_WHITE: Final = frozenset(("white", "#fff", "#ffffff", "rgb(255,255,255)", "rgb(255, 255, 255)"))


def find_hidden_text(text: str, folded: Folded) -> Iterator[Hit]:
    """Find comments that address a model, and HTML elements that hide a sentence."""
    comments = (found.span() for found in _MARKDOWN_COMMENT.finditer(folded.text))
    for start, end in chain(_html_comments(folded.text), comments):
        comment = folded.text[start : min(end, start + _LONGEST)]
        told = _MODEL.search(comment) and _ORDER.search(comment) and not _MADE_BY.search(comment)
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
    for sign in _STYLED.finditer(folded.text):
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
        if len(_SHOWN_WORD.findall(shown)) >= _FEWEST_WORDS and _SENTENCE_END.search(shown):
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
