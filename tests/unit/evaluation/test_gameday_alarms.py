"""Metric math as CloudWatch computes it."""

import math

import pytest

from knowledge_rag.evaluation.gameday_alarms import aggregate, evaluate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("e", 3),
        ("100 * e / n", 15),
        ("n - e >= 17", 1),
        ("n - e > 17", 0),
        ("-e + 2.5", -0.5),
        ("(n - e) / 2", 8.5),
        ("e == 3", 1),
        ("e != 3", 0),
        ("n < e", 0),
        ("e <= 3", 1),
        ("IF(n >= 10, 100 * e / n, 0)", 15),
        ("IF(n >= 21, 100 * e / n, 0)", 0),
        ("IF(e - 3, 1, 2)", 2),
        ("IF(-e, 1, 2)", 1),
        ("FILL(e, 7)", 3),
        ("60 * e / PERIOD(e)", 0.6),
        (" e ", 3),
    ],
)
def test_arithmetic_is_that_of_cloudwatch(expression, value):
    assert evaluate(expression, {"e": 3, "n": 20}) == value


@pytest.mark.parametrize(
    "expression", ["e / n", "100 * (e / n)", "IF(e / n, 1, 1)", "e / n > 5", "IF(1, e / n, 0)"]
)
def test_a_division_by_zero_is_no_data_and_so_is_what_depends_on_it(expression):
    assert math.isnan(evaluate(expression, {"e": 1, "n": 0}))


def test_a_branch_that_is_not_taken_needs_no_data():
    assert evaluate("IF(n >= 10, 100 * e / n, 0)", {"e": 0, "n": 0}) == 0


def test_missing_data_is_filled_or_stays_missing():
    assert evaluate("5 - FILL(e, 0)", {"e": math.nan}) == 5
    assert math.isnan(evaluate("IF(n >= 10, 100 * e / n, 0)", {"e": math.nan, "n": math.nan}))


@pytest.mark.parametrize(
    "expression",
    ["x + 1", "1 < e < 5", "SUM(METRICS())", "e.real", "[e for e in n]", "IF(e, 1)", "FILL(x, 0)", "e ** 9", "'e'"],
)  # fmt: skip
def test_what_is_outside_the_subset_is_refused(expression):
    with pytest.raises(ValueError, match="not supported metric math"):
        evaluate(expression, {"e": 1, "n": 2})


@pytest.mark.parametrize(
    ("statistic", "value"),
    [
        ("Sum", 110),
        ("Average", 27.5),
        ("Minimum", 10),
        ("Maximum", 50),
        ("p0", 10),
        ("p50", 25),
        ("p95", 47),
        ("p100", 50),
    ],
)
def test_statistics_of_a_period(statistic, value):
    assert aggregate(statistic, [50, 10, 30, 20]) == pytest.approx(value)


def test_a_period_without_samples_has_no_statistic():
    assert math.isnan(aggregate("Sum", []))
    assert math.isnan(aggregate("p95", []))


@pytest.mark.parametrize("statistic", ["Median", "p", "p101", "tm99"])
def test_an_unknown_statistic_is_refused(statistic):
    with pytest.raises(ValueError, match=r"could not convert|range"):
        aggregate(statistic, [1])
