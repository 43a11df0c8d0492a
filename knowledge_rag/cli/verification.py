"""Carries out ``knowledge-rag verify``: reads the files, reviews, looks at the documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_rag.cli.input_files import input_name, read_input
from knowledge_rag.core.errors import InvalidRequest, UnreadableResponse
from knowledge_rag.core.lines import decode
from knowledge_rag.core.response import read_json
from knowledge_rag.guardrails.evidence_file import read_evidence
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.positions import Positions
from knowledge_rag.guardrails.review import ReviewSettings, review
from knowledge_rag.guardrails.rules import Finding, Rule, in_order
from knowledge_rag.guardrails.staleness import CitedLines, State, compare_all
from knowledge_rag.guardrails.staleness_report import describe
from knowledge_rag.guardrails.verify import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.core.outcome import DropReason, Reason
    from knowledge_rag.guardrails.evidence_file import EvidenceFile
    from knowledge_rag.guardrails.review import Review
    from knowledge_rag.guardrails.staleness import Staleness


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of it.

    Args:
        name: of the answer's file, for people.
        sources: names of the files of evidence, in their order.
        review: of the answer; its findings are also those of the evidence and of the documents.
        evidence: of each file.
        staleness: of each distinct citation, in order; empty without a corpus.
    """

    name: str
    sources: tuple[str, ...]
    review: Review
    evidence: tuple[EvidenceFile, ...]
    staleness: tuple[Staleness, ...]

    @property
    def passages(self) -> int:
        """How many passages may be cited."""
        return sum(len(one.passages) for one in self.evidence)

    @property
    def unproven(self) -> int:
        """How many of them no hash binds to their file and lines."""
        return sum(not passage.proven for one in self.evidence for passage in one.passages)

    @property
    def dropped(self) -> dict[DropReason, int]:
        """How many passages can't be cited, by reason."""
        counts: dict[DropReason, int] = {}
        for one in self.evidence:
            for reason, count in one.dropped.items():
                counts[reason] = counts.get(reason, 0) + count
        return counts

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Of the searches that could not be carried out."""
        return tuple(reason for one in self.evidence for reason in one.reasons)


def run(
    answer: str | None, evidence: Sequence[str], corpus: Path | None, *, mark: bool
) -> Verification:
    """Verify an answer.

    Args:
        answer: path of its file, ``-`` for standard input; ``None`` for the one in the evidence.
        evidence: paths of the files of its evidence, in the order of retrieval.
        corpus: folder of the documents as they are now, if they are to be looked at.
        mark: whether to mark what is taken out.

    Raises:
        UnreadableDocument: a file is no text.
        InvalidRequest: a file is missing or can't be read, holds no evidence, or no answer; a blank
            one is none, since it is a defect of what should have written it.
        UnusableCorpus: the folder holds no documents.
    """
    read = tuple(_evidence(path) for path in evidence)
    name, text = _answer(answer, evidence, read)
    ledger = Ledger.of(*([passage.result for passage in one.passages] for one in read))
    failed = [reason for one in read for reason in one.reasons]
    reviewed = review(text, ledger, ReviewSettings(Settings(mark=mark)), failed=failed)
    staleness = _staleness(reviewed, corpus) if corpus else ()
    unproven = () if corpus else _unproven(read)
    findings = in_order((*reviewed.findings, *_stale(reviewed, staleness), *unproven))
    sources = tuple(map(input_name, evidence))
    return Verification(name, sources, replace(reviewed, findings=findings), read, staleness)


def _evidence(path: str) -> EvidenceFile:
    text = _read(path)
    try:
        return read_evidence(_documents(text))
    except UnreadableResponse as error:
        raise InvalidRequest(f"{input_name(path)}: {error}") from error


def _documents(text: str) -> object:
    """Decode JSON, or one JSON document a line: how events of a stream are kept."""
    try:
        return read_json(text)
    except UnreadableResponse:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2 or not lines[0].lstrip().startswith("{"):
            raise
        return [read_json(line) for line in lines]


def _answer(
    path: str | None, evidence: Sequence[str], read: Sequence[EvidenceFile]
) -> tuple[str, str]:
    if path is not None:
        text = _read(path)
        if not any(map(str.isalnum, text)):
            raise InvalidRequest(f"{input_name(path)}: no answer in it, not a letter or digit")
        return input_name(path), text
    for where, one in zip(evidence, read, strict=True):
        if one.answer:
            return input_name(where), one.answer
    raise InvalidRequest(
        f"{', '.join(map(input_name, evidence))}: no answer in it; name its file with --answer"
    )


def _read(path: str) -> str:
    return decode(read_input(path), input_name(path))


def _staleness(reviewed: Review, corpus: Path) -> tuple[Staleness, ...]:
    from knowledge_rag.local.corpus import CorpusFiles

    cited = {one.citation: one for one in reviewed.verified.citations}
    lines = [CitedLines.part(one, reviewed.ledger) for one in cited.values()]
    return compare_all(lines, CorpusFiles(corpus))


def _stale(reviewed: Review, staleness: Sequence[Staleness]) -> Iterator[Finding]:
    """Find the references to lines that are no longer where they were, or what they were."""
    state = {one.citation: one for one in staleness}
    positions = Positions(reviewed.verified.removed)
    for cited in reviewed.verified.citations:
        found = state.get(cited.citation)
        if found is not None and found.state is not State.SAME:
            moved = found.state is State.MOVED and not found.is_contradicted
            rule = Rule.MOVED_CITATION if moved else Rule.STALE_CITATION
            yield Finding(rule, describe(found), *positions.written((cited.start, cited.end)))


def _unproven(read: Sequence[EvidenceFile]) -> Iterator[Finding]:
    """Find evidence that nothing binds to its lines, where no documents are at hand either."""
    passages = [passage for one in read for passage in one.passages]
    unproven = sum(not passage.proven for passage in passages)
    if unproven:
        message = f"{unproven} of {len(passages)} passages carry no hash that binds them to their lines; --corpus holds them against the files."
        yield Finding(Rule.UNPROVEN_EVIDENCE, message, 0, 0)
