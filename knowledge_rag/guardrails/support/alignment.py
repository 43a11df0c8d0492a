"""Aligns a sentence of a claim, word by word, with the stretch of the lines that it repeats.

The words that only one of the two sides has show additions, omissions, exchanges and moves. The time is
linear: a sentence is cut at a fixed length, frequent words don't vote for a place, and the stretch is
bounded.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from functools import cached_property, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.stemming import stem
from knowledge_rag.guardrails.support.lexemes import LEXEME, folded, is_plain_word, trimmed
from knowledge_rag.guardrails.support.quantities import NUMBER_WORDS, quantity_at, quantity_of_word
from knowledge_rag.guardrails.support.wording import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAX_SENTENCE: Final = 64
"""Maximum words of a sentence; a longer one is cut."""
_MOST_PLACES: Final = 24
"""Maximum places of a word that votes for one; a more frequent word doesn't vote."""
_MOST_TRIED: Final = 6
"""Maximum places of one word to try within the stretch."""
_SLACK: Final = 24
"""Words of the lines to add before and after the likeliest stretch."""
_BUCKET: Final = 6
_STRAYS: Final = 2
_APART: Final = 8
"""Maximum further words that the lines may have between two neighbours."""

_ENDS: Final = re.compile(r"[.!?;](?=[\"'*_`)\]]*\s)")
_NOT: Final = re.compile(r"(?<=n)'t(?!\w)")
_BREAKS: Final = re.compile(r"[,;:()|\n]|\s[-\u2013\u2014]+\s")


class Token(NamedTuple):
    """A word, name or number.

    Args:
        key: the same for all forms of a word, spellings of a name and notations of a quantity.
        word: in lower case.
        start: offset of its first character in its line.
        end: offset after its last one.
        line: index of its line.
        sentence: number of its sentence.
        sort: ``#`` for a number, ``@`` for a name, ``A`` for a capitalised word in a clause, ``""`` for
            any other word.
        broken: whether a line begins with it, or a comma, a bracket or the like is before it.
    """

    key: str
    word: str
    start: int
    end: int
    line: int
    sentence: int
    sort: str
    broken: bool

    @property
    def is_content(self) -> bool:
        """Whether it isn't a stop word."""
        return self.word not in STOP_WORDS


@lru_cache(maxsize=16_384)
def _key(name: str) -> tuple[str, str, str]:
    lowered = folded(name.replace("\\", ""))
    if is_plain_word(name):
        return stem(lowered), lowered, ""
    parts = name.replace("'", "-").split("-")
    plain_words = all(map(is_plain_word, filter(None, parts))) and name[:1] != "-"
    return lowered, lowered, "" if plain_words else "@"


class _Lexeme(NamedTuple):
    """The properties of a lexeme that don't depend on its place."""

    name: str = ""  # without the punctuation around it
    at: int = 0  # offset of the name
    parts: bool = False  # whether it is punctuation that separates parts of a sentence
    key: str = ""  # of its token, like the next two
    word: str = ""
    sort: str = ""  # unless it is a number
    is_capital: bool = False
    may_count: bool = False  # whether a quantity may begin with it


@lru_cache(maxsize=16_384)
def _lexeme(text: str) -> _Lexeme:
    name = trimmed(text)
    if not name.isalnum() and not any(map(str.isalnum, name)):
        return _Lexeme(parts=_BREAKS.search(text) is not None)
    key, word, sort = _key(name)
    return _Lexeme(
        name=name,
        at=max(text.find(name), 0),
        key=key,
        word=word,
        sort=sort,
        is_capital=not sort and name[:1].isupper(),
        may_count=name[0].isdigit() or name in NUMBER_WORDS,
    )


def tokens_of(lines: Sequence[str]) -> list[Token]:
    """Cut lines into tokens; a sentence may continue on the next line if that begins in lower case."""
    found: list[Token] = []
    sentence = length = 0
    for number, line in enumerate(lines):
        if not line.lstrip()[:1].islower():
            sentence, length = sentence + 1, 0
        end = 0
        is_broken = True
        for lexeme in LEXEME.finditer(line):
            start = lexeme.start()
            if start < end:
                continue
            known = _lexeme(lexeme[0])
            if not known.name:
                is_broken = is_broken or known.parts
                continue
            if line[end:start] != " ":
                ends = not is_broken and end and _ENDS.search(line, max(end - 2, 0), start)
                if ends:
                    sentence, length = sentence + 1, 0
                is_broken = is_broken or _BREAKS.search(line, max(end - 1, 0), start) is not None
            if length == MAX_SENTENCE:
                sentence, length = sentence + 1, 0
            start += known.at
            key, word, end, sort = _read(line, known, start)
            if known.is_capital and not sort and not is_broken:
                sort = "A"  # a capital within a clause: a proper name, as a rule
            found.append(Token(key, word, start, end, number, sentence, sort, is_broken))
            length, is_broken = length + 1, False
    return found


def _read(line: str, known: _Lexeme, start: int) -> tuple[str, str, int, str]:
    """Return key, word, end and sort of the token that begins with a name."""
    name, end = known.name, start + len(known.name)
    if line.startswith("'t", end) and _NOT.match(line, end):  # "don't" is one word
        key, word, sort = _key(line[start : end + 2])
        return key, word, end + 2, sort
    is_digit = name[0].isdigit()
    if known.may_count:
        measured = quantity_at(line, start) if is_digit else quantity_of_word(line, start, end)
        if measured and len(measured.quantities) == 1:
            value, dimension, _ = measured.quantities[0]
            word = line[start : measured.end].rstrip("- ")
            return f"#{value}{dimension}", word.lower(), start + len(word), "#"
    sort = "#" if known.sort == "@" and is_digit else known.sort
    return known.key, known.word, end, sort


class Stream:
    """The tokens of some lines, with their positions."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.tokens = tokens_of(lines)
        self.text = "\n".join(lines)

    @cached_property
    def places(self) -> Mapping[str, Sequence[int]]:
        """Positions of each key, ascending."""
        places: dict[str, list[int]] = defaultdict(list)
        for position, token in enumerate(self.tokens):
            places[token.key].append(position)
        return places

    @cached_property
    def keys(self) -> Sequence[str]:
        """The key of each token."""
        return [token.key for token in self.tokens]

    @cached_property
    def sets(self) -> Sequence[frozenset[str]]:
        """The keys of each sentence's content words."""
        return [
            frozenset(it.key for it in self.tokens[first:behind] if it.is_content)
            for first, behind in self.bounds.values()
        ]

    @cached_property
    def bounds(self) -> Mapping[int, tuple[int, int]]:
        """First position of each sentence, and the one after its last."""
        bounds: dict[int, tuple[int, int]] = {}
        for position, token in enumerate(self.tokens):
            first, _ = bounds.get(token.sentence, (position, 0))
            bounds[token.sentence] = first, position + 1
        return bounds


class Alignment(NamedTuple):
    """A sentence of a claim, aligned with the lines.

    Args:
        said: its tokens.
        pairs: positions in the sentence and in the lines of tokens that both have, both ascending.
        share: share of the sentence's content words in the pairs, 0..1.
    """

    said: Sequence[Token]
    pairs: Sequence[tuple[int, int]]
    share: float


def sentences(said: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Split the tokens of a claim into its sentences."""
    for _, tokens in groupby(said, key=lambda token: token.sentence):
        yield list(tokens)


def quoted(said: Sequence[Token], stream: Stream) -> list[Alignment]:
    """Return the places where the lines have a sentence token by token; the search is bounded."""
    keys = [token.key for token in said]
    rarest = min(range(len(keys)), key=lambda i: len(stream.places.get(keys[i], ())))
    found = []
    for place in stream.places.get(keys[rarest], ())[:_MOST_PLACES]:
        low = place - rarest
        if low >= 0 and stream.keys[low : low + len(keys)] == keys:
            pairs = [(i, low + i) for i in range(len(keys))]
            found.append(Alignment(said, pairs, 1.0))
    return found


def align(said: Sequence[Token], stream: Stream) -> Alignment | None:
    """Align a sentence with the lines; ``None`` if they share too few words for a place."""
    votes: dict[int, float] = defaultdict(float)
    for i, token in enumerate(said):
        places = stream.places.get(token.key, ())
        if places and len(places) <= _MOST_PLACES:
            weight = (2.0 if token.is_content else 0.5) / len(places)
            for place in places:
                votes[(place - i) // _BUCKET] += weight
    if not votes:
        return None
    likely = max(votes, key=lambda it: (votes[it] + votes.get(it + 1, 0), -it))
    low = max(likely * _BUCKET - _SLACK, 0)
    high = min((likely + 2) * _BUCKET + len(said) + _SLACK, len(stream.tokens))
    pairs = _trimmed(_common(said, stream, low, high, likely * _BUCKET), stream)
    pairs = _extended(said, pairs, stream)
    content = sum(token.is_content for token in said)
    shared = sum(said[i].is_content for i, _ in pairs)
    return Alignment(said, pairs, shared / content if content else 0.0)


def _trimmed(pairs: list[tuple[int, int]], stream: Stream) -> list[tuple[int, int]]:
    """Drop a word or two at either end that the lines have far away, or in another sentence."""
    while len(pairs) > _STRAYS and any(_parted(pairs, k, stream) for k in range(_STRAYS)):
        pairs = pairs[1:]
    while len(pairs) > _STRAYS and any(
        _parted(pairs, len(pairs) - 2 - k, stream) for k in range(_STRAYS)
    ):
        pairs = pairs[:-1]
    return pairs


def _extended(
    said: Sequence[Token], pairs: list[tuple[int, int]], stream: Stream
) -> list[tuple[int, int]]:
    """Add tokens that both sides have before and after the stretch, at the same distance and in its sentence."""
    if not pairs:
        return pairs
    (i, p), (j, q) = pairs[0], pairs[-1]
    low = max(p - i, stream.bounds[stream.tokens[p].sentence][0])
    high = min(q - j + len(said), stream.bounds[stream.tokens[q].sentence][1])
    before = [(place - p + i, place) for place in range(low, p)]
    behind = [(place - q + j, place) for place in range(q + 1, high)]
    added = [
        [(k, at) for k, at in part if said[k].key == stream.keys[at]] for part in (before, behind)
    ]
    return [*added[0], *pairs, *added[1]]


def _parted(pairs: Sequence[tuple[int, int]], k: int, stream: Stream) -> bool:
    """Whether the lines have many words, or a sentence's end, between a pair and the next one."""
    (i, p), (j, q) = pairs[k], pairs[k + 1]
    apart = (q - p) - (j - i)
    sentences_apart = stream.tokens[p].sentence != stream.tokens[q].sentence
    return apart > _APART or (sentences_apart and (apart > 0 or j - i > 1))


def _common(
    said: Sequence[Token], stream: Stream, low: int, high: int, shift: int
) -> list[tuple[int, int]]:
    """Return the longest common subsequence (Hunt and Szymanski's algorithm)."""
    tails: list[int] = []
    links: list[tuple[int, int, object]] = []
    places_of: dict[int, Sequence[int]] = {}
    for i, token in enumerate(said):
        places = stream.places.get(token.key, ())
        first = bisect_left(places, low)
        tried = places[first : bisect_left(places, high, first)]
        if len(tried) > _MOST_TRIED:
            near = sorted(tried, key=lambda place, at=i + shift: abs(place - at))  # type: ignore[misc]
            tried = sorted(near[:_MOST_TRIED])
        places_of[i] = tried
        for place in reversed(tried):
            at = bisect_left(tails, place)
            link = (i, place, links[at - 1] if at else None)
            if at == len(tails):
                tails.append(place)
                links.append(link)
            else:
                tails[at], links[at] = place, link
    pairs: list[tuple[int, int]] = []
    last: object = links[-1] if links else None
    while isinstance(last, tuple):
        i, place, last = last
        # of several places, the one nearest the next pair: the first words must not drift away
        if pairs:
            tried = places_of[i]
            place = tried[bisect_left(tried, pairs[-1][1]) - 1]
        pairs.append((i, place))
    return pairs[::-1]
