r"""Which brackets that read like references are none: links, definitions, indexes, repetitions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from knowledge_rag.guardrails.line_state import LineState
    from knowledge_rag.guardrails.outlet import Outlet

_AHEAD: Final = 1_000
"""Characters behind a bracket that may tell what it is: a link's destination at most."""

_IDENTIFIER: Final = re.compile(r"(?:[A-Za-z_$](?:[\w.$]*[\w$])?|[@=/^$&])\Z", re.ASCII)
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
    """

    start: int
    bracket: int
    content: int
    joins: bool
    inline: bool

    def forget(self, count: int) -> None:
        """Follow the outlet in forgetting its first ``count`` characters."""
        self.start -= count
        self.bracket -= count
        self.content -= count


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
        if self._index == opened.bracket or _IDENTIFIER.search(before):
            self._index = end
            return True
        return self._is_label(opened, raw, following)

    def past_destination(self, end: int) -> int:
        """Give the index behind the link's destination that follows ``end``; ``end`` without one."""
        destination = _destination(self._outlet.text[end : end + _AHEAD])
        return end + destination.end() if destination else end

    def forget(self, count: int) -> None:
        """Follow the outlet in forgetting its first ``count`` characters."""
        self._plain -= count
        self._index -= count

    def _is_label(self, opened: Opened, raw: str, following: str) -> bool:
        """Whether a number is a link's label: where it is defined, or in [text][label]."""
        prefix = None if opened.inline else self._line.prefix(opened.start)
        if prefix is not None and not prefix.strip() and _DEFINITION.match(following):
            self._defined.add(raw)
        return raw in self._defined and (prefix is not None or self._plain == opened.bracket)


def _destination(following: str) -> re.Match[str] | None:
    return _ADDRESS.match(following) and _DESTINATION.match(following)
