"""Verifies an answer for `knowledge-rag verify`, and shows the findings as text, JSON or SARIF."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from knowledge_rag.cli.inputs import input_name, read_input
from knowledge_rag.cli.prose import Markup, barred, cut, laid_out
from knowledge_rag.cli.terminal import print_sentence, width_of
from knowledge_rag.core.errors import InvalidRequest, UnreadableResponse
from knowledge_rag.core.lines import decode
from knowledge_rag.core.locating import RawPassage, locate
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import DropReason
from knowledge_rag.core.sarif import Region, SarifResult, SarifRule, sarif_log
from knowledge_rag.core.version import VERSION
from knowledge_rag.guardrails.evidence_file import (
    decoded_evidence,
    evidence_of,
    read_items,
    with_lines,
)
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.review import Positions, TextPositions, places, review, review_json
from knowledge_rag.guardrails.rules import Finding, Level, Rule, in_order
from knowledge_rag.guardrails.staleness import CitedLines, State, compare_all, describe, to_dict
from knowledge_rag.guardrails.verify import Settings
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from knowledge_rag.guardrails.evidence_file import EvidenceFile, Item
    from knowledge_rag.guardrails.review import Review
    from knowledge_rag.guardrails.staleness import Staleness


@dataclass(frozen=True, slots=True)
class Verification:
    """A verified answer: its file's name, and the names and content of the files of evidence, in order.

    ``review`` includes the findings on the evidence and the documents; ``staleness`` is of each distinct citation, in
    order, and empty without a corpus.
    """

    name: str
    sources: tuple[str, ...]
    review: Review
    evidence: tuple[EvidenceFile, ...]
    staleness: tuple[Staleness, ...]


def run(
    answer: str | None, evidence: Sequence[str], corpus: Path | None, *, mark: bool
) -> Verification:
    """Verify an answer.

    Raises:
        UnreadableDocument: a file is not text.
        InvalidRequest: a file is missing or can't be read, or has no evidence or no answer.
        UnusableCorpus: the folder has no documents.
    """
    read = _evidence(evidence, corpus)
    name, text = _answer(answer, evidence, read)
    ledger = Ledger.of(*([passage.result for passage in one.passages] for one in read))
    failed = [reason for one in read for reason in one.reasons]
    reviewed = review(text, ledger, Settings(mark=mark), failed=failed)
    staleness = _staleness(reviewed, corpus) if corpus else ()
    unproven = () if corpus else _unproven(read)
    findings = in_order((*reviewed.findings, *_stale(reviewed, staleness), *unproven))
    sources = tuple(map(input_name, evidence))
    return Verification(name, sources, replace(reviewed, findings=findings), read, staleness)


def evidence_items(path: str) -> list[Item]:
    """Read the items in a file of evidence.

    Raises:
        UnreadableDocument: it is not text.
        InvalidRequest: it is missing or can't be read, or has no evidence.
    """
    text = _read(path)
    try:
        return read_items(decoded_evidence(text))
    except UnreadableResponse as error:
        raise InvalidRequest(f"{input_name(path)}: {error}") from error


def _evidence(paths: Sequence[str], corpus: Path | None) -> tuple[EvidenceFile, ...]:
    files = [evidence_items(path) for path in paths]
    sources = [item.source for items in files for item in items if isinstance(item, RawPassage)]
    locate_in_corpus = None
    if corpus is not None and sources:
        from knowledge_rag.local.corpus_files import FolderOriginals

        locate_in_corpus = partial(locate, original_of=FolderOriginals(corpus, sources))
    return tuple(evidence_of(with_lines(items, locate_in_corpus)) for items in files)


def _answer(
    path: str | None, evidence: Sequence[str], read: Sequence[EvidenceFile]
) -> tuple[str, str]:
    if path is not None:
        text = _read(path)
        if not any(map(str.isalnum, text)):
            raise InvalidRequest(f"{input_name(path)}: no answer in it, not even a letter or digit")
        return input_name(path), text
    for where, one in zip(evidence, read, strict=True):
        if one.answer:
            return input_name(where), one.answer
    raise InvalidRequest(
        f"{', '.join(map(input_name, evidence))}: no answer in it; pass its file with --answer"
    )


def _read(path: str) -> str:
    return decode(read_input(path), input_name(path))


def _staleness(reviewed: Review, corpus: Path) -> tuple[Staleness, ...]:
    from knowledge_rag.local.corpus_files import CorpusFiles

    cited = {one.citation: one for one in reviewed.verified.citations}
    lines = [CitedLines.part(one, reviewed.ledger) for one in cited.values()]
    return compare_all(lines, CorpusFiles(corpus))


def _stale(reviewed: Review, staleness: Sequence[Staleness]) -> Iterator[Finding]:
    """Find references to lines that moved or changed."""
    state = {one.citation: one for one in staleness}
    positions = Positions(reviewed.verified.removed)
    for cited in reviewed.verified.citations:
        found = state.get(cited.citation)
        if found is not None and found.state is not State.SAME:
            moved = found.state is State.MOVED and not found.is_contradicted
            rule = Rule.MOVED_CITATION if moved else Rule.STALE_CITATION
            yield Finding(rule, describe(found), *positions.written((cited.start, cited.end)))


def _unproven(read: Sequence[EvidenceFile]) -> Iterator[Finding]:
    """Find evidence that no hash binds to its lines."""
    passages = [passage for one in read for passage in one.passages]
    if unproven := sum(not passage.proven for passage in passages):
        message = f"{unproven} of {len(passages)} passages have no hash that binds them to their lines; --corpus compares them with the files."
        yield Finding(Rule.UNPROVEN_EVIDENCE, message, 0, 0)


_STYLES = {Level.ERROR: "red", Level.WARNING: "yellow"}
_APART: Final = "    "
"""Indent of a message's further rows."""
_LOSSES: Final = {
    DropReason.NOT_TEXT: "no text",
    DropReason.NO_CITATION: "no file and lines",
    DropReason.NOT_PROVEN: "the text doesn't match its hash or its number of lines",
    DropReason.UNLOCATED: "their documents don't have exactly this text",
    DropReason.AMBIGUOUS: "their documents have this text in several places",
    DropReason.UNREAD: "--corpus has no such document",
}
"""Why a passage is no evidence; dropping a second copy loses nothing."""


def as_json(done: Verification) -> dict[str, Any]:
    """Return the review, the state of the evidence, and that of the documents."""
    passages = [passage for one in done.evidence for passage in one.passages]
    dropped: Counter[str] = Counter()
    for one in done.evidence:
        dropped.update({reason.value: count for reason, count in one.dropped.items()})
    return {
        "verified": not done.review.errors,
        **review_json(done.review),
        "evidence": {
            "passages": len(passages),
            "proven": sum(passage.proven for passage in passages),
            "dropped": dict(dropped),
            "degraded": [reason.value for one in done.evidence for reason in one.reasons],
        },
        "staleness": [to_dict(one) for one in done.staleness],
    }


def as_sarif(done: Verification) -> dict[str, Any]:
    """Return the findings as SARIF, at their places in the answer."""
    positions = TextPositions(done.review.answer)
    rules = [SarifRule(rule.value, rule.description, rule.level.value) for rule in Rule]
    results = [
        SarifResult(one.rule.value, one.message, _region_of(done.name, one, positions))
        for one in done.review.findings
    ]
    return sarif_log(VERSION, rules, results)


def losses(done: Verification) -> Iterator[str]:
    """Yield the number of unusable passages for each file of evidence, and why they can't be cited."""
    for name, one in zip(done.sources, done.evidence, strict=True):
        lost = {reason: count for reason, count in one.dropped.items() if reason in _LOSSES}
        total = len(one.passages) + sum(one.dropped.values())
        if lost:
            why = "; ".join(f"{_LOSSES[reason]} ({count})" for reason, count in lost.items())
            passages = f"{sum(lost.values())} of {counted(total, 'passage')}"
            yield f"{name}: {passages} can't be cited: {why}"


def show_review(console: Console, done: Verification, *, explain: bool = False) -> None:
    """Show the verified answer behind bars, then the findings, then a summary line."""
    width = width_of(console)
    shown = neutralise(done.review.verified.text.rstrip("\n"))
    for row in barred(shown, width):
        console.file.write("".join(text for text, _ in row) + "\n")
    console.print()
    positions = TextPositions(done.review.answer)
    name = " ".join(done.name.split())
    for one in done.review.findings:
        line, column = positions.line_and_column(one.start)
        where = f"{name}:{line}:{column}: "
        message = " ".join([*one.message.split(), f"[{one.rule}]"])
        level = one.rule.level
        first = [(neutralise(where), "bold"), (f"{level.value}: ", _STYLES[level])]
        # a message quotes the answer: its further rows are set apart from the product's own lines
        lines = laid_out(message, width, first=first, rest=_APART, markdown=Markup.NONE)
        for row in cut(lines, width, _APART):
            console.print(Text.assemble(*row), soft_wrap=True)
    if done.review.findings:
        console.print()
    if explain:
        _show_claims(console, done)
    print_sentence(console, _summary(done), "red" if done.review.errors else "green")


def _show_claims(console: Console, done: Verification) -> None:
    """Show each cited claim behind bars, with its checks and the places of its details."""
    for judged in done.review.backing.claims:
        width = width_of(console)
        for row in barred(neutralise(judged.claim.said.strip()), width):
            console.file.write("".join(text for text, _ in row) + "\n")
        cited = neutralise(places(judged.lines))
        console.print(Text(f"{_APART}{cited}"), soft_wrap=True)
        console.print(Text(f"{_APART}{judged.checked}"), soft_wrap=True)
        for atom in judged.report.atoms:
            found = [] if atom.line is None else [judged.lines[atom.line]]
            where = places(found) if found else "not found"
            line = neutralise(" ".join(f"{atom.kind} {atom.text}: {where}".split()))
            console.print(Text(f"{_APART}{line}"), soft_wrap=True)
        console.print()


def _summary(done: Verification) -> str:
    verified, claims = done.review.verified, done.review.backing.claims
    removed = len(verified.removed)
    references = verified.metrics.references + removed
    atoms = sum(len(one.report.atoms) for one in claims)
    lost = sum(len(one.missing) for one in claims)
    parts = [
        f"References resolved: {verified.metrics.references} of {references}",
        f"commands, names and numbers found: {atoms - lost} of {atoms}",
        f"cited claims without an error: {sum(one.supported for one in claims)} of {len(claims)}",
        counted(len(done.review.errors), "error"),
        counted(len(done.review.findings) - len(done.review.errors), "warning"),
    ]
    return "; ".join(parts) + ". Not checked: meaning."


def _region_of(name: str, finding: Finding, positions: TextPositions) -> Region:
    start_line, start_column = positions.line_and_column(finding.start)
    end_line, end_column = positions.line_and_column(finding.end)
    path = name.encode(errors="replace").decode()  # bytes of a name that are not text
    return Region(path, start_line, end_line, start_column, end_column)
