"""Does what a claim states stand in the lines it cites? Checked without a model.

Two things decide: every atom must be in the cited lines, and enough of the claim's content words.
Negation and filled-in placeholders are warnings. What the checks can't see is said in
docs/guardrails.md.
"""

from __future__ import annotations

from dataclasses import replace
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
    STOP_WORDS,
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

DEFAULTS: Final = SupportSettings()


def check_support(
    claim: str,
    lines: Sequence[str],
    settings: SupportSettings = DEFAULTS,
    *,
    elsewhere: Sequence[str] = (),
) -> SupportReport:
    """Check a claim against the lines that it cites.

    Args:
        claim: what is said, as Markdown, with or without its reference; offsets count in it.
        lines: the cited lines, in order; indices count in them.
        settings: how strictly.
        elsewhere: other lines, of the same file say: a missing atom is looked for there, too.

    Returns:
        The verdict, each atom with where it was found, the coverage and the warnings. A claim that
        is a quotation (the cited lines hold it, white space aside) is always supported.
    """
    text, index = plain(claim), EvidenceIndex(lines)
    atoms = [atom for atom in find_atoms(claim, text) if atom.kind in settings.kinds]
    said = words(text)
    quoted = _quoted(claim, lines) if atoms or said else None
    matcher = Matcher(index, settings)
    checks = tuple(_check(atom, matcher, quoted) for atom in atoms)
    if elsewhere and not all(check.found for check in checks):
        checks = _with_places(atoms, checks, elsewhere, settings)
    content = set(said) - STOP_WORDS - set(words(" ".join(atom.text for atom in atoms)))
    missing = uncovered(content, index.words) if quoted is None else set()
    coverage = 1 - len(missing) / len(content) if len(content) >= settings.min_words else None
    return SupportReport(
        _verdict(checks, coverage, settings),
        checks,
        coverage,
        tuple(word for word in dict.fromkeys(said) if word in missing),
        (*_filled(checks), *_flipped(text, set(said), index)),
    )


def _verdict(
    checks: Sequence[AtomCheck], coverage: float | None, settings: SupportSettings
) -> Verdict:
    if not checks and coverage is None:
        return Verdict.NOTHING_TO_CHECK
    enough = coverage is None or coverage >= settings.min_coverage
    return Verdict.SUPPORTED if enough and all(c.found for c in checks) else Verdict.UNSUPPORTED


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


def _check(atom: Atom, matcher: Matcher, quoted: int | None) -> AtomCheck:
    line, placeholder = matcher.line_of(atom), ""
    if line is None:
        line, placeholder = (
            (quoted, "") if quoted is not None else matcher.filled_by(atom) or (None, "")
        )
    return AtomCheck(atom.kind, atom.text, atom.start, atom.end, line, placeholder=placeholder)


def _with_places(
    atoms: Sequence[Atom],
    checks: Sequence[AtomCheck],
    elsewhere: Sequence[str],
    settings: SupportSettings,
) -> tuple[AtomCheck, ...]:
    """Add to missing atoms the other lines that hold them."""
    others = [Matcher(EvidenceIndex([line]), settings) for line in elsewhere]
    placed, left = [], _MAX_PLACED
    for atom, check in zip(atoms, checks, strict=True):
        if check.found or left == 0:
            placed.append(check)
            continue
        left -= 1
        where = tuple(
            number for number, matcher in enumerate(others) if matcher.line_of(atom) is not None
        )
        placed.append(replace(check, elsewhere=where))
    return tuple(placed)


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
    given_denies = may_deny(index.words)
    if not denied and not given_denies:
        return []
    stances = stances_of(index.lines)
    if given_denies:
        told = {found.stem for found in denied}
        doubtful = {word for word, it in stances.items() if it.always_denied} - told
        flipped = occurrences(text, doubtful)
    else:
        flipped = []
    flipped += [it for it in denied if it.stem in stances and not stances[it.stem].denied]
    return [
        SupportWarning(
            WarningKind.NEGATION, text[it.start : it.end], it.start, it.end, stances[it.stem].line
        )
        for it in sorted(flipped)
    ]
