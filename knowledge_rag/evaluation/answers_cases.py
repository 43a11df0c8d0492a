"""Reads labelled questions and incidents for whole answers: JSON Lines, one case per line.

A case has ``id`` and either ``query`` (the question as typed) or ``incident`` (an object, or the
name of ``incidents/<name>.json`` beside the file). Its other keys are ranges of lines, ``file:first-last``:
``must`` (every one is cited), ``whole`` (cited whole or not at all, or the answer says which lines are not
shown), ``bad`` (no line may be cited), ``first`` (the first citation of the first step starts in
one of them), ``files`` (something of each is cited) and ``none`` (no step may be given). ``kind``
and ``tests`` are only for reports. Other keys are ignored.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.citations import MAX_LINE, Citation, check_source_file
from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.core.formats import WEB_SUFFIXES
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.evaluation.datasets import read_labelled, read_objects
from knowledge_rag.local.corpus import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck

FENCE: Final = "```"
"""A line that begins with one of these, after blanks, is layout: no figure counts it."""

_RANGE: Final = re.compile(
    r"(?P<file>.+):(?P<first>[0-9]{1,10})(?:-(?P<last>[0-9]{1,10}))?", re.DOTALL
)
_TAG: Final = re.compile(r"<[^<>]*>")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Range:
    """A label's lines of a document: 1-based, inclusive."""

    source_file: str
    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> Range:
        """Parse ``file:first-last`` or ``file:line``, or raise ``ValueError`` or ``InvalidCitation`` with the problem.

        The file name may contain spaces and colons.
        """
        match = _RANGE.fullmatch(text)
        if match is None:
            raise ValueError(f"{text[:80]!r} is not a range of lines: write file:first-last")
        first, last = int(match["first"]), int(match["last"] or match["first"])
        if not 1 <= first <= last <= MAX_LINE:
            raise ValueError(f"{text[:80]!r}: line numbers start at 1, the first line comes first")
        return cls(check_source_file(match["file"]), first, last)

    def __str__(self) -> str:
        """Return the form that :meth:`parse` accepts."""
        return f"{self.source_file}:{self.first}-{self.last}"


Line = tuple[str, int]
"""A document and a line number in it, 1-based."""


class LabelledLines:
    """The documents' lines, numbered as in citations.

    A web page is cited by the lines of its extracted text, and labels name the lines of the page
    itself. Each extracted line is assigned to the page's line with most of its words, in order.
    """

    def __init__(self, reader: CitationCheck) -> None:
        self._reader = reader
        self._texts: dict[str, tuple[str, ...]] = {}
        self._origins: dict[str, tuple[int, ...]] = {}

    def text(self, source_file: str) -> tuple[str, ...]:
        """Return a document's lines; empty if there is no such document."""
        if source_file not in self._texts:
            length = self._reader.length(source_file)
            data = self._reader.lines(Citation(source_file, 1, length)) if length else None
            lines = data.decode(errors="replace").split("\n") if data is not None else []
            self._texts[source_file] = tuple(lines)
        return self._texts[source_file]

    def is_counted(self, line: Line) -> bool:
        """Whether a line exists, is not blank, and is not a code fence."""
        source_file, number = line
        text = self.text(source_file)
        stripped = text[number - 1].strip() if 1 <= number <= len(text) else ""
        return bool(stripped) and not stripped.startswith(FENCE)

    def all_of(self, labelled: Range) -> frozenset[Line]:
        """Return every line of a range, including blank ones, numbered as in citations."""
        name = labelled.source_file
        if not name.lower().endswith(WEB_SUFFIXES):
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


INCIDENTS_FOLDER: Final = "incidents"
"""Folder beside a file of cases with their incidents, one JSON file each."""


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled question or incident; the module describes what each field requires of an answer."""

    id: str
    query: str = ""
    incident: Path | Mapping[str, Any] | None = None
    must: tuple[Range, ...] = ()
    whole: tuple[Range, ...] = ()
    bad: tuple[Range, ...] = ()
    first: tuple[Range, ...] = ()
    files: tuple[str, ...] = ()
    none: bool = False
    kind: str = ""
    tests: tuple[str, ...] = ()

    @property
    def ranges(self) -> tuple[Range, ...]:
        """All its ranges."""
        return self.must + self.whole + self.bad + self.first


def has_cases(path: Path) -> bool:
    """Whether the first row of a file is a case; a row of a dataset has ``relevant``.

    Raises:
        InvalidRequest: it has no row, or the first is not a JSON object.
        UnreadableDocument: it can't be read.
    """
    for _, fields in read_objects(path):
        return "relevant" not in fields
    raise InvalidRequest(f"{path}: no rows")


def read_cases(paths: Sequence[Path]) -> tuple[Case, ...]:
    """Read the cases of several files, in order; raises the same as :func:`read_labelled`."""
    return read_labelled(paths, lambda path, row: _case(row, path.parent / INCIDENTS_FOLDER))


def doubts_about_cases(cases: Sequence[Case], lines: LabelledLines) -> Iterator[str]:
    """Yield a sentence for each range that the documents don't contain."""
    for case in cases:
        for labelled in case.ranges:
            length = len(lines.text(labelled.source_file))
            if not length:
                yield f"case {case.id}: there is no document {labelled.source_file}"
            elif not lines.counted(labelled):
                yield f"case {case.id}: {labelled} has no text, the document has {length} lines"


def _case(fields: Mapping[str, Any], incidents: Path) -> Case:
    query, incident = _text(fields, "query"), _incident(fields, incidents)
    if bool(query.strip()) == bool(incident):
        raise ValueError("a case has either a query or an incident")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise ValueError(f"query has {len(query)} characters, allowed: {MAX_QUERY_CHARACTERS}")
    none = fields.get("none", False)
    if not isinstance(none, bool):
        raise ValueError("none must be true or false")  # noqa: TRY004 - wrong input, not a defect
    case = Case(
        id=_text(fields, "id"),
        query=query,
        incident=incident,
        must=_ranges(fields, "must"),
        whole=_ranges(fields, "whole"),
        bad=_ranges(fields, "bad"),
        first=_ranges(fields, "first"),
        files=tuple(map(check_source_file, _texts(fields, "files"))),
        none=none,
        kind=_text(fields, "kind"),
        tests=_texts(fields, "tests"),
    )
    if not case.id.strip():
        raise ValueError("a case needs an id")
    if not (case.none or case.must or case.whole or case.bad or case.first or case.files):
        raise ValueError("a case needs a requirement for its answer: must, none, ...")
    return case


def _incident(fields: Mapping[str, Any], folder: Path) -> Path | Mapping[str, Any] | None:
    value = fields.get("incident") or None
    if value is None or isinstance(value, dict):
        return value
    if not isinstance(value, str):
        raise ValueError("incident must be an object, or the name of a file")  # noqa: TRY004 - same
    return folder / f"{check_source_file(value)}.json"


def _ranges(fields: Mapping[str, Any], name: str) -> tuple[Range, ...]:
    return tuple(map(Range.parse, _texts(fields, name)))


def _texts(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} must be a list of texts")
    return tuple(value)


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"{name} is a text")  # noqa: TRY004 - likewise
    return value
