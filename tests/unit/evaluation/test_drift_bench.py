"""Runs of drift on more and more documents."""

from __future__ import annotations

from knowledge_rag.evaluation.drift_bench import (
    AGAIN,
    ALL,
    DriftBenchReport,
    DriftRun,
    as_table,
    run_drift_bench,
)
from tests.support.local import write_files
from tests.support.tables import shown


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
    assert "2000 documents a minute" in " ".join(shown(as_table(report(30, 110))).split())
