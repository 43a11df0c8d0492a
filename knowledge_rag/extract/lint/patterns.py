"""Searches for many patterns: each is tried only in a text with one of its required words.

Most documents have none of them. Patterns have only bounded repetitions, so the time is proportional to a
document's length, whatever its content.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.extract.shaping import fenced, is_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.core.findings import Kind


WORD: Final = re.compile(r"[a-z]+")


class Rule(NamedTuple):
    """A pattern for text in lower case.

    Args:
        message: the meaning of a match.
        words: of ASCII letters, in lower case. A text without any of them has no match; none if any text may match.
        pattern: its matches never overlap.
    """

    message: str
    words: frozenset[str]
    pattern: re.Pattern[str]


_ASCII: Final = bytes(range(128))
_LINE_REACH: Final = 1000
"""Characters on either side of a position that are searched for backticks."""


class Folded:
    """A text prepared for search: in lower case, its words, and its characters beyond ASCII."""

    def __init__(self, text: str) -> None:
        # the one letter whose lower case is two characters would shift all later offsets
        self.text = text.replace("\u0130", "i").lower()
        self.words = frozenset(WORD.findall(self.text))
        self.foreign = "" if text.isascii() else _foreign(text)

    def in_code(self, at: int) -> bool:
        """Whether a position is shown as code: in a fenced block or between backticks."""
        if is_within(at, self._fenced):
            return True
        before = self.text[max(0, at - _LINE_REACH) : at].rpartition("\n")[2]
        after = self.text[at : at + _LINE_REACH].partition("\n")[0]
        return before.count("`") % 2 == 1 and "`" in after

    @cached_property
    def _fenced(self) -> list[tuple[int, int]]:
        return fenced(self.text)


def _foreign(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    return data.decode("utf-8", "surrogatepass")


def rule(message: str, words: str, pattern: str) -> Rule:
    """Return a rule; its words are separated by blanks."""
    return Rule(message, frozenset(words.split()), re.compile(pattern))


def matches(
    text: str, table: Iterable[Rule], words: frozenset[str]
) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield every match in a text with these words, and its meaning."""
    for message, needed, pattern in table:
        if not needed or not needed.isdisjoint(words):
            for found in pattern.finditer(text):
                yield message, found


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


def wording(message: str, words: str, pattern: str) -> Rule:
    """Return the rule for a wording; see :func:`rule`.

    In the pattern, a blank is a gap, ``~`` a part of a sentence, START the start of a line, a sentence or a
    quotation; MODEL, ANSWER and DOCUMENT match words for these.
    """
    for name, alternatives in _WORDS.items():
        pattern = pattern.replace(name, alternatives)
    pattern = pattern.replace(" ", _GAP).replace("START", _START).replace("~", _WITHIN_A_SENTENCE)
    return rule(message, words, pattern)


MAX_EXCERPT: Final = 80
"""Maximum characters of a document in an excerpt, before escapes."""
_SHOWN_OF_A_SECRET: Final = 4
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Finding:
    r"""One thing that a person should check.

    Args:
        source_file: the document, relative to the corpus root.
        line: 1-based, of lines that end at ``\n`` only.
        column: 1-based, in characters of the line.
        kind: of the finding.
        message: the problem, in one sentence; quotes nothing of the document except code points.
        excerpt: safe to print: secrets masked, hidden characters escaped.
        count: number of findings that this one represents: 1, except for the last of a kind in a document
        with too many to list.
        end_line: its last line, at least ``line``; the document's last line if it represents further
        findings.
    """

    source_file: str
    line: int
    column: int
    kind: Kind
    message: str
    excerpt: str
    count: int = 1
    end_line: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "end_line", max(self.line, self.end_line))

    def __str__(self) -> str:
        """Return the form that editors open: ``path:line:column kind: message``."""
        place = f"{self.source_file}:{self.line}:{self.column}"
        return f"{place} {self.kind}: {self.message}" + (
            f": {self.excerpt}" if self.excerpt else ""
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


class Hit(NamedTuple):
    """A finding with offsets into the text, from ``start`` up to ``end``."""

    start: int
    end: int
    message: str


def mask(secret: str) -> str:
    """Show a secret's length, and its first four characters if they are at most a third of it.

    >>> mask("AKIAIOSFODNN7ABCDEFG"), mask("hunter2")
    ('AKIA… (20 characters)', '… (7 characters)')
    """
    shown = secret[:_SHOWN_OF_A_SECRET] if len(secret) >= 3 * _SHOWN_OF_A_SECRET else ""
    return neutralise(f"{_one_line(shown)}… ({len(secret)} characters)")


def excerpt(text: str, start: int, end: int, secrets: Sequence[Hit]) -> str:
    """Show a stretch of a text on one line, cut at ``MAX_EXCERPT``, with stars for secrets."""
    stop = min(end, start + MAX_EXCERPT)
    parts, at = [], start
    for secret in secrets:
        if at < secret.end and secret.start < stop:
            parts += [text[at : max(at, secret.start)], "****"]
            at = secret.end
    parts.append(text[at:stop])
    return neutralise(_one_line("".join(parts)) + ("…" if stop < end else ""))


def _one_line(text: str) -> str:
    return _SPACE.sub(" ", text).strip()
