"""The problems that an answer can have, their severity, and their log entries.

The log has kinds and offsets, never a word of the answer.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterable


class Kind(StrEnum):
    """The kind of a warning."""

    MISSING_CITATIONS = "missing_citations"
    NON_EXISTENT_SOURCE = "non_existent_source"
    UNSOURCED_INFORMATION = "unsourced_information"
    CONFIDENT_WORDING = "confident_wording"
    UNCITED_NUMBER = "uncited_number"
    LOW_DENSITY = "low_density"
    PLACEHOLDER = "placeholder"
    """A reference says that its source is missing."""
    UNCHECKED = "unchecked"
    """Text reads like a reference where none can be: a link's text, an index, outside brackets."""


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning for a person to check.

    Args:
        kind: of the warning.
        message: one sentence, on one line whatever it quotes, so that no line begins with a model's words.
        start: offset in the answer that may be shown.
        end: offset after it.
    """

    kind: Kind
    message: str
    start: int
    end: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", " ".join(self.message.split()))


class Level(StrEnum):
    """The severity of a finding; the names are SARIF's."""

    ERROR = "error"
    """The answer must not be relied on as it is."""
    WARNING = "warning"
    """A person should check it."""


_ERROR, _WARNING = Level.ERROR, Level.WARNING


class Rule(StrEnum):
    """A kind of finding: its name, its severity and a description of one sentence."""

    level: Level
    description: str

    def __new__(cls, name: str, level: Level, description: str) -> Self:
        """Make a rule from a row of the table."""
        rule = str.__new__(cls, name)
        rule._value_, rule.level, rule.description = name, level, description
        return rule

    # fmt: off
    UNRESOLVED_REFERENCE = ("unresolved-reference", _ERROR,
        "A reference names lines, a file or a number that retrieval did not return.")
    UNSUPPORTED_DETAIL = ("unsupported-detail", _ERROR,
        "A command, name, path, number or date of a claim is not in the lines that it cites.")
    UNSUPPORTED_CLAIM = "unsupported-claim", _ERROR, "The cited lines contain too few of a claim's words."
    MISSING_CITATIONS = "missing-citations", _ERROR, "The answer cites nothing though there are sources."
    UNSOURCED_INFORMATION = ("unsourced-information", _ERROR,
        "The answer gives information though retrieval returned nothing.")
    PLACEHOLDER = "placeholder", _ERROR, "A reference says that its source is missing."
    STALE_CITATION = "stale-citation", _ERROR, "The cited lines are no longer in the document as they were retrieved."
    MOVED_CITATION = "moved-citation", _WARNING, "The cited text is now on other lines of the document."
    FALSE_NO_MATCH = "false-no-match", _ERROR, "The answer says that nothing is documented though a search failed."
    UNPROVEN_EVIDENCE = "unproven-evidence", _WARNING, "No hash binds a passage of the evidence to its file and lines."
    UNCITED_CODE = "uncited-code", _WARNING, "No citation backs a code block."
    UNCITED_COMMAND = "uncited-command", _WARNING, "No citation backs a command, and no retrieved line contains it."
    UNSUPPORTED_DANGER = ("unsupported-danger", _ERROR,
        "A claim says to destroy something, and no sentence of the cited lines does.")
    FLIPPED_NEGATION = ("flipped-negation", _ERROR,
        'A claim repeats a sentence of the cited lines with a "not" added or removed.')
    DROPPED_CONDITION = ("dropped-condition", _ERROR,
        'A claim repeats a sentence of the cited lines without its "if", "unless", "only" or "until".')
    OPPOSITE_WORD = ("opposite-word", _ERROR,
        "A claim repeats a sentence of the cited lines with the opposite of a word.")
    EXCHANGED_VALUE = ("exchanged-value", _ERROR,
        "A claim repeats a sentence of the cited lines with another number or name in the same place.")
    REVERSED_ORDER = "reversed-order", _ERROR, "A claim puts two things in the opposite order to the cited lines."
    ADDED_CLAUSE = "added-clause", _ERROR, "A claim adds an instruction to a sentence of the cited lines."
    CHANGED_SENTENCE = "changed-sentence", _WARNING, "A claim may change what a sentence of the cited lines says."
    DOUBTFUL_CLAIM = ("doubtful-claim", _WARNING,
        "By its score, a claim is more likely unsupported than supported.")
    UNCHECKED_LANGUAGE = ("unchecked-language", _WARNING,
        "A claim or its lines aren't in English: its words were not checked.")
    NEGATION = "negation", _WARNING, "A claim denies what the cited lines say, or says what they deny."
    FILLED_PLACEHOLDER = "filled-placeholder", _WARNING, "A claim fills in what the cited lines leave open."
    CONFIDENT_WORDING = ("confident-wording", _WARNING,
        "A confident phrase has no citation close by, and its line is not cited.")
    UNCITED_NUMBER = "uncited-number", _WARNING, "A number has no citation right after it, and its line is not cited."
    LOW_DENSITY = "low-density", _WARNING, "The answer is thinly cited."
    UNCHECKED = "unchecked", _WARNING, "Something reads like a reference and can't be resolved."
    # fmt: on


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem in an answer.

    Args:
        rule: its kind.
        message: the details in one or two sentences, on one line whatever they quote.
        start: offset in the answer as written.
        end: offset after it.
    """

    rule: Rule
    message: str
    start: int
    end: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", " ".join(self.message.split()))


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings in the order of the answer, more severe ones first at the same place."""
    return tuple(sorted(findings, key=lambda one: (one.start, one.rule.level, one.end, one.rule)))


LOGGER: Final = logging.getLogger("knowledge_rag.guardrails")
LOGGER.addHandler(logging.NullHandler())  # the program decides where a library's log goes


def log_findings(findings: Iterable[Finding]) -> None:
    """Log the findings of a review; offsets count in the answer as written."""
    for one in findings:
        LOGGER.warning("rule=<%s>, start=<%d>, end=<%d> | finding", one.rule, one.start, one.end)


def log_warnings(warnings: Iterable[Warned]) -> None:
    """Log the warnings of the checks; offsets count in the answer that may be shown."""
    for one in warnings:
        LOGGER.warning("kind=<%s>, start=<%d>, end=<%d> | warning", one.kind, one.start, one.end)
