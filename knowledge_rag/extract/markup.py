"""Reads markup formats other than Markdown, line for line as Markdown.

Documents in reStructuredText, AsciiDoc, Org, MDX and Markdown with ERB are cited by their own lines. To find
sections, steps and commands in them, each line is also written as its Markdown equivalent; lines that only
control the layout become blank. Line 12 of one is line 12 of the other. Nothing is run, and included files
aren't read.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.documents import front_matter_end
from knowledge_rag.core.formats import is_markup
from knowledge_rag.extract.asciidoc import read_asciidoc
from knowledge_rag.extract.org import read_org
from knowledge_rag.extract.rst import read_rst
from knowledge_rag.extract.shaping import MAX_DEPTH, WARNINGS, fenced, indent_of, is_within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MARKUP_VERSION: Final = 3
"""Raised by every change that finds other sections or blocks in the same lines."""

_MODULE: Final = re.compile(r"(?:import|export)\b[ {*\"']")
_COMMENT: Final = re.compile(r"\{/\*.*?(?:\*/\}|\Z)", re.DOTALL)
_TAG: Final = re.compile(
    r" *<(?P<close>/)?(?P<name>[A-Z][\w.]*)?(?P<given>[^<>]*?)(?P<empty>/)?> *$"
)
_GIVEN: Final = re.compile(r"(?<!\w)(\w{1,40})=\{?[\"'`]([^\"'`]*)[\"'`]\}?")
_NOTES: Final = frozenset(("note", "tip", "info", "hint", "check"))
_SECTIONS: Final = frozenset(("tabitem", "tab", "accordion", "expandable", "step"))
_TITLES: Final = ("title", "label", "value", "header", "summary")
_PROGRAM: Final = re.compile(r"<%(?![=%]).*?(?:-?%>|\Z)", re.DOTALL)
_OUTPUT: Final = re.compile(r"<%=([^%<>\n]{1,300})%>")


def read_mdx(lines: Sequence[str]) -> list[str]:
    """Return MDX as Markdown: imports, comments and tags become blank, admonitions and tabs Markdown's."""
    return _Components(_without(_COMMENT, lines)).write()


def read_erb(lines: Sequence[str]) -> list[str]:
    """Return Markdown with ERB as Markdown: programs become blank, their output ``{its expression}``."""
    return [
        _OUTPUT.sub(lambda it: f"{{{it[1].strip(' -')}}}", line)
        for line in _without(_PROGRAM, lines)
    ]


def _without(pattern: re.Pattern[str], lines: Sequence[str]) -> list[str]:
    """Remove a pattern's matches outside code, keeping the number of lines."""
    text = "\n".join(
        "" if inside else line for line, inside in zip(lines, _in_code(lines), strict=True)
    )
    left = pattern.sub(lambda found: "\n" * found[0].count("\n"), text).split("\n")
    return [
        line if inside else shown
        for line, shown, inside in zip(lines, left, _in_code(lines), strict=True)
    ]


def _in_code(lines: Sequence[str]) -> list[bool]:
    """Return for each line whether it is code or opens or closes it."""
    code = fenced("\n".join(lines))
    starts = accumulate((len(line) + 1 for line in lines), initial=0)
    return [is_within(start, code) for start, _ in zip(starts, lines, strict=False)]


class _Components:
    """A walk over the lines; text inside components loses its indent."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._open: list[tuple[str, bool]] = []
        """Names of the components around a line, and whether each is written as a container."""
        self._indents: list[int | None] = []
        """Indents of their texts; unknown until the first line."""

    def write(self) -> list[str]:
        written = []
        inside = _in_code(self._lines)
        module = False
        for line, is_code in zip(self._lines, inside, strict=True):
            module = bool(line.strip()) and (module or (not is_code and bool(_MODULE.match(line))))
            tag = None if is_code or module else _TAG.match(line)
            if module:
                written.append("")
            elif tag and (tag["name"] or self._open or tag["close"] or not tag["given"]):
                written.append(self._tag(tag))
            else:
                written.append(self._dedented(line))
        return written

    def _dedented(self, line: str) -> str:
        if not self._indents or not line.strip():
            return line
        own, around = indent_of(line), self._indents[-1]
        self._indents[-1] = own if around is None else around
        return line[own if around is None else min(own, around) :]

    def _tag(self, tag: re.Match[str]) -> str:
        name = (tag["name"] or "").lower()
        if tag["name"] is None and tag["given"]:
            return self._dedented(tag[0])  # HTML, which Markdown allows
        if tag["close"]:
            return self._close(name)
        given = dict(_GIVEN.findall(tag["given"]))
        title = next((given[key] for key in _TITLES if key in given), "")
        kind = given.get("type", "").lower() if name in ("admonition", "callout", "alert") else name
        is_container = not tag["empty"] and (
            kind in WARNINGS or kind in _NOTES or name in _SECTIONS
        )
        if not tag["empty"] and len(self._open) < MAX_DEPTH:
            self._open.append((name, is_container))
            self._indents.append(None)
        if is_container:
            return f"::: {kind if name not in _SECTIONS else 'tab'} {title}".rstrip()
        return f"**{title}**" if title and not tag["empty"] else ""

    def _close(self, name: str) -> str:
        if name not in (opened for opened, _ in self._open):
            return ""
        is_container = False
        while self._open:
            opened, is_container = self._open.pop()
            self._indents.pop()
            if opened == name:
                break
        return ":::" if is_container else ""


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
