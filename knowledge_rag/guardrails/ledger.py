"""The evidence of one request: all that retrieval returned, and the only source of citations.

Passages of this product have hashes that bind file, lines and bytes, and must match them. Passages
of other systems have none: they are accepted as given if file, lines and text agree, and aren't
counted as proven.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.citations import Citation
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
    from collections.abc import Iterable, Mapping, Sequence

    from typing_extensions import TypeIs


@dataclass(frozen=True, slots=True)
class Evidence:
    r"""Lines that retrieval returned: a whole result, or consecutive lines of one.

    Args:
        number: of the result in its ledger, 1-based; ``[n]`` and ``[Source n]`` refer to it.
        citation: where the lines are.
        content: the lines joined by ``\n``, byte for byte.
    """

    number: int
    citation: Citation
    content: str


@dataclass(frozen=True, slots=True)
class Cited:
    """One citation of an answer.

    Args:
        start: offset of its reference in the answer that may be shown.
        end: offset after that reference.
        number: of its entry in the ledger.
        citation: the lines, all of them retrieved for this request.
        content: the lines' text, byte for byte.
    """

    start: int
    end: int
    number: int
    citation: Citation
    content: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive characters of an answer: one reference, or the text between two.

    Args:
        text: never empty; joined, all pieces of an answer are the answer.
        cited: the reference's citations, in order; empty for other text.
    """

    text: str
    cited: tuple[Cited, ...] = ()


@dataclass(frozen=True, slots=True)
class Ledger:
    """The distinct citations of one request, numbered from 1 by first appearance over all its queries.

    Of results with the same file and lines, the first counts.

    Args:
        results: everything that retrieval returned, in order, query after query.

    Raises:
        InvalidCitation: a result's text has more or fewer lines than its citation.
    """

    results: tuple[RetrievalResult, ...] = ()
    entries: tuple[Evidence, ...] = field(init=False)
    _by_file: Mapping[str, Sequence[Evidence]] = field(init=False, repr=False, compare=False)
    _by_lines: Mapping[tuple[str, int, int], Evidence] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        distinct: dict[tuple[str, int, int], RetrievalResult] = {}
        for result in self.results:
            check_lines(result.citation, result.content)
            distinct.setdefault(_key(result.citation), result)
        entries = tuple(
            Evidence(number, result.citation, result.content)
            for number, result in enumerate(distinct.values(), start=1)
        )
        by_file: dict[str, list[Evidence]] = {}
        for entry in entries:
            by_file.setdefault(entry.citation.source_file, []).append(entry)
        object.__setattr__(self, "results", tuple(distinct.values()))
        object.__setattr__(self, "entries", entries)
        object.__setattr__(self, "_by_file", by_file)
        object.__setattr__(self, "_by_lines", dict(zip(distinct, entries, strict=True)))

    @classmethod
    def of(cls, *queries: Iterable[RetrievalResult]) -> Ledger:
        """Return the ledger of a request from the results of its queries, in the order of the queries."""
        return cls(tuple(result for results in queries for result in results))

    def __len__(self) -> int:
        return len(self.entries)

    def numbered(self, number: int) -> Evidence | None:
        """Return entry ``number``, 1-based; ``None`` if there is no such entry."""
        return self.entries[number - 1] if 1 <= number <= len(self.entries) else None

    def knows(self, source_file: str) -> bool:
        """Whether any entry is from this file; names are compared exactly."""
        return source_file in self._by_file

    def lines(self, source_file: str, start_line: int, end_line: int) -> Evidence | None:
        """Return the evidence for lines of a file, if one result has them all.

        An entry with exactly these lines is preferred; otherwise the first one that has them.

        Args:
            source_file: compared exactly, case and all.
            start_line: 1-based.
            end_line: inclusive.

        Returns:
            Exactly these lines, with the number and section of their entry; ``None`` if no single
            entry has them all, or the range is reversed.
        """
        if exact := self._by_lines.get((source_file, start_line, end_line)):
            return exact
        for entry in self._by_file.get(source_file, ()):
            if entry.citation.start_line <= start_line <= end_line <= entry.citation.end_line:
                return _part(entry, start_line, end_line)
        return None


def _key(citation: Citation) -> tuple[str, int, int]:
    return citation.source_file, citation.start_line, citation.end_line


def check_lines(citation: Citation, content: str) -> None:
    """Raise InvalidCitation if a text has more or fewer lines than its citation."""
    cited = citation.end_line - citation.start_line + 1
    held = content.count("\n") + 1
    if cited != held:
        raise InvalidCitation(f"{citation}: cites {cited} lines, its text has {held}")


def _part(entry: Evidence, start_line: int, end_line: int) -> Evidence:
    first = entry.citation.start_line
    lines = entry.content.split("\n")[start_line - first : end_line - first + 1]
    citation = Citation(
        entry.citation.source_file, start_line, end_line, entry.citation.section_header
    )
    return Evidence(entry.number, citation, "\n".join(lines))


_PROOF: Final = frozenset({CONTENT_SHA256, CHUNK_ID})


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that may be cited; ``proven`` if hashes bind its text and lines, else accepted as given."""

    result: RetrievalResult
    proven: bool


def read_passage(text: object, metadata: object, score: object = None) -> Passage | DropReason:
    """Read a passage and the metadata with its file and lines.

    Args:
        text: as a knowledge base returns it, or the cited lines.
        metadata: with ``source_file``, ``start_line``, ``end_line`` and any other keys.
        score: as received.

    Returns:
        The passage, or the reason why it can't be cited.
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
    """Whether it is text that a file can contain: no bytes decode to a lone surrogate."""
    if not isinstance(value, str) or not value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
