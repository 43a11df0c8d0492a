"""Whether "nothing documented" is told from an answer, and where the evidence floor belongs.

Scores of one store and search type are on a scale of their own, so the floor can only be measured
where the documents are.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from knowledge_rag.core.outcome import Status
from knowledge_rag.deployment.errors import CallFailed
from knowledge_rag.deployment.smoke.questions import Topic
from knowledge_rag.deployment.smoke.report import Promise, Verdict
from knowledge_rag.evaluation.floor import MAX_LOST, MIN_REJECTED, choose_floor, figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.smoke.answers import Answer

FLOOR: Final = "evidence floor"


@dataclass(frozen=True, slots=True)
class Side:
    """How the questions of one topic fared.

    Args:
        asked: how many were searched, degraded ones apart.
        found: how many got results.
        lowest: score of a question's best result, over all that got one; ``None`` without any.
        highest: likewise.
    """

    asked: int
    found: int
    lowest: float | None
    highest: float | None

    def __str__(self) -> str:
        """Give the form for people."""
        text = f"{self.found} of {self.asked} found something"
        if self.lowest is None or self.highest is None:
            return text
        return f"{text}, best scores {self.lowest:.3f} to {self.highest:.3f}"


@dataclass(frozen=True, slots=True)
class FloorMeasure:
    """What the trial's questions say of the floor.

    Args:
        configured: the floor that the function has; ``None`` for none.
        known: whether that could be looked up.
        on_topic: how questions that the corpus answers fared.
        off_topic: how the others did.
        proposed: a floor between them, where there is none.
    """

    configured: float | None
    known: bool
    on_topic: Side
    off_topic: Side
    proposed: float | None

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form."""
        return asdict(self)


def configured_floor(aws: Aws, alias: str) -> tuple[float | None, bool]:
    """Look the function's floor up.

    Returns:
        The floor, ``None`` for none; and whether it could be looked up.
    """
    try:
        found = aws.call("lambda", "get_function_configuration", FunctionName=alias)
    except CallFailed:
        return None, False
    environment = found.get("Environment", {})
    if "Variables" not in environment:  # encrypted under a key that the caller may not use
        return None, "Error" not in environment
    variables = environment["Variables"]
    search_type = variables.get("SEARCH_TYPE", "HYBRID")
    try:
        return float(variables[f"EVIDENCE_FLOOR_{search_type}"]), True
    except (KeyError, ValueError):
        return None, True


def measure(answers: Sequence[Answer], configured: float | None, *, known: bool) -> FloorMeasure:
    """Compare the best scores of on-topic and off-topic questions."""
    on, off = (_searched(answers, topic) for topic in Topic)
    on_scores, off_scores = _best(on), _best(off)
    proposed = None
    complete = len(on_scores) == len(on) and len(off_scores) == len(off)
    if configured is None and complete and on_scores and off_scores:
        proposed = choose_floor(np.array(on_scores), np.array(off_scores))
    return FloorMeasure(configured, known, _side(on), _side(off), proposed)


def judge(measured: FloorMeasure, answers: Sequence[Answer]) -> Promise:
    """Judge the floor that is set, or propose one."""
    on, off = measured.on_topic, measured.off_topic
    detail = f"on-topic: {on}; off-topic: {off}"
    if not on.asked or not off.asked:
        return Promise(FLOOR, Verdict.UNKNOWN, f"too few questions were searched; {detail}")
    if measured.configured is None and off.found == off.asked:
        return _without(measured, detail, answers)
    lost, rejected = (on.asked - on.found) / on.asked, (off.asked - off.found) / off.asked
    value = "of unknown value" if measured.configured is None else f"{measured.configured:g}"
    detail = f"floor {value}: {lost:.0%} of on-topic lost, {rejected:.0%} of off-topic rejected"
    if lost <= MAX_LOST and rejected >= MIN_REJECTED:
        return Promise(FLOOR, Verdict.KEPT, detail)
    return Promise(
        FLOOR,
        Verdict.BROKEN,
        f"{detail}; wanted are at most {MAX_LOST:.0%} and at least {MIN_REJECTED:.0%}",
        "Deploy once without evidence_floor and run this again: it then proposes one.",
    )


def _without(measured: FloorMeasure, detail: str, answers: Sequence[Answer]) -> Promise:
    known = "no floor is set" if measured.known else "no floor can be seen"
    if measured.proposed is None:
        return Promise(
            FLOOR, Verdict.NOTE, f"{known}, and scores to propose one are missing; {detail}"
        )
    scores = [np.array(_best(_searched(answers, topic))) for topic in Topic]
    would = figures(measured.proposed, *scores)
    return Promise(
        FLOOR,
        Verdict.NOTE,
        f"{known}, so nothing is ever told as not documented; {detail}",
        f"Set evidence_floor={measured.proposed:g}, which here loses {would.lost:.0%} of on-topic and"
        f" rejects {would.rejected:.0%} of off-topic questions; more --questions make it surer.",
    )


def _searched(answers: Sequence[Answer], topic: Topic) -> list[Answer]:
    searched = (Status.OK, Status.NO_MATCH)
    return [each for each in answers if each.question.topic is topic and each.status in searched]


def _best(answers: Sequence[Answer]) -> list[float]:
    best = []
    for answer in answers:
        scores = [each.relevance_score for each in answer.results]
        known = [score for score in scores if score is not None]
        if known:
            best.append(max(known))
    return best


def _side(answers: Sequence[Answer]) -> Side:
    best = _best(answers)
    found = sum(bool(answer.results) for answer in answers)
    return Side(len(answers), found, min(best, default=None), max(best, default=None))
