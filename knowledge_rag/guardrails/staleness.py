"""Checks whether a citation is still true, by comparing its lines with the current file.

A citation is never corrected. The text's new place is reported beside it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.lines import decode, split_lines
from knowledge_rag.core.metadata import DOCUMENT_SHA256
from knowledge_rag.guardrails.ledger import check_lines
from knowledge_rag.guardrails.resemblance import (
    Likeness,
    LineRange,
    nearest,
    places_of,
    resembling,
    says_something,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.guardrails.ledger import Evidence, Ledger
    from knowledge_rag.guardrails.pieces import Cited
    from knowledge_rag.guardrails.resemblance import Resembling

MAX_ELSEWHERE: Final = 3
"""Maximum number of other files to name for a text that its own file no longer has."""

WORDLESS: Final = "no letter or digit in it to find it by"
"""The reason for not searching for a text of blank lines, fences or braces: every file has it."""


class State(StrEnum):
    """The state of cited lines."""

    SAME = "same"
    """They have the cited text byte for byte, whatever changed around them."""
    MOVED = "moved"
    """They don't have it, and other lines of the file do."""
    CHANGED = "changed"
    """The file doesn't have the text, the text has no letter or digit to find it by, or the file can't
    be read: lines that can't be confirmed don't count as the same."""
    GONE = "gone"
    """There is no such file."""


@dataclass(frozen=True, slots=True)
class CitedLines:
    r"""A citation with its proof.

    Args:
        citation: where the lines were.
        content: the lines joined by ``\n``, byte for byte.
        document_sha256: of the file that they were read from; ``None`` if unknown.

    Raises:
        InvalidCitation: the text has more or fewer lines than the citation.
    """

    citation: Citation
    content: str
    document_sha256: str | None = None

    def __post_init__(self) -> None:
        check_lines(self.citation, self.content)

    @classmethod
    def of(cls, result: RetrievalResult) -> CitedLines:
        """Return the lines of a retrieval result."""
        sha256 = result.metadata.get(DOCUMENT_SHA256)
        return cls(result.citation, result.content, sha256 if isinstance(sha256, str) else None)

    @classmethod
    def part(cls, cited: Evidence | Cited, ledger: Ledger) -> CitedLines:
        """Return lines of an answer or a ledger, with the document hash of their result."""
        whole = cls.of(ledger.results[cited.number - 1])
        return cls(cited.citation, cited.content, whole.document_sha256)


@dataclass(frozen=True, slots=True)
class FileNow:
    """A file as it is now.

    Args:
        sha256: of its bytes, 64 hex digits; ``None`` if they aren't available.
        text: decoded, as lines are counted in it; ``None`` if it can't be read.
        unreadable: the reason why not; ``""`` if it can be read.
    """

    sha256: str | None
    text: str | None
    unreadable: str = ""

    @classmethod
    def of(cls, source_file: str, data: bytes) -> FileNow:
        """Decode a file's bytes as ingest does; text that ingest would refuse is unreadable here too."""
        sha256 = hashlib.sha256(data).hexdigest()
        try:
            return cls(sha256, decode(data, source_file))
        except UnreadableDocument as error:
            return cls(sha256, None, error.reason)


class Corpus(Protocol):
    """The documents as they are now, wherever they are stored."""

    def files(self) -> Iterable[str]:
        """Return the path of every document, relative to the root, each once."""
        ...

    def now(self, source_file: str) -> FileNow | None:
        """Return a document; ``None`` if none has that path.

        A path may come from anyone: nothing outside the corpus is read. Never raises for one bad file.
        """
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of another file that have the cited text.

    Args:
        source_file: path relative to the corpus root.
        lines: those that have it; of several places, the nearest to the cited numbers.
        same_document: whether that file is the cited one, byte for byte, by another name.
    """

    source_file: str
    lines: LineRange
    same_document: bool

    def __str__(self) -> str:
        """Return the human form, ``runbooks/rds-failover.md, lines 5-10``."""
        return f"{self.source_file}, {self.lines}"


@dataclass(frozen=True, slots=True)
class Staleness:
    """A citation compared with the current documents.

    Args:
        citation: as given.
        state: of its lines.
        document_changed: whether any byte of the file changed; ``None`` if unknown.
        moved_to: the nearest lines that have the text now, if it moved.
        others: number of further places in the file that have the text, if it moved.
        resembling: the lines most like the cited ones, if they changed and any are like them.
        not_searched: why the file was not searched for the text; ``""`` if it was.
        now_in: other files that have the text, if its own doesn't; at most MAX_ELSEWHERE, a renamed
            one first.
    """

    citation: Citation
    state: State
    document_changed: bool | None = None
    moved_to: LineRange | None = None
    others: int = 0
    resembling: Resembling | None = None
    not_searched: str = ""
    now_in: tuple[Place, ...] = ()

    def __post_init__(self) -> None:
        if (self.moved_to is not None) != (self.state is State.MOVED):
            raise ValueError(f"{self.state} to {self.moved_to}")
        if self.resembling is not None and self.state is not State.CHANGED:
            raise ValueError(f"{self.state} with {self.resembling}")

    @property
    def is_contradicted(self) -> bool:
        """Whether the file never had the text at these lines: it is unchanged and doesn't have it."""
        return self.document_changed is False and self.state is not State.SAME


def compare(cited: CitedLines, now: FileNow | None) -> Staleness:
    """Compare cited lines with their current file.

    Args:
        cited: the lines to compare.
        now: the file at the citation's path; ``None`` if there is none.
    """
    citation, content = cited.citation, cited.content
    if now is None:
        return Staleness(citation, State.GONE)
    changed = _differ(cited.document_sha256, now.sha256)
    if now.text is None:
        return Staleness(citation, State.CHANGED, changed, not_searched=now.unreadable)
    lines = split_lines(now.text)
    first, length = citation.start_line, content.count("\n") + 1
    if lines[first - 1 : citation.end_line] == content.split("\n"):
        return Staleness(citation, State.SAME, changed)
    if not says_something(content):
        return Staleness(citation, State.CHANGED, changed, not_searched=WORDLESS)
    places = places_of(content, lines) if content in now.text else []
    if not places:
        like = resembling(content, lines, first)
        return Staleness(citation, State.CHANGED, changed, resembling=like)
    at = nearest(places, first)
    moved_to = LineRange(at, at + length - 1)
    return Staleness(citation, State.MOVED, changed, moved_to, len(places) - 1)


def compare_all(cited: Sequence[CitedLines], corpus: Corpus) -> tuple[Staleness, ...]:
    """Compare citations with a corpus, and search its other files for text that their own no longer have.

    Each cited file is read once, and the corpus at most once more, however many citations there are.

    Returns:
        One for each of ``cited``, in order.
    """
    files = {
        name: corpus.now(name) for name in dict.fromkeys(c.citation.source_file for c in cited)
    }
    found = [compare(one, files[one.citation.source_file]) for one in cited]
    lost = {
        number: one
        for number, (one, was) in enumerate(zip(cited, found, strict=True))
        if was.state in (State.CHANGED, State.GONE) and says_something(one.content)
    }
    for number, places in _elsewhere(lost, corpus).items():
        found[number] = replace(found[number], now_in=places)
    return tuple(found)


def _differ(then: str | None, now: str | None) -> bool | None:
    return None if then is None or now is None else then != now


def _elsewhere(lost: Mapping[int, CitedLines], corpus: Corpus) -> dict[int, tuple[Place, ...]]:
    places: defaultdict[int, list[Place]] = defaultdict(list)
    for name in corpus.files() if lost else ():
        now = corpus.now(name)
        if now is None or now.text is None:
            continue
        for number, one in lost.items():
            place = _place(one, name, now)
            if place and name != one.citation.source_file:
                places[number].append(place)
    return {
        number: tuple(sorted(found, key=_likeliest)[:MAX_ELSEWHERE])
        for number, found in places.items()
    }


def _place(cited: CitedLines, source_file: str, now: FileNow) -> Place | None:
    if now.text is None or cited.content not in now.text:
        return None
    lines = split_lines(now.text)
    places = places_of(cited.content, lines)
    if not places:
        return None
    at = nearest(places, cited.citation.start_line)
    where = LineRange(at, at + cited.content.count("\n"))
    return Place(source_file, where, _differ(cited.document_sha256, now.sha256) is False)


def _likeliest(place: Place) -> tuple[bool, str]:
    return not place.same_document, place.source_file


def describe(staleness: Staleness) -> str:
    """Return a citation's state in words, e.g. ``runbooks/a.md, lines 5-10: moved to lines 9-14``.

    Returns:
        One line without a full stop. File names are as on disk: neutralise it before showing it.
    """
    citation = staleness.citation
    where = f"{citation.source_file}, {LineRange(citation.start_line, citation.end_line)}"
    parts = [f"{where}: {_state(staleness)}"]
    if staleness.now_in:
        files = " and ".join(
            f"{place} (the same file by another name)" if place.same_document else str(place)
            for place in staleness.now_in
        )
        parts.append(f"the same text now stands in {files}")
    if staleness.is_contradicted:
        parts.append("the file is the very one that was cited, so the citation was never true")
    return "; ".join(parts)


def to_dict(staleness: Staleness) -> dict[str, Any]:
    """Return the wire form, without members that are unknown or don't apply."""
    wire: dict[str, Any] = {
        "citation": staleness.citation.to_dict(),
        "state": staleness.state.value,
    }
    if staleness.document_changed is not None:
        wire["document_changed"] = staleness.document_changed
    if staleness.moved_to:
        wire["moved_to"] = _lines(staleness.moved_to) | {"others": staleness.others}
    if staleness.resembling:
        like = staleness.resembling
        wire["resembling"] = _lines(like.lines) | {
            "likeness": like.likeness.value, "kept": like.kept, "of": like.of,
        }  # fmt: skip
    if staleness.not_searched:
        wire["not_searched"] = staleness.not_searched
    if staleness.now_in:
        wire["now_in"] = [
            {"source_file": place.source_file, **_lines(place.lines), "same_document": place.same_document}
            for place in staleness.now_in
        ]  # fmt: skip
    if staleness.is_contradicted:
        wire["contradicted"] = True
    return wire


def _lines(lines: LineRange) -> dict[str, int]:
    return {"start_line": lines.start_line, "end_line": lines.end_line}


def _state(staleness: Staleness) -> str:
    if staleness.state is State.CHANGED:
        return f"changed: {_what_is_left(staleness)}"
    if staleness.state is State.MOVED:
        nearest = f", the nearest of {staleness.others + 1} places that hold this text"
        return f"moved to {staleness.moved_to}{nearest if staleness.others else ''}"
    if staleness.state is State.SAME and staleness.document_changed:
        return "same, in a file that has changed elsewhere"
    return staleness.state.value


def _what_is_left(staleness: Staleness) -> str:
    if staleness.not_searched == WORDLESS:
        return f"the lines hold something else, and the cited text has {WORDLESS}"
    if staleness.not_searched:
        return f"the file can't be read ({staleness.not_searched})"
    if staleness.resembling is None:
        return "nothing like it is left in the file"
    return _likeness(staleness.resembling)


def _likeness(like: Resembling) -> str:
    if like.likeness is Likeness.SPACING:
        return f"the same text with other white space stands at {like.lines}"
    if like.likeness is Likeness.WORDS:
        return f"most like it now: {like.lines}"
    if like.kept == like.of:
        return f"all its lines still stand at {like.lines}, but not one after the other as cited"
    return f"{like.kept} of {like.of} lines still stand at {like.lines}"
