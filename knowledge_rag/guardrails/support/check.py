"""Does what a claim states stand in the lines it cites? Checked without a model.

Two things decide: every atom must be in the cited lines, and enough of the claim's content words.
Negation and filled-in placeholders are warnings. What the checks can't see is said in
docs/guardrails.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.support.atoms import find_atoms
from knowledge_rag.guardrails.support.evidence_index import EvidenceIndex
from knowledge_rag.guardrails.support.markup import plain
from knowledge_rag.guardrails.support.matching import Matcher
from knowledge_rag.guardrails.support.report import (
    AtomCheck,
    SupportReport,
    SupportSettings,
    SupportWarning,
    Verdict,
    WarningKind,
)
from knowledge_rag.guardrails.support.wording import (
    OWN_WORDS,
    denials,
    may_deny,
    occurrences,
    stances_of,
    uncovered,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.guardrails.support.atoms import Atom

_MAX_PLACED: Final = 20
"""Missing atoms of one claim that are looked for elsewhere, so that time stays linear."""

_MAX_KEPT: Final = 1024
"""Indices that a checker keeps at most, so that its memory is bounded."""

DEFAULTS: Final = SupportSettings()


class SupportChecker:
    """Checks the claims of an answer, and keeps what it learned of the lines that they cite.

    Claims that cite the same lines share one index of them. A checker is for one thread.

    Args:
        settings: how strictly.
    """

    def __init__(self, settings: SupportSettings = DEFAULTS) -> None:
        self._settings = settings
        self._indices: dict[tuple[str, ...], EvidenceIndex] = {}

    def check(
        self, claim: str, lines: Sequence[str], *, elsewhere: Sequence[str] = ()
    ) -> SupportReport:
        """Check a claim against the lines that it cites.

        Args:
            claim: what is said, as Markdown, with or without its reference; offsets count in it.
            lines: the cited lines, in order; indices count in them.
            elsewhere: other lines, of the same file say: a missing atom is looked for there, too.

        Returns:
            The verdict, each atom with where it was found, the coverage and the warnings. A claim
            that is a quotation (the cited lines hold it, white space aside) is always supported.
        """
        settings = self._settings
        text, index = plain(claim), self._index(tuple(lines))
        atoms = [atom for atom in find_atoms(text) if atom.kind in settings.kinds]
        said = words(text)
        matcher = Matcher(index, settings)
        checks = [_check(claim, atom, matcher) for atom in atoms]
        in_atoms = words(" ".join([check.text for check in checks]))
        content = set(said).difference(OWN_WORDS, in_atoms)
        missing = uncovered(content, index.words)
        if missing or not all(check.found for check in checks):
            checks, missing = _unless_quoted(claim, lines, checks, missing)
        if elsewhere and not all(check.found for check in checks):
            others = [Matcher(self._index((line,)), settings) for line in elsewhere]
            checks = _with_places(atoms, checks, others)
        coverage = _coverage(len(content), len(missing), checks, settings)
        return SupportReport(
            _verdict(checks, coverage, settings),
            tuple(checks),
            coverage,
            tuple(word for word in dict.fromkeys(said) if word in missing),
            (*_filled(checks), *_flipped(text, set(said), index)),
        )

    def _index(self, lines: tuple[str, ...]) -> EvidenceIndex:
        """Give the index of some lines, made anew only if it is not among those used last."""
        index = self._indices.pop(lines, None) or EvidenceIndex(lines)
        self._indices[lines] = index
        if len(self._indices) > _MAX_KEPT:
            del self._indices[next(iter(self._indices))]
        return index


def check_support(
    claim: str,
    lines: Sequence[str],
    settings: SupportSettings = DEFAULTS,
    *,
    elsewhere: Sequence[str] = (),
) -> SupportReport:
    """Check a single claim: :meth:`SupportChecker.check`, with nothing kept for the next one."""
    return SupportChecker(settings).check(claim, lines, elsewhere=elsewhere)


def _coverage(
    words_said: int, words_missing: int, checks: Sequence[AtomCheck], settings: SupportSettings
) -> float | None:
    if words_said < settings.min_words:
        return None
    found = sum(check.found for check in checks) * settings.atom_weight
    said = words_said + len(checks) * settings.atom_weight
    return (words_said - words_missing + found) / said


def _verdict(
    checks: Sequence[AtomCheck], coverage: float | None, settings: SupportSettings
) -> Verdict:
    if not checks and coverage is None:
        return Verdict.NOTHING_TO_CHECK
    enough = coverage is None or coverage >= settings.min_coverage
    return Verdict.SUPPORTED if enough and all(c.found for c in checks) else Verdict.UNSUPPORTED


def _unless_quoted(
    claim: str, lines: Sequence[str], checks: list[AtomCheck], missing: set[str]
) -> tuple[list[AtomCheck], set[str]]:
    """Take for found whatever a claim holds that is quoted from the lines, letter for letter."""
    line = _quoted(claim, lines)
    if line is None:
        return checks, missing
    return [it if it.found else it._replace(line=line) for it in checks], set()


def _quoted(claim: str, lines: Sequence[str]) -> int | None:
    """Give the line in which a claim that is quoted from the lines begins."""
    wanted = f" {' '.join(claim.split())} "
    parts = [" ".join(line.split()) for line in lines]
    position = f" {' '.join(filter(None, parts))} ".find(wanted)
    if position < 0:
        return None
    behind = 0
    for number, part in enumerate(parts):
        behind += len(part) + bool(part)
        if position < behind:
            return number
    return None


def _check(claim: str, atom: Atom, matcher: Matcher) -> AtomCheck:
    text = claim[atom.start : atom.end]
    line = matcher.line_of(atom)
    if line is None and (filled := matcher.filled_by(atom)):
        line, placeholder = filled
        return AtomCheck(atom.kind, text, atom.start, atom.end, line, placeholder=placeholder)
    return AtomCheck(atom.kind, text, atom.start, atom.end, line)


def _with_places(
    atoms: Sequence[Atom],
    checks: Sequence[AtomCheck],
    others: Sequence[Matcher],
) -> list[AtomCheck]:
    """Add to missing atoms the other lines that hold them."""
    placed, left = [], _MAX_PLACED
    for atom, check in zip(atoms, checks, strict=True):
        if check.found or left == 0:
            placed.append(check)
            continue
        left -= 1
        where = [number for number, other in enumerate(others) if other.line_of(atom) is not None]
        placed.append(check._replace(elsewhere=tuple(where)))
    return placed


def _filled(checks: Sequence[AtomCheck]) -> list[SupportWarning]:
    return [
        SupportWarning(
            WarningKind.FILLED_PLACEHOLDER, check.text, check.start, check.end, check.line
        )
        for check in checks
        if check.placeholder and check.line is not None
    ]


def _flipped(text: str, said: set[str], index: EvidenceIndex) -> list[SupportWarning]:
    """Find what is denied on one side only."""
    denied = denials(text) if may_deny(said) else []
    if not denied and not may_deny(index.words):
        return []
    denied_by_line = [
        {found.stem for found in denials(line)} if may_deny(there) else set()
        for line, there in zip(index.lines, index.words_by_line, strict=True)
    ]
    told = {found.stem for found in denied}
    asserted = occurrences(text, set().union(*denied_by_line) - told)
    wanted = told | {found.stem for found in asserted}
    stances = stances_of(wanted, index.words_by_line, denied_by_line) if wanted else {}
    flipped = [it for it in denied if it.stem in stances and not stances[it.stem].denied]
    flipped += [it for it in asserted if stances[it.stem].always_denied]
    return [
        SupportWarning(
            WarningKind.NEGATION, text[it.start : it.end], it.start, it.end, stances[it.stem].line
        )
        for it in sorted(flipped)
    ]
