r"""Lines of documents that running text names: ``a.md:5-9``, ``a.md#L5-L9``, ``lines 5-9 of a.md``.

They are references like those in brackets: a mention that resolves is a citation, any other one is
replaced by a mark. Code is left alone, but for a code span that holds a mention and nothing else.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.characters import CLOSING, OPENING
from knowledge_rag.guardrails.references import (
    A_DOCUMENT,
    GOES_ON,
    Lines,
    lines_before,
    lines_behind,
    names_of,
)
from knowledge_rag.guardrails.resolve import Findings, Kept, Taken, Why, resolve
from knowledge_rag.guardrails.scanner import MARK, Scanner

if TYPE_CHECKING:
    from knowledge_rag.guardrails.draft import Span
    from knowledge_rag.guardrails.ledger import Evidence, Ledger

MAX_NAME: Final = 1_024
"""Characters of a document's name at most; a longer one is no mention."""
AHEAD: Final = 120
"""Characters behind a name that may say which lines are meant."""
BEFORE: Final = 64
"""Characters before a name that may."""

_LONGEST: Final = len(".asciidoc") + 2
"""Characters that decide where the ending of a document's name ends."""
_ENDS_NAME: Final = frozenset(
    OPENING + CLOSING + "(){}<>\"'|,;\u2018\u2019\u201c\u201d\u00ab\u00bb \t\r\n\v\f\x85\xa0"
)
_MARKS: Final = re.compile(r"[*_~`]++")
_TICKS: Final = re.compile(r"`++")
_DESTINATION_BEGUN: Final = re.compile(r"\](?:\(\s*<?|:\s*<?)\Z")
_LINKED: Final = re.compile(
    r"(?<!\\)\[(?:[^\[\]\\`<]|`[^`]*`|!\[[^\[\]]*\]\([^()]*\))*+\]\([ \t]*<?\Z"
)
_DEFINED: Final = re.compile(
    r"\n[ \t]*\r?\n(?:[ ]{0,3}\[[^\^\[\]\n][^\[\]\n]*\]:[ \t]*\S+[ \t]*\r?\n)*+"
    r"[ ]{0,3}\[[^\^\[\]\\`\n][^\[\]\\`\n]*\]:[ \t]*<?\Z"
)
"""A definition, below a blank line. Of a footnote's, pages show the text."""
_TITLE = r"""(?:[ \t]{1,4}(?:"[^"\n]{0,60}"|'[^'\n]{0,60}'))?[ \t]{0,4}"""
_LINK_ENDS: Final = re.compile(rf"[^\s()<>]{{0,40}}>?{_TITLE}\)")
_DEFINITION_ENDS: Final = re.compile(rf"[^\s<>]{{0,40}}>?{_TITLE}(?:\r?\n|\Z)")
_LINE_END: Final = re.compile(r"\r?\n")
_MAY_BEGIN_BLOCK: Final = re.compile(r"[ \t]*(?:[`~*+>#-]|\d{1,9}[.)])")
_LINK: Final = 1_000
"""Characters before an address that may belong to its link."""
_BEHIND: Final = 2 * MAX_NAME
"""Characters that have gone out and are still looked at."""
_KEPT: Final = 4_096
"""As many more are there before any are forgotten."""


class AnswerScanner:
    """Reads an answer piece by piece: what stands in brackets, then what its text mentions.

    Args:
        ledger: the evidence of the request.
        mark: whether a mark replaces everything that is taken out.
    """

    def __init__(self, ledger: Ledger, *, mark: bool = False) -> None:
        self.found = Findings()
        """What was found so far; code and what is unchecked once the answer is over."""
        self._ledger = ledger
        self._scanner = Scanner(ledger, mark=mark)
        self._text = ""  # that the scanner let go out, from offset ``_base`` on
        self._base = 0
        self._at = 0  # index in it from where on the next name is looked for
        self._edge = 0  # behind the last mention
        self._sent = 0
        self._parts: list[str] = []
        self._near = 0  # of the scanner's references, how many start before what is read
        self._kept = 0  # how many of the scanner's findings were passed
        self._taken = 0
        self._written = 0  # what leads from the scanner's offsets to those of the answer as written
        # at the scanner's offsets: first, behind, and the mark's length
        self._cuts: list[tuple[int, int, int]] = []
        self._shift = 0  # what they took out, in characters

    def feed(self, piece: str) -> str:
        """Read more of the answer; return what can go out now."""
        self._text += self._scanner.feed(piece)
        self._send(
            self._read(min(len(self._text), self._scanner.settled - self._base), final=False)
        )
        out = "".join(self._parts)
        self._parts.clear()
        self._forget()
        return out

    def close(self, piece: str = "") -> str:
        """Read the last of the answer; return what is left to go out."""
        self._text += self._scanner.close(piece)
        self._send(self._read(len(self._text), final=True))
        found = self._scanner.found
        self.found.taken += found.taken
        self.found.code = self._moved(found.code)
        self.found.unchecked = self._moved(found.unchecked)
        return "".join(self._parts)

    def _read(self, limit: int, *, final: bool) -> int:
        """Decide the mentions up to ``limit``; return the index before which all are decided."""
        text = self._text
        while found := A_DOCUMENT.search(text, self._at, limit):
            if (behind := self._behind_kept(found.start())) > found.start():
                self._at = behind
                continue
            start, end = self._name_start(found.start()), found.end()
            if not final and end + AHEAD + 1 > limit and not GOES_ON.match(text, end, limit):
                return start
            if not final and end + 2 * AHEAD > limit and self._may_be_address(start):
                return start
            self._at = self._decide(start, end) if start < found.start() else end
        if final:
            return limit
        self._at = max(self._at, limit - _LONGEST)
        return self._name_start(limit)

    def _name_start(self, end: int) -> int:
        """Return where the name starts that goes on at ``end``; ``end`` if it is too long for one."""
        text, start = self._text, end
        first = max(self._edge, self._behind_kept(end), end - MAX_NAME - 1)
        while start > first and text[start - 1] not in _ENDS_NAME:
            start -= 1
        return start if end - start <= MAX_NAME else end

    def _behind_kept(self, index: int) -> int:
        """Return the index behind the last of the scanner's references that starts before an index."""
        kept, offset = self._scanner.found.kept, self._base + index
        while self._near < len(kept) and kept[self._near].start < offset:
            self._near += 1
        return kept[self._near - 1].end - self._base if self._near else 0

    def _decide(self, start: int, end: int) -> int:
        """Keep or cut a document's name with its lines, if it has any; return the index behind."""
        text = self._text
        spans, last = lines_behind(text, end, end + AHEAD)
        spans = spans or lines_before(text[max(0, start - BEFORE) : start])
        if not spans or self._is_address(start, last):
            return last
        place = self._bare(start, last, name_end=end)
        names = names_of(text[start:end])
        evidence = resolve(tuple(Lines(names, *span) for span in spans), self._ledger)
        if place is None:
            return last
        if not isinstance(evidence, Why):
            self._keep(*place, evidence)
        elif "://" not in text[start:end] or text[end : end + 1] not in ("#", "?"):
            self._cut(place[0], self._end_of_cut(*place), evidence)
        return max(last, self._edge)

    def _may_be_address(self, start: int) -> bool:
        return _DESTINATION_BEGUN.search(self._text, max(0, start - BEFORE), start) is not None

    def _is_address(self, start: int, end: int) -> bool:
        """Whether a name is the address of a link or of a definition: pages don't show it."""
        if not self._may_be_address(start):
            return False
        before = self._text[max(0, start - _LINK) : start]
        if self._base == 0 and start <= _LINK:
            before = f"\n\n{before}"
        if _LINKED.search(before):
            return _LINK_ENDS.match(self._text, end) is not None
        return bool(_DEFINED.search(before) and _DEFINITION_ENDS.match(self._text, end))

    def _bare(self, start: int, end: int, *, name_end: int) -> Span | None:
        """Return a mention with the code spans that hold parts of it, and without marks around it.

        Returns:
            Its first index and the one behind it; ``None`` if it is in code that holds more.
        """
        text, code = self._text, self._scanner.found.code
        marks = _MARKS.match(text, start, end)
        lead = marks.end() if marks else start
        ticked = _TICKS.match(text, end)
        last = ticked.end() if ticked else end
        at = bisect_right(code, (self._base + lead, sys.maxsize)) - 1
        held = [span for span in code[max(at, 0) :] if span[1] > self._base + lead]
        held = [(a - self._base, b - self._base) for a, b in held if a < self._base + end]
        if held and held[0][0] < start and held[0][1] < name_end:  # it goes on behind code
            lead = max(lead, held.pop(0)[1])
        if any(a < start or b > last for a, b in held):
            return None
        return min([lead, *(a for a, _ in held)]), max([end, *(b for _, b in held)])

    def _end_of_cut(self, start: int, end: int) -> int:
        """Leave lines alone that may begin a block: what is behind them would be read in another way."""
        for line in _LINE_END.finditer(self._text, start, end):
            if _MAY_BEGIN_BLOCK.match(self._text, line.end()):
                return line.start()
        return end

    def _keep(self, start: int, end: int, evidence: tuple[Evidence, ...]) -> None:
        first = self._base + start
        self._pass_kept(first)
        self.found.kept.append(
            Kept(first - self._shift, first + end - start - self._shift, evidence)
        )
        self._edge = end

    def _cut(self, start: int, end: int, why: Why) -> None:
        """Let a mark go out instead; where the scanner took something out of it, in parts."""
        text = self._text
        mark = f"{MARK} " if text[end : end + 1] in ("(", "[", ":") else MARK
        self._pass_kept(self._base + start)
        self._send(start)
        self._parts.append(mark)
        while start < end:
            first = self._base + start
            written = first + self._pass_taken(first)
            last = min(end, self._next_taken() - self._base)
            part = Taken(written, written + last - start, text[start:last], why, mark)
            self.found.taken.append(part)
            self._cuts.append((first, self._base + last, len(mark)))
            self._shift += last - start - len(mark)
            start, mark = last, ""
        self._sent = self._edge = end

    def _send(self, end: int) -> None:
        """Let everything up to ``end`` go out."""
        self._pass_kept(self._base + end)
        self._parts.append(self._text[self._sent : end])
        self._sent = max(self._sent, end)

    def _pass_kept(self, before: int) -> None:
        """Take over the scanner's references that end before an offset."""
        kept = self._scanner.found.kept
        while self._kept < len(kept) and kept[self._kept].end <= before:
            one = kept[self._kept]
            if self._shift:
                one = Kept(one.start - self._shift, one.end - self._shift, one.evidence)
            self.found.kept.append(one)
            self._kept += 1

    def _pass_taken(self, before: int) -> int:
        """Return what leads from an offset of the scanner's to that in the answer as written."""
        while self._next_taken() <= before:
            one = self._scanner.found.taken[self._taken]
            self._written += len(one.text) - len(one.mark)
            self._taken += 1
        return self._written

    def _next_taken(self) -> int:
        """Return the scanner's offset of what it took out next; a large number if that is nothing."""
        taken = self._scanner.found.taken
        return taken[self._taken].start - self._written if self._taken < len(taken) else sys.maxsize

    def _moved(self, spans: list[Span]) -> list[Span]:
        """Return spans at the scanner's offsets at those of the answer as it goes out."""
        if not self._cuts:
            return spans
        starts = [start for start, _, _ in self._cuts]
        shifts = [0, *accumulate(end - start - mark for start, end, mark in self._cuts)]

        def moved(offset: int) -> int:
            before = bisect_left(starts, offset)
            if before and offset < self._cuts[before - 1][1]:  # within a cut: where its mark ends
                offset = self._cuts[before - 1][1]
            return offset - shifts[before]

        return [(moved(start), moved(end)) for start, end in spans]

    def _forget(self) -> None:
        """Forget what has gone out, but for what a name needs to see before it."""
        count = min(self._sent, self._at) - _BEHIND
        if count < _KEPT:
            return
        self._text = self._text[count:]
        self._base += count
        self._at -= count
        self._sent -= count
        self._edge = max(self._edge - count, 0)
