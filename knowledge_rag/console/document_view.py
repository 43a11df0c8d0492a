"""The JSON of a document's page: its lines, its outline and the state of cited lines."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.channel.marks import is_web_address
from knowledge_rag.console.documents import (
    SHOWN_METADATA,
    CachedCorpus,
    retrieved_lines,
    stale_anywhere,
    stale_json,
)
from knowledge_rag.console.limits import MAX_DOCUMENT_CHARACTERS, MAX_RANGES
from knowledge_rag.console.rendered_document import rendered_document
from knowledge_rag.core.citations import MAX_LINE, Citation
from knowledge_rag.core.documents import front_matter_end
from knowledge_rag.core.formats import is_markdown
from knowledge_rag.core.markdown import find_headings
from knowledge_rag.core.metadata import SOURCE_URL, TITLE
from knowledge_rag.drift.page import slugs
from knowledge_rag.extract.markup import as_markdown
from knowledge_rag.guardrails.staleness import CitedLines, FileNow, compare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowledge_rag.console.documents import IngestedDocument, KeptDocuments, Stale
    from knowledge_rag.core.repository_links import RepositoryLinks
    from knowledge_rag.guardrails.staleness import Corpus

_RANGE: Final = re.compile(r"L?([1-9][0-9]{0,9})(?:-L?([1-9][0-9]{0,9}))?")
_OF_THE_LINES: Final = frozenset({"lines", "pages", "sections"})

Range = tuple[int, int]
"""First and last line, 1-based and inclusive."""


def read_ranges(values: Sequence[str]) -> tuple[Range, ...]:
    """Read ranges of lines, such as ``5-10``, ``L5-L10`` and ``7``."""
    if len(values) > MAX_RANGES:
        raise Refused(400, f"{len(values)} ranges of lines, allowed: {MAX_RANGES}")
    ranges = []
    for value in values:
        found = _RANGE.fullmatch(value)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last <= MAX_LINE:
            raise Refused(400, f"{value[:40]!r} is not a range of lines")
        ranges.append((first, last))
    return tuple(ranges)


def view(
    document: IngestedDocument,
    ranges: Sequence[Range],
    documents: KeptDocuments,
    repository: RepositoryLinks | None,
    cards: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the JSON form of a document."""
    now = documents.current()
    corpus = CachedCorpus(now) if now is not None else None
    lines = [line or "" for line in document.lines]
    if sum(map(len, lines)) > MAX_DOCUMENT_CHARACTERS:
        raise Refused(413, f"the document has more than {MAX_DOCUMENT_CHARACTERS} characters")
    shown: dict[str, Any] = {
        "version": _version(document),
        "source": document.source_file,
        "title": document.metadata.get(TITLE, document.source_file),
        "metadata": {
            key: document.metadata[key] for key in SHOWN_METADATA if key in document.metadata
        },
        "lines": list(document.lines),
        "pages": [{"line": line, "page": page} for line, page in document.pages],
        "isComplete": document.is_complete,
        "isMarkdown": is_markdown(document.source_file),
        "sections": _sections("\n".join(as_markdown(document.source_file, lines))),
        "ranges": _ranges(document, ranges, _stale(document, ranges, corpus, cards), repository),
    }
    if is_web_address(document.metadata.get(SOURCE_URL)):
        shown["sourceUrl"] = document.metadata[SOURCE_URL]
    return shown | _whole(document, corpus, repository)


def rendered_view(document: IngestedDocument, documents: KeptDocuments) -> dict[str, Any]:
    """Return a document as HTML, with its version."""
    if not is_markdown(document.source_file):
        raise Refused(404, "a document of this format can only be shown as lines")
    lines = [line or "" for line in document.lines]
    html = rendered_document(document.source_file, lines, documents.may_have)
    return {"version": _version(document), "html": html}


def without_known(shown: dict[str, Any], version: str) -> dict[str, Any]:
    """Leave out the lines, pages and sections for a page that already has this version of them."""
    if shown["version"] != version:
        return shown
    return {name: value for name, value in shown.items() if name not in _OF_THE_LINES}


def _version(document: IngestedDocument) -> str:
    """Return a digest of the lines and pages."""
    shown = json.dumps([document.lines, document.pages])
    return hashlib.sha256(shown.encode()).hexdigest()


def _whole(
    document: IngestedDocument, corpus: Corpus | None, repository: RepositoryLinks | None
) -> dict[str, Any]:
    """Return the current state of the file, and the address for changing it."""
    known: dict[str, Any] = {}
    if corpus is not None:
        now = corpus.now(document.source_file)
        known["file"] = (
            "gone" if now is None else "same" if now.sha256 == document.sha256 else "changed"
        )
    whole = (document.source_file, 1, len(document.lines))
    if repository is not None and (url := repository.url(*whole)):
        known["repositoryUrl"] = url
    return known


def _ranges(
    document: IngestedDocument,
    ranges: Sequence[Range],
    stale: Sequence[Stale | None],
    repository: RepositoryLinks | None,
) -> list[dict[str, Any]]:
    """Return each range, up to the document's last line; ``missing`` if it has no such lines."""
    listed = []
    for asked, became in zip(ranges, stale, strict=True):
        first, last = _clamped(document, asked) or asked
        one: dict[str, Any] = {"start": first, "end": last}
        if last > len(document.lines):
            one["missing"] = True
        else:
            one["reference"] = str(Citation(document.source_file, first, last))
            lines = (document.source_file, first, last)
            if repository is not None and (url := repository.url(*lines)):
                one["repositoryUrl"] = url
        listed.append(one | ({"stale": became} if became else {}))
    return listed


def _clamped(document: IngestedDocument, asked: Range) -> Range | None:
    first, last = asked
    return (first, min(last, len(document.lines))) if first <= len(document.lines) else None


def _stale(
    document: IngestedDocument,
    ranges: Sequence[Range],
    corpus: Corpus | None,
    cards: Sequence[Mapping[str, Any]],
) -> list[Stale | None]:
    """Return the state of each range: of an answer's lines if it cites them, otherwise of the ingested ones."""
    there = [_clamped(document, one) for one in ranges]
    cited = [_cited(document, *one) if one else None for one in there]
    known = {at: one for at, one in enumerate(cited) if one is not None}
    in_files = dict(zip(known, stale_anywhere(list(known.values()), corpus), strict=True))
    now = FileNow(document.sha256 or None, "\n".join(line or "" for line in document.lines))
    retrieved = (retrieved_lines(cards, *one) for one in ranges)
    in_answers = [stale_json(compare(one, now)) if one else None for one in retrieved]
    return [one or in_files.get(at) for at, one in enumerate(in_answers)]


def _cited(document: IngestedDocument, first: int, last: int) -> CitedLines | None:
    """Return lines as ingested; ``None`` if one of them wasn't stored."""
    lines = document.lines[first - 1 : last]
    content = "\n".join(line for line in lines if line is not None)
    if None in lines:
        return None
    return CitedLines(Citation(document.source_file, first, last), content, document.sha256 or None)


def _sections(text: str) -> list[dict[str, Any]]:
    """Return the line, level and text of each heading, and its anchors for links."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    return [
        {
            "line": bisect_right(starts, offset),
            "level": level,
            "title": title,
            "anchors": sorted(slugs(title)),
        }
        for offset, _, _, level, title in find_headings(text, front_matter_end(text))
    ]
