"""The benchmarks do what they say with few calls; what they measure is for people to read."""

import json
import shutil

import pytest

from benchmarks import clients
from benchmarks.speed import console, embedding, load, page, search
from benchmarks.speed.search import write_search_plot
from benchmarks.speed.server import results_for
from knowledge_rag.evaluation.faults.run import named
from knowledge_rag.local.ingest import ingest
from tests.support.local import RUNBOOKS, WordHashes, minilm, write_files
from tests.support.tables import shown

QUEUE = "# SQS backlog\n\n## Resolution\n\n1. If the SQS queue is backing up, scale its consumers out.\n"


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("speed")
    files = {**RUNBOOKS, "runbooks/sqs.md": QUEUE}
    ingest(write_files(folder / "docs", files), folder / "kb", embedder=minilm())
    return folder / "kb"


def test_the_console_is_asked_until_an_answer_is_whole(kb):
    report = console.run_console_bench(kb, asks=3)
    times = (report.sources, report.first_text, report.done)
    assert all(0 < one.p50 <= one.p95 for one in times)
    assert report.sources.p50 <= report.done.p50
    assert "3 questions to the console" in shown(console.as_table(report))


@pytest.mark.skipif(not any(map(shutil.which, page.BROWSERS)), reason="no browser to weigh it in")
def test_the_page_is_small_and_timed_to_what_is_drawn(kb):
    report = page.run_page_bench(kb, loads=1)
    assert 20_000 < report.wire_bytes < page.AIMS["wire_bytes"]
    times = (report.largest_paint_ms, report.list_ms, report.letter_ms, report.letter_cpu_ms)
    assert all(time > 0 for time in times)
    assert "list of 10,000 documents" in shown(page.as_table(report))


def test_an_empty_object_misleads_one_client_and_is_an_error_to_the_other():
    report = clients.run_clients_bench(lambda *_: None, [named("empty-object")])
    answers = {name: rows[0].answer for name, rows in report.results.items()}
    assert answers == {"boto3": "success, nothing found", "langchain-aws": "KeyError"}
    assert "MISLEADS, an outage reads as nothing" in shown(clients.as_table(report), 160)


def test_searches_are_timed_at_each_size_and_drawn(tmp_path):
    report = search.run_search_bench([200, 400], 10)
    for size in (200, 400):
        names = [row.name for row in report.rows if row.chunks == size]
        assert names[:2] == [search.OURS, search.FILTERED]
        assert names[-1] == search.LIMIT
        assert "SQLite FTS5 + NumPy" in names
    assert len(json.loads(json.dumps(report.to_dict()))["rows"]) == len(report.rows)
    assert search.as_table(report).row_count == len(report.rows)
    write_search_plot(report, tmp_path / "search.svg")
    assert "milliseconds" in (tmp_path / "search.svg").read_text()


@pytest.mark.parametrize(
    ("question", "verdict"), [("alarm 1?", ""), ("alarm 2?", "mixed up"), ("alarm 11?", "mixed up")]
)
def test_another_question_s_answer_is_noticed(question, verdict):
    results = [
        {"citation": chunk.citation.to_dict(), "content": chunk.content}
        for chunk in results_for("alarm 1?", 2)
    ]
    answer = {"status": "ok", "results": results}
    assert load._judged(answer, question, failing=False) == verdict
    assert load._judged(answer, question, failing=True) == "wrong"


def test_an_embedding_is_measured_beside_its_limit():
    report = embedding.run_embedding_bench(WordHashes(), turns=10)
    assert report.reached == (report.ratio <= 1.3)
    assert embedding.as_table(report).row_count == 2
