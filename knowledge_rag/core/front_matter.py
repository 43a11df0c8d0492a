"""A document's own metadata block: the YAML between ``---`` lines at its very start.

The core ships in a Lambda and has no YAML parser. Runbooks use a small part of YAML here: scalars,
quoted or not, lists inline or one a line, folded text. That part is read; anything nested is left
out, and a block that is no such metadata at all is ordinary text, so that no line is ever lost.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from knowledge_rag.core.chunks import FrontMatter

_BLOCK = re.compile(
    r"---[ \t]*\r?\n((?:(?!(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z))[^\n]*\n)*)(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)"
)
_KEY = re.compile(
    r"(?P<quote>[\"']?)(?P<key>[A-Za-z_][\w.-]*)(?P=quote)[ \t]*+:(?P<value>[ \t].*)?\Z"
)
"""A top-level key: one word, as metadata has; a heading or a sentence is none."""
_COMMENT = re.compile(r"(?:^|[ \t])#.*\Z")
_INLINE_COMMENT = re.compile(r"""("[^"]*"|'[^']*')|(?:^|[ \t])#.*\Z""")
"""Quoted text, which holds no comment, or a comment."""
_INLINE_ITEM = re.compile(r"""\s*((?:"[^"]*"|'[^']*')?[^,]*)(?:,|\Z)""")
_MAX_LENGTH: Final = 65_536
"""Characters of front matter at most; a rule much further down is a rule."""


class ParsedFrontMatter(NamedTuple):
    """What stands at a document's start.

    Args:
        fields: scalar and list values, as text; ``{}`` without front matter.
        end: offset of the first line behind it; 0 without front matter.
    """

    fields: FrontMatter
    end: int


def parse_front_matter(text: str) -> ParsedFrontMatter:
    """Read the front matter of ``text``, if it has one."""
    block = _block(text)
    if block is None:
        return ParsedFrontMatter({}, 0)
    return ParsedFrontMatter(_fields(_lines(block)), block.end())


def front_matter_end(text: str) -> int:
    """Give the offset of the first line behind the front matter, 0 where there is none."""
    block = _block(text)
    return 0 if block is None else block.end()


def _block(text: str) -> re.Match[str] | None:
    if not text.startswith("---"):
        return None
    block = _BLOCK.match(text, 0, _MAX_LENGTH)
    if block is None:
        return None
    return block if _is_metadata(_lines(block)) else None


def _is_metadata(lines: list[str]) -> bool:
    """Whether every line is a key, or belongs to one above it: else it is text between rules."""
    open_key = False  # whether a key stands above that list items can belong to
    keys = 0
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] in " \t" or line.startswith(("]", "}")):
            if not keys:
                return False
        elif line == "-" or line.startswith("- "):
            if not open_key:
                return False
        else:
            found = _KEY.match(line)
            if found is None:
                return False
            keys += 1
            open_key = not (found["value"] or "").strip() or found["value"].lstrip().startswith("#")
    return keys > 0


def _lines(block: re.Match[str]) -> list[str]:
    return [line.rstrip("\r") for line in block[1].split("\n")]


def _fields(lines: list[str]) -> FrontMatter:
    fields: FrontMatter = {}
    key = ""
    nested: list[str] = []
    for line in [*lines, "end:"]:
        found = _KEY.match(line) if line[:1] not in ("", " ", "\t", "#", "-") else None
        if found is None:
            nested.append(line)
            continue
        if key and (value := _value(fields.pop(key), nested)):
            fields[key] = value
        key, nested = found["key"], []
        fields[key] = (found["value"] or "").strip()
    return {name: value for name, value in fields.items() if value}


def _value(scalar: str | list[str], nested: list[str]) -> str | list[str]:
    text = scalar if isinstance(scalar, str) else ""
    inner = [line.strip() for line in nested if line.strip() and not line.strip().startswith("#")]
    if text[:1] in ("|", ">"):
        return " ".join(inner)
    if text.startswith("["):
        return _inline_list([text, *inner])
    if not text and inner and all(line.startswith("-") for line in inner):
        items = [line[1:].strip() for line in inner]
        return [value for item in items if not _KEY.match(item) and (value := _scalar(item))]
    if not text:
        return ""
    return _scalar(" ".join([text, *inner]))


def _inline_list(lines: list[str]) -> list[str]:
    joined = " ".join(_INLINE_COMMENT.sub(lambda found: found[1] or "", line) for line in lines)
    items = _INLINE_ITEM.findall(joined.strip("[] "))
    return [value for item in items if (value := _scalar(item))]


def _scalar(text: str) -> str:
    text = text.strip()
    for quote in ('"', "'"):
        if text.startswith(quote):
            closed = text.find(quote, 1)
            return text[1:closed] if closed > 0 else text
    return _COMMENT.sub("", text).strip()
