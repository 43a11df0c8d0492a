"""Measures how well the support checks detect claims that their source doesn't support.

It uses guidance from documents that is changed in one place (flags, hosts, numbers, ...) or cited wrongly, at
random with fixed seeds; and labelled claims, if files of them are given. Settings were chosen on one half of
the documents; figures are of the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from benchmarks.guardrails.cases import CHUNK_CITED, Case, build_cases
from benchmarks.guardrails.report import MISPLACED, NEGATION, CheckRow, FamilyRow, GuardrailsReport
from benchmarks.guardrails.timing import time_answers, time_verify
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.evaluation.claims_eval import load_claims
from knowledge_rag.guardrails.support.check import check_support
from knowledge_rag.guardrails.support.report import (
    MIN_COVERAGE,
    AtomKind,
    Change,
    SupportReport,
    Verdict,
    WarningKind,
)
from knowledge_rag.local.corpus import find_documents
from knowledge_rag.local.corpus_files import read_extracted
from knowledge_rag.local.errors import UnusableCorpus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from knowledge_rag.core.chunks import Document

AIMED_RECALL: Final = 0.96
"""Target on the choosing half; stricter than required, because the other half differs."""

_COVERAGES: Final = tuple(step / 20 for step in range(21))

_Judged = tuple[Case, SupportReport]
_Fires = Callable[[SupportReport], bool]


def run_guardrails_bench(folders: Sequence[Path], claims: Sequence[Path] = ()) -> GuardrailsReport:
    """Measure the support checks.

    Args:
        folders: folders of documents with guidance.
        claims: files of labelled claims, JSON Lines.

    Raises:
        UnusableCorpus: a folder has no documents, or there is too little guidance for both halves.
        InvalidRequest: a row in a file of claims isn't a claim.
        UnreadableDocument: a file of claims can't be read.
    """
    sets = {path.name: _cases_of(path) for path in claims}
    documents = [document for folder in folders for document in _documents(folder)]
    cases = build_cases(documents)
    chosen_on = _judged(case for case in cases if case.chooses)
    reported = _judged(case for case in cases if not case.chooses)
    if not chosen_on or not reported:
        raise UnusableCorpus("too little guidance: give folders with more documents")
    return GuardrailsReport(
        documents=len({case.document for case in cases}),
        min_coverage=MIN_COVERAGE,
        chosen_coverage=_least_coverage(chosen_on),
        families=_families(reported),
        checks=_checks(reported),
        claims={name: _claim_rows(_judged(found)) for name, found in sets.items()},
        timing=time_answers([case for case, _ in reported if case.supported]),
        verify_timing=time_verify(documents),
    )


def _cases_of(path: Path) -> list[Case]:
    return [
        Case(it.id, path.name, it.claim, it.evidence, supported=it.supported)
        for it in load_claims(path)
    ]


def _documents(folder: Path) -> list[tuple[Document, str]]:
    documents = []
    for file in find_documents(folder):
        try:
            read = read_extracted(file)
        except UnreadableDocument:
            continue  # the benchmark is about claims; `ingest` reports such a file
        documents.append((read.document, read.text))
    return documents


def _judged(cases: Iterable[Case]) -> list[_Judged]:
    return [(case, check_support(case.claim, case.lines)) for case in cases]


def _alarm(report: SupportReport) -> bool:
    return report.verdict is Verdict.UNSUPPORTED


def _denies(report: SupportReport) -> bool:
    return any(warning.kind is WarningKind.NEGATION for warning in report.warnings)


def _families(judged: Sequence[_Judged]) -> tuple[FamilyRow, ...]:
    cases = Counter((not case.supported, case.family) for case, _ in judged)
    alarms = Counter((not case.supported, case.family) for case, it in judged if _alarm(it))
    warned = Counter((not case.supported, case.family) for case, it in judged if _denies(it))
    return tuple(
        FamilyRow(key[1], not key[0], count, alarms[key] / count, warned[key] / count)
        for key, count in sorted(cases.items())
    )


def _least_coverage(judged: Sequence[_Judged]) -> float | None:
    """Return the least coverage that finds enough of the wrong citations.

    The least, because these rewordings keep their content words, unlike people's: a higher one would cause
    false alarms that the benchmark can't show.
    """
    wrong = [it for case, it in judged if case.family == MISPLACED]
    for coverage in _COVERAGES:
        found = sum(bool(it.missing) or _below(it, coverage) for it in wrong)
        if found >= AIMED_RECALL * len(wrong):
            return coverage
    return None


def _below(report: SupportReport, coverage: float) -> bool:
    return report.coverage is not None and report.coverage < coverage


def _fires_for(kind: AtomKind) -> _Fires:
    return lambda report: any(atom.kind is kind for atom in report.missing)


def _changes(change: Change) -> _Fires:
    return lambda report: any(it.certain and it.change is change for it in report.contradictions)


_CHECKS: Final[Mapping[str, _Fires]] = {
    **{kind.value: _fires_for(kind) for kind in AtomKind},
    **{f"changed {change}": _changes(change) for change in Change},
    "coverage": lambda report: _below(report, MIN_COVERAGE),
    NEGATION: _denies,
}
_MADE_FOR: Final[Mapping[str, frozenset[str]]] = {
    **{kind.value: frozenset({kind.value}) for kind in AtomKind},
    "number": frozenset({"number", "unit", "comparison"}),
    "coverage": frozenset({MISPLACED}),
    NEGATION: frozenset({NEGATION}),
    "changed negation": frozenset({NEGATION, "negation dropped"}),
    "changed condition": frozenset(
        {"if dropped", "unless dropped", "only dropped", "condition dropped"}
    ),
    "changed opposite": frozenset({"opposite"}),
    "changed value": frozenset({f"{it} swapped, {CHUNK_CITED}" for it in ("name", "number")}),
    "changed order": frozenset({"order reversed", "steps reversed"}),
    "changed clause": frozenset({"clause appended"}),
    "changed danger": frozenset({"clause appended"}),
}


def _checks(judged: Sequence[_Judged]) -> tuple[CheckRow, ...]:
    known = {case.family for case, _ in judged}
    rows = [
        _check_row(name, fires, judged, families)
        for name, fires in _CHECKS.items()
        if (families := _MADE_FOR[name]) & known
    ]
    return tuple(rows)


def _claim_rows(judged: Sequence[_Judged]) -> tuple[CheckRow, ...]:
    rows = [_check_row(name, fires, judged) for name, fires in _CHECKS.items()]
    fired = [row for row in rows if row.caught or row.false]
    return (_check_row("any", _alarm, judged), *fired)


def _check_row(
    name: str, fires: _Fires, judged: Sequence[_Judged], families: frozenset[str] | None = None
) -> CheckRow:
    """Count the claims that a check reports; of unsupported ones, those of some families or all."""
    wrong = [
        it
        for case, it in judged
        if not case.supported and (families is None or case.family in families)
    ]
    right = [it for case, it in judged if case.supported and not case.family.endswith(CHUNK_CITED)]
    caught = [it for it in wrong if fires(it)]
    others = [each for other, each in _CHECKS.items() if other not in {name, NEGATION}]
    alone = sum(not any(other(it) for other in others) for it in caught)
    return CheckRow(name, len(caught), alone, sum(map(fires, right)), len(wrong), len(right))
