"""The claims of an answer, and the citations that each of them relies on.

A reference backs the text before it: in prose, the sentence that it ends, or the part of it since
the previous reference; in a list item or a table row, everything since the previous reference. A
reference that begins a unit backs the text after it. Code, items and rows without references of
their own, and a quotation after a colon, belong to the claim that introduces them; a reference on
lines of its own backs the text above. A label before a reference ("Source:", "See") is part of it.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.guardrails.support.lexemes import code_stretches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.guardrails.characters import Span
    from knowledge_rag.guardrails.ledger import Cited
    from knowledge_rag.guardrails.verify import Verified

_ITEM: Final = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_HEADING: Final = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]|$)")
_FENCE: Final = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<marks>`{3,}+(?![^\n]*`)|~{3,})"
)
_ROW: Final = re.compile(r"[ \t>]*\|")
_INDENT: Final = re.compile(r"[ \t>]*")
_TAB: Final = 4


class UnitKind(StrEnum):
    """The kind of a unit."""

    PARAGRAPH = "paragraph"
    ITEM = "item"
    ROW = "row"
    HEADING = "heading"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Unit:
    """Consecutive lines of an answer."""

    kind: UnitKind
    start: int
    end: int
    """Offset after the last character that is not white space."""
    indent: int
    """Columns before the first character or the list mark."""


def units_of(text: str) -> tuple[Unit, ...]:
    """Split an answer into its units, in order; lines that belong to none are blank.

    It reads Markdown as a person skims it and isn't a parser: a unit that CommonMark would cut
    differently makes a claim longer or shorter, and never creates a citation.
    """
    found: list[Unit] = []
    unit: Unit | None = None  # the one that continues on the next line
    fence = ""
    start = 0
    for line in text.split("\n"):
        end, said = start + len(line), line.strip(" \t>\r")
        if unit and fence:
            unit = found[-1] = replace(unit, end=end)
            if said.startswith(fence) and not line.strip(" \t>\r`~"):
                unit, fence = None, ""
        elif not said:
            unit = None
        elif (kind := _kind_of(line)) or unit is None or unit.kind in _LINES:
            begun = _FENCE.match(line)
            fence = begun["marks"] if begun else ""
            unit = Unit(kind or UnitKind.PARAGRAPH, start, end, _indent(line))
            found.append(unit)
        else:
            unit = found[-1] = replace(unit, end=end)
        start = end + 1
    return tuple(replace(it, end=it.start + len(text[it.start : it.end].rstrip())) for it in found)


_LINES: Final = (UnitKind.ROW, UnitKind.HEADING)
"""Units of one line."""


_BEGINNINGS: Final = (
    (UnitKind.CODE, _FENCE), (UnitKind.ITEM, _ITEM), (UnitKind.HEADING, _HEADING), (UnitKind.ROW, _ROW),
)  # fmt: skip


def _indent(line: str) -> int:
    lead = _INDENT.match(line)
    return len(lead[0].replace("\t", " " * _TAB)) if lead else 0


def _kind_of(line: str) -> UnitKind | None:
    return next((kind for kind, begins in _BEGINNINGS if begins.match(line)), None)


REFERENCE: Final = "\0"
"""Replaces each character of a reference in a masked text."""
CODE: Final = "\1"
"""Replaces each character of code there: its dots end no sentence."""

_WORD: Final = re.compile(rf"[^\W_]+|{CODE}")
_BETWEEN: Final = re.compile(r"(?:[\s,;.()*_]|\band\b|&){0,40}")
"""Text allowed between two references that back one claim together."""
_MARK: Final = re.compile(r"[ \t>]*(?:\d{1,9}[.)]|[-*+#|]+)?")
_SENTENCE_END: Final = re.compile(
    rf"[.!?]{{1,3}}[\"'\u201d\u2019)\]*_]{{0,3}}(?:\s{{0,3}}{REFERENCE}++[.!?*_]{{0,3}})*+"
    r"(?=\s+[^a-z\s])"
)
_ABBREVIATIONS: Final = frozenset(
    {"etc", "vs", "cf", "approx", "no", "fig", "resp", "inc", "dr", "mr", "mrs", "ca", "bzw"}
)
_LETTERS: Final = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
"""Abbreviations of single letters, without the last dot: e.g, i.e, U.S, a.m, z.B."""
_LAST_WORD: Final = re.compile(r"[\w.]{1,10}$")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>\n]{0,40}>")
_LISTED: Final = re.compile(r"\W{0,10}(?:sources|references|citations|quellen)\b", re.IGNORECASE)
"""The beginning of a list of all sources of an answer, which backs no particular claim."""
_LABELS: Final = frozenset(
    {"source", "sources", "see", "reference", "references", "ref", "refs", "citation", "citations",
     "cf", "via", "from", "per", "quelle", "quellen", "siehe"}
)  # fmt: skip
"""Words that people put before a reference; with nothing else, they say nothing."""


class Group(NamedTuple):
    """Adjacent references that back one claim."""

    start: int
    end: int
    citations: tuple[Cited, ...]


class Part(NamedTuple):
    """A part of a unit, and the citations meant to back it."""

    span: Span
    citations: tuple[Cited, ...]


def masked(text: str, references: Sequence[Span]) -> str:
    """Return the text with references and code masked, at the same length."""
    spans = [(start, end, REFERENCE) for start, end in references]
    spans += [(start, end, CODE) for start, end in code_stretches(text)]
    parts, behind = [], 0
    for start, end, filler in sorted(spans):
        if start >= behind:
            parts += [text[behind:start], filler * (end - start)]
            behind = end
    return "".join([*parts, text[behind:]])


def groups_of(citations: Sequence[Cited], text: str) -> list[Group]:
    """Group citations that are next to each other, in order."""
    together: list[list[Cited]] = []
    for cited in citations:
        last = together[-1][-1] if together else None
        if last and (last.end > cited.start or _BETWEEN.fullmatch(text, last.end, cited.start)):
            together[-1].append(cited)
        else:
            together.append([cited])
    return [Group(some[0].start, some[-1].end, tuple(some)) for some in together]


def says_something(text: str, start: int, end: int) -> bool:
    """Whether a masked text has code, or a word that isn't a label, between two offsets."""
    found = _WORD.search(text, start, end)
    while found:
        before = max(start, found.start() - 1)
        tag = _TAG.match(text, before - (text[before] == "/" and before > start), end)
        if tag is None and found[0].lower() not in _LABELS:
            return True
        found = _WORD.search(text, tag.end() if tag else found.end(), end)
    return False


def _behind_mark(unit: Unit, text: str) -> int:
    mark = _MARK.match(text, unit.start, unit.end)
    return mark.end() if mark else unit.start


def says_only_where(unit: Unit, text: str) -> bool:
    """Whether a unit of a masked text has only references: "[1]", "Source: [1]"; not a list of sources."""
    start = _behind_mark(unit, text)
    return (
        unit.kind in (UnitKind.PARAGRAPH, UnitKind.ITEM)
        and not says_something(text, start, unit.end)
        and not _LISTED.match(text, start, unit.end)
    )


def parts_of(unit: Unit, groups: Sequence[Group], text: str) -> Iterator[Part]:
    """Return the part of a unit of a masked text that each of the groups in it, one or more, backs."""
    behind = _behind_mark(unit, text)
    if _leads(unit, groups, text, behind):
        stops = [group.start for group in groups[1:]] + [unit.end]
        for group, stop in zip(groups, stops, strict=True):
            yield Part((group.start, stop), group.citations)
        return
    ends = [] if unit.kind is UnitKind.ROW else _sentence_ends(text, behind, unit.end)
    behind = unit.start
    for number, group in enumerate(groups):
        after = bisect_left(ends, group.end)
        stop = ends[after] if after < len(ends) else unit.end
        is_last = number + 1 == len(groups) or groups[number + 1].start >= stop
        start = behind
        if unit.kind is UnitKind.PARAGRAPH and (before := bisect_right(ends, group.start)):
            said = stop if is_last else groups[number + 1].start
            start = _of_something(text, ends, before, said, behind)
        behind = stop if is_last else group.end
        yield Part((start, behind), group.citations)


def _of_something(text: str, ends: Sequence[int], before: int, end: int, behind: int) -> int:
    """Return where the sentence that a reference backs begins; one with only "See" doesn't count.

    ``before`` sentences end before the reference; its own has text up to ``end``. Other references back
    the text before ``behind``.
    """
    start = ends[before - 1]
    while start > behind and not says_something(text, start, end):
        before, end = before - 1, start
        start = ends[before - 1] if before else behind
    return max(behind, start)


def _leads(unit: Unit, groups: Sequence[Group], text: str, behind_mark: int) -> bool:
    """Whether a unit begins with a reference and doesn't end with one too."""
    return not says_something(text, behind_mark, groups[0].start) and says_something(
        text, groups[-1].end, unit.end
    )


def _sentence_ends(text: str, start: int, end: int) -> list[int]:
    return [
        found.end()
        for found in _SENTENCE_END.finditer(text, start, end)
        if not _is_abbreviation(text, found.start())
    ]


def _is_abbreviation(text: str, dot: int) -> bool:
    word = _LAST_WORD.search(text[max(0, dot - 10) : dot])
    return word is not None and (
        word[0].lower() in _ABBREVIATIONS or _LETTERS.fullmatch(word[0]) is not None
    )


_NOWHERE: Final = (sys.maxsize, sys.maxsize)
_REFERENCES: Final = re.compile(rf"{REFERENCE}+")


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of an answer, and its citations.

    Args:
        spans: of the statement in the answer, in order; several if code or items belong to it.
        citations: one or more.
        said: the text of the spans, each on lines of its own, references blanked.
    """

    spans: tuple[Span, ...]
    citations: tuple[Cited, ...]
    said: str
    _begins: tuple[int, ...] = field(init=False, repr=False, compare=False)  # of each span in it

    def __post_init__(self) -> None:
        lengths = (end - start + 1 for start, end in self.spans[:-1])
        object.__setattr__(self, "_begins", tuple(accumulate(lengths, initial=0)))

    def position(self, offset: int) -> int:
        """Return the offset in the answer of character ``offset`` of ``said``."""
        at = bisect_right(self._begins, offset) - 1
        start, end = self.spans[at]
        return min(start + offset - self._begins[at], end)


@dataclass(frozen=True, slots=True)
class Claims:
    """All claims of an answer.

    Args:
        cited: claims with citations, in order.
        uncited_code: spans of the code blocks that belong to none of them, in order.
        uncited: spans of other text without a citation, except headings, in order.
    """

    cited: tuple[Claim, ...]
    uncited_code: tuple[Span, ...]
    uncited: tuple[Span, ...] = ()


@dataclass(slots=True)
class _Growing:
    """A claim that code and items may still join."""

    citations: tuple[Cited, ...]
    spans: list[Span]


def claims_of(verified: Verified) -> Claims:
    """Find the claims of a verified answer; linear in its length."""
    finder = _Finder(verified)
    units = units_of(verified.text)
    for unit in units:
        finder.take(unit)
    claims = finder.claims()
    return replace(claims, uncited=tuple(_uncited(units, claims)))


def _uncited(units: Iterable[Unit], claims: Claims) -> Iterator[Span]:
    """Return the parts of the units that belong to no claim."""
    backed = iter(sorted(span for claim in claims.cited for span in claim.spans))
    start, end = next(backed, _NOWHERE)
    for unit in units:
        behind = unit.start
        while start < unit.end:
            if behind < start:
                yield behind, start
            behind = max(behind, end)
            if end > unit.end:
                break
            start, end = next(backed, _NOWHERE)
        apart = unit.kind is UnitKind.HEADING or (
            unit.kind is UnitKind.CODE and behind == unit.start  # no part of it is backed
        )
        if behind < unit.end and not apart:
            yield behind, unit.end


class _Finder:
    def __init__(self, verified: Verified) -> None:
        references = [(cited.start, cited.end) for cited in verified.citations]
        self._text = verified.text
        self._masked = masked(verified.text, references)
        self._groups = groups_of(verified.citations, verified.text)
        self._next_group = 0
        self._found: list[_Growing] = []
        self._uncited_code: list[Span] = []
        self._bare: list[Unit] = []  # the units just before that nothing backs
        self._latest: _Growing | None = None  # the claim of the last unit that isn't code
        self._announcing: tuple[Unit, _Growing] | None = None  # it ends with a colon, just before
        self._holds_code: _Growing | None = None  # the claim that code just before has joined
        self._outer: list[tuple[Unit, _Growing | None]] = []  # may introduce the next item

    def claims(self) -> Claims:
        found = sorted(self._found, key=lambda claim: claim.spans[0])
        return Claims(tuple(map(self._made, found)), tuple(self._uncited_code))

    def take(self, unit: Unit) -> None:
        groups = self._groups_in(unit)
        holds_code, self._holds_code = self._holds_code, None
        if not groups:
            self._join(unit)
        elif holds_code and says_only_where(unit, self._masked):
            self._back(groups, [holds_code.spans.pop()])
        elif self._bare and says_only_where(unit, self._masked):
            self._back_bare(groups)
        else:
            for part in parts_of(unit, groups, self._masked):
                self._found.append(_Growing(part.citations, [part.span]))
            self._bare.clear()
            self._enter(unit, self._found[-1])

    def _made(self, claim: _Growing) -> Claim:
        said = [self._said(start, end) for start, end in claim.spans]
        return Claim(tuple(claim.spans), claim.citations, "\n".join(said))

    def _said(self, start: int, end: int) -> str:
        text, behind = [], start
        for reference in _REFERENCES.finditer(self._masked, start, end):
            text += [self._text[behind : reference.start()], " " * len(reference[0])]
            behind = reference.end()
        return "".join([*text, self._text[behind:end]])

    def _groups_in(self, unit: Unit) -> list[Group]:
        first = self._next_group
        while self._next_group < len(self._groups) and (
            self._groups[self._next_group].start < unit.end
        ):
            self._next_group += 1
        return self._groups[first : self._next_group]

    def _join(self, unit: Unit) -> None:
        """Add a unit without references to the claim that introduces it, if one does."""
        claim = self._introducing(unit)
        if claim is not None:
            claim.spans.append((unit.start, unit.end))
            self._holds_code = claim if unit.kind is UnitKind.CODE else None
        else:
            self._bare.append(unit)
            if unit.kind is UnitKind.CODE:
                self._uncited_code.append((unit.start, unit.end))
        if unit.kind is not UnitKind.CODE:
            self._enter(unit, claim)

    def _introducing(self, unit: Unit) -> _Growing | None:
        if unit.kind is UnitKind.CODE:
            return self._latest
        if unit.kind is not UnitKind.ITEM:
            return self._announced(unit)
        for outer, claim in reversed(self._outer):
            if outer.kind is UnitKind.PARAGRAPH or outer.indent < unit.indent:
                return claim
        return None

    def _announced(self, unit: Unit) -> _Growing | None:
        """Return the claim that ends with a colon right before a table, a quotation or indented code."""
        if self._announcing is None:
            return None
        announcing, claim = self._announcing
        deeper = unit.kind is UnitKind.PARAGRAPH and unit.indent > announcing.indent
        return claim if deeper or unit.kind is UnitKind.ROW else None

    def _enter(self, unit: Unit, claim: _Growing | None) -> None:
        """Store the unit, since it may introduce later ones."""
        self._latest = claim
        if unit.kind is not UnitKind.ROW:  # further rows of a table belong to it, too
            self._announcing = (unit, claim) if claim and self._announces(unit) else None
        if unit.kind is UnitKind.ITEM:
            while self._outer and _is_beside(self._outer[-1][0], unit):
                self._outer.pop()
            self._outer.append((unit, claim))
        elif unit.indent == 0:
            self._outer.clear()
            if unit.kind is UnitKind.PARAGRAPH and self._announces(unit):
                self._outer.append((unit, claim))

    def _announces(self, unit: Unit) -> bool:
        text = self._masked[unit.start : unit.end].rstrip(f"{REFERENCE} \t\n.*_")
        return unit.kind in (UnitKind.PARAGRAPH, UnitKind.ITEM) and text.endswith(":")

    def _back_bare(self, groups: list[Group]) -> None:
        """Let references on lines of their own back the text above: a unit, a list, its code."""
        first = len(self._bare) - 1
        while first and _stand_together(self._bare[first - 1], self._bare[first]):
            first -= 1
        spans = [(unit.start, unit.end) for unit in self._bare[first:]]
        while self._uncited_code and self._uncited_code[-1] >= spans[0]:
            self._uncited_code.pop()
        self._back(groups, spans)

    def _back(self, groups: list[Group], spans: list[Span]) -> None:
        citations = tuple(cited for group in groups for cited in group.citations)
        self._found.append(_Growing(citations, spans))
        self._latest = self._found[-1]
        self._bare.clear()


def _stand_together(unit: Unit, following: Unit) -> bool:
    """Whether one reference below backs both units: items, rows, and any unit with the code after it."""
    in_list = (UnitKind.ITEM, UnitKind.CODE, UnitKind.ROW)
    return following.kind is UnitKind.CODE or {unit.kind, following.kind} <= set(in_list)


def _is_beside(earlier: Unit, unit: Unit) -> bool:
    return earlier.kind is UnitKind.ITEM and earlier.indent >= unit.indent
