"""One passage of evidence that came from elsewhere: proven, taken as given, or refused.

Evidence of this product carries hashes that bind file, lines and bytes, and has to keep to them.
Evidence of other systems carries none; it is taken as given if file, lines and text agree in shape,
and counted as such. Whoever has the documents can hold it against them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidCitation
from knowledge_rag.core.metadata import (
    CHUNK_ID,
    CONTENT_SHA256,
    citation_in,
    finite_score,
    prove,
    shown_fields,
)
from knowledge_rag.core.outcome import DropReason, RetrievalResult

if TYPE_CHECKING:
    from typing_extensions import TypeIs

_PROOF: Final = frozenset({CONTENT_SHA256, CHUNK_ID})


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that may be cited.

    Args:
        result: its text and lines.
        proven: whether hashes bind them; else they are taken as given.
    """

    result: RetrievalResult
    proven: bool


def read_passage(text: object, metadata: object, score: object = None) -> Passage | DropReason:
    """Read a passage and the metadata that name its file and lines.

    Args:
        text: as a knowledge base returns it, or the cited lines.
        metadata: with ``source_file``, ``start_line``, ``end_line`` and whatever else is known.
        score: as it came.

    Returns:
        The passage, or why it can't be cited.
    """
    if not isinstance(metadata, dict) or _PROOF & metadata.keys():
        result = prove(text, metadata, score)
        return result if isinstance(result, DropReason) else Passage(result, proven=True)
    if not _is_text(text):
        return DropReason.NOT_TEXT
    try:
        citation = citation_in(metadata)
    except (InvalidCitation, TypeError, ValueError):
        return DropReason.NO_CITATION
    if text.count("\n") != citation.end_line - citation.start_line:
        return DropReason.NOT_PROVEN
    shown = shown_fields(metadata)
    return Passage(RetrievalResult(text, citation, finite_score(score), shown), proven=False)


def _is_text(value: object) -> TypeIs[str]:
    """Whether it is text that a file can hold: a lone surrogate is nothing that bytes decode to."""
    if not isinstance(value, str) or not value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
