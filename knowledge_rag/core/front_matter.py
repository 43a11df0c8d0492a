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
_YAML_LINE = re.compile(
    r"[ \t\r]*\Z|#|[ \t]+\S|-(?:[ \t]|\r?\Z)|(?:\"[^\"]*\"|'[^']*'|[^\s:#,\[\]{}&*!|>'\"%@`-][^:\n]*|-[^\s:][^:\n]*)[ \t]*:(?:[ \t\r]|\Z)|[\]}][ \t\r]*\Z"
)
_KEY = re.compile(r"[\"']?([^\s:\"'][^:\"']*?)[\"']?[ \t]*:(?:[ \t]+(.*))?\Z")
_COMMENT = re.compile(r"(?:^|[ \t])#.*\Z")
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
    lines = _lines(block)
    is_metadata = any(map(_KEY.match, lines)) and all(map(_YAML_LINE.match, lines))
    return block if is_metadata else None


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
        key, nested = found[1], []
        fields[key] = (found[2] or "").strip()
    return {name: value for name, value in fields.items() if value}


def _value(scalar: str | list[str], nested: list[str]) -> str | list[str]:
    text = scalar if isinstance(scalar, str) else ""
    inner = [line.strip() for line in nested if line.strip() and not line.strip().startswith("#")]
    if text[:1] in ("|", ">"):
        return " ".join(inner)
    if text.startswith("["):
        joined = " ".join([text, *inner])
        return [item for part in joined.strip("[] ").split(",") if (item := _scalar(part))]
    if not text and inner and all(line.startswith("-") for line in inner):
        return [item for line in inner if (item := _scalar(line[1:])) and not _KEY.match(item)]
    if not text:
        return ""
    return _scalar(" ".join([text, *inner]))


def _scalar(text: str) -> str:
    text = text.strip()
    for quote in ('"', "'"):
        if text.startswith(quote):
            closed = text.find(quote, 1)
            return text[1:closed] if closed > 0 else text
    return _COMMENT.sub("", text).strip()
