"""The benchmarks do what they say with few calls; what they measure is for people to read."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from benchmarks.speed import coldstart as coldstart_bench
from benchmarks.speed import handler as handler_bench
from benchmarks.speed import load as load_bench
from benchmarks.speed.coldstart import run_coldstart_bench
from benchmarks.speed.handler import run_handler_bench
from benchmarks.speed.load import LoadSettings, run_load_bench
from benchmarks.speed.server import FAULTS, response_to, results_for
from knowledge_rag.evaluation.timing import Percentiles, percentiles
from tests.support.tables import shown


def test_percentiles_are_times_that_were_taken():
    assert percentiles([n / 1000 for n in range(100, 0, -1)]) == Percentiles(50.0, 95.0, 99.0)
    assert percentiles([0.25]) == Percentiles(250.0, 250.0, 250.0)


def test_the_handler_is_measured_beside_boto3_and_raw_http_and_all_of_them_get_results():
    report = run_handler_bench(12)
    assert {row.name: row.results for row in report.rows} == {
        "raw boto3": 10,
        "retrieve_knowledge": 5,
        "raw HTTP": 10,
    }
    assert all(0 < row.milliseconds.p50 <= row.milliseconds.p95 for row in report.rows)
    assert report.rows[0].ratio == 1.0
    document = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert document["reached"] is (document["ratio"] <= 1.05)
    assert "retrieve_knowledge" in shown(handler_bench.as_table(report))


def test_cold_starts_are_measured_in_processes_of_their_own_with_and_without_pyc():
    report = run_coldstart_bench(1)
    names = [row.name for row in report.rows]
    assert names[0] == "boto3 + client"
    assert sum("without .pyc" in name for name in names) == 2
    assert sum("first call" in name for name in names) == 3
    assert all(row.seconds > 0 for row in report.rows)
    json.dumps(report.to_dict(), allow_nan=False)
    assert "boto3 = 1" in shown(coldstart_bench.as_table(report))


@pytest.mark.parametrize("compiled", [True, False])
def test_the_function_s_package_is_laid_out_with_or_without_pyc(compiled):
    with coldstart_bench._package(compiled=compiled) as package:
        assert (package / "lambdas/retrieve_knowledge/handler.py").exists()
        assert not (package / "knowledge_rag/local").exists()
        assert bool(list(package.rglob("*.pyc"))) is compiled


def test_a_start_that_fails_is_no_figure(monkeypatch):
    monkeypatch.setattr(coldstart_bench, "_HANDLER", "raise SystemExit(3)")
    with pytest.raises(RuntimeError, match="handler, initialised"):
        run_coldstart_bench(1)


def test_load_is_told_with_its_percentiles_and_memory():
    report = run_load_bench(LoadSettings(calls=200, threads=4, deadline_seconds=0.3))
    assert (report.wrong, report.mixed_up, report.broken_records) == (0, 0, 0)
    assert report.records == 400
    assert len(report.rss_megabytes) == 3
    assert report.sound
    json.dumps(report.to_dict(), allow_nan=False)
    assert "mixed up: 0" in shown(load_bench.as_table(report), width=200)


def test_a_load_that_is_interrupted_ends_with_the_calls_that_are_under_way():
    asked = []

    def interrupted_soon(event, _context):
        asked.append(event)
        if len(asked) == 5:
            os.kill(os.getpid(), signal.SIGINT)  # as a terminal does: to the process, not a thread
        time.sleep(0.001)  # all of them would take minutes, however long the interrupt takes
        return {"status": "degraded", "results": []}

    run = load_bench._Run(interrupted_soon, LoadSettings(calls=1_000_000, threads=2))
    deaf_perhaps = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run.carry_out()
    finally:
        signal.signal(signal.SIGINT, deaf_perhaps)
    assert len(asked) < 1_000_000


def test_ctrl_c_is_for_whoever_started_the_server():
    command = [sys.executable, "-m", "benchmarks.speed.server", "fixed"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        assert int(server.stdout.readline())
        server.send_signal(signal.SIGINT)
        _, told = server.communicate()
    assert (server.returncode, told) == (0, b"")


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
