"""Values that code gives to settings, in whatever language it is: YAML, JSON, HCL, environment files, and defaults in programs.

Lines are read, and no grammar: a value stands behind its key's `=` or `:`, in the `value` behind a `name`, in a variable's `default`, or as the
second argument of a call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_VALUES: Final = 50
"""Of one setting in one file."""
MAX_LENGTH: Final = 200
"""Characters of a value that is read."""
_LITERAL: Final = re.compile(r"(?P<quote>[\"'])(?P<quoted>[^\"'\n]*)(?P=quote)|(?P<plain>[^\s\"',;{}()\[\]#]+(?: [^\s\"',;{}()\[\]#]+)*)")  # fmt: skip
_FILLED_IN: Final = re.compile(r"[$*!&<(\[{`]|\b(?:var|local|each|module|data|self|config|settings|values|env|os|process|self)\.", re.IGNORECASE)  # fmt: skip
"""What of a value only a deployment or a program knows."""
_DURATION: Final = re.compile(r"(\d+) ?\* ?time\.(Millisecond|Second|Minute|Hour)\b")
"""How Go writes one."""
_KEYED: Final = r"(?<![\w.$%{])(?:--)?[\"']?KEY[\"']?[ \t]*"
_PLACES: Final = "|".join(
    (
        rf"{_KEYED}(?::[ \t]*[\w\[\], |]+?[ \t]*=(?!=)|:=|=>|:(?![:/=])|=(?![=~>]))[ \t]*",
        r"\bname[\"']?[ \t]*[:=][ \t]*[\"']?KEY[\"']?[ \t]*,?\s*[\"']?value[\"']?[ \t]*[:=][ \t]*",
        r"\bvariable[ \t]+[\"']KEY[\"'][ \t]*\{[^{}]*?\bdefault[ \t]*=[ \t]*",
        r"\([ \t]*[\"']KEY[\"'][ \t]*,[ \t]*",
    )
)
"""What stands before a value, in the order of the first lines above."""
_COMMENT: Final = re.compile(r"\s*(?:#|//|--(?!\w)|\*|;)")


def values_in(text: str, keys: Iterable[str]) -> dict[str, list[str | None]]:
    """Return the values that a file gives to each of these settings; ``None`` stands for one that isn't known before it runs."""
    return {key: found for key in keys if (found := list(_values(text, key))[:MAX_VALUES])}


def _values(text: str, key: str) -> Iterator[str | None]:
    for found in re.finditer(_PLACES.replace("KEY", re.escape(key)), text):
        begins = text.rfind("\n", 0, found.start()) + 1
        if _COMMENT.match(text, begins, found.start() + 1):
            continue
        ends = text.find("\n", found.end())
        rest = text[found.end() : len(text) if ends < 0 else ends].strip()[:MAX_LENGTH]
        is_read = re.search(rf"\([ \t]*[\"']{re.escape(key)}[\"']", rest)  # its default comes next
        if rest and not is_read and not _COMMENT.match(rest) and rest[0] not in "{[|>":
            yield _literal(rest)


def _literal(rest: str) -> str | None:
    """Return the value with which a text begins, ``None`` if it is computed."""
    if duration := _DURATION.match(rest):
        return f"{duration[1]} {duration[2]}"
    literal = _LITERAL.match(rest)
    if literal is None or _FILLED_IN.search(literal[0]) or rest[literal.end() :].startswith("("):
        return None
    return (literal["quoted"] if literal["quote"] else literal["plain"]).strip()
