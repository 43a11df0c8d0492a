"""Reads containers of documentation tools that CommonMark doesn't know: tabs, admonitions, folded parts.

The formats are MkDocs (``=== "Linux"``, ``!!! danger "Title"``, ``??? note``, with a body indented by four),
Docusaurus, VitePress and Pandoc (``:::warning Title`` up to ``:::``), Python Markdown (``/// tab | Linux`` up to
``///``), and HTML (``<details>`` with a summary, and ``<aside>``, which Notion writes for a callout). A tab, a folded
part, and an admonition with steps become sections; any other admonition, and an aside, becomes a quotation. Line
numbers stay the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_DEPTH: Final = 8
"""Maximum depth of nested containers that are unfolded."""

_INDENTED: Final = re.compile(
    r"""(?P<indent>\ {0,3})(?:(?P<tab>===)[!+]?|(?:!!!|\?\?\?\+?)[ \t]+(?P<type>[\w-]+)(?:[ \t]+(?:inline|end))*)"""
    r"""(?:[ \t]+["'](?P<title>[^\n]*)["'])?[ \t]*"""
)
_FENCED: Final = re.compile(
    r" {0,3}:{3,}[ \t]*(?:\{?\.?)(?P<type>[A-Za-z][\w-]*)\}?(?:\[(?P<bracketed>[^\]\n]*)\]|[ \t]+(?P<title>[^\n{]*))?[^\n]*"
)
_FENCE_END: Final = re.compile(r" {0,3}(?::{3,}|/{3,})[ \t]*")
_SLASHED: Final = re.compile(
    r" {0,3}/{3,}[ \t]*(?P<type>[A-Za-z][\w-]*)(?:[ \t]*\|[ \t]*(?P<title>[^\n]*))?"
)
"""Opens a block of Python Markdown: ``/// tab | Linux`` up to ``///``."""
_DETAILS: Final = re.compile(r" {0,3}<details\b[^<>]*>[ \t]*(?:<summary.*)?", re.IGNORECASE)
_DETAILS_END: Final = re.compile(r" {0,3}</details>[ \t]*", re.IGNORECASE)
_ASIDE: Final = re.compile(r" {0,3}<aside\b[^<>]*>[ \t]*", re.IGNORECASE)
_ASIDE_END: Final = re.compile(r" {0,3}</aside>[ \t]*", re.IGNORECASE)
_SUMMARY: Final = re.compile(r"<summary[^<>]*>(?P<title>.{1,300}?)</summary>[ \t]*$", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>\n]{0,300}>")
_RULE: Final = "***"
"""Replaces the beginning or end of a container, so that no list continues across it."""
_CODE_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_BODY_INDENT: Final = 4
_GITHUB: Final = re.compile(r"\s*\[!(?P<type>\w+)\][ \t]*(?P<title>[^\n]*)")
WARNINGS: Final = frozenset(
    {
        "danger",
        "warning",
        "caution",
        "attention",
        "important",
        "failure",
        "error",
        "bug",
        "critical",
    }
)
"""Types of admonitions that warn, regardless of their words."""
_CALLOUT: Final = "aside"
_SECTIONS: Final = ("tab", "details")
"""Types of Python Markdown blocks that are sections."""
_STEPS: Final = re.compile(r" {0,3}(?:\d{1,9}[.)][ \t]|[-*+][ \t]|`{3}|~{3}|\|)")


@dataclass(frozen=True, slots=True)
class Container:
    """Lines of a container that is a section."""

    start: int
    end: int
    title: str


def unfolded(lines: list[str]) -> list[Container]:
    """Rewrite containers as headings and quotations of CommonMark, in place, line for line.

    Args:
        lines: of a document.

    Returns:
        The containers that became sections, outer ones first; their opening lines are headings of level 6.
        Containers nested deeper than MAX_DEPTH stay.
    """
    return _Unfolding(lines).section(0, len(lines), "", 0)


class _Unfolding:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._in_code = set(in_code(lines))
        self._closers = dict(self._paired())

    def section(self, first: int, behind: int, mark: str, depth: int) -> list[Container]:
        """Unfold a range of lines; each of them already begins with `mark`."""
        found: list[Container] = []
        place = first
        while place < behind:
            is_text = depth < MAX_DEPTH and place not in self._in_code
            opened = self._opened(place, behind, mark) if is_text else None
            if opened is None:
                place += 1
                continue
            kind, title, end = opened
            body = [self._lines[n].removeprefix(mark) for n in range(place + 1, end)]
            is_quote = kind in WARNINGS or kind == _CALLOUT
            is_section = not kind or (not is_quote and any(map(_STEPS.match, body)))
            inner = mark if is_section else f"{mark}> "
            name = title or kind.capitalize()
            self._lines[place] = f"{mark}###### {name}" if is_section else f"{inner}**{name}**"
            if kind == _CALLOUT:
                self._lines[place] = mark + _RULE
            for number, text in enumerate(body, place + 1):
                self._lines[number] = inner + text
            if is_section:
                found.append(Container(place, end - 1, name))
            found += self.section(place + 1, end, inner, depth + 1)
            place = end
        return found

    def _opened(self, place: int, behind: int, mark: str) -> tuple[str, str, int] | None:
        """Return type, title and end of the container that a line opens; remove its lines' indent."""
        line = self._lines[place].removeprefix(mark)
        if (it := _INDENTED.fullmatch(line)) and (it["type"] or it["title"]):
            end = self._dedented(place + 1, behind, mark, len(it["indent"]) + _BODY_INDENT)
            if end > place + 1:
                return (it["type"] or "").lower(), it["title"] or "", end
        elif (end := self._closers.get(place, behind)) < behind and (it := _FENCED.fullmatch(line)):
            self._lines[end] = mark + _RULE
            return it["type"].lower(), (it["bracketed"] or it["title"] or "").strip(), end
        elif end < behind and (it := _SLASHED.fullmatch(line)):
            self._lines[end] = mark + _RULE
            kind = it["type"].lower()
            return "" if kind in _SECTIONS else kind, (it["title"] or "").strip(), end
        elif end < behind and (it := _SUMMARY.search(line)):
            self._lines[end] = mark + _RULE
            return "", " ".join(_TAG.sub(" ", it["title"]).split()), end
        elif end < behind and _ASIDE.fullmatch(line):
            self._lines[end] = mark + _RULE
            return _CALLOUT, "", end
        return None

    def _dedented(self, first: int, behind: int, mark: str, indent: int) -> int:
        """Remove the indent from the lines that have it; return the index after the last of them."""
        last = place = first
        while place < behind:
            text = self._lines[place].removeprefix(mark).expandtabs(_BODY_INDENT)
            if text.strip() and not text.startswith(" " * indent):
                break
            place += 1
            last = place if text.strip() else last
        for number in range(first, last):
            text = self._lines[number].removeprefix(mark).expandtabs(_BODY_INDENT)
            self._lines[number] = mark + text[indent:]
        return last

    def _paired(self) -> Iterator[tuple[int, int]]:
        """Yield the opening and closing line of each container of ``:::``, ``///`` or HTML."""
        fences: list[int] = []
        folded: list[int] = []
        asides: list[int] = []
        for place, line in enumerate(self._lines):
            if not line.lstrip(" ").startswith((":::", "///", "<")) or place in self._in_code:
                continue
            if _FENCED.fullmatch(line) or _SLASHED.fullmatch(line):
                fences.append(place)
            elif fences and _FENCE_END.fullmatch(line):
                yield fences.pop(), place
            elif _DETAILS.fullmatch(line):
                below = self._lines[place + 1 : place + 2]
                is_apart = not _SUMMARY.search(line) and any(map(_SUMMARY.search, below))
                if is_apart:
                    self._lines[place] = _RULE
                folded.append(place + is_apart)
            elif folded and _DETAILS_END.fullmatch(line):
                yield folded.pop(), place
            elif _ASIDE.fullmatch(line):
                asides.append(place)
            elif asides and _ASIDE_END.fullmatch(line):
                yield asides.pop(), place


def in_code(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indexes of lines between code fences."""
    fence = ""
    for place, line in enumerate(lines):
        code = _CODE_FENCE.match(line)
        if fence:
            yield place
        if code and not fence:
            fence = code[1]
        elif code and code[1].startswith(fence) and not line.strip(" \t`~"):
            fence = ""


def shown_as(text: str) -> str:
    r"""Return an admonition's lines as a reader sees them: its type, its title in bold, its body without indent.

    >>> shown_as('!!! danger "Ask first"\n    Call the desk.')
    'Danger: **Ask first**\n\nCall the desk.'
    >>> shown_as("[!WARNING]\nIt deletes all."), shown_as("> plain words")
    ('Warning: It deletes all.', '> plain words')
    """
    first, _, body = text.partition("\n")
    it = _INDENTED.fullmatch(first) or _FENCED.fullmatch(first) or _GITHUB.fullmatch(first)
    if it is None or not it["type"]:
        return text
    kind, groups = it["type"].lower(), it.groupdict()
    title = (groups.get("title") or groups.get("bracketed") or "").strip()
    label = f"{kind.capitalize()}: " if kind in WARNINGS or not title else ""
    lines = [
        line[_BODY_INDENT:] if line.startswith(" " * _BODY_INDENT) else line
        for line in body.split("\n")
        if not _FENCE_END.fullmatch(line)
    ]
    return label + (f"**{title}**\n\n" if title else "") + "\n".join(lines).strip("\n")
