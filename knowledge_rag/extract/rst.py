"""reStructuredText as Markdown, line for line.

Reads sections, lists, literal blocks, tables and the directives for code, admonitions and tabs, including
Sphinx's. Comments, targets and directives that include or generate something become blank: nothing is run,
and no referenced file is opened.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.shaping import (
    MAX_DEPTH,
    Shape,
    anchor_of,
    dedented,
    delimiter,
    indent_of,
    row,
    without_blank_ends,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.extract.shaping import Line

_ADORNMENT: Final = re.compile(r"([!-/:-@\[-`{-~])\1*$")
_LEAST_ADORNMENT: Final = 4
"""How many characters shorter than its title an underline may be."""
_BULLET: Final = re.compile(r"[-*+•‣⁃] +(?=\S)")
_NUMBERED: Final = re.compile(r"\(?(?P<number>\d{1,9}|[a-i]|#)[.)] +(?=\S)")
_EXPLICIT: Final = re.compile(r"\.\.(?: +|$)")
_DIRECTIVE: Final = re.compile(r"\.\. +(?P<name>[\w:.+-]*\w) ?:: *(?P<given>.*)$")
_TARGET: Final = re.compile(r"\.\. +_[^:]*:|__ ")
_FOOTNOTE: Final = re.compile(r"\.\. +\[#?(?P<name>[\w.-]+|#|\*)\] +")
_CALL: Final = re.compile(r"\[#?([\w.-]{1,40}|#|\*)\]_(?![\w_])")
_OPTION: Final = re.compile(r":[\w-]+:(?: |$)")
_GRID: Final = re.compile(r"\+(?:[-=]+\+)+$")
_SIMPLE: Final = re.compile(r"=+(?: +=+)+$")
_MISTAKEN: Final = re.compile(r"(?=#{1,6} |>|```|~~~|(?:=+|-+)$)")
"""The beginning of a line that only Markdown treats as a heading, a quotation, a fence or an underline."""

_CODE: Final = frozenset(
    ("code", "code-block", "sourcecode", "parsed-literal", "prompt", "code-tab", "shell", "console")
)
_ADMONITIONS: Final = frozenset(
    ("attention", "caution", "danger", "error", "hint", "important", "note", "tip", "warning", "seealso",
     "todo", "deprecated", "versionadded", "versionchanged")
)  # fmt: skip
_TABS: Final = frozenset(("tab", "tab-item", "group-tab"))
_FOLDED: Final = frozenset(
    ("admonition", "dropdown", "collapse", "details", "toggle", "topic", "sidebar")
)
"""Directives whose argument is the title of their content."""
_WITHOUT_WORDS: Final = frozenset(
    ("include", "literalinclude", "raw", "image", "figure", "toctree", "contents", "index", "meta",
     "highlight", "default-role", "role", "sectnum", "section-numbering", "header", "footer", "title", "math",
     "graphviz", "digraph", "mermaid", "uml", "plantuml", "currentmodule", "module", "automodule",
     "autoclass", "autofunction", "tags", "replace", "unicode", "date", "rst-class", "class", "csv-table")
)  # fmt: skip

_LINKED: Final = re.compile(r"(?:(?<![\w:]):[\w:+-]{1,40}:)?`([^`<>]++)<([^`<> ]++)>`(?:__?)?")
_ROLE: Final = re.compile(r"(?<![\w`:]):[A-Za-z][\w:+-]{0,40}:`([^`]+)`")
_LITERAL: Final = re.compile(r"(``.+?``)")
_LABEL: Final = re.compile(r"\.\. +_`?(?P<label>[^:`]+)`?:\s*$")
_REFERENCE: Final = re.compile(
    r"(?<![\w`:]):(?:std:)?(?:ref|numref):`(?:(?P<words>[^`<>]++)<)?(?P<label>[^`<>]++)>?`"
    r"|(?<![\w`:])`(?P<title>[^`<>]++)`_(?![\w_])|(?<![\w`:.-])(?P<word>[^\W_](?:[\w.-]{0,60}[^\W_])?)_(?![\w_])"
)
_FIELD: Final = re.compile(r":([A-Za-z][\w /-]{0,40}): +(?=\S)")


def read_rst(lines: Sequence[str]) -> list[str]:
    """Return the text as Markdown, line for line."""
    reader = _Reader(lines)
    reader.body(list(enumerate(lines)), "", top=True)
    return reader.shape.lines


def _titles_by_label(lines: Sequence[str]) -> dict[str, str]:
    """Return the sections' titles by the labels above them, and by themselves, in lower case (docutils, "Targets")."""
    titles: dict[str, str] = {}
    labels: list[str] = []
    for line, below in itertools.pairwise((*lines, "")):
        if label := _LABEL.match(line):
            labels.append(label["label"])
        elif _ADORNMENT.match(below) and line.strip() and not _ADORNMENT.match(line):
            title = " ".join(re.sub(r"[`<>]", " ", line).split())
            for each in (*labels, title):
                titles.setdefault(" ".join(each.lower().split()), title)
            labels = []
        elif line.strip() and not _ADORNMENT.match(line):
            labels = []
    return titles


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self.shape = Shape(lines, _titles_by_label(lines))
        self._styles: list[tuple[str, bool]] = []
        """Styles of the sections' titles, by level: the character, and whether it is also above the title."""
        self._depth = 0
        self._count = 0
        """The last item's number in the current list, 0 outside a list."""

    def body(self, lines: list[Line], indent: str, *, top: bool = False) -> None:
        """Write the blocks of a document, or of another block's content."""
        if self._depth > MAX_DEPTH:
            for number, text in lines:
                self.shape.put(number, indent + text)
            return
        self._depth += 1
        place, above = 0, self._count
        self._count = 0
        target = -1  # the first of the targets right above, which belong to the section below
        while place < len(lines):
            number, text = lines[place]
            if not text.strip():
                place += 1
                continue
            if top and (title := self._title(lines, place)):
                words, style, behind = title
                self.shape.put(number if target < 0 else target, self._heading(words, style))
                place, target = behind, -1
                continue
            if _TARGET.match(text):
                target = number if target < 0 else target
                place += 1
                continue
            target = -1
            place = self._block(lines, place, indent)
        self._count = above
        self._depth -= 1

    def _block(self, lines: list[Line], place: int, indent: str) -> int:
        """Write the block that begins at a line; return the place after it."""
        _, text = lines[place]
        if text.startswith(" "):
            behind = _indented(lines, place)
            self.body(dedented(lines[place:behind]), indent)
            return behind
        if _EXPLICIT.match(text):
            return self._explicit(lines, place, indent)
        if _BULLET.match(text) or _NUMBERED.match(text):
            return self._item(lines, place, indent)
        self._count = 0
        if _GRID.match(text) or _SIMPLE.match(text):
            return self._table(lines, place, indent)
        if text.startswith(">>> "):
            behind = _paragraph(lines, place)
            self.shape.code(lines[place:behind], -1, indent)
            return behind
        return self._text(lines, place, indent)

    # sections

    def _title(self, lines: list[Line], place: int) -> tuple[str, tuple[str, bool], int] | None:
        """Return the words and style of a title that begins at a line, and the place after it."""
        text = lines[place][1]
        below = lines[place + 1][1] if place + 1 < len(lines) else ""
        under = lines[place + 2][1] if place + 2 < len(lines) else ""
        if _ADORNMENT.match(text):
            if below.strip() and under == text and len(text) >= min(len(below), _LEAST_ADORNMENT):
                return below.strip(), (text[0], True), place + 3
            return None
        if text.startswith(" ") or not _ADORNMENT.match(below) or _BULLET.match(text):
            return None
        if len(below) < min(len(text), _LEAST_ADORNMENT):
            return None
        return text.strip(), (below[0], False), place + 2

    def _heading(self, words: str, style: tuple[str, bool]) -> str:
        if style not in self._styles:
            self._styles.append(style)
        level = min(self._styles.index(style) + 1, 6)
        return f"{'#' * level} {self._inline(words)}"

    # directives, comments and targets

    def _explicit(self, lines: list[Line], place: int, indent: str) -> int:
        number, text = lines[place]
        behind = _indented(lines, place + 1)
        inside = lines[place + 1 : behind]
        if found := _DIRECTIVE.match(text):
            name = found["name"].rpartition(":")[2].lower()
            self._directive(name, (number, found["given"].strip()), inside, indent)
        elif found := _FOOTNOTE.match(text):
            # a footnote as Markdown has it, by which a step that calls it finds it
            said = f"[^{found['name']}]: {text[found.end() :]}"
            self.body([(number, said), *dedented(inside)], indent)
        return behind

    def _directive(self, name: str, given: Line, inside: list[Line], indent: str) -> None:
        number, words = given
        count = 0
        while count < len(inside) and _OPTION.match(inside[count][1].strip()):
            count += 1
        content = dedented(inside[count:])
        if name in _CODE:
            opener = inside[count - 1][0] if count else number
            self.shape.code(content, opener, indent, words.partition(" ")[0].lower())
        elif name in _ADMONITIONS:
            self._admonition(name, given, content, indent)
        elif name in _TABS and not indent:
            self.body(content, "    ")
            self.shape.put(number, f'=== "{words}"')
        elif name in _FOLDED:
            self.body(content, indent)
            self.shape.container("note", words, number, content, indent)
        elif name not in _WITHOUT_WORDS:
            self.body(content, indent)
            if words and (name == "rubric" or name in _TABS or "table" in name):
                self.shape.put(number, f"{indent}**{words}**")

    def _admonition(self, kind: str, given: Line, content: list[Line], indent: str) -> None:
        number, words = given
        if not words:
            self.body(content, indent)
            self.shape.container(kind, "", number, content, indent)
            return
        lines = without_blank_ends([given, *content])
        self.body(lines, indent)
        self.shape.quote(lines, indent, kind.capitalize())

    # lists

    def _item(self, lines: list[Line], place: int, indent: str) -> int:
        number, text = lines[place]
        found = _BULLET.match(text) or _NUMBERED.match(text)
        assert found is not None  # noqa: S101 - the caller has looked
        mark = self._mark(found)
        behind = _indented(lines, place + 1)
        inside = lines[place + 1 : behind]
        width = min([found.end(), *(indent_of(it) for _, it in inside if it.strip())])
        own = [(number, text[found.end() :]), *((n, it[width:]) for n, it in inside)]
        self.body(own, indent + " " * len(mark))
        written = self.shape.lines[number][len(indent) + len(mark) :]
        self.shape.put(number, indent + mark + written)
        return behind

    def _mark(self, found: re.Match[str]) -> str:
        counted = found.groupdict().get("number")
        if counted is None:
            return "- " if found[0][0] not in "-*+" else f"{found[0][0]} "
        if counted == "#":
            counted = str(self._count + 1)
        if counted.isdigit():
            self._count = int(counted)
            return f"{counted}. "
        return f"{counted}) "

    # text and code

    def _text(self, lines: list[Line], place: int, indent: str) -> int:
        """Write a paragraph, the literal block that it introduces, or the definition of its term."""
        behind = _paragraph(lines, place)
        for number, text in lines[place:behind]:
            plain = _FIELD.sub(r"\1: ", text.removeprefix("| "), count=1)
            self.shape.put(number, indent + _MISTAKEN.sub(r"\\", self._inline(plain), count=1))
        number, last = lines[behind - 1]
        if not last.endswith("::"):
            return behind
        end = _indented(lines, behind)
        code = without_blank_ends(lines[behind:end])
        if not code:
            return behind
        self.shape.put(number, indent + ("" if last == "::" else self._inline(last[:-1])))
        self.shape.code(code, code[0][0] - 1, indent)
        return end

    # tables

    def _table(self, lines: list[Line], place: int, indent: str) -> int:
        behind = place
        borders = 0
        is_grid = bool(_GRID.match(lines[place][1]))
        border = _GRID if is_grid else _SIMPLE
        while behind < len(lines) and (lines[behind][1].strip() or (not is_grid and borders < 2)):
            borders += bool(border.match(lines[behind][1]))
            behind += 1
        table = lines[place:behind]
        heads = [n for n, (_, text) in enumerate(table) if border.match(text)]
        borders_at = set(heads)
        if len(heads) < 2:
            self.shape.put(table[0][0], indent + table[0][1])
            return place + 1
        columns = [it.span() for it in re.finditer(r"[-=]+" if is_grid else "=+", table[0][1])]
        double = [n for n in heads[1:-1] if "=" in table[n][1]]
        head = double[0] if double else heads[1]
        for n, (number, text) in enumerate(table):
            cells = _cells(text, columns, is_grid=is_grid)
            if n == head and head != heads[-1]:
                self.shape.put(number, indent + delimiter(len(columns)))
            elif n in (heads[0], heads[-1]):
                continue
            elif n in borders_at or not text.strip():
                self.shape.put(number, indent + row([""] * len(columns)))
            else:
                self.shape.put(number, indent + row(map(self._inline, cells)))
        return behind

    def _inline(self, text: str) -> str:
        """Return running text with Markdown's links and code marks, and without the names of roles."""
        parts = _LITERAL.split(text)
        for number, part in enumerate(parts):
            if number % 2 == 0:
                referred = _REFERENCE.sub(self._referred, _CALL.sub(r"[^\1]", part))
                linked = _LINKED.sub(lambda it: f"[{it[1].strip()}]({it[2]})", referred)
                parts[number] = _ROLE.sub(r"`\1`", linked)
            elif "`" not in part.strip("`"):
                parts[number] = f"`{part.strip('`')}`"
        return "".join(parts)

    def _referred(self, found: re.Match[str]) -> str:
        label = found["label"] or found["title"] or found["word"]
        title = self.shape.titles.get(" ".join(label.lower().split()))
        said = (found["words"] or "").strip() or (label if found["title"] else title)
        return f"[{said}](#{anchor_of(title)})" if title else found[0]


def _cells(text: str, columns: Sequence[tuple[int, int]], *, is_grid: bool) -> list[str]:
    ends = [start for start, _ in columns[1:]]
    if is_grid:
        return [text[start:end].strip("| ") for start, end in columns]
    return [text[start:end] for (start, _), end in zip(columns, [*ends, len(text)], strict=True)]


def _indented(lines: Sequence[Line], place: int) -> int:
    """Return the place after the consecutive indented lines from here on, including blank ones between them."""
    behind = place
    while place < len(lines) and (not lines[place][1].strip() or indent_of(lines[place][1])):
        place += 1
        behind = place if lines[place - 1][1].strip() else behind
    return behind


def _paragraph(lines: Sequence[Line], place: int) -> int:
    """Return the place after the paragraph that begins at a line."""
    place += 1
    while place < len(lines):
        text = lines[place][1]
        if not text.strip() or text.startswith(" ") or _BULLET.match(text) or _EXPLICIT.match(text):
            break
        place += 1
    return place
