"""Action items of postmortems whose runbook hasn't changed since."""

from __future__ import annotations

from datetime import date

import pytest

from knowledge_rag.drift.check import World, check_documents
from knowledge_rag.drift.findings import Check
from knowledge_rag.drift.history import Commit
from knowledge_rag.drift.upkeep import Ages

RUNBOOKS = ("runbooks/db-failover.md", "runbooks/redis.md", "runbooks/cert-rotation.md")
BEFORE = Commit("4f2a1c", "2026-01-05", "ada")
AFTER = Commit("9b165a", "2026-04-01", "bob")


@pytest.fixture
def found():
    def check(items, *, commit=BEFORE, path="postmortems/2026-03-24-db.md", front="runbook: runbooks/redis.md"):  # fmt: skip
        ages = Ages(date(2026, 11, 29), None, lambda _: (), lambda _: False, lambda _: {}, lambda _: commit)  # fmt: skip
        world = World(lambda _: True, frozenset({Check.AGREEMENT}), ages=ages)
        text = f"---\n{front}\n---\n# Outage\n\n## Summary\n\nText.\n\n## Action items\n\n{items}"
        documents = [(path, text), *((it, "# A\n\ntext") for it in RUNBOOKS)]
        return [(it.line, it.subject, it.kind.value) for it in check_documents(documents, world)]

    return check


@pytest.mark.parametrize(
    ("item", "page"),
    [
        ("- [x] Runbook: what to do when keys are evicted", "runbooks/redis.md"),
        ("- Put the lag check into the failover runbook. Done.", "runbooks/db-failover.md"),
        ("- cert-rotation.md: the two-step swap (done)", "runbooks/cert-rotation.md"),
        ("- Extend [the page](../runbooks/cert-rotation.md), done", "runbooks/cert-rotation.md"),
        ("1. Cert rotation playbook has to say who is called. Due 2026-05-01.", "runbooks/cert-rotation.md"),
        ("### Lag first\n\nThe failover runbook needs a step.\n\nStatus: done", "runbooks/db-failover.md"),
        ("| What | State |\n|-|-|\n| Runbook: FLUSHALL is forbidden | closed |", "runbooks/redis.md"),
    ],
)  # fmt: skip
def test_an_item_that_is_done_or_overdue_is_found_if_its_runbook_has_not_changed(found, item, page):
    line = 12 + (2 if item.startswith("|") else 0)
    assert found(item) == [(line, page, "action-item")]
    assert found(item, commit=AFTER) == []
    assert found(item, commit=None) == []


@pytest.mark.parametrize(
    "item",
    [
        "- Runbook: what to do when keys are evicted",
        "- Runbook: what to do, due 2027-01-15",
        "- ~~Runbook: what to do~~ done",
        "- Runbook: what to do (dropped). Done.",
        "- Raise the timeout. Done.",
        "- The alert pages at night. Done.",
        "- Write a new runbook for evictions. Done.",
        "- The unknown-thing runbook has it. Done.",
    ],
)
def test_other_items_are_not(found, item):
    assert found(item) == []


def test_a_runbook_must_be_one_document(found):
    assert found("- Runbook: what to do. Done.", front="title: x") == []


def test_only_postmortems_with_a_day_have_items(found):
    item = "- Runbook: what to do. Done."
    assert found(item, path="runbooks/2026-03-24-db.md") == []
    assert found(item, path="postmortems/db.md") == []
    assert found(item, path="postmortems/db.md", front="date: 2026-03-24\nrunbook: redis.md")
