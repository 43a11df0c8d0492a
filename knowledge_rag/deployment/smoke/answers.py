"""What came back for a question, over whichever way it was asked."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidCitation, KnowledgeRagError
from knowledge_rag.core.outcome import RetrievalResult, Status
from knowledge_rag.deployment.bounded import all_within
from knowledge_rag.deployment.errors import CallFailed, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowledge_rag.deployment.smoke.questions import Question

GIVE_UP_AFTER: Final = 2
"""Failures one after another until a way counts as closed, so that a dead one costs no minutes."""

_PASSING: Final = frozenset({Trouble.THROTTLED, Trouble.TIMEOUT})
"""Troubles that may be gone in a minute."""


class WayBroken(KnowledgeRagError):  # noqa: N818 - named for what it is
    """A way to the knowledge base answers, but not as it was promised."""


class Way(Protocol):
    """One way to ask: the function, the agent or the gateway.

    Attributes:
        name: for the report.
        seconds: a bound on one question, everything included.
    """

    name: str
    seconds: float

    def ask(self, query: str) -> Mapping[str, Any]:
        """Ask a question and give the function's body.

        Raises:
            CallFailed: nothing came back.
            WayBroken: what came back makes no sense.
        """


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question gave.

    Args:
        question: that was asked.
        seconds: until the answer was there, as seen from here.
        status: how the retrieval ended; ``None`` where there was no answer at all.
        reason: of a degraded one.
        results: with an ``ok`` one.
        failure: why there was no answer.
        passing: whether the failure may be gone in a minute.
    """

    question: Question
    seconds: float
    status: Status | None
    reason: str = ""
    results: tuple[RetrievalResult, ...] = ()
    failure: str = ""
    passing: bool = False


def ask_all(way: Way, questions: Sequence[Question], on_answer: Callable[[], None]) -> list[Answer]:
    """Ask one question after the other; a way that fails twice in a row is asked nothing more."""
    answers: list[Answer] = []
    failed = 0
    for question in questions:
        answer = _ask(way, question)
        answers.append(answer)
        on_answer()
        failed = failed + 1 if answer.status is None else 0
        if failed == GIVE_UP_AFTER:
            break
    return answers


def _ask(way: Way, question: Question) -> Answer:
    started = time.monotonic()

    def work() -> Mapping[str, Any]:
        return way.ask(question.query)

    ((_, ended),) = all_within(way.seconds, {way.name: work})
    seconds = time.monotonic() - started
    try:
        if ended is None:
            raise CallFailed(Trouble.TIMEOUT, way.name, "Timeout", "")  # noqa: TRY301 - told below
        return _read(question, seconds, ended.value)
    except (CallFailed, WayBroken) as error:
        passing = isinstance(error, CallFailed) and error.trouble in _PASSING
        return Answer(question, seconds, None, failure=str(error), passing=passing)
    except Exception as error:  # noqa: BLE001 - whatever came back, the other ways are to be tried
        failure = f"an answer makes no sense ({type(error).__name__}: {error})"
        return Answer(question, seconds, None, failure=failure)


def _read(question: Question, seconds: float, body: Mapping[str, Any]) -> Answer:
    if "error" in body:
        raise WayBroken(f"a question was refused: {body['error']}")
    try:
        status = Status(body["status"])
        results = tuple(_result(each) for each in body["results"])
    except (InvalidCitation, KeyError, TypeError, ValueError) as error:
        raise WayBroken(f"an answer is not what the schema says: {error!r}") from error
    if bool(results) != (status is Status.OK):
        raise WayBroken(f"an answer is {status} with {len(results)} results")
    return Answer(question, seconds, status, str(body.get("reason", "")), results)


def _result(wire: Mapping[str, Any]) -> RetrievalResult:
    citation, content, score = wire["citation"], wire["content"], wire.get("relevance_score")
    if not isinstance(content, str) or not isinstance(score, int | float | None):
        raise TypeError("content is no text, or relevance_score no number")
    return RetrievalResult(
        content,
        Citation(
            citation["source_file"],
            citation["start_line"],
            citation["end_line"],
            citation.get("section_header", ""),
        ),
        score,
        wire.get("metadata", {}),
    )
