"""Findings on the chunks whose lines hold them, so that they travel to every answer that cites these."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.caution import CAUTIONS, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.chunks import Chunk
    from knowledge_rag.extract.lint.finding import Finding

LINT_VERSION: Final = 1
"""Raised by every change that finds other kinds in the same text."""


def cautioned(chunks: Sequence[Chunk], findings: Sequence[Finding]) -> list[Chunk]:
    """Return a document's chunks, each with the kinds that lint found in its lines.

    Args:
        chunks: of the document, in the order of their lines.
        findings: of the same document.
    """
    starts = [chunk.start_line for chunk in chunks]
    ends = [chunk.end_line for chunk in chunks]
    kinds: list[set[Kind]] = [set() for _ in chunks]
    for finding in findings:
        if finding.kind in CAUTIONS:
            first, behind = bisect_left(ends, finding.line), bisect_right(starts, finding.end_line)
            for found in kinds[first:behind]:
                found.add(finding.kind)
    return [
        chunk._replace(caution=tuple(kind.value for kind in Kind if kind in found))
        if found
        else chunk
        for chunk, found in zip(chunks, kinds, strict=True)
    ]
