"""Checks whether a citation is still true, by comparing its lines with the current file.

A citation is never corrected. The text's new place, or else the lines that resemble it most, are
reported beside it. All searches take time linear in the file and the cited text together, whatever
their contents.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict, deque
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.lines import decode, split_lines
from knowledge_rag.core.metadata import DOCUMENT_SHA256
from knowledge_rag.guardrails.ledger import check_lines

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.guardrails.ledger import Cited, Evidence, Ledger

MAX_ELSEWHERE: Final = 3
"""Maximum number of other files to name for a text that its own file no longer has."""

WORDLESS: Final = "no letter or digit in it to find it by"
"""The reason for not searching for a text of blank lines, fences or braces: every file has it."""


_STRETCH: Final = 2
"""Lines that are still there count as one place within this many times the number of cited lines."""
_WORD: Final = re.compile(r"\w+")
_MEANING: Final = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines ``start_line`` to ``end_line`` of a file, 1-based and inclusive."""

    start_line: int
    end_line: int

    @classmethod
    def of(cls, first: int, length: int) -> LineRange:
        """Return so many lines from a first one on."""
        return cls(first, first + length - 1)

    def __str__(self) -> str:
        """Return the human form, ``lines 5-10`` or ``line 5``."""
        if self.start_line == self.end_line:
            return f"line {self.start_line}"
        return f"lines {self.start_line}-{self.end_line}"


class Likeness(StrEnum):
    """How lines resemble the cited ones."""

    SPACING = "spacing"
    """All the same except for white space, line endings included."""
    LINES = "lines"
    """Some of the cited lines are still there."""
    WORDS = "words"
    """At least half of the words are there, in other lines."""


@dataclass(frozen=True, slots=True)
class Resembling:
    """The lines of a file that most resemble the cited ones.

    Args:
        lines: where they are.
        likeness: how they resemble the cited ones.
        kept: number of cited lines that are still there byte for byte, in any order.
        of: number of cited lines; here as in ``kept``, lines without a letter or a digit (blank ones,
            fences, braces) don't count.
    """

    lines: LineRange
    likeness: Likeness
    kept: int
    of: int


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
    first = citation.start_line
    if lines[first - 1 : citation.end_line] == content.split("\n"):
        return Staleness(citation, State.SAME, changed)
    if not says_something(content):
        return Staleness(citation, State.CHANGED, changed, not_searched=WORDLESS)
    places = places_of(content, lines) if content in now.text else []
    if not places:
        like = resembling(content, lines, first)
        return Staleness(citation, State.CHANGED, changed, resembling=like)
    moved_to = LineRange.of(nearest(places, first), content.count("\n") + 1)
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
        number: tuple(
            sorted(found, key=lambda it: (not it.same_document, it.source_file))[:MAX_ELSEWHERE]
        )
        for number, found in places.items()
    }


def _place(cited: CitedLines, source_file: str, now: FileNow) -> Place | None:
    if now.text is None or cited.content not in now.text:
        return None
    places = places_of(cited.content, split_lines(now.text))
    if not places:
        return None
    at = nearest(places, cited.citation.start_line)
    where = LineRange.of(at, cited.content.count("\n") + 1)
    return Place(source_file, where, _differ(cited.document_sha256, now.sha256) is False)


def says_something(text: str) -> bool:
    """Whether a text has a letter or a digit; text without one is in any file and means nothing."""
    return _MEANING.search(text) is not None


def occurrences(wanted: Sequence[Hashable], found: Sequence[Hashable]) -> list[int]:
    """Return the 0-based places of a sequence, not empty, in another one; they may overlap.

    Knuth, Morris and Pratt's search: at most two comparisons for each item of either.
    """
    borders = _borders(wanted)
    places, matched = [], 0
    for at, item in enumerate(found):
        while matched and (matched == len(wanted) or item != wanted[matched]):
            matched = borders[matched - 1]
        if item == wanted[matched]:
            matched += 1
        if matched == len(wanted):
            places.append(at - matched + 1)
    return places


def _borders(items: Sequence[Hashable]) -> list[int]:
    """Return, for each prefix of a sequence, the length of its longest proper suffix that is a prefix too."""
    borders, length = [0], 0
    for item in items[1:]:
        while length and item != items[length]:
            length = borders[length - 1]
        length += item == items[length]
        borders.append(length)
    return borders


def places_of(content: str, lines: Sequence[str]) -> list[int]:
    """Return the 1-based lines at which a text of whole lines begins in a file."""
    wanted = content.split("\n")
    codes: dict[str, int] = {}
    for line in wanted:
        codes.setdefault(line, len(codes))
    # as numbers, so that each line's characters are read once, however often it is compared
    found = [codes.get(line, -1) for line in lines]
    return [place + 1 for place in occurrences([codes[line] for line in wanted], found)]


def nearest(places: Sequence[int], start_line: int) -> int:
    """Return the place nearest to a line; of two, the earlier one."""
    return min(places, key=lambda place: (abs(place - start_line), place))


def resembling(content: str, lines: Sequence[str], start_line: int) -> Resembling | None:
    r"""Find the lines of a file that most resemble a text that isn't in it.

    Text with other white space comes first, then lines with at least half of the cited ones, then half
    of the words, then any cited line that is still there; among equals, the place nearest to the old one.

    Args:
        content: the cited lines, joined by ``\n``.
        lines: of the file, without their ``\n``.
        start_line: where the cited lines began, 1-based.

    Returns:
        ``None`` if nothing is like it.
    """
    wanted = content.split("\n")
    solid = Counter(line for line in wanted if says_something(line))
    if respaced := places_of("\n".join(map(_squeezed, wanted)), [*map(_squeezed, lines)]):
        where = LineRange.of(nearest(respaced, start_line), len(wanted))
        return _found(where, Likeness.SPACING, solid, lines)
    standing = _standing(solid, _STRETCH * len(wanted), lines, start_line)
    by_lines = _found(standing, Likeness.LINES, solid, lines) if standing else None
    if by_lines and by_lines.kept * 2 >= by_lines.of:
        return by_lines
    worded = _worded(content, len(wanted), lines, start_line)
    return _found(worded, Likeness.WORDS, solid, lines) if worded else by_lines


def _found(
    where: LineRange, likeness: Likeness, solid: Counter[str], lines: Sequence[str]
) -> Resembling:
    there = Counter(lines[where.start_line - 1 : where.end_line])
    return Resembling(where, likeness, (solid & there).total(), solid.total())


def _squeezed(line: str) -> str:
    return " ".join(line.split())


def _standing(
    solid: Counter[str], most: int, lines: Sequence[str], start_line: int
) -> LineRange | None:
    """Return the shortest range, of at most ``most`` lines, that has the most of the wanted ones."""
    window: deque[int] = deque()
    held: Counter[str] = Counter()
    best, kept = (0, 0, 0, 0), 0
    for at, line in enumerate(lines, start=1):
        if line not in solid:
            continue
        window.append(at)
        held[line] += 1
        kept += held[line] <= solid[line]
        while (first := lines[window[0] - 1]) and (
            window[0] <= at - most or held[first] > solid[first]
        ):
            kept -= held[first] <= solid[first]
            held[first] -= 1
            window.popleft()
        span = at - window[0] + 1
        best = max(best, (kept, -span, -abs(window[0] - start_line), -window[0]))
    kept, span, _, first_line = best[0], -best[1], best[2], -best[3]
    return LineRange.of(first_line, span) if kept else None


def _worded(content: str, length: int, lines: Sequence[str], start_line: int) -> LineRange | None:
    """Return the range, as long as the cited one, that has the most of its words, and at least half."""
    wanted = Counter(_WORD.findall(content))
    window: deque[list[str]] = deque()
    held: Counter[str] = Counter()
    best, shared = (0, 0, 0), 0
    for at, line in enumerate(lines, start=1):
        if len(window) == length:
            for word in window.popleft():
                shared -= held[word] <= wanted[word]
                held[word] -= 1
        window.append([word for word in _WORD.findall(line) if word in wanted])
        for word in window[-1]:
            held[word] += 1
            shared += held[word] <= wanted[word]
        first = at - len(window) + 1
        best = max(best, (shared, -abs(first - start_line), -first))
    shared, first = best[0], -best[2]
    if not shared or shared * 2 < wanted.total():
        return None
    return LineRange(first, min(first + length - 1, len(lines)))


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
        wire["moved_to"] = asdict(staleness.moved_to) | {"others": staleness.others}
    if staleness.resembling:
        like = staleness.resembling
        wire["resembling"] = asdict(like.lines) | {
            "likeness": like.likeness.value, "kept": like.kept, "of": like.of,
        }  # fmt: skip
    if staleness.not_searched:
        wire["not_searched"] = staleness.not_searched
    if staleness.now_in:
        wire["now_in"] = [
            {"source_file": place.source_file, **asdict(place.lines), "same_document": place.same_document}
            for place in staleness.now_in
        ]  # fmt: skip
    if staleness.is_contradicted:
        wire["contradicted"] = True
    return wire


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
