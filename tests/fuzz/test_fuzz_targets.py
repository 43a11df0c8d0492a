"""What `make fuzz` relies on, and every input that ever broke something, without the fuzzer."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.mutator import mutate
from tests.support import fuzzing
from tests.support.fuzzing import INPUTS, SEEDS, UNDIALLED, replayed, response_input

CRASHERS = Path(__file__).with_name("crashers")
KEPT = sorted(path for path in CRASHERS.rglob("*") if path.is_file())


@pytest.fixture(autouse=True)
def _replayed(aws_environment):
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", UNDIALLED)
    replayed.cache_clear()
    yield
    replayed().close()
    replayed.cache_clear()


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_broke_once_keeps_the_invariant(path):
    INPUTS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("name", INPUTS)
def test_every_seed_keeps_the_invariant_and_most_are_answered_with_citations(name):
    answers = [INPUTS[name](seed) for seed in SEEDS[name]()]
    assert sum(answer.get("status") == "ok" for answer in answers) >= 3


def test_a_broken_proof_is_a_finding(monkeypatch):
    monkeypatch.setattr("knowledge_rag.core.metadata._is_bound", lambda *_: True)
    body = json.loads(fuzzing.HEALTHY)
    body["retrievalResults"][0]["metadata"]["start_line"] = 4.0
    with pytest.raises(AssertionError):
        response_input(b"\0" + json.dumps(body).encode())


@pytest.mark.parametrize("name", INPUTS)
def test_mutations_are_repeatable_differ_and_go_on_being_answered(name):
    seed = SEEDS[name]()[0]
    mutated = [mutate(seed, 9999, number, lambda data, _: data) for number in range(60)]
    assert mutated == [mutate(seed, 9999, number, lambda data, _: data) for number in range(60)]
    assert len(set(mutated)) > 30
    answers = [INPUTS[name](data) for data in set(mutated)]
    assert sum(bool(answer and answer.get("status") == "ok") for answer in answers) >= 3


@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="atheris comes with `make fuzz` only"
)
@pytest.mark.parametrize("name", INPUTS)
def test_the_fuzzer_runs_the_target(name):
    done = subprocess.run(
        [sys.executable, "-m", f"tests.fuzz.fuzz_{name}", "-runs=300"],
        cwd=Path(__file__).parents[2],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Done 300 runs" in done.stderr
