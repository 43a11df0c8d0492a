"""What models may cost in a day: set aside before a call, settled behind it, kept in a file."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime

import pytest

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.orchestrator.advisors.spending import (
    FILE,
    LIMIT_VARIABLE,
    PRICES_VARIABLE,
    Prices,
    Spending,
    spending_of,
)
from knowledge_rag.orchestrator.errors import LimitReached

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PRICES = Prices(given=3.0, written=15.0)


def spending(folder, limit=1.0, now=NOON):
    return Spending(folder / FILE, PRICES, limit, lambda: now)


def kept(folder):
    return json.loads((folder / FILE).read_text())


def test_a_call_is_refused_that_could_cost_more_than_is_left_of_the_day(tmp_path):
    day = spending(tmp_path, limit=0.1)
    assert day.set_aside(10_000, 4_000) == pytest.approx(0.09)
    with pytest.raises(LimitReached) as refused:
        day.set_aside(10_000, 4_000)
    assert "(0.1) allows no further call before 00:00 UTC" in refused.value.said
    assert kept(tmp_path) == {"day": "2026-03-01", "spent": pytest.approx(0.09)}


def test_what_is_reported_replaces_what_was_set_aside_also_for_another_process(tmp_path):
    cost = spending(tmp_path, limit=0.1).set_aside(10_000, 4_000)
    spending(tmp_path).settle(cost, 10_000, 100)
    assert kept(tmp_path)["spent"] == pytest.approx(0.0315)
    assert spending(tmp_path, limit=0.13).set_aside(10_000, 4_000)


def test_the_next_day_begins_without_calls(tmp_path):
    spending(tmp_path, limit=0.1).set_aside(10_000, 4_000)
    assert spending(tmp_path, limit=0.1, now=NOON.replace(day=2)).set_aside(10_000, 4_000)
    assert kept(tmp_path)["day"] == "2026-03-02"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '{"day": "2026-03-01"}', '{"day": "2026-03-01", "spent": "x"}',
             '{"day": "2026-03-01", "spent": NaN}', '{"day": "2026-03-01", "spent": -5}']
)  # fmt: skip
def test_a_damaged_file_is_a_day_without_calls(text, tmp_path):
    (tmp_path / FILE).write_text(text)
    assert spending(tmp_path, limit=0.1).set_aside(10_000, 4_000)


def test_without_a_place_to_keep_it_no_model_is_asked(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LimitReached) as refused:
        spending(tmp_path / "file").set_aside(1, 1)
    assert "can't be kept in" in refused.value.said


def test_calls_at_once_stay_below_the_limit_together(tmp_path):
    refused = []

    def call():
        for _ in range(10):
            try:
                spending(tmp_path, limit=1.0).set_aside(10_000, 4_000)
            except LimitReached:
                refused.append(1)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for it in threads:
        it.start()
    for it in threads:
        it.join()
    assert kept(tmp_path)["spent"] <= 1.0
    assert 40 - len(refused) == 11


def test_the_environment_sets_both_or_nothing(tmp_path):
    assert spending_of({}, tmp_path) is None
    given = {PRICES_VARIABLE: "3/15", LIMIT_VARIABLE: "0.1"}
    made = spending_of(given, tmp_path)
    assert made is not None
    assert made.set_aside(10_000, 4_000) == pytest.approx(0.09)


@pytest.mark.parametrize(
    ("prices", "limit", "said"),
    [
        ("3/15", "", LIMIT_VARIABLE),
        ("", "5", PRICES_VARIABLE),
        ("3", "5", "such as 3/15"),
        ("3/x", "5", "such as 3/15"),
        ("3/-1", "5", "such as 3/15"),
        ("3/15", "inf", "a number above 0"),
        ("3/15", "0", "above 0"),
    ],
)
def test_what_is_no_limit_is_said(prices, limit, said, tmp_path):
    with pytest.raises(InvalidSettings, match=said):
        spending_of({PRICES_VARIABLE: prices, LIMIT_VARIABLE: limit}, tmp_path)
