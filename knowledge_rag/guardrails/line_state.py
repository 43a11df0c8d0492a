"""The line of an answer that is being read: what it is, and what it would be without a part of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.code_spans import (
    has_begun_delimiters,
    has_delimiters_only,
    is_below_head,
    may_be_head,
)
from knowledge_rag.guardrails.markdown_blocks import (
    HEAD,
    Blocks,
    Kind,
    behind_blank,
    is_decided,
    may_go_on,
    next_line,
    parted,
    plain_code_end,
    quotes_of,
)
from knowledge_rag.guardrails.outlet import CONTEXT
from knowledge_rag.guardrails.plain_lines import pass_lines
from knowledge_rag.guardrails.tokens import lone_return

if TYPE_CHECKING:
    from knowledge_rag.guardrails.code_spans import Held
    from knowledge_rag.guardrails.outlet import Outlet

_BLANK, _CODE, _BLOCK, _TEXT = Kind.BLANK, Kind.CODE, Kind.BLOCK, Kind.TEXT
_ORDINARY: Final = re.compile(r"[^ \t>*+\-\d.)`~#|\r]")
"""A character that is no part of what a line may begin with."""
_JOINING: Final = re.compile(
    r"(?:<\0[A-Za-z/!?]|(?:&#?|0{9})[0-9A-Za-z]{0,18}\0[#0-9A-Za-z;]|`\0`|~\0~|[\]\uff3d]\0[(:])\Z"
)
"""What must not come to stand side by side; the NUL is where something is taken out."""
_DELIMITING: Final = "|:-> \t\r+*.)0123456789"
"""What a line below a table's head is made of, what it may begin with included."""
_EXTENSION: Final = re.compile(
    r"(?:(?:\A|\n)[ \t>]*+(?:(?:[-+*]|\d{1,9}[.)])[ \t]++)*+(?:!!!|\?\?\?|:)|\]:)[ \t]*+\Z"
)
"""Ends in what an extension's block begins with: there too, what comes next may begin code or HTML."""


class LineState:
    """Follows an answer line by line, as it goes out.

    Args:
        outlet: holds the text.
    """

    def __init__(self, outlet: Outlet) -> None:
        self.kind = Kind.BLANK
        self.spans = True
        """Whether code spans are recognised in this paragraph."""
        self.begun = False
        """Whether the line has begun; else what follows begins the next one."""
        self.turned = 0
        """Index behind where what is read from right to left begins, in this paragraph; else 0."""
        self._in_table = False  # a line before, in this paragraph, may be below a table's head
        self._piped = False  # a code span of this line holds what would end a table's cell
        self._separated = False  # the line holds what separates or aligns a table's columns
        self._above_separated = False  # so does the one before
        self._below_head = True  # nothing of the line so far keeps it from being below a head
        self._outlet = outlet
        self._start = 0  # where the line starts, or what follows the last cut in it
        self._before = ""  # the line as it goes out, up to there, while it is but a prefix
        self._prefix = True
        self._cut = False
        self._head = ""
        self._quotes = 0  # that its paragraph is in
        self._quotes_before = 0
        self._blocks = Blocks()
        self._entered = Blocks()  # as it was when the line began

    def begin(self, start: int, *, final: bool) -> bool:
        """Tell what the line from ``start`` on is; false to wait for more of it."""
        text, entered = self._outlet.text, self._blocks
        end = text.find("\n", start, start + HEAD)
        head = text[start : end if end >= 0 else start + HEAD]
        if end < 0 and not final and not is_decided(entered, head):
            return False
        kind, blocks = next_line(entered, head)
        self._begin(start, kind, blocks)
        self._below_head = not head.lstrip(_DELIMITING)
        if kind is not _TEXT:
            self._head, self._quotes_before = head, self._quotes
            self._quotes = quotes_of(head) if kind is _BLOCK and ">" in head else 0
            if self._quotes_before > self._quotes and kind is _BLOCK and may_go_on(head):
                self._quotes = self._quotes_before
        if not blocks.trusted or blocks.in_html:
            self.spans = False
        elif kind is _BLANK or kind is _CODE:
            self.spans, self._in_table = True, False
        return True

    def pass_plain(self, start: int, *, final: bool) -> int:
        """Pass lines from ``start`` on, where one begins, on which nothing can happen.

        Args:
            start: of the first line.
            final: whether no more of the answer comes.

        Returns:
            The index up to which nothing happens, where the next line may have begun.
        """
        blocks, text = self._blocks, self._outlet.text
        if blocks.fence or blocks.in_html or blocks.in_code or not (self.spans and blocks.trusted):
            return start
        if self._quotes:
            return start
        end, self._blocks, blank, begun = pass_lines(blocks, text, start)
        if end > start:
            self._in_table = self._in_table and not blank
            last = max(start, text.rfind("\n", start, end - 1) + 1)
            self._above_separated = text.find("|", last, end) >= 0
        if begun and (final or self._knows(end, begun[0])):
            stop, kind, after = begun
            self._begin(end, kind, after)
            self._below_head = False
            return stop
        return end

    def _knows(self, start: int, stop: int) -> bool:
        """Whether enough has come of the line from ``start`` on to go on at ``stop``."""
        text = self._outlet.text
        if text.find("\n", stop, start + HEAD) >= 0:
            return True
        return stop < len(text) and is_decided(self._blocks, text[start : start + HEAD])

    def _begin(self, start: int, kind: Kind, blocks: Blocks) -> None:
        self._entered, self.kind, self._blocks = self._blocks, kind, blocks
        self._start, self._before = start, ""
        self.begun, self._prefix, self._cut = True, True, False
        self._piped, self._separated = False, False

    def pass_code(self, start: int, *, final: bool) -> tuple[int, bool]:
        """Pass lines of code, or a line up to a carriage return behind which some readers see none.

        Returns:
            The index behind what is code, and whether to go on there: else more of the text has to come.
        """
        text = self._outlet.text
        end = text.find("\n", start)
        last = len(text) if end < 0 else end + 1
        lone = lone_return(text, start, last)
        if lone < last:
            known = final or lone + 1 < len(text)
            if known:
                self.part()
            return lone, known
        self.begun = end < 0
        return (last, False) if self.begun else (plain_code_end(self._blocks, text, last), True)

    def end(self, end: int) -> bool:
        """End the line; whether nothing is left of it, so that its paragraph ends too."""
        self.begun = False
        if self._below_head:
            self._see_cells(end)
        elif self._outlet.text.find("|", self._start, end) >= 0:
            self._separated = True
        if self._below_head and (self._separated or self._above_separated):
            self._in_table = self.kind is not _BLANK
        self._above_separated = self._separated
        if not self._cut:
            return False
        prefix = self.prefix(end)
        if prefix is None or prefix.strip():
            return False
        if self._blocks.trusted:
            self._blocks = behind_blank(self._entered)
            self.spans = True
        return True

    def cuts_span(self, held: Held, end: int, *, final: bool) -> bool | None:
        """Whether a table's cells may cut a code span in which somebody may then see a reference.

        Args:
            held: what the span holds.
            end: behind it.
            final: whether no more of the answer comes; else ``None`` may be given for "not yet".
        """
        self._piped |= held.pipe
        if not (held.reference and self._piped):
            return False
        return self._in_table or may_be_head(self._outlet.text, end, final=final)

    def turn(self, at: int) -> None:
        """Note that from ``at`` on text is read from right to left."""
        self.turned = self.turned or at + 1

    def part(self) -> None:
        """Count what follows as text: at a lone carriage return, a line ends for most readers."""
        self.kind, self.spans = _TEXT, False
        self._blocks = parted(self._blocks)

    def goes_on(self) -> bool:
        """Whether to some reader the line goes on with the paragraph of the one before."""
        if self.kind is not _BLOCK:
            return self.kind is _TEXT
        if self._quotes > self._quotes_before or not may_go_on(self._head):
            return False
        self._quotes = self._quotes_before
        return True

    def prefix(self, end: int) -> str | None:
        """Give the line as it goes out, up to ``end``, if that is but white space and marks."""
        if not self._prefix or _ORDINARY.search(self._outlet.text, self._start, end):
            return None
        return self._before + self._outlet.text[self._start : end]

    def is_decided(self, prefix: str | None, end: int) -> bool:
        """Whether the line is what it is, if ``prefix`` and then what follows ``end`` is left of it.

        With no prefix, ordinary text stands before.
        """
        rest = self._outlet.text[end : end + HEAD]
        if prefix is None or not rest:
            return bool(rest)
        return is_decided(self._entered, prefix + rest) and not has_delimiters_only(prefix + rest)

    def needs_mark(self, start: int, end: int, *, inline: bool, whole: bool) -> bool:
        """Whether a mark must stand where something is taken out.

        Args:
            start: of what is taken out.
            end: behind it.
            inline: whether ordinary text of the line goes out before it.
            whole: whether what follows it has been looked at.
        """
        left, right = self._outlet.before(start), self._outlet.text[end : end + 1]
        if left and right and _JOINING.search(left + "\0" + right):
            return True
        if (inline or start < self._start) and has_begun_delimiters(left.rpartition("\n")[2]):
            return True  # below a table's head, which would cut the code spans of the line above
        if inline:
            return _EXTENSION.search(left) is not None
        if start < self._start and self._quotes:
            return True
        prefix = self.prefix(start)
        if not whole or prefix is None or len(prefix) > CONTEXT:
            return True
        return self._would_change(prefix, end)

    def cut(self, start: int, end: int, mark: str) -> None:
        """Note that ``mark`` goes out instead of a part of the text that ends on this line."""
        if start < self.turned <= end:
            self.turned = 0
        if start < self._start and "\n" not in self._outlet.text[start:end]:
            return
        self._see_cells(start)
        self._below_head &= not mark
        prefix = None if mark or start < self._start else self.prefix(start)
        self._prefix, self._before = prefix is not None, prefix or ""
        self._start, self._cut = end, True

    def forget(self, count: int) -> None:
        """Follow the outlet in forgetting its first ``count`` characters."""
        self.turned = max(self.turned - count, 1) if self.turned else 0
        if self._start < count:
            self._see_cells(count)
            prefix = self.prefix(count)
            self._prefix, self._before = prefix is not None, (prefix or "")[: CONTEXT + 1]
            self._start = count
        self._start -= count

    def _see_cells(self, end: int) -> None:
        """See what a table would make of the line, which goes out up to ``end``."""
        part = self._outlet.text[self._start : end]
        if "|" in part or (self._below_head and ":" in part):
            self._separated = True
        if self._below_head:
            self._below_head = has_delimiters_only(part)

    def _would_change(self, prefix: str, end: int) -> bool:
        """Whether the line would be another block, or make readings part, without what stands there."""
        line = prefix + self._outlet.text[end : end + HEAD].partition("\n")[0]
        if is_below_head(line):
            return True
        kind, blocks = next_line(self._entered, line[:HEAD])
        if kind is _CODE or blocks.trusted != self._blocks.trusted:
            return True
        if blocks.in_html and not self._blocks.in_html:  # there, a backtick begins no code span
            return True
        if kind is not _BLANK:
            self._blocks = blocks
        return False
