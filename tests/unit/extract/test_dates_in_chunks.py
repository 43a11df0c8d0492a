"""Dates as they are stored beside a chunk."""

import json

from knowledge_rag.core.chunking import ChunkingSettings, chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.metadata import prove, stored_text, to_metadata
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.extract.dates import (
    MAX_DATES,
    MAX_METADATA_BYTES,
    DateOrder,
    DocumentDates,
    dated,
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
    chunks = chunk_text(document, text)
    events, calendar = dated(chunks, text)
    assert events.dates == ("2026-03-03", "2026-03-05")
    assert calendar.dates == ("2026-11-12", "2026-12-24")
    _, calendar = dated(chunks, text, DateOrder.MDY)
    assert calendar.dates == ("2026-03-04", "2026-11-12", "2026-12-24")


def test_nothing_but_the_dates_of_a_chunk_is_other_than_before():
    document, text = read_document("events.md", TEXT.encode())
    chunks = chunk_text(document, text)
    assert [chunk._replace(dates=()) for chunk in dated(chunks, text)] == chunks
    plain = chunk_text(document, "# No dates\n\nHere.\n")
    assert dated(plain, "# No dates\n\nHere.\n") == plain


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


def test_dates_come_back_with_what_is_retrieved():
    document, text = read_document("runbooks/rds-failover.md", b"# RDS\n\nOn 2026-01-02.\n")
    (chunk,) = dated(chunk_text(document, text), text)
    result = prove(stored_text(chunk), to_metadata(chunk))
    assert isinstance(result, RetrievalResult)
    assert result.metadata["dates"] == ["2026-01-02"]
