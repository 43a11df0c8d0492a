"""Whole answers: hostile ones by family, honest ones by notation, each from its own seed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from tests.adversarial import disguises, notations, prose
from tests.adversarial.fabrications import FABRICATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.adversarial.shelf import Entry, Shelf

    Family = Callable[[Random, Shelf], "Hostile"]


class Hostile(NamedTuple):
    """A hostile answer.

    Args:
        answer: as a model might write it.
        expected: what has to be left of it; ``None`` where the oracle alone decides.
    """

    answer: str
    expected: str | None


class Honest(NamedTuple):
    """An honest answer.

    Args:
        answer: as a model might write it; all of it has to stay.
        cited: the lines that its references speak of, in their order.
    """

    answer: str
    cited: list[Entry]


def fabricated(rng: Random, shelf: Shelf, write: Callable[[Random, Shelf], str]) -> Hostile:
    """Give an answer with one or two fabrications among good references."""
    answer, expected = "", ""
    for _ in range(rng.choice((1, 1, 1, 2))):
        block = rng.choice(prose.INLINE)(rng, "\0")
        good = prose.paragraph(rng, notations.anything(rng, shelf))
        answer += block.replace("\0", write(rng, shelf)) + good
        expected += block.replace("\0", "") + good
    return Hostile(answer, expected)


def disguised(rng: Random, shelf: Shelf, write: Callable[[Random, Shelf], str]) -> Hostile:
    """Give an answer with hostile passages among good references."""
    parts = []
    for _ in range(rng.choice((1, 1, 2))):
        parts.append(write(rng, shelf))
        if rng.random() < 0.5:
            parts.append(prose.paragraph(rng, notations.anything(rng, shelf)))
        parts.append(rng.choice(("", " ", "\n", "\n\n")))
    return Hostile("".join(parts), None)


def hostile(family: str, index: int, shelves: tuple[Shelf, ...]) -> tuple[Hostile, Shelf, Random]:
    """Give the answer of a family with that index, the evidence, and what to cut it with."""
    rng = Random(f"{family} {index}")
    shelf = rng.choices(shelves, (6, 4, 2, 1))[0]
    how = fabricated if family in _FABRICATED else disguised
    return how(rng, shelf, (FAMILIES | WAITING)[family]), shelf, rng


_FABRICATED = {write.__name__: write for write in FABRICATIONS}
FAMILIES = _FABRICATED | {write.__name__: write for write in disguises.DISGUISES}
WAITING = {write.__name__: write for write in disguises.WAITING}


def honest(notation: str, index: int, shelves: tuple[Shelf, ...]) -> tuple[Honest, Shelf, Random]:
    """Give the honest answer of a notation with that index, the evidence, and what to cut it with."""
    rng = Random(f"{notation} {index}")
    shelf = rng.choices(shelves[:3], (6, 4, 1))[0]
    blocks = (prose.paragraph,) if notation == "broken_line" else prose.INLINE
    answer, cited = "", []
    for _ in range(rng.choice((1, 1, 2, 3))):
        reference, lines = NOTATIONS[notation](rng, shelf)
        answer += rng.choice(blocks)(rng, reference)
        cited += dict.fromkeys(lines)
    return Honest(_with_white_space(answer, rng), cited), shelf, rng


NOTATIONS = {write.__name__: write for write in notations.NOTATIONS}


def _with_white_space(answer: str, rng: Random) -> str:
    """Vary what must survive: line ends, tabs, trailing blanks, the answer's end."""
    way = rng.randrange(5)
    if way == 0:
        return answer.replace("\n", "\r\n")
    if way == 1:
        return answer.replace(". ", ".\t").replace("\n\n", "  \n\n\n")
    if way == 2:
        return answer.rstrip("\n")
    return answer
