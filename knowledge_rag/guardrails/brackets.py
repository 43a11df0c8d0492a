"""Finds the brackets of a text that are references, and those among them that have no evidence."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.guardrails.characters import (
    CLOSING,
    CLOSING_PATTERN,
    MARKUP_PATTERNS,
    MAX_ZEROS,
    OPENING,
    OPENING_PATTERN,
    normalise,
    outside,
    overlaps,
)
from knowledge_rag.guardrails.readings import CODE, views_of
from knowledge_rag.guardrails.references import MAX_REFERENCE, Unparsable, parse, unclosed_head
from knowledge_rag.guardrails.resolve import Why, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.guardrails.characters import Span
    from knowledge_rag.guardrails.ledger import Evidence, Ledger
    from knowledge_rag.guardrails.readings import View
    from knowledge_rag.guardrails.references import Reference

A_BRACKET: Final = re.compile(rf"(?P<open>{OPENING_PATTERN})|{CLOSING_PATTERN}")

_A_SHOWN_BRACKET: Final = re.compile(rf"[{re.escape(OPENING + CLOSING)}]")
_BEFORE: Final = 64
_BEHIND: Final = 1_000
_LINE_END: Final = re.compile(r"\r\n?|\n")
_IDENTIFIER: Final = re.compile(r"(?:[A-Za-z_$](?:[\w.$]*[\w$])?|[@=/^$&])\Z", re.ASCII)
_LETTER: Final = re.compile(r"[^\W\d_]")
_TAG: Final = re.compile(r"<[^<>]*>")
_DESTINATION: Final = re.compile(
    r"\([ \t]*(?:<[^<>\n()\[\]]*>|[^\s()<>\[\]]*)"
    r"(?:[ \t]+(?:\"[^\"\n()\[\]]*\"|'[^'\n()\[\]]*'))?[ \t]*\)"
)
_ADDRESS: Final = re.compile(
    r"\([ \t]*<?(?:[a-z][a-z0-9+.-]*:|[#/?]|[^\s()]*[./][^\s()])", re.IGNORECASE
)
_DEFINITION: Final = re.compile(
    r":[ \t]{0,8}<?(?:https?://|mailto:|www\.|[/#]|\.{1,2}/)", re.IGNORECASE
)
_LINE_BEGUN: Final = re.compile(r"[ \t>*+\-\d.)]*\Z")
_NUMBERS_BEGUN: Final = re.compile(r"[\s,;&\-\u2010-\u2015]*+\d[\d\s,;&\-\u2010-\u2015\\]*+\Z")
_TICKS: Final = re.compile(r"\\*`")
_TICK_RUN: Final = re.compile(r"(?<![\\`])`+")
INTO_ADDRESS: Final = re.compile(r"(?:(?:https?|ftp)://|www\.)[^\s<`]{0,1000}+`", re.IGNORECASE)
_GOES_ON: Final = re.compile(r"(?:[A-Za-z0-9]|[\s,;:*_]*+[(]?lines?[\W_]*+\d)", re.IGNORECASE)
"""Continues, after a code span, a reference that begins in it."""
_PIPE: Final = re.compile(r"(?<!\\)(?:\\\\)*\|")
"""A pipe that isn't escaped: to every reader, one after an odd number of backslashes is."""
_ROW_BEGUN: Final = r"[ \t>]*+(?:(?:[-+*]|\d{1,9}[.)])[ \t]++)*+"
_DELIMITERS: Final = r"\|?(?:[ \t]*+:?-[^|\n]*+(?:\||$))++[ \t\r]*+$"
_TABLE_BEGUN: Final = re.compile(
    rf"^(?:[^|\n]*+\|.*\n{_ROW_BEGUN}|{_ROW_BEGUN}(?=.*\|)){_DELIMITERS}", re.MULTILINE
)
"""The line below a table's head, for the most generous reader: each cell begins with a dash, and
that line or the head has a pipe."""
_BLANK_LINE: Final = re.compile(r"\n[ \t>]*\r?\n")
_TURN: Final = re.compile(
    rf"\u202e|<bdo|&#(?:0{{0,{MAX_ZEROS}}}+8238(?!\d)|x0{{0,{MAX_ZEROS}}}+202e(?![\da-f]))",
    re.IGNORECASE,
)
"""From here on, up to the end of the paragraph at most, text reads from right to left."""


class Bracket(NamedTuple):
    """A bracket, as written."""

    start: int
    end: int
    opens: bool
    code: tuple[Span | None, ...]
    """For each view, the code span that contains it, if any."""


class Good(NamedTuple):
    """A reference that resolves."""

    start: int
    end: int
    evidence: tuple[Evidence, ...]


class Bad(NamedTuple):
    """A reference that doesn't resolve, or the beginning of one that is never closed."""

    start: int
    end: int
    """Offset after it, and after the address of its link."""
    why: Why
    is_inside: bool
    """Whether it is inside another open bracket."""


class Reading:
    """Reads the brackets of whole top-level blocks.

    Args:
        text: the blocks.
        start: offset from which brackets are read; earlier ones are known.
        ledger: the evidence of the request.
        defined: numbers that label a link's definition further up.
    """

    def __init__(self, text: str, start: int, ledger: Ledger, defined: Iterable[str]) -> None:
        self.text, self.start = text, start
        self.views = views_of(text)
        self.good: list[Good] = []
        self.bad: list[Bad] = []
        self.unchecked: list[Span] = []
        self.defined = set(defined)
        self._ledger = ledger
        self._index = -1
        self._bad_before = 0
        self._lines = [0, *(found.end() for found in _LINE_END.finditer(text))]
        self._paragraphs = self._paragraphs_of_lines()
        self._turns = [found.start() for found in _TURN.finditer(text)]
        self._doubtful = (
            self._cut_by_tables() | self._cut_by_lone_ticks() | self._cut_by_addresses()
        )
        brackets = self._brackets()
        self._pair(brackets)
        for hidden in self._hidden(brackets):
            self._pair(
                [one for one in brackets if not overlaps(one.start, one.start + 1, hidden)],
                again=True,
            )
        self._merge()

    @property
    def code(self) -> Sequence[Span]:
        """Text that is code to every reader: blocks of whole lines, and spans."""
        first, *others = (frozenset((*one.code, *one.spans)) for one in self.views)
        return sorted(first.intersection(*others) - self._doubtful)

    def is_sound(self, cited: set[Evidence]) -> bool:
        """Whether no reader sees a reference other than the good ones and those known to be unchecked.

        Args:
            cited: evidence of the references before these blocks.
        """
        cited = cited.union(*(one.evidence for one in self.good))
        tolerated = Counter(_bare(self.text[start:end]) for start, end in self.unchecked)
        return not self.bad and all(
            self._shows_nothing_else(page, cited, Counter(tolerated))
            for view in self.views
            for _, page in view.shown
        )

    def _shows_nothing_else(self, page: str, cited: set[Evidence], tolerated: Counter[str]) -> bool:
        opened: list[tuple[int, int]] = []
        for found in _A_SHOWN_BRACKET.finditer(page):
            if found[0] in OPENING:
                if opened and unclosed_head(page[opened[-1][1] : found.start()]):
                    return False
                opened.append(found.span())
            elif opened:
                start, inner = opened.pop()
                raw = page[inner : found.start()]
                if len(raw) > MAX_REFERENCE and unclosed_head(raw):
                    return False
                if (reference := parse(raw)) is None:
                    continue
                evidence = resolve(reference, self._ledger)
                if not isinstance(evidence, Why) and cited.issuperset(evidence):
                    continue
                label = _bare(page[start : found.end()])
                tolerated[label] -= 1
                if tolerated[label] < 0:
                    return False
        return not any(
            page[inner : inner + 1] != CODE and unclosed_head(page[inner : inner + MAX_REFERENCE])
            for _, inner in opened
        )

    # the parts of the text

    def _brackets(self) -> list[Bracket]:
        """Return the brackets that are not code to every reader, in order."""
        found = [
            (one.start(), one.end(), one["open"] is not None)
            for one in A_BRACKET.finditer(self.text, self.start)
        ]
        cut = self._doubtful
        spans = [
            [None if (span := view.code_at(start)) in cut else span for start, _, _ in found]
            for view in self.views
        ]
        hidden = [
            _code_brackets(view, [(*one, span) for one, span in zip(found, of, strict=True)])
            for view, of in zip(self.views, spans, strict=True)
        ]
        return [
            Bracket(*one, tuple(of[at] for of in spans))
            for at, one in enumerate(found)
            if not all(at in each for each in hidden)
        ]

    def _cut_by_tables(self) -> set[Span]:
        """Return the code spans that a cell's end may cut: some readers see more tables than others."""
        cut: set[Span] = set()
        if "|" not in self.text:
            return cut
        ends = [found.end() for found in _BLANK_LINE.finditer(self.text)]
        for view in self.views:
            piped = -1
            for span in view.spans:
                line = self._line_of(span[0])
                if _PIPE.search(self.text, *span):
                    piped = line
                if piped == line and self._may_be_table(span[0], ends):
                    cut.add(span)
            for start, behind in view.wrapped:  # cut at its line's end, it shifts all that follow
                if self._may_be_table(start, ends):
                    first = bisect_left(view.spans, (behind, 0))
                    blank = next((at for at in ends if at > behind), len(self.text))
                    cut.update(view.spans[first : bisect_left(view.spans, (blank, 0))])
        return cut

    def _cut_by_lone_ticks(self) -> set[Span]:
        """Return the code spans that cmark shows as words.

        After backticks that are never closed, it finds one span for each number of backticks.
        """
        cut: set[Span] = set()
        for view in self.views:
            spans = iter(sorted([*view.spans, *view.wrapped]))
            span = next(spans, None)
            used: set[int] | None = None
            block = -1
            for run in _TICK_RUN.finditer(self.text):
                while span and span[1] <= run.start():
                    span = next(spans, None)
                if (begun := self._paragraph(run.start())[0]) != block:
                    block, used = begun, None
                length = run.end() - run.start()
                if span is None or run.start() < span[0]:
                    used = used or set()
                elif used is not None:
                    if run.start() == span[0] and length in used:
                        cut.add(span)
                    used.add(length)
        return cut

    def _cut_by_addresses(self) -> set[Span]:
        """Return the code spans after an address with a backtick at its end: GitHub takes that for part of it."""
        cut: set[Span] = set()
        ticks = [found.end() - 1 for found in INTO_ADDRESS.finditer(self.text)]
        for view in self.views if ticks else ():
            end = 0  # of the last paragraph whose spans were added
            for tick in ticks:
                span = view.code_at(tick)
                if tick >= end and (span is None or span[0] == tick):
                    end = self._paragraph(tick)[1]
                    first, behind = (bisect_left(view.spans, (at, 0)) for at in (tick, end))
                    cut.update(view.spans[first:behind])
        return cut

    def _may_be_table(self, offset: int, ends: Sequence[int]) -> bool:
        """Whether a table begins between the blank lines around an offset."""
        at = bisect_right(ends, offset)
        end = ends[at] if at < len(ends) else len(self.text)
        return _TABLE_BEGUN.search(self.text, ends[at - 1] if at else 0, end) is not None

    def _hidden(self, brackets: Sequence[Bracket]) -> Iterator[Sequence[Span]]:
        """Yield groups of spans in which some readers see no brackets: tags, and code spans."""
        known = []
        if "<" in self.text:
            for pattern in MARKUP_PATTERNS:
                tags = [found.span() for found in pattern.finditer(self.text) if found[0][0] == "<"]
                within = [one.start for one in brackets if overlaps(one.start, one.start + 1, tags)]
                if within and within not in known:
                    known.append(within)
                    yield tags
        if any(any(one.code) for one in brackets):
            for view in self.views:
                yield view.spans

    def _paragraphs_of_lines(self) -> list[tuple[int, int]]:
        """Return, for each line, the first and last line that any reader counts to its paragraph."""
        known: list[tuple[int, int] | None] = [None] * len(self._lines)
        for view in self.views:
            for (start, end), _ in view.shown:
                first = self._line_of(start)
                last = max(first, self._line_of(end - 1))
                for line in range(first, last + 1):
                    was = known[line] or (first, last)
                    known[line] = min(first, was[0]), max(last, was[1])
        return [one or (line, line) for line, one in enumerate(known)]

    def _line_of(self, offset: int) -> int:
        return bisect_right(self._lines, offset) - 1

    def _paragraph(self, offset: int) -> Span:
        first, last = self._paragraphs[self._line_of(offset)]
        end = self._lines[last + 1] if last + 1 < len(self._lines) else len(self.text)
        return self._lines[first], end

    # brackets in pairs

    def _pair(self, brackets: Iterable[Bracket], *, again: bool = False) -> None:
        opened: list[Bracket] = []
        self._index = -1
        self._bad_before = len(self.bad)
        for one in brackets:
            if one.opens:
                if opened and self._breaks(opened[-1], one, is_inside=len(opened) > 1):
                    opened.pop()
                opened.append(one)
            elif opened:
                first = opened.pop()
                if (
                    one.start < self._paragraph(first.start)[1]
                    or "\n" not in self.text[first.end : one.start]
                ):
                    self._close(first, one, is_inside=bool(opened), again=again)
                else:
                    self._leave_open(first, is_inside=bool(opened))
        for at, one in enumerate(opened):
            self._leave_open(one, is_inside=at > 0)

    def _breaks(self, outer: Bracket, inner: Bracket, *, is_inside: bool) -> bool:
        """Whether an opening bracket ends the reference begun by the bracket around it."""
        begun = self.text[outer.end : inner.start]
        if len(begun) > MAX_REFERENCE or inner.start >= self._paragraph(outer.start)[1]:
            return False
        same_code = outer.code == inner.code and any(outer.code)
        if not same_code and _NUMBERS_BEGUN.match(normalise(begun).text):
            self._take(outer.start, inner.start, Why.UNCLOSED, is_inside=is_inside)
            return True
        if head := 0 if same_code else unclosed_head(begun):
            self._take(
                outer.start, self._before_ticks(outer.end, head), Why.UNCLOSED, is_inside=is_inside
            )
            return True
        return False

    def _close(self, first: Bracket, last: Bracket, *, is_inside: bool, again: bool) -> None:
        start, end = first.start, last.end
        good, bad = self._inside(start, end)
        inside = [*((one.start, one.end) for one in good), *((one.start, one.end) for one in bad)]
        raw = "".join(outside(self.text, sorted(inside), first.end, last.start))
        if len(raw) > MAX_REFERENCE:
            self._leave_open(first, is_inside=is_inside)
            return
        turned = any(
            self._paragraph(start)[0] <= at < end
            and not any(one.start <= at < one.end for one in self.bad)
            for at in self._turns
        )
        reference = parse(raw) or (parse(raw[::-1]) if turned else None)
        if reference is None:
            return
        is_odd = bool(good or bad or turned or first.code != last.code)
        if not is_odd and self._is_other(first, last, raw, reference):
            if not again:
                self.unchecked.append((start, end))
            return
        evidence = Why.UNPARSABLE if is_odd else resolve(reference, self._ledger)
        if isinstance(evidence, Why) or (again and (start, end, evidence) not in self.good):
            why = evidence if isinstance(evidence, Why) else Why.UNPARSABLE
            begin = max([one.end for one in good], default=start)
            if address := _destination(self.text, end):
                end += address.end()
            self._take(begin, end, why, is_inside=is_inside or bool(good))
        elif not again:
            self.good.append(Good(start, end, evidence))

    def _inside(self, start: int, end: int) -> tuple[Sequence[Good], Sequence[Bad]]:
        """Return the references found between two brackets."""
        at = bisect_right(self.good, start, key=lambda one: one.start)
        good = []
        while at < len(self.good) and self.good[at].end <= end:
            good.append(self.good[at])
            at += 1
        at = len(self.bad)
        while at > self._bad_before and self.bad[at - 1].start > start:
            at -= 1
        return good, self.bad[at:]

    def _leave_open(self, one: Bracket, *, is_inside: bool) -> None:
        end = min(self._paragraph(one.start)[1], one.end + MAX_REFERENCE)
        good, _ = self._inside(one.start, end)
        begin = max([each.end for each in good], default=one.end)
        raw = self.text[begin:end]
        if not (head := unclosed_head(raw)):
            return
        if all(one.code):
            ends = max(span[1] for span in one.code if span)
            if begin + head <= ends and not _GOES_ON.match(self.text, ends, end):
                return
        start = begin if good else one.start
        self._take(
            start, self._before_ticks(begin, head), Why.UNCLOSED, is_inside=is_inside or bool(good)
        )

    def _before_ticks(self, begin: int, head: int) -> int:
        """Return the end of a head, or where backticks begin in it: cut, they would change other spans."""
        ticks = _TICKS.search(self.text, begin, begin + head)
        return ticks.start() if ticks else begin + head

    def _take(self, start: int, end: int, why: Why, *, is_inside: bool) -> None:
        before = self.text[max(0, start - _BEFORE) : start]
        if (len(before) - len(before.rstrip("\\"))) % 2:
            start -= 1
        self.bad.append(Bad(start, end, why, is_inside))

    def _merge(self) -> None:
        """Join overlapping bad references, and drop good and unchecked ones that overlap them."""
        merged: list[Bad] = []
        for one in sorted(self.bad, key=lambda one: (one.start, -one.end)):
            if merged and one.start < merged[-1].end:
                last = merged[-1]
                merged[-1] = last._replace(end=max(last.end, one.end))
            else:
                merged.append(one)
        self.bad = merged
        gone = [(one.start, one.end) for one in merged]
        self.good = sorted(one for one in self.good if not overlaps(one.start, one.end, gone))
        self.unchecked = sorted(one for one in self.unchecked if not overlaps(*one, gone))

    # brackets that only look like references

    def _is_other(
        self, first: Bracket, last: Bracket, raw: str, reference: Reference | Unparsable
    ) -> bool:
        """Whether a bracket is a link, an index or a definition."""
        text, start, end = self.text, first.end - 1, last.end
        if (text[first.start], text[last.start]) != ("[", "]"):
            return False  # no other bracket makes one, whatever it looks like
        following = text[end : end + _BEHIND]
        numeric = not _LETTER.search(_TAG.sub("", raw))
        bare = isinstance(reference, Unparsable) and reference.bare
        if (numeric or bare) and _destination(text, end):
            return True
        if not numeric:
            return False
        before = text[max(0, start - _BEFORE) : start]
        if not raw.isascii() or not raw.isdigit():
            return before[-1:] in ("^", "\\") and following[:1] in ("+", "{")
        if _IDENTIFIER.search(before) or self._index == start:
            self._index = end
            return True
        line = text[text.rfind("\n", 0, start) + 1 : start]
        begins = _LINE_BEGUN.match(line) is not None
        if begins and not line.strip() and _DEFINITION.match(following):
            self.defined.add(raw)
        return raw in self.defined and (begins or before.endswith("]"))


def _destination(text: str, end: int) -> re.Match[str] | None:
    """Return the address of a link that begins at an offset, with its brackets."""
    following = text[end : end + _BEHIND]
    return _DESTINATION.match(following) if _ADDRESS.match(following) else None


def _code_brackets(view: View, brackets: Sequence[tuple[int, int, bool, Span | None]]) -> set[int]:
    """Return the indexes of brackets that are code to one reader: all in blocks, pairs in spans."""
    found: set[int] = set()
    opened: list[tuple[int, Span]] = []
    blocks = set(view.code)
    for at, (_, _, opens, span) in enumerate(brackets):
        if span is None:
            continue
        if span in blocks:
            found.add(at)
        elif opens:
            opened.append((at, span))
        elif opened and opened[-1][1] == span:
            found |= {opened.pop()[0], at}
    return found


def _bare(bracket: str) -> str:
    return re.sub(r"[\s*_`~\\]", "", normalise(bracket).look)
