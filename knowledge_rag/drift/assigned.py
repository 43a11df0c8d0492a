"""Values that code gives to settings, in whatever language it is: YAML, JSON, HCL, environment files, and defaults in programs.

Lines are read, and no grammar: a value stands behind its key's `=` or `:`, in the `value` behind a `name`, in a variable's `default`, or as the
second argument of a call.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MAX_VALUES: Final = 50
"""Of one setting in one file."""
MAX_LENGTH: Final = 200
"""Characters of a value that is read."""
MAX_BEFORE: Final = 100
"""Characters before a key that say what it is."""
_LITERAL: Final = re.compile(r"(?P<quote>[\"'])(?P<quoted>[^\"'\n]*)(?P=quote)|(?P<plain>[^\s\"',;{}()\[\]#]+(?: [^\s\"',;{}()\[\]#]+)*)")  # fmt: skip
_FILLED_IN: Final = re.compile(r"[$*!&<(\[{`]|\b(?:var|local|each|module|data|self|config|settings|values|env|os|process)\.", re.IGNORECASE)  # fmt: skip
"""What of a value only a deployment or a program knows."""
_DURATION: Final = re.compile(r"(\d+) ?\* ?time\.(Millisecond|Second|Minute|Hour)\b")
"""How Go writes one."""
_COMMENT: Final = re.compile(r"\s*(?:#|//|--(?!\w)|\*|;)")
_OPEN: Final = re.compile(
    r"(?P<named>[\"']?[ \t]*+[:=][ \t]*+[\"']?eman\b)|(?P<variable>[\"'][ \t]++elbairav\b)|(?P<call>[\"'][ \t]*+\()"
)
"""What stands before a key whose value isn't directly behind it, read backwards from the key."""
_BEHIND: Final[Mapping[str, re.Pattern[str]]] = {
    "named": re.compile(r"[\"']?[ \t]*+,?\s*+[\"']?value[\"']?[ \t]*+[:=][ \t]*+"),
    "variable": re.compile(r"[\"'][ \t]*+\{[^{}]*?\bdefault[ \t]*+=[ \t]*+"),
    "call": re.compile(r"[\"'][ \t]*+,[ \t]*+"),
}
"""What is between such a key and its value."""
_ASSIGNED: Final = re.compile(
    r"[\"']?[ \t]*+(?::[\w\[\], |\t]++=(?!=)|:=|=>|:(?![:/])|=(?![=~]))[ \t]*+"
)
_PART_OF_MORE: Final = re.compile(r"[\w.$%{]$")
"""What stands before a key that is a part of a longer name, or that is filled in."""


def values_in(text: str, keys: Iterable[str]) -> dict[str, list[str | None]]:
    """Return the values that a file gives to each of these settings; ``None`` stands for one that isn't known before it runs."""
    return {key: found for key in keys if (found := list(islice(_values(text, key), MAX_VALUES)))}


def _values(text: str, key: str) -> Iterator[str | None]:
    """Yield the values of a key; a line has one at most."""
    at = begins = read = 0
    while (at := text.find(key, at)) >= 0:
        begins, read = max(begins, text.rfind("\n", read, at) + 1), at
        value = _value_at(text, at, at + len(key), begins)
        if value is None:
            at += len(key)
            continue
        start, before = value
        is_comment = _COMMENT.match(text, begins, before + 1)
        rest = text[start : start + MAX_LENGTH].partition("\n")[0].strip()
        if not is_comment and (key in rest and _is_read(key, rest)):
            at = start  # its default comes next
            continue
        at = begins = read = (text.find("\n", start) + 1) or len(text)
        if is_comment or not rest or _COMMENT.match(rest) or rest[0] in "{[|>":
            continue
        yield _literal(rest)


def _is_read(key: str, rest: str) -> bool:
    return re.search(rf"\([ \t]*[\"']{re.escape(key)}[\"']", rest) is not None


def _value_at(text: str, key: int, end: int, begins: int) -> tuple[int, int] | None:
    """Return where the value of a key begins, and what gives it."""
    opened = _OPEN.match(text[max(begins, key - MAX_BEFORE) : key][::-1])
    if opened and (behind := _BEHIND[opened.lastgroup or ""].match(text, end)):
        return behind.end(), key - opened.end()
    if _PART_OF_MORE.search(text, max(begins, key - 1), key):
        return None
    assigned = _ASSIGNED.match(text, end)
    if assigned is None:
        return None
    return assigned.end(), key


def _literal(rest: str) -> str | None:
    """Return the value with which a text begins, ``None`` if it is computed."""
    if duration := _DURATION.match(rest):
        return f"{duration[1]} {duration[2]}"
    literal = _LITERAL.match(rest)
    if literal is None or _FILLED_IN.search(literal[0]) or rest[literal.end() :].startswith("("):
        return None
    return (literal["quoted"] if literal["quote"] else literal["plain"]).strip()
