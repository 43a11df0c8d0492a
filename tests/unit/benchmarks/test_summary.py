"""All benchmarks in one run: one that fails costs no other, and none is taken for reached."""

import io
from dataclasses import dataclass

from rich.console import Console

from benchmarks.speed.embedding import EmbeddingReport, run_embedding_bench
from benchmarks.speed.embedding import as_table as embedding_table
from benchmarks.summary import Bench, all_reached, as_dict, as_table, run_one
from knowledge_rag.evaluation.timing import percentiles
from tests.support.local import WordHashes


@dataclass
class Given:
    reached: bool | None

    def to_dict(self):
        return {"reached": self.reached}


def bench(outcome):
    def run():
        if isinstance(outcome, Exception):
            raise outcome
        return Given(outcome)

    return Bench(run, str, lambda it: f"came to {it.reached}", "an aim", "physics")


def done_with(**outcomes):
    return [run_one(name, bench(outcome)) for name, outcome in outcomes.items()]


def test_each_has_a_line_with_what_it_came_to():
    done = done_with(good=True, bad=False, none=None, broken=OSError("no \x1b[31mspace"))
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(as_table(done))
    lines = console.export_text().splitlines()
    told = {line.split()[1]: line for line in lines if line.startswith("│")}
    assert told["good"].rstrip(" │").endswith("reached")
    assert told["bad"].rstrip(" │").endswith("missed: physics")
    assert "OSError: no" in told["broken"]
    assert "not run" in told["broken"]
    assert "\x1b" not in told["broken"]
    assert as_dict(done)["good"] == {"reached": True}
    assert as_dict(done)["broken"]["problem"].startswith("OSError")


def test_only_what_was_run_and_missed_nothing_passes():
    assert all_reached(done_with(good=True, none=None))
    assert not all_reached(done_with(good=True, bad=False))
    assert not all_reached(done_with(good=True, broken=ValueError()))


def test_an_embedding_is_told_beside_its_limit():
    report = run_embedding_bench(WordHashes(), turns=10)
    assert report.reached == (report.ratio <= 1.3)
    assert embedding_table(report).row_count == 2
    slow = EmbeddingReport(1, percentiles([1.0]), percentiles([0.5]), 2.0)
    assert not slow.reached
