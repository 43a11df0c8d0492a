"""What a support check says about a claim."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MIN_COVERAGE: Final = 0.55
"""Share of a claim's content words and atoms that the cited lines must hold, 0..1.

Chosen on one half of the mutated guidance, see docs/decisions/0011-support-checks.md.
"""


DOUBTED: Final = 0.5
"""Probability from which a claim is doubted."""


class AtomKind(StrEnum):
    """What must be in the cited lines as it stands in the claim."""

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
    """What came of a claim."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    NOTHING_TO_CHECK = "nothing to check"


class WarningKind(StrEnum):
    """What a person should look at, and what does not decide the verdict."""

    NEGATION = "negation"
    """The claim denies what the lines say, or says what they deny."""
    FILLED_PLACEHOLDER = "filled placeholder"
    """The lines leave the value open; the claim fills it in."""


class Change(StrEnum):
    """How a claim departs from the sentence of the lines that it repeats."""

    NEGATION = "negation"
    """It drops or adds a "not"."""
    CONDITION = "condition"
    """It drops an "if", "unless", "only" or "until"."""
    OPPOSITE = "opposite"
    """It says the opposite word."""
    VALUE = "value"
    """It has another number or name in the same place."""
    ORDER = "order"
    """It tells two things in the other order."""
    CLAUSE = "clause"
    """It adds an instruction that the lines don't have."""
    DANGER = "danger"
    """It tells to destroy something, and no sentence of the lines does."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A change in a claim.

    Args:
        change: which.
        start: offset in the claim of the words in question.
        end: offset behind them.
        line: index of the line that says otherwise.
        lines_say: what it says there, in lower case; ``""`` if nothing.
        certain: whether it decides the verdict; else it is something to look at.
    """

    change: Change
    start: int
    end: int
    line: int
    lines_say: str
    certain: bool = True


class AtomCheck(NamedTuple):
    """One atom of a claim and where it was found; a tuple, since a claim has many.

    Args:
        kind: what it is.
        text: as it stands in the claim.
        start: offset of its first character in the claim.
        end: offset behind its last one.
        line: index of the first cited line that holds it; ``None`` if none does.
        elsewhere: for a missing one, indices of the other given lines that hold it, ascending.
        placeholder: of the cited line, which it fills in; ``""`` if it stands there itself.
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
        """Whether the cited lines hold it."""
        return self.line is not None


@dataclass(frozen=True, slots=True)
class SupportWarning:
    """Something to look at.

    Args:
        kind: what.
        text: the words of the claim.
        start: their offset in the claim.
        end: offset behind them.
        line: index of the cited line in question.
    """

    kind: WarningKind
    text: str
    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class SupportReport:
    """Whether the cited lines hold what a claim says.

    Args:
        verdict: supported, unsupported or nothing to check.
        atoms: in the order of the claim.
        coverage: share of the claim's content words and atoms that are in the cited lines, 0..1;
            ``None`` if it has fewer words than are judged.
        missing_words: content words that are not there, in order, each once.
        warnings: in the order of the claim.
        contradictions: what the claim changes in the lines, in the order of the claim.
        doubt: how likely it is that the lines don't support the claim, 0..1, as the score sees it;
            ``None`` if its words were not judged.
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
        """Whether the claim certainly changes what the lines say."""
        return any(it.certain for it in self.contradictions)

    @property
    def missing(self) -> tuple[AtomCheck, ...]:
        """The atoms that the cited lines do not hold."""
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
    """Return in one line what a claim changes."""
    said = " ".join(claim[found.start : found.end].split())
    return _SAID[found.change].format(claim=said, lines=found.lines_say)


def describe(atom: AtomCheck) -> str:
    """Return in one line what is wrong with a missing atom."""
    return f"{atom.kind} {atom.text} is not in the cited lines"


def line_ranges(numbers: Iterable[int]) -> str:
    """Name lines as a reader would, from their numbers in ascending order.

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
