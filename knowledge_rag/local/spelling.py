"""Corrects typing mistakes in a question, using the documents' words.

A word of a question is replaced if all of this applies:

- the question is in English: few words of other languages are in the documents;
- it is typed in lower case, 4 letters or more, and stands alone: names as people write them
  (``Linkerd``, ``DocumentDB``, ``k8s``, ``rds-failover``) are never changed;
- neither the documents nor the embedding model's vocabulary of common words have it;
- one word of the documents is nearer than all others: one mistake away, or two if the typed word has 8
  letters or more. A mistake is a letter replaced (but not the first, nor one of only 4), left out or
  doubled, two neighbours swapped, or an extra vowel inside (``expirey``). Any other letter makes a
  different word: ``dgraph`` isn't ``graph``, nor ``linkerd`` ``linked``, nor ``redo`` ``repo``. Of several
  that are equally near and begin alike (``expire``, ``expired``, ``expiry``), the one with the typed
  ending wins, else the most frequent one;
- that word is in more than one chunk, or it might be a mistake itself.

``docs/evaluation.md`` has the gain.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.languages import ENGLISH, language_of
from knowledge_rag.local.errors import Damage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

MIN_LETTERS: Final = 4
"""Minimum length of a word to correct: in a shorter one, a mistake makes some other word."""

LONG_WORD: Final = 8
"""Minimum length of a word with two mistakes: in a shorter one they leave too little of it."""

FEWEST_CHUNKS: Final = 2
"""Minimum number of chunks with a word for it to be suggested."""

MOST_STRANGE_WORDS: Final = 5
"""A text with more unknown words is in another language, or pasted: none of it is corrected."""

MOST_CHARACTERS: Final = 1_000
"""Longer texts are pasted and not typed."""

_WORD: Final = re.compile(r"(?<![^\x00-\x7f])[A-Za-z][a-z]{3,}+(?![^\x00-\x7f])")
"""A word, or one of the words in a CamelCase name; not a piece of a word with an umlaut."""
_TYPED: Final = re.compile(r"(?<!\S)\(?([a-z]{4,32})(?=[),.;:!?]*(?!\S))")


@dataclass(frozen=True, slots=True)
class Corrected:
    """A question with its typing mistakes corrected; ``meant`` replaces ``typed``, neighbours joined."""

    text: str
    meant: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()


class Spelling:
    """The words of the documents, each with the number of chunks that contain it."""

    def __init__(self, words: Mapping[str, int]) -> None:
        self._words = words
        self._by_length: dict[int, list[str]] = defaultdict(list)
        for word in words:
            self._by_length[len(word)].append(word)

    def meant_by(self, typed: str) -> str | None:
        """Return the word that was meant; ``None`` if that is unclear, or the typed word was meant."""
        if typed in self._words:
            return None
        near = list(self._near(typed))
        least = min((mistakes for _, mistakes in near), default=0)
        nearest = [word for word, mistakes in near if mistakes == least]
        beginning = max(MIN_LETTERS, len(typed) - 2)
        if len({word[:beginning] for word in nearest}) != 1:
            return None
        best = max(nearest, key=lambda word: (word[-1] == typed[-1], self._words[word]))
        clear = self._words[best] >= FEWEST_CHUNKS and _begin_alike(typed, best)
        return best if clear else None

    def _near(self, typed: str) -> Iterator[tuple[str, int]]:
        """Yield the words that a few mistakes turn into the typed one, with the number of mistakes."""
        # takes longer to import than to check most questions
        from rapidfuzz.distance import OSA  # noqa: PLC0415
        from rapidfuzz.process import extract  # noqa: PLC0415

        most = 2 if len(typed) >= LONG_WORD else 1
        for length in range(len(typed) - 1, len(typed) + most + 1):
            words = self._by_length.get(length, [])
            found = extract(typed, words, scorer=OSA.distance, score_cutoff=most, limit=None)
            for word, mistakes, _ in found:
                if length == len(typed) == MIN_LETTERS and sorted(word) != sorted(typed):
                    continue
                if length >= len(typed) or _has_one_too_many(typed, word, int(mistakes)):
                    yield word, int(mistakes)


def words_in(texts: Iterable[str]) -> dict[str, int]:
    """Count the chunks that contain each word; in lower case, 4 letters or more."""
    counted: Counter[str] = Counter()
    for text in texts:
        counted.update({word.lower() for word in set(_WORD.findall(text))})
    return counted


def to_json(words: Mapping[str, int]) -> str:
    """Return the stored form of counts from :func:`words_in`."""
    return json.dumps(words, separators=(",", ":"), sort_keys=True)


def from_json(stored: str) -> dict[str, int]:
    """Read the stored form; the empty text has no words, any other text raises ``Damage``."""
    try:
        words = json.loads(stored or "{}")
    except (ValueError, RecursionError) as error:
        raise Damage("its words are not JSON") from error
    if not isinstance(words, dict) or not all(type(count) is int for count in words.values()):
        raise Damage("its words are not counted")
    return words


def corrected(
    text: str, is_known: Callable[[str], bool], spelling: Callable[[], Spelling]
) -> Corrected:
    """Correct the typing mistakes in a question.

    ``is_known`` says whether a word needs no correction. ``spelling`` returns the words of the documents; it is called
    only if a word is not known.
    """
    if len(text) > MOST_CHARACTERS or language_of(text) != ENGLISH:
        return Corrected(text)
    strange: list[re.Match[str]] = []
    for found in _TYPED.finditer(text):
        if not is_known(found[1]):
            strange.append(found)
        if len(strange) > MOST_STRANGE_WORDS:
            return Corrected(text)
    looked_up = ((found.span(1), spelling().meant_by(found[1])) for found in strange)
    return _replaced(text, [(span, word) for span, word in looked_up if word is not None])


def _replaced(text: str, words: Sequence[tuple[tuple[int, int], str]]) -> Corrected:
    parts: list[str] = []
    meant: list[str] = []
    typed: list[str] = []
    end = -1
    for span, word in words:
        between = text[max(end, 0) : span[0]]
        parts += [between, word]
        if end >= 0 and between == " ":
            meant[-1] += f" {word}"
            typed[-1] += f" {text[slice(*span)]}"
        else:
            meant.append(word)
            typed.append(text[slice(*span)])
        end = span[1]
    return Corrected("".join([*parts, text[max(end, 0) :]]), tuple(meant), tuple(typed))


def _has_one_too_many(typed: str, word: str, mistakes: int) -> bool:
    """Whether the extra letter in the typed word repeats its neighbour, or is a vowel inside."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415

    last = len(typed) - 1
    return any(
        (letter == typed[at - 1] or (letter in "aeiou" and at < last))
        and OSA.distance(typed[:at] + typed[at + 1 :], word) < mistakes
        for at, letter in enumerate(typed)
        if at > 0
    )


def _begin_alike(typed: str, word: str) -> bool:
    """Whether a word begins as typed, or its first letters are swapped or one is left out."""
    left_out = len(typed) < len(word) and typed[0] == word[1]
    return typed[0] == word[0] or typed[:2] == word[1::-1] or left_out
