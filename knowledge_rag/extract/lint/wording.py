"""Patterns of English sentences, written with a blank for any gap and names for groups of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.anchors import rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.extract.lint.anchors import Rule

_WORDS: Final = {
    "MODEL": r"(?:ai|llms?|(?:large )?language models?|chat ?bots?|chatgpt|gpt-?\d\w{0,3}|copilot|claude"
    r"|gemini|(?:ai|llm|virtual|automated) (?:assistants?|agents?|models?|systems?|reviewers?|tools?))",
    "ANSWER": r"(?:(?:next|final|own|first|last|whole|entire|full) ){0,2}"
    r"(?:responses?|answers?|repl(?:y|ies)|completions?)",
    "DOCUMENT": r"(?:document|doc|page|text|file|runbook|article|passage|section|paragraph|source"
    r"|content)s?",
}
_GAP: Final = r"[\s>*_\"'`#,:;]{1,6}(?:-\s{1,4})?"
"""Between two words: blanks, a line's end and the mark of a quotation, emphasis."""
_START: Final = r"(?<![\w,;)\]] )(?<![\w-])"
_WITHIN_A_SENTENCE: Final = r"(?:[^.?!]|[.?!](?=\S)){1,160}?"


def wording(
    message: str, anchors: Mapping[str, str], pattern: str, *, before: int = 0
) -> tuple[Rule, ...]:
    """Make the rules of a wording.

    Args:
        message: what a match means.
        anchors: literals, each with the words of which a text needs one.
        pattern: in lower case. A blank is a gap, ``~`` a part of a sentence, START the start of a
            line, of a sentence or of what is quoted; MODEL, ANSWER and DOCUMENT are words for these.
        before: how far ahead of an anchor a match may start, characters.
    """
    for name, words in _WORDS.items():
        pattern = pattern.replace(name, words)
    pattern = pattern.replace(" ", _GAP).replace("START", _START).replace("~", _WITHIN_A_SENTENCE)
    return rules(message, anchors, pattern, before=before)
