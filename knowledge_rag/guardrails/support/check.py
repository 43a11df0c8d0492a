"""Checks without a model whether the lines that a claim cites support it.

Three things decide: every atom must be in the cited lines; so must enough of the claim's content words;
and a sentence that the claim repeats must not change its meaning. The rest are warnings, including a
score. docs/verify.md lists the limits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.stemming import stem
from knowledge_rag.guardrails.support.atoms import find_atoms
from knowledge_rag.guardrails.support.contradictions import contradictions
from knowledge_rag.guardrails.support.evidence_index import EvidenceIndex
from knowledge_rag.guardrails.support.lexemes import (
    folded,
    holds_placeholder,
    literals,
    plain,
    without_numbered_references,
)
from knowledge_rag.guardrails.support.quantities import NUMBER_WORDS, Date
from knowledge_rag.guardrails.support.report import (
    MIN_COVERAGE,
    AtomCheck,
    AtomKind,
    SupportReport,
    SupportWarning,
    Verdict,
    WarningKind,
)
from knowledge_rag.guardrails.support.score import Claimed, doubt_of
from knowledge_rag.guardrails.support.wording import (
    OWN_WORDS,
    denials,
    foreign,
    may_deny,
    occurrences,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowledge_rag.guardrails.support.atoms import Atom
    from knowledge_rag.guardrails.support.quantities import Quantity

_NOUN: Final = 40
"""Maximum characters after a number to search for the word that it counts."""
_CASE_COUNTS: Final = (AtomKind.FLAG, AtomKind.PATH)
_OPPOSITE: Final = {">": "<", "<": ">"}


class Matcher:
    """Finds atoms in the lines of an index."""

    def __init__(self, index: EvidenceIndex) -> None:
        self._index = index
        self._open_names = 0

    def line_of(self, atom: Atom) -> int | None:
        """Return the index of the first line that states an atom; ``None`` if none does."""
        if isinstance(atom.value, str):
            return self._name(atom, atom.value)
        if isinstance(atom.value, Date):
            return self._index.dates.get(atom.value)
        lines = [self._quantity(it, atom.value.direction) for it in atom.value.quantities]
        return None if None in lines else lines[0]

    def filled_by(self, atom: Atom) -> tuple[int, str] | None:
        """Return the line and the placeholder that an atom fills in, or ``None``."""
        if slot := self._index.slots.get(atom.before):
            return slot
        if isinstance(atom.value, str):
            for before, behind, line, placeholder in self._index.templates[:_MAX_TEMPLATES]:
                whole = len(atom.value) > len(before) + len(behind)
                if whole and atom.value.startswith(before) and atom.value.endswith(behind):
                    return line, placeholder
        return None

    def counts_otherwise(self, claim: str, end: int) -> bool:
        """Whether the lines count the things that follow a number word with another number."""
        behind = words(claim[end : end + _NOUN])
        return bool(behind) and stem(behind[0]) in self._index.counted

    def _name(self, atom: Atom, name: str) -> int | None:
        index = self._index
        line = index.names.get(name)
        if line is None:
            line = index.parts.get(name)
        # a sentence begins with a capital, whatever its first word
        if line is None and (atom.kind not in _CASE_COUNTS or not atom.before):
            line = index.folded.get(folded(name))
        if line is None and holds_placeholder(name):
            line = self._around_placeholders(name)
        return line

    def _around_placeholders(self, name: str) -> int | None:
        """Find a name with a placeholder in the claim, by the parts around it."""
        self._open_names += 1
        if self._open_names > _MAX_TEMPLATES:
            return None
        lines = [self._index.line_with(part) for part in literals(name)]
        return lines[0] if lines and None not in lines else None

    def _quantity(self, quantity: Quantity, direction: str) -> int | None:
        """Find a number with its unit, or without one if one side leaves it out."""
        index = self._index
        where = index.quantities.get(quantity.key)
        if where is None:
            if quantity.dimension:
                where = index.quantities.get((quantity.written, ""))
            else:
                return index.written_numbers.get(quantity.written)
        if where is None or where.keys() == {_OPPOSITE.get(direction)}:
            return None
        return min(where.values())


_ATOM_WEIGHT: Final = 2
"""Weight of an atom in coverage, in words: a claim with three right names may use its own words."""
_MIN_WORDS: Final = 2
"""Minimum content words for judging coverage: a single one may well be the writer's own."""
_MAX_TEMPLATES: Final = 32
"""Maximum placeholders within names (``pod/<name>``) to try for one claim; bounds the time for hostile lines."""
_MAX_PLACED: Final = 20
"""Maximum missing atoms of one claim to search for elsewhere, so that time stays linear."""


def check_support(
    claim: str, lines: Sequence[str], *, elsewhere: Sequence[str] = ()
) -> SupportReport:
    """Check a claim against the lines that it cites.

    Args:
        claim: in Markdown, with or without its reference; offsets count in it.
        lines: the cited lines, in order; indices count in them.
        elsewhere: other lines, such as those of the same file, to search for missing atoms.

    Returns:
        The verdict, each atom with its line, the coverage and the warnings. In a quotation (the cited
        lines have the claim, apart from white space), all atoms and words count as found.
    """
    index = (_kept_index if len(lines) <= _MOST_LINES else EvidenceIndex)(tuple(lines))
    text = plain_claim(claim, index)
    said = dict.fromkeys(words(text))
    atoms = find_atoms(text)
    atoms, checks = _checks(claim, atoms, Matcher(index))
    in_atoms = words(" ".join([check.text for check in checks]))
    content = set(said).difference(OWN_WORDS, in_atoms)
    missing = index.uncovered(content)
    lost = _lost(checks)
    if missing or lost:
        checks, missing = _unless_quoted(claim, lines, checks, missing)
        lost = _lost(checks)
    if elsewhere and lost:
        apart = _kept_apart if len(elsewhere) <= _MOST_LINES else _each_alone
        others = [Matcher(other) for other in apart(tuple(elsewhere))]
        checks = _with_places(atoms, checks, others)
    if language := foreign(text, said.keys()) or index.language:
        verdict = _verdict(len(checks), lost, None)
        return SupportReport(
            verdict, tuple(checks), None, (), tuple(_filled(checks)), language=language
        )
    words_said = len(content) >= _MIN_WORDS or bool(checks)
    coverage = _coverage(len(content), len(missing), len(checks), lost)
    found = contradictions(text, index.stream)
    contradicted = any(it.certain for it in found)
    return SupportReport(
        Verdict.UNSUPPORTED if contradicted else _verdict(len(checks), lost, coverage),
        tuple(checks),
        coverage,
        tuple([word for word in said if word in missing]) if missing else (),
        (*_filled(checks), *_flipped(text, said, index)),
        found,
        doubt_of(Claimed(text, index.bag)) if words_said else None,
    )


def plain_claim(claim: str, index: EvidenceIndex) -> str:
    """Return a claim with its markup and references blanked, at the same length."""
    text = plain(claim)
    return text if "[" not in text or index.has_indices else without_numbered_references(text)


_MOST_LINES: Final = 10_000
"""Maximum lines whose index is cached for the next claim, so that memory is bounded."""
_kept_index: Final = lru_cache(maxsize=64)(EvidenceIndex)


def _each_alone(lines: tuple[str, ...]) -> list[EvidenceIndex]:
    return [EvidenceIndex((line,)) for line in lines]


_kept_apart: Final = lru_cache(maxsize=8)(_each_alone)


def _lost(checks: Sequence[AtomCheck]) -> int:
    return [check.line for check in checks].count(None)


def _coverage(words_said: int, words_missing: int, atoms: int, lost: int) -> float | None:
    if words_said < _MIN_WORDS:
        return None
    found = (atoms - lost) * _ATOM_WEIGHT
    return (words_said - words_missing + found) / (words_said + atoms * _ATOM_WEIGHT)


def _verdict(atoms: int, lost: int, coverage: float | None) -> Verdict:
    if not atoms and coverage is None:
        return Verdict.NOTHING_TO_CHECK
    enough = coverage is None or coverage >= MIN_COVERAGE
    return Verdict.SUPPORTED if enough and not lost else Verdict.UNSUPPORTED


def _unless_quoted(
    claim: str, lines: Sequence[str], checks: list[AtomCheck], missing: set[str]
) -> tuple[list[AtomCheck], set[str]]:
    """Count everything as found in a claim that is quoted from the lines, letter for letter."""
    line = _quoted(claim, lines)
    if line is None:
        return checks, missing
    return [it if it.found else it._replace(line=line) for it in checks], set()


def _quoted(claim: str, lines: Sequence[str]) -> int | None:
    """Return the line in which a quoted claim begins; ``None`` if it isn't quoted."""
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


def _checks(
    claim: str, atoms: Sequence[Atom], matcher: Matcher
) -> tuple[list[Atom], list[AtomCheck]]:
    """Return the atoms that count, and the check of each."""
    kept, checks = [], []
    for atom in atoms:
        kind, start, end, _, _ = atom
        line, placeholder = matcher.line_of(atom), ""
        is_word = claim[start:end] in NUMBER_WORDS
        if line is None and is_word and not matcher.counts_otherwise(claim, end):
            continue  # "two causes", where the lines list two
        if line is None and (filled := matcher.filled_by(atom)):
            line, placeholder = filled
        text = claim[start:end]
        kept.append(atom)
        checks.append(AtomCheck(kind, text, start, end, line, (), placeholder))
    return kept, checks


def _with_places(
    atoms: Sequence[Atom],
    checks: Sequence[AtomCheck],
    others: Sequence[Matcher],
) -> list[AtomCheck]:
    """Add to missing atoms the other lines that have them."""
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


def _flipped(text: str, said: Iterable[str], index: EvidenceIndex) -> list[SupportWarning]:
    """Find words that only one side denies."""
    denied = denials(text) if may_deny(said) else []
    if not denied and not index.may_deny:
        return []
    denied_stems = {found.stem for found in denied}
    asserted = occurrences(text, said, index.denied - denied_stems)
    stances = index.stances
    flipped = [it for it in denied if it.stem in stances and not stances[it.stem].denied]
    flipped += [it for it in asserted if stances[it.stem].always_denied]
    return [
        SupportWarning(
            WarningKind.NEGATION, text[it.start : it.end], it.start, it.end, stances[it.stem].line
        )
        for it in sorted(flipped)
    ]
