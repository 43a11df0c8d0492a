"""Reads markup formats other than Markdown, line for line as Markdown.

Documents in reStructuredText, AsciiDoc, Org, MDX and Markdown with ERB are cited by their own lines. To find
sections, steps and commands in them, each line is also written as its Markdown equivalent; lines that only
control the layout become blank. Line 12 of one is line 12 of the other. Included files aren't read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.documents import front_matter_end
from knowledge_rag.core.formats import is_markup
from knowledge_rag.extract.asciidoc import read_asciidoc
from knowledge_rag.extract.jsx import read_erb, read_mdx
from knowledge_rag.extract.org import read_org
from knowledge_rag.extract.rst import read_rst

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MARKUP_VERSION: Final = 3
"""Raised by every change that finds other sections or blocks in the same lines."""

READERS: Final[dict[str, Callable[[Sequence[str]], list[str]]]] = {
    ".rst": read_rst,
    ".adoc": read_asciidoc,
    ".asciidoc": read_asciidoc,
    ".org": read_org,
    ".mdx": read_mdx,
    ".md.erb": read_erb,
}
"""Functions from lines to as many lines of Markdown, by the file's suffix, one of ``MARKUP_SUFFIXES``."""

MAX_LINE: Final = 2_000
"""Maximum length of a line that is checked for marks."""
_SIGN: Final = re.compile("\ue000\\d+\ue001")
_INCLUDES: Final = re.compile(
    r"^[ \t]*(?:\.\. (?:include|literalinclude|csv-table):: *\S|include::\S|#\+include:|<%=? *(?:render|partial|include)\b)",
    re.IGNORECASE | re.MULTILINE,
)


def as_markdown(source_file: str, lines: Sequence[str]) -> list[str]:
    """Return the lines as Markdown, one for one; unchanged if the file is in no such format."""
    name = source_file.lower()
    for suffix, reader in READERS.items():
        if name.endswith(suffix):
            plain = [line.rstrip(" \t\r").expandtabs(8) for line in lines]
            body = _front_matter(plain)
            return [*plain[:body], *_read(reader, plain[body:])]
    return list(lines)


def _read(reader: Callable[[Sequence[str]], list[str]], lines: Sequence[str]) -> list[str]:
    """Read lines, replacing each that is too long to be anything but text with a sign."""
    long = {
        f"\ue000{place}\ue001": line.lstrip(" ")
        for place, line in enumerate(lines)
        if len(line) > MAX_LINE
    }
    if not long:
        return reader(lines)
    signs = dict(zip(long.values(), long, strict=False))
    short = [
        line.replace(it, signs[it]) if (it := line.lstrip(" ")) in signs else line for line in lines
    ]
    return [_SIGN.sub(lambda it: long.get(it[0], it[0]), line) for line in reader(short)]


def _front_matter(lines: Sequence[str]) -> int:
    """Count the lines of the front matter."""
    text = "\n".join([*lines, ""]) if lines[:1] == ["---"] else ""
    return text.count("\n", 0, front_matter_end(text))


def shape_of(source_file: str, text: str) -> str | None:
    """Return a text as Markdown, line for line; ``None`` for a file in no such format."""
    if not is_markup(source_file):
        return None
    return "\n".join(as_markdown(source_file, text.split("\n")))


def notes_on(text: str) -> Iterator[str]:
    """Yield a sentence on a text's includes of other files, which aren't read."""
    count = len(_INCLUDES.findall(text))
    if count:
        yield f"includes {count} other file{'s' if count > 1 else ''}, not read"
