"""AsciiDoc as Markdown, line for line.

Reads sections, lists with their attached blocks, listings, admonitions and tables. Attributes, comments,
conditions and include macros become blank: no referenced file is opened.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.shaping import (
    MAX_DEPTH,
    Shape,
    anchor_of,
    delimiter,
    first_behind,
    outside_code,
    row,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.extract.shaping import Line

_HEADING: Final = re.compile(r"(?P<marks>={1,6}|#{1,6}) +(?P<words>\S.*)$")
_UNDERLINE: Final = re.compile(r"([=~^+-])\1+$")
_UNDERLINES: Final = "=-~^+"
"""By level."""
_ENTRY: Final = re.compile(r":!?[A-Za-z0-9_][\w-]*!?:(?: .*)?$")
_SILENT: Final = re.compile(
    r"(?:ifdef|ifndef|ifeval|endif|include|image|video|audio|toc|ifn?def)::|<<<$|//(?!/)"
)
_ATTRIBUTES: Final = re.compile(r"\[(?P<given>[^\]]*)\]\]?$")
_BLOCK_TITLE: Final = re.compile(r"\.(?P<words>[^\s.].*)$")
_DELIMITER: Final = re.compile(
    r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|`{3}(?=[\w+-]*$)|[|,:!]===)"
)
_ITEM: Final = re.compile(r" *(?P<mark>\*{1,6}|\.{1,6}|-|\d{1,9}\.|[a-z]\.) +(?P<words>\S.*)$")
_CALLOUT: Final = re.compile(r"<(?P<number>\d{1,3}|\.)> +(?P<words>\S.*)$")
_TERM: Final = re.compile(r" *(?P<words>[^\s:][^:]*?)(?P<mark>:{2,4}|;;)(?: +(?P<said>\S.*))?$")
_ADMONITION: Final = re.compile(r"(?P<kind>NOTE|TIP|IMPORTANT|WARNING|CAUTION): +(?P<words>\S.*)$")
_KINDS: Final = frozenset(("note", "tip", "important", "warning", "caution"))
_CALLOUTS: Final = re.compile(
    r"(?:\s{1,8}(?:#|//|--|;;)?\s{0,8}<(?:!--)?(?:\d{1,3}|\.)(?:--)?>){1,9}$"
)
_START: Final = re.compile(r"start *= *\"?(\d{1,9})")
_CELL: Final = re.compile(r"(?:^|(?<=\s))(?:[\d.]+[+*])?[<^>.]{0,3}[aehlmsd]?\|")
_LANGUAGE: Final = re.compile(r"[\w+#.-]{1,20}$")

_INLINE: Final = (
    (
        re.compile(
            r"\[\.?(?:line-through|strike|obsolete|deprecated)\](#{1,2})(?=\S)(.+?)(?<=\S)\1(?![\w#])"
        ),
        r"~~\2~~",
    ),
    (
        re.compile(
            r"(?:link:|(?<![\w(\[`]))(https?://[^\s\[\]]{1,500}+|(?<=link:)[^\s\[\]]{1,500}+)\[([^\[\]^]+)\^?\]"
        ),
        r"[\2](\1)",
    ),
    (re.compile(r"xref:([^\s\[\]]{1,300}+)\[([^\[\]]+)\]"), r"[\2](\1)"),
    (re.compile(r"<<([^<>,]+), *([^<>]+)>>"), r"[\2](#\1)"),
    (re.compile(r"(?<!\w)`\+([^`]+)\+`"), r"`\1`"),
)
_BOLD: Final = re.compile(r"(?<![\w*\\])\*(?=\S)([^*\n]*?\S)\*(?![\w*])")
_UNSEEN: Final = re.compile(r"icon:[\w-]{0,40}\[[^\]]{0,80}\] ?| ?\[\[[\w:.-]{1,120}\]\]")
"""Icons, and anchors in running text."""


_ID: Final = re.compile(r"\[(?:\[|[^\[\],#]*#|id=\"?)(?P<id>[\w:.-]+)[^\[\]]*\]{1,2}")
_REFERENCE: Final = re.compile(
    r"<<#?(?P<id>[\w:.-]+)(?:, *(?P<words>[^<>]+))?>>|xref:#?(?P<of>[\w:.-]+)\[(?P<said>[^\[\]]*)\]"
)


def read_asciidoc(lines: Sequence[str]) -> list[str]:
    """Return as many lines of Markdown."""
    shape = Shape(lines, _titles_by_id(lines))
    _Body(shape, list(enumerate(lines)), "").write()
    return shape.lines


def _titles_by_id(lines: Sequence[str]) -> dict[str, str]:
    """Return the sections' titles by their ids: the anchor above or in them, or the one made from their words.

    A reference without its own words is shown as the title (AsciiDoc, "Cross References").
    """
    titles: dict[str, str] = {}
    ids: list[str] = []
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        found = _HEADING.match(line)
        if found or (_UNDERLINE.match(below) and abs(len(below) - len(line)) <= 1):
            words = found["words"] if found else line
            ids += [it["id"] for it in _ID.finditer(words)]
            title = " ".join(re.sub(r"[\[\]<>]", " ", _ID.sub("", words)).split())
            for each in (*ids, "_" + anchor_of(title).replace("-", "_"), title):
                titles.setdefault(each, title)
            ids = []
        elif given := _ID.match(line):
            ids.append(given["id"])
        elif line.strip() and not _ATTRIBUTES.match(line):
            ids = []
    return titles


@dataclass(slots=True)
class _Level:
    """An open list: its marks, the number of its last item, and the indent of text attached to that."""

    mark: str
    number: int
    pad: str


class _Pending:
    """The attributes in the lines above a block."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self.names: list[str] = []
        self.start = 1
        self.columns = 0

    def take(self, place: int, given: str) -> None:
        self.places.append(place)
        self.names += [name.strip().strip('"') for name in re.split(r"[,.%]", given.lower())]
        if start := _START.search(given):
            self.start = int(start[1])
        if columns := re.search(r"cols *= *\"([^\"]+)\"", given):
            repeated = re.match(r"(\d{1,2})\*", columns[1])
            self.columns = int(repeated[1]) if repeated else len(columns[1].split(","))

    @property
    def kind(self) -> str:
        return next((name for name in self.names if name in _KINDS), "")

    @property
    def is_code(self) -> bool:
        return any(name in ("source", "listing", "literal") for name in self.names)

    @property
    def language(self) -> str:
        if "source" not in self.names:
            return ""
        behind = self.names[self.names.index("source") + 1 :]
        return next((name for name in behind if name and _LANGUAGE.match(name)), "")


class _Body:
    """The blocks of a document, or of another block's content, at a depth above 0."""

    def __init__(self, shape: Shape, lines: list[Line], indent: str, depth: int = 0) -> None:
        self._shape = shape
        self._lines = lines
        self._closers: dict[str, list[int]] = {}
        for place, (_, text) in enumerate(lines):
            if _DELIMITER.match(text):
                self._closers.setdefault(text, []).append(place)
        self._indent = indent
        self._depth = depth
        self._levels: list[_Level] = []
        self._pending = _Pending()
        self._apart = True  # a blank line is right above
        self._attached = False

    @property
    def _here(self) -> str:
        """The indent of text in the innermost item."""
        return self._indent + "".join(level.pad for level in self._levels)

    def write(self) -> None:
        if self._depth > MAX_DEPTH:
            for number, text in self._lines:
                self._shape.put(number, self._indent + text)
            return
        place = 0
        while place < len(self._lines):
            text = self._lines[place][1]
            if not text.strip():
                self._apart, self._attached = True, False
                place += 1
                continue
            if text == "+" and self._levels:
                self._apart, self._attached = False, True
                place += 1
                continue
            place = self._block(place)

    def _block(self, place: int) -> int:
        number, text = self._lines[place]
        if self._is_silent(text):
            return place + 1
        if not self._depth and (behind := self._heading(place)):
            return behind
        if given := _ATTRIBUTES.match(text):
            self._pending.take(number, given["given"])
            return place + 1
        pending, self._pending = self._pending, _Pending()
        if _DELIMITER.match(text) and (end := self._end_of(place)):
            self._delimited(place, end, pending)
            return end + 1
        if item := _ITEM.match(text):
            self._item(number, item["mark"], item["words"], pending)
        elif callout := _CALLOUT.match(text):
            self._shape.put(
                number, f"{self._here}({callout['number']}) {self._inline(callout['words'])}"
            )
        elif title := _BLOCK_TITLE.match(text):
            self._leave_lists()
            self._shape.put(number, f"{self._here}**{self._inline(title['words'])}**")
            self._pending = pending
        elif (term := _TERM.match(text)) and (self._apart or self._levels):
            self._term(number, term)
        else:
            return self._paragraph(place, pending)
        self._apart = False
        return place + 1

    def _is_silent(self, text: str) -> bool:
        if text.startswith("//") and not text.startswith("///") and self._apart:
            self._levels.clear()  # separates lists
        return bool(_SILENT.match(text) or _ENTRY.match(text))

    def _leave_lists(self) -> None:
        """End the lists above if the next line isn't attached to them."""
        if self._apart and not self._attached:
            self._levels.clear()

    # sections

    def _heading(self, place: int) -> int:
        """Write the title that begins at a line; return the place after it, 0 if there is none."""
        number, text = self._lines[place]
        behind = place + 1
        if found := _HEADING.match(text):
            level, words = len(found["marks"]), found["words"].removesuffix(f" {found['marks']}")
        elif self._apart and (level := self._underlined(place)):
            words, behind = text, place + 2
        else:
            return 0
        self._levels.clear()
        first = self._pending.places[0] if self._pending.places else number
        self._pending = _Pending()
        self._shape.put(first, f"{'#' * level} {self._inline(words)}")
        self._apart = True
        while level == 1 and behind < len(self._lines) and self._lines[behind][1].strip():
            behind += 1  # authors, revision, attributes
        return behind

    def _underlined(self, place: int) -> int:
        text = self._lines[place][1]
        below = self._lines[place + 1][1] if place + 1 < len(self._lines) else ""
        if not _UNDERLINE.match(below) or abs(len(below) - len(text)) > 1 or text.startswith(" "):
            return 0
        return _UNDERLINES.index(below[0]) + 1 if re.search(r"\w", text) else 0

    # blocks

    def _end_of(self, place: int) -> int:
        """Return the place of the line that closes a delimited block; 0 if there is none."""
        text = self._lines[place][1]
        return first_behind(self._closers.get("```" if text.startswith("```") else text, []), place)

    def _delimited(self, place: int, end: int, pending: _Pending) -> None:
        (number, text), inside = self._lines[place], self._lines[place + 1 : end]
        closer = self._lines[end][0]
        if not self._attached:
            self._levels.clear()
        here = self._here
        if text[-4:] in ("|===", "!==="):
            self._table(number, inside, pending)
        elif text[:2] in ("--", "..", "``") and (len(text) > 2 or pending.is_code):
            language = pending.language or text.lstrip("`").strip("-.")
            code = [(n, _CALLOUTS.sub("", line)) for n, line in inside]
            self._shape.fence(code, number, closer, here, language)
        elif text[:2] not in ("//", "++"):
            _Body(self._shape, inside, here, self._depth + 1).write()
            if pending.kind:
                self._shape.container(pending.kind, "", number, inside, here)
            elif text[0] == "_":
                for n, _ in inside:
                    self._shape.put(n, f"{here}> {self._shape.lines[n].removeprefix(here)}")
        self._apart = True

    def _paragraph(self, place: int, pending: _Pending) -> int:
        """Write a paragraph, which may be literal, an admonition or a continuation of an item's text."""
        number, text = self._lines[place]
        if not self._apart and not self._attached and self._levels and not pending.places:
            self._shape.put(number, self._here + self._inline(text.strip()))
            return place + 1
        is_literal = self._apart and text.startswith(" ")
        if not is_literal:
            self._leave_lists()
        behind = place
        while behind < len(self._lines) and self._goes_on(behind, is_first=behind == place):
            behind += 1
        lines = self._lines[place:behind]
        here = self._here
        self._apart = False
        if pending.is_code or is_literal:
            opener = pending.places[-1] if pending.is_code else number - 1
            code = [(n, _CALLOUTS.sub("", line)) for n, line in lines]
            self._shape.code(code, opener, here, pending.language)
            return behind
        found = _ADMONITION.match(text)
        kind = found["kind"].lower() if found else pending.kind
        for n, line in lines:
            words = found["words"] if found and n == number else line.strip()
            self._shape.put(n, here + self._inline(words))
        if kind:
            self._shape.quote(lines, here, kind.capitalize())
        return behind

    def _goes_on(self, place: int, *, is_first: bool) -> bool:
        text = self._lines[place][1]
        if is_first:
            return True
        return (
            bool(text.strip())
            and text != "+"
            and not (
                _ITEM.match(text)
                or _CALLOUT.match(text)
                or self._is_silent(text)
                or _ATTRIBUTES.match(text)
                or (_DELIMITER.match(text) and self._end_of(place))
            )
        )

    # lists

    def _item(self, number: int, mark: str, words: str, pending: _Pending) -> None:
        counted = mark[:-1] if mark[0].isalnum() else ""
        key = "1." if counted.isdigit() else "a." if counted else mark
        level = self._open(key, pending.start - 1)
        level.number = int(counted) if counted.isdigit() else level.number + 1
        if counted and not counted.isdigit():
            written = f"{counted}) "
        elif mark[0] == ".":
            written = f"{level.number}. "
        else:
            written = f"{counted}. " if counted else "- "
        level.pad = ""
        self._shape.put(number, f"{self._here}{written}{self._inline(words)}")
        level.pad = " " * len(written)

    def _open(self, mark: str, number: int) -> _Level:
        """Return the list of an item with this mark; lists inside it end."""
        known = next((n for n, level in enumerate(self._levels) if level.mark == mark), None)
        if known is None:
            self._levels.append(_Level(mark, number, ""))
        else:
            del self._levels[known + 1 :]
        return self._levels[-1]

    def _term(self, number: int, term: re.Match[str]) -> None:
        self._open(term["mark"], 0)
        said = f" {self._inline(term['said'])}" if term["said"] else ""
        self._shape.put(number, f"{self._here}**{self._inline(term['words'])}:**{said}")

    # tables

    def _table(self, opener: int, inside: list[Line], pending: _Pending) -> None:
        rows = [
            (n, _CELL.split(text)[1:])
            for n, text in inside
            if text.strip() and not text.startswith("//")
        ]
        if not rows:
            return
        columns = pending.columns or len(rows[0][1])
        if columns < 2 or any(len(cells) != columns for _, cells in rows):
            self._cells(rows, inside, columns)
            return
        here = self._here
        (first, head), *others = rows
        below = next(place for place, _ in inside if place >= first)
        is_apart = self._shape.is_blank(first + 1) and others
        self._shape.put(first if is_apart else opener, here + row(map(self._inline, head)))
        self._shape.put(first + 1 if is_apart else below, here + delimiter(columns))
        last = rows[-1][0]
        for place, text in inside:
            if not text.strip() and (first + 1 if is_apart else first) < place < last:
                self._shape.put(place, here + row([""] * columns))
        for place, cells in others:
            self._shape.put(place, here + row(map(self._inline, cells)))

    def _cells(self, rows: list[tuple[int, list[str]]], inside: list[Line], columns: int) -> None:
        """Write a table with multi-line rows as a list: an item for each row."""
        texts = dict(inside)
        count = 0
        for place, cells in rows:
            words = " | ".join(cell.strip() for cell in cells) if cells else texts[place].strip()
            mark = "- " if cells and count % max(columns, 1) == 0 else "  "
            self._shape.put(place, f"{self._here}{mark}{self._inline(words)}")
            count += len(cells)

    def _inline(self, text: str) -> str:
        def named(found: re.Match[str]) -> str:
            title = self._shape.titles.get(found["id"] or found["of"])
            words = found["words"] or found["said"] or title
            return f"[{words}](#{anchor_of(title)})" if title else found[0]

        return _inline(outside_code(text, lambda words: _REFERENCE.sub(named, words)))


def _inline(text: str) -> str:
    """Return running text with Markdown's links and strong emphasis; code stays."""
    for pattern, written in _INLINE:
        text = pattern.sub(written, text)
    return outside_code(text, lambda words: _BOLD.sub(r"**\1**", _UNSEEN.sub("", words)))
