"""Lays out documents' words on a terminal: wraps paragraphs, aligns tables, and leaves commands whole.

A command must survive copy and paste, so code is never broken: a code span that doesn't fit goes to the next line, and
a code block runs over the edge.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from knowledge_rag.core.lines import cells_of
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.orchestrator.wording import BAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Piece = tuple[str, str]
"""Text without line breaks, and its style."""
Line = list[Piece]
"""A printed line."""

CODE: Final = "bold"
"""Style of commands, on their own lines or between words."""
_SPAN: Final = "bold magenta"
"""Style of code between words that has no backticks."""


class Markup(Enum):
    """How Markdown between words is treated: bold is bold, links are words with their target."""

    NONE = "nothing: the text is not Markdown, and only its code spans are kept whole"
    MARKED = "code keeps its backticks, for output without styles"
    STYLED = "code is shown only by its style"


_MARK: Final = re.compile(r"^([ \t]*)([-*+]|(?:\d{1,9}|[a-i])\\?[.)])[ \t]+(?=\S)")
_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_ROW: Final = re.compile(r"^[ \t]*\|.*\|[ \t]*$")
_HARD_BREAK: Final = re.compile(r"(?: {2,}|\\)$")
_SHORT: Final = 60
"""Maximum characters of a line that its author broke on purpose."""
_MIN_COLUMN: Final = 24
"""Minimum columns of a table's narrowed cells."""
_UNWRAPPED: Final = 100
"""Maximum columns of a table if lines aren't wrapped; a wider one is shown cell by cell."""
_GUTTER: Final = "  "
_RULE: Final = re.compile(r"^[ \t|:-]*-[ \t|:-]*$")
_ASIDE: Final = 2
"""Indent that makes a line after an empty one code, as commands in plain text."""


def laid_out(
    text: str,
    width: int | None,
    *,
    first: Line,
    rest: str,
    style: str = "",
    markdown: Markup = Markup.MARKED,
    spaced: bool = False,
) -> Iterator[Line]:
    """Yield a document's or a model's text line by line.

    Args:
        text: what to lay out.
        width: columns of a line; ``None`` for no wrapping.
        first: left margin of the first line.
        rest: left margin of the others, as wide as ``first``.
        style: of the words.
        markdown: how to treat it.
        spaced: whether blank lines stay.
    """
    margin: Line = first
    for block in _blocks(neutralise(text)):
        if block.rows:
            yield from _alone(margin) if margin is first else ()
            indent = rest + " " * len(block.lead)
            yield from table(block.rows, width, indent=indent, markdown=markdown)
        elif block.is_code:
            yield from _alone(margin) if margin is first else ()
            yield [(rest + block.lead, ""), (block.words, CODE)]
        elif block.words:
            hanging = rest + " " * len(block.lead)
            start = [*margin, (block.lead, style)] if block.lead else margin
            atoms = _atoms(block.words, style, markdown=markdown)
            yield from _wrapped(atoms, width, start, hanging)
        elif spaced:
            yield [(rest.rstrip(), "")]
            continue
        else:
            continue
        margin = [(rest, "")]


_TAB: Final = 4


def barred(
    text: str,
    width: int | None,
    *,
    first: str = "",
    rest: str = "",
    label: Line | None = None,
    markdown: Markup = Markup.MARKED,
) -> Iterator[Line]:
    """Yield a model's words, each line on the screen with a bar at its left.

    Args:
        text: by a model.
        width: columns of a line; ``None`` for no wrapping.
        first: left margin of the first bar.
        rest: left margin of the others, as wide.
        label: our own words before the text; ``None`` for a text whose marks and blanks all stay.
        markdown: how to treat it, if the text is laid out.
    """
    room = None if width is None else width - len(rest + BAR)
    plain = text if width is None else text.expandtabs(_TAB)
    said: Iterable[Line] = (
        [(row, "")] if row else [] for line in plain.split("\n") for row in folded(line, room)
    )
    if label is not None:
        said = laid_out(plain, room, first=label, rest="", spaced=True, markdown=markdown)
    for number, line in enumerate(cut(said, room)):
        bar = BAR if any(words for words, _ in line) else BAR.rstrip()
        yield [(rest if number else first, ""), (bar, ""), *line]


_BEGINNING: Final = re.compile(r"[ \t]*(?:(?:[-*+>]|\d{1,9}[.)])[ \t]+)*")
_WORD: Final = re.compile(r" *(?:`[^`]*`|[^ ])+(?: +$)?| +$")


def folded(
    line: str, width: int | None, *, start: int = 0, hanging: str | None = None
) -> Iterator[str]:
    """Yield the rows of a wrapped line.

    It is broken at blanks outside code spans, and only the blanks at a break are dropped.

    Args:
        line: to wrap.
        width: columns of a row; ``None`` for no wrapping.
        start: columns already taken in the first row.
        hanging: left margin of further rows; ``None`` aligns them with the first word of a list's item.

    >>> list(folded("1. Run `make all`, then wait.", 18))
    ['1. Run', '   `make all`,', '   then wait.']
    """
    if width is None or start + _widest(line) <= width:
        yield line
        return
    text = line.expandtabs(_TAB)
    if hanging is None:
        beginning = _BEGINNING.match(text)
        hanging = " " * min(len(beginning[0]) if beginning else 0, width // 2)
    row, room = "", width - start
    for word in _WORD.findall(text):
        if row.strip() and _widest(row + word.rstrip(" ")) > room:
            yield row
            row, room = hanging + word.lstrip(" "), width
        else:
            row += word
    yield row


def cut(lines: Iterable[Line], width: int | None, rest: str = "") -> Iterator[Line]:
    """Yield lines without tabs, cut into parts of at most ``width`` columns; ``rest`` is the others' margin."""
    for line in lines:
        if width is None:
            yield line
            continue
        part: Line = []
        room, whole = width, width - len(rest)
        for text, style in line:
            left = text
            while _widest(left) > room:
                fits = _fitting(left, room)
                if not fits and room >= whole:
                    break  # no room for a single character
                yield [*part, (left[:fits], style)]
                part, room, left = [(rest, "")] if rest else [], whole, left[fits:]
            part.append((left, style))
            room -= _widest(left)
        yield part


def _fitting(text: str, room: int) -> int:
    """Return how many characters fit into the given columns on every terminal."""
    used = 0
    for count, character in enumerate(text):
        used += _columns(character)
        if used > room:
            return count
    return len(text)


def _widest(text: str) -> int:
    """Return the maximum columns of a text on any terminal."""
    return len(text) if text.isascii() else sum(map(_columns, text))


@lru_cache(maxsize=4096)
def _columns(character: str) -> int:
    """Return the maximum columns of a character: terminals differ on marks, flags and skin tones."""
    category = unicodedata.category(character)
    if category in ("So", "Sk", "No") or character in "\u302e\u302f":
        return 2
    return max(cell_len(character), int(category == "Mc"))


def _alone(margin: Line) -> Iterator[Line]:
    """Yield a margin as a line of its own, if it has words."""
    *others, (last, style) = margin or [("", "")]
    if any(text.strip() for text, _ in margin):
        yield [*others, (last.rstrip(), style)]


def table(
    rows: Sequence[Sequence[str]],
    width: int | None,
    *,
    indent: str,
    markdown: Markup = Markup.MARKED,
    with_head: bool = True,
) -> Iterator[Line]:
    """Yield a table line by line: aligned with wrapped cells if it fits ``width`` columns, else cell by cell.

    The first row is the head; each of the others has as many cells.
    """
    head, *body = rows
    room = (_UNWRAPPED if width is None else width) - len(indent)
    widths = _column_widths(rows, room, markdown=markdown)
    if widths is None:
        for number, row in enumerate(body):
            yield from [[]] if number else []
            yield from labelled(head, row, width, first=[(f"{indent}- ", "")], rest=f"{indent}  ")
        return
    wrapped = [
        [
            list(_cell(cell, size, "" if number else "bold", markdown=markdown))
            for cell, size in zip(row, widths, strict=True)
        ]
        for number, row in enumerate(rows)
    ]
    is_loose = any(len(cell) > 1 for row in wrapped[1:] for cell in row)
    for number, cells in enumerate(wrapped):
        if not (number or with_head):
            continue
        if number == 1 and with_head:
            yield [(indent + _GUTTER.join("-" * size for size in widths), "")]
        elif number > 1 and is_loose:
            yield []
        for place in range(max(map(len, cells))):
            yield _row_line(cells, widths, place, indent)


def labelled(
    head: Sequence[str],
    row: Sequence[str],
    width: int | None,
    *,
    first: Line,
    rest: str,
    markdown: Markup = Markup.MARKED,
) -> Iterator[Line]:
    """Yield a table's row cell by cell, each with the head of its column."""
    margin = first
    for name, cell in zip(head, row, strict=True):
        if cell.strip():
            text = f"{name}: {cell}" if name else cell
            yield from laid_out(text, width, first=margin, rest=rest + "  ", markdown=markdown)
            margin = [(rest, "")]


def begins_block(text: str) -> bool:
    """Whether a text begins with a list item or code."""
    return (_MARK.match(text) or _FENCE.match(text)) is not None


def heads_of(text: str) -> list[str]:
    r"""Return the columns' heads if a text is the head of a table, else nothing.

    >>> heads_of("| Code | Means |\n|---|---|"), heads_of("Code")
    (['Code', 'Means'], [])
    """
    first, _, rule = text.partition("\n")
    return cells_of(first) if "|" in first and _RULE.match(rule) else []


def _column_widths(
    rows: Sequence[Sequence[str]], room: int, *, markdown: Markup
) -> list[int] | None:
    """Return the widths at which all columns fit, with the widest narrowed; ``None`` if they don't."""
    sizes = [
        [_atom_sizes(cell, markdown=markdown) for cell in column]
        for column in zip(*rows, strict=True)
    ]
    widths = [max(sum(cell) + max(len(cell) - 1, 0) for cell in column) for column in sizes]
    least = [
        min(width, max([_MIN_COLUMN, *(size for cell in column for size in cell)]))
        for width, column in zip(widths, sizes, strict=True)
    ]
    gutters = len(_GUTTER) * (len(widths) - 1)
    while sum(widths) + gutters > room:
        spare = [width - low for width, low in zip(widths, least, strict=True)]
        if not any(spare):
            return None
        widest = max((n for n, it in enumerate(spare) if it), key=lambda n: widths[n])
        widths[widest] -= 1
    return widths


def _atom_sizes(cell: str, *, markdown: Markup) -> list[int]:
    return [_size(atom) for atom in _atoms(neutralise(cell), "", markdown=markdown)]


def _cell(cell: str, width: int, style: str, *, markdown: Markup) -> Iterator[Line]:
    return _wrapped(_atoms(neutralise(cell), style, markdown=markdown), width, [], "")


def _row_line(
    cells: Sequence[Sequence[Line]], widths: Sequence[int], place: int, indent: str
) -> Line:
    line: Line = [(indent, "")]
    missing = 0
    for cell, width in zip(cells, widths, strict=True):
        here = cell[place] if place < len(cell) else []
        if here:
            line += [(" " * missing, ""), *here]
            missing = 0
        missing += width - _size(here) + len(_GUTTER)
    return line


# blocks


@dataclass(frozen=True, slots=True)
class _Block:
    """Words that are wrapped together, a line of code, a table, or an empty line."""

    words: str = ""
    lead: str = ""
    is_code: bool = False
    rows: tuple[tuple[str, ...], ...] = ()


def _blocks(text: str) -> Iterator[_Block]:
    lines = text.strip("\n").split("\n")
    position = 0
    column = 0  # where the words of the list item around begin
    while position < len(lines):
        line = lines[position]
        if found := _FENCE.match(line):
            end = _end_of_fence(lines, position, found[1])
            yield from _code(lines[position + 1 : end], column)
            position = end + 1
        elif not line.strip():
            yield _Block()
            position += 1
        elif rows := _rows(lines, position):
            yield _Block(lead=" " * column, rows=rows)
            position += len(rows) + 1
        elif found := _MARK.match(line):
            column = len(found[0].expandtabs())
            end = _end_of_paragraph(lines, position + 1)
            joined = list(_joined([line[len(found[0]) :], *lines[position + 1 : end]]))
            yield _Block(joined[0], found[1].expandtabs() + found[2].replace("\\", "") + " ")
            yield from (_Block(words, " " * column) for words in joined[1:])
            position = end
        else:
            indent = _indent(line)
            column = min(column, indent)
            end = _end_of_paragraph(lines, position + 1)
            aside = indent - column >= _ASIDE and position and not lines[position - 1].strip()
            paragraph = lines[position:end]
            if aside:
                yield from _code(paragraph, column)
            else:
                yield from (_Block(words, " " * column) for words in _joined(paragraph))
            position = end


def _rows(lines: Sequence[str], start: int) -> tuple[tuple[str, ...], ...]:
    """Return the rows of the table that begins at a line, the head first; nothing if there is none."""
    head = heads_of("\n".join(lines[start : start + 2]))
    if not head or not _ROW.match(lines[start]):
        return ()
    end = start + 2
    while end < len(lines) and _ROW.match(lines[end]):
        end += 1
    rows = [cells_of(it) for it in lines[start + 2 : end]]
    padded = [(*row, *[""] * len(head))[: len(head)] for row in rows]
    return (tuple(head), *padded)


def _end_of_fence(lines: Sequence[str], start: int, fence: str) -> int:
    closing = re.compile(rf"^[ \t]*{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
    found = (n for n in range(start + 1, len(lines)) if closing.match(lines[n]))
    return next(found, len(lines))


def _end_of_paragraph(lines: Sequence[str], start: int) -> int:
    position = start
    while position < len(lines) and lines[position].strip():
        line = lines[position]
        if _FENCE.match(line) or _ROW.match(line) or _MARK.match(line):
            break
        position += 1
    return position


def _code(lines: Sequence[str], column: int) -> Iterator[_Block]:
    indent = min((len(it) - len(it.lstrip(" ")) for it in lines if it.strip()), default=0)
    for line in lines:
        yield _Block(line[indent:] or " ", " " * (column + 2), is_code=True)


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """Join lines that their author broke only because they were full; the first line's indent is irrelevant."""
    widest = max(_SHORT, *(len(line.strip()) for line in lines))
    words = lines[0].strip()
    for number, (before, line) in enumerate(pairwise(lines)):
        following = line.strip()
        word = following.partition(" ")[0]
        is_full = len(before.strip()) + 1 + len(word) > widest and not _HARD_BREAK.search(before)
        is_aside = number > 0 and _indent(before) != _indent(line)
        if is_full and not is_aside and not following[0].isdigit():
            words += " " + following
        else:
            yield words
            words = following
    yield words


def _indent(line: str) -> int:
    return len(line.expandtabs()) - len(line.expandtabs().lstrip())


# inline content

_Atom = list[Piece]
"""Text that is never broken: a word, a code span, and characters that touch them."""


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


_CLOSING: Final = re.compile(r"[ \t>]*(?:`{3,}|~{3,})[ \t]*\r?")


def code_lines(lines: Sequence[str]) -> frozenset[int] | None:
    """Return the lines of a Markdown text that are code, counted from 0.

    ``None`` if a fence stays open, since the text may begin inside another one: any of them may be code.
    """
    found: set[int] = set()
    for token in _parser().parse("\n".join(line.replace("\r", " ") for line in lines)):
        if token.map and token.type in ("fence", "code_block"):
            first, behind = token.map
            if token.type == "fence" and not (
                behind - first > 1 and _CLOSING.fullmatch(lines[behind - 1])
            ):
                return None
            found.update(range(first, behind))
    return frozenset(found)


def _atoms(words: str, style: str, *, markdown: Markup) -> list[_Atom]:
    pieces = _plain(words, style) if markdown is Markup.NONE else _read(words, style, markdown)
    atoms: list[_Atom] = [[]]
    for text, its_style, is_code in pieces:
        if is_code:
            atoms[-1].append((text, its_style))
            continue
        for place, word in enumerate(text.split(" ")):
            if place:
                atoms.append([])
            if word:
                atoms[-1].append((word, its_style))
    return [atom for atom in atoms if atom]


def _plain(words: str, style: str) -> Iterator[tuple[str, str, bool]]:
    behind = 0
    for found in re.finditer(r"`[^`]+`", words):
        yield words[behind : found.start()], style, False
        yield found[0], f"{style} {CODE}".strip(), True
        behind = found.end()
    yield words[behind:], style, False


def _read(words: str, style: str, markdown: Markup) -> Iterator[tuple[str, str, bool]]:
    """Yield a line's text, style, and whether it is code; only ``**`` is removed, as ``*`` may be a shell's pattern."""
    (inline,) = _parser().parseInline(words)
    current = style
    targets: list[str] = []
    for token in inline.children or []:
        match token.type:
            case "code_inline":
                code, its_style = _spanned(token, markdown)
                yield code, f"{current} {its_style}".strip(), True
            case "strong_open" | "strong_close" if token.markup == "**":
                current = f"{style} bold".strip() if token.type == "strong_open" else style
            case "strong_open" | "strong_close" | "em_open" | "em_close":
                yield token.markup, current, False
            case "link_open":
                targets.append("" if token.markup == "autolink" else str(token.attrs["href"]))
            case "link_close":
                target = targets.pop()
                if target and not target.startswith("#"):
                    yield f" ({target})", current, False
            case "image":
                yield f"![{token.content}]({token.attrs['src']})", current, False
            case "softbreak" | "hardbreak":
                yield " ", current, False
            case _:
                yield token.content, current, False


def _spanned(token: Token, markdown: Markup) -> Piece:
    content = token.content
    if markdown is Markup.STYLED:
        return content, _SPAN
    pad = " " if content.startswith("`") or content.endswith("`") else ""
    return f"{token.markup}{pad}{content}{pad}{token.markup}", CODE


def _size(atom: Sequence[Piece]) -> int:
    return sum(cell_len(text) for text, _ in atom)


def _wrapped(atoms: Iterable[_Atom], width: int | None, first: Line, rest: str) -> Iterator[Line]:
    line: Line = list(first)
    used = _size(first)
    is_empty = True
    for atom in atoms:
        size = _size(atom)
        if not is_empty and width is not None and used + 1 + size > width:
            yield line
            line, used, is_empty = [(rest, "")], cell_len(rest), True
        if not is_empty:
            line.append((" ", atom[0][1] if line[-1][1] == atom[0][1] else ""))
            used += 1
        line += atom
        used += size
        is_empty = False
    yield line
