"""Turns a page's elements into Markdown lines, in one walk over them.

The text is written so that the chunker finds the same headings and blocks in it as a reader of the
page does: text that only looks like a heading, a fence or a tag at a line's start is escaped. A page's
text has no lines of its own, so each sentence gets one; a long one is wrapped between words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.extract.html_shown import Selection, main_part
from knowledge_rag.extract.shaping import fence_around

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from selectolax.lexbor import LexborHTMLParser, LexborNode


def walk(
    root: LexborNode,
    enter: Callable[[LexborNode], bool],
    leave: Callable[[LexborNode], None],
) -> None:
    """Visit everything below an element in page order, to any depth.

    ``enter`` returns whether to visit a node's children, and ``leave`` is then called after these.
    """
    above: list[LexborNode] = []
    node = root.child
    while node is not None:
        if enter(node):
            child = node.child
            if child is not None:
                above.append(node)
                node = child
                continue
            leave(node)
        following = node.next
        while following is None and above:
            node = above.pop()
            leave(node)
            following = node.next
        node = following


MAX_LINE: Final = 240
"""Maximum characters of a line; a longer word or piece of code stays whole."""

GLUE: Final = "\ue000"
"""Represents a space where a line must not be broken: inside code."""

_SENTENCE_END: Final = re.compile(
    r"(?<=[^\W\d_A-Z][^\W_A-Z][.!?]) (?=[A-Z\"'(\[`\u00c0-\u00de])"
    r"|(?<=[)\]\"'\d`%][.!?]) (?=[A-Z\"'(\[`\u00c0-\u00de])"
    r"|(?<=[.!?][)\"'\]]) (?=[A-Z\u00c0-\u00de])|(?<=[\u3002\uff01\uff1f])(?=[^\s\u300d\u300f\uff09])"
)
"""After a whole word or a number, so not after ``Dr.`` or ``e.g.``; before a capital letter."""


def to_lines(text: str) -> Iterator[str]:
    """Cut one paragraph, with single spaces, into lines."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        yield from _wrapped(text, start, end.start())
        start = end.end()
    yield from _wrapped(text, start, len(text))


def _wrapped(text: str, start: int, end: int) -> Iterator[str]:
    while end - start > MAX_LINE:
        at = text.rfind(" ", start + 1, start + MAX_LINE + 1)
        if at < 0:
            at = text.find(" ", start + MAX_LINE, end)
        if at < 0:
            break
        yield text[start:at]
        start = at + 1
    if start < end:
        yield text[start:end]


CODE: Final = frozenset(("code", "kbd", "samp", "tt"))
STRIKE: Final = "~~"
"""Markdown's mark for struck-out text, which must never read as if it were still valid."""
INLINE: Final = frozenset(
    ("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "data", "del", "dfn", "em", "font",
     "i", "ins", "label", "mark", "nobr", "output", "q", "rb", "rp", "rt", "ruby", "s", "slot", "small",
     "span", "strike", "strong", "sub", "sup", "time", "u", "var", "wbr", *CODE)
)  # fmt: skip
"""Elements that do not end a line, except ``br``; any other one does."""

_SPACE: Final = re.compile(r"[ \t\n\r\f\u00a0]+")
_BACKTICKS: Final = re.compile(r"`+")


class Inline:
    """Collects running text, with code in backticks and struck-out text between tildes."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._parts: list[str] = []
        self._code = 0  # depth of nested code
        self._code_start = 0
        self._struck = 0  # depth of nested struck-out text

    @property
    def is_struck(self) -> bool:
        """Whether the next text is struck out."""
        return self._struck > 0

    def meet(self, node: LexborNode) -> bool | None:
        """Read a node of running text; return whether to visit its children, ``None`` if it ends the line."""
        if node.is_text_node:
            self.text(node.text_content or "")
            return False
        if not node.is_element_node or not self._selection.takes(node):
            return False
        tag = node.tag or ""
        if tag not in INLINE:
            return None
        self._enter(node)
        return tag != "br"

    def text(self, text: str) -> None:
        """Add text as in the page; consecutive blanks count as one."""
        text = _SPACE.sub(" ", text.replace(GLUE, "\ufffd"))
        is_begun = self._struck and not self._code and self._parts[-1:] == [STRIKE]
        if is_begun and text.startswith(" "):  # Markdown's mark must touch a word
            self._parts.insert(-1, " ")
            text = text[1:]
        if text:
            self._parts.append(text)

    def strike(self, node: LexborNode, step: int) -> None:
        """Enter (1) or leave (-1) an element of any kind, which may strike out what is in it."""
        if self._selection.strikes(node):
            self._struck += step
            if self._struck == (step > 0):
                last = self._parts.pop() if step < 0 and self._parts else ""
                self._parts += filter(None, (last.rstrip(" "), STRIKE, " " * last.endswith(" ")))

    def _enter(self, node: LexborNode) -> None:
        tag = node.tag
        if tag == "br":
            self._parts.append("\n")
            return
        self.strike(node, 1)
        if tag == "q":
            self._parts.append('"')
        elif tag in CODE:
            if not self._code:
                self._code_start = len(self._parts)
            self._code += 1

    def leave(self, node: LexborNode) -> None:
        """End an element of running text."""
        if node.tag == "q":
            self._parts.append('"')
        elif node.tag in CODE:
            self._code -= 1
            if not self._code:
                self._close_code()
        self.strike(node, -1)

    def take(self) -> list[str]:
        """Return the collected text, a string for each line that the page itself breaks; empty it."""
        if self._code:  # a block within code: text after it is still code
            self._close_code()
        struck = [STRIKE] if self._struck else []  # so is struck-out text after a block
        whole = "".join([*self._parts, *struck]).replace(STRIKE + STRIKE, "")
        self._parts = struck
        self._code_start = len(self._parts)
        if not whole.replace(STRIKE, "").strip():
            whole = ""
        lines = (" ".join(part.split(" ")) for part in whole.split("\n"))
        return [line for part in lines if (line := _SPACE.sub(" ", part).strip(" "))]

    def one_line(self) -> str:
        """Return the collected text as one line."""
        return " ".join(self.take()).replace(GLUE, " ")

    def _close_code(self) -> None:
        inside = "".join(self._parts[self._code_start :]).replace("\n", " ")
        del self._parts[self._code_start :]
        code = _SPACE.sub(" ", inside)
        if code.strip():
            before, after = code[0] == " ", code[-1] == " "
            self._parts.append(" " * before + _code_span(code.strip()) + " " * after)
        elif code:
            self._parts.append(" ")


def read_inline(root: LexborNode, selection: Selection) -> str:
    """Return all text below an element as one line."""
    inline = Inline(selection)

    def enter(node: LexborNode) -> bool:
        met = inline.meet(node)
        if met is None:
            inline.text(" ")
        return met is not False

    def leave(node: LexborNode) -> None:
        inline.leave(node)
        if node.tag not in INLINE:
            inline.text(" ")

    walk(root, enter, leave)
    return inline.one_line()


def _code_span(code: str) -> str:
    longest = max((len(run) for run in _BACKTICKS.findall(code)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if code[0] == "`" or code[-1] == "`" else ""
    return (ticks + pad + code + pad + ticks).replace(" ", GLUE)


MAX_INDENTS: Final = 12
"""Maximum levels of lists and quotes; deeper ones are shown at the last."""

_MARKS: Final = re.compile(r"#{1,6}(?:\s|$)|<|`{3,}[^`]*$|~{3,}|(?:=+|-+)\s*$|(?:[-*_]\s*){3,}$")
"""A beginning of a line that Markdown treats as another kind of block."""
_CLOSING: Final = re.compile(r"(?:^|(?<= ))#+$")
"""Hash signs that Markdown treats as the end of a heading."""
_LINE_END: Final = re.compile(r"\r\n?|\n")


class Lines:
    """The lines of the text, as they are written."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._indents: list[list[str]] = []  # prefix of the next line, and of the others
        self._levels = 0
        self._gap = False

    def text(self) -> str:
        r"""Return all lines, each ended by ``\n``."""
        return "\n".join([*self._lines, ""]) if self._lines else ""

    def indent(self, first: str, others: str) -> None:
        """Prefix the lines of an item or a quote with marks, until :meth:`dedent`."""
        self._levels += 1
        if self._levels <= MAX_INDENTS:
            self._indents.append([first, others])

    def dedent(self) -> None:
        """End an item or a quote."""
        if self._levels <= MAX_INDENTS:
            self._indents.pop()
        self._levels -= 1

    def close_up(self) -> None:
        """Leave no blank line before the next block."""
        self._gap = False

    def block(self, lines: Iterable[str]) -> None:
        """Add a block after a blank line."""
        if self._gap and self._lines:
            self._lines.append("")
        for line in lines:
            self._lines.append((self._marks() + line).rstrip(" \t"))
        self._gap = True

    def paragraph(self, parts: Iterable[str]) -> None:
        """Add running text, a sentence per line."""
        lines = [line.replace(GLUE, " ") for part in parts for line in to_lines(part)]
        if lines:
            self.block([f"\\{line}" if _MARKS.match(line) else line for line in lines])

    def heading(self, level: int, text: str) -> None:
        """Add a heading; hash signs at its end are its own."""
        if text:
            self.block([f"{'#' * level} {_CLOSING.sub(_escaped, text)}"])

    def code(self, text: str, language: str) -> None:
        """Add code verbatim, in a fence."""
        lines = [line.rstrip(" \t") for line in _LINE_END.split(text.replace("\u00a0", " "))]
        while lines and not lines[-1]:
            lines.pop()
        while lines and not lines[0]:
            lines.pop(0)
        if lines:
            fence = fence_around(text)
            self.block([fence + language, *lines, fence])

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Add a table; its first row is the heading, whatever it is in the page."""
        first, *others = rows
        lines = [_row(first), "|" + " --- |" * len(first), *map(_row, others)]
        self.block(lines)

    def _marks(self) -> str:
        if not self._indents:
            return ""
        marks = "".join(first for first, _ in self._indents)
        for level in self._indents:
            level[0] = level[1]
        return marks


def _escaped(found: re.Match[str]) -> str:
    return f"{found[0][:-1]}\\#"


def _row(cells: Iterable[str]) -> str:
    return "|" + "".join(f" {_cell(cell)} |" for cell in cells)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


_LAYOUT: Final = frozenset(
    ("table", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "pre", "blockquote", "article",
     "section", "main", "hr")
)  # fmt: skip
"""Elements that make a cell a part of the page instead of a value."""


class _LayoutFound(Exception):  # noqa: N818 - no error: it ends a walk early
    pass


class Table(NamedTuple):
    """A table of data, without blank rows."""

    caption: str
    rows: list[list[str]]


def read_table(table: LexborNode, selection: Selection) -> Table | None:
    """Read a table of data; ``None`` if it is a layout of blocks, or has only one column."""
    reader = _TableReader(selection)
    try:
        walk(table, reader.enter, reader.leave)
    except _LayoutFound:
        return None
    if max((len(row) for row in reader.rows), default=0) < 2:
        return None
    return Table(reader.caption, [row for row in reader.rows if any(row)])


class _TableReader:
    def __init__(self, selection: Selection) -> None:
        self.rows: list[list[str]] = []
        self.caption = ""
        self._inline = Inline(selection)

    def enter(self, node: LexborNode) -> bool:
        met = self._inline.meet(node)
        if met is not None:
            return met
        if node.tag in _LAYOUT:
            raise _LayoutFound
        self._inline.text(" ")
        self._inline.strike(node, 1)
        if node.tag == "tr":
            self.rows.append([])
        return True

    def leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in INLINE:
            self._inline.leave(node)
            return
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append(self._inline.one_line())
        elif tag == "caption":
            self.caption = self._inline.one_line()
        else:
            self._inline.text(" ")
        self._inline.strike(node, -1)


_ADMONITION: Final = re.compile(
    r"(?:^|\s)(?:confluence-information-macro-|(?:panel|admonition|alert|callout|box|message)-{1,2})?"
    r"(warn|caution|danger|important|note|tip|information)(?:ing)?(?=\s|$)"
)
"""The class of a box that an author sets apart, in Confluence's exports and elsewhere: "panel-note"."""
_CALLOUT: Final = re.compile(r"(?:^|\s)callout(?:\s|$)")

_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_VERBATIM: Final = frozenset(("pre", "listing", "xmp", "plaintext"))
_LISTS: Final = frozenset(("ul", "ol", "menu", "dir"))
_LANGUAGE: Final = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source)-([A-Za-z0-9_+#.-]{1,20})"
)
_BRUSH: Final = re.compile(r"\bbrush: {0,3}([A-Za-z0-9_+#.-]{1,20})")
"""The names of languages in Confluence's exports."""
_MAX_NUMBER: Final = 999_999


def render(page: LexborHTMLParser) -> tuple[str, list[int]]:
    """Return the lines of a page's main part, and the number of characters of each hidden element of it."""
    root = main_part(page)
    if root is None:
        return "", []
    selection = Selection(page, root)
    renderer = _Renderer(selection)
    walk(root, renderer.enter, renderer.leave)
    renderer.flush()
    return renderer.lines.text(), list(selection.hidden.values())


class _Renderer:
    def __init__(self, selection: Selection) -> None:
        self.lines = Lines()
        self._selection = selection
        self._inline = Inline(selection)
        self._lists: list[_List] = []
        self._label = ""  # of an admonition, before its first words

    def enter(self, node: LexborNode) -> bool:
        met = self._inline.meet(node)
        if met is not None:
            return met
        self.flush()
        self._inline.strike(node, 1)
        goes_on = self._enter_block(node, node.tag or "")
        if not goes_on:
            self._inline.strike(node, -1)
        return goes_on

    def leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in INLINE:
            self._inline.leave(node)
            return
        self.flush()
        self._inline.strike(node, -1)
        if tag in _LISTS:
            self._lists.pop()
        elif tag in ("li", "blockquote", "dd"):
            self.lines.dedent()
        elif _is_admonition(node):
            self.lines.dedent()
            self._label = ""

    def flush(self) -> None:
        parts = self._inline.take()
        if parts and self._label:
            parts[0] = self._label + parts[0]
            self._label = ""
        self.lines.paragraph(parts)

    def _enter_block(self, node: LexborNode, tag: str) -> bool:
        """Begin a block; return whether to visit its children."""
        if tag in _HEADINGS:
            text = read_inline(node, self._selection)
            is_marked = self._inline.is_struck and text and STRIKE not in text
            self.lines.heading(_HEADINGS[tag], f"{STRIKE}{text}{STRIKE}" if is_marked else text)
            return False
        if tag in _VERBATIM:
            text = _verbatim(node, self._selection)
            if self._inline.is_struck:  # a fence can't be struck out
                lines = (line.strip() for line in _LINE_END.split(text))
                self.lines.block(
                    f"{STRIKE}{_code_span(line)}{STRIKE}".replace(GLUE, " ")
                    for line in lines
                    if line
                )
            else:
                self.lines.code(text, _language(node))
            return False
        if tag == "table":
            return not self._table(node)
        if tag in _LISTS:
            self._lists.append(_List(_start_of(node) if tag == "ol" else None))
        elif tag == "li":
            self._enter_item(node)
        elif tag == "blockquote":
            self.lines.indent("> ", "> ")
        elif _is_admonition(node):
            self.lines.indent("> ", "> ")
            kind = _ADMONITION.search(node.attributes.get("class") or "")
            self._label = f"**{kind[0].rpartition('-')[2].strip().capitalize()}:** " if kind else ""
        elif tag == "dd":
            self.lines.close_up()
            self.lines.indent(": ", "  ")
        return True

    def _table(self, node: LexborNode) -> bool:
        """Add a table of data; return whether it is one."""
        table = read_table(node, self._selection)
        if table is None:
            return False
        self.lines.paragraph([table.caption])
        if table.rows:
            self.lines.table(table.rows)
        return True

    def _enter_item(self, node: LexborNode) -> None:
        if not self._lists:
            self._lists.append(_List(None))  # an item outside of any list, which stays open
        around = self._lists[-1]
        if around.begun or len(self._lists) > 1:
            self.lines.close_up()
        marker = around.next_marker(_number(node, "value"))
        self.lines.indent(marker, " " * len(marker))


class _List:
    """An open list; ``number`` is its next item's, ``None`` for bullets."""

    def __init__(self, number: int | None) -> None:
        self._number = number
        self.begun = False

    def next_marker(self, given: int | None) -> str:
        self.begun = True
        if self._number is None:
            return "- "
        if given is not None:
            self._number = given
        self._number += 1
        return f"{self._number - 1}. "


def _is_admonition(node: LexborNode) -> bool:
    """Whether an element is a warning or a note, in the style of Confluence, Notion or plain HTML."""
    name = node.attributes.get("class") or ""
    if node.tag == "div":
        return _ADMONITION.search(name) is not None
    if node.tag == "aside":
        return True
    return node.tag == "figure" and _CALLOUT.search(name) is not None


def _start_of(node: LexborNode) -> int:
    given = _number(node, "start")
    return 1 if given is None else given


def _number(node: LexborNode, attribute: str) -> int | None:
    given = (node.attributes.get(attribute) or "").strip()
    good = given.isascii() and given.isdigit() and len(given) <= len(str(_MAX_NUMBER))
    return int(given) if good else None


def _language(node: LexborNode) -> str:
    for part in (node, node.child):
        if part is not None and part.is_element_node:
            attributes = part.attributes
            found = _LANGUAGE.search(attributes.get("class") or "") or _BRUSH.search(
                attributes.get("data-syntaxhighlighter-params") or ""
            )
            if found:
                return found[1]
    return ""


def _verbatim(node: LexborNode, selection: Selection) -> str:
    parts: list[str] = []

    def enter(part: LexborNode) -> bool:
        if part.is_text_node:
            parts.append(part.text_content or "")
        elif part.tag == "br":
            parts.append("\n")
        return part.is_element_node and selection.takes(part)

    def leave(part: LexborNode) -> None:
        if part.tag not in INLINE and parts and not parts[-1].endswith("\n"):
            parts.append("\n")

    walk(node, enter, leave)
    return "".join(parts)
