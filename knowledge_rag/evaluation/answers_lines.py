"""Ranges of lines in labels, ``file:first-last``, and the lines of the documents that they name."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.citations import MAX_LINE, Citation, check_source_file
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.extract.documents import WEB_SUFFIXES
from knowledge_rag.local.corpus import read_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck

FENCE: Final = "```"
"""A line that begins with it, after blanks, is layout: no figure counts it."""

_RANGE: Final = re.compile(r"(?P<file>.+):(?P<first>[0-9]{1,10})-(?P<last>[0-9]{1,10})", re.DOTALL)
_TAG: Final = re.compile(r"<[^<>]*>")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Range:
    """Lines of a document, as a label names them.

    Args:
        source_file: relative to the documents' folder.
        first: first line, 1-based.
        last: last line, inclusive.
    """

    source_file: str
    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> Range:
        """Read ``file:first-last``; the file's name may hold blanks and colons.

        Raises:
            ValueError: it is no such range.
            InvalidCitation: the file can't be one below a folder.
        """
        match = _RANGE.fullmatch(text)
        if match is None:
            raise ValueError(f"{text[:80]!r} is no range of lines: write file:first-last")
        first, last = int(match["first"]), int(match["last"])
        if not 1 <= first <= last <= MAX_LINE:
            raise ValueError(f"{text[:80]!r}: lines count from 1, the first comes first")
        return cls(check_source_file(match["file"]), first, last)

    def __str__(self) -> str:
        """Return the form that :meth:`parse` reads."""
        return f"{self.source_file}:{self.first}-{self.last}"


Line = tuple[str, int]
"""A document and a line number in it, 1-based."""


class LabelledLines:
    """The documents' lines as citations count them.

    A web page is cited by the lines of its extracted text, and labels name the lines of the page
    itself. Both are brought together by their words, in order: an extracted line belongs to the
    page's line that most of its words stand on.

    Args:
        reader: of the documents.
    """

    def __init__(self, reader: CitationCheck) -> None:
        self._reader = reader
        self._texts: dict[str, tuple[str, ...]] = {}
        self._origins: dict[str, tuple[int, ...]] = {}

    def text(self, source_file: str) -> tuple[str, ...]:
        """Return a document's lines; none where there is no such document."""
        if source_file not in self._texts:
            length = self._reader.length(source_file)
            data = self._reader.lines(Citation(source_file, 1, length)) if length else None
            lines = data.decode(errors="replace").split("\n") if data is not None else []
            self._texts[source_file] = tuple(lines)
        return self._texts[source_file]

    def is_counted(self, line: Line) -> bool:
        """Whether a line exists, is not blank, and is no code fence."""
        source_file, number = line
        text = self.text(source_file)
        stripped = text[number - 1].strip() if 1 <= number <= len(text) else ""
        return bool(stripped) and not stripped.startswith(FENCE)

    def all_of(self, labelled: Range) -> frozenset[Line]:
        """Return every line of a range, blank ones too, as citations count them."""
        name = labelled.source_file
        if not name.lower().endswith(tuple(WEB_SUFFIXES)):
            numbers = range(labelled.first, min(labelled.last, len(self.text(name))) + 1)
            return frozenset((name, number) for number in numbers)
        wanted = range(labelled.first, labelled.last + 1)
        origins = enumerate(self._origins_of(name), start=1)
        return frozenset((name, number) for number, origin in origins if origin in wanted)

    def counted(self, labelled: Range) -> frozenset[Line]:
        """Return the lines of a range that figures count."""
        return frozenset(filter(self.is_counted, self.all_of(labelled)))

    def _origins_of(self, source_file: str) -> tuple[int, ...]:
        if source_file not in self._origins:
            page = self._page(source_file)
            self._origins[source_file] = _aligned(self.text(source_file), page)
        return self._origins[source_file]

    def _page(self, source_file: str) -> list[str]:
        file = self._reader.documents.files.get(source_file)
        try:
            data = read_bytes(file) if file is not None else b""
        except UnreadableDocument:
            data = b""
        return [
            html.unescape(_TAG.sub(" ", it)) for it in data.decode(errors="replace").split("\n")
        ]


def _aligned(extracted: Sequence[str], page: Sequence[str]) -> tuple[int, ...]:
    """Return the page's line for each extracted line, 0 for one without words of the page."""
    ours = [(word, n) for n, line in enumerate(extracted) for word in _WORD.findall(line)]
    theirs = [(word, n) for n, line in enumerate(page, start=1) for word in _WORD.findall(line)]
    matcher = SequenceMatcher(
        None, [word for word, _ in ours], [word for word, _ in theirs], autojunk=False
    )
    found: list[list[int]] = [[] for _ in extracted]
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            found[ours[block.a + offset][1]].append(theirs[block.b + offset][1])
    return tuple(max(set(numbers), key=numbers.count) if numbers else 0 for numbers in found)
