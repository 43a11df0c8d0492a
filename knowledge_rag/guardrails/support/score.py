"""The score: the probability that the lines don't support a claim, by logistic regression.

Its features are how far the lines repeat the claim's words, the names and numbers that they lack, and
whether the claim speaks as a person does. ``python -m benchmarks train-claims`` writes the weights,
:mod:`.weights`.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.stemming import stem
from knowledge_rag.guardrails.support.weights import BIAS, WEIGHTS
from knowledge_rag.guardrails.support.wording import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

_WORD: Final = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_WRITERS: Final = frozenset(["i", "i'm", "i've", "i'd", "i'll", "my", "me", "mine", "myself"])
_READERS: Final = frozenset(["you", "your", "yours", "we", "our", "us"])
_REACH: Final = (1, 2, 3)
"""Distances, in content words, at which the lines may have a pair."""


class Word(NamedTuple):
    """A word or number; ``is_content`` if it isn't a stop word."""

    text: str
    lower: str
    stem: str
    is_content: bool


@lru_cache(maxsize=16_384)
def _word(text: str) -> Word:
    lower = text.lower()
    return Word(text, lower, stem(lower), lower not in STOP_WORDS)


def words_of(text: str) -> list[Word]:
    """Return the words and numbers of a text, in order."""
    return list(map(_word, _WORD.findall(text)))


class Bag:
    """The words of some lines, and those that are near each other."""

    def __init__(self, text: str) -> None:
        words = words_of(text)
        stems = [word.stem for word in words]
        content = [word.stem for word in words if word.is_content]
        self.words: AbstractSet[str] = {word.lower for word in words}
        self.stems: AbstractSet[str] = set(stems)
        self.near: AbstractSet[tuple[str, str]] = {
            pair for by in _REACH for pair in zip(content, content[by:], strict=False)
        }
        self.triples: AbstractSet[tuple[str, ...]] = set(
            zip(stems, stems[1:], stems[2:], strict=False)
        )
        self.asks = "?" in text


class Claimed:
    """A claim with the lines that it cites.

    Args:
        text: with markup blanked.
        bag: of the lines.
    """

    def __init__(self, text: str, bag: Bag) -> None:
        self.said = words_of(text)
        self.content = [word for word in self.said if word.is_content]
        self.bag = bag
        self.asks = "?" in text


def _share(hits: Sequence[bool], nothing: float) -> float:
    return sum(hits) / len(hits) if hits else nothing


def _content(it: Claimed) -> float:
    return _share([word.stem in it.bag.stems for word in it.content], 0.0)


def _near(it: Claimed) -> float:
    near = it.bag.near
    stems = [word.stem for word in it.content]
    return _share([(a, b) in near or (b, a) in near for a, b in pairwise(stems)], 0.0)


def _triples(it: Claimed) -> float:
    stems = [word.stem for word in it.said]
    triples = zip(stems, stems[1:], stems[2:], strict=False)
    return _share([three in it.bag.triples for three in triples], 0.0)


def _names(it: Claimed) -> float:
    capitals = [word for word in it.said[1:] if word.text[0].isupper() and word.is_content]
    return math.log1p(sum(word.stem not in it.bag.stems for word in capitals))


def _numbers(it: Claimed) -> float:
    numbers = [word.lower for word in it.said if word.text[0].isdigit()]
    return math.log1p(sum(number not in it.bag.words for number in numbers))


def _speaks(it: Claimed, persons: frozenset[str]) -> float:
    said = not persons.isdisjoint(word.lower for word in it.said)
    return float(said and persons.isdisjoint(it.bag.words))


FEATURES: Final[dict[str, Callable[[Claimed], float]]] = {
    "content words": _content,
    "near pairs": _near,
    "triples": _triples,
    "missing names": _names,
    "missing numbers": _numbers,
    "speaks as a writer": lambda it: _speaks(it, _WRITERS),
    "speaks to a reader": lambda it: _speaks(it, _READERS),
    "asks": lambda it: float(it.asks and not it.bag.asks),
}
"""Each returns a number of moderate size, most of them 0..1."""

_WEIGHED: Final = [(FEATURES[name], weight) for name, weight in WEIGHTS.items()]


def doubt_of(claimed: Claimed) -> float:
    """Return the probability that the lines don't support a claim, 0..1."""
    log_odds = BIAS + sum(weight * feature(claimed) for feature, weight in _WEIGHED)
    return 1 / (1 + math.exp(-log_odds))
