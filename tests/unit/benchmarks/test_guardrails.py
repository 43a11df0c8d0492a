"""The support checks on guidance of the sample runbooks, changed in one place; and that the changes are ones."""

import re
from random import Random

import pytest

from benchmarks.guardrails.cases import build_cases
from benchmarks.guardrails.mutations import PATTERNS, Mutator
from benchmarks.guardrails.support import run_guardrails_bench
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.files import shipped
from knowledge_rag.guardrails.support.report import MIN_COVERAGE
from knowledge_rag.local.corpus import find_documents, read_bytes
from tests.support.shared_data import shared_data


@pytest.fixture(scope="module")
def report():
    return run_guardrails_bench([shipped("knowledge-corpus")])


def test_the_targets_are_reached_on_the_sample_runbooks(report):
    assert report.recall >= 0.95
    assert report.false_alarms <= 0.01
    assert report.reached
    (denials,) = [row for row in report.families if row.family == "negation"]
    assert denials.warned >= 0.9
    assert denials.alarms >= 0.5


@pytest.mark.parametrize(
    "family", ["clause appended", "opposite", "if dropped", "negation dropped", "steps reversed"]
)
def test_edits_of_meaning_are_found(report, family):
    rows = [row for row in report.families if row.family == family]
    assert all(row.alarms >= 0.8 for row in rows)
    assert rows or family == "negation dropped"


@pytest.mark.nightly
def test_the_setting_in_use_is_what_others_runbooks_choose():
    """On guidance of which this project wrote not a line."""
    report = run_guardrails_bench([shared_data("retrieval/docs"), shipped("knowledge-corpus")])
    assert report.chosen_coverage == MIN_COVERAGE
    assert report.recall >= 0.95
    assert report.false_alarms <= 0.01


LINE = (
    "1. Run `kubectl drain --force` on db-1.example.com if load_avg is above 80% for 5 minutes since"
    " 2024-03-05, then read /var/log/a.log and https://wiki.example.com/x/y."
)
POOL = {
    "flag": ["--dry-run"], "host": ["web.example.org"], "path": ["/etc/b.conf"],
    "identifier": ["disk_free"], "url": ["https://other.example.com/z"], "command": ["helm list"],
}  # fmt: skip


@pytest.mark.parametrize("kind", PATTERNS)
def test_a_change_is_one_stretch_of_its_kind(kind):
    for seed in range(20):
        changed = Mutator(POOL).mutate(kind, LINE, Random(seed))
        assert changed is not None
        assert changed != LINE
        assert len({*LINE.split()} - {*changed.split()}) <= 2
        assert changed.startswith("1. ")
    assert Mutator(POOL).mutate(kind, "Look at it.", Random(1)) is None


def test_true_claims_cite_their_words_wrong_sections_do_not_and_documents_stay_in_one_half():
    files = find_documents(shipped("knowledge-corpus"))
    cases = build_cases([read_document(file.source_file, read_bytes(file)) for file in files])

    def letters(text):
        return re.sub(r"[^a-z]", "", text.lower())

    plain = [case for case in cases if case.family in {"as it stands", "list mark dropped"}]
    assert len(plain) > 300
    assert all(letters(case.claim) in letters("".join(case.lines)) for case in plain)
    wrong = [case for case in cases if case.family == "wrong section"]
    assert len(wrong) > 100
    assert not any(case.claim in case.lines for case in wrong)
    halves = {(case.document, case.chooses) for case in cases}
    assert len(halves) == len({case.document for case in cases})
