"""MDX, and Markdown with ERB, as Markdown, line for line: imports, comments, tags and programs become blank.

Components that are admonitions or tabs become Markdown's. Nothing is run.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.shaping import MAX_DEPTH, WARNINGS, fenced, indent_of, is_within

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """Return the text as Markdown, line for line."""
    return _Components(_without(_COMMENT, lines)).write()


def read_erb(lines: Sequence[str]) -> list[str]:
    """Return the text as Markdown, line for line; a program's output is shown as ``{its expression}``."""
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
