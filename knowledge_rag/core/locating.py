r"""Finds the lines of a passage that another ingestion made.

A passage is located where the document has the same text, with each run of white space counted as one
space (white space as in ``str.split``). Citations are the document's own whole lines. Nothing is matched
approximately, and a passage that could be from several places is dropped.
"""

from __future__ import annotations

import sys
import threading
from array import array
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.chunks import Chunk
from knowledge_rag.core.metadata import (
    END_LINE,
    SOURCE_FILE,
    START_LINE,
    finite_score,
    shown_fields,
    to_metadata,
)
from knowledge_rag.core.outcome import DropReason, RetrievalResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowledge_rag.core.chunks import Document

MAX_PLACES: Final = 64
"""Places at which a passage is looked for; in more, it is ambiguous."""

_BOM: Final = "\ufeff"

_CHUNK_ID: Final = "x-amz-bedrock-kb-chunk-id"
_DATA_SOURCE: Final = "x-amz-bedrock-kb-data-source-id"
_LOCATION_URIS: Final = ("uri", "url", "id")
SOURCE_URI: Final = "x-amz-bedrock-kb-source-uri"
"""Metadata with which a knowledge base names and filters the document."""
_SOURCE_KEYS: Final = (SOURCE_URI, "source", "file_path", SOURCE_FILE)
"""Metadata that name the document, of Bedrock, LangChain, LlamaIndex and this project."""


class RawPassage(NamedTuple):
    """A passage as retrieval returned it, without lines.

    Args:
        text: as received; empty if there is none.
        source: URI or path of its document, ``""`` if none is named.
        chunk_id: its id in the other system, ``""`` if it has none.
        score: as received.
        data_source: data source of the chunk, ``""`` if none is named.
    """

    text: str
    source: str
    chunk_id: str = ""
    score: object = None
    data_source: str = ""


def raw_passage(item: object, root: str = "") -> RawPassage | None:
    """Read a result that names no lines; ``None`` if it names lines or isn't a result.

    Args:
        item: from Retrieve, or a LangChain or LlamaIndex document in JSON.
        root: prefix of the URIs of the documents at hand: for these, lines that a result names itself don't
        count, since anyone who writes a document may write its metadata.
    """
    if not isinstance(item, dict):
        return None
    node = item.get("node", item)  # LlamaIndex puts the score beside the node
    metadata = node.get("metadata") if isinstance(node, dict) else None
    metadata = metadata if isinstance(metadata, dict) else {}
    if not isinstance(node, dict):
        return None
    source = _source(node.get("location"), metadata)
    is_at_hand = bool(root) and source.startswith(root)
    if not is_at_hand and (START_LINE in metadata or END_LINE in metadata):
        return None
    texts = (node.get(name) for name in ("content", "page_content", "text"))
    text = next((text for text in map(_text, texts) if text), "")
    named = (metadata.get(_CHUNK_ID), *(node.get(name) for name in ("id", "id_", "node_id")))
    chunk_id = next((name for name in named if isinstance(name, str)), "")
    data_source = metadata.get(_DATA_SOURCE)
    data_source = data_source if isinstance(data_source, str) else ""
    return RawPassage(text, source, chunk_id, item.get("score"), data_source)


def _text(value: object) -> str:
    if isinstance(value, dict):
        value = value.get("text") if value.get("type", "TEXT") == "TEXT" else None
    return value if isinstance(value, str) else ""


def _source(location: object, metadata: Mapping[str, object]) -> str:
    kinds = location.values() if isinstance(location, dict) else ()
    named = [kind.get(key) for kind in kinds if isinstance(kind, dict) for key in _LOCATION_URIS]
    named += [metadata.get(key) for key in _SOURCE_KEYS]
    return next((name for name in named if isinstance(name, str) and name), "")


_Place = tuple[int, int]
"""The first and the last line of a place, as indexes of the non-blank lines."""


def fold(text: str) -> str:
    """Return a text with each run of white space as one space, and none at the ends."""
    return " ".join(text.removeprefix(_BOM).split())


class Original:
    """A version of a document, indexed to find passages in it; its chunks name sections and pages."""

    def __init__(self, document: Document, text: str, chunks: Sequence[Chunk]) -> None:
        self.document = document
        self._text = text
        self._numbers = array("L")  # of the non-blank lines
        self._offsets = array("L")  # of these lines in the text
        self._folded_offsets = array("L")  # of these lines in the folded text
        parts, offset, folded_offset = [], 0, 0
        for number, line in enumerate(text.split("\n"), start=1):
            if folded := " ".join(line.split()):
                self._numbers.append(number)
                self._offsets.append(offset)
                self._folded_offsets.append(folded_offset)
                parts.append(folded)
                folded_offset += len(folded) + 1
            offset += len(line) + 1
        self._folded = " ".join(parts)
        self._chunk_starts = array("L", (chunk.start_line for chunk in chunks))
        self._sections = [(chunk.section_path, chunk.page) for chunk in chunks]

    @property
    def bytes(self) -> int:
        """Approximate memory that it takes."""
        arrays = (self._numbers, self._offsets, self._folded_offsets, self._chunk_starts)
        sections = sum(64 + sys.getsizeof(path) for path, _ in self._sections)
        return sections + sum(map(sys.getsizeof, (self._text, self._folded, *arrays)))

    def places(self, folded: str) -> list[_Place]:
        """Return the places of a folded text in order; the same lines twice if they contain it more than once.

        If there are more than MAX_PLACES, return the first MAX_PLACES + 1.
        """
        places: list[_Place] = []
        start = self._folded.find(folded) if folded else -1
        while start >= 0 and len(places) <= MAX_PLACES:
            first, last = self._line_at(start), self._line_at(start + len(folded) - 1)
            behind = start + 1
            if places[-1:] == [(first, last)]:
                # the next place on other lines begins or ends on a later line
                later = min(self._start(first + 1), self._start(last + 1) - len(folded) + 1)
                behind = max(behind, later)
            places.append((first, last))
            start = self._folded.find(folded, behind)
        return places

    def has(self, result: RetrievalResult) -> bool:
        """Whether the lines that a result cites are this document's, byte for byte."""
        cited = result.citation
        if cited.source_file != self.document.source_file:
            return False
        # from the last non-blank line at or before the first cited one
        index = bisect_right(self._numbers, cited.start_line) - 1
        number, offset = (self._numbers[index], self._offsets[index]) if index >= 0 else (1, 0)
        for _ in range(cited.start_line - number):
            offset = self._text.find("\n", offset) + 1
            if not offset:
                return False
        content = result.content
        end = offset + len(content)
        after = self._text[end : end + 1]
        # a final line end starts no further line
        is_whole = after == "\n" or not (
            after or content.endswith("\n") or offset == len(self._text)
        )
        lines = cited.end_line - cited.start_line
        return is_whole and content.count("\n") == lines and self._text.startswith(content, offset)

    def result(self, place: _Place) -> RetrievalResult:
        """Return the lines of a place as evidence without a score, with everything that proves them."""
        first, last = place
        end = self._text.find("\n", self._offsets[last])
        content = self._text[self._offsets[first] : end if end >= 0 else len(self._text)]
        start_line, end_line = self._numbers[first], self._numbers[last]
        index = bisect_right(self._chunk_starts, start_line) - 1
        path, page = self._sections[index] if index >= 0 else ((), None)
        chunk = Chunk(self.document, start_line, end_line, path, content, page=page)
        metadata = shown_fields(to_metadata(chunk))
        return RetrievalResult(content, chunk.citation, None, metadata)

    def _start(self, index: int) -> int:
        offsets = self._folded_offsets
        return offsets[index] if index < len(offsets) else 2 * len(self._folded)

    def _line_at(self, offset: int) -> int:
        return bisect_right(self._folded_offsets, offset) - 1


def locate(
    passages: Sequence[RawPassage],
    original_of: Callable[[str], Original | None],
    has_time: Callable[[], bool] = lambda: True,
) -> list[RetrievalResult | DropReason]:
    """Return the lines of each passage of one answer, or the reason it has none, in order.

    Args:
        passages: all of one answer, since equal passages are unambiguous only if all are there.
        original_of: returns the document of a source, ``None`` if it isn't available.
        has_time: whether there is time for another passage; each takes milliseconds in a document of megabytes.
    """
    found: list[RetrievalResult | DropReason] = [DropReason.NOT_TEXT] * len(passages)
    by_source: dict[str, list[int]] = {}
    for index, passage in enumerate(passages):
        if passage.text and passage.source:
            by_source.setdefault(passage.source, []).append(index)
        elif passage.text:
            found[index] = DropReason.NO_CITATION
    for source, indexes in by_source.items():
        original = original_of(source)
        here = [passages[index] for index in indexes]
        for index, one in zip(indexes, _located(here, original, has_time), strict=True):
            found[index] = one
    return found


def _located(
    passages: Sequence[RawPassage], original: Original | None, has_time: Callable[[], bool]
) -> list[RetrievalResult | DropReason]:
    if original is None:
        return [DropReason.UNREAD] * len(passages)
    texts = [fold(passage.text) for passage in passages]
    places: dict[str, list[_Place]] = {}
    for text in texts:
        if text not in places and has_time():
            places[text] = original.places(text)
    chunks: dict[str, dict[tuple[str, str], None]] = {}  # of the same text, each once
    for text, passage in zip(texts, passages, strict=True):
        chunks.setdefault(text, {})[passage.data_source, passage.chunk_id] = None
    results: dict[_Place, RetrievalResult] = {}  # passages of one long line share it
    located: list[RetrievalResult | DropReason] = []
    for text, passage in zip(texts, passages, strict=True):
        if text not in places:
            located.append(DropReason.UNREAD)
            continue
        here, same = places[text], list(chunks[text])
        if len(set(here)) == 1:
            place = here[0]
        elif _are_all_there(here, same):
            place = here[same.index((passage.data_source, passage.chunk_id))]
        else:
            located.append(DropReason.AMBIGUOUS if here else DropReason.UNLOCATED)
            continue
        if place not in results:
            results[place] = original.result(place)
        located.append(replace(results[place], relevance_score=finite_score(passage.score)))
    return located


def _are_all_there(places: Sequence[_Place], chunks: Sequence[tuple[str, str]]) -> bool:
    """Whether chunks of the same text, by data source and id, are exactly those of all its places.

    A second data source has each place again, a chunk without an id may be any of the others, and for a text
    that occurs twice on the same lines the number of chunks is unknown.
    """
    distinct = len({source for source, _ in chunks}) == 1 and all(name for _, name in chunks)
    return distinct and len(chunks) == len(places) == len(set(places)) <= MAX_PLACES


NOT_LOCATED: Final = frozenset({DropReason.UNLOCATED, DropReason.AMBIGUOUS, DropReason.UNREAD})
"""Drop reasons of passages that name no lines."""


MAX_CACHE_BYTES: Final = 256 * 2**20


class Originals:
    """Documents by source and version; beyond a size, the least recently used are dropped. Thread-safe."""

    def __init__(self, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[str, Original]] = OrderedDict()

    def get(self, source: str) -> tuple[str, Original] | None:
        """Return the cached version and document of a source."""
        with self._lock:
            if source in self._kept:
                self._kept.move_to_end(source)
            return self._kept.get(source)

    def put(self, source: str, version: str, original: Original) -> None:
        """Cache a version of a document, replacing any other; one that is too large isn't cached."""
        with self._lock:
            if source in self._kept:
                self._bytes -= self._kept.pop(source)[1].bytes
            if original.bytes > self._max_bytes:
                return
            self._kept[source] = (version, original)
            self._bytes += original.bytes
            while self._bytes > self._max_bytes:
                self._bytes -= self._kept.popitem(last=False)[1][1].bytes
