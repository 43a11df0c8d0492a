"""Summing a run up, against figures worked out by hand; and drawing it."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, RetrievalResult, Status
from knowledge_rag.evaluation.datasets import Row, Target
from knowledge_rag.evaluation.evaluation_report import (
    BLUE,
    ORANGE,
    Setup,
    as_tables,
    check_plot,
    hit_curve,
    summarise,
    write_plot,
)
from knowledge_rag.evaluation.evaluation_run import Asked, judge
from knowledge_rag.local.errors import NotInstalled
from tests.support.tables import shown

SETUP = Setup("local", "hybrid", 5, with_alert=False, rows_sha256="r", docs_sha256="d")
DEGRADED = RetrievalOutcome(Status.DEGRADED, reason=Reason.TIMEOUT)
NOTHING = RetrievalOutcome(Status.NO_MATCH)


class Proof:
    """Says of one file that it is not what was cited."""

    def is_exact(self, result):
        return result.citation.source_file != "wrong.md"


def given(*files):
    results = tuple(RetrievalResult("text", Citation(name, 1, 2), 0.5) for name in files)
    return RetrievalOutcome(Status.OK, results)


def run(*outcomes, seconds=0.01, dataset="set", lines=None):
    truth = (Target("a.md", lines),)
    asked = [
        Asked(Row(f"q{n}", "why?", truth, dataset=dataset), "why?", outcome, seconds)
        for n, outcome in enumerate(outcomes)
    ]
    return judge(asked, Proof())


def figures(*judged):
    return summarise(SETUP, judged).figures


def test_rates_are_of_what_they_are_said_to_be_of():
    found = figures(*run(given("a.md"), given("x.md", "a.md"), NOTHING, DEGRADED))
    assert found.queries == 4
    assert found.measures["hit@1"] == 1 / 4
    assert found.measures["hit@5"] == 2 / 4
    assert found.measures["mrr@10"] == (1 + 1 / 2) / 4
    assert found.success_rate == 3 / 4
    assert found.degraded_rate == 1 / 4
    assert found.degraded == {"timeout": 1}
    assert found.zero_result_rate == pytest.approx(1 / 3, abs=1e-6)  # of the searched
    assert (found.citations, found.citation_exact) == (3, 1.0)


def test_degraded_calls_stand_apart_from_latency():
    quick = run(*[given("a.md")] * 3, seconds=0.02)
    found = figures(*quick, *run(DEGRADED, seconds=2.0))
    assert (found.latency_ms.p50, found.latency_ms.p99) == (20, 20)
    assert found.degraded_latency_ms.p50 == 2000
    assert figures(*quick).degraded_latency_ms is None
    assert figures(*run(DEGRADED)).latency_ms is None


def test_percentiles_are_nearest_ranks():
    (one,) = run(given("a.md"))
    asked = [replace(one.asked, seconds=n / 1000) for n in range(1, 101)]
    found = figures(*(replace(one, asked=each) for each in asked)).latency_ms
    assert (found.p50, found.p95, found.p99) == (50, 95, 99)


def test_line_overlap_and_answers_are_means_over_the_rows_that_have_them():
    with_lines = run(given("a.md"), given("x.md"), lines=(1, 4))  # 2 of 4 lines, and 0
    found = figures(*with_lines, *run(given("a.md")))
    assert found.line_overlap == pytest.approx(1 / 4)
    assert found.answer_hits == {}
    assert figures(*run(given("a.md"))).line_overlap is None
    row = Row("q", "why?", (Target("a.md"),), answer=Target("a.md", (2, 2)))
    answered = judge([Asked(row, "why?", given("x.md", "a.md"), 0.01)], Proof())
    found = figures(*answered, *run(DEGRADED))
    assert found.answer_hits == {"answer_hit@1": 0, "answer_hit@3": 1, "answer_hit@5": 1}


@pytest.mark.parametrize(
    ("good", "bad", "missed"),
    [
        (19, [], ()),
        (4, run(given("x.md")), ("relevance (hit@5)",)),  # 80 % is not over 80 %
        (41, run(*[given("x.md")] * 10), ()),
        (19, run(DEGRADED), ("success",)),  # 95 % is not over 95 %
        (20, run(DEGRADED), ()),
        (81, run(*[NOTHING] * 19), ()),
        (80, run(*[NOTHING] * 20), ("relevance (hit@5)", "zero results")),
        (99, run(given("a.md", "wrong.md")), ("citation accuracy",)),
        (18, run(given("a.md"), seconds=2.0), ("latency p95",)),
        (19, run(given("a.md"), seconds=2.0), ()),
        (0, run(NOTHING), ("citation accuracy", "relevance (hit@5)", "zero results")),
        (
            0,
            run(DEGRADED),
            ("latency p95", "success", "citation accuracy", "relevance (hit@5)", "zero results"),
        ),
    ],
)
def test_each_target_is_missed_by_itself_and_is_named(good, bad, missed):
    done = summarise(SETUP, [*run(*[given("a.md")] * good), *bad])
    assert done.missed == missed
    assert done.to_dict()["missed"] == list(missed)
    assert done.to_dict()["passed"] is (not missed)


def test_what_is_not_quite_reached_does_not_read_as_reached():
    judged = run(*[given("a.md")] * 1999, given("wrong.md"))
    (goal,) = [goal for goal in summarise(SETUP, judged).goals if goal.name == "citation accuracy"]
    assert (goal.measured, goal.reached) == ("99.9%", False)


def test_json_is_flat_and_says_how_it_was_made():
    done = summarise(SETUP, run(given("a.md"), NOTHING)).to_dict()
    assert done["hit@1"] == done["hit@3"] == done["hit@5"] == done["mrr@10"] == 0.5
    assert done["ndcg@10"] == 0.5
    assert done["latency_ms"] == {"p50": 10, "p95": 10, "p99": 10}
    assert {"queries", "line_overlap", "citation_exact", "zero_result_rate", "degraded_rate"} < set(
        done
    )
    assert done["by_dataset"]["set"]["queries"] == 2
    assert (done["search"], done["max_results"], done["with_alert"]) == ("hybrid", 5, False)


def test_people_see_figures_datasets_and_targets():
    judged = [*run(given("a.md"), DEGRADED, dataset="one"), *run(given("a.md"), dataset="two")]
    text = shown(as_tables(summarise(SETUP, judged)), 90)
    for part in ("3 queries", "by dataset", "two", "timeout 1", "missed: success", "> 80%"):
        assert part in text
    text = shown(as_tables(summarise(SETUP, run(given("a.md")))), 90)
    assert "by dataset" not in text
    assert "missed" not in text


@pytest.fixture
def done():
    quick = run(given("a.md"), given("x.md", "a.md"), NOTHING, seconds=0.02)
    return summarise(SETUP, [*quick, *run(DEGRADED, seconds=1.8)])


def test_the_curve_is_the_share_answered_among_the_first_k(done):
    assert hit_curve(done) == [1 / 4, 2 / 4, 2 / 4, 2 / 4, 2 / 4]


def test_a_drawing_has_units_and_is_the_same_every_time(done, tmp_path):
    paths = [tmp_path / name for name in ("a.svg", "b.SVG")]
    for path in paths:
        check_plot(path, tmp_path)
        write_plot(done, path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    texts = {"".join(each.itertext()).strip() for each in ET.fromstring(first).iter()}
    assert {"k (results)", "share of queries (0 to 1)", "time (ms)", "number of queries"} <= texts
    assert {"searched", "degraded", "p95 of searched queries: 20 ms"} <= texts
    assert BLUE.encode() in first
    assert ORANGE.encode() in first
    assert b"<dc:date>" not in first


def test_a_picture_of_points_can_be_had_and_nothing_else(done, tmp_path):
    path = tmp_path / "a.png"
    check_plot(path, tmp_path)
    write_plot(done, path)
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidRequest, match=r"must end in \.svg or \.png"):
        check_plot(tmp_path / "a.pdf", tmp_path)


def test_without_the_extra_one_line_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(os.environ, "MPLCONFIGDIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(NotInstalled, match=r"not installed, and plots need it: .*\[eval\]'"):
        check_plot(tmp_path / "a.svg", tmp_path)
