"""The function under load, in a process of its own; `python -m benchmarks load` is the full run."""

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize("calls", [400, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_threads_share_the_function_and_every_call_gets_its_own_answer_in_flat_memory(calls):
    command = ["-m", "benchmarks", "load", "--calls", str(calls), "--threads", "8"]
    done = subprocess.run(
        [sys.executable, *command, "--json"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["wrong"] == report["mixed_up"] == 0
    assert (report["records"], report["broken_records"]) == (2 * calls, 0)
    assert (report["sound"], done.returncode) == (True, 0)
    early, _, late = report["rss_megabytes"]
    assert late - early < 6, report["rss_megabytes"]
