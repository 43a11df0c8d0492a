"""What can be wrong with an answer, how severe it is, and its log entry.

The log has kinds and places, never a word of the answer.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.guardrails.draft import Warned


class Level(StrEnum):
    """How grave a finding is; the names are SARIF's."""

    ERROR = "error"
    """The answer must not be relied on as it is."""
    WARNING = "warning"
    """Someone should look at it."""


_ERROR, _WARNING = Level.ERROR, Level.WARNING


class Rule(StrEnum):
    """What a finding is about: its name, how grave it is, and what the rule says in one sentence."""

    level: Level
    description: str

    def __new__(cls, name: str, level: Level, description: str) -> Self:
        """Make a rule of a row of the table."""
        rule = str.__new__(cls, name)
        rule._value_, rule.level, rule.description = name, level, description
        return rule

    # fmt: off
    UNRESOLVED_REFERENCE = ("unresolved-reference", _ERROR,
        "A reference names lines, a file or a number that retrieval did not return.")
    UNSUPPORTED_DETAIL = ("unsupported-detail", _ERROR,
        "A command, name, path, number or date of a claim is not in the lines that it cites.")
    UNSUPPORTED_CLAIM = "unsupported-claim", _ERROR, "The cited lines hold too few of a claim's words."
    MISSING_CITATIONS = "missing-citations", _ERROR, "The answer cites nothing though there are sources."
    UNSOURCED_INFORMATION = ("unsourced-information", _ERROR,
        "The answer gives information though retrieval returned nothing.")
    PLACEHOLDER = "placeholder", _ERROR, "A reference says itself that there is nothing behind it."
    STALE_CITATION = "stale-citation", _ERROR, "The cited lines are no longer in the document as they were retrieved."
    MOVED_CITATION = "moved-citation", _WARNING, "The cited text now stands on other lines of the document."
    FALSE_NO_MATCH = "false-no-match", _ERROR, "The answer says that nothing is documented though a search failed."
    UNPROVEN_EVIDENCE = "unproven-evidence", _WARNING, "No hash binds a passage of the evidence to its file and lines."
    UNCITED_CODE = "uncited-code", _WARNING, "No citation backs a code block."
    UNCITED_COMMAND = "uncited-command", _WARNING, "No citation backs a command, and no retrieved line holds it."
    UNSUPPORTED_DANGER = ("unsupported-danger", _ERROR,
        "A claim tells to destroy something, and no sentence of the cited lines does.")
    FLIPPED_NEGATION = ("flipped-negation", _ERROR,
        'A claim repeats a sentence of the cited lines with a "not" less or more.')
    DROPPED_CONDITION = ("dropped-condition", _ERROR,
        'A claim repeats a sentence of the cited lines without its "if", "unless", "only" or "until".')
    OPPOSITE_WORD = ("opposite-word", _ERROR,
        "A claim repeats a sentence of the cited lines with the opposite of a word.")
    EXCHANGED_VALUE = ("exchanged-value", _ERROR,
        "A claim repeats a sentence of the cited lines with another number or name in the same place.")
    REVERSED_ORDER = "reversed-order", _ERROR, "A claim tells two things in the other order than the cited lines."
    ADDED_CLAUSE = "added-clause", _ERROR, "A claim adds an instruction to a sentence of the cited lines."
    CHANGED_SENTENCE = "changed-sentence", _WARNING, "A claim may change what a sentence of the cited lines says."
    DOUBTFUL_CLAIM = ("doubtful-claim", _WARNING,
        "The score says that the cited lines more likely don't support a claim than that they do.")
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
    """Something wrong with an answer.

    Args:
        rule: what.
        message: what exactly, in one or two sentences, on one line whatever they quote.
        start: offset in the answer as it was written.
        end: offset behind it.
    """

    rule: Rule
    message: str
    start: int
    end: int

    def __post_init__(self) -> None:
        """Put the message on one line."""
        object.__setattr__(self, "message", " ".join(self.message.split()))


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Put findings in the order of the answer, graver ones first at one place."""
    return tuple(sorted(findings, key=lambda one: (one.start, one.rule.level, one.end, one.rule)))


LOGGER: Final = logging.getLogger("knowledge_rag.guardrails")
LOGGER.addHandler(logging.NullHandler())  # a library leaves it to the program where its log goes


def log_findings(findings: Iterable[Finding]) -> None:
    """Log what a review found; offsets count in the answer as it was written."""
    for one in findings:
        LOGGER.warning("rule=<%s>, start=<%d>, end=<%d> | finding", one.rule, one.start, one.end)


def log_warnings(warnings: Iterable[Warned]) -> None:
    """Log what the checks warn of; offsets count in the answer that may be shown."""
    for one in warnings:
        LOGGER.warning("kind=<%s>, start=<%d>, end=<%d> | warning", one.kind, one.start, one.end)
