"""Asks for whole answers, one after the other, as ``knowledge-rag ask`` does, and scores them."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.citations import Citation
from knowledge_rag.evaluation.answers_eval import score, unanswered
from knowledge_rag.evaluation.answers_report import AnswersReport
from knowledge_rag.evaluation.timing import percentiles
from knowledge_rag.orchestrator.consultation import consult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.evaluation.answers_cases import Case
    from knowledge_rag.evaluation.answers_lines import LabelledLines
    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
    from knowledge_rag.orchestrator.incident import Incident

TRIES: Final = 3
"""Times a question is asked at most: a query that a busy machine fails says nothing of the answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Args:
        incident: what is known.
        queries: for it; ``None`` for those that the incident suggests.
    """

    incident: Incident
    queries: tuple[Query, ...] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Args:
        recommendation: as ``Recommendation.to_dict`` returns it.
        seconds: that the last try took.
        tries: how often it was asked.
    """

    recommendation: Mapping[str, Any]
    seconds: float
    tries: int


def ask_all(
    retrieval: BoundedRetrieval, questions: Sequence[Question], progress: Progress
) -> tuple[Answer, ...]:
    """Ask every question with the advisor that needs no model, on one event loop.

    Args:
        retrieval: the way to the knowledge base; it stays open for queries that an answer adds.
        questions: what to ask.
        progress: called before each question.
    """

    async def run() -> tuple[Answer, ...]:
        await retrieval.prepare()
        answers = []
        for done, question in enumerate(questions):
            progress(done, len(questions), "asking")
            answers.append(await _ask(retrieval, question))
        return tuple(answers)

    return asyncio.run(run())


def run_cases(
    retrieval: BoundedRetrieval,
    asked: Sequence[tuple[Case, Question | str]],
    check: CitationCheck,
    lines: LabelledLines,
    progress: Progress,
) -> AnswersReport:
    """Ask every case and score its answer.

    Args:
        retrieval: the way to the knowledge base.
        asked: the cases, at least one; each with its question, or with why it can't be asked.
        check: compares citations with the documents on disk.
        lines: of the documents.
        progress: called before each question.
    """
    questions = [question for _, question in asked if isinstance(question, Question)]
    answers = ask_all(retrieval, questions, progress)
    following = iter(answers)
    scores = tuple(
        unanswered(case, question)
        if isinstance(question, str)
        else score(case, next(following).recommendation, lines)
        for case, question in asked
    )
    exact = [is_exact(each, check) for it in answers for each in citations(it.recommendation)]
    times = [answer.seconds for answer in answers] or [0.0]
    again = sum(answer.tries > 1 for answer in answers)
    return AnswersReport(scores, len(exact), sum(exact), percentiles(times).p50, again)


def citations(recommendation: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield every citation of an answer's steps and similar incidents, as they are on the wire."""
    body = recommendation["recommendation"]
    for part in (*body["guidance"], *body["similar_incidents"]):
        yield part["citation"]
        yield from part.get("further_citations", ())


def is_exact(cited: Mapping[str, Any], check: CitationCheck) -> bool:
    """Whether the cited lines are on disk, byte for byte, what the answer cites them for."""
    where = Citation(cited["source_file"], cited["start_line"], cited["end_line"])
    found = check.lines(where)
    return found is not None and hashlib.sha256(found).hexdigest() == cited["text_sha256"]


async def _ask(retrieval: BoundedRetrieval, question: Question) -> Answer:
    for tries in range(1, TRIES + 1):
        started = time.perf_counter()
        given = await consult(question.incident, retrieval, queries=question.queries)
        seconds = time.perf_counter() - started
        if not given.findings.failures or tries == TRIES:
            break
    return Answer(given.recommendation.to_dict(), seconds, tries)
