"""Ingests and runs of drift are timed, with what their time was spent on."""

from __future__ import annotations

from dataclasses import replace

from knowledge_rag.evaluation.local_speed import (
    AGAIN,
    ALL,
    DriftBenchReport,
    DriftRun,
    run_drift_bench,
    run_ingest_bench,
)
from tests.support.local import RUNBOOKS, WordHashes, write_files
from tests.support.tables import shown


def test_an_ingest_is_told_with_its_share_in_the_model_and_a_second_one_embeds_nothing(tmp_path):
    report = run_ingest_bench(write_files(tmp_path, RUNBOOKS), WordHashes())
    assert report.documents == len(RUNBOOKS)
    assert 0 < report.in_model < 1
    assert report.again_embedded == 0
    assert not report.reached  # counting words takes no time
    assert "0 chunks" in shown(report.as_table())
    assert "3 chunks" in shown(replace(report, again_embedded=3).as_table())


def test_documents_are_checked_by_all_checks_twice_and_by_each(tmp_path):
    write_files(tmp_path, {"a.md": "# A\n\n`kubectl get pods`\n", "b.txt": "other\n"})
    report = run_drift_bench(tmp_path, (3,))
    assert [it.checks for it in report.runs] == [ALL, AGAIN, "commands", "links", "names"]
    assert {it.documents for it in report.runs} == {3}
    assert all(it.seconds > 0 and it.memory > 10 for it in report.runs)


def test_a_slow_or_growing_run_misses_the_aim():
    def report(seconds, memory):
        return DriftBenchReport((DriftRun(250, ALL, 1, 100), DriftRun(1_000, ALL, seconds, memory)))

    assert report(60, 125).reached
    assert not report(61, 125).reached
    assert not report(60, 126).reached
    assert report(30, 110).to_dict() | {"runs": []} == {
        "runs": [], "documents_a_minute": 2_000, "memory_growth": 1.1, "reach": 1_000, "reached": True,
    }  # fmt: skip
    assert "2000 documents a minute" in " ".join(shown(report(30, 110).as_table()).split())
