"""Claims made from real guidance."""

import re
from random import Random

import pytest

from benchmarks.guardrails.cases import build_cases
from benchmarks.guardrails.mutations import PATTERNS, Mutator, negate
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.files import shipped
from knowledge_rag.local.corpus import find_documents, read_bytes

LINE = (
    "1. Run `kubectl drain --force` on db-1.example.com if load_avg is above 80% for 5 minutes since"
    " 2024-03-05, then read /var/log/a.log and https://wiki.example.com/x/y."
)
POOL = {
    "flag": ["--dry-run"], "host": ["web.example.org"], "path": ["/etc/b.conf"],
    "identifier": ["disk_free"], "url": ["https://other.example.com/z"], "command": ["helm list"],
}  # fmt: skip


@pytest.fixture(scope="module")
def cases():
    files = find_documents(shipped("knowledge-corpus"))
    return build_cases([read_document(file.source_file, read_bytes(file)) for file in files])


@pytest.mark.parametrize("kind", PATTERNS)
@pytest.mark.parametrize("seed", range(20))
def test_a_change_is_one_stretch_of_its_kind(kind, seed):
    changed = Mutator(POOL).mutate(kind, LINE, Random(seed))
    assert changed is not None
    assert changed != LINE
    if kind not in {"unit", "comparison"}:
        assert {*changed.split()} - {*LINE.split()}
    assert len({*LINE.split()} - {*changed.split()}) <= 2
    assert changed.startswith("1. ")


def test_nothing_is_changed_where_there_is_nothing_of_the_kind():
    mutator = Mutator(POOL)
    assert all(mutator.mutate(kind, "Look at it.", Random(1)) is None for kind in PATTERNS)


@pytest.mark.parametrize(
    ("line", "opposite"),
    [
        ("- Restart the pod.", "- Do not restart the pod."),
        ("Do not restart the pod.", "restart the pod."),
        ("the pod is ready", "the pod is not ready"),
        ("pods", None),
    ],
)
def test_a_line_is_turned_into_its_opposite(line, opposite):
    assert negate(line) == opposite


def test_true_claims_cite_lines_that_hold_their_words(cases):
    def letters(text):
        return re.sub(r"[^a-z]", "", text.lower())

    plain = [case for case in cases if case.family in {"as it stands", "list mark dropped"}]
    assert len(plain) > 300
    assert all(letters(case.claim) in letters("".join(case.lines)) for case in plain)


def test_a_wrong_section_does_not_hold_the_line(cases):
    wrong = [case for case in cases if case.family == "wrong section"]
    assert len(wrong) > 100
    assert not any(case.claim in case.lines for case in wrong)


def test_all_claims_of_a_document_are_in_one_half(cases):
    halves = {(case.document, case.chooses) for case in cases}
    assert len(halves) == len({case.document for case in cases})
    assert {chooses for _, chooses in halves} == {True, False}
