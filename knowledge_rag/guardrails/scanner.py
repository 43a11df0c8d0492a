r"""Finds the references of an answer as it arrives, and takes out those without evidence.

One pass, left to right, over text that may come in pieces. Whatever has to be decided is decided
from a bounded number of characters behind it, so the outcome does not depend on the pieces. What
is taken out is treated as if it had never been there: what counts is the text that goes out. Where
leaving nothing in its place could give the text around it another meaning (two halves of a
reference would meet, two backticks, a line would begin a code block), a mark goes there instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails import markdown_blocks
from knowledge_rag.guardrails.characters import (
    CLOSING,
    CLOSING_PATTERN,
    OPENING,
    OPENING_PATTERN,
)
from knowledge_rag.guardrails.markdown_blocks import HEAD, Blocks, Kind
from knowledge_rag.guardrails.references import (
    MAX_REFERENCE,
    Unparsable,
    may_become,
    parse,
    source_head,
)
from knowledge_rag.guardrails.resolve import Why, resolve

if TYPE_CHECKING:
    from knowledge_rag.guardrails.ledger import Evidence, Ledger
    from knowledge_rag.guardrails.references import Reference

MARK: Final = "[unverified]"
"""Stands for what was taken out, where something has to."""

MAX_SPAN: Final = 1_000
"""Characters of a code span at most, and of a link's destination."""

_KEPT: Final = 512
"""Characters that have gone out before they are forgotten."""
_CONTEXT: Final = 64
"""Characters before a bracket that may tell what it is."""

_LONG_RUN: Final = 200
"""No code span begins with so many backticks, nor is a harmless tag so long."""

_TOKEN: Final = re.compile(
    rf"(?P<line>\n)|(?P<ticks>`{{1,{_LONG_RUN}}}+)"
    rf"|(?P<tag><[A-Za-z/!?][^<>`\"'&\n{re.escape(OPENING + CLOSING)}]{{0,{_LONG_RUN}}}+)"
    rf"|(?P<open>{OPENING_PATTERN})|(?P<close>{CLOSING_PATTERN})"
)
_SPECIAL: Final = re.compile(rf"[\n`<&{re.escape(OPENING + CLOSING)}]")
"""What every token begins with: one class of characters is found faster than the tokens are."""
_OPENING: Final = re.compile(rf"\\?(?:{OPENING_PATTERN})")
_PARTIAL: Final = re.compile(r"\\?&#?[0-9A-Za-z]{0,9}\Z|\\\Z")
_ENTITY: Final = 12
"""Characters of a bracket written as a character reference at most, with a backslash before it."""
_TICKS_OR_LINE: Final = re.compile(r"`+|\n")
_ORDINARY: Final = re.compile(r"[^ \t>*+\-\d.)`~#|\r]")
"""A character that is no part of what a line may begin with."""
_IDENTIFIER: Final = re.compile(r"(?:[A-Za-z_$][\w.$]*|[@=/^$&])\Z", re.ASCII)
_JOINING: Final = re.compile(
    r"(?:<\0[A-Za-z/!?]|&#?[0-9A-Za-z]{0,9}\0[#0-9A-Za-z;]|`\0`|~\0~|[\]\uff3d]\0[(:])\Z"
)
"""What must not come to stand side by side; the NUL is where something is taken out."""
_INDEX: Final = re.compile(r"\d+")
_LETTER: Final = re.compile(r"[^\W\d_]")
_NUMBERS_BEGUN: Final = re.compile(r"[\s,;&\-\u2010-\u2015]*+\d[\d\s,;&\-\u2010-\u2015\\]*+\Z")
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


@dataclass(frozen=True, slots=True)
class Kept:
    """A reference that stays.

    Args:
        start: offset of its opening bracket in the text as written.
        end: offset behind its closing one.
        shift: what was taken out before it, in characters; marks count against it.
        evidence: what it refers to.
    """

    start: int
    end: int
    shift: int
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """A reference that went.

    Args:
        start: offset of its first character in the text as written.
        end: offset behind its last one.
        text: as written.
        why: the reason.
        mark: what stands in its place, "" for nothing.
    """

    start: int
    end: int
    text: str
    why: Why
    mark: str


@dataclass(slots=True)
class _Open:
    """The last bracket that opened, and what would follow from taking it out."""

    start: int
    """Its index, or that of the backslash which belongs to it."""
    bracket: int
    content: int
    joins: bool
    """Whether the bracket before it might come to hold a reference."""
    inline: bool
    """Whether ordinary text of its line goes out before it."""


class Scanner:
    """Reads an answer piece by piece.

    Args:
        ledger: the evidence of the request.
        mark: whether a mark replaces everything that is taken out.
    """

    def __init__(self, ledger: Ledger, *, mark: bool = False) -> None:
        self.kept: list[Kept] = []
        self.taken: list[Taken] = []
        self.unchecked: list[tuple[int, int]] = []
        """Offsets, as it goes out, of brackets that read like references where none can be."""
        self.code: list[tuple[int, int]] = []
        """Offsets, as it goes out, of code: whole lines of blocks, and spans."""
        self._ledger = ledger
        self._mark = mark
        self._buffer = ""
        self._base = 0  # offset of the buffer's first character; what follows are indexes in it
        self._at = 0
        self._sent = 0
        self._shift = 0
        self._open: _Open | None = None
        self._waits_behind_bracket = False
        self._line = 0  # where the line starts, or what follows the last cut in it
        self._before = ""  # the line as it goes out, up to there, while it is but a prefix
        self._prefix = True
        self._new_line = True
        self._blocks = Blocks()
        self._entered = Blocks()  # as it was when the line began
        self._kind = Kind.BLANK
        self._spans = True  # whether code spans are recognised in this paragraph
        self._line_cut = False
        self._cut = 0  # behind the last cut
        self._tail = ""  # what goes out right before it
        self._plain = -1  # behind the last bracket that is text, for [text][label]
        self._index = -1  # behind the last index, for a[1][2]
        self._defined: set[str] = set()
        self._pieces: list[str] = []

    def feed(self, piece: str) -> str:
        """Read more of the answer; give what can go out now."""
        self._buffer += piece
        self._run(final=False)
        self._send(self._releasable())
        self._trim()
        return self._flush()

    def close(self, piece: str = "") -> str:
        """Read the last of the answer; give what is left to go out."""
        self._buffer += piece
        self._run(final=True)
        self._break()
        self._send(len(self._buffer))
        return self._flush()

    # what is decided in turn

    def _run(self, *, final: bool) -> None:
        while (not self._new_line or self._begin_line(final=final)) and self._step(final=final):
            pass
        if self._open and self._at - self._open.content > MAX_REFERENCE:
            self._break()

    def _step(self, *, final: bool) -> bool:
        """Go on to behind the next token; false at the text's end, or to wait for more of it."""
        if self._kind is Kind.CODE:
            return self._pass_code_line()
        special = _SPECIAL.search(self._buffer, self._at)
        found = special and _TOKEN.match(self._buffer, special.start())
        while special and not found:
            special = _SPECIAL.search(self._buffer, special.end())
            found = special and _TOKEN.match(self._buffer, special.start())
        if not found:
            self._at = len(self._buffer) if final else self._partial()
            return False
        self._at = found.start()
        kind = found.lastgroup
        if kind == "ticks":
            return self._pass_ticks(found, final=final)
        if kind == "tag":
            return self._pass_tag(found, final=final)
        if kind == "close":
            return self._close_bracket(found.end(), final=final)
        if kind == "open":
            self._open_bracket(found.start(), found.end())
        else:
            self._end_line(found.start())
        self._at = found.end()
        return True

    def _partial(self) -> int:
        """Give where a token may have begun at the end of the text, or that end."""
        start = max(self._at, len(self._buffer) - _ENTITY)
        partial = _PARTIAL.search(self._buffer, start)
        if partial is None:
            return len(self._buffer) - self._buffer.endswith("<", start)
        return partial.start()

    # lines

    def _begin_line(self, *, final: bool) -> bool:
        end = self._buffer.find("\n", self._at, self._at + HEAD)
        head = self._buffer[self._at : end if end >= 0 else self._at + HEAD]
        if end < 0 and not final and not markdown_blocks.is_decided(head):
            return False
        self._entered = self._blocks
        self._kind, self._blocks = markdown_blocks.next_line(self._blocks, head)
        self._line, self._before = self._at, ""
        self._new_line, self._prefix, self._line_cut = False, True, False
        if self._kind is not Kind.TEXT:
            self._break()
        if self._kind in (Kind.BLANK, Kind.CODE):
            self._spans = True
        if not self._blocks.trusted or self._blocks.in_html:
            self._spans = False
        return True

    def _pass_code_line(self) -> bool:
        end = self._buffer.find("\n", self._at)
        start = self._at
        self._at = len(self._buffer) if end < 0 else end + 1
        self._note_code(start, self._at)
        self._new_line = end >= 0
        return self._new_line

    def _note_code(self, start: int, end: int) -> None:
        shift = self._base - self._shift
        start, end = start + shift, end + shift
        if self.code and self.code[-1][1] == start:
            start = self.code.pop()[0]
        if end > start:
            self.code.append((start, end))

    def _end_line(self, end: int) -> None:
        if self._line_cut:
            prefix = self._prefix_before(end)
            if prefix is not None and not prefix.strip():  # nothing is left of it
                self._blocks = self._entered._replace(after_blank=True, in_html=False)
                self._spans = True
                self._break()
        self._new_line = True

    def _prefix_before(self, end: int) -> str | None:
        """Give the line as it goes out, up to ``end``, if that is but white space and marks."""
        if not self._prefix or _ORDINARY.search(self._buffer, self._line, end):
            return None
        return self._before + self._buffer[self._line : end]

    # code spans and tags

    def _pass_ticks(self, found: re.Match[str], *, final: bool) -> bool:
        start, end = found.span()
        if end == len(self._buffer) and not final and end - start < _LONG_RUN:
            return False
        if end - start == _LONG_RUN or _odd_backslashes(self._out_before(start)):
            self._spans = False
        if self._spans:
            closed = self._span_end(start, end, final=final)
            if closed is None:
                return False
            if closed:
                self._note_code(start, closed)
                end = closed
            else:  # whatever this may begin elsewhere, the rest of the paragraph counts as text
                self._spans = False
        self._at = end
        return True

    def _span_end(self, start: int, end: int, *, final: bool) -> int | None:
        """Give the index behind the code span on this line; 0 without one, ``None`` to wait."""
        limit = end + MAX_SPAN
        for run in _TICKS_OR_LINE.finditer(self._buffer, end, limit):
            if run[0] == "\n" or run.end() == limit:
                return 0
            if run.end() == len(self._buffer) and not final:
                return None
            if len(run[0]) == end - start:
                return run.end()
        return 0 if final or len(self._buffer) >= limit else None

    def _pass_tag(self, found: re.Match[str], *, final: bool) -> bool:
        end = found.end()
        if end == len(self._buffer) and not final and end - found.start() < _LONG_RUN + 2:
            return False
        if self._buffer[end : end + 1] != ">":
            self._spans = False  # an attribute may hold backticks that no code span begins with
        self._at = end
        return True

    # brackets

    def _open_bracket(self, start: int, end: int) -> None:
        outer = self._open
        begun = self._buffer[outer.content : start] if outer else ""
        joins = outer is not None and may_become(begun)
        if outer and len(begun) <= MAX_REFERENCE and _NUMBERS_BEGUN.match(begun):
            self._open = None
            self._take_out(outer, start, Why.UNCLOSED)
            joins = False
        elif self._break():
            joins = False
        first = start - _odd_backslashes(self._out_before(start))
        inline = self._prefix_before(first) is None
        self._open = _Open(first, start, end, joins=joins, inline=inline)

    def _break(self) -> bool:
        """Give up the open bracket; if it begins like a reference, take that beginning out."""
        opened, self._open = self._open, None
        if opened is None:
            return False
        head = source_head(self._buffer[opened.content : min(self._at, opened.content + _CONTEXT)])
        if head:
            self._take_out(opened, opened.content + head, Why.UNCLOSED)
        return bool(head)

    def _close_bracket(self, end: int, *, final: bool) -> bool:
        opened = self._open
        if opened is None:
            self._at = end
            return True
        raw = self._buffer[opened.content : self._at]
        reference = parse(raw)
        if reference is None:
            if len(raw) > MAX_REFERENCE:
                self._break()
            self._open = None
            self._plain = self._at = end
            return True
        self._waits_behind_bracket = not final and not self._sees_enough(opened, end)
        if self._waits_behind_bracket:
            return False
        self._open = None
        self._at = end
        self._judge(opened, raw, reference)
        return True

    def _sees_enough(self, opened: _Open, end: int) -> bool:
        """Whether what follows a closing bracket tells what it is, and what its line would be."""
        rest = self._buffer[end : end + MAX_SPAN]
        if not rest:
            return False
        if len(rest) == MAX_SPAN or "\n" in rest:
            return True
        if (rest[0] == "(" and ")" not in rest) or (rest[0] == ":" and len(rest) < 20):
            return False
        prefix = None if opened.inline else self._prefix_before(opened.start)
        rest = self._buffer[self._past_destination(end) :]
        return bool(rest) and (prefix is None or markdown_blocks.is_decided(prefix + rest[:HEAD]))

    def _judge(self, opened: _Open, raw: str, reference: Reference | Unparsable) -> None:
        end = self._at
        start = opened.bracket + self._base
        bare = isinstance(reference, Unparsable) and reference.bare
        if self._is_something_else(opened, raw, bare=bare):
            self.unchecked.append((start - self._shift, end + self._base - self._shift))
            return
        found = resolve(reference, self._ledger)
        if isinstance(found, Why):
            self._take_out(opened, self._past_destination(end), found)
        else:
            self.kept.append(Kept(start, end + self._base, self._shift, found))

    def _is_something_else(self, opened: _Open, raw: str, *, bare: bool) -> bool:
        """Whether a bracket that reads like a reference is a link, an index or a definition."""
        following = self._buffer[self._at : self._at + MAX_SPAN]
        numeric = not _LETTER.search(raw)
        if (numeric or bare) and _ADDRESS.match(following) and _DESTINATION.match(following):
            return True
        if not numeric:
            return False
        if not _INDEX.fullmatch(raw):
            before = self._out_before(opened.bracket)
            return before[-1:] in ("^", "\\") and following[:1] in ("+", "{")
        if self._index == opened.bracket or _IDENTIFIER.search(self._out_before(opened.bracket)):
            self._index = self._at
            return True
        prefix = None if opened.inline else self._prefix_before(opened.start)
        if prefix is not None and not prefix.strip() and _DEFINITION.match(following):
            self._defined.add(raw)
        return raw in self._defined and (prefix is not None or self._plain == opened.bracket)

    def _past_destination(self, end: int) -> int:
        following = self._buffer[end : end + MAX_SPAN]
        destination = _ADDRESS.match(following) and _DESTINATION.match(following)
        return end + destination.end() if destination else end

    # what goes

    def _take_out(self, opened: _Open, end: int, why: Why) -> None:
        start = opened.start
        before = self._out_before(start)
        must = self._mark or opened.joins or self._must_mark(opened, before, start, end, why)
        mark = MARK if must else ""
        written = self._buffer[start:end]
        self.taken.append(Taken(start + self._base, end + self._base, written, why, mark))
        self._send(start)
        self._pieces.append(mark)
        self._sent = self._cut = end
        self._at = max(self._at, end)
        self._tail = before + mark
        self._shift += len(written) - len(mark)
        if start >= self._line or "\n" in written:
            self._cut_line(start, end, mark)

    def _cut_line(self, start: int, end: int, mark: str) -> None:
        prefix = None if mark or start < self._line else self._prefix_before(start)
        self._prefix, self._before = prefix is not None, prefix or ""
        self._line, self._line_cut = end, True

    def _must_mark(self, opened: _Open, before: str, start: int, end: int, why: Why) -> bool:
        left, right = before[-1:], self._buffer[end : end + 1]
        if left and right and _JOINING.search(before + "\0" + right):
            return True
        if opened.inline:
            return False
        prefix = self._prefix_before(start)
        if why is Why.UNCLOSED or prefix is None or len(prefix) > _CONTEXT:
            return True
        return self._changes_line(prefix, end)

    def _changes_line(self, prefix: str, end: int) -> bool:
        """Whether the line would be code, or make readings part, without what stands there."""
        line = prefix + self._buffer[end : end + HEAD].partition("\n")[0]
        kind, blocks = markdown_blocks.next_line(self._entered, line[:HEAD])
        if kind is Kind.CODE or blocks.trusted != self._blocks.trusted:
            return True
        if kind is not Kind.BLANK:
            self._blocks = blocks
        return False

    def _out_before(self, start: int) -> str:
        """Give the last characters that go out before ``start``."""
        if start - self._cut >= _CONTEXT:
            return self._buffer[start - _CONTEXT : start]
        return (self._tail + self._buffer[self._cut : start])[-_CONTEXT:]

    # what goes out

    def _releasable(self) -> int:
        """Give the position up to which text can go out, whatever follows."""
        opened = self._open
        if opened and (
            self._waits_behind_bracket or may_become(self._buffer[opened.content : self._at])
        ):
            return opened.start
        held = _OPENING.search(self._buffer, self._at)
        held = held or _PARTIAL.search(self._buffer, max(self._at, len(self._buffer) - _ENTITY))
        return held.start() if held else len(self._buffer)

    def _send(self, end: int) -> None:
        if end > self._sent:
            self._pieces.append(self._buffer[self._sent : end])
            self._sent = end

    def _flush(self) -> str:
        ready = "".join(self._pieces)
        self._pieces.clear()
        return ready

    def _trim(self) -> None:
        """Forget what has gone out, but for what the next bracket may need to see before it."""
        opened = self._open
        first = min(self._at, self._sent, opened.start if opened else self._at) - _CONTEXT
        if first < _KEPT:
            return
        if self._line < first:
            prefix = self._prefix_before(first)
            self._prefix, self._before = prefix is not None, (prefix or "")[: _CONTEXT + 1]
            self._line = first
        if opened:
            opened.start -= first
            opened.bracket -= first
            opened.content -= first
        self._buffer = self._buffer[first:]
        self._base += first
        for name in ("_at", "_sent", "_line", "_cut", "_plain", "_index"):
            setattr(self, name, getattr(self, name) - first)


def _odd_backslashes(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1
