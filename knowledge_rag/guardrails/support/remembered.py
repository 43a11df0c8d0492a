"""What was made of something once and may be asked for again."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K", bound=Sized)
V = TypeVar("V")


class Remembered(dict[K, V]):
    """Makes a value for each key that is asked for; a dict, since a hit is to cost next to nothing.

    Its memory is bounded, whatever the keys are: it starts anew when it is full.

    Args:
        make: gives the value of a key.
        most: values that are kept at a time.
        longest: a key of greater length is not kept.
    """

    def __init__(self, make: Callable[[K], V], *, most: int, longest: int) -> None:
        super().__init__()
        self._make = make
        self._most = most
        self._longest = longest

    def __missing__(self, key: K) -> V:
        made = self._make(key)
        if len(key) <= self._longest:
            if len(self) >= self._most:
                self.clear()
            self[key] = made
        return made
