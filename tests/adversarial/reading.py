"""How a person reads an answer: what looks like a reference on the page, and what it says.

Written from the specification alone. Nothing of the product is used, so an error in how it reads
brackets, characters or Markdown cannot hide itself here.
"""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.adversarial.shelf import Shelf

VIEWS = (
    MarkdownIt("commonmark", {"html": True}),
    MarkdownIt("commonmark", {"html": False}),
    MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]),
    MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]),
)
"""The parsers an answer may be shown by: with HTML, without, with tables and with either."""

_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d~\u301c\u2043"
_ALIKE = dict(
    zip("\u0455\u043e\u03bf\u0441\u0435\u0456\u03b9\u03c5\u0433\u0501\u0440\u04cf\u0430", "soocieiurdpla", strict=False)
)  # fmt: skip
_ALIKE |= {"\u043e": "o", "\u03bf": "o", "\u0441": "c", "\u0435": "e", "\u0456": "i", "\u03b9": "i"}
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
_BRACKET_NAMES = ("SQUARE BRACKET", "TORTOISE SHELL BRACKET", "LENTICULAR BRACKET")

_BRACKETS = re.compile(r"\[([^\[\]]{1,2000})\]")
_KEYED = re.compile(r"[\W_]*sources?(?:[\W_]*$|[\s*_]+[nx][\W_]*$|[\s*_]*[:=#]|[\W_]*\d)")
_NUMBERED = re.compile(rf"[\s*_`\"']*\d(?:[{_DASHES}\d\s,;&*_`\"']|\.\.+|\u2026|and|to)*$")
_LINED = re.compile(r"[^\x7f]*\.\w{1,8}[\s,;:*_`\"']+lines?\W*\d")
_OTHERS = re.compile(r"\W*(?:refs?|references?|citations?|cite|docs?|documents?)[.:#\s_]*\d+\W*$")
_DAGGER = re.compile(r"\d+(?::\d+)?\u2020")
LIKE = {
    "keyword": _KEYED,
    "numbers": _NUMBERED,
    "lines": _LINED,
    "other keyword": _OTHERS,
    "dagger": _DAGGER,
}
_OPENED = re.compile(r"\[(?:[^\w\[\]`]|_)*sources?[\s*_]*[:=#]")
_NO_REFERENCE = re.compile(r"\s*(?:0-\d+|[12]\d{3}-(?:0[1-9]|1[0-2])(?:-[0-3]\d)?)\s*$")
"""Of what reads like numbers: a class of characters, and a date."""

_RANGE = rf"(\d+)(?:\s*(?:[{_DASHES}]|to\b)\s*(\d+))?"
_A_RANGE = re.compile(_RANGE)
_A_RANGE_OF_LINES = re.compile(rf"l?(\d+)(?:\s*(?:[{_DASHES}]|to\b)\s*l?(\d+))?")
_JOINT = r"\s*(?:[,;&]|\band\b)+\s*"
_LIST = re.compile(rf"{_RANGE}(?:{_JOINT}(?:sources?\s*[:#]?\s*)?{_RANGE})*")
_AFTER_NAME = re.compile(r"[\s,;:*_`\"']+[(]?lines?[\s~]*:?\s*")
_MORE_LINES = re.compile(rf"{_JOINT}(?:lines?\s+)?(?=\d)")
_BETWEEN = re.compile(rf"[*_`\"')]*(?:{_JOINT})?\s*(?:sources?\s*:\s*)?[\s*_`\"']*")
_END = re.compile(r"[\s*_`\"').;]*$")

_NAME = (
    r"[^\s\x7f\[\](){}<>`\"'|,;\u2018\u2019\u201c\u201d\u00ab\u00bb]+\.(?:md|markdown|txt|html|pdf)"
)
_AT = rf"l?(\d+)(?:\s?(?:[{_DASHES}]|to\b)\s?l?(\d+))?(?![^\W_]|/|\.\w)"
_SP = r"[^\S\n]*\n?[^\S\n]*"
_MENTIONED = re.compile(
    rf"(?P<name>{_NAME})(?:(?::|\#(?=l)){_AT}|[,;:]?{_SP}\(?lines?{_SP}:?{_SP}{_AT})"
    rf"|lines?{_SP}{_AT}{_SP}(?:of|in|from){_SP}(?:the{_SP})?(?P<after>{_NAME})(?![\w/-]|\.\w)"
)

Told = tuple[str, int, int]
"""A file, its first and its last line."""


class Bracket(NamedTuple):
    """Something between brackets that a person takes for a reference.

    Args:
        start: offset of the opening bracket.
        end: offset behind the closing one.
        inner: what stands between them, as on the page.
        like: what makes it one: a key of ``LIKE``.
    """

    start: int
    end: int
    inner: str
    like: str


@lru_cache(maxsize=4096)
def _seen(character: str) -> str:
    """Give what a person sees for one character."""
    category = unicodedata.category(character)
    if character in "\n\t\r\x7f":
        return character
    if category in ("Cf", "Cc", "Mn", "Me") or character in _BLANK_LETTERS or character == "\\":
        return ""
    if category in ("Ps", "Pe") and any(
        name in unicodedata.name(character, "") for name in _BRACKET_NAMES
    ):
        return "[" if category == "Ps" else "]"
    digit = unicodedata.digit(character, None)
    if digit is not None and not character.isascii():
        return str(digit)
    plain = unicodedata.normalize("NFKD", character)
    plain = "".join(part for part in plain if unicodedata.category(part) != "Mn").lower()
    return "".join(_ALIKE.get(part, part) for part in plain)


def fold(text: str) -> tuple[str, Sequence[int]]:
    """Give a text as it is read, and the index that each of its characters stems from."""
    if text.isascii() and "\\" not in text:
        return text.lower(), range(len(text))
    parts = [_seen(character) for character in text]
    folded = "".join(parts)
    if all(map(_is_single, parts)):
        return folded, range(len(text))
    return folded, [index for index, part in enumerate(parts) for _ in part]


def _is_single(part: str) -> bool:
    return len(part) == 1


def brackets(text: str) -> Iterator[Bracket]:
    """Find what reads like a reference."""
    folded, origin = fold(text)
    for found in _BRACKETS.finditer(folded):
        inner = found[1]
        if "\n\n" not in inner and (like := _like(inner)):
            start, end = origin[found.start()], origin[found.end() - 1]
            first = origin[found.start() + 1]
            yield Bracket(start, end + 1, text[first:end], like)


def mentioned(text: str) -> Iterator[tuple[str, Told]]:
    """Find the documents that a text names with lines of theirs outside brackets.

    Yields:
        The words, and the first of those lines; the name is folded.
    """
    folded, origin = fold(text)
    bracketed = [(found.start, found.end) for found in brackets(text)]
    for found in _MENTIONED.finditer(folded):
        if any(start < origin[found.start()] < end for start, end in bracketed):
            continue
        first, last = next((found[n], found[n + 1]) for n in (2, 4, 6) if found[n])
        name = (found["name"] or found["after"]).strip("*_~")
        plain = re.search(
            r"\.(?:md|markdown|txt|html|pdf)(?!\w)",
            text[origin[found.start()] : origin[found.end() - 1] + 1],
            re.IGNORECASE,
        )
        if not plain:
            continue
        if "://" not in name or "#" not in found[0]:
            words = text[origin[found.start()] : origin[found.end() - 1] + 1]
            yield words, (name, int(first), int(last or first))


def opened(text: str) -> list[str]:
    """Find what begins a reference and does not end it."""
    folded, _ = fold(text)
    whole = {found.start() for found in _BRACKETS.finditer(folded)}
    begun = [found for found in _OPENED.finditer(folded) if found.start() not in whole]
    return [found[0] for found in begun if "\x7f" not in found[0] and "\n\n" not in found[0]]


def _like(folded: str) -> str | None:
    if _NO_REFERENCE.match(folded):
        return None
    return next((name for name, like in LIKE.items() if like.match(folded)), None)


def told(inner: str, shelf: Shelf) -> list[Told] | None:
    """Give the lines that a reference speaks of, ``None`` if any of it is not in the evidence."""
    inner = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", inner.replace("\x7f", ""))
    folded, origin = fold(inner)
    keyword = re.match(r"[\s*_`]*sources?(?![\w/.-])[\s*_`]*[:=]?[\s*_`\"'#]*", folded)
    at = keyword.end() if keyword else len(re.match(r"[\s*_`\"']*", folded)[0])  # type: ignore[index]
    numbers = _LIST.match(folded, at)
    if numbers and _END.match(folded, numbers.end()):
        return _entries(numbers[0], shelf)
    return _lines(inner, folded, origin, at, shelf)


def _entries(numbers: str, shelf: Shelf) -> list[Told] | None:
    found: list[Told] = []
    for part in _A_RANGE.finditer(numbers):
        first, last = int(part[1]), int(part[2] or part[1])
        if not 1 <= first <= last <= len(shelf.entries):
            return None
        found += [tuple(entry) for entry in shelf.entries[first - 1 : last]]
    return found


def _lines(
    inner: str, folded: str, origin: Sequence[int], at: int, shelf: Shelf
) -> list[Told] | None:
    """Read files and lines from ``at`` on, by looking for the files of the evidence alone."""
    found: list[Told] = []
    while not (found and _END.match(folded, at)):
        raw = inner[origin[at] :] if at < len(origin) else ""
        name = next((name for name in shelf.files if raw.startswith(name)), None)
        if name is None:
            return None
        at = next((i for i, o in enumerate(origin) if o >= origin[at] + len(name)), len(folded))
        lines = _AFTER_NAME.match(folded, at)
        if lines is None:
            return None
        at = lines.end()
        while part := _A_RANGE_OF_LINES.match(folded, at):
            first, last = int(part[1]), int(part[2] or part[1])
            if not shelf.holds(name, first, last):
                return None
            found.append((name, first, last))
            more = _MORE_LINES.match(folded, part.end())
            at = more.end() if more else part.end()
            if not more:
                break
        else:
            return None
        at = _BETWEEN.match(folded, at).end()  # type: ignore[union-attr] # matches everywhere
    return found


def shown(text: str, view: MarkdownIt, *, code: bool = True) -> str:
    """Give what a page shows of an answer, its blocks a blank line apart, with code spans or without."""
    blocks = []
    for token in view.parse(text):
        if token.type == "html_block":
            blocks.append(
                html.unescape(re.sub(r"<!--.*?-->|<[^>]*>", "", token.content, flags=re.DOTALL))
            )
        elif token.type == "inline":
            blocks.append("".join(_inline(part, code=code) for part in token.children or ()))
    return "\n\n".join(re.sub(r"\n{2,}", "\n", block) for block in blocks)


def _inline(part: object, *, code: bool) -> str:
    kind, content = part.type, part.content  # type: ignore[attr-defined]
    if kind in ("softbreak", "hardbreak"):
        return "\n"
    if kind == "code_inline":
        return _code(content) if code else "\x7f"
    if kind == "html_inline":
        return "\n" if content.lower().startswith("<br") else ""
    return content


def _code(content: str) -> str:
    """Give a code span without the brackets that are code: those that open and close in it.

    One that begins a reference and is closed nowhere may be code, too; it gets a mark.
    """
    shown, opened = list(content), []
    for at, one in enumerate(content):
        if _seen(one) == "[":
            opened.append(at)
        elif _seen(one) == "]" and opened:
            shown[opened.pop()] = shown[at] = "\x7f"
    for at in opened:
        if _OPENED.match(fold(content[at:])[0]):
            shown[at] = "[\x7f"
    return "".join(shown)
