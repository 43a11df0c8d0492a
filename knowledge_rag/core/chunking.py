"""From a document's text to chunks of verbatim lines: deterministic, exact, fast.

A chunk is a section (a heading and what stands below it up to the next heading), because that is
what a runbook's author cut the matter into. A heading with nothing below it goes with its first
sub-section; a section over the cap is split between blocks. No line is changed, skipped or
repeated: every non-blank line outside the front matter lies in exactly one chunk.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.chunks import Chunk
from knowledge_rag.core.context import PREFIX_TOKENS
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.front_matter import parse_front_matter
from knowledge_rag.core.lines import BLANK
from knowledge_rag.core.markdown import find_headings
from knowledge_rag.core.packing import Packer, Span
from knowledge_rag.core.tokens import TokenMeter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.core.chunks import Document
    from knowledge_rag.core.markdown import Heading

ALGORITHM: Final = 1
"""Raised by every change that gives other chunks, prefixes or metadata for the same bytes."""
SPECIAL_TOKENS: Final = 2
"""[CLS] and [SEP], which the embedding model puts around a text."""
PLAIN_SUFFIXES: Final = (".txt", ".text", ".log")
"""Files that have no headings and no blocks but runs of lines."""


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
        """What is left for a chunk's own lines."""
        return self.max_tokens - PREFIX_TOKENS - SPECIAL_TOKENS

    @property
    def fingerprint(self) -> str:
        """Equal for two settings exactly if they give the same chunks for the same bytes."""
        return f"chunks-{ALGORITHM}-{self.max_tokens}"


_PAST_BLANK = re.compile(r"(?:[ \t\r]*\n)*")


class _Section(NamedTuple):
    """A heading and what stands below it up to the next one; offsets of lines in the text."""

    start: int
    lead_end: int
    end: int
    level: int
    path: tuple[str, ...]


class _Piece(NamedTuple):
    span: Span
    path: tuple[str, ...]


def chunk_text(
    document: Document, text: str, settings: ChunkingSettings | None = None
) -> list[Chunk]:
    """Cut a document into chunks, in the order of its lines.

    Args:
        document: what the chunks are from; its file name tells Markdown from plain text.
        text: the document's text as core.lines.decode gives it.
        settings: how to cut; the defaults fit the local embedding model.

    Returns:
        The chunks; ``[]`` for a text with nothing but blank lines and front matter.
    """
    cap = (settings or ChunkingSettings()).content_tokens
    markdown = not document.source_file.lower().endswith(PLAIN_SUFFIXES)
    body = parse_front_matter(text).end if markdown else 0
    headings = find_headings(text, body) if markdown else []
    meter = TokenMeter(text)
    packer = Packer(text, meter, cap, markdown=markdown)
    pieces: list[_Piece] = []
    for section in _with_bodies(text, _sections(text, body, headings)):
        start, lead_end, end, _, path = section
        cost = meter.cost(start, end)
        if cost > cap:
            pieces += [_Piece(span, path) for span in packer.split(start, lead_end, end)]
        elif pieces and pieces[-1].span.cost + cost <= cap and _is_bare(text, section):
            # a heading with nothing below it says nothing alone: it stays with its neighbour
            before, path = pieces.pop()
            pieces.append(_Piece(Span(before.start, end, before.cost + cost), path))
        else:
            pieces.append(_Piece(Span(start, end, cost), path))
    return list(_chunks(document, text, pieces, cap))


def _sections(text: str, body: int, headings: list[Heading]) -> Iterator[_Section]:
    start = _PAST_BLANK.match(text, body).end()  # type: ignore[union-attr] # matches everywhere
    first = headings[0].start if headings else len(text)
    if start < first:
        yield _Section(start, start, first, 0, ())
    path: list[tuple[int, str]] = []
    ends = [*(heading.start for heading in headings[1:]), len(text)]
    for heading, end in zip(headings, ends, strict=False):  # without headings, no section ends
        while path and path[-1][0] >= heading.level:
            path.pop()
        path.append((heading.level, heading.text))
        names = tuple([name for _, name in path])
        yield _Section(heading.start, min(heading.end + 1, end), end, heading.level, names)


def _with_bodies(text: str, sections: Iterator[_Section]) -> Iterator[_Section]:
    """Join each heading that has nothing below it with the first sub-section under it."""
    bare: _Section | None = None
    for section in sections:
        if bare and section.level > bare.level:
            section = section._replace(start=bare.start)  # noqa: PLW2901 - the same section, wider
        elif bare:
            yield bare
        bare = section if _is_bare(text, section) else None
        if bare is None:
            yield section
    if bare:
        yield bare


def _is_bare(text: str, section: _Section) -> bool:
    return section.level > 0 and not text[section.lead_end : section.end].strip(BLANK + "\n")


def _chunks(document: Document, text: str, pieces: list[_Piece], cap: float) -> Iterator[Chunk]:
    line, counted = 1, 0
    for (start, end, cost), path in pieces:
        line += text.count("\n", counted, start)
        counted = start
        solid = start + len(text[start:end].rstrip(BLANK + "\n"))
        last = text.find("\n", solid)  # the spaces behind the last word belong to its line
        content = text[start:] if last < 0 else text[start:last]
        yield Chunk(document, line, line + content.count("\n"), path, content, cost > cap)
