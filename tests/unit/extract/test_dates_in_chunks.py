"""Dates as they are stored beside a chunk."""

import json

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.metadata import to_metadata
from knowledge_rag.extract.dates import DateOrder
from knowledge_rag.extract.dates_in_chunks import (
    MAX_DATES,
    MAX_METADATA_BYTES,
    DocumentDates,
    with_dates,
)

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
    dates = DocumentDates(text)
    events, calendar = chunk_text(document, text)
    assert dates.of(events) == ("2026-03-03", "2026-03-05")
    assert dates.of(calendar) == ("2026-11-12", "2026-12-24")
    assert DocumentDates(text, DateOrder.MDY).of(calendar) == (
        "2026-03-04", "2026-11-12", "2026-12-24",
    )  # fmt: skip


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
    days = [f"2026-01-{day:02}" for day in range(1, 9)]
    assert with_dates({"title": "x"}, days) == {"title": "x", "dates": days}
    assert with_dates({"title": "x"}, ()) == {"title": "x"}
    for length in range(880, 1013):
        metadata = with_dates({"title": "x" * length}, days)
        size = len(json.dumps(metadata, separators=(",", ":")))
        assert size <= MAX_METADATA_BYTES
        kept = metadata.get("dates", [])
        assert kept == days[len(days) - len(kept) :]
    assert with_dates({"title": "x" * 2000}, days)["dates"] == days


def test_an_ordinary_chunk_has_room_for_its_dates():
    document, text = read_document("runbooks/rds-failover.md", b"# RDS\n\nOn 2026-01-02.\n")
    (chunk,) = chunk_text(document, text)
    assert with_dates(to_metadata(chunk), DocumentDates(text).of(chunk))["dates"] == ["2026-01-02"]
