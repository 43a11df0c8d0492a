"""Citations held against the bucket: exact, or why not."""

from __future__ import annotations

import hashlib

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.deployment.smoke.promises import CorpusBucket, Fit, judge_citations
from knowledge_rag.deployment.smoke.report import Verdict
from tests.support.played_aws import Fault

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
