"""What the support checks cost an answer of 1,000 words."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks.guardrails.cases import CHUNK_CITED
from knowledge_rag.guardrails.support.check import check_support

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.guardrails.cases import Case

_WORDS: Final = 1000
_MOST_ANSWERS: Final = 40


@dataclass(frozen=True, slots=True)
class Timing:
    """CPU time for 1,000 words of claims, each checked against what it cites; medians.

    Args:
        own_lines_ms: each claim cites the very lines it is from, in milliseconds.
        chunks_ms: each claim cites a whole chunk, in milliseconds.
        evidence_words: words of the chunks that an answer of 1,000 words cites.
    """

    own_lines_ms: float
    chunks_ms: float
    evidence_words: int


def time_answers(cases: Sequence[Case]) -> Timing:
    """Time supported claims, put together to answers of 1,000 words."""
    narrow = _answers([case for case in cases if case.family == "prefixed"])
    wide = _answers([case for case in cases if case.family == CHUNK_CITED])
    words = [sum(len(line.split()) for case in answer for line in case.lines) for answer in wide]
    return Timing(
        own_lines_ms=round(median(map(_milliseconds, narrow)), 3) if narrow else 0.0,
        chunks_ms=round(median(map(_milliseconds, wide)), 3) if wide else 0.0,
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


def _milliseconds(answer: Sequence[Case]) -> float:
    """Return the better of three rounds: the first one fills the cache of stems."""
    rounds = []
    for _ in range(3):
        started = time.process_time()
        for case in answer:
            check_support(case.claim, case.lines)
        rounds.append((time.process_time() - started) * 1000)
    return min(rounds)
