r"""Cuts a document's text into chunks of verbatim lines: deterministic, exact, fast.

A chunk is a section (a heading and the lines below it up to the next heading), because that is how a
runbook's author divided the text. A heading with nothing below it joins its first sub-section; a section
over the cap is split between blocks. No line is changed, skipped or repeated: every non-blank line outside
the front matter is in exactly one chunk.

A *position* is the index in ``source = "\n" + text`` of the ``\n`` before a line, which is that
line's offset in ``text``, so the positions of blocks are offsets in ``text``.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from knowledge_rag.core import grammar
from knowledge_rag.core.chunks import PREFIX_TOKENS, Chunk
from knowledge_rag.core.documents import front_matter_end
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.formats import PLAIN_SUFFIXES
from knowledge_rag.core.lines import BLANKS, split_lines
from knowledge_rag.core.markdown import fence_end, find_headings, html_end, item_end, line_end
from knowledge_rag.core.tokens import PER_MARK, PER_PLAIN, classify, cost, fits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knowledge_rag.core.chunks import Document
    from knowledge_rag.core.markdown import Heading


ALGORITHM: Final = 5
"""Raised with every change that yields other chunks, prefixes or metadata for the same bytes."""
SPECIAL_TOKENS: Final = 2
"""[CLS] and [SEP], which the embedding model puts around a text."""


@dataclass(frozen=True, slots=True)
class ChunkingSettings:
    """How documents are cut.

    Args:
        max_tokens: the cap in tokens of the embedding model, context prefix and special tokens
            included, 128..8192; 256 is the local model's window.

    Raises:
        InvalidSettings: ``max_tokens`` is out of range.
    """

    max_tokens: int = 256

    def __post_init__(self) -> None:
        if not 128 <= self.max_tokens <= 8192:
            raise InvalidSettings(f"max_tokens is {self.max_tokens}; allowed: 128 to 8192")

    @property
    def content_tokens(self) -> int:
        """Tokens available for a chunk's own lines."""
        return self.max_tokens - PREFIX_TOKENS - SPECIAL_TOKENS

    @property
    def fingerprint(self) -> str:
        """Equal for two settings if and only if they yield the same chunks for the same bytes."""
        return f"chunks-{ALGORITHM}-{self.max_tokens}"


_PAST_BLANK = re.compile(r"(?:[ \t\r]*\n)*")


_Section = tuple[int, int, int, tuple[str, ...]]
"""Offsets of its first line, of the end of its headings, and of its own end; its path. Where the second
and the third are equal, nothing is below the headings."""
_Piece = tuple[int, int, tuple[str, ...], bool]
"""Offsets of the first line and of the end, blank lines included; path; whether it is over the cap."""


def chunk_text(
    document: Document,
    text: str,
    settings: ChunkingSettings | None = None,
    shape: str | None = None,
) -> list[Chunk]:
    """Cut a document into chunks, in line order; none if there are only blank lines and front matter.

    Args:
        document: the chunks' document; its file name distinguishes Markdown from plain text.
        text: the document's text as :func:`core.lines.decode` returns it.
        settings: the defaults fit the local embedding model.
        shape: for other markup, the text as Markdown, line for line; it decides where to cut.
    """
    cap = (settings or ChunkingSettings()).content_tokens
    markdown = not document.source_file.lower().endswith(PLAIN_SUFFIXES)
    body = front_matter_end(text) if markdown else 0
    if shape is not None:
        return _shaped_chunks(document, text, shape, body, cap)
    return _chunks(document, text, _pieces(text, text, body, cap, markdown=markdown))


def _pieces(text: str, shape: str, body: int, cap: float, *, markdown: bool) -> list[_Piece]:
    """Cut a text at the boundaries that its shape, with the same line ends, shows."""
    headings = find_headings(shape, body) if markdown else ()
    # fewer characters always fit, more only if they are mostly indents: splitting returns those whole
    sure, unlikely = int(cap / PER_MARK), int(cap / PER_PLAIN)

    def is_within_cap(start: int, end: int) -> bool:
        return end - start <= sure or fits(text, start, end, cap)

    pieces: list[_Piece] = []
    for start, lead_end, end, path in _sections(shape, body, headings):
        if lead_end >= end and pieces and is_within_cap(pieces[-1][0], end):
            first, _, above, _ = pieces.pop()  # a heading with nothing below says nothing alone
            pieces.append((first, end, above, False))
        elif end - start <= unlikely and is_within_cap(start, end):
            pieces.append((start, end, path, False))
        else:
            section = _LongSection(
                shape[start:end], classify(text, start, end), start, cap, markdown=markdown
            )
            pieces += [
                (first, behind, path, tokens > cap)
                for first, behind, tokens in section.split(lead_end)
            ]
    return pieces


def _shaped_chunks(document: Document, text: str, shape: str, body: int, cap: float) -> list[Chunk]:
    """Cut a text in other markup; lines that are blank only in its shape go with those above."""
    lines, shapes = text.split("\n"), shape.split("\n")
    if len(lines) != len(shapes):
        raise ValueError(f"a shape of {len(shapes)} lines for {len(lines)} lines of text")
    widths = [max(len(line), len(other)) for line, other in zip(lines, shapes, strict=True)]
    # side by side, padded with blanks, which cost nothing, so an offset is the same place in both
    padded, source = (
        "\n".join(line.ljust(width) for line, width in zip(them, widths, strict=True))
        for them in (lines, shapes)
    )
    first = text.count("\n", 0, body)
    start = sum(widths[:first]) + first
    pieces = _pieces(padded, source, start, cap, markdown=True)
    begins = [first, *(padded.count("\n", 0, piece[0]) for piece in pieces[1:]), len(lines)]
    chunks = []
    for (begin, behind), (_, _, path, oversized) in zip(pairwise(begins), pieces, strict=False):
        solid = [number for number in range(begin, behind) if lines[number].strip(BLANKS)]
        if solid:
            content = "\n".join(lines[solid[0] : solid[-1] + 1])
            chunks.append(Chunk(document, solid[0] + 1, solid[-1] + 1, path, content, oversized))
    return chunks


def _sections(text: str, body: int, headings: Iterable[Heading]) -> Iterator[_Section]:
    """Return the sections; a heading with nothing below joins the first sub-section under it."""
    first = lead_end = below = _PAST_BLANK.match(text, body).end()  # type: ignore[union-attr] # matches everywhere
    paths: list[tuple[str, ...]] = [()] * 7  # of the innermost heading open at each level
    path: tuple[str, ...] = ()
    outer = 0  # level of the heading above
    for start, behind, solid, level, name in headings:
        if below < start:
            yield first, lead_end, start, path
            first = start
        elif level <= outer:
            yield first, start, start, path
            first = start
        path = (*paths[level - 1], name)
        paths[level:] = [path] * (7 - level)
        lead_end, below, outer = behind + 1, solid, level
    end = len(text)
    if below < end:
        yield first, lead_end, end, path
    elif outer:
        yield first, end, end, path


def _chunks(document: Document, text: str, pieces: list[_Piece]) -> list[Chunk]:
    chunks = []
    line, counted = 1, 0
    for start, end, path, oversized in pieces:
        if counted < start:
            line += text.count("\n", counted, start)
        counted = end
        lines = text[start:end]
        content = lines.rstrip(BLANKS)
        blank = lines[len(content) :]
        if blank and blank[0] != "\n":  # the spaces after the last word belong to its line
            content += blank.partition("\n")[0]
        below = line + lines.count("\n")
        chunks.append(Chunk(document, line, below - blank.count("\n"), path, content, oversized))
        line = below
    return chunks


_WINDOW = 8_000
"""Characters within which a run of lines reaches the cap; keeps the search for it local."""

Span = tuple[int, int, float]
"""A stretch of lines: offset of its first line, offset of its end (trailing blank lines may be
included), estimated tokens."""


class _LongSection:
    """A section that begins at ``start`` and may need splitting; offsets inside count from there.

    Fences, tables, list items and paragraphs stay whole if they fit the cap, in estimated tokens; only
    a single line can exceed it. Blocks are Markdown's, or runs of non-blank lines.
    """

    def __init__(
        self, shape: str, classes: bytes, start: int, cap: float, *, markdown: bool
    ) -> None:
        self._start = start
        self._source = "\n" + shape
        self._classes = classes
        self._cap = cap
        self._markdown = markdown

    def split(self, lead_end: int) -> list[Span]:
        """Split it into spans of the text; heading lines, up to ``lead_end``, stay with the text below them."""
        classes, cap = self._classes, self._cap
        lead_end -= self._start
        units: list[Span] = []
        start = 0
        for end in self._bounds(lead_end):
            tokens = cost(classes, start, end)
            if tokens <= cap:
                units.append((start, end, tokens))
            else:
                units += self._parts(start, max(start, lead_end), end)
            start = end
        return self._pack(units)

    def _bounds(self, lead_end: int) -> list[int]:
        """Return the positions where a cut splits no fence, table, list item or HTML block, and the end."""
        seams = grammar.SEAM if self._markdown else grammar.PLAIN_SEAM
        end = len(self._source) - 1
        bounds = cuts(seams, self._source, lead_end, end)
        if bounds and not self._source[lead_end + 1 : bounds[0]].strip(BLANKS):
            del bounds[0]  # never cut directly below a heading
        bounds.append(end)
        return bounds

    def _parts(self, start: int, lead_end: int, end: int) -> Iterator[Span]:
        """Split a stretch over the cap: heading, blocks, their parts, their lines."""
        lead = cost(self._classes, start, lead_end)
        if lead_end > start:
            yield from self._runs(start, lead_end, lead, self._cap)
        room = self._cap - lead if lead <= self._cap else self._cap
        blocks = markdown_blocks if self._markdown else plain_blocks
        for first, behind, is_item in blocks(self._source, lead_end, end):
            yield from self._fitting(first, behind, room, is_item=is_item)
            room = self._cap

    def _fitting(self, start: int, end: int, room: float, *, is_item: bool) -> Iterator[Span]:
        """Return a block whole if it fits the cap, else its parts, the first of them within ``room``."""
        tokens = cost(self._classes, start, end)
        if is_item and tokens > self._cap:
            for part, behind in item_parts(self._source, start, end):
                yield from self._fitting(part, behind, room, is_item=False)
                room = self._cap
        else:
            yield from self._runs(start, end, tokens, room)

    def _runs(self, start: int, end: int, remaining: float, room: float) -> Iterator[Span]:
        """Cut a stretch that costs ``remaining`` into runs of lines, the first within ``room``."""
        if remaining > self._cap:
            ends = self._line_ends(start, end)
            while start < end and remaining > self._cap:
                behind = self._reach(ends, start, room)
                tokens = cost(self._classes, start, behind)
                yield start, behind, tokens
                start = past_blank(self._source, behind)
                remaining -= tokens
                if remaining < 2 * self._cap:  # costs are only nearly additive: count the rest anew
                    remaining = cost(self._classes, start, end)
                room = self._cap
        if start < end:
            yield start, end, remaining

    def _line_ends(self, start: int, end: int) -> list[int]:
        lines = split_lines(self._source[start + 1 : end + 1])
        return list(accumulate([len(line) + 1 for line in lines], initial=start))

    def _reach(self, ends: list[int], start: int, room: float) -> int:
        """Return the last of ``ends`` up to which the lines from ``start`` cost at most ``room``."""
        second = bisect_right(ends, start) + 1
        last = bisect_left(ends, start + _WINDOW)
        until = min(last + 1, len(ends))
        fit = bisect_right(
            ends, room, second, until, key=lambda end: cost(self._classes, start, end)
        )
        return ends[fit - 1]

    def _pack(self, units: list[Span]) -> list[Span]:
        """Join units up to the cap; a unit that ends in a colon stays with the next one, if both fit."""
        spans: list[Span] = []
        cap = self._cap
        first, total, before = 0, 0.0, 0.0
        for index, (_, _, tokens) in enumerate(units):
            if total + tokens > cap and index > first:
                alone = index - 1 == first or before + tokens > cap
                behind = index if alone or not self._introduces(units[index - 1]) else index - 1
                spans.append(self._joined(units, first, behind, total))
                first, total = behind, before if behind < index else 0.0
            total += tokens
            before = tokens
        if units:
            spans.append(self._joined(units, first, len(units), total))
        return spans

    def _introduces(self, unit: Span) -> bool:
        start, end, _ = unit
        return self._source[max(start, end - 8) + 1 : end + 1].rstrip(BLANKS).endswith(":")

    def _joined(self, units: list[Span], first: int, behind: int, tokens: float) -> Span:
        return self._start + units[first][0], self._start + units[behind - 1][1], tokens


Block = tuple[int, int, bool]
"""Lines that belong together: offset of the first one, which is not blank; offset of the end (trailing
blank lines may be included); whether it is a list item, which has parts of its own."""


def markdown_blocks(source: str, position: int, end: int) -> Iterator[Block]:
    """Return the blocks between two positions: paragraphs, fences, tables, single list items ..."""
    while (position := past_blank(source, position)) < end:
        opening = grammar.BLOCK_START.match(source, position)
        behind = min(end, _block_end(source, position, opening))
        yield position, behind, opening is not None and opening.lastgroup == "item"
        position = behind


def plain_blocks(source: str, position: int, end: int) -> Iterator[Block]:
    """Return the runs of non-blank lines between two positions."""
    while (position := past_blank(source, position)) < end:
        behind = min(end, _next_blank(source, position))
        yield position, behind, False
        position = behind


def cuts(pattern: re.Pattern[str], source: str, position: int, end: int) -> list[int]:
    """Return the positions where a pattern like grammar.SEAM allows a cut, in order."""
    # one more character, so that the end of a blank run shows that another line follows
    found = [
        match.end() if kind == "blank" else match.start()
        for match in pattern.finditer(source, position, end + 1)
        if (kind := match.lastgroup) in grammar.CUTS
    ]
    unique = dict.fromkeys(found)
    unique.pop(end, None)
    return list(unique)


def item_parts(source: str, position: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a list item before its inner items and after its blank lines; fences stay whole."""
    return pairwise([position, *cuts(grammar.ITEM_PART, source, position + 1, end), end])


def past_blank(source: str, position: int) -> int:
    """Return the position of the first non-blank line from ``position`` on, or the end."""
    if source[position + 1 : position + 2] not in "\n \t\r":
        return position
    blank = grammar.BLANK_LINES.match(source, position)
    return blank.end() if blank else position


def _next_blank(source: str, position: int) -> int:
    blank = grammar.BLANK_LINE.search(source, position + 1)
    return blank.start() if blank else len(source)


def _block_end(source: str, position: int, opening: re.Match[str] | None) -> int:
    if opening is None:
        return _paragraph_end(source, position)
    kind = opening.lastgroup
    if kind == "fence":
        return fence_end(source, opening)
    if kind in _RUNS:
        return _run_end(_RUNS[kind], source, position)
    ends = {"html": html_end, "item": item_end}.get(kind or "", line_end)
    return ends(source, position)


_RUNS: Final = {"quote": grammar.NOT_QUOTE, "code": grammar.NOT_CODE}
"""Blocks that continue while their lines look alike, each with the pattern of the first other line."""


def _run_end(other: re.Pattern[str], source: str, position: int) -> int:
    found = other.search(source, position + 1)
    return found.start() if found else len(source)


def _paragraph_end(source: str, position: int) -> int:
    second = line_end(source, position)
    if grammar.TABLE_DELIMITER.match(source, second):
        return _run_end(grammar.TABLE_BREAK, source, second)
    return _run_end(grammar.PARAGRAPH_BREAK, source, position)
