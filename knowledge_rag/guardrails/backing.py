"""Checks whether the lines that an answer cites back its text, claim by claim.

A citation is real by construction; this module judges whether it is to the point, without a model.
docs/verify.md lists the limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.metadata import SECTION_PATH, TITLE
from knowledge_rag.guardrails.claims import claims_of
from knowledge_rag.guardrails.support.check import check_support
from knowledge_rag.guardrails.support.report import DOUBTED, MIN_COVERAGE, AtomKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.guardrails.characters import Span
    from knowledge_rag.guardrails.claims import Claim
    from knowledge_rag.guardrails.ledger import Cited, Evidence, Ledger
    from knowledge_rag.guardrails.support.report import AtomCheck, SupportReport
    from knowledge_rag.guardrails.verify import Verified

_KNOWN_OF_DOCUMENT: Final = (TITLE, SECTION_PATH, "service", "incident_id")
"""Metadata that a claim may name though the cited lines don't: it applies to them all."""
_NAMES: Final = frozenset(
    {AtomKind.IDENTIFIER, AtomKind.HOST, AtomKind.NUMBER, AtomKind.DATE, AtomKind.PATH}
)
"""Atoms that a document's metadata backs; not commands, since no hash binds the metadata."""


class Place(NamedTuple):
    """One line of a file, 1-based."""

    source_file: str
    line: int


@dataclass(frozen=True, slots=True)
class Missing:
    """An atom of a claim that isn't in the cited lines.

    Args:
        atom: with its kind; its offsets count in the claim's text.
        span: of the atom in the answer.
        elsewhere: other retrieved lines that have it, in the ledger's order.
    """

    atom: AtomCheck
    span: Span
    elsewhere: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim compared with the lines that it cites.

    Args:
        claim: of the answer.
        report: of the support checks; line indices count in ``lines``.
        lines: the cited lines, each once.
        missing: atoms that are neither in them nor in their document's metadata.
        covered: whether they have enough of the claim's words.
        doubt: how likely it is that they don't support the claim, 0..1; 0 if unknown.
    """

    claim: Claim
    report: SupportReport
    lines: tuple[Place, ...]
    missing: tuple[Missing, ...]
    covered: bool
    doubt: float

    @property
    def supported(self) -> bool:
        """Whether the cited lines back the claim, or nothing in it can be checked."""
        return self.covered and not self.missing and not self.report.contradicted

    @property
    def doubted(self) -> bool:
        """Whether the score rates it as unsupported rather than supported."""
        return self.doubt >= DOUBTED

    @property
    def checked(self) -> str:
        """The checks against the cited lines in words, with how much was found."""
        atoms = self.report.atoms
        details = (
            f"commands, names and numbers found: {len(atoms) - len(self.missing)} of {len(atoms)}"
        )
        if self.report.language:
            return f"{details}; words not checked: not in English"
        coverage = self.report.coverage
        words = "" if coverage is None else f"; words found: {coverage:.0%}"
        doubt = "" if self.report.doubt is None else f"; doubt: {self.doubt:.0%}"
        return f"{details}{words}{doubt}; not checked: meaning"


@dataclass(frozen=True, slots=True)
class Backing:
    """The judged claims of an answer.

    Args:
        claims: those with citations, in order.
        uncited_code: spans of code blocks that no citation backs.
        uncited_commands: spans of commands and flags outside them that no citation backs and no
            retrieved line contains.
    """

    claims: tuple[Judged, ...]
    uncited_code: tuple[Span, ...]
    uncited_commands: tuple[Span, ...] = ()


def judge(verified: Verified, ledger: Ledger) -> Backing:
    """Judge each claim of a verified answer by the lines that it cites.

    Args:
        verified: the result of :func:`~knowledge_rag.guardrails.verify.verify`.
        ledger: the one that it was verified against.
    """
    claims = claims_of(verified)
    judge = _Judge(ledger)
    commands = judge.unknown_commands(verified.text, claims.uncited)
    return Backing(tuple(map(judge.judge, claims.cited)), claims.uncited_code, tuple(commands))


class _Judge:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        places = dict(line for entry in ledger.entries for line in _lines(entry))
        self._places, self._texts = list(places), list(places.values())

    def judge(self, claim: Claim) -> Judged:
        cited = dict(line for one in claim.citations for line in _lines(one))
        context = self._context(claim.citations)
        lines = list(cited.values())
        report = check_support(claim.said, lines, elsewhere=[*context, *self._texts])
        missing = tuple(self._missing(claim, report.missing, len(context)))
        coverage, doubt = report.coverage, report.doubt or 0.0
        named = len(missing) < len(report.missing)
        if named or doubt >= DOUBTED:  # it names its document, so its words may be from there, too
            wider = check_support(claim.said, [*lines, *context])
            coverage = wider.coverage if named else coverage
            doubt = min(doubt, wider.doubt or 0.0)
        covered = coverage is None or coverage >= MIN_COVERAGE
        return Judged(claim, report, tuple(cited), missing, covered, doubt)

    def unknown_commands(self, text: str, uncited: Iterable[Span]) -> Iterator[Span]:
        """Find commands that no citation backs and no retrieved line contains."""
        for start, end in uncited:
            for atom in check_support(text[start:end], self._texts).missing:
                if atom.kind in (AtomKind.COMMAND, AtomKind.FLAG):
                    yield start + atom.start, start + atom.end

    def _context(self, citations: Iterable[Cited]) -> list[str]:
        numbers = dict.fromkeys(cited.number for cited in citations)
        return [_known_of(self._ledger.results[number - 1]) for number in numbers]

    def _missing(self, claim: Claim, atoms: Iterable[AtomCheck], context: int) -> Iterable[Missing]:
        for atom in atoms:
            if atom.kind in _NAMES and atom.elsewhere and atom.elsewhere[0] < context:
                continue
            span = (claim.position(atom.start), claim.position(atom.end))
            elsewhere = (index - context for index in atom.elsewhere if index >= context)
            places = tuple(self._places[index] for index in elsewhere)
            yield Missing(atom, span, places)


def _known_of(result: RetrievalResult) -> str:
    values = (result.metadata.get(name) for name in _KNOWN_OF_DOCUMENT)
    known = [value for value in values if isinstance(value, str)]
    return "; ".join([result.citation.source_file, result.citation.section_header, *known])


def _lines(cited: Cited | Evidence) -> Iterator[tuple[Place, str]]:
    for number, text in enumerate(cited.content.split("\n"), start=cited.citation.start_line):
        yield Place(cited.citation.source_file, number), text
