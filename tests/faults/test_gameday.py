"""Which alarms a row sets off, and how a game day is shown."""

import os
import re
import subprocess
import sys
import time

import pytest

from knowledge_rag.core import telemetry
from knowledge_rag.core.outcome import Reason
from knowledge_rag.evaluation import gameday
from knowledge_rag.evaluation.faults import run
from knowledge_rag.evaluation.faults.run import CATALOGUE, Broken, FaultResult, named
from knowledge_rag.evaluation.faults.server import CannotRun
from knowledge_rag.evaluation.gameday import GameDay, Row, as_table
from knowledge_rag.evaluation.gameday_alarms import fired_by, wanted_for
from tests.support.local import PROJECT
from tests.support.patience import longer
from tests.support.tables import shown

COUNT, ERRORS = telemetry.RETRIEVAL_COUNT, telemetry.RETRIEVAL_ERRORS


def result(*records, **change):
    return FaultResult("x", **({"seconds": 0.1, "answer": ""} | change), metrics=records)


def record(**values):
    return {COUNT: [1.0], ERRORS: [0.0]} | {name: [value] for name, value in values.items()}


def lasting(*records, **change):
    return fired_by(result(*records, **change)).lasting


def test_calls_over_the_bound_fire_by_the_function_s_own_duration():
    assert lasting(record(), seconds=2.4) == {"latency-p95", "latency-p95-day"}


def test_one_call_in_six_that_fails_is_a_rate_and_no_outage():
    records = [record(**{ERRORS: 1.0}), *[record()] * 5]
    assert lasting(*records) == {"error-rate", "error-rate-day"}


def test_nothing_found_is_no_error():
    empty = record(**{telemetry.RETRIEVAL_ZERO_RESULTS: 1.0})
    assert lasting(empty) == {"zero-results", "zero-results-warning"}


def test_every_fault_that_costs_an_answer_has_to_fire_something():
    for fault in CATALOGUE:
        failed = fault.crashes or (fault.expected.reason is not None)
        assert bool(wanted_for(fault).lasting) >= failed, fault.name


@pytest.fixture
def day():
    failed = record(**{ERRORS: 1.0, telemetry.RETRIEVAL_PERMANENT_ERRORS: 1.0})
    denied = FaultResult("access-denied", 0.02, "degraded: access_denied", metrics=(failed,))
    not_run = FaultResult("drip-body-tls", 0.0, "", not_run="TLS needs the openssl command")
    late = (Broken("answered in time", "at most 2.0 s", "2.31 s"),)
    return GameDay(
        (
            Row(named("access-denied"), denied, fired_by(denied)),
            Row(named("silent"), FaultResult("silent", 2.31, "degraded: timeout"), broken=late),
            Row(named("drip-body-tls"), not_run),
        ),
        12.0,
    )


@pytest.mark.parametrize("width", [80, 100])
def test_a_table_fits_and_tells_what_broke(day, width):
    text = shown(as_table(day), width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "The service is slow" in text
    assert "permanent-errors!" in text
    flat = " ".join(text.split())
    assert "silent: answered in time: expected at most 2.0 s, seen 2.31 s" in flat
    assert "drip-body-tls: not run: TLS needs the openssl command" in flat
    assert "1 broke a promise, 1 not run" in flat


def test_a_game_day_with_a_row_that_was_not_played_is_not_kept(day):
    assert not day.kept
    assert not GameDay(day.rows[2:], 1.0).kept
    assert GameDay(day.rows[:1], 1.0).kept


def test_a_late_answer_is_tried_again_alone_and_that_counts(monkeypatch):
    late = Broken("answered in time", "at most 2.0 s", "2.31 s", timing=True)
    first = FaultResult("silent", 2.31, "degraded: timeout", broken=(late,))
    alone = FaultResult("silent", 1.81, "degraded: timeout")
    runs = iter([[first], [alone]])
    monkeypatch.setattr(gameday, "run_all", lambda *_: next(runs))
    (row,) = gameday.run_gameday([named("silent")], lambda *_: None).rows
    assert row.result == alone


def waits(fault):
    """Wait for ever, as another client does for a service that is silent."""
    time.sleep(600 if fault.name == "silent" else 0)
    return FaultResult(fault.name, 0.0, "answered")


def test_a_client_that_waits_for_ever_is_ended_and_the_next_row_is_played(monkeypatch):
    rows = [named("silent"), named("refused")]
    for seconds in longer(1.0):
        monkeypatch.setattr(run, "WATCHED_SECONDS", seconds)
        waiting, refused = run.run_all(rows, lambda _: None, run=waits, workers=1)
        assert waiting.answer == f"still waiting after {seconds:.0f} s"
        assert waiting.late
        if not refused.late:
            break
    assert refused.answer == "answered"


def dies(_fault):
    os._exit(1)


def test_a_process_that_dies_is_told():
    with pytest.raises(CannotRun, match="could not start, or died"):
        run.run_all([named("refused")], lambda _: None, run=dies)


INTERRUPTED = """
import os, signal
import multiprocessing.util as util
from knowledge_rag.evaluation.faults.run import named
from knowledge_rag.evaluation.faults.run import run_all

def start(*arguments, really=util.spawnv_passfds):
    process = really(*arguments)
    if "spawn_main" in str(arguments):
        os.kill(os.getpid(), signal.SIGINT)
    return process

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    util.spawnv_passfds = start
    try:
        run_all([named("silent")], lambda _: None)
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_an_interrupt_between_a_process_and_what_it_is_to_do_leaves_no_traceback(tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    ran = subprocess.run([sys.executable, script], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"interrupted\n", b"")


class TestDocumentation:
    PAGE = (PROJECT / "docs" / "gameday.md").read_text()

    def test_every_reason_is_explained_once(self):
        explained = re.findall(
            r"^\| `(\w+)` \| [^|\d][^|]+ \| [^|]+ \| [^|]+ \|$", self.PAGE, re.MULTILINE
        )
        assert sorted(explained) == sorted(Reason)
