"""The console's benchmark asks the real one; how long that takes is for people to read."""

import json
import shutil

import pytest

from benchmarks.speed import console as console_bench
from benchmarks.speed import page as page_bench
from benchmarks.speed.console import run_console_bench
from benchmarks.speed.page import AIMS, BROWSERS, run_page_bench
from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.local.ingest import ingest
from tests.support.local import RUNBOOKS, minilm, write_files
from tests.support.tables import shown

QUEUE = "# SQS backlog\n\n## Resolution\n\n1. If the SQS queue is backing up, scale its consumers out.\n"


def test_the_console_is_asked_until_an_answer_is_whole(tmp_path):
    kb = tmp_path / "kb"
    files = {**RUNBOOKS, "runbooks/sqs.md": QUEUE}
    ingest(write_files(tmp_path / "docs", files), kb, embedder=minilm())
    report = run_console_bench(kb, asks=3)
    times = (report.sources, report.first_text, report.done)
    assert all(0 < one.p50 <= one.p95 for one in times)
    assert report.sources.p50 <= report.done.p50
    json.dumps(report.to_dict(), allow_nan=False)
    assert "3 questions to the console" in shown(console_bench.as_table(report))


@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="no browser to weigh it in")
def test_the_page_is_small_and_timed_to_what_is_drawn(tmp_path):
    kb = tmp_path / "kb"
    ingest(write_files(tmp_path / "docs", RUNBOOKS), kb, embedder=minilm())
    report = run_page_bench(kb, loads=1)
    assert 20_000 < report.wire_bytes < AIMS["wire_bytes"]
    times = (report.largest_paint_ms, report.list_ms, report.letter_ms, report.letter_cpu_ms)
    assert all(time > 0 for time in times)
    assert report.letter_ms <= report.slowest_letter_ms
    json.dumps(report.to_dict(), allow_nan=False)
    assert "list of 10,000 documents" in shown(page_bench.as_table(report))


def test_a_console_that_does_not_start_says_why_in_one_sentence(tmp_path):
    broken = tmp_path / "broken.kb"
    broken.write_text("no database")
    with pytest.raises(KnowledgeRagError) as caught:
        run_console_bench(broken)
    told = f"the console is not served: {broken} is not a knowledge base"
    assert str(caught.value) == told
