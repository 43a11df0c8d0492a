"""The report of a support check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MIN_COVERAGE: Final = 0.55
"""Share of a claim's content words and atoms that must be in the cited lines, 0..1.

Chosen on one half of the mutated guidance, see docs/decisions/0011-support-checks.md.
"""


DOUBTED: Final = 0.5
"""Probability from which a claim is doubted."""


class AtomKind(StrEnum):
    """Kinds of atoms: details that the cited lines must have exactly as in the claim."""

    COMMAND = "command"
    FLAG = "flag"
    PATH = "path"
    URL = "url"
    ARN = "arn"
    HOST = "host"
    IDENTIFIER = "identifier"
    NUMBER = "number"
    DATE = "date"


class Verdict(StrEnum):
    """The result of checking a claim."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    NOTHING_TO_CHECK = "nothing to check"


class WarningKind(StrEnum):
    """Kinds of warnings: a person should check them, and they don't decide the verdict."""

    NEGATION = "negation"
    """The claim denies what the lines say, or says what they deny."""
    FILLED_PLACEHOLDER = "filled placeholder"
    """The lines leave the value open; the claim fills it in."""


class Change(StrEnum):
    """Kinds of changes in a claim to the sentence of the lines that it repeats."""

    NEGATION = "negation"
    """It drops or adds a "not"."""
    CONDITION = "condition"
    """It drops an "if", "unless", "only" or "until"."""
    OPPOSITE = "opposite"
    """It has the opposite of a word."""
    VALUE = "value"
    """It has another number or name in the same place."""
    ORDER = "order"
    """It puts two things in the opposite order."""
    CLAUSE = "clause"
    """It adds an instruction that the lines don't have."""
    DANGER = "danger"
    """It says to destroy something, and no sentence of the lines does."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A change in a claim.

    Args:
        change: its kind.
        start: offset in the claim of the words in question.
        end: offset after them.
        line: index of the line that says otherwise.
        lines_say: the words there, in lower case; ``""`` if there are none.
        certain: whether it decides the verdict; otherwise it is a warning.
    """

    change: Change
    start: int
    end: int
    line: int
    lines_say: str
    certain: bool = True


class AtomCheck(NamedTuple):
    """One atom of a claim and its place in the lines; a tuple, since a claim has many.

    Args:
        kind: of the atom.
        text: as in the claim.
        start: offset of its first character in the claim.
        end: offset after its last one.
        line: index of the first cited line that has it; ``None`` if none does.
        elsewhere: for a missing one, indices of the other given lines that have it, ascending.
        placeholder: the one in the cited line that it fills in; ``""`` if the line has the atom itself.
    """

    kind: AtomKind
    text: str
    start: int
    end: int
    line: int | None
    elsewhere: tuple[int, ...] = ()
    placeholder: str = ""

    @property
    def found(self) -> bool:
        """Whether the cited lines have it."""
        return self.line is not None


@dataclass(frozen=True, slots=True)
class SupportWarning:
    """A warning about words of a claim, with their span in it and the index of the cited line in question."""

    kind: WarningKind
    text: str
    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class SupportReport:
    """The result of comparing a claim with its cited lines.

    Args:
        verdict: supported, unsupported or nothing to check.
        atoms: in the order of the claim.
        coverage: share of the claim's content words and atoms that are in the cited lines, 0..1;
            ``None`` if it has too few words to judge, or they were not judged.
        missing_words: content words that are not there, in order, each once.
        warnings: those for filled placeholders, then those for negations, each in the order of the claim.
        contradictions: changes that the claim makes to the lines, in the order of the claim.
        doubt: likelihood, by the score, that the lines don't support the claim, 0..1; ``None`` if its
            words were not judged.
        language: ISO 639-1 code of the language in which the words were not judged; ``""`` if they were.
    """

    verdict: Verdict
    atoms: tuple[AtomCheck, ...]
    coverage: float | None
    missing_words: tuple[str, ...]
    warnings: tuple[SupportWarning, ...]
    contradictions: tuple[Contradiction, ...] = ()
    doubt: float | None = None
    language: str = ""

    @property
    def contradicted(self) -> bool:
        """Whether the claim certainly changes the meaning of the lines."""
        return any(it.certain for it in self.contradictions)

    @property
    def missing(self) -> tuple[AtomCheck, ...]:
        """The atoms that the cited lines don't have."""
        return tuple(atom for atom in self.atoms if not atom.found)


_SAID: Final = {
    Change.NEGATION: 'a "not" is dropped or added: the lines say "{lines}"',
    Change.CONDITION: 'a condition is dropped: the lines say "{lines}"',
    Change.OPPOSITE: '"{claim}" where the lines say "{lines}"',
    Change.VALUE: '"{claim}" where the lines say "{lines}"',
    Change.ORDER: 'the lines tell it in the other order: first "{lines}"',
    Change.CLAUSE: '"{claim}" is added: the lines don\'t say it',
    Change.DANGER: '"{claim}" destroys something, and no sentence of the lines says so',
}


def described(found: Contradiction, claim: str) -> str:
    """Return the description of a change, in one line."""
    said = " ".join(claim[found.start : found.end].split())
    return _SAID[found.change].format(claim=said, lines=found.lines_say)


def describe(atom: AtomCheck) -> str:
    """Return the description of a missing atom, in one line."""
    return f"{atom.kind} {atom.text} is not in the cited lines"


def line_ranges(numbers: Iterable[int]) -> str:
    """Return the short form of line numbers, which are in ascending order.

    >>> line_ranges([30, 31, 35])
    '30-31, 35'
    """
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)
