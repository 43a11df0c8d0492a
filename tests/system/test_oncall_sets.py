"""The on-call sets of tests/data/oncall, asked as ``knowledge-rag eval --answers`` asks them."""

import json
import subprocess
import sys

import pytest

from tests.support.local import PROJECT

SETS = PROJECT / "tests" / "data" / "oncall"
PASSED_AT_LEAST = {
    "airline": 19, "bank": 30, "hospital": 25, "insurer": 21, "parcel": 29, "port": 21, "rail": 26, "saas": 26, "telecom": 26,
}  # fmt: skip
"""What was measured; see docs/evaluation.md."""
DANGEROUS_AT_MOST = {
    "airline": 2, "bank": 1, "hospital": 1, "insurer": 2, "parcel": 1, "port": 1, "rail": 0, "saas": 0, "telecom": 0,
}  # fmt: skip
TORN_AT_MOST = {"port": 1}


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(PASSED_AT_LEAST))
def test_no_answer_that_was_whole_is_lost(name):
    files = (str(SETS / name / "cases.jsonl"), "--docs", str(SETS / name / "docs"))
    command = (sys.executable, "-m", "knowledge_rag", "eval", "--answers", *files, "--json")
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    report = json.loads(done.stdout)
    assert report["torn"] <= TORN_AT_MOST.get(name, 0)
    assert report["passed"] >= PASSED_AT_LEAST[name]
    assert report["dangerous"] <= DANGEROUS_AT_MOST[name]
