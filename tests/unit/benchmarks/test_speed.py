"""The benchmarks do what they say with few calls; what they measure is for people to read."""

import json

import pytest

from benchmarks.speed import coldstart as coldstart_bench
from benchmarks.speed import load as load_bench
from benchmarks.speed.coldstart import run_coldstart_bench
from benchmarks.speed.embedding import EmbeddingReport, run_embedding_bench
from benchmarks.speed.embedding import as_table as embedding_table
from benchmarks.speed.server import FAULTS, response_to, results_for
from knowledge_rag.evaluation.evaluation_report import percentiles
from tests.support.local import WordHashes


def test_a_start_that_fails_is_no_figure(monkeypatch):
    monkeypatch.setattr(coldstart_bench, "_HANDLER", "raise SystemExit(3)")
    with pytest.raises(RuntimeError, match="handler, initialised"):
        run_coldstart_bench(1)


@pytest.mark.parametrize(
    ("question", "verdict"), [("alarm 1?", ""), ("alarm 2?", "mixed up"), ("alarm 11?", "mixed up")]
)
def test_another_question_s_answer_is_noticed(question, verdict):
    results = [
        {"citation": chunk.citation.to_dict(), "content": chunk.content}
        for chunk in results_for("alarm 1?", 2)
    ]
    answer = {"status": "ok", "results": results}
    assert load_bench._judged(answer, question, failing=False) == verdict


def test_an_answer_where_there_should_be_none_is_wrong():
    answer = {"status": "ok", "results": [1]}
    assert load_bench._judged(answer, "x", failing=True) == "wrong"
    degraded = {"status": "degraded", "reason": "unavailable", "results": []}
    assert load_bench._judged(degraded, "x", failing=False) == "wrong"
    assert load_bench._judged(degraded | {"reason": "timeout"}, "x", failing=False) == "late"


def test_broken_records_are_counted(tmp_path):
    path = tmp_path / "log"
    path.write_text('{"a": 1}\n{"a": {"b": 1}{"c": 2}\n[]\n', encoding="utf-8")
    assert load_bench._count_records(path) == (3, 2)


def test_every_fault_has_its_turn():
    faults = [load_bench._fault(number, 10) for number in range(100)]
    assert set(faults) == {"", *FAULTS}
    assert sum(map(bool, faults)) == 10


def test_the_server_s_results_have_proofs():
    head, _, body = response_to(results_for("x", 3)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    items = json.loads(body)["retrievalResults"]
    assert [type(item["metadata"]["start_line"]) for item in items] == [float] * 3


def test_an_embedding_is_measured_beside_its_limit():
    report = run_embedding_bench(WordHashes(), turns=10)
    assert report.reached == (report.ratio <= 1.3)
    assert embedding_table(report).row_count == 2
    slow = EmbeddingReport(1, percentiles([1.0]), percentiles([0.5]), 2.0)
    assert not slow.reached
