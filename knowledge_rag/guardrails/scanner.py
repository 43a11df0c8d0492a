r"""Finds the references of an answer as it arrives, and takes out those without evidence.

One pass, left to right, over text that may come in pieces. Whatever has to be decided is decided
from a bounded number of characters behind it, so the outcome does not depend on the pieces. What
is taken out is treated as if it had never been there: what counts is the text that goes out. Where
leaving nothing in its place could give the text around it another meaning (two halves of a
reference would meet, two backticks, a line would begin a code block), a mark goes there instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.brackets import Brackets, Opened, has_begun_numbers
from knowledge_rag.guardrails.code_spans import held_in
from knowledge_rag.guardrails.findings import Findings, Kept, Taken
from knowledge_rag.guardrails.line_state import LineState
from knowledge_rag.guardrails.link_text import LinkText
from knowledge_rag.guardrails.markdown_blocks import Kind
from knowledge_rag.guardrails.outlet import Outlet
from knowledge_rag.guardrails.plain_lines import plain_code
from knowledge_rag.guardrails.readers import Readers
from knowledge_rag.guardrails.references import MAX_REFERENCE, Unparsable, may_become, parse
from knowledge_rag.guardrails.resolve import Why, resolve
from knowledge_rag.guardrails.tokens import (
    LONG_RUN,
    MAX_LINK,
    begun_token,
    find_token,
    is_whole_tag,
    may_grow,
    possible_bracket,
    span_end,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.guardrails.ledger import Evidence, Ledger
    from knowledge_rag.guardrails.references import Reference

MARK: Final = "[unverified]"
"""Stands for what was taken out, where something has to."""

_CODE = Kind.CODE
_DEPTH: Final = 4
"""Brackets around one another that are kept in mind; a deeper one is nobody's reference."""


class Scanner:
    """Reads an answer piece by piece.

    Args:
        ledger: the evidence of the request.
        mark: whether a mark replaces everything that is taken out.
    """

    def __init__(self, ledger: Ledger, *, mark: bool = False) -> None:
        self.found = Findings()
        self._ledger = ledger
        self._mark = mark
        self._outlet = Outlet()
        self._line = LineState(self._outlet)
        self._brackets = Brackets(self._outlet, self._line)
        self._at = 0  # index in the outlet's text, as all the others
        self._open: Opened | None = None
        self._outer: list[Opened] = []  # brackets around it that may come to hold a reference
        self._waits_behind_bracket = False
        self._link = LinkText(self._outlet)
        self._span_end: int | None = None  # of a code span whose brackets are looked at
        self._readers = Readers()  # who see fewer brackets
        self._settled = 0  # behind the last reference that stays or was taken out

    @property
    def settled(self) -> int:
        """Offset, in the answer as it goes out, before which it is known what is code."""
        return self._at + self._outlet.moved

    def feed(self, piece: str) -> str:
        """Read more of the answer; give what can go out now."""
        self._outlet.add(piece)
        self._run(final=False)
        self._outlet.send(self._releasable())
        self._forget()
        return self._outlet.flush()

    def close(self, piece: str = "") -> str:
        """Read the last of the answer; give what is left to go out."""
        self._outlet.add(piece)
        self._run(final=True)
        self._end_paragraph()
        self._outlet.send(len(self._outlet.text))
        return self._outlet.flush()

    def _run(self, *, final: bool) -> None:
        while (self._line.begun or self._begin_line(final=final)) and self._step(final=final):
            pass
        if self._open and self._at - self._open.content > MAX_REFERENCE:
            self._break()
        while self._outer and self._at - self._outer[0].content > MAX_REFERENCE:
            del self._outer[0]
        self._give_up_hidden()

    def _step(self, *, final: bool) -> bool:
        """Go on to behind the next token; false at the text's end, or to wait for more of it."""
        if self._line.kind is _CODE:
            return self._pass_code_lines(final=final)
        text = self._outlet.text
        token = find_token(text, self._at)
        if not token or (not final and may_grow(token, text)):
            self._at = len(text) if final else begun_token(text, self._at)
            return False
        kind, self._at, end = token
        if self._link.end >= 0 and kind != "line":
            self._look_behind_bracket()
        return self._pass(kind, end, final=final)

    def _pass(self, kind: str, end: int, *, final: bool) -> bool:
        """Pass the token that the scan has come to; false to wait for more of the text."""
        if kind == "ticks":
            return self._pass_ticks(end, final=final)
        if kind == "close":
            return self._close_bracket(end, final=final)
        if kind == "tag":
            return self._pass_tag(end, final=final)
        if kind == "open":
            if self._pass_common(final=final):
                return True
            self._open_bracket(end)
        elif kind == "return":
            self._line.part()
        elif kind == "turn":
            self._line.turn(self._at)
        elif self._line.end(self._at):
            self._end_paragraph()
        self._at = end
        return True

    # lines, code spans and tags

    def _begin_line(self, *, final: bool) -> bool:
        if self._open or self._link.end >= 0 or self._readers.active or self._line.turned:
            begun = self._line.begin(self._at, final=final)
            if begun and not self._line.goes_on():
                self._link.end = -1
                self._end_paragraph()
            return begun
        start, text = self._at, self._outlet.text
        self._at = end = self._line.pass_plain(start, final=final)
        if text.find("`", start, end) >= 0:
            for first, last in plain_code(text, start, end):
                self.found.add_code(first, last, self._outlet.moved)
        return self._line.begun or self._line.begin(end, final=final)

    def _end_paragraph(self) -> None:
        self._break()
        self._break_hidden(self._readers.end())
        self._line.turned = 0

    def _pass_code_lines(self, *, final: bool) -> bool:
        start = self._at
        self._at, goes_on = self._line.pass_code(start, final=final)
        self.found.add_code(start, self._at, self._outlet.moved)
        return goes_on

    def _pass_ticks(self, end: int, *, final: bool) -> bool:
        start, text = self._at, self._outlet.text
        if end == len(text) and not final and end - start < LONG_RUN:
            return False
        if start == self._span_end:
            self._span_end, self._at = None, end
            return True
        if end - start == LONG_RUN or self._outlet.is_escaped(start):
            self._line.spans = False
        if self._line.spans:
            closed = span_end(text, start, end, final=final)
            if closed is None:
                return False
            if closed:
                return self._pass_span(end, closed, final=final)
            self._line.spans = False  # whatever this may begin elsewhere, the rest is text
        self._at = end
        return True

    def _pass_span(self, end: int, closed: int, *, final: bool) -> bool:
        """Pass a code span, or only the backticks before ``end`` if what it holds has to be looked at."""
        start, text = self._at, self._outlet.text
        last = closed - (end - start)
        held = held_in(text, end, last)
        is_cut = self._line.cuts_span(held, closed, final=final)
        if is_cut is None:
            return False
        if is_cut:  # its cells end where they end, and with them the code
            self._line.spans, self._at = False, end
            return True
        self.found.add_code(start, closed, self._outlet.moved)
        self._at = closed
        if held.unmatched:
            self._span_end, self._at = last, end
            self._readers.see_code(self._opened())
        return True

    def _look_behind_bracket(self) -> None:
        """See whether this is in a link's destination: there, a backtick begins no code span."""
        if self._link.is_open(self._at):
            self._line.spans = False

    def _pass_tag(self, end: int, *, final: bool) -> bool:
        text = self._outlet.text
        if end == len(text) and not final and end - self._at <= LONG_RUN + 2:
            return False
        if text[self._at : self._at + 4].lower() == "<bdo":
            self._line.turn(self._at)
        if not is_whole_tag(text, self._at, end):
            self._line.spans = False  # an attribute may hold backticks that begin no code span
            self._readers.see_tag(self._at, self._opened())
        self._at = end
        return True

    # brackets

    def _pass_common(self, *, final: bool) -> bool:
        """Keep what begins here if it is a reference as nearly all are, and good; else leave it."""
        if self._open or self._link.end >= 0 or self._readers.active or self._line.turned:
            return False
        start, common = self._at, self._brackets.common(self._at, final=final)
        evidence = resolve(common[0], self._ledger) if common else Why.UNPARSABLE
        if not common or isinstance(evidence, Why):
            return False
        self._at, self._waits_behind_bracket = common[1], False
        self._link.note(self._at)
        self._keep(start, evidence)
        return True

    def _opened(self) -> list[Opened]:
        return [*self._outer, self._open] if self._open else []

    def _open_bracket(self, end: int) -> None:
        self._give_up_hidden()
        start, outer, around = self._at, self._open, self._outer
        begun = self._outlet.text[outer.content : start] if outer else ""
        joins = outer is not None and may_become(begun)
        beside = outer is not None and outer.span_end == self._span_end is not None
        if outer and not beside and has_begun_numbers(begun):
            self._open = None
            self._take_out(outer, start, Why.UNCLOSED)
            joins = False
        elif self._break(beside=beside):
            joins = False
        elif outer and joins:  # a link may stand in a reference; what is shown of it is its text
            self._outer = [*around, outer][-_DEPTH:]
        first = start - self._outlet.is_escaped(start)
        inline = self._line.prefix(first) is None
        self._open = Opened(first, start, end, joins=joins, inline=inline, span_end=self._span_end)
        self._break_hidden(self._readers.open(self._outlet.text, self._open))

    def _break(self, *, beside: bool = False) -> bool:
        """Give up the open bracket; if it begins like a reference, take that beginning out."""
        opened, self._open = self._open, None
        self._outer = []
        if opened is None:
            return False
        if head_end := self._brackets.head_end(opened, self._at, beside=beside):
            self._take_out(opened, head_end, Why.UNCLOSED)
        return bool(head_end)

    def _close_bracket(self, end: int, *, final: bool) -> bool:
        if self._readers.active and end == len(self._outlet.text) and not final:
            return False  # to those who close another bracket here, what follows tells what goes
        self._give_up_hidden()
        opened = self._open
        if opened is None:
            start, self._at = self._at, end
            self._link.note(end)
            self._close_hidden(start, None)
            return True
        raw, turned = opened.held(self._outlet.text, self._at), self._line.turned
        reference = parse(raw) or (parse(raw[::-1]) if turned else None)
        if reference and (turned or opened.is_odd(self._span_end)):
            reference = Unparsable()
        if reference is None:
            if len(raw) > MAX_REFERENCE:
                self._break()
            self._brackets.note_plain(end)
        else:
            self._waits_behind_bracket = not final and not self._brackets.sees_enough(opened, end)
            if self._waits_behind_bracket:
                return False
        self._open, around = None, self._outer
        self._outer = []
        start, self._at = self._at, end
        self._link.note(end)
        is_none = reference is None or not self._judge(opened, raw, reference)
        if not is_none:
            left = (one.behind(self._outlet.text, opened, self._at) for one in around)
            around = [one for one in left if one]
        if around:
            *self._outer, self._open = around
        self._close_hidden(start, opened, is_none=is_none)
        return True

    def _close_hidden(self, start: int, closed: Opened | None, *, is_none: bool = True) -> None:
        """Read the bracket that closes at ``start``, and has been read, as those who show no tags."""
        text, in_code = self._outlet.text, self._span_end is not None
        place = start, self._at
        for hidden in self._readers.close(text, place, closed, in_code=in_code, is_none=is_none):
            if parse(hidden.held(text, start)) is not None:
                self._take_out_hidden(hidden, self._at)

    def _give_up_hidden(self) -> None:
        if self._readers.active:
            self._break_hidden(self._readers.give_up(self._at - MAX_REFERENCE))

    def _break_hidden(self, opened: Iterable[Opened]) -> None:
        for hidden in opened:
            if head_end := self._brackets.head_end(hidden, self._at):
                self._take_out_hidden(hidden, head_end)

    def _take_out_hidden(self, hidden: Opened, end: int) -> None:
        """Take out what is a reference without its tags; if one of them holds another, what follows."""
        start, text = hidden.start, self._outlet.text
        if self._settled > start:
            start = max(self._settled, text.find(">", self._settled, end) + 1)
        taken = replace(hidden, start=start, joins=True)
        self._readers.drop(text, taken, end)
        if start < end:
            if end == self._at:
                self._open, self._outer = None, []
            self._take_out(taken, end, Why.UNPARSABLE)

    def _judge(self, opened: Opened, raw: str, reference: Reference | Unparsable) -> bool:
        """Keep a reference or take it out; false if the bracket is none after all."""
        end, outlet = self._at, self._outlet
        bare = isinstance(reference, Unparsable) and reference.bare
        if opened.before is None and self._brackets.is_no_reference(opened, raw, end, bare=bare):
            self.found.unchecked.append((opened.bracket + outlet.moved, end + outlet.moved))
            return False
        evidence = resolve(reference, self._ledger)
        if isinstance(evidence, Why):
            self._take_out(opened, self._brackets.past_destination(end), evidence)
        else:
            self._keep(opened.bracket, evidence)
        return True

    def _keep(self, start: int, evidence: tuple[Evidence, ...]) -> None:
        outlet = self._outlet
        self.found.kept.append(Kept(start + outlet.moved, self._at + outlet.moved, evidence))
        self._settled = self._at

    def _take_out(self, opened: Opened, end: int, why: Why) -> None:
        start, outlet = opened.start, self._outlet
        whole = why is not Why.UNCLOSED
        must_mark = (
            self._mark
            or opened.joins
            or self._line.needs_mark(start, end, inline=opened.inline, whole=whole)
        )
        mark = MARK if must_mark else ""
        if mark and outlet.text[end : end + 1] in ("(", "[", ":"):
            mark += " "  # or the mark would be a link's text
        written = outlet.text[start:end]
        self.found.taken.append(Taken(start + outlet.base, end + outlet.base, written, why, mark))
        self.found.cut(start + outlet.moved, end + outlet.moved, len(mark))
        self._line.cut(start, end, mark)
        outlet.replace(start, end, mark)
        self._at = max(self._at, end)
        self._settled = end
        if opened.span_end != self._span_end:  # backticks of a span went, or their counterparts
            self._line.spans, self._span_end = False, None

    # what goes out

    def _releasable(self) -> int:
        """Give the index up to which text can go out, whatever follows."""
        opened, text = self._open, self._outlet.text
        if starts := [*self._readers.starts, *(one.start for one in self._outer)]:
            return min(*starts, opened.start) if opened else min(starts)
        if opened and (self._waits_behind_bracket or may_become(text[opened.content : self._at])):
            return opened.start
        return possible_bracket(text, self._at)

    def _forget(self) -> None:
        """Forget what has gone out, but for what the next bracket may need to see before it."""
        if 0 <= self._link.end < self._at - MAX_LINK:
            self._look_behind_bracket()
        needed = self._at if self._link.end < 0 else self._link.end
        opened = self._opened()
        starts = (*self._readers.starts, *(one.start for one in opened))
        count = self._outlet.forgettable(min((needed, *starts)))
        if not count:
            return
        self._readers.forget(self._outlet.text, count, self._at)
        self._line.forget(count)
        self._brackets.forget(count)
        for one in opened:
            one.forget(count)
        self._at -= count
        self._link.forget(count)
        self._settled = max(self._settled - count, 0)
        self._span_end = self._span_end and self._span_end - count
        self._outlet.forget(count)
