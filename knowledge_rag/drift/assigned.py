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
_COMMENT: Final = re.compile(r"\s*(?:#|//|--(?!\w)|\*|;)")


def values_in(text: str, keys: Iterable[str]) -> dict[str, list[str | None]]:
    """Return the values that a file gives to each of these settings; ``None`` stands for one that isn't known before it runs."""
    return {key: found for key in keys if (found := list(_values(text, key))[:MAX_VALUES])}


def _values(text: str, key: str) -> Iterator[str | None]:
    name = rf"(?<![\w.$%{{])(?:--)?[\"']?{re.escape(key)}[\"']?"
    assigned = rf"{name}[ \t]*(?::[ \t]*[\w\[\], |]+?[ \t]*=(?!=)|:=|=>|:(?![:/])|=(?![=~]))[ \t]*(?P<assigned>[^\n]*)"
    named = rf"\bname[\"']?[ \t]*[:=][ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*,?\s*[\"']?value[\"']?[ \t]*[:=][ \t]*(?P<named>[^\n]*)"
    variable = rf"\bvariable[ \t]+[\"']{re.escape(key)}[\"'][ \t]*\{{[^{{}}]*?\bdefault[ \t]*=[ \t]*(?P<variable>[^\n]*)"
    call = rf"\([ \t]*[\"']{re.escape(key)}[\"'][ \t]*,[ \t]*(?P<call>[^\n]*)"
    for found in re.finditer(f"{named}|{variable}|{call}|{assigned}", text):
        begins = text.rfind("\n", 0, found.start()) + 1
        if _COMMENT.match(text, begins, found.start() + 1):
            continue
        rest = found[found.lastgroup or 0].strip()[:MAX_LENGTH]
        if not rest or _COMMENT.match(rest) or rest[0] in "{[|>":
            continue
        literal = _LITERAL.match(rest)
        if literal is None or _FILLED_IN.search(literal[0]):
            yield None
        else:
            yield (literal["quoted"] if literal["quote"] else literal["plain"]).strip()
