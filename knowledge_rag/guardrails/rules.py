"""What can be wrong with an answer, how severe it is, and its log entry.

The log has kinds and places, never a word of the answer.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.guardrails.draft import Warned


class Level(StrEnum):
    """How grave a finding is; the names are SARIF's."""

    ERROR = "error"
    """The answer must not be relied on as it is."""
    WARNING = "warning"
    """Someone should look at it."""


class Rule(StrEnum):
    """What a finding is about."""

    UNRESOLVED_REFERENCE = "unresolved-reference"
    UNSUPPORTED_DETAIL = "unsupported-detail"
    UNSUPPORTED_CLAIM = "unsupported-claim"
    MISSING_CITATIONS = "missing-citations"
    UNSOURCED_INFORMATION = "unsourced-information"
    PLACEHOLDER = "placeholder"
    STALE_CITATION = "stale-citation"
    MOVED_CITATION = "moved-citation"
    FALSE_NO_MATCH = "false-no-match"
    UNPROVEN_EVIDENCE = "unproven-evidence"
    UNCITED_CODE = "uncited-code"
    UNCITED_COMMAND = "uncited-command"
    UNSUPPORTED_DANGER = "unsupported-danger"
    FLIPPED_NEGATION = "flipped-negation"
    DROPPED_CONDITION = "dropped-condition"
    OPPOSITE_WORD = "opposite-word"
    EXCHANGED_VALUE = "exchanged-value"
    REVERSED_ORDER = "reversed-order"
    ADDED_CLAUSE = "added-clause"
    CHANGED_SENTENCE = "changed-sentence"
    DOUBTFUL_CLAIM = "doubtful-claim"
    UNCHECKED_LANGUAGE = "unchecked-language"
    NEGATION = "negation"
    FILLED_PLACEHOLDER = "filled-placeholder"
    CONFIDENT_WORDING = "confident-wording"
    UNCITED_NUMBER = "uncited-number"
    LOW_DENSITY = "low-density"
    UNCHECKED = "unchecked"

    @property
    def level(self) -> Level:
        """How grave it is."""
        return Level.ERROR if self in _ERRORS else Level.WARNING

    @property
    def description(self) -> str:
        """What the rule says, in one sentence."""
        return _DESCRIPTIONS[self]


_ERRORS: Final = frozenset(
    {
        Rule.UNRESOLVED_REFERENCE, Rule.UNSUPPORTED_DETAIL, Rule.UNSUPPORTED_CLAIM,
        Rule.MISSING_CITATIONS, Rule.UNSOURCED_INFORMATION, Rule.PLACEHOLDER, Rule.STALE_CITATION,
        Rule.FALSE_NO_MATCH, Rule.UNSUPPORTED_DANGER, Rule.FLIPPED_NEGATION, Rule.DROPPED_CONDITION,
        Rule.OPPOSITE_WORD, Rule.EXCHANGED_VALUE, Rule.REVERSED_ORDER, Rule.ADDED_CLAUSE,
    }
)  # fmt: skip

_DESCRIPTIONS: Final = {
    Rule.UNRESOLVED_REFERENCE: "A reference names lines, a file or a number that retrieval did not return.",
    Rule.UNSUPPORTED_DETAIL: "A command, name, path, number or date of a claim is not in the lines that it cites.",
    Rule.UNSUPPORTED_CLAIM: "The cited lines hold too few of a claim's words.",
    Rule.MISSING_CITATIONS: "The answer cites nothing though there are sources.",
    Rule.UNSOURCED_INFORMATION: "The answer gives information though retrieval returned nothing.",
    Rule.PLACEHOLDER: "A reference says itself that there is nothing behind it.",
    Rule.STALE_CITATION: "The cited lines are no longer in the document as they were retrieved.",
    Rule.MOVED_CITATION: "The cited text now stands on other lines of the document.",
    Rule.FALSE_NO_MATCH: "The answer says that nothing is documented though a search failed.",
    Rule.UNPROVEN_EVIDENCE: "No hash binds a passage of the evidence to its file and lines.",
    Rule.UNCITED_CODE: "No citation backs a code block.",
    Rule.UNCITED_COMMAND: "No citation backs a command, and no retrieved line holds it.",
    Rule.UNSUPPORTED_DANGER: "A claim tells to destroy something, and no sentence of the cited lines does.",
    Rule.FLIPPED_NEGATION: 'A claim repeats a sentence of the cited lines with a "not" less or more.',
    Rule.DROPPED_CONDITION: 'A claim repeats a sentence of the cited lines without its "if", "unless", "only" or "until".',
    Rule.OPPOSITE_WORD: "A claim repeats a sentence of the cited lines with the opposite of a word.",
    Rule.EXCHANGED_VALUE: "A claim repeats a sentence of the cited lines with another number or name in the same place.",
    Rule.REVERSED_ORDER: "A claim tells two things in the other order than the cited lines.",
    Rule.ADDED_CLAUSE: "A claim adds an instruction to a sentence of the cited lines.",
    Rule.CHANGED_SENTENCE: "A claim may change what a sentence of the cited lines says.",
    Rule.DOUBTFUL_CLAIM: "The score says that the cited lines more likely don't support a claim than that they do.",
    Rule.UNCHECKED_LANGUAGE: "A claim or its lines aren't in English: its words were not checked.",
    Rule.NEGATION: "A claim denies what the cited lines say, or says what they deny.",
    Rule.FILLED_PLACEHOLDER: "A claim fills in what the cited lines leave open.",
    Rule.CONFIDENT_WORDING: "A confident phrase has no citation close by, and its line is not cited.",
    Rule.UNCITED_NUMBER: "A number has no citation right after it, and its line is not cited.",
    Rule.LOW_DENSITY: "The answer is thinly cited.",
    Rule.UNCHECKED: "Something reads like a reference and can't be resolved.",
}


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
