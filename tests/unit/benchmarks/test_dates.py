"""The benchmark of dates counts what is right, wrong and missed."""

import json
from datetime import date
from pathlib import Path

import pytest

from benchmarks.dates import finder as dates_bench
from benchmarks.dates import peers as dates_bench_peers
from benchmarks.dates.finder import (
    Sentence,
    as_table,
    policy_milliseconds,
    read_sentences,
    run_dates_bench,
)
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.extract.dates import DateOrder
from tests.support.tables import shown

OWN = Path(__file__).parents[2] / "data/dates/sentences.jsonl"
DAY = date(2026, 3, 5)
SENTENCES = [
    Sentence("on 2026-03-05", frozenset({DAY}), None),
    Sentence("on 03/05/2026", frozenset({DAY}), DateOrder.MDY),
    Sentence("on 31-12-2026", frozenset({date(2026, 12, 31)}), None),
    Sentence("v2026.3.5", frozenset(), None),
]


def _missing():
    raise ModuleNotFoundError("a peer")


@pytest.fixture(autouse=True)
def _peers(monkeypatch):
    peers = {"always": lambda: lambda _text, _order: {DAY}, "absent": _missing}
    monkeypatch.setattr(dates_bench, "PEERS", peers)


def test_every_finder_reads_the_same_sentences():
    report = run_dates_bench(SENTENCES, rounds=1)
    figures = {row.name: (row.right, row.wrong, row.missed) for row in report.rows}
    assert figures == {"knowledge-rag": (2, 0, 1), "always": (2, 2, 1)}
    assert (report.sentences, report.traps, report.missing) == (4, 1, ("absent",))
    assert not report.reached  # two of three are fewer than 95 %
    document = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert document["rows"][1]["precision"] == 0.5
    text = shown(as_table(report), width=120)
    assert "not installed: absent" in text
    assert "4 sentences, 1 of them without a date" in text


def test_on_our_own_sentences_ours_makes_nothing_up():
    ours = run_dates_bench(read_sentences(OWN), rounds=1).rows[0]
    assert (ours.wrong, ours.missed) == (0, 2)


def test_the_policy_is_timed():
    assert policy_milliseconds(3) > 0


def test_dateutil_s_finder_gives_at_most_one_date_and_no_error():
    find = dates_bench_peers.PEERS["dateutil parse, fuzzy"]()
    assert find("on March 5, 2026 INFO", None) == {DAY}
    assert find("nothing", None) == set()


def test_a_file_without_sentences_is_refused(tmp_path):
    (tmp_path / "s.jsonl").write_text("\n")
    with pytest.raises(InvalidRequest, match="no sentences"):
        read_sentences(tmp_path / "s.jsonl")
