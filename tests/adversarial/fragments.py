"""Cuts an answer into the fragments in which it may arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random


def fragments(answer: str, rng: Random) -> Iterator[str]:
    """Cut into single characters, equal or random lengths, at brackets, or not at all."""
    way = rng.choices(range(6), (1, 1, 3, 5, 5, 2))[0]
    size = (1, 2, rng.randint(3, 9), 0, 0, len(answer) or 1)[way]
    position = 0
    while position < len(answer):
        if way == 4 and (at := answer.find(rng.choice("[]\n`"), position)) >= 0:
            end = at + rng.randint(0, 1) or 1
        else:
            end = position + (size or rng.randint(1, 40))
        yield answer[position : max(end, position + 1)]
        position = max(end, position + 1)
