"""The evidence floor of a deployment: measures it, and for ``smoke --apply`` chooses and writes it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.outcome import Status
from knowledge_rag.deployment.aws import CallFailed
from knowledge_rag.deployment.smoke.clients import ask_all
from knowledge_rag.deployment.smoke.promises import Promise, Verdict
from knowledge_rag.deployment.smoke.questions import Topic
from knowledge_rag.evaluation.floor import (
    MAX_LOST,
    MIN_REJECTED,
    FloorFigures,
    choose_floor,
    figures,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.smoke.clients import Answer, Client
    from knowledge_rag.deployment.smoke.questions import Question
    from knowledge_rag.evaluation.floor import Scores

FLOOR: Final = "evidence floor"

ENOUGH: Final = 10
"""Questions of a topic required in each half."""
MOST_UNSEARCHED: Final = 0.1
"""Maximum share of the questions that may go unanswered."""
WAIT_SECONDS: Final = 120
"""Time for the function to use a newly written floor: it reads it once a minute."""
POLL_SECONDS: Final = 3

_WANTED: Final = f"required: at most {MAX_LOST:.0%} and at least {MIN_REJECTED:.0%}"
_APPLY: Final = "Run `knowledge-rag smoke --apply`"


@dataclass(frozen=True, slots=True)
class FloorMeasure:
    """The figures of the floor in use, and the floor that the same questions suggest.

    Args:
        floor: in use; ``None`` for none.
        source: who set it; ``""`` if the function doesn't say.
        in_use: its effect on the questions.
        proposed: chosen on all of them; ``None`` if scores are missing.
        would: the effect of the proposed floor on them.
    """

    floor: float | None
    source: str
    in_use: FloorFigures
    proposed: float | None = None
    would: FloorFigures | None = None


def measure_floor(answers: Sequence[Answer]) -> FloorMeasure | None:
    """Measure the floor on a trial's answers; ``None`` if no question of a topic was searched."""
    on, off = (_searched(answers, topic) for topic in Topic)
    if not on or not off:
        return None
    evidence = on[-1].evidence
    in_use = _outcomes(on, off)
    if evidence is None:
        return FloorMeasure(None, "", in_use)
    scores = _best(on), _best(off)
    proposed = choose_floor(*scores)
    return FloorMeasure(
        evidence.floor, evidence.source, in_use, proposed, figures(proposed, *scores)
    )


def judge_floor(measured: FloorMeasure | None) -> Promise:
    """Judge the floor in use; a default that rejects too little is no broken promise."""
    if measured is None:
        return Promise(FLOOR, Verdict.UNKNOWN, "too few questions were searched")
    value = "no floor" if measured.floor is None else f"floor {measured.floor:g}"
    source = f" ({measured.source})" if measured.source else ""
    detail = f"{value}{source}: {_described(measured.in_use)}"
    if measured.in_use.passes:
        return Promise(FLOOR, Verdict.KEPT, detail)
    unmeasured = measured.floor is None or measured.source == "default"
    harmless = unmeasured and measured.in_use.lost <= MAX_LOST
    verdict = Verdict.NOTE if harmless else Verdict.BROKEN
    return Promise(FLOOR, verdict, f"{detail}; {_WANTED}", _action(measured))


def _action(measured: FloorMeasure) -> str:
    if measured.source in ("default", "parameter"):
        action = f"{_APPLY}, which measures one and writes it."
    else:
        action = f"Deploy with evidence_floor=auto. {_APPLY} then."
    if measured.would is None:
        return action
    return f"{action} On these questions, {measured.proposed:g} gives {_described(measured.would)}."


def _described(found: FloorFigures) -> str:
    return f"{found.lost:.0%} of on-topic lost, {found.rejected:.0%} of off-topic rejected"


def check_enough(questions: Sequence[Question]) -> None:
    """Check that a floor can be chosen on one half of the questions and checked on the other.

    Raises:
        InvalidRequest: a half has too few of a topic.
    """
    for topic in Topic:
        halves = [question.chooses for question in questions if question.topic is topic]
        if min(halves.count(True), halves.count(False)) < ENOUGH:
            raise InvalidRequest(
                f"{len(halves)} questions of topic {topic.value} are too few to choose a floor on one half"
                f" and check it on the other: provide {4 * ENOUGH} or more with --questions FILE"
            )


@dataclass(frozen=True, slots=True)
class Applying:
    """Where a floor is written, and the client to check that it is used.

    Args:
        aws: writes it.
        parameter: read by the function.
        client: asks the function.
        on_answer: called after each question.
        wait_seconds: until the function must use it.
        poll_seconds: between two checks.
    """

    aws: Aws
    parameter: str
    client: Client
    on_answer: Callable[[], None]
    wait_seconds: float = WAIT_SECONDS
    poll_seconds: float = POLL_SECONDS


def apply_floor(to: Applying, answers: Sequence[Answer]) -> tuple[Promise, dict[str, Any]]:
    """Choose a floor on one half of the answers, write it, and ask the other half again.

    Returns:
        The promise, and the figures.
    """
    searched = [answer for answer in answers if answer.searched]
    if len(searched) < (1 - MOST_UNSEARCHED) * len(answers):
        detail = f"nothing written: {len(answers) - len(searched)} of {len(answers)} questions went unanswered"
        return Promise(FLOOR, Verdict.UNKNOWN, detail, "Try again."), {}
    if any(answer.evidence is None for answer in searched):
        detail = "nothing written: the function doesn't report scores"
        return Promise(FLOOR, Verdict.BROKEN, detail, "Deploy the current version."), {}
    halves = {True: _split(searched, chooses=True), False: _split(searched, chooses=False)}
    chosen = choose_floor(*map(_best, halves[True]))
    expected = figures(chosen, *map(_best, halves[False]))
    shown = {"chosen": chosen, "expected_on_other_half": asdict(expected)}
    if not 0 <= chosen <= 1 or expected.lost > MAX_LOST:
        detail = f"nothing written: {chosen:g} would give {_described(expected)} in the other half; {_WANTED}"
        return Promise(
            FLOOR, Verdict.BROKEN, detail, "Provide more questions of both topics."
        ), shown
    try:
        to.aws.call(
            "ssm",
            "put_parameter",
            Name=to.parameter,
            Value=f"{chosen:g}",
            Type="String",
            Overwrite=True,
            Description="Evidence floor, measured by knowledge-rag smoke --apply",
        )
    except CallFailed as error:
        return Promise(FLOOR, Verdict.UNKNOWN, f"{chosen:g} could not be written: {error}"), shown
    if not _in_use(to, halves[False][0][0].question, chosen):
        detail = (
            f"{chosen:g} is written, but the function doesn't use it after {to.wait_seconds:g} s"
        )
        action = "Look for `evidence floor not read` in the function's log."
        return Promise(FLOOR, Verdict.BROKEN, detail, action), shown
    return _asked_again(to, [*halves[False][0], *halves[False][1]], chosen, shown)


def _in_use(to: Applying, question: Question, floor: float) -> bool:
    """Ask until the function uses the floor; return whether it did in time."""
    until = time.monotonic() + to.wait_seconds
    while True:
        (answer,) = ask_all(to.client, [question], lambda: None)
        if answer.evidence is not None and answer.evidence.floor == floor:
            return True
        if time.monotonic() > until:
            return False
        time.sleep(to.poll_seconds)


def _asked_again(
    to: Applying, before: Sequence[Answer], floor: float, shown: dict[str, Any]
) -> tuple[Promise, dict[str, Any]]:
    again = ask_all(to.client, [answer.question for answer in before], to.on_answer)
    on, off = (_searched(again, topic) for topic in Topic)
    if not on or not off:
        detail = f"{floor:g} is in use, but the other half went unanswered"
        return Promise(FLOOR, Verdict.UNKNOWN, detail, "Run it again."), shown
    found = _outcomes(on, off)
    detail = (
        f"{floor:g} written and in use: {_described(found)}"
        f" ({found.on_topic} and {found.off_topic} questions, not used to choose it)"
    )
    shown |= {"on_other_half": asdict(found)}
    if found.passes:
        return Promise(FLOOR, Verdict.KEPT, detail), shown
    action = "The scores of both topics overlap: search_type=HYBRID separates them better."
    return Promise(FLOOR, Verdict.BROKEN, f"{detail}; {_WANTED}", action), shown


def _searched(answers: Sequence[Answer], topic: Topic) -> list[Answer]:
    return [each for each in answers if each.question.topic is topic and each.searched]


def _split(answers: Sequence[Answer], *, chooses: bool) -> tuple[list[Answer], list[Answer]]:
    half = [answer for answer in answers if answer.question.chooses is chooses]
    return _searched(half, Topic.ON), _searched(half, Topic.OFF)


def _outcomes(on: Sequence[Answer], off: Sequence[Answer]) -> FloorFigures:
    lost = sum(answer.status is Status.NO_MATCH for answer in on) / len(on)
    rejected = sum(answer.status is Status.NO_MATCH for answer in off) / len(off)
    return FloorFigures(lost, rejected, len(on), len(off))


def _best(answers: Sequence[Answer]) -> Scores:
    """Return each question's best score; 0 if the store returned nothing."""
    found = [answer.evidence.best_score if answer.evidence else None for answer in answers]
    return np.array([0.0 if score is None else score for score in found])
