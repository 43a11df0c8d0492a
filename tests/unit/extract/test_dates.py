"""What is a date, and what merely looks like one."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.chunking import ChunkingSettings, chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.metadata import to_metadata
from knowledge_rag.extract.dates import (
    MAX_DATES,
    MAX_METADATA_BYTES,
    MAX_YEAR,
    MIN_YEAR,
    DateOrder,
    DocumentDates,
    dated,
    find_dates,
)

LABELLED = Path(__file__).parents[2] / "data/dates/sentences.jsonl"
KNOWN_MISSES = {"Das Treffen ist am 25.12.2026 in Bern.", "The lease ends 31-12-2026."}
"""Dots and hyphens between numbers are those of versions and ids, too: left out on purpose."""

DAYS = st.dates(date(MIN_YEAR, 1, 1), date(MAX_YEAR, 12, 31))


def days(text, order=None):
    return [one.day.isoformat() for one in find_dates(text, order)]


def labelled():
    return [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]


def test_the_labelled_set_is_large_and_half_traps():
    rows = labelled()
    assert len(rows) >= 200
    assert sum(not row["dates"] for row in rows) >= len(rows) / 2
    assert len({row["id"] for row in rows}) == len(rows)


@pytest.mark.parametrize("row", labelled(), ids=lambda row: row["id"])
def test_a_labelled_sentence_gives_its_dates_and_no_other(row):
    order = DateOrder(row["order"]) if "order" in row else None
    expected = [] if row["sentence"] in KNOWN_MISSES else row["dates"]
    assert sorted(days(row["sentence"], order)) == expected


def test_each_date_has_the_offsets_of_its_expression():
    text = "Closed from 28 Feb - 2 Mar 2026, see 2026-03-05."
    assert [(one.day.isoformat(), text[one.start : one.end]) for one in find_dates(text)] == [
        ("2026-02-28", "28 Feb - 2 Mar 2026"),
        ("2026-03-02", "28 Feb - 2 Mar 2026"),
        ("2026-03-05", "2026-03-05"),
    ]


def test_without_an_order_what_has_two_readings_is_no_date():
    assert days("03/04/2026") == []
    assert days("03/04/2026", DateOrder.MDY) == ["2026-03-04"]
    assert days("03/04/2026", DateOrder.DMY) == ["2026-04-03"]


@pytest.mark.parametrize("order", [None, *DateOrder])
def test_what_has_one_reading_is_a_date_whatever_the_order(order):
    assert days("25/12/2026 12/25/2026 03/03/2026", order) == [
        "2026-12-25", "2026-12-25", "2026-03-03",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("March 3 - 5 April 2026", ["2026-04-05"]),
        ("Room 12 - 14 March 2026", ["2026-03-14"]),
        ("12 - 5 March 2026", ["2026-03-05"]),
        ("November 12 and March 3, 2026", ["2026-03-03"]),
        ("Feb 28-30, 2026", ["2026-02-28"]),
        ("on March 5,\n   2026", ["2026-03-05"]),
        ("on March 5,\n\n2026", []),
        ("5\u00a0March\u00a02026", ["2026-03-05"]),
        ("March 5, 1989 and March 5, 2100", []),
        ("2026-03-05--2026-03-07", ["2026-03-05", "2026-03-07"]),
        ("03/28/2026-04/13/2026", ["2026-03-28", "2026-04-13"]),
    ],
)
def test_edges(text, expected):
    assert days(text) == expected


WRITTEN = (
    "{0:%Y-%m-%d}", "{0:%B} {0.day}, {0.year}", "{0.day} {0:%B} {0.year}", "{0:%b} {0.day} {0.year}",
    "{0:%b}. {0.day}, {0.year}", "{0:%d %b %Y}", "{0:%d-%b-%Y}", "{0:%Y/%m/%d}",
    "{0:%Y-%m-%dT%H:%M:%S}Z", "{0:%a %b %d %H:%M:%S %Y}",
)  # fmt: skip


@given(DAYS, st.sampled_from(WRITTEN), st.sampled_from([str, str.upper, str.lower]))
def test_every_day_is_read_in_every_way_that_it_is_written(day, form, case):
    written = form.format(day)
    if "T" not in form:
        written = case(written)
    assert days(f"It is on {written}, they say.") == [day.isoformat()]


@given(DAYS, DAYS)
def test_both_ends_of_a_range_are_read(one, other):
    first, last = sorted((one, other))
    text = f"{first.day} {first:%B} {first.year} - {last.day} {last:%B} {last.year}"
    assert sorted(set(days(text))) == sorted({first.isoformat(), last.isoformat()})


@given(st.integers(1, 31), st.integers(1, 12), st.integers(1900, 2200))
def test_only_days_that_the_calendar_has_are_dates(day, month, year):
    try:
        exists = MIN_YEAR <= date(year, month, day).year <= MAX_YEAR
    except ValueError:
        exists = False
    assert bool(days(f"{year:04}-{month:02}-{day:02}")) is exists


PIECES = st.sampled_from(
    ["March", "mar", " ", "3", "12", "2026", ",", "-", "/", "2026-03-05", "and", "\n", "to", "\ud800",
     "of", "the", "Version", ".", "05/03/2026", "://", "T10:00:00", "–"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map("".join), st.sampled_from([None, *DateOrder]))
def test_whatever_the_text_dates_are_in_order_within_it_and_in_the_window(text, order):
    found = find_dates(text, order)
    assert [one.start for one in found] == sorted(one.start for one in found)
    for one in found:
        assert 0 <= one.start < one.end <= len(text)
        assert str(one.day.year) in text[one.start : one.end] or "-" in text or "to" in text
        assert MIN_YEAR <= one.day.year <= MAX_YEAR


TEXT = """---
last_reviewed: 2020-01-01
---
# Events

On March 3-5, 2026, and again on March 5, 2026.

## Calendar

Conferences on 2026-11-12.

```
2019-01-01T00:00:00Z ERROR sample
```

1. Look at the log:

   ~~~text
   2018-01-01
   ~~~

Closed on 24/12/2026 and on 03/04/2026.
"""


def test_dates_are_those_of_the_chunk_s_lines_sorted_and_each_once():
    document, text = read_document("events.md", TEXT.encode())
    chunks = chunk_text(document, text)
    events, calendar = dated(chunks, text)
    assert events.dates == ("2026-03-03", "2026-03-05")
    assert calendar.dates == ("2026-11-12", "2026-12-24")
    _, calendar = dated(chunks, text, DateOrder.MDY)
    assert calendar.dates == ("2026-03-04", "2026-11-12", "2026-12-24")


def test_a_fence_that_is_never_closed_is_code_to_the_end():
    assert DocumentDates("a 2026-01-02\n```\n2026-01-03\n").between(1, 9) == ("2026-01-02",)


def test_a_fence_is_closed_by_its_own_mark_only():
    text = "````\n```\n2026-01-03\n~~~~\n````\n2026-01-04\n`` ` ``\n2026-01-05\n"
    assert DocumentDates(text).between(1, 9) == ("2026-01-04", "2026-01-05")


def test_a_date_over_two_lines_belongs_to_the_one_with_its_year():
    dates = DocumentDates("on March 5,\n2026\n")
    assert (dates.between(1, 1), dates.between(2, 2)) == ((), ("2026-03-05",))


def test_of_many_dates_the_latest_are_kept():
    text = "".join(f"2026-01-{day:02} " for day in range(1, 31))
    kept = DocumentDates(text).between(1, 1)
    assert kept == tuple(f"2026-01-{day:02}" for day in range(31 - MAX_DATES, 31))


def test_dates_never_take_metadata_over_what_the_smallest_store_holds():
    line = " ".join(f"2026-01-{day:02}" for day in range(1, 9))
    sizes, kept = set(), set()
    for length in range(1, 900, 7):
        text = f"# {'x' * length}\n\n{line}\n"
        document, text = read_document("a.md", text.encode())
        (chunk,) = dated(chunk_text(document, text, ChunkingSettings(8192)), text)
        size = len(json.dumps(to_metadata(chunk), separators=(",", ":")))
        without = len(json.dumps(to_metadata(chunk._replace(dates=())), separators=(",", ":")))
        assert size <= MAX_METADATA_BYTES or without > MAX_METADATA_BYTES
        assert chunk.dates == tuple(line.split()[8 - len(chunk.dates) :])
        sizes.add(without > MAX_METADATA_BYTES)
        kept.add(len(chunk.dates))
    assert sizes == {True, False}
    assert kept >= {0, 1, MAX_DATES}
