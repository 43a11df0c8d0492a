"""Metric math as CloudWatch computes it."""

import math

import pytest

from knowledge_rag.evaluation.gameday_alarms import MetricMathError, aggregate, evaluate


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


def test_missing_data_can_be_filled():
    assert evaluate("5 - FILL(e, 0)", {"e": math.nan}) == 5


def test_a_metric_without_data_gives_none_and_breaches_nothing():
    value = evaluate("IF(n >= 10, 100 * e / n, 0)", {"e": math.nan, "n": math.nan})
    assert math.isnan(value)
    assert not value > 0


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("x + 1", "'x' is not supported: use numbers, e, n,"),
        ("e +", "is not metric math"),
        ("1 < e < 5", "not supported"),
        ("SUM(METRICS())", "'SUM(METRICS())' is not supported"),
        ("__import__('os').system('true')", "not supported"),
        ("e.real", "not supported"),
        ("[e for e in n]", "not supported"),
        ("IF(e, 1)", "not supported"),
        ("FILL(e + n, 0)", "not supported"),
        ("FILL(x, 0)", "'x' is not supported"),
        ("PERIOD(x)", "'PERIOD(x)' is not supported"),
        ("e ** 9", "not supported"),
        ("True", "not supported"),
        ("'e'", "not supported"),
        ("", "is not metric math"),
        ("e\x00", "is not metric math"),
    ],
)
def test_what_is_outside_the_subset_is_named(expression, problem):
    with pytest.raises(MetricMathError) as caught:
        evaluate(expression, {"e": 1, "n": 2})
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("statistic", "value"),
    [
        ("Sum", 110),
        ("Average", 27.5),
        ("Minimum", 10),
        ("Maximum", 50),
        ("SampleCount", 4),
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


@pytest.mark.parametrize("statistic", ["Median", "p", "p101", "p-1", "pnan", "tm99"])
def test_an_unknown_statistic_is_named(statistic):
    with pytest.raises(MetricMathError, match=statistic):
        aggregate(statistic, [1])
