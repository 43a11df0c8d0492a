"""The promises of a deployment, and citations compared with the corpus bucket."""

from __future__ import annotations

import hashlib

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import RetrievalResult, Status
from knowledge_rag.deployment.smoke.clients import Answer
from knowledge_rag.deployment.smoke.promises import (
    CorpusBucket,
    Fit,
    Promise,
    Trial,
    Verdict,
    judge_citations,
    judge_client,
    judge_latency,
    judge_relevance,
    latency_figures,
)
from knowledge_rag.deployment.smoke.questions import Question, Topic
from tests.support.played_aws import Fault


def found(score=0.5, *, topic=Topic.ON, file="a.md", wanted="", seconds=0.1):
    result = RetrievalResult("text", Citation(file, 1, 1), score)
    question = Question("q", "q", topic, wanted)
    return Answer(question, seconds, Status.OK, results=(result,))


def nothing(topic=Topic.ON, seconds=0.1):
    return Answer(Question("q", "q", topic), seconds, Status.NO_MATCH)


def degraded(seconds=0.1):
    return Answer(Question("q", "q"), seconds, Status.DEGRADED, "timeout")


def failed(*, passing=False):
    return Answer(Question("q", "q"), 0.1, None, failure="dead", passing=passing)


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ([found(), nothing()], Verdict.KEPT),
        ([found(), degraded()], Verdict.DEGRADED),
        ([found(), failed(passing=True)], Verdict.DEGRADED),
        ([found(), failed()], Verdict.BROKEN),
        ([failed(passing=True), failed()], Verdict.BROKEN),
    ],
)
def test_a_way_is_as_good_as_its_worst_answer(answers, verdict):
    assert judge_client("function", answers).verdict is verdict


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [([5.0, 0.1, 0.2], Verdict.KEPT), ([0.1, 0.2, 2.1], Verdict.BROKEN), ([0.1], Verdict.UNKNOWN)],
)
def test_the_first_call_may_be_slow_and_no_other(seconds, verdict):
    assert judge_latency([found(seconds=each) for each in seconds]).verdict is verdict


def test_giving_up_early_does_not_look_fast():
    answers = [found(seconds=1.0), found(seconds=1.0), degraded(seconds=0.01)]
    assert latency_figures(answers) == {"first_ms": 1000.0, "p50_ms": 1000.0, "p95_ms": 1000.0}


@pytest.mark.parametrize(("hits", "verdict"), [(8, Verdict.KEPT), (7, Verdict.BROKEN)])
def test_four_of_five_named_documents_have_to_be_found(hits, verdict):
    answers = [found(file="a.md" if n < hits else "b.md", wanted="a.md") for n in range(10)]
    promise = judge_relevance(answers)
    assert promise.verdict is verdict
    assert promise.detail.startswith(f"{hits} of 10")


def test_questions_that_name_no_document_promise_no_relevance():
    assert judge_relevance([found()]) is None


# the verdict on all


@pytest.mark.parametrize(
    ("verdicts", "broken", "doubtful"),
    [
        ([Verdict.KEPT, Verdict.NOTE], False, False),
        ([Verdict.KEPT, Verdict.UNKNOWN], False, True),
        ([Verdict.DEGRADED, Verdict.BROKEN], True, True),
    ],
)
def test_a_trial_is_as_good_as_its_worst_promise(verdicts, broken, doubtful):
    trial = Trial("d", "r", tuple(Promise("p", verdict, "") for verdict in verdicts))
    assert (trial.broken, trial.doubtful) == (broken, doubtful)


FILE = "runbooks/a.md"
DATA = "\ufeffone\r\ntwo\u2028still two\nthree".encode()


def result(content, start, end, data=DATA):
    citation = Citation(FILE, start, end)
    return RetrievalResult(
        content, citation, 0.5, {"document_sha256": hashlib.sha256(data).hexdigest()}
    )


@pytest.fixture
def corpus(account, aws):
    s3 = account.client("s3")
    s3.create_bucket(Bucket="corpus")
    s3.put_object(Bucket="corpus", Key=FILE, Body=DATA)
    return CorpusBucket(aws(), "corpus")


@pytest.mark.parametrize(
    ("content", "start", "end", "fit"),
    [
        ("one\r", 1, 1, Fit.EXACT),
        ("one\r\ntwo\u2028still two", 1, 2, Fit.EXACT),
        ("three", 3, 3, Fit.EXACT),
        ("one", 1, 1, Fit.WRONG),
        ("\ufeffone\r", 1, 1, Fit.WRONG),
        ("three\n", 3, 3, Fit.WRONG),
        ("three", 2, 2, Fit.WRONG),
        ("three", 3, 4, Fit.WRONG),
    ],
)
def test_a_citation_fits_byte_for_byte_or_not_at_all(corpus, content, start, end, fit):
    assert corpus.check(result(content, start, end)).fit is fit


def test_another_version_of_the_file_is_told_even_where_the_lines_are_the_same(corpus):
    assert corpus.check(result("three", 3, 3, data=b"older")).fit is Fit.CHANGED


def test_a_file_that_is_gone_is_told(corpus, account):
    account.client("s3").delete_object(Bucket="corpus", Key=FILE)
    assert corpus.check(result("three", 3, 3)).fit is Fit.GONE


def test_a_file_that_may_not_be_read_is_unknown_and_asked_for_once(account, aws):
    account.refuse("s3", "GetObject", Fault("AccessDenied", "no", 403))
    corpus = CorpusBucket(aws(), "corpus")
    checked = [corpus.check(result("three", 3, 3)) for _ in range(3)]
    assert {each.fit for each in checked} == {Fit.UNKNOWN}
    assert account.played.calls == ["s3:GetObject"]
    assert judge_citations(checked).verdict is Verdict.UNKNOWN


def test_a_citation_that_is_plainly_wrong_is_not_excused_by_an_ingestion(corpus):
    told = judge_citations(
        [corpus.check(result("three", 2, 2)), corpus.check(result("three", 3, 3))]
    )
    assert told.verdict is Verdict.BROKEN
    assert told.detail.startswith("1 of 2")
    assert "Trust no citation" in told.action


def test_without_any_result_nothing_is_proven():
    assert judge_citations([]).verdict is Verdict.UNKNOWN
