"""From a document's text to chunks of verbatim lines: deterministic, exact, fast.

A chunk is a section (a heading and what stands below it up to the next heading), because that is
what a runbook's author cut the matter into. A heading with nothing below it goes with its first
sub-section; a section over the cap is split between blocks. No line is changed, skipped or
repeated: every non-blank line outside the front matter lies in exactly one chunk.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import Chunk
from knowledge_rag.core.context import PREFIX_TOKENS
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.front_matter import front_matter_end
from knowledge_rag.core.lines import BLANKS
from knowledge_rag.core.markdown import find_headings
from knowledge_rag.core.packing import Packer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knowledge_rag.core.chunks import Document
    from knowledge_rag.core.markdown import Heading

ALGORITHM: Final = 3
"""Raised by every change that gives other chunks, prefixes or metadata for the same bytes."""
SPECIAL_TOKENS: Final = 2
"""[CLS] and [SEP], which the embedding model puts around a text."""
PLAIN_SUFFIXES: Final = (".txt", ".text", ".log", ".pdf")
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


_Section = tuple[int, int, int, tuple[str, ...]]
"""Offsets of its first line, behind its headings and behind itself; its path. Where the second and
the third are the same, nothing stands below the headings."""
_Piece = tuple[int, int, tuple[str, ...], bool]
"""Offsets of the first line and behind the last, blank ones included; path; over the cap."""


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
    body = front_matter_end(text) if markdown else 0
    headings = find_headings(text, body) if markdown else ()
    packer = Packer(text, cap, markdown=markdown)
    pieces: list[_Piece] = []
    for start, lead_end, end, path in _sections(text, body, headings):
        if lead_end >= end and pieces and packer.fits(pieces[-1][0], end):
            first, _, above, _ = pieces.pop()  # a heading with nothing below says nothing alone
            pieces.append((first, end, above, False))
        elif end - start <= packer.sure:
            pieces.append((start, end, path, False))
        else:
            pieces += [
                (first, behind, path, tokens > cap)
                for first, behind, tokens in packer.cut(start, lead_end, end)
            ]
    return _chunks(document, text, pieces)


def _sections(text: str, body: int, headings: Iterable[Heading]) -> Iterator[_Section]:
    """Give the sections; a heading with nothing below joins the first sub-section under it."""
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
        if blank and blank[0] != "\n":  # the spaces behind the last word belong to its line
            content += blank.partition("\n")[0]
        below = line + lines.count("\n")
        chunks.append(Chunk(document, line, below - blank.count("\n"), path, content, oversized))
        line = below
    return chunks
