r"""Finds mentions of documents' lines in running text: ``a.md:5-9``, ``a.md#L5-L9``, ``lines 5-9 of a.md``.

They are references like those in brackets: a mention that resolves is a citation, and a mark replaces any
other. The search covers the text that a page shows (:class:`~knowledge_rag.guardrails.look.Look`). Code is
left alone, except a code span with a mention and nothing else; so is the address of a link, unless a reader
sees it.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.characters import CLOSING, OPENING, overlaps
from knowledge_rag.guardrails.look import APART, Look, Way, look_of
from knowledge_rag.guardrails.references import (
    A_NAME,
    GOES_ON,
    Lines,
    is_own_address,
    lines_before,
    lines_behind,
    names_of,
)
from knowledge_rag.guardrails.resolve import Findings, Kept, Taken, Why, resolve
from knowledge_rag.guardrails.scanner import MARK, Scanner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.guardrails.characters import Span
    from knowledge_rag.guardrails.ledger import Evidence, Ledger

MAX_NAME: Final = 1_024
"""Maximum characters of a document's name; a longer one is no mention."""
AHEAD: Final = 120
"""Maximum characters after a name to search for its lines."""
BEFORE: Final = 64
"""Maximum characters before a name to search for its lines."""

_LONGEST: Final = len(".asciidoc") + 2
"""Maximum characters at the end of a text that may be the unfinished ending of a name."""
_ENDS_NAME: Final = frozenset(
    OPENING
    + CLOSING
    + "(){}<>\"'|,;\u2018\u2019\u201c\u201d\u00ab\u00bb \t\r\n\v\f\x85\xa0"
    + APART
)
_ENDS_LINK: Final = frozenset("])")
"""Characters after which a name's ending may stand alone: the name begins in the text of a link."""
_LEAD: Final = re.compile(r"[*_~`]++")
_TICKS: Final = re.compile(r"`++")
_ADDRESS_BEGUN: Final = re.compile(r"\][(:][^\S\r\n]*+(?:\r\n?|\n)?[^\S\r\n]*+<?\Z")
"""The text before an address, which may be on the next line, but not below a blank one."""
_NOTE_BEGUN: Final = re.compile(r"\[\^[^\[\]\n]*\]:\s*<?\Z")
"""The beginning of a footnote's definition, whose text pages show."""
_LINE_END: Final = re.compile(r"\r?\n")
_MAY_BEGIN_BLOCK: Final = re.compile(r"[ \t]*(?:[`~*+><#-]|\d{1,9}[.)])")
_MARKERS: Final = re.compile(r"[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*)*+")
_MARKUP: Final = re.compile(r"<|&[#A-Za-z]|\[")
_BEHIND: Final = 2 * MAX_NAME
"""Characters to keep that have already been searched."""
_KEPT: Final = 4_096
"""Further characters from which it pays to drop any."""
_MOST: Final = 65_536
"""Characters of the written text from which fewer are dropped, too."""

_Decision = tuple[int, int, "tuple[Evidence, ...] | Why"]
"""Start and end offset of a mention, and its evidence or the reason for removing it."""


class AnswerScanner:
    """Reads an answer piece by piece: references in brackets, then mentions in the text.

    Args:
        ledger: the evidence of the request.
        mark: whether a mark replaces everything that is removed.
    """

    def __init__(self, ledger: Ledger, *, mark: bool = False) -> None:
        self.found = Findings()
        """The findings so far; code and unchecked spans only at the end of the answer."""
        self._ledger = ledger
        self._scanner = Scanner(ledger, mark=mark)
        self._text = ""  # the scanner's output from offset ``_base`` on
        self._base = 0
        self._sent = 0  # offset up to which it has gone out
        self._look = Look()  # the text that a page shows of it
        self._seen = 0  # offset up to which that is known
        self._at = 0  # index in the look where the search for the next name begins
        self._edge = 0  # index after the last mention
        self._parts: list[str] = []
        self._near = self._odd = (
            0  # how many of the scanner's references are in it, resolved or not
        )
        self._kept = 0  # how many of the scanner's findings have gone out
        self._taken = 0
        self._written = 0  # added to a scanner's offset, it is the offset as written
        # in the scanner's offsets: start, end, and the mark's length
        self._cuts: list[tuple[int, int, int]] = []
        self._shift = 0  # how many characters they removed

    def feed(self, piece: str) -> str:
        """Read more of the answer; return the text that can go out now."""
        self._text += self._scanner.feed(piece)
        self._read(min(self._base + len(self._text), self._scanner.settled), final=False)
        out = "".join(self._parts)
        self._parts.clear()
        self._forget()
        return out

    def close(self, piece: str = "") -> str:
        """Read the last of the answer; return the rest of its text."""
        self._text += self._scanner.close(piece)
        self._read(self._base + len(self._text), final=True)
        found = self._scanner.found
        self.found.taken += found.taken
        self.found.code = self._moved(found.code)
        self.found.unchecked = self._moved(found.unchecked)
        return "".join(self._parts)

    def _read(self, settled: int, *, final: bool) -> None:
        """Decide the mentions in the text that the scanner has settled, and send the text before the next one."""
        if not final:  # more tildes may follow, and together they are one mark
            new = self._text[self._seen - self._base : settled - self._base]
            settled -= len(new) - len(new.rstrip("~"))
        if settled > self._seen:
            parts = self._shown_parts(self._seen, settled)
            self._look.add(self._text, self._seen - self._base, self._base, parts)
            self._seen = settled
        decisions: list[_Decision] = []
        pending = self._decide_all(decisions, final=final)
        decisions.sort(key=itemgetter(0, 1))
        for start, end, evidence in decisions:
            if start < self._sent:
                continue  # inside one that is removed
            if isinstance(evidence, Why):
                self._cut(start, end, evidence)
            else:
                self._keep(start, end, evidence)
        end = self._look.start_of(pending) if pending < len(self._look.text) else self._seen
        if not final:  # a code span may begin there
            first = max(self._sent, decisions[-1][1] if decisions else 0)
            new = self._text[first - self._base : end - self._base]
            end -= len(new) - len(new.rstrip("`"))
        self._send(end)

    def _shown_parts(self, start: int, end: int) -> Iterator[tuple[int, int, Way]]:
        """Yield the parts of the settled text, without brackets that read like references."""
        found, at = self._scanner.found, start
        base, text = self._base, self._text
        left_out: list[Span] = []
        while self._near < len(found.kept) and found.kept[self._near].start < end:
            left_out.append((found.kept[self._near].start, found.kept[self._near].end))
            self._near += 1
        while self._odd < len(found.unchecked) and found.unchecked[self._odd][0] < end:
            left_out.append(found.unchecked[self._odd])
            self._odd += 1
        for first, last in [*sorted(left_out), (end, end)]:
            if at < first:
                part = at - base, first - base
                if text.find("<", *part) < 0 and text.find("&", *part) < 0:  # code reads the same
                    yield *part, Way.MARKDOWN
                else:
                    yield from self._ways(at, first)
            at = max(at, last)

    def _ways(self, start: int, end: int) -> Iterator[tuple[int, int, Way]]:
        found, base = self._scanner.found, self._base
        apart: list[tuple[int, int, Way]] = []
        for spans, way in ((found.code, Way.CODE), (found.too_long, Way.TOO_LONG)):
            at = max(bisect_right(spans, (start, sys.maxsize)) - 1, 0)
            behind = bisect_left(spans, (end, 0))
            apart += [(*span, way) for span in spans[at:behind] if span[1] > start]
        for first, last, way in sorted(apart, key=itemgetter(0)):
            if start < first:
                yield start - base, first - base, Way.MARKDOWN
            begin, start = max(first, start), min(last, end)
            yield begin - base, start - base, way
        if start < end:
            yield start - base, end - base, Way.MARKDOWN

    def _decide_all(self, decisions: list[_Decision], *, final: bool) -> int:
        """Collect the mentions that can be decided; return the index in the look up to which all are."""
        text = self._look.text
        limit = len(text)
        while found := A_NAME.search(text, self._at):
            is_path = found[0] in "?#"
            start, end = self._name_start(found.start()), found.end() - is_path
            if is_path and (end == self._at or not is_own_address(text[start:end])):
                self._at = found.end()
                continue
            is_cut_off = end + AHEAD + 1 > limit and APART not in text[end:]
            if is_cut_off and not final and not GOES_ON.match(text, end):
                return start
            self._at = found.end()
            if start < found.start() or text[start - 1 : start] in _ENDS_LINK:
                self._at = self._decide(start, end, decisions)
        if final:
            return limit
        self._at = max(self._at, limit - _LONGEST)
        return self._name_start(limit)

    def _name_start(self, end: int) -> int:
        """Return the start of the name that continues at ``end``; ``end`` if it is too long for a name."""
        text, start = self._look.text, end
        first = max(self._edge, end - MAX_NAME - 1)
        while start > first and text[start - 1] not in _ENDS_NAME:
            start -= 1
        return start if end - start <= MAX_NAME else end

    def _decide(self, start: int, end: int, decisions: list[_Decision]) -> int:
        """Decide about a document's name in the look; return the index after it and its lines."""
        look = self._look.text
        spans, last = lines_behind(look, end, end + AHEAD)
        spans = spans or lines_before(look, max(0, start - BEFORE), start)
        if not spans:
            return last
        first, name_end, behind = (
            offset - self._base
            for offset in (
                self._look.start_of(start),
                self._look.end_of(end),
                self._look.end_of(last),
            )
        )
        names = names_of(self._text[first:name_end])
        evidence = resolve(tuple(Lines(names, *span) for span in spans), self._ledger)
        is_bad = isinstance(evidence, Why)
        is_own = is_own_address(look[start:end]) > 0  # anywhere
        if not is_own and self._is_address(first, look[start:last], is_bad=is_bad):
            return last
        if is_bad and not is_own and "://" in look[start:end] and look[end : end + 1] in ("#", "?"):
            return last
        is_plain = not _MARKUP.search(self._text, first, behind)
        said_until = behind if is_plain else name_end
        place = self._bare(first, said_until, name_end=name_end, is_bad=is_bad)
        if place is None and not is_bad:  # lines that continue in other code may read differently
            evidence, is_bad = Why.UNPARSABLE, True
            place = self._bare(first, behind, name_end=name_end, is_bad=True)
        if place:
            if is_bad:
                place = place[0], self._end_of_cut(*place)
                if place[1] < name_end:  # the name continues there, after markup
                    line = self._text.rfind("\n", first, name_end) + 1
                    rest = _MARKERS.match(self._text, line, name_end)
                    begin = rest.end() if rest else line
                    decisions.append((begin + self._base, name_end + self._base, evidence))
            if is_bad or not _MARKUP.search(self._text, *place):
                pieces = self._without_ticks(*place) if is_bad else (place,)
                decisions += [(a + self._base, b + self._base, evidence) for a, b in pieces]
                self._edge = last
        return last

    def _is_address(self, start: int, said: str, *, is_bad: bool) -> bool:
        """Whether a name is the address of a link or a definition that pages don't show.

        A bad one is such an address if no page shows it, a good one if not all pages do.
        """
        before = self._text[max(0, start - BEFORE) : start]
        begun = _ADDRESS_BEGUN.search(before)
        if not begun or _NOTE_BEGUN.search(before):
            return False
        offset = start + self._base
        pages = next(
            (it for first, last, it in self._scanner.found.pages if first <= offset < last), None
        )
        if pages is None:  # only addresses of plain links need no parser
            return begun[0][1] == "("
        shown = [any(said in look_of(part) for part in page) for page in pages]
        return not (any(shown) if is_bad else all(shown))

    def _bare(self, start: int, end: int, *, name_end: int, is_bad: bool) -> Span | None:
        """Return a mention with the code spans that contain parts of it, and without marks around it.

        Returns:
            Its start and end index; ``None`` if it is in code with other text. For a bad one whose
            lines continue in such code, the part before that code.
        """
        text, code = self._text, self._scanner.found.code
        marks = _LEAD.match(text, start, end)
        lead = marks.end() if marks else start
        opened = start
        while opened and text[opened - 1] == "`":
            opened -= 1
        ticked = _TICKS.match(text, end)
        last = ticked.end() if ticked else end
        at = bisect_right(code, (self._base + lead, sys.maxsize)) - 1
        held = [span for span in code[max(at, 0) :] if span[1] > self._base + lead]
        held = [(a - self._base, b - self._base) for a, b in held if a < self._base + end]
        if held and held[0][0] < opened and held[0][1] < name_end:  # it continues after code
            lead = max(lead, held.pop(0)[1])
        while is_bad and held and held[-1][0] >= name_end and held[-1][1] > last:
            end = last = held.pop()[0]
        if any(a < opened or b > last for a, b in held):
            return None
        return min([lead, *(a for a, _ in held)]), max([end, *(b for _, b in held)])

    def _without_ticks(self, start: int, end: int) -> Iterator[Span]:
        """Yield a mention without backticks of code spans other than its own: removal would change those."""
        code = self._scanner.found.code
        for ticks in _TICKS.finditer(self._text, start, end):
            at = self._base + ticks.start()
            if not overlaps(at, at + 1, code):
                if start < ticks.start():
                    yield start, ticks.start()
                start = ticks.end()
        if start < end:
            yield start, end

    def _end_of_cut(self, start: int, end: int) -> int:
        """Return the end of a cut before lines that may begin a block: without them, later text would read differently."""
        for line in _LINE_END.finditer(self._text, start, end):
            if _MAY_BEGIN_BLOCK.match(self._text, line.end()):
                return line.start()
        return end

    def _keep(self, start: int, end: int, evidence: tuple[Evidence, ...]) -> None:
        self._pass_kept(start)
        self.found.kept.append(Kept(start - self._shift, end - self._shift, evidence))

    def _cut(self, start: int, end: int, why: Why) -> None:
        """Send a mark instead of a mention; in parts, if the scanner removed text inside it."""
        text, base = self._text, self._base
        mark = f"{MARK} " if text[end - base : end - base + 1] in ("(", "[", ":") else MARK
        self._send(start)
        self._parts.append(mark)
        kept = self._scanner.found.kept
        while self._kept < len(kept) and kept[self._kept].start < end:
            self._kept += 1
        while start < end:
            if start == self._next_taken() and (behind := self._unmark(start)):
                start = behind
                continue
            written = start + self._pass_taken(start)
            last = min(end, self._next_taken())
            part = Taken(
                written, written + last - start, text[start - base : last - base], why, mark
            )
            self.found.taken.append(part)
            self._cuts.append((start, last, len(mark)))
            self._shift += last - start - len(mark)
            start, mark = last, ""
        self._sent = end

    def _unmark(self, start: int) -> int:
        """Drop the mark of the scanner's removal at an offset; return the offset after it, 0 if there is no mark."""
        one = self._scanner.found.taken[self._taken]
        if not one.mark:
            return 0
        self._scanner.found.taken[self._taken] = replace(one, mark="")
        self._written += len(one.text) - len(one.mark)
        self._taken += 1
        self._cuts.append((start, start + len(one.mark), 0))
        self._shift += len(one.mark)
        return start + len(one.mark)

    def _send(self, end: int) -> None:
        """Send everything up to an offset."""
        if end > self._sent:
            self._pass_kept(end)
            self._parts.append(self._text[self._sent - self._base : end - self._base])
            self._sent = end

    def _pass_kept(self, before: int) -> None:
        """Add the scanner's references that end at or before an offset."""
        kept = self._scanner.found.kept
        while self._kept < len(kept) and kept[self._kept].end <= before:
            one = kept[self._kept]
            if self._shift:
                one = Kept(one.start - self._shift, one.end - self._shift, one.evidence)
            self.found.kept.append(one)
            self._kept += 1

    def _pass_taken(self, before: int) -> int:
        """Return the number to add to a scanner's offset for the offset in the answer as written."""
        while self._next_taken() <= before:
            one = self._scanner.found.taken[self._taken]
            self._written += len(one.text) - len(one.mark)
            self._taken += 1
        return self._written

    def _next_taken(self) -> int:
        """Return the offset of the scanner's next removal; a large number if there is none."""
        taken = self._scanner.found.taken
        return taken[self._taken].start - self._written if self._taken < len(taken) else sys.maxsize

    def _moved(self, spans: list[Span]) -> list[Span]:
        """Convert spans from the scanner's offsets to those of the outgoing answer."""
        if not self._cuts:
            return spans
        starts = [start for start, _, _ in self._cuts]
        shifts = [0, *accumulate(end - start - mark for start, end, mark in self._cuts)]

        def moved(offset: int) -> int:
            before = bisect_left(starts, offset)
            if before and offset < self._cuts[before - 1][1]:  # within a cut: the end of its mark
                offset = self._cuts[before - 1][1]
            return offset - shifts[before]

        return [(moved(start), moved(end)) for start, end in spans]

    def _forget(self) -> None:
        """Drop text that was searched, except as much as a name needs before it."""
        count = self._at - _BEHIND
        if count < _KEPT and (count <= 0 or len(self._text) < _MOST):
            return
        start = self._look.start_of(count)
        self._look.forget(count)
        self._at -= count
        self._edge = max(self._edge - count, 0)
        self._scanner.found.pages = [it for it in self._scanner.found.pages if it[1] > start]
        first = max(min(start, self._sent) - BEFORE, self._base)
        self._text = self._text[first - self._base :]
        self._base = first
