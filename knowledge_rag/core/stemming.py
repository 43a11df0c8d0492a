"""Porter's stemmer (M.F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980).

``failed``, ``failing`` and ``fails`` become one term, so a question need not repeat the runbook's
own word forms. Only plain lower-case ASCII words are stemmed; others are returned as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_CONSONANTS = "[^aeiou][^aeiouy]*"
_VOWELS = "[aeiouy][aeiou]*"
_START = f"^(?:{_CONSONANTS})?"
_MEASURE_1_UP: Final = re.compile(f"{_START}{_VOWELS}{_CONSONANTS}")
_MEASURE_1: Final = re.compile(f"{_START}{_VOWELS}{_CONSONANTS}(?:{_VOWELS})?$")
_MEASURE_2_UP: Final = re.compile(f"{_START}(?:{_VOWELS}{_CONSONANTS}){{2}}")
_HAS_VOWEL: Final = re.compile(f"{_START}[aeiouy]")
_DOUBLED: Final = re.compile(r"([^aeioulsz])\1$")
_SHORT: Final = re.compile(f"^{_CONSONANTS}[aeiouy][^aeiouwxy]$")

_STEP_2: Final = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize",
    "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful",
    "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3: Final = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_STEP_4: Final = dict.fromkeys(
    ("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou", "ism",
     "ate", "iti", "ous", "ive", "ize"), ""
)  # fmt: skip


def _longest_first(suffixes: dict[str, str]) -> re.Pattern[str]:
    ordered = sorted(suffixes, key=len, reverse=True)
    return re.compile(f"^(.+?)({'|'.join(ordered)})$")


_SUFFIX_2: Final = _longest_first(_STEP_2)
_SUFFIX_3: Final = _longest_first(_STEP_3)
_SUFFIX_4: Final = _longest_first(_STEP_4)
_ION: Final = re.compile(r"^(.+[st])ion$")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; words of one or two letters are their own stems.

    >>> [stem(word) for word in ("failed", "failing", "fails", "replication", "queries")]
    ['fail', 'fail', 'fail', 'replic', 'queri']
    """
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    # a y at the beginning is a consonant, which the patterns can't see: hide it
    hidden = word[0] == "y"
    if hidden:
        word = "Y" + word[1:]
    word = _final_y(_past_and_progressive(_plural(word)))
    word = _replace(word, _SUFFIX_2, _STEP_2, _MEASURE_1_UP)
    word = _replace(word, _SUFFIX_3, _STEP_3, _MEASURE_1_UP)
    word = _final_e(_fourth_step(word))
    return "y" + word[1:] if hidden else word


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_progressive(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _MEASURE_1_UP.match(word[:-3]) else word
    for suffix in ("ed", "ing"):
        base = word.removesuffix(suffix)
        if base != word and _HAS_VOWEL.match(base):
            return _restored(base)
    return word


def _restored(base: str) -> str:
    """Repair a word without its ``ed`` or ``ing``: ``hopp`` to hop, ``rat`` to rate."""
    if base.endswith(("at", "bl", "iz")) or _SHORT.match(base):
        return base + "e"
    return base[:-1] if _DOUBLED.search(base) else base


def _final_y(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and _HAS_VOWEL.match(word[:-1]) else word


def _replace(
    word: str, pattern: re.Pattern[str], table: dict[str, str], measure: re.Pattern[str]
) -> str:
    found = pattern.match(word)
    if found and measure.match(found[1]):
        return found[1] + table[found[2]]
    return word


def _fourth_step(word: str) -> str:
    if _SUFFIX_4.match(word):
        return _replace(word, _SUFFIX_4, _STEP_4, _MEASURE_2_UP)
    found = _ION.match(word)
    return found[1] if found and _MEASURE_2_UP.match(found[1]) else word


def _final_e(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        if _MEASURE_2_UP.match(base) or (_MEASURE_1.match(base) and not _SHORT.match(base)):
            word = base
    return word[:-1] if word.endswith("ll") and _MEASURE_2_UP.match(word) else word
