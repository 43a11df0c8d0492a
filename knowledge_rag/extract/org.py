"""Org as Markdown, line for line: headings, blocks, lists and tables; drawers and keywords become blank."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.shaping import (
    MAX_DEPTH,
    WARNINGS,
    Shape,
    delimiter,
    first_behind,
    indent_of,
    outside_code,
    row,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.extract.shaping import Line

_HEADING: Final = re.compile(
    r"(?P<stars>\*{1,15}) +(?:(?P<state>TODO|DONE|NEXT|WAITING|CANCELLED|STARTED|COMMENT) +)?(?:\[#[A-Z0-9]\] +)?(?P<words>\S.*)$"
)
_GONE_STATES: Final = frozenset(("CANCELLED", "COMMENT"))
_GONE_TAGS: Final = re.compile(r":(?:archive|obsolete|deprecated|noexport):", re.IGNORECASE)
_TAGS: Final = re.compile(r":[\w@#%:]+:$")
_TITLE: Final = re.compile(r"#\+title: *(?P<words>\S.*)$", re.IGNORECASE)
_BEGIN: Final = re.compile(r" *#\+begin_(?P<kind>[\w-]+)(?: +(?P<given>\S+))?.*$", re.IGNORECASE)
_DRAWER: Final = re.compile(r" *:[A-Za-z][\w-]*: *$")
_END: Final = re.compile(r" *(?:#\+end_(?P<kind>[\w-]+)|:END:) *$", re.IGNORECASE)
"""Of a block, or of a drawer."""
_SILENT: Final = re.compile(r" *(?:#(?: |$)|#\+|(?:SCHEDULED|DEADLINE|CLOSED): *[<\[])")
_RESULTS: Final = re.compile(r" *#\+results.*:", re.IGNORECASE)
_FIXED: Final = re.compile(r" *: (?P<text>.*)$")
_ROW: Final = re.compile(r" *\|")
_RULE: Final = re.compile(r" *\|[-+]+\|? *$")
_ITEM: Final = re.compile(r" *(?:[-+]|\d{1,9}[.)]| \*) +")
_COUNTER: Final = re.compile(r"^( *)\d+([.)]) +\[@(\d{1,9})\]")
_TERM: Final = re.compile(r"^( *[-+] +)(\S.*?) :: +")
_CODE: Final = frozenset(("src", "example"))
_UNREAD: Final = frozenset(("comment", "export", "latex", "html"))

_INLINE: Final = (
    # partly done, which Markdown's readers take for cancelled
    (re.compile(r"^(\s*(?:[-+]|\d{1,9}[.)]) +)\[-\](?= )"), r"\1[ ]"),
    (re.compile(r"\[\[([^\[\]]+)\]\[([^\[\]]+)\]\]"), r"[\2](\1)"),
    (re.compile(r"\[\[([^\[\]]+)\]\]"), r"\1"),
    # as in Org: the surrounding characters decide, so that a command's flags may have them
    (
        re.compile(
            r"(?:^|(?<=[\s('\"{*/_+-]))([=~])(?=[^\s`])([^`\n]{0,400}?[^\s`])\1(?=[\s.,;:!?'\")}\[*/_+-]|$)"
        ),
        r"`\2`",
    ),
)
_ALL_STRUCK: Final = re.compile(
    r"^((?:\s*(?:[-+]|\d{1,9}[.)]) +(?:\[[ xX-]\] +)?)?)\+(?=\S)([^+\n]*\S)\+$"
)
"""With code in it as well, which ends any other mark."""
_MARKED: Final = (
    (re.compile(r"(?<![\w*])\*(?=\S)([^*\n]*?\S)\*(?![\w*])"), r"**\1**"),
    (re.compile(r"(?<![\w+])\+(?=\S)([^+\n]*?\S)\+(?![\w+])"), r"~~\1~~"),
)


def read_org(lines: Sequence[str]) -> list[str]:
    """Return the text as Markdown, line for line."""
    shape = Shape(lines, {})
    titled = any(_TITLE.match(line) for line in lines)
    place = 0
    numbered = list(enumerate(lines))
    while place < len(lines):
        if found := _HEADING.match(lines[place]):
            level = min(len(found["stars"]) + titled, 6)
            words, _, tags = found["words"].rpartition(" ")
            tagged = bool(words.strip()) and _TAGS.match(tags) is not None
            said = words.rstrip() if tagged else found["words"]
            # text that Org keeps but doesn't publish is no step
            gone = found["state"] in _GONE_STATES or (tagged and _GONE_TAGS.search(tags))
            shape.put(place, f"{'#' * level} {_inline(said)}{' (obsolete)' if gone else ''}")
            place += 1
            continue
        behind = place
        while behind < len(lines) and not _HEADING.match(lines[behind]):
            behind += 1
        _Section(shape, numbered[place:behind]).write()
        place = behind
    return shape.lines


class _Section:
    """The lines below a heading; text that is indented as a whole loses that indent."""

    def __init__(self, shape: Shape, lines: list[Line], depth: int = 0) -> None:
        self._shape = shape
        self._depth = depth
        texts = [text for _, text in lines if text.strip() and not _SILENT.match(text)]
        indent = min(map(indent_of, texts), default=0)
        self._lines = [(n, text[min(indent, indent_of(text)) :]) for n, text in lines]
        self._ends: dict[str, list[int]] = {}
        for place, (_, text) in enumerate(self._lines):
            if ended := _END.match(text):
                self._ends.setdefault((ended["kind"] or "").lower(), []).append(place)

    def write(self) -> None:
        place = 0
        while place < len(self._lines):
            place = self._block(place)

    def _block(self, place: int) -> int:
        number, text = self._lines[place]
        if begun := _BEGIN.match(text):
            return self._delimited(place, begun)
        if _RESULTS.match(text):
            return self._behind(place + 1, _FIXED)
        if _DRAWER.match(text):
            end = first_behind(self._ends.get("", []), place)
            return end + 1 if end else place + 1
        if title := _TITLE.match(text):
            self._shape.put(number, f"# {_inline(title['words'])}")
        elif _FIXED.match(text):
            return self._fixed(place)
        elif text.lstrip().startswith("|"):
            return self._table(place)
        elif not _SILENT.match(text):
            plain = _COUNTER.sub(r"\1\3\2", _TERM.sub(r"\1**\2:** ", text))
            self._shape.put(number, _inline(plain))
        return place + 1

    def _behind(self, place: int, pattern: re.Pattern[str]) -> int:
        """Return the place after the consecutive lines from here on that match a pattern."""
        while place < len(self._lines) and pattern.match(self._lines[place][1]):
            place += 1
        return place

    def _delimited(self, place: int, begun: re.Match[str]) -> int:
        kind = begun["kind"].lower()
        end = first_behind(self._ends.get(kind, []), place)
        if not end:
            return place + 1
        number, text = self._lines[place]
        inside = self._lines[place + 1 : end]
        indent = " " * indent_of(text)
        if kind in _CODE:
            code = [(n, line[1:] if line.startswith((",*", ",#")) else line) for n, line in inside]
            closer = self._lines[end][0] if end < len(self._lines) else len(self._shape.lines)
            self._shape.fence(code, number, closer, indent, (begun["given"] or "").lower())
        elif kind not in _UNREAD and self._depth < MAX_DEPTH:
            _Section(self._shape, inside, self._depth + 1).write()
            for n, _ in inside:
                written = self._shape.lines[n]
                self._shape.put(n, indent + written if written else "")
            if kind == "quote":
                for n, _ in inside:
                    self._shape.put(n, f"{indent}> {self._shape.lines[n].removeprefix(indent)}")
            elif kind in WARNINGS or kind in ("note", "tip", "hint"):
                self._shape.container(kind, "", number, inside, indent)
        return end + 1

    def _fixed(self, place: int) -> int:
        """Write lines with a leading colon, which are code: indented below a blank line, else in code marks."""
        before = self._lines[place - 1][1] if place else ""
        while place < len(self._lines) and (found := _FIXED.match(self._lines[place][1])):
            number, text = self._lines[place]
            indent = " " * indent_of(text)
            self._shape.put(
                number,
                f"{indent}`{found['text']}`" if before.strip() else f"{indent}    {found['text']}",
            )
            place += 1
        return place

    def _table(self, place: int) -> int:
        behind = self._behind(place, _ROW)
        table = self._lines[place:behind]
        has_head = len(table) > 2 and _RULE.match(table[1][1])
        for order, (number, text) in enumerate(table):
            indent = " " * indent_of(text)
            cells = [_inline(cell) for cell in text.strip().strip("|").split("|")]
            if has_head and order == 1:
                line = delimiter(len(table[0][1].strip().strip("|").split("|")))
            elif _RULE.match(text):
                line = row([""]) if has_head else ""
            else:
                line = row(cells) if has_head else "- " + " | ".join(cell.strip() for cell in cells)
            self._shape.put(number, indent + line if line else "")
        return behind


def _inline(text: str) -> str:
    for pattern, written in _INLINE:
        text = pattern.sub(written, text)
    text = _ALL_STRUCK.sub(r"\1~~\2~~", text)
    return outside_code(text, _marked)


def _marked(text: str) -> str:
    for pattern, written in _MARKED:
        text = pattern.sub(written, text)
    return text
