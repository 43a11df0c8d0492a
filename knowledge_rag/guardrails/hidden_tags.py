r"""What stands between brackets for a reader who shows no tags.

A tag's attribute or a comment may hold a bracket: ``[9<!-- [ -->9]`` is ``[9`` and ``[ -->9]`` to who
takes it for text, and ``[99]`` on a page. The scanner reads the first way; here it is read the other
way, from a paragraph's first tag that could hold a bracket on.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.guardrails.brackets import Opened

_DEPTH: Final = 4
"""Open brackets that are kept in mind."""
_BEGIN: Final = re.compile(
    r"(?P<whole><!---?>)|(?P<special><!--|<\?|<!\[CDATA\[|<!(?=[A-Za-z]))|(?P<tag><[A-Za-z/!])"
)
_BEGIN_LOOSELY: Final = re.compile(r"(?P<special><[!?])|(?P<tag><[A-Za-z/])")
_ENDS: Final = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>", "<!": ">"}
_IN_TAG: Final = re.compile(r"[<>]")
_IN_TAG_WITH_VALUES: Final = re.compile(r"[<>\"']")
_WAYS: Final = (
    (_BEGIN, _IN_TAG, _ENDS),
    (_BEGIN, _IN_TAG_WITH_VALUES, _ENDS),
    (_BEGIN_LOOSELY, _IN_TAG, {"<?": ">", "<!": ">"}),
)
"""How readers see where a tag begins, what counts in it (in quotes, to some, no ``>`` ends it), and
where a comment and its like ends."""


class HiddenTags:
    """Reads a paragraph as those do who show no tags.

    Args:
        start: index of its first tag that could hold a bracket.
        opened: the brackets that are open there, the outermost first.
    """

    def __init__(self, start: int, opened: Iterable[Opened]) -> None:
        held = list(opened)
        self._readers = tuple(_Reader(start, held, *way) for way in _WAYS)

    def end(self) -> Iterator[Opened]:
        """End with the paragraph; give the brackets that nobody closes."""
        for reader in self._readers:
            yield from reversed(reader.opened)

    def open(self, text: str, opened: Opened) -> Iterator[Opened]:
        """Note a bracket that opens; give those that are open around it."""
        for reader in self._readers:
            if not reader.is_inside(text, opened.bracket):
                if reader.opened:
                    yield reader.opened[-1]
                reader.opened = [*reader.opened, replace(opened)][-_DEPTH:]

    def close(
        self, text: str, start: int, closed: Opened | None, *, is_none: bool
    ) -> Iterator[Opened]:
        """Give the brackets that one closes to those who show no tags.

        Args:
            text: as the scan holds it.
            start: of the closing bracket.
            closed: what it closes to who shows tags; not given again.
            is_none: whether that is no reference.
        """
        for reader in self._readers:
            if reader.is_inside(text, start) or not reader.opened:
                continue
            hidden = reader.opened.pop()
            if closed is None or hidden.bracket != closed.bracket:
                yield hidden
            elif not is_none:
                reader.opened = []

    def give_up(self, before: int = sys.maxsize) -> Sequence[Opened]:
        """Give up the open brackets whose contents begin before an index, or all, and give them."""
        given = []
        for reader in self._readers:
            while reader.opened and reader.opened[0].content < before:
                given.append(reader.opened.pop(0))
        return given

    @property
    def starts(self) -> Sequence[int]:
        """Where the brackets start that are open."""
        return [one.start for reader in self._readers for one in reader.opened]

    def forget(self, count: int) -> None:
        """Follow the outlet in forgetting its first ``count`` characters."""
        for reader in self._readers:
            reader.forget(count)


class _Reader:
    """Follows a paragraph, and tells which of its brackets are in tags.

    Args:
        start: index of a tag.
        opened: the brackets that are open there, the outermost first.
        begins: what begins a tag, or a comment and its like.
        counts: what counts in a tag.
        ends: how a comment and its like ends, by how it begins.
    """

    def __init__(
        self,
        start: int,
        opened: Iterable[Opened],
        begins: re.Pattern[str],
        counts: re.Pattern[str],
        ends: Mapping[str, str],
    ) -> None:
        self.opened = [replace(one) for one in opened][-_DEPTH:]
        self._begins, self._counts, self._ends = begins, counts, ends
        self._at = start
        self._in_tag = False
        self._until = ""  # what ends the comment, or the value in quotes, that is open

    def is_inside(self, text: str, at: int) -> bool:
        """Whether what stands at ``at`` is in a tag; no call is for an earlier index."""
        while self._at < at:
            if self._until:
                self._find_end(text, at)
            elif self._in_tag:
                self._go_on(text, at)
            else:
                self._begin(text, at)
        return self._in_tag or self._until != ""

    def forget(self, count: int) -> None:
        """Follow the outlet in forgetting its first ``count`` characters."""
        self._at -= count
        for one in self.opened:
            one.forget(count)

    def _begin(self, text: str, at: int) -> None:
        begun = self._begins.search(text, self._at, at)
        self._at = begun.end() if begun else at
        if begun and begun.lastgroup == "tag":
            self._in_tag = True
        elif begun and begun.lastgroup == "special":
            self._until = self._ends[begun[0]]

    def _go_on(self, text: str, at: int) -> None:
        found = self._counts.search(text, self._at, at)
        self._at = found.end() if found else at
        if found and found[0] in "\"'":
            self._until = found[0]
        elif found:
            self._at -= found[0] == "<"
            self._in_tag = False

    def _find_end(self, text: str, at: int) -> None:
        end = text.find(self._until, self._at, at)
        self._at = at if end < 0 else end + len(self._until)
        if end >= 0:
            self._until = ""
