"""All benchmarks in one run: one that fails costs no other, and none that fails passes."""

import pytest
import typer

from benchmarks.commands import everything as all_benchmarks
from knowledge_rag.core.errors import InvalidRequest


def good():
    pass


def slow():
    raise typer.Exit(1)


def broken():
    raise InvalidRequest("no space")


def test_every_benchmark_is_run_and_the_outcome_of_each_shown(monkeypatch, capsys):
    monkeypatch.setattr(all_benchmarks, "BENCHMARKS", (slow, broken, good))
    with pytest.raises(typer.Exit):
        all_benchmarks.everything()
    shown = capsys.readouterr()
    assert [line.split()[1] for line in shown.out.splitlines() if line.startswith("│")] == [
        "slow", "broken", "good",
    ]  # fmt: skip
    assert shown.err == "broken: InvalidRequest: no space\n"
    monkeypatch.setattr(all_benchmarks, "BENCHMARKS", (good,))
    all_benchmarks.everything()
