"""Characters that a reader can't see and a program, or a model, reads nevertheless.

What writing needs is no finding: emoji sequences, joiners within scripts that join, direction marks
beside right-to-left letters, a variation selector after a character that varies.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.finding import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x80-\x84\x86-\x9f]+|\r(?!\n|\Z)")
_CONTROL_BYTES: Final = bytes(
    [*range(9), 11, *range(14, 32), 127, *range(0x80, 0x85), *range(0x86, 0xA0)]
)

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

_SUSPECT: Final = re.compile(
    f"[{_BIDI}{_MARKS}{_ZERO_WIDTH}{_FILLERS}{_SELECTORS}{_TAGS}{_PRIVATE}]"
)
_CLASSES: Final = re.compile(
    f"(?P<bidi>[{_BIDI}])|(?P<mark>[{_MARKS}]+)|(?P<width>[{_ZERO_WIDTH}]+)"
    f"|(?P<filler>[{_FILLERS}]+)|(?P<selector>[{_SELECTORS}]+)|(?P<tag>[{_TAGS}]+)"
    f"|(?P<private>[{_PRIVATE}]+)"
)
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff]")
_JOINING: Final = re.compile(
    # Hebrew to Arabic, Indic, Thai to Tibetan, Myanmar, Khmer, Mongolian to Balinese
    "[\u0590-\u08ff\u0900-\u109f\u1700-\u1cff\ua800-\uabff\ufb1d-\ufdff\ufe70-\ufefc]"
)
_FLAG: Final = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
_DATA_RUN: Final = 4
"""Zero-width characters in a row that no writing needs: each can carry a bit."""
_LINE_REACH: Final = 400
"""How far a right-to-left letter of the same line may be from a mark that belongs to it."""


def find_hidden(text: str, data: bytes, foreign: str) -> Iterator[Hit]:
    """Find controls, direction overrides, zero-width characters, fillers, tags and the like.

    Args:
        text: the document's.
        data: the same in Latin-1, with "?" for other characters.
        foreign: its characters beyond ASCII.
    """
    yield from _controls(text, data)
    if not _SUSPECT.search(foreign):
        return
    suspect = _SUSPECT.search(text)
    while suspect:
        found = _CLASSES.match(text, suspect.start())
        if not found:  # every suspect character has a class
            return
        message = _CHECKS[found.lastgroup or ""](text, found)
        if message:
            yield Hit(*found.span(), message)
        suspect = _SUSPECT.search(text, found.end())


def _controls(text: str, data: bytes) -> Iterator[Hit]:
    # a look at the bytes costs a fraction of a regular expression's
    clean = len(data.translate(None, _CONTROL_BYTES)) == len(data)
    if clean and data.count(b"\r") == data.count(b"\r\n"):
        return
    for found in _CONTROLS.finditer(text):
        yield Hit(*found.span(), f"control character {_name(found[0][0])}")


def _bidi(_text: str, found: re.Match[str]) -> str:
    return f"{_name(found[0])} makes text read in another order than it stands"


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
    if run >= "\U000e0100" and unicodedata.category(base or " ") != "Lo":
        return f"{_name(run)} after a character that has no variants"
    return ""


def _tag(text: str, found: re.Match[str]) -> str:
    if _FLAG.fullmatch(text, max(0, found.start() - 1), found.end()):
        return ""
    return f"{len(found[0])} tag characters, text that only a program can read"


def _private(_text: str, found: re.Match[str]) -> str:
    return f"private-use character U+{ord(found[0][0]):04X}, which has no meaning of its own"


_CHECKS: Final = {
    "bidi": _bidi, "mark": _mark, "width": _width, "filler": _filler,
    "selector": _selector, "tag": _tag, "private": _private,
}  # fmt: skip


def _before(text: str, found: re.Match[str]) -> str:
    return text[max(0, found.start() - 1) : found.start()]


def _around(text: str, found: re.Match[str]) -> str:
    """Give what stands around a match, within its line."""
    before = text[max(0, found.start() - _LINE_REACH) : found.start()].rpartition("\n")[2]
    after = text[found.end() : found.end() + _LINE_REACH].partition("\n")[0]
    return before + after


def _name(character: str) -> str:
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X}" + (f" {name}" if name else "")
