r"""Which brackets that read like references are none: links, definitions, indexes, repetitions."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.characters import normalise
from knowledge_rag.guardrails.references import (
    MAX_REFERENCE,
    Numbers,
    common_reference,
    unclosed_head,
)

if TYPE_CHECKING:
    from knowledge_rag.guardrails.line_state import LineState
    from knowledge_rag.guardrails.outlet import Outlet
    from knowledge_rag.guardrails.references import Reference

_AHEAD: Final = 1_000
"""Characters behind a bracket that may tell what it is: a link's destination at most."""

_IDENTIFIER: Final = re.compile(r"(?:[A-Za-z_$](?:[\w.$]*[\w$])?|[@=/^$&])\Z", re.ASCII)
_IDENTIFIES: Final = frozenset(string.ascii_letters + string.digits + "_$@=/^&")
"""What such an identifier ends in."""
_INDEX: Final = re.compile(r"\d+")
_TAG: Final = re.compile(r"<[^<>]*>")
_LETTER: Final = re.compile(r"[^\W\d_]")
_DESTINATION: Final = re.compile(
    r"\([ \t]*(?:<[^<>\n()\[\]]*>|[^\s()<>\[\]]*)"
    r"(?:[ \t]+(?:\"[^\"\n()\[\]]*\"|'[^'\n()\[\]]*'))?[ \t]*\)"
)
_ADDRESS: Final = re.compile(
    r"\([ \t]*<?(?:[a-z][a-z0-9+.-]*:|[#/?]|[^\s()]*[./][^\s()])", re.IGNORECASE
)
_NUMBERS_BEGUN: Final = re.compile(r"[\s,;&\-\u2010-\u2015]*+\d[\d\s,;&\-\u2010-\u2015\\]*+\Z")
_TICKS: Final = re.compile(r"\\*`")
_GOES_ON: Final = re.compile(r"`++(?:[A-Za-z0-9]|[\s,;:*_]*+[(]?lines?[\W_]*+\d)", re.IGNORECASE)
"""Goes on behind a code span with what it has begun."""
_GOING_ON: Final = frozenset("(:")
"""How a link's destination and a definition begin behind their brackets."""
_DEFINITION: Final = re.compile(
    r":[ \t]{0,8}<?(?:https?://|mailto:|www\.|[/#]|\.{1,2}/)", re.IGNORECASE
)


@dataclass(slots=True)
class Opened:
    """The last bracket that opened, and what would follow from taking it out.

    Args:
        start: its index, or that of the backslash which belongs to it.
        bracket: its index.
        content: the index behind it.
        joins: whether the bracket before it might come to hold a reference.
        inline: whether ordinary text of its line goes out before it.
        span_end: where the code span ends that it stands in; ``None`` in text.
        before: what was in it before a reference that has been read; ``start`` and ``content`` are
            behind that.
    """

    start: int
    bracket: int
    content: int
    joins: bool
    inline: bool
    span_end: int | None = None
    before: str | None = None

    def behind(self, text: str, reference: Opened, end: int) -> Opened | None:
        """Give what is left of it behind a reference in it; ``None`` if that makes none any more."""
        before = self.held(text, reference.start)
        if len(before) > MAX_REFERENCE:
            return None
        return replace(self, start=end, content=end, joins=True, inline=True, before=before)

    def is_odd(self, span_end: int | None) -> bool:
        """Whether it holds a reference, or closes in another code span: no good one is like that."""
        return self.before is not None or self.span_end != span_end

    def held(self, text: str, end: int) -> str:
        """Give what stands in it up to ``end``, without references that have been read."""
        return (self.before or "") + text[self.content : end]

    def forget(self, count: int) -> None:
        """Follow the outlet in forgetting its first ``count`` characters."""
        self.start -= count
        self.bracket -= count
        self.content -= count
        if self.span_end is not None:
            self.span_end -= count


class Brackets:
    """Tells what a closed bracket is from what stands around it, and before it in the answer.

    Args:
        outlet: holds the text.
        line: that the bracket stands on.
    """

    def __init__(self, outlet: Outlet, line: LineState) -> None:
        self._outlet = outlet
        self._line = line
        self._plain = -1  # behind the last bracket that is text, for [text][label]
        self._index = -1  # behind the last index, for a[1][2]
        self._defined: set[str] = set()

    def note_plain(self, end: int) -> None:
        """Note that the bracket which ends before ``end`` is text."""
        self._plain = end

    def sees_enough(self, opened: Opened, end: int) -> bool:
        """Whether what follows a closing bracket tells what it is, and what its line would be."""
        rest = self._outlet.text[end : end + _AHEAD]
        if not rest:
            return False
        if len(rest) == _AHEAD or "\n" in rest:
            return True
        if (rest[0] == "(" and ")" not in rest) or (rest[0] == ":" and len(rest) < 20):
            return False
        prefix = None if opened.inline else self._line.prefix(opened.start)
        return self._line.is_decided(prefix, self.past_destination(end))

    def common(self, start: int, *, final: bool) -> tuple[Reference, int] | None:
        """Read the bracket at ``start`` if it is as nearly all references are, and can be none else.

        Args:
            start: its index.
            final: whether no more of the answer comes; else its line has to be there.

        Returns:
            What it refers to, and the index behind it.
        """
        text = self._outlet.text
        found = common_reference(text, start)
        if not found or not (final or text.find("\n", found[1], found[1] + _AHEAD) >= 0):
            return None
        is_number = isinstance(found[0][0], Numbers)
        return None if is_number and self._may_be_other(start, found[1]) else found

    def _may_be_other(self, start: int, end: int) -> bool:
        """Whether a number in brackets could be a link, an index or a definition, by what is around it."""
        return (
            bool(self._defined)
            or self._index == start
            or self._outlet.text[end : end + 1] in _GOING_ON
            or self._outlet.character_before(start) in _IDENTIFIES
        )

    def is_no_reference(self, opened: Opened, raw: str, end: int, *, bare: bool) -> bool:
        """Whether a bracket that reads like a reference is a link, an index or a definition.

        Args:
            opened: its opening bracket.
            raw: what stands in it.
            end: behind its closing bracket.
            bare: whether it is the keyword alone.
        """
        text = self._outlet.text
        if (text[opened.bracket], text[end - 1]) != ("[", "]"):
            return False  # no other bracket makes a link or an index, whatever it looks like
        following = text[end : end + _AHEAD]
        numeric = not _LETTER.search(_TAG.sub("", raw) if "<" in raw else raw)
        if (numeric or bare) and _destination(following):
            return True
        if not numeric:
            return False
        before = self._outlet.before(opened.bracket)
        if not _INDEX.fullmatch(raw):
            return before[-1:] in ("^", "\\") and following[:1] in ("+", "{")
        identified = before[-1:] in _IDENTIFIES and _IDENTIFIER.search(before)
        if identified or self._index == opened.bracket:
            self._index = end
            return True
        return self._is_label(opened, raw, following)

    def head_end(self, opened: Opened, at: int, *, beside: bool = False) -> int:
        """Give the index behind what is to go of a bracket that is never closed; 0 for nothing.

        What is in one code span is code. Of what is not, only that goes which stands before
        backticks, or they would be those of another span.

        Args:
            opened: the bracket.
            at: where the scan has come to.
            beside: whether another bracket opens in the same code span, and may reach out of it.
        """
        content = opened.content
        last = min(at, content + MAX_REFERENCE)
        text = self._outlet.text[content:last]
        end = content + unclosed_head(text)
        if end == content or (not beside and self._is_code(opened, end, last)):
            return 0
        ticks = _TICKS.search(text, 0, end - content)
        return content + ticks.start() if ticks else end

    def past_destination(self, end: int) -> int:
        """Give the index behind the link's destination that follows ``end``; ``end`` without one."""
        destination = _destination(self._outlet.text[end : end + _AHEAD])
        return end + destination.end() if destination else end

    def forget(self, count: int) -> None:
        """Follow the outlet in forgetting its first ``count`` characters."""
        self._plain -= count
        self._index -= count

    def _is_code(self, opened: Opened, end: int, last: int) -> bool:
        """Whether what a bracket begins ends at ``end`` in the same code span, and stays in it."""
        if opened.span_end is None or end > opened.span_end:
            return False
        return not _GOES_ON.match(self._outlet.text, opened.span_end, last)

    def _is_label(self, opened: Opened, raw: str, following: str) -> bool:
        """Whether a number is a link's label: where it is defined, or in [text][label]."""
        prefix = None if opened.inline else self._line.prefix(opened.start)
        if prefix is not None and not prefix.strip() and _DEFINITION.match(following):
            self._defined.add(raw)
        return raw in self._defined and (prefix is not None or self._plain == opened.bracket)


def _destination(following: str) -> re.Match[str] | None:
    return _ADDRESS.match(following) and _DESTINATION.match(following)


def has_begun_numbers(begun: str) -> bool:
    """Whether nothing but numbers stands between an opening bracket and the next one."""
    if len(begun) > MAX_REFERENCE:
        return False
    return _NUMBERS_BEGUN.match(begun if begun.isascii() else normalise(begun).text) is not None
