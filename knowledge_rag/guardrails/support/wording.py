"""Content words of claims and lines, and those that a text denies.

Words are compared by their stems. This catches a citation of another section; it can't distinguish two
sentences with the same words, for which there are atoms and negation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core import languages
from knowledge_rag.core.languages import (
    ENGLISH,
    LANGUAGES_OF_OTHER_SCRIPTS,
    folded,
    is_plainly_english,
    language_of,
)
from knowledge_rag.core.stemming import stem

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

_STOP_TEXT: Final = (
    "a about above after again all also although always am an and any are as at be because been"
    " before being below between both but by can could did do does doing done during each either"
    " else etc ever every few finally first following for from further had has have having he her"
    " here hers him his how however if in into is it its itself just least less let may me might"
    " more most much must my need needs next no nor not now of off often on once one only onto or"
    " other our out over own per please same second she should since so some such sure than that"
    " the their them then there these they third this those through thus to too under until up"
    " upon us use used using very via was we were what when where whether which while who whom"
    " whose why will with within without would yes yet you your according documented runbook"
    " guidance document make step steps don doesn didn isn aren wasn won cannot never didn t s re"
    " ve ll d e g i"
)
STOP_WORDS: Final = frozenset(_STOP_TEXT.split())
"""Words that say nothing about a text's subject."""

_AROUND_STEPS: Final = (
    "already another check confirm determine ensure execute follow instead look open run see verify"
    " well"
)
OWN_WORDS: Final = STOP_WORDS | frozenset(_AROUND_STEPS.split())
"""Words that a summary puts around the steps of guidance: coverage ignores them."""

_WORD: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"  # scripts without spaces: each character
    r"|[^\W\d_]+"
)
_ANY_WORD: Final = re.compile(r"[^\W\d_]+")
_ASCII_WORD: Final = re.compile(r"[a-z]+")

NEGATIONS: Final = frozenset({"no", "not", "never", "cannot", "without", "avoid", "t"})
"""Without one of these words (``t`` is the end of ``don't``) a text denies nothing."""

_NEGATOR: Final = re.compile(
    r"\b(?:no|not|never|cannot|without|avoid|no longer|(?:don|doesn|didn|isn|aren|wasn|won|can|couldn"
    r"|shouldn|mustn|hasn|haven)'t)\b(?P<scope>(?:[\s`*_\"]+[\w-]+(?:\.[\w-]+)*){1,4})",
    re.IGNORECASE,
)


def words(text: str) -> list[str]:
    """Return a text's words in lower case, in order, including stop words."""
    lowered = text.casefold()
    return (_ASCII_WORD if lowered.isascii() else _WORD).findall(lowered)


_FEWEST_FOREIGN: Final = 2


def foreign(text: str, all_words: AbstractSet[str]) -> str:
    """Return the ISO 639-1 code of a text's language if it certainly isn't English, otherwise ``""``.

    English lines have words that look foreign (``ci``, ``pod``), so several are needed, and more of them
    than of English ones.

    Args:
        text: any.
        all_words: its words, in lower case.
    """
    if is_plainly_english(text, all_words):
        return ""
    language = language_of(text)
    if language == ENGLISH or language in LANGUAGES_OF_OTHER_SCRIPTS:
        return "" if language == ENGLISH else language
    said = set(words(folded(text)))
    own = said & languages.STOP_WORDS.get(language, frozenset()) - STOP_WORDS
    english = said & STOP_WORDS - languages.STOP_WORDS.get(language, frozenset())
    return language if len(own) >= max(_FEWEST_FOREIGN, len(english) + 1) else ""


class Denied(NamedTuple):
    """A negation in a text, or a word: its offsets, and the stem of the word."""

    start: int
    end: int
    stem: str


def denials(text: str) -> list[Denied]:
    """Find the words that a text denies: the first content word after each negation."""
    denied = []
    for found in _NEGATOR.finditer(text):
        behind = [word for word in words(found["scope"]) if word not in STOP_WORDS]
        if behind:
            denied.append(Denied(found.start(), found.end(), stem(behind[0])))
    return denied


def may_deny(all_words: Iterable[str]) -> bool:
    """Whether a text with these words can deny anything: a cheap test before :func:`denials`."""
    return not NEGATIONS.isdisjoint(all_words)


class Stance(NamedTuple):
    """The lines' use of a word.

    Args:
        line: index of the first line that has it.
        denied: whether any line denies it.
        always_denied: whether every line that has it does.
    """

    line: int
    denied: bool
    always_denied: bool


def occurrences(text: str, said: Iterable[str], stems: set[str]) -> list[Denied]:
    """Find the first word with each of these stems in a text, whose words are ``said``."""
    left, found_all = stems.intersection(map(stem, said)), []
    for found in _ANY_WORD.finditer(text) if left else ():
        word = stem(found[0].casefold())
        if word in left:
            left.discard(word)
            found_all.append(Denied(found.start(), found.end(), word))
    return found_all
