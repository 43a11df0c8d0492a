"""Fast search for many patterns: each is tried only where a literal that it needs occurs.

``str.find`` passes over text some fifty times as fast as a regular expression; most documents hold
none of the literals, and most of those for wording are ruled out by the set of a document's words
already. Patterns have bounded repetitions alone, so a document costs time in proportion to its
length, whatever it holds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Words = frozenset[bytes]
"""Words of ASCII letters in lower case."""

_LETTERS: Final = bytes(
    byte | 0x20 if chr(byte).isalpha() and byte < 0x80 else 0x20 for byte in range(256)
)
_ASCII: Final = bytes(range(128))
_ASKED: Final[set[bytes]] = set()
"""Words that any rule asks for: of a document, only these are looked up."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and what a text must have for it to match.

    Args:
        anchor: a literal.
        pattern: matches from the anchor on, or from up to ``before`` characters ahead of it.
        message: what a match means.
        before: how far ahead of the anchor a match may start.
        words: one of these must be in the text; any text will do if there are none.
    """

    anchor: str
    pattern: re.Pattern[str]
    message: str
    before: int = 0
    words: Words = frozenset()

    def __post_init__(self) -> None:
        if not self.anchor:
            raise ValueError(f"a rule needs an anchor: {self.message}")
        _ASKED.update(self.words)


_LINE_REACH: Final = 1000
"""Characters of a line either side of a position that are searched for backticks."""
_FENCE: Final = re.compile(
    r"(?:\A|(?<=\n))[ \t>*+.\d-]{0,16}(?P<marks>`{3,99}|~{3,99})(?P<rest>[^\n`]*)"
)


class Folded:
    """A text made ready for search.

    Args:
        text: the document's; :attr:`text` is it in lower case, character by character, :attr:`data`
            in Latin-1, a byte for each character, with "?" for those of other alphabets,
            :attr:`words` are those of its words that a rule asks for, and :attr:`foreign` its characters beyond ASCII.
    """

    def __init__(self, text: str) -> None:
        # the one letter whose lower case is two characters would shift all that follows
        self.text = text.replace("\u0130", "i").lower()
        self.data = text.encode("latin-1", "replace")
        self.words = frozenset(_ASKED.intersection(self.data.translate(_LETTERS).split()))
        self.foreign = "" if text.isascii() else _foreign(text)

    def in_code(self, at: int) -> bool:
        """Whether a reader is shown a position as code: in a fenced block or between backticks."""
        if bisect_right(self._fences, at) % 2:
            return True
        before = self.text[max(0, at - _LINE_REACH) : at].rpartition("\n")[2]
        after = self.text[at : at + _LINE_REACH].partition("\n")[0]
        return before.count("`") % 2 == 1 and "`" in after

    @cached_property
    def _fences(self) -> list[int]:
        """Where code blocks begin and end, in turns."""
        places: list[int] = []
        opened = ""
        for fence in _FENCE.finditer(self.text):
            marks = fence["marks"]
            if not opened:
                opened = marks
            elif marks.startswith(opened) and not fence["rest"].strip():
                opened = ""
            else:
                continue
            places.append(fence.start())
        return places


def _foreign(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    return data.decode("utf-8", "surrogatepass")


def rules(
    message: str, anchors: Mapping[str, str], pattern: str, *, before: int = 0
) -> tuple[Rule, ...]:
    """Make a rule for each of several anchors that share a pattern.

    Args:
        message: what a match means.
        anchors: each with the words of which a text needs one, parted by blanks; ``""`` for none.
        pattern: see :class:`Rule`.
        before: see :class:`Rule`.
    """
    compiled = re.compile(pattern)
    return tuple(
        Rule(anchor, compiled, message, before, frozenset(words.encode().split()))
        for anchor, words in anchors.items()
    )


def matches(
    text: str, table: Iterable[Rule], words: Words = frozenset()
) -> Iterator[tuple[Rule, re.Match[str]]]:
    """Find every match of every rule; matches of one rule never overlap.

    Args:
        text: to search.
        table: the rules.
        words: of the text; rules that need one are passed over if it has none of theirs.
    """
    for rule in table:
        if rule.words and rule.words.isdisjoint(words):
            continue
        at = text.find(rule.anchor)
        if at >= 0:
            for found in _of_rule(text, rule, at):
                yield rule, found


def _of_rule(text: str, rule: Rule, at: int) -> Iterator[re.Match[str]]:
    free = 0
    while at >= 0:
        reach = at + len(rule.anchor)
        found = (
            rule.pattern.search(text, max(free, at - rule.before), reach + 2 * rule.before)
            if rule.before
            else rule.pattern.match(text, at)
        )
        if found and found.end() > at:
            yield found
            free = reach = max(reach, found.end())
        at = text.find(rule.anchor, reach)
