"""Passages that other chunkers cut are located to exactly their lines, and nothing else is located."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.retrieval.cutters import OWN, bare_sections, fixed, joined
from benchmarks.retrieval.located import AIM, LocatedReport, Row, as_table, run_located_bench
from knowledge_rag.local.errors import UnusableCorpus
from tests.support.local import CORPUS, write_files
from tests.support.shared_data import shared_data
from tests.support.tables import shown

TEXT = "# A\n\n1. One\n   two.\n\n## B\n\nThree.\n"


def test_cutters_name_the_lines_that_their_passages_are_from():
    assert [cut.lines for cut in fixed("one\n" * 700)] == [(1, 300), (241, 540), (481, 700)]
    assert [cut.lines for cut in fixed("one\n" * 300)] == [(1, 300)]
    assert joined(TEXT) == [("# A 1. One two. ## B Three.", (1, 8))]
    assert bare_sections(TEXT) == [("1. One\ntwo.", (3, 4)), ("Three.", (8, 8))]


def missing():
    raise ModuleNotFoundError("a peer")


@pytest.mark.parametrize(
    "docs",
    [
        "sample",
        "retrieval/docs/prometheus-operator-runbooks",
        pytest.param("retrieval/docs", marks=pytest.mark.nightly),
    ],
)
def test_passages_of_real_runbooks_are_located_exactly_and_changed_ones_never(docs):
    folder = CORPUS if docs == "sample" else shared_data(docs)
    report = run_located_bench(folder, {**OWN, "absent": missing}, answers=20)
    assert report.missing == ("absent",)
    assert [row.name for row in report.rows] == list(OWN)
    for row in report.rows:
        assert (row.wrong, row.changed_located) == (0, 0), row
        assert row.share >= AIM, row
        assert row.changed > row.passages > 50


def test_a_wrong_line_a_located_change_or_a_slow_answer_misses_the_aim():
    row = Row("fixed", 1000, 995, 990, 0, 5, 0, 2000, 0)
    report = LocatedReport(3, (row,), ("absent",), 2000, 0.5, 10.0, 20.0)
    assert report.reached
    assert report.to_dict()["reached"]
    text = shown(as_table(report))
    assert "99.50%" in text
    assert "Not installed: absent" in text
    for worse in ({"located": 994}, {"wrong": 1}, {"changed_located": 1}):
        assert not replace(report, rows=(replace(row, **worse),)).reached
    assert not replace(report, p95_ms=10.1).reached


def test_a_folder_without_text_is_refused(tmp_path):
    with pytest.raises(UnusableCorpus):
        run_located_bench(write_files(tmp_path, {"a.md": b"\0"}), OWN)
