"""The text of an answer on its way out: what has come in, what goes out of it, and where.

Positions are indexes in the part of the answer that is still held; ``base`` leads from them to
offsets in the answer as written, ``moved`` to offsets in the answer as it goes out.
"""

from __future__ import annotations

from typing import Final

CONTEXT: Final = 64
"""Characters before a bracket that may tell what it is."""
_KEPT: Final = 512
"""Characters that have gone out before they are forgotten."""


class Outlet:
    """Holds what has come in, until nobody has to look at it any more."""

    def __init__(self) -> None:
        self.text = ""
        self.base = 0
        """Offset of the text's first character in the answer as written."""
        self.shift = 0
        """What was taken out so far, in characters; marks count against it."""
        self._sent = 0
        self._cut = 0  # behind the last cut
        self._tail = ""  # what goes out right before it
        self._pieces: list[str] = []

    @property
    def moved(self) -> int:
        """What leads from an index to the offset in the answer as it goes out."""
        return self.base - self.shift

    def add(self, piece: str) -> None:
        """Take in more of the answer."""
        self.text += piece

    def before(self, index: int) -> str:
        """Give the last characters that go out before ``index``."""
        if index - self._cut >= CONTEXT:
            return self.text[index - CONTEXT : index]
        return (self._tail + self.text[self._cut : index])[-CONTEXT:]

    def character_before(self, index: int) -> str:
        """Give the last character that goes out before ``index``; "" at the answer's beginning."""
        return self.text[index - 1] if index > self._cut else self._tail[-1:]

    def is_escaped(self, index: int) -> bool:
        """Whether a backslash that goes out before ``index`` belongs to what stands there."""
        if index > self._cut and index > 0 and self.text[index - 1] != "\\":
            return False
        before = self.before(index)
        return (len(before) - len(before.rstrip("\\"))) % 2 == 1

    def send(self, end: int) -> None:
        """Let everything up to ``end`` go out."""
        if end > self._sent:
            self._pieces.append(self.text[self._sent : end])
            self._sent = end

    def replace(self, start: int, end: int, mark: str) -> None:
        """Let ``mark`` go out instead of what stands from ``start`` to ``end``."""
        before = self.before(start)
        self.send(start)
        self._pieces.append(mark)
        self._tail = before + mark
        self._sent = self._cut = end
        self.shift += end - start - len(mark)

    def flush(self) -> str:
        """Give what goes out since the last time."""
        ready = "".join(self._pieces)
        self._pieces.clear()
        return ready

    def forgettable(self, needed: int) -> int:
        """Give how much can be forgotten if nobody looks at anything before ``needed``.

        A bracket's surroundings stay, and it is worth the trouble or 0.
        """
        first = min(needed, self._sent) - CONTEXT
        return first if first >= _KEPT else 0

    def forget(self, count: int) -> None:
        """Forget the first ``count`` characters; every index moves by as many."""
        self.text = self.text[count:]
        self.base += count
        self._sent -= count
        self._cut -= count
