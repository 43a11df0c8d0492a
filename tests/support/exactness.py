"""The definition of an exact chunking, written out independently of the code under test."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.core.chunks import Chunk


def assert_exact(text: str, chunks: Iterable[Chunk], *, front_matter_lines: int = 0) -> None:
    """Every chunk is verbatim; every non-blank line behind the front matter is in exactly one."""
    lines = text.split("\n")
    covered: Counter[int] = Counter()
    for chunk in chunks:
        where = (chunk.document.source_file, chunk.start_line, chunk.end_line)
        assert front_matter_lines < chunk.start_line <= chunk.end_line, where
        assert chunk.content == "\n".join(lines[chunk.start_line - 1 : chunk.end_line]), where
        covered.update(range(chunk.start_line, chunk.end_line + 1))
    for number, line in enumerate(lines, start=1):
        solid = line.strip(" \t\r") != "" and number > front_matter_lines
        assert covered[number] == 1 if solid else covered[number] <= 1, (number, line)
