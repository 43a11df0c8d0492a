"""What the benchmark of the support checks says of the sample runbooks."""

import json

import pytest

from benchmarks.guardrails.report import CheckRow, as_tables
from benchmarks.guardrails.support import run_guardrails_bench
from knowledge_rag.core.files import shipped
from knowledge_rag.guardrails.support.report import MIN_COVERAGE
from knowledge_rag.local.errors import UnusableCorpus
from tests.support.shared_data import shared_data
from tests.support.tables import shown

CLAIMS = (
    {"id": "a", "claim": "Use `--force` twice.", "supported": True, "evidence": ["use --force 2"]},
    {"id": "b", "claim": "Use `--force`.", "supported": False, "evidence_lines": ["use --dry-run"]},
)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    claims = tmp_path_factory.mktemp("claims") / "own.jsonl"
    claims.write_text("".join(json.dumps(row) + "\n" for row in CLAIMS), encoding="utf-8")
    return run_guardrails_bench([shipped("knowledge-corpus")], [claims])


def test_the_targets_are_reached_on_the_sample_runbooks(report):
    assert report.recall >= 0.95
    assert report.false_alarms <= 0.01
    assert report.reached


def test_a_table_shows_families_aims_and_the_time_that_a_text_takes(report):
    text = shown(as_tables(report))
    for title in ("wrong section", "at least 95%", "1,000 words"):
        assert title in text


def test_denials_are_warned_of_and_counted_apart(report):
    (row,) = [row for row in report.families if row.family == "negation"]
    assert row.warned >= 0.9
    assert row.alarms >= 0.5


def test_a_file_of_claims_has_figures_of_its_own(report):
    rows = {row.check: row for row in report.claims["own.jsonl"]}
    assert rows["any"] == CheckRow("any", caught=1, alone=0, false=0, unsupported=1, supported=1)
    assert rows["flag"].precision == rows["flag"].recall == 1


def test_too_little_guidance_is_refused(tmp_path):
    (tmp_path / "a.md").write_text("# A\n", encoding="utf-8")
    with pytest.raises(UnusableCorpus, match="too little guidance"):
        run_guardrails_bench([tmp_path])


@pytest.mark.nightly
def test_the_setting_in_use_is_what_others_runbooks_choose():
    """On guidance of which this project wrote not a line."""
    docs = [shared_data("retrieval/docs"), shipped("knowledge-corpus")]
    report = run_guardrails_bench(docs)
    assert report.chosen_coverage == MIN_COVERAGE
    assert report.recall >= 0.95
    assert report.false_alarms <= 0.01


EDITED = ("clause appended", "opposite", "if dropped", "negation dropped", "steps reversed")


@pytest.mark.parametrize("family", EDITED)
def test_edits_of_meaning_are_found(report, family):
    rows = [row for row in report.families if row.family == family]
    assert all(row.alarms >= 0.8 for row in rows)
    assert rows or family == "negation dropped"


def test_the_share_that_a_check_catches_has_wilson_s_interval():
    row = CheckRow("changed order", caught=8, alone=8, false=0, unsupported=10, supported=10)
    low, high = row.interval
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
