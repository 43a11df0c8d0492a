"""Comparing two runs question by question."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, RetrievalResult, Status
from knowledge_rag.evaluation.comparison import (
    FORMAT,
    Results,
    as_table,
    compare,
    read_results,
    write_results,
)
from knowledge_rag.evaluation.datasets import Row, Target
from knowledge_rag.evaluation.evaluation_report import Setup, summarise
from knowledge_rag.evaluation.evaluation_run import Asked, Judged
from tests.support.tables import shown

FOUND = RetrievalOutcome(Status.OK, (RetrievalResult("text", Citation("a.md", 1, 2), None),))
NOTHING = RetrievalOutcome(Status.NO_MATCH)
DEGRADED = RetrievalOutcome(Status.DEGRADED, reason=Reason.TIMEOUT)
ANSWERS = {f"answer_hit@{k}": None for k in (1, 3, 5)}
MEASURES = ("hit@1", "hit@3", "hit@5", "recall@10", "mrr@10", "ndcg@10")


def runs(values, *, rows="r", docs="d", name="a"):
    """Give a run of so many questions with these values of hit@1."""
    each = {f"q{n}": {"hit@1": value} for n, value in enumerate(values)}
    return Results(name, rows, docs, each)


def difference(a, b, **more):
    ((found),) = compare(runs(a), runs(b), **more).differences
    return found


def test_a_clear_difference_is_more_than_chance():
    a, b = [0.0] * 60 + [1.0] * 40, [1.0] * 30 + [0.0] * 30 + [1.0] * 40
    found = difference(a, b)
    assert (found.a, found.b, found.pairs) == (0.4, 0.7, 100)
    assert found.difference == pytest.approx(0.3)
    # of the mean of 100 differences of which 30 are 1: sqrt(.3 * .7 / 100) = .046
    assert found.low == pytest.approx(0.3 - 1.96 * 0.0458, abs=0.012)
    assert found.high == pytest.approx(0.3 + 1.96 * 0.0458, abs=0.012)
    assert found.more_than_chance
    assert found.verdict == "better"
    assert difference(b, a).verdict == "worse"


def test_as_much_won_as_lost_shows_no_difference():
    found = difference([0.0, 1.0] * 50, [1.0, 0.0] * 49 + [1.0, 1.0])
    assert found.difference == pytest.approx(0.02 - 0.01)
    assert not found.more_than_chance
    assert found.verdict == "no difference shown"
    found = difference([0.0, 1.0] * 50, [1.0, 0.0] * 50)
    assert (found.difference, found.verdict) == (0, "no difference shown")


def test_a_run_beside_itself_is_the_same():
    found = difference([0.0, 1.0], [0.0, 1.0])
    assert (found.low, found.high, found.verdict) == (0, 0, "the same")


def slowed(run, by):
    """Give the run as it is on a machine that is busier throughout."""
    values = {
        name: {**each, "latency_ms": each["latency_ms"] and each["latency_ms"] + by}
        for name, each in run.values.items()
    }
    return replace(run, name="b", values=values)


def test_a_slower_machine_makes_no_run_worse(tmp_path):
    write_results(evaluation(*[FOUND] * 40, DEGRADED), tmp_path / "a")
    a = read_results(tmp_path / "a")
    b = slowed(a, 12.5)
    done = compare(a, b)
    (latency,) = (each for each in done.differences if each.metric == "latency_ms")
    assert (latency.difference, latency.low, latency.pairs) == (12.5, 12.5, 40)
    assert (latency.more_than_chance, latency.verdict) == (False, "not judged")
    assert {each.verdict for each in done.differences} == {"the same", "not judged"}
    told = done.to_dict()["latency_percentiles_ms"]
    assert told["a"] == {"p50": 250.0, "p95": 250.0, "p99": 250.0}
    assert told["b"]["p95"] == 262.5
    (line,) = (line for line in shown(as_table(done), 100).split("\n") if "latency_ms p95" in line)
    assert [part.strip() for part in line.strip("\u2502 ").split("\u2502")] == [
        "latency_ms p95", "250.0", "262.5", "+12.5", "not judged",
    ]  # fmt: skip
    assert all(each.verdict == "the same" for each in compare(a, replace(a)).differences)


def test_runs_of_which_one_could_not_search_have_no_percentiles(tmp_path):
    for name, outcome in (("a", FOUND), ("b", DEGRADED)):
        write_results(evaluation(outcome, outcome), tmp_path / name)
    done = compare(read_results(tmp_path / "a"), read_results(tmp_path / "b"))
    assert done.to_dict()["latency_percentiles_ms"]["b"] is None
    rates = {each.metric: each.verdict for each in done.differences}
    assert (rates["success_rate"], rates["degraded_rate"]) == ("worse", "worse")
    assert "latency_ms" not in rates
    assert "p95" not in shown(as_table(done), 100)


def test_every_figure_of_an_evaluation_is_compared(tmp_path):
    done = evaluation(FOUND, NOTHING, FOUND, answers=((2, 2), (3, 3), None))
    write_results(done, tmp_path / "a")
    read = read_results(tmp_path / "a")
    compared = {each.metric: each.a for each in compare(read, read).differences}
    figures = done.figures.to_dict()
    told = {"queries", "citations", "degraded", "degraded_latency_ms", "latency_ms"}
    assert compared.keys() - {"latency_ms"} == figures.keys() - told
    assert {name: compared[name] for name in ("answer_hit@1", "success_rate", "hit@5")} == {
        name: pytest.approx(figures[name]) for name in ("answer_hit@1", "success_rate", "hit@5")
    }
    assert [each["answer_hit@3"] for each in read.values.values()] == [1.0, 0.0, None]


def test_the_intervals_are_those_of_ten_thousand_seeded_draws():
    random = np.random.default_rng(1)
    a, b = random.random(30), random.random(30)
    found = difference(list(a), list(b))
    assert found == difference(list(a), list(b))
    assert found != difference(list(a), list(b), seed=5)
    draws = np.random.default_rng(9).integers(0, 30, (10_000, 30))
    expected = np.quantile((b - a)[draws].mean(axis=1), [0.025, 0.975])
    assert [found.low, found.high] == pytest.approx(list(expected), abs=0.01)


def test_questions_without_a_value_in_both_are_left_out_of_that_metric():
    a, b = runs([0.0, 0.0, 0.0, 1.0]), runs([1.0, 1.0, 1.0, 1.0])
    a.values["q0"]["hit@1"] = b.values["q3"]["hit@1"] = None
    (found,) = compare(a, b).differences
    assert (found.pairs, found.a, found.b, found.low) == (2, 0, 1, 1)
    for values in a.values.values():
        values["hit@1"] = None
    assert compare(a, b).differences == ()


@pytest.mark.parametrize(
    "other", [runs([1.0, 1.0], rows="other"), runs([1.0, 1.0, 1.0]), runs([1.0])]
)
def test_runs_of_different_questions_are_refused(other):
    with pytest.raises(InvalidRequest, match="different questions"):
        compare(runs([1.0, 1.0]), other)


def test_one_question_tells_nothing_from_chance():
    with pytest.raises(InvalidRequest, match="too few"):
        compare(runs([1.0]), runs([0.0]))


def test_people_see_each_metric_and_what_to_make_of_it():
    a, b = runs([0.0] * 9), runs([1.0] * 9, docs="other", name="b.jsonl")
    text = shown(as_table(compare(a, b)))
    for part in (
        "9 queries",
        "+1.000 (+1.000 .. +1.000)",
        "better",
        "b.jsonl",
        "different documents",
    ):
        assert part in text
    assert compare(a, b).to_dict()["metrics"]["hit@1"]["more_than_chance"] is True


def evaluation(*outcomes, answers=()):
    """Give a run with these outcomes, and these lines of the very answers."""

    def row(n):
        lines = answers[n] if n < len(answers) else None
        target = Target("a.md", (1, 2))
        return Row(f"q{n}", "why?", (target,), answer=lines and Target("a.md", lines))

    judged = [
        Judged(
            Asked(row(n), "why?", outcome, 0.25),
            dict.fromkeys(MEASURES, 1.0 if outcome is FOUND else 0.0),
            1 if outcome is FOUND else None,
            1 if outcome is FOUND else None,
            1.0 if outcome is FOUND else 0.0,
            (True,) * len(outcome.results),
        )
        for n, outcome in enumerate(outcomes)
    ]
    setup = Setup("local", "hybrid", 5, with_alert=False, rows_sha256="r", docs_sha256="d")
    return summarise(setup, judged)


def test_what_was_written_is_read_with_what_counts_for_each_figure(tmp_path):
    path = tmp_path / "a.jsonl"
    write_results(evaluation(FOUND, NOTHING, DEGRADED), path)
    read = read_results(path)
    assert (read.rows_sha256, read.docs_sha256, list(read.values)) == ("r", "d", ["q0", "q1", "q2"])
    found, nothing, degraded = read.values.values()
    assert found == dict.fromkeys(MEASURES, 1.0) | {
        "line_overlap": 1.0,
        "citation_exact": 1.0,
        "zero_result_rate": 0.0,
        "success_rate": 1.0,
        "degraded_rate": 0.0,
        **dict.fromkeys(ANSWERS),
        "latency_ms": 250.0,
    }
    assert (nothing["zero_result_rate"], nothing["citation_exact"]) == (1.0, None)
    assert (degraded["zero_result_rate"], degraded["latency_ms"]) == (None, None)
    assert degraded["degraded_rate"] == 1.0
    names = {each.metric for each in compare(read, read).differences}
    assert names == set(found) - ANSWERS.keys()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "text",
    ["", "{}\n", "[1]\n", '{"format": "other"}\n', '{"queries": 3, "hit@1": 1}\n', "# A page\n"],
)
def test_another_file_is_no_results(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises((InvalidRequest, UnreadableDocument), match=r"a\.json: "):
        read_results(path)


def test_results_that_were_cut_off_or_changed_are_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    write_results(evaluation(FOUND, FOUND), path)
    lines = path.read_text().split("\n")
    path.write_text("\n".join(lines[:2]))
    with pytest.raises(InvalidRequest, match="results of 1 queries, not of 2"):
        read_results(path)
    path.write_text("\n".join([*lines[:2], lines[1]]))
    with pytest.raises(InvalidRequest, match="results of 1 queries"):
        read_results(path)
    row = json.loads(lines[1])
    del row["mrr@10"]
    path.write_text("\n".join([lines[0], json.dumps(row), lines[2]]))
    with pytest.raises(InvalidRequest, match="not results of"):
        read_results(path)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1", "1.5", "1e999", "1" + "0" * 400])
def test_a_figure_that_is_none_is_no_result(value, tmp_path):
    head = {"format": FORMAT, "queries": 1, "rows_sha256": "a", "docs_sha256": "b"}
    row = {"id": "1", "status": "ok", "latency_ms": 1.0, "line_overlap": None, "results": []}
    lines = [json.dumps(head), json.dumps({**row, **dict.fromkeys(MEASURES, 1.0)})]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(lines))
    assert read_results(path).values["1"]["latency_ms"] == 1
    path.write_text("\n".join(lines).replace(f'"{MEASURES[0]}": 1.0', f'"{MEASURES[0]}": {value}'))
    with pytest.raises(InvalidRequest, match="not results of"):
        read_results(path)
