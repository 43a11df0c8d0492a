r"""What stands between brackets for readers who see fewer of them.

A tag's attribute or a comment may hold a bracket: ``[9<!-- [ -->9]`` is ``[9`` and ``[ -->9]`` to who
takes it for text, and ``[99]`` on a page. So may a code span: to some ``[`]`9]`` ends at its first
bracket, to some at its second. The scanner sees every bracket; here are those who don't, from a
paragraph's first tag or code span on that could hold one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.guardrails.brackets import Opened
    from knowledge_rag.guardrails.draft import Span

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


class Readers:
    """Reads a paragraph as those do who see no bracket in tags, and as those who see none in code."""

    def __init__(self) -> None:
        self.active = False
        """Whether there was anything in the paragraph that they see otherwise."""
        self._tags: tuple[_TagReader, ...] = ()
        self._code: tuple[_Reader, ...] = ()

    def see_tag(self, start: int, opened: Iterable[Opened]) -> None:
        """See a tag that could hold a bracket.

        Args:
            start: its index.
            opened: the brackets that are open there, the outermost first.
        """
        self.active = True
        if not self._tags:
            held = list(opened)
            self._tags = tuple(_TagReader(start, held, *way) for way in _WAYS)

    def see_code(self, opened: Iterable[Opened]) -> None:
        """See a code span with a bracket, and likewise those that are open there."""
        self.active = True
        self._code = self._code or (_Reader(opened),)

    def end(self) -> Iterator[Opened]:
        """End with the paragraph; give the brackets that nobody closes."""
        readers, self._tags, self._code = (*self._tags, *self._code), (), ()
        self.active = False
        for reader in readers:
            yield from reversed(reader.opened)

    def open(self, text: str, opened: Opened) -> Iterator[Opened]:
        """Note a bracket that opens; give those that are open around it."""
        for reader in (*self._tags, *self._code):
            if reader.opened:
                yield reader.opened[-1]
            if not reader.hides(text, opened.bracket, in_code=opened.span_end is not None):
                reader.opened = [*reader.opened, replace(opened)][-_DEPTH:]

    def close(
        self, text: str, place: Span, closed: Opened | None, *, in_code: bool, is_none: bool
    ) -> Iterator[Opened]:
        """Give the brackets that one closes to those who see it.

        Args:
            text: as the scan holds it.
            place: of the closing bracket.
            closed: what it closes to who sees all; not given again.
            in_code: whether it is in a code span.
            is_none: whether that is no reference.
        """
        start, end = place
        for reader in (*self._tags, *self._code):
            if reader.hides(text, start, in_code=in_code) or not reader.opened:
                continue
            hidden = reader.opened.pop()
            if closed is None or hidden.bracket != closed.bracket:
                yield hidden
            elif not is_none:
                left = (one.behind(text, closed, end) for one in reader.opened)
                reader.opened = [one for one in left if one]

    def give_up(self, before: int) -> Sequence[Opened]:
        """Give up the open brackets whose contents begin before an index, and give them."""
        given = []
        for reader in (*self._tags, *self._code):
            while reader.opened and reader.opened[0].content < before:
                given.append(reader.opened.pop(0))
        return given

    def drop(self, text: str, taken: Opened, end: int) -> None:
        """Give up the brackets that open where something is taken out, up to ``end``."""
        for reader in (*self._tags, *self._code):
            around = [one for one in reader.opened if one.content <= taken.start]
            left = (one.behind(text, taken, end) for one in around)
            reader.opened = [one for one in left if one]

    @property
    def starts(self) -> Sequence[int]:
        """Where the brackets start that are open."""
        return [one.start for reader in (*self._tags, *self._code) for one in reader.opened]

    def forget(self, text: str, count: int, seen: int) -> None:
        """Follow the outlet in forgetting its first ``count`` characters.

        Args:
            text: as it is before.
            count: how many.
            seen: index up to which no bracket is left to be read; it is not before ``count``.
        """
        for tags in self._tags:
            tags.read(text, count, seen)
        for reader in (*self._tags, *self._code):
            reader.forget(count)


class _Reader:
    """Sees no bracket in code.

    Args:
        opened: the brackets that are open where it begins, the outermost first.
    """

    def __init__(self, opened: Iterable[Opened]) -> None:
        self.opened = [replace(one) for one in opened][-_DEPTH:]

    def hides(self, text: str, at: int, *, in_code: bool) -> bool:
        """Whether a bracket at ``at`` is not seen; no call is for an earlier index."""
        del text, at
        return in_code

    def forget(self, count: int) -> None:
        """Follow the outlet in forgetting its first ``count`` characters."""
        for one in self.opened:
            one.forget(count)


class _TagReader(_Reader):
    """Sees no bracket in tags.

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
        super().__init__(opened)
        self._begins, self._counts, self._ends = begins, counts, ends
        self._at = start
        self._in_tag = False
        self._until = ""  # what ends the comment, or the value in quotes, that is open

    def hides(self, text: str, at: int, *, in_code: bool) -> bool:
        """Whether what stands at ``at`` is in a tag; no call is for an earlier index."""
        del in_code
        self.read(text, at, at)
        return self._in_tag or self._until != ""

    def read(self, text: str, before: int, seen: int) -> None:
        """Read what begins or ends before an index, looking at the text up to ``seen``."""
        while self._at < before:
            if self._until:
                self._find_end(text, before, seen)
            elif self._in_tag:
                self._go_on(text, before)
            else:
                self._begin(text, before, seen)

    def forget(self, count: int) -> None:
        """Follow the outlet in forgetting its first ``count`` characters."""
        super().forget(count)
        self._at -= count

    def _begin(self, text: str, before: int, seen: int) -> None:
        begun = self._begins.search(text, self._at, seen)
        if begun is None or begun.start() >= before:
            self._at = before
            return
        self._at = begun.end()
        if begun.lastgroup == "tag":
            self._in_tag = True
        elif begun.lastgroup == "special":
            self._until = self._ends[begun[0]]

    def _go_on(self, text: str, before: int) -> None:
        found = self._counts.search(text, self._at, before)
        self._at = found.end() if found else before
        if found and found[0] in "\"'":
            self._until = found[0]
        elif found:
            self._at -= found[0] == "<"
            self._in_tag = False

    def _find_end(self, text: str, before: int, seen: int) -> None:
        end = text.find(self._until, self._at, seen)
        if end < 0 or end >= before:
            self._at = before
        else:
            self._at, self._until = end + len(self._until), ""
