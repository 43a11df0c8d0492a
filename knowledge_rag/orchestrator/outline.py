r"""Reads a retrieved document as its author laid it out: sections that contain paragraphs, lists, tables and code.

An outline is built from proven chunks only. Lines that were not retrieved are blank in it, and known to be missing.
Blocks are those of CommonMark (markdown-it-py, with GitHub's tables). Runbooks also use three forms that CommonMark
reads as plain text: escaped list marks (``1\\.``), lettered lists (``a)``), and a line of its own that only labels
the lines below it (``Undo:``, ``**Screens are black**``), which counts as a heading. Tabs and admonitions are in
:mod:`containers`. Text in HTML comments is blank, since a reader of the page doesn't see it.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.formats import PLAIN_SUFFIXES, is_markup
from knowledge_rag.core.headings import (
    ACTIONS,
    Kind,
    is_instruction,
    kind_of_heading,
    kind_of_label,
)
from knowledge_rag.core.lines import cells_of
from knowledge_rag.core.metadata import (
    ALERTS,
    DOCUMENT_TYPE,
    SECTION_PATH,
    SECTION_SEPARATOR,
    STATUS,
    TITLE,
)
from knowledge_rag.orchestrator.containers import unfolded
from knowledge_rag.orchestrator.governing import (
    Governs,
    governs,
    is_unwritten,
    prohibits,
    says_nothing,
)
from knowledge_rag.orchestrator.html_tables import in_markdown

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from markdown_it.token import Token

    from knowledge_rag.core.outcome import RetrievalResult

SERVICE: Final = "service"
TAB_LEVEL: Final = 7
"""Level of the titles of tabs and similar containers: below the six of Markdown."""
LABEL_LEVEL: Final = 8
"""Level of a label that counts as a heading: it may be in a tab."""

_ESCAPED_MARK: Final = re.compile(r"^([ \t]*(?:>[ \t]*)*\d{1,3})\\([.)])(?=[ \t])")
_BOX_ALONE: Final = re.compile(r"^([ \t]*)\[([ xX])\](?=[ \t]+\S)")
"""A checkbox without a list mark before it, as in plain-text lists."""
_LETTER_MARK: Final = re.compile(r"^([ \t]*)([a-i])\)(?=[ \t])")
_DECIMAL_MARK: Final = re.compile(
    r"^( {0,3})((?:\d{1,2}|[A-Z])(?:\.\d{1,2})?)\.(\d{1,2})([.)]?)(?=[ \t]+\S)"
)
_DECIMAL: Final = re.compile(r"\d{1,2}\.\d{1,2}[.)]?[ \t]+\S")
_ALONE: Final = re.compile(r"(?!\d{1,3}[.)][ \t])[^\W_][^\n`|]{1,68}[^\s.:;,!`|>]")
_HASH: Final = re.compile(r"^([ \t]*)#")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_UNDERLINE: Final = re.compile(r" {0,3}(?:-{3,}|={3,})[ \t]*")
_NUMBER_MARK: Final = re.compile(r"^( {0,3}\d{1,9})([.)])(?=[ \t])")
_HTML_HEADING: Final = re.compile(r"^\s*<h([1-6])[^>]*>(.*?)</h\1>\s*$", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]{0,200}>")
_BOLD_ALONE: Final = re.compile(
    r"\s*(\*\*|__)(?:[^*_\n]{3,60}[^*_\n.!?]|Q\b[^*\n]{3,120}|[^*_\n]{3,80}\?)\1:?(?: \(`[^`\n]{3,60}`\):?)?\s*"
)
"""A line in bold, with a name behind it or not: "**Vault is sealed** (`VaultSealed`)"."""
_NOT: Final = re.compile(r"(?<=\w)n['’]t\b")
_SAID_IN_BOLD: Final = frozenset({Governs.PROHIBITED, Governs.OBSOLETE, Governs.CAUTION})
"""Bold text of these kinds is there to be heeded; it isn't a heading."""
_ENDS: Final = re.compile(r"[.:;,!?`|]\s*$|^$")
_CODE_OR_COMMENT: Final = re.compile(r"`+|<!---?>|<!--|-->")
_HTML_ANCHOR: Final = r"""<a\s+(?:name|id)=["']([\w.:-]+)["']\s*>\s*</a>"""
_ANCHOR: Final = re.compile(rf"(?:\{{:?\s*#([\w.:-]+)[^{{}}]*\}}|{_HTML_ANCHOR})\s*$")


class Form(Enum):
    """The type of a block."""

    PARAGRAPH = auto()
    LIST = auto()
    CODE = auto()
    TABLE = auto()
    QUOTE = auto()
    HTML = auto()


@dataclass(frozen=True, slots=True)
class ListItem:
    """One item at the top level of a list.

    Args:
        mark: as written by its author: ``3.``, ``a)``, ``-``.
        end: last non-blank line, inclusive, with inner items and code.
        code: line ranges of the code blocks in it, at any depth.
    """

    mark: str
    start: int
    end: int
    code: tuple[tuple[int, int], ...] = ()

    @property
    def is_numbered(self) -> bool:
        """Whether the author numbered it."""
        return self.mark[0].isalnum()


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together.

    Args:
        end: last non-blank line, inclusive.
    """

    form: Form
    start: int
    end: int
    items: tuple[ListItem, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether it is a list of at least two numbered items."""
        return sum(item.is_numbered for item in self.items) > 1


@dataclass(slots=True, eq=False)
class Section:
    """A heading and the lines below it, up to the next heading of its own or a higher level.

    Args:
        level: 0 above the first heading, 1..6, TAB_LEVEL or LABEL_LEVEL.
        start: line of the heading; the first line at level 0, or if the heading was not retrieved.
        kind: the purpose that its own heading states; OTHER for a title, and for a report's sections.
        anchor: set by its heading (``## Slow disk {#slow}``, ``<a name="slow"></a>``), ``""`` if none.
    """

    level: int
    heading: str
    start: int
    parent: Section | None
    blocks: list[Block] = field(default_factory=list)
    children: list[Section] = field(default_factory=list)
    heading_end: int = 0
    kind: Kind = Kind.OTHER
    anchor: str = ""

    @property
    def path(self) -> tuple[str, ...]:
        """Headings from the outermost to its own."""
        above = self.parent.path if self.parent else ()
        return (*above, self.heading) if self.heading else above

    def walk(self) -> Iterator[Section]:
        """Yield the section and all below it, in line order."""
        yield self
        for child in self.children:
            yield from child.walk()

    def above(self) -> Iterator[Section]:
        """Yield the sections around it, innermost first."""
        if self.parent:
            yield self.parent
            yield from self.parent.above()

    def holds(self, other: Section) -> bool:
        """Whether the other one is this section or below it."""
        return other is self or any(it is self for it in other.above())

    @property
    def end(self) -> int:
        """Last line of its own blocks and of all sections below it."""
        return max(
            (block.end for section in self.walk() for block in section.blocks),
            default=self.walked_end,
        )

    @property
    def walked_end(self) -> int:
        """Last line of the last heading in it."""
        return max(max(section.start, section.heading_end) for section in self.walk())


@dataclass(frozen=True, slots=True)
class Outline:
    """A document, as far as it was retrieved.

    Args:
        alerts: names under which its front matter files it.
        lines: text of each known line without HTML comments, by number; blank lines between chunks are not
            in it.
        whole: whether every non-blank line is known.
        service: the page's, from its front matter.
        status: whether the page is still valid, likewise.
        defined: the lines that define links and footnotes, by name: ``[queue]: https://...``, ``[^1]: Not on Fridays``.
    """

    source_file: str
    title: str
    document_type: str
    alerts: tuple[str, ...]
    lines: Mapping[int, str]
    root: Section
    whole: bool
    service: str = ""
    status: str = ""
    defined: Mapping[str, int] = field(default_factory=dict)

    def sections(self) -> Iterator[Section]:
        """Yield all sections, the root first."""
        return self.root.walk()

    def text(self, start: int, end: int) -> str:
        """Return lines joined by line breaks; unknown ones are blank."""
        return "\n".join(self.lines.get(number, "") for number in range(start, end + 1))

    def called(self, text: str) -> Iterator[tuple[str, int]]:
        """Yield what a text calls by the name of a definition, as written, and the line that defines it."""
        for call in _CALL.finditer(text) if self.defined else ():
            if line := self.defined.get(_as_compared(call["name"] or call["text"])):
                yield call[0], line

    def linked(self, number: int) -> str:
        """Return a line in which links by name are like any other: ``[the queue][queue]`` has its target."""
        line = self.lines.get(number, "")
        for call, definition in self.called(line):
            if not call.startswith("[^"):  # a footnote is no link
                target = self.lines[definition].partition("]:")[2].split()[0].strip("<>")
                line = line.replace(call, f"{call.partition(']')[0]}]({target})")
        return line

    def gaps(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """Return the line ranges between two lines that may contain lines not retrieved.

        A whole document has none. In others, a gap of a single line counts as blank.
        """
        if self.whole:
            return ()
        known = [number for number in self.lines if start <= number <= end]
        edges = [start - 1, *sorted(known), end + 1]
        pairs = itertools.pairwise(edges)
        return tuple((a + 1, b - 1) for a, b in pairs if b - a > 2)


_DEFINITION: Final = re.compile(r" {0,3}\[(?P<name>[^\]\[\n]{1,100})\]:[ \t]+\S")
_CALL: Final = re.compile(
    r"\[(?P<text>[^\]\[\n]{1,200})\](?:\[(?P<name>[^\]\[\n]{0,100})\])?(?![(\[:])"
)


def _as_compared(name: str) -> str:
    """Return a definition's name as CommonMark compares it: without regard to case and blanks."""
    return " ".join(name.casefold().split())


def outline_of(results: Iterable[RetrievalResult], *, whole: bool) -> Outline:
    """Return the outline of one document."""
    ordered = sorted(results, key=lambda it: it.citation.start_line)
    lines: dict[int, str] = {}
    for result in ordered:
        for number, text in enumerate(result.content.split("\n"), result.citation.start_line):
            lines.setdefault(number, text.removesuffix("\r"))
    first = ordered[0]
    if is_markup(first.citation.source_file):
        lines = _as_markdown(first.citation.source_file, lines)
    elif any("<table" in line for line in lines.values()):
        lines |= in_markdown(lines)
    lines |= dict.fromkeys(_commented(lines), "")
    metadata = first.metadata
    alerts = metadata.get(ALERTS)
    root = _sections(
        lines,
        plain=first.citation.source_file.lower().endswith(PLAIN_SUFFIXES),
        entered={} if whole else _entered(ordered),
    )
    if metadata.get(DOCUMENT_TYPE) == DocumentType.POSTMORTEM:
        for section in root.walk():
            section.kind = Kind.OTHER
    return Outline(
        first.citation.source_file,
        _text(metadata.get(TITLE)),
        _text(metadata.get(DOCUMENT_TYPE)),
        tuple(alerts) if isinstance(alerts, list) else (),
        lines,
        root,
        whole,
        _text(metadata.get(SERVICE)),
        _text(metadata.get(STATUS)),
        {
            _as_compared(it["name"]): n
            for n, line in lines.items()
            if (it := _DEFINITION.match(line))
        },
    )


def _entered(ordered: Sequence[RetrievalResult]) -> dict[int, tuple[str, ...]]:
    """Return the headings of passages after a gap that belong to another section than the passage before them.

    By a passage's first line. Its own heading is in the gap, so the passage isn't part of the section before.
    """
    entered = {}
    for before, it in itertools.pairwise(ordered):
        path = _text(it.metadata.get(SECTION_PATH))
        start = it.citation.start_line
        is_behind_gap = start > before.citation.end_line + 2  # more than a blank line
        if path and is_behind_gap and path != before.metadata.get(SECTION_PATH):
            entered[start] = tuple(map(plain_words, path.split(SECTION_SEPARATOR)))
    return entered


def _entering(
    current: Section, entered: dict[int, Sequence[str]], number: int, *, is_heading: bool
) -> Section:
    """Return the section that a line is in, or the one above a heading; remove the entries up to that line."""
    for start in [it for it in entered if it <= number]:
        path = entered.pop(start)
        around = [current, *current.above()]
        goes_on = any(it.heading == path[-1] for it in around)
        if goes_on or (is_heading and start == number):
            continue
        parent = next((it for it in around if it.heading in path), around[-1])
        beside = next((it for it in around if it.parent is parent), None)
        level = beside.level if beside else parent.level + 1
        current = Section(level, path[-1], start, parent, kind=kind_of_heading(path[-1]))
        parent.children.append(current)
    return current


def _commented(lines: Mapping[int, str]) -> Iterator[int]:
    """Yield the lines of Obsidian's comments, which readers don't see: from one ``%%`` alone to the next."""
    marks = [number for number in sorted(lines) if lines[number].strip() == "%%"]
    for opened, closed in zip(marks[::2], marks[1::2], strict=False):
        yield from (number for number in range(opened, closed + 1) if number in lines)


def _as_markdown(source_file: str, lines: dict[int, str]) -> dict[int, str]:
    """Return a document's lines as Markdown; lines that were not retrieved count as blank."""
    # few documents are in these formats
    from knowledge_rag.extract.markup import as_markdown  # noqa: PLC0415

    numbers = range(min(lines), max(lines) + 1)
    shape = as_markdown(source_file, [lines.get(number, "") for number in numbers])
    return {n: line for n, line in zip(numbers, shape, strict=True) if line or n in lines}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _sections(
    lines: dict[int, str], entered: Mapping[int, Sequence[str]], *, plain: bool
) -> Section:
    """Return the root of all sections; blank comments in `lines`."""
    first, last = min(lines), max(lines)
    shape = _shapes((lines.get(n, "") for n in range(first, last + 1)), plain=plain)
    for number in entered:  # no list continues across such a gap
        shape[number - 1 - first] = _BREAK
    left = dict(sorted(entered.items()))
    tabs = {first + it.start: first + it.end for it in unfolded(shape)}
    _blank_closers(shape, first, lines)
    root = Section(0, "", first, None)
    tokens = _parser().parse("\n".join(shape))
    _blank_comments(tokens, first, lines)
    position, current = 0, root
    while position < len(tokens):
        behind = _behind(tokens, position)
        token = tokens[position]
        if token.map and token.type != "hr":
            start, end = _range(token, first, lines)
            heading = _heading(tokens, position, start, end, lines)
            current = _entering(current, left, start, is_heading=heading is not None)
            closed = [it for it in (current, *current.above()) if start > tabs.get(it.start, start)]
            if closed:
                current = closed[-1].parent or root
                if not heading:  # text after the tabs gets a section after them
                    current.children.append(Section(TAB_LEVEL, "", start, current))
                    current = current.children[-1]
            if heading:
                level, words = heading
                level = TAB_LEVEL if start in tabs else level
                while current.level >= level and current.parent:
                    current = current.parent
                if current is root and _is_repeated(words, root.children):
                    current = root.children[0]
                    position = behind
                    continue
                section = Section(
                    level, words, start, current, heading_end=end, kind=kind_of_heading(words)
                )
                anchor = _ANCHOR.search(lines.get(start, ""))
                section.anchor = (anchor[1] or anchor[2]) if anchor else ""
                current.children.append(section)
                current = section
            elif token.type in _FORMS and any(
                lines.get(n, "").strip() for n in range(start, end + 1)
            ):
                current.blocks.append(_block(tokens[position:behind], start, end, first, lines))
        position = behind
    _leave_out_contents(root, lines)
    _entitle(root, lines)
    _correct_kinds(root, lines)
    return root


def _leave_out_contents(root: Section, lines: Mapping[int, str]) -> None:
    """Remove lists whose items are all headings of their page, tables of contents, with the lines that lead into them."""
    headings = {_letters(it.heading) for it in root.walk()}
    for section in root.walk():
        kept: list[Block] = []
        for it in section.blocks:
            if it.form is not Form.LIST or not _is_contents(it, lines, headings):
                kept.append(it)
            elif kept and lines.get(kept[-1].end, "").rstrip().endswith(":"):
                kept.pop()
        section.blocks = kept


def _is_contents(block: Block, lines: Mapping[int, str], headings: Container[str]) -> bool:
    """Whether all lines of a list are headings, and there is more than one."""
    said = [lines.get(number, "") for number in range(block.start, block.end + 1)]
    entries = [_letters(plain_words(_LIST_MARK.sub("", it))) for it in said if it.strip()]
    return len(entries) > 1 and all(it in headings for it in entries)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


_LIST_MARK: Final = re.compile(r"^\s*(?:[-*+]|\d{1,9}\\?[.)])\s+")


def _says_what_to_do(block: Block, lines: Mapping[int, str]) -> bool:
    """Whether a block is a table with a column of actions; even a table of symptoms is then no background."""
    cells = cells_of(lines.get(block.start, "")) if block.form is Form.TABLE else []
    return any(_TO_DO_COLUMN.fullmatch(cell.strip(" *:")) for cell in cells)


_TO_DO_COLUMN: Final = re.compile(
    r"(?:what )?(?:to )?do(?: this)?|(?:your |first |next )?(?:actions?|fix|fixes|remed(?:y|ies)|solutions?|steps?|response|measures?)"
    r"|(?:was tun|maßnahmen?|que faire|mesures?)",
    re.IGNORECASE,
)


def _correct_kinds(root: Section, lines: Mapping[int, str]) -> None:
    """Correct the kinds that headings alone get wrong.

    A page's title, and a background section with a table of actions, have no kind. "Close the gate" after "Open the
    gate" undoes it, so it is a rollback.
    """
    for section in root.walk():
        begun = [it.heading.casefold().partition(" ") for it in section.children]
        for place, (verb, _, what) in enumerate(begun):
            before = (it for it, _, other in begun[:place] if what and other == what)
            if any(verb in _OPPOSITES.get(it, ()) for it in before):
                section.children[place].kind = Kind.ROLLBACK
        if section.kind is Kind.BACKGROUND and any(
            _says_what_to_do(it, lines) for it in section.blocks
        ):
            section.kind = Kind.OTHER
    title = next(iter(root.children), None)
    if title and not any(it.level <= title.level for it in root.children[1:]):
        title.kind = Kind.OTHER


_OPPOSITES: Final = {
    "block": ("unblock", "allow"), "close": ("open", "reopen"), "disable": ("enable",), "drain": ("undrain", "uncordon"),
    "enable": ("disable",), "freeze": ("unfreeze",), "hold": ("release",), "isolate": ("rejoin", "reconnect"),
    "lock": ("unlock",), "mute": ("unmute",), "open": ("close",), "pause": ("resume", "unpause"),
    "remove": ("restore",), "start": ("stop", "end"), "stop": ("start", "resume"), "suspend": ("resume", "reactivate"),
}  # fmt: skip
"""Verbs, each with those that undo it."""


def _is_repeated(heading: str, before: Sequence[Section]) -> bool:
    """Whether a heading only repeats its page's title, maybe without its id, as wiki exports do."""
    return len(before) == 1 and bool(heading) and f"{before[0].heading} ".startswith(f"{heading} ")


def _blank_closers(shape: Sequence[str], first: int, lines: dict[int, str]) -> None:
    """Blank the lines that do nothing but close containers."""
    for number, line in enumerate(shape, first):
        if not line.strip("> ") and lines.get(number, "").lstrip().startswith(":::"):
            lines[number] = ""


def _blank_comments(tokens: Sequence[Token], first: int, lines: dict[int, str]) -> None:
    for token in tokens:
        if token.type in ("inline", "html_block") and "<!--" in token.content:
            start, end = _range(token, first, lines)
            text = "\n".join(lines.get(number, "") for number in range(start, end + 1))
            shown = _without_comments(text, html=token.type == "html_block")
            lines.update(pair for pair in enumerate(shown.split("\n"), start) if pair[0] in lines)
            token.content = _without_comments(token.content, html=False)


def _entitle(root: Section, lines: Mapping[int, str]) -> None:
    """Make the first line of a page without headings its heading, if it stands alone and isn't a sentence."""
    if root.children or len(root.blocks) < 2:
        return
    first, *others = root.blocks
    words = plain_words(lines.get(first.start, ""))
    if first.form is Form.PARAGRAPH and first.start == first.end and not _ENDS.search(words):
        title = Section(1, words, first.start, root, heading_end=first.end, blocks=others)
        root.children, root.blocks = [title], []


def _without_comments(text: str, *, html: bool) -> str:
    """Return text without its HTML comments, with as many lines; comment marks in code spans don't count."""
    marks = [it for it in _CODE_OR_COMMENT.finditer(text) if not html or it[0][0] != "`"]
    last = {it[0]: it.start() for it in marks}
    shown, behind, opening, closer = "", 0, 0, ""
    for mark in marks:
        if closer:
            if mark[0] == closer == "-->":
                shown += text[behind:opening] + "\n" * text.count("\n", opening, mark.start())
                behind = mark.end()
            closer = "" if mark[0] == closer else closer
            continue
        opening = mark.start()
        closer = "-->" if mark[0] == "<!--" else mark[0] if mark[0][0] == "`" else ""
        if last.get(closer, -1) <= opening:  # it never ends
            if html and closer:  # or with the block
                return shown + text[behind:opening] + "\n" * text.count("\n", opening)
            closer = ""
    return shown + text[behind:]


_BREAK: Final = "***"
"""A thematic break, which ends any block but code."""

_FORMS: Final = {
    "paragraph_open": Form.PARAGRAPH,
    "bullet_list_open": Form.LIST,
    "ordered_list_open": Form.LIST,
    "fence": Form.CODE,
    "code_block": Form.CODE,
    "table_open": Form.TABLE,
    "blockquote_open": Form.QUOTE,
    "html_block": Form.HTML,
}


def _shapes(lines: Iterable[str], *, plain: bool) -> list[str]:
    """Return the lines of a page in the form that CommonMark reads as their author meant them."""
    lettered = [*lines]
    _number_letters(lettered)
    shape = [_shape(line) for line in lettered]
    for place, (line, below) in enumerate(itertools.pairwise([*shape, ""])):
        # its text may follow without a blank line; an underlined line is a heading already
        is_first = not place or not shape[place - 1].strip()
        is_bold = line.startswith(("**", "__")) and not _UNDERLINE.fullmatch(below)
        if is_first and is_bold and _is_bold_label(line):
            shape[place] = f"###### {line.strip()}"
    headings = set(_headings_alone(shape)) if plain else set()
    for place in headings:
        shape[place] = f"### {shape[place]}"
    if plain:
        _undo_layout(shape, headings)
    _mark_decimals(shape)
    if plain:  # there "#" begins a comment or a list item; an underlined line isn't an item
        shape = [
            line if place in headings else _HASH.sub(r"\1\\#", line)
            for place, line in enumerate(shape)
        ]
        for place, below in enumerate(shape[1:]):
            if _UNDERLINE.fullmatch(below):
                shape[place] = _NUMBER_MARK.sub(r"\1\\\2", shape[place])
    return shape


def _number_letters(lines: list[str]) -> None:
    """Rewrite the marks of adjacent items "a.", "b." in the more common form "a)"."""
    found = {place: it for place, line in enumerate(lines) if (it := _LETTER_DOT.match(line))}
    for (place, it), (behind, other) in itertools.pairwise(found.items()):
        if behind - place <= _CLOSE and it[1] == other[1] and ord(other[2]) == ord(it[2]) + 1:
            for number in (place, behind):
                lines[number] = _LETTER_DOT.sub(r"\1\2)", lines[number])


_LETTER_DOT: Final = re.compile(r"^([ \t]*)([a-i])\.(?=[ \t]+\S)")
_CLOSE: Final = 8
"""Maximum lines from one lettered item to the next."""


def _headings_alone(shape: Sequence[str]) -> Iterator[int]:
    """Yield the lines of a plain text that stand alone, aren't sentences and are followed by indented lines: headings.

    They count if numbered by two numbers, or if there are several and none is an instruction. Lines in capitals need
    neither stand alone nor be followed by an indent.
    """
    alone = []
    behind = ""  # the next line that is not blank
    for place in reversed(range(len(shape))):
        line, above, below = (
            shape[place],
            shape[max(0, place - 1) : place],
            shape[place + 1 : place + 2],
        )
        is_alone = not any(map(str.strip, (*above, *below)))
        is_first = not any(it.strip() and not _UNDERLINE.fullmatch(it) for it in above)
        is_underlined = any(map(_UNDERLINE.fullmatch, below))
        is_capitals = is_first and not is_underlined and _IN_CAPITALS.fullmatch(line)
        leads_in = behind.startswith((" ", "\t")) or (behind and is_capitals)
        if leads_in and (is_alone or is_capitals) and _ALONE.fullmatch(line):
            alone.append(place)
        behind = line if line.strip() else behind
    named = [it for it in alone if not is_instruction(shape[it])]
    is_usual = len(named) > 1
    yield from (it for it in alone if _DECIMAL.match(shape[it]) or (is_usual and it in named))


_IN_CAPITALS: Final = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2})* +)?[A-Z][A-Z\d \"/&'.-]{3,}(?: *[(:].*)?"
)


def _undo_layout(shape: list[str], headings: Container[int]) -> None:
    """Remove the indent of text and lists below the headings of a plain text, unless it is code.

    Also replace a rule below three or more lines, which closes a block of facts and doesn't underline a title.
    """
    titles = set()
    for place, line in enumerate(shape):
        if _UNDERLINE.fullmatch(line):
            above = shape[max(0, place - _MAX_TITLE_LINES - 1) : place]
            if len(above) > _MAX_TITLE_LINES and all(map(str.strip, above)):
                shape[place] = _BREAK
            else:
                titles.add(place)
    filled = [place for place, line in enumerate(shape) if line.strip()]
    before = -1
    for is_indented, group in itertools.groupby(filled, key=lambda it: shape[it].startswith(" ")):
        run = [*group]
        is_below, before = before in headings or before in titles, run[-1]
        if not (is_indented and is_below):
            continue
        indent = min(len(shape[it]) - len(shape[it].lstrip(" ")) for it in run)
        if indent > _MAX_INDENT and any(_SAYS.match(shape[it]) for it in run):
            for it in run:
                shape[it] = shape[it][indent:]


_MAX_TITLE_LINES: Final = 2
_MAX_INDENT: Final = 3
"""Maximum indent, in spaces, at which Markdown doesn't read a line as code."""
_SAYS: Final = re.compile(
    r" *(?:(?:[-*+]|\d{1,3}[.)]|[a-i][.)]|(?:\d{1,2}|[A-Z])(?:\.\d{1,2}){1,2}[.)]?)[ \t]+\S|[A-Z][a-z]* (?:\S+ ){3,}\S*[^\W_.,:])"
)
"""A list item, or words of a sentence."""


def _mark_decimals(shape: list[str]) -> None:
    """Make list items of lines numbered by two or three numbers, or by a letter first: "1.1", "1.2", "A.1".

    A line without a neighbouring number is prose.
    """
    found = {
        place: it
        for place, (line, below) in enumerate(itertools.pairwise((*shape, "")))
        if (it := _DECIMAL_MARK.match(line)) and not _UNDERLINE.fullmatch(below)
    }
    counted = {(it[2], int(it[3])) for it in found.values()}
    for place, it in found.items():
        before, last = it[2], int(it[3])
        if counted & {(before, last - 1), (before, last + 1)}:
            number = re.sub("[A-Z]", lambda letter: str(ord(letter[0]) - ord("A") + 1), before)
            mark = f"{number.replace('.', '')}{last})".ljust(len(it[0]) - len(it[1]))
            shape[place] = f"{it[1]}{mark}{shape[place][it.end() :]}"


def _shape(line: str) -> str:
    """Return a line with a list mark that CommonMark recognises."""
    line = line.replace("\r", " ").replace("\0", "\ufffd")
    line = _ESCAPED_MARK.sub(r"\1\2", line)
    line = _BOX_ALONE.sub(r"\1-  ", line)
    return _LETTER_MARK.sub(lambda it: f"{it[1]}{ord(it[2]) - ord('a') + 1})", line)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    # blocks only: inline text is shown as is, and "normalize" would move lines at a lone \r
    parser.core.ruler.enableOnly(["block"])
    return parser


def _behind(tokens: Sequence[Token], position: int) -> int:
    """Return the position after a token and everything nested in it."""
    depth = 0
    for place in range(position, len(tokens)):
        depth += tokens[place].nesting
        if depth <= 0:
            return place + 1
    return len(tokens)


def _range(token: Token, first: int, lines: Mapping[int, str]) -> tuple[int, int]:
    start, behind = token.map or (0, 1)
    end = behind - 1
    while end > start and not lines.get(first + end, "").strip():
        end -= 1
    return first + start, first + end


def _heading(
    tokens: Sequence[Token], position: int, start: int, end: int, lines: Mapping[int, str]
) -> tuple[int, str] | None:
    """Return level and words of a heading; ``None`` for other blocks."""
    token = tokens[position]
    text = lines.get(start, "")
    if token.type == "heading_open":
        words = plain_words(tokens[position + 1].content)
        if token.tag == "h6" and _BOLD_ALONE.fullmatch(text):
            return LABEL_LEVEL, words.rstrip(":")
        return int(token.tag[1:]), words
    if start != end or token.type not in ("paragraph_open", "html_block"):
        return None
    if found := _HTML_HEADING.match(text):
        return int(found[1]), plain_words(_TAG.sub("", found[2]))
    is_label = kind_of_label(text) in ACTIONS or _is_bold_label(text)
    return (LABEL_LEVEL, plain_words(text).rstrip(":")) if is_label else None


def _is_bold_label(line: str) -> bool:
    """Whether a line of its own in bold labels the lines below it."""
    if _BOLD_ALONE.fullmatch(line) is None:
        return False
    # "picks don't arrive" is a symptom, not a prohibition
    is_trouble = not prohibits(line) and governs(_NOT.sub("", line)) not in _SAID_IN_BOLD
    is_said = governs(line) in _SAID_IN_BOLD and not is_trouble
    return not is_said and (is_unwritten(line) or not says_nothing(line))


def plain_words(heading: str) -> str:
    """Return a heading's words without emphasis, code marks, links, anchors or attributes."""
    text = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", heading)
    text = re.sub(_HTML_ANCHOR, "", text)
    text = re.sub(r"\{:?\s*#[^{}]*\}\s*$", "", text)
    text = re.sub(
        r"[*`]{1,3}(?=\S)|(?<!\w)_{1,3}(?=\S)|(?<=\S)[*`]{1,3}|(?<=\S)_{1,3}(?!\w)", "", text
    )
    return " ".join(_ESCAPE.sub(r"\1", text).split())


def _block(
    tokens: Sequence[Token], start: int, end: int, first: int, lines: Mapping[int, str]
) -> Block:
    form = _FORMS[tokens[0].type]
    if form is not Form.LIST:
        return Block(form, start, end)
    depth, position, items = tokens[0].level, 1, []
    while position < len(tokens):
        token = tokens[position]
        behind = _behind(tokens, position)
        if token.type == "list_item_open" and token.level == depth + 1:
            begins, ends = _range(token, first, lines)
            code = tuple(
                _range(it, first, lines)
                for it in tokens[position:behind]
                if it.type in ("fence", "code_block")
            )
            items.append(ListItem(_mark(lines.get(begins, ""), token), begins, ends, code))
        position = max(behind, position + 1)
    return Block(form, start, end, tuple(items))


def _mark(line: str, token: Token) -> str:
    if found := _DECIMAL_MARK.match(line.lstrip()):
        return found[0]
    found = re.match(r"[ \t]*(?:>[ \t]*)*(\d{1,9}|[a-i])\\?([.)])", line)
    return f"{found[1]}{found[2]}" if found else token.markup or "-"
