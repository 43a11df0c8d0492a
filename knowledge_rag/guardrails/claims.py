"""What an answer claims, and which of its citations is to back each claim.

A reference backs what stands before it: in prose the sentence that it ends, or the part of it since
the reference before; in a list item or a table row all since the reference before. Where a unit
begins with its reference, it backs what follows. Code, items and rows without references of their
own, and a quotation behind a colon, belong to the claim that introduces them; a reference on lines
of its own backs what stands above. A label before a reference ("Source:", "See") is part of it.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.claim_parts import (
    REFERENCE,
    groups_of,
    masked,
    parts_of,
    says_only_where,
)
from knowledge_rag.guardrails.units import UnitKind, units_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knowledge_rag.guardrails.claim_parts import Group
    from knowledge_rag.guardrails.draft import Span
    from knowledge_rag.guardrails.units import Unit
    from knowledge_rag.guardrails.verify import Cited, Verified

_NOWHERE: Final = (sys.maxsize, sys.maxsize)
_REFERENCES: Final = re.compile(rf"{REFERENCE}+")


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that an answer says, and what it cites for it.

    Args:
        spans: where it stands in the answer, in order; more than one if code or items belong to it.
        citations: one or more.
        said: the text of the spans, each on lines of its own, references blanked.
    """

    spans: tuple[Span, ...]
    citations: tuple[Cited, ...]
    said: str
    _begins: tuple[int, ...] = field(init=False, repr=False, compare=False)  # of each span, in it

    def __post_init__(self) -> None:
        lengths = (end - start + 1 for start, end in self.spans[:-1])
        object.__setattr__(self, "_begins", tuple(accumulate(lengths, initial=0)))

    def position(self, offset: int) -> int:
        """Give the offset in the answer of character ``offset`` of what is said."""
        at = bisect_right(self._begins, offset) - 1
        start, end = self.spans[at]
        return min(start + offset - self._begins[at], end)


@dataclass(frozen=True, slots=True)
class Claims:
    """All that an answer claims.

    Args:
        cited: claims with citations, in order.
        uncited_code: spans of the code blocks that belong to none of them, in order.
        uncited: spans of what else is said without a citation, headings apart, in order.
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
    """Give what is left of the units when the claims are taken out of them."""
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
            unit.kind is UnitKind.CODE and behind == unit.start  # of which nothing is backed
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
        self._latest: _Growing | None = None  # the claim of the unit just before, code apart
        self._announcing: tuple[Unit, _Growing] | None = None  # what just before ends with a colon
        self._holds_code: _Growing | None = None  # the claim that code just before has joined
        self._outer: list[tuple[Unit, _Growing | None]] = []  # what the next item may stand under

    def claims(self) -> Claims:
        """Give what has been found; to be asked for when all units have been taken."""
        found = sorted(self._found, key=lambda claim: claim.spans[0])
        return Claims(tuple(map(self._made, found)), tuple(self._uncited_code))

    def take(self, unit: Unit) -> None:
        """Take the next unit."""
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
        """Let a unit without references belong to the claim that introduces it, if one does."""
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
        """Give the claim that ends right before a table, a quotation or indented code, in a colon."""
        if self._announcing is None:
            return None
        announcing, claim = self._announcing
        deeper = unit.kind is UnitKind.PARAGRAPH and unit.indent > announcing.indent
        return claim if deeper or unit.kind is UnitKind.ROW else None

    def _enter(self, unit: Unit, claim: _Growing | None) -> None:
        """Note what may introduce the units to come."""
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
        """Let references on lines of their own back what stands above: a unit, a list, its code."""
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
    """Whether one reference below backs both: items, rows, and whatever introduces code."""
    in_list = (UnitKind.ITEM, UnitKind.CODE, UnitKind.ROW)
    return following.kind is UnitKind.CODE or {unit.kind, following.kind} <= set(in_list)


def _is_beside(earlier: Unit, unit: Unit) -> bool:
    return earlier.kind is UnitKind.ITEM and earlier.indent >= unit.indent
