"""Times the support checks of an answer of 1,000 words, and ``verify`` of a short and a long one."""

from __future__ import annotations

import gc
import time
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from benchmarks.guardrails.cases import CHUNK_CITED
from knowledge_rag.core.chunking import ChunkingSettings, chunk_text
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.support.check import check_support
from knowledge_rag.guardrails.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.guardrails.cases import Case
    from knowledge_rag.core.chunks import Document

_WORDS: Final = 1000
_MOST_ANSWERS: Final = 40


@dataclass(frozen=True, slots=True)
class Timing:
    """CPU time for 1,000 words of claims, each checked against its cited lines; medians.

    Args:
        own_lines_ms: milliseconds if each claim cites its own lines.
        chunks_ms: milliseconds if each claim cites a whole chunk.
        evidence_words: words of the chunks that an answer of 1,000 words cites.
    """

    own_lines_ms: float
    chunks_ms: float
    evidence_words: int


def time_answers(cases: Sequence[Case]) -> Timing:
    """Time supported claims, joined into answers of 1,000 words."""
    narrow = _answers([case for case in cases if case.family == "prefixed"])
    wide = _answers([case for case in cases if case.family == CHUNK_CITED])
    words = [sum(len(line.split()) for case in answer for line in case.lines) for answer in wide]
    return Timing(
        own_lines_ms=round(median(map(_checking_ms, narrow)), 3) if narrow else 0.0,
        chunks_ms=round(median(map(_checking_ms, wide)), 3) if wide else 0.0,
        evidence_words=round(median(words)) if words else 0,
    )


def _answers(cases: Sequence[Case]) -> list[list[Case]]:
    answers: list[list[Case]] = [[]]
    words = 0
    for case in cases:
        answers[-1].append(case)
        words += len(case.claim.split())
        if words >= _WORDS:
            if len(answers) == _MOST_ANSWERS:
                return answers
            answers.append([])
            words = 0
    return answers[:-1]


def _checking_ms(answer: Sequence[Case]) -> float:
    """Return the milliseconds of the best of three rounds; the first one fills the cache of stems."""
    rounds = []
    for _ in range(3):
        started = time.process_time()
        for case in answer:
            check_support(case.claim, case.lines)
        rounds.append((time.process_time() - started) * 1000)
    return min(rounds)


MAX_VERIFY_MS: Final = 1.0
"""Target: maximum milliseconds of CPU time for 1,000 words."""

_LONG: Final = 10_000
_SOURCES: Final = 15
"""Results in the ledger, as from three queries with five each."""
_WORDS_A_REFERENCE: Final = 40
_ROUNDS: Final = 20


@dataclass(frozen=True, slots=True)
class VerifyTiming:
    """CPU time of ``verify`` per 1,000 words, with its checks and metrics; best of its rounds.

    Args:
        short_ms: in an answer of 1,000 words.
        long_ms: in an answer of 10,000 words.
        references: references in the shorter one, half of them to lines and half to numbers.
    """

    short_ms: float
    long_ms: float
    references: int

    @property
    def reached(self) -> bool:
        """Whether both times meet the target."""
        return max(self.short_ms, self.long_ms) <= MAX_VERIFY_MS

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"aim_ms": MAX_VERIFY_MS, "reached": self.reached}


def time_verify(documents: Sequence[tuple[Document, str]]) -> VerifyTiming:
    """Time answers that consist of documents' own lines: prose, lists, tables and code, with references.

    Args:
        documents: documents with their texts; at least one has words.
    """
    ledger = Ledger(tuple(islice(_results(documents), _SOURCES)))
    short = _answer(documents, ledger, _WORDS)
    return VerifyTiming(
        short_ms=_verifying_ms(short, ledger, _ROUNDS),
        long_ms=_verifying_ms(_answer(documents, ledger, _LONG), ledger, _ROUNDS // 4),
        references=verify(short, ledger).metrics.references,
    )


def _results(documents: Iterable[tuple[Document, str]]) -> Iterator[RetrievalResult]:
    for document, text in documents:
        for piece in chunk_text(document, text, ChunkingSettings()):
            yield RetrievalResult(piece.content, piece.citation, None)


def _answer(documents: Iterable[tuple[Document, str]], ledger: Ledger, words: int) -> str:
    """Return an answer of so many words from the documents' lines, repeated if needed, with regular references."""
    lines: list[str] = []
    entries = cycle(ledger.entries)
    written = cited = 0
    in_code = False
    for line in cycle([line for _, text in documents for line in text.split("\n")]):
        written += len(line.split())
        due = written // _WORDS_A_REFERENCE
        in_code ^= line.lstrip().startswith("```")
        if due > cited and not in_code and line.strip(" `"):
            entry = next(entries)
            lines.append(f"{line} {f'[{entry.number}]' if due % 2 else entry.citation}")
            cited = due
        else:
            lines.append(line)
        if written >= words:
            break
    return "\n".join(lines)


def _verifying_ms(answer: str, ledger: Ledger, rounds: int) -> float:
    words = verify(answer, ledger).metrics.words
    spent = []
    gc.freeze()  # keeps the benchmark's thousands of claims out of collections during an answer
    for _ in range(rounds):
        started = time.process_time()
        verify(answer, ledger)
        spent.append(time.process_time() - started)
    gc.unfreeze()
    return round(min(spent) * 1000 * 1000 / words, 3)
