"""The evidence floor of a deployment: how it is judged, and when one is written."""

from __future__ import annotations

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.outcome import RetrievalOutcome, RetrievalResult, Status
from knowledge_rag.deployment.smoke.clients import Answer, Evidence, Reply
from knowledge_rag.deployment.smoke.floor import (
    Applying,
    apply_floor,
    check_enough,
    judge_floor,
    measure_floor,
)
from knowledge_rag.deployment.smoke.promises import Verdict
from knowledge_rag.deployment.smoke.questions import Question, Topic, floor_questions
from knowledge_rag.evaluation.floor import in_choosing_half

RESULT = RetrievalResult("text", Citation("a.md", 1, 1), 0.5)


def questions(topic, count):
    return [Question(f"{topic}-{n}", "q", topic) for n in range(count)]


def answer(question, score, floor=None, source="default"):
    found = score is not None and (floor is None or score >= floor)
    status = Status.OK if found else Status.NO_MATCH
    evidence = Evidence(floor, source, score)
    return Answer(question, 0.1, status, results=(RESULT,) if found else (), evidence=evidence)


def asked(on, off, **floor):
    """Answer one question for each score."""
    both = ((Topic.ON, on), (Topic.OFF, off))
    return [
        answer(question, score, **floor)
        for topic, scores in both
        for question, score in zip(questions(topic, len(scores)), scores, strict=True)
    ]


def judged(on, off, **floor):
    return judge_floor(measure_floor(asked(on, off, **floor)))


@pytest.mark.parametrize(
    ("lost", "through", "source", "verdict"),
    [
        (1, 1, "setting", Verdict.KEPT),
        (2, 1, "setting", Verdict.BROKEN),
        (0, 2, "setting", Verdict.BROKEN),
        (0, 2, "parameter", Verdict.BROKEN),
        (0, 2, "default", Verdict.NOTE),
        (2, 2, "default", Verdict.BROKEN),
    ],
)
def test_a_floor_may_lose_one_in_twenty_and_let_one_in_ten_through(lost, through, source, verdict):
    on = [0.1] * lost + [0.6] * (20 - lost)
    off = [0.6] * through + [0.1] * (10 - through)
    assert judged(on, off, floor=0.4, source=source).verdict is verdict


def test_no_floor_is_a_note_that_says_what_one_would_do():
    promise = judged([0.6, 0.7], [0.2, 0.3], floor=None, source="setting")
    assert promise.verdict is Verdict.NOTE
    assert "Deploy with evidence_floor=auto" in promise.action
    assert "0% of on-topic lost, 100% of off-topic rejected" in promise.action


def test_a_default_says_how_to_measure():
    promise = judged([0.6] * 5, [0.5] * 5, floor=0.385)
    assert promise.detail.startswith("floor 0.385 (default): 0% of on-topic lost, 0% of off-topic")
    assert "smoke --apply" in promise.action


def test_without_searched_questions_of_a_topic_it_is_unknown():
    assert judge_floor(measure_floor(asked([0.6], []))).verdict is Verdict.UNKNOWN


def test_an_older_function_is_judged_by_what_it_answers():
    on = Answer(Question("q", "q"), 0.1, Status.OK, results=(RESULT,))
    off = Answer(Question("q", "q", Topic.OFF), 0.1, Status.NO_MATCH)
    assert judge_floor(measure_floor([on, off])).verdict is Verdict.KEPT


def test_the_own_questions_are_enough_and_few_are_not():
    check_enough(floor_questions())
    with pytest.raises(InvalidRequest, match="12 questions of topic off are too few"):
        check_enough([*questions(Topic.ON, 80), *questions(Topic.OFF, 12)])


class Function:
    """Scores by topic, and the floor that it uses: that of the parameter store, or none."""

    name = "function"
    seconds = 5.0

    def __init__(self, account, *, takes_up=True):
        self._account = account
        self._takes_up = takes_up
        self.asked = []

    def ask(self, query):
        self.asked.append(query)
        stored = self._account.client("ssm").get_parameters(Names=["/p"])["Parameters"]
        floor = float(stored[0]["Value"]) if stored and self._takes_up else 0.1
        score = 0.2 if query.startswith("off") else 0.6
        found = score >= floor
        outcome = RetrievalOutcome(Status.OK if found else Status.NO_MATCH, (RESULT,) * found)
        return Reply(outcome, Evidence(floor, "parameter" if stored else "default", score))


@pytest.fixture
def applied(account, aws):
    def run(on, off, function=None, answers=None):
        client = function or Function(account)
        to = Applying(aws(), "/p", client, lambda: None, wait_seconds=0.2, poll_seconds=0.1)
        given = asked(on, off, floor=0.1) if answers is None else answers
        named = [
            Answer(
                Question(each.question.id, each.question.id, each.question.topic),
                each.seconds,
                each.status,
                results=each.results,
                evidence=each.evidence,
            )
            for each in given
        ]
        promise, figures = apply_floor(to, named)
        stored = account.client("ssm").get_parameters(Names=["/p"])["Parameters"]
        return promise, figures, stored[0]["Value"] if stored else None, client

    return run


ON, OFF = [0.6] * 60, [0.2] * 60


def test_it_is_chosen_on_one_half_and_the_other_is_asked_again(applied):
    promise, figures, stored, client = applied(ON, OFF)
    assert promise.verdict is Verdict.KEPT
    assert 0.2 < float(stored) < 0.6
    assert figures["on_other_half"]["rejected"] == 1
    again = client.asked[1:]
    assert again
    assert not any(in_choosing_half(each) for each in again)


def test_a_floor_that_the_other_half_loses_by_is_not_written(applied):
    scores = [0.6 if in_choosing_half(each.id) else 0.1 for each in questions(Topic.ON, 60)]
    promise, _, stored, _ = applied(scores, OFF)
    assert (promise.verdict, stored) == (Verdict.BROKEN, None)
    assert promise.detail.startswith("nothing written")


def test_scores_beyond_the_range_that_the_function_takes_are_not_written(applied):
    promise, _, stored, _ = applied([60.0] * 60, [20.0] * 60)
    assert (promise.verdict, stored) == (Verdict.BROKEN, None)


def test_a_function_that_does_not_take_it_up_is_reported(applied, account):
    promise, _, stored, _ = applied(ON, OFF, Function(account, takes_up=False))
    assert promise.verdict is Verdict.BROKEN
    assert stored is not None
    assert "evidence floor not read" in promise.action


def test_unanswered_questions_choose_nothing(applied):
    given = asked(ON, OFF)
    failed = [Answer(each.question, 0.1, Status.DEGRADED, "timeout") for each in given[:20]]
    promise, _, stored, _ = applied(ON, OFF, answers=[*failed, *given[20:]])
    assert (promise.verdict, stored) == (Verdict.UNKNOWN, None)
    assert "20 of 120 questions went unanswered" in promise.detail


def test_a_function_without_scores_has_to_be_deployed_again(applied):
    given = [
        Answer(each.question, 0.1, each.status, results=each.results) for each in asked(ON, OFF)
    ]
    promise, _, stored, _ = applied(ON, OFF, answers=given)
    assert (promise.verdict, stored) == (Verdict.BROKEN, None)
    assert promise.action == "Deploy the current version."
