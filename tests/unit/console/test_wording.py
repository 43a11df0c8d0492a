"""The page has words of its own for everything that the server may name."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from knowledge_rag.cli.ask import AdvisorName
from knowledge_rag.console.metrics import NO_ADVICE, NO_STEPS
from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.guardrails.draft import Kind
from knowledge_rag.orchestrator.recommendation import Concern, Shortfall

SCRIPTS = resources.files("knowledge_rag.console") / "static" / "js"
TABLES = {
    "REASONS": ("wording.js", {*Reason}),
    "ADVICE_REASONS": ("wording.js", {*Shortfall}),
    "KINDS": ("wording.js", {*Concern, *Kind}),
    "TYPES": ("wording.js", {*DocumentType}),
    "ADVISORS": ("wording.js", {*AdvisorName}),
    "OUTCOMES": (
        "dashboard-view.js",
        {*Status, NO_STEPS, NO_ADVICE, "left", "refused", "timeout", "internal"},
    ),
}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_the_page_names_all_that_there_is_and_nothing_else(table):
    file, names = TABLES[table]
    script = (SCRIPTS / file).read_text(encoding="utf-8")
    written = re.search(rf"const {table} = \{{(.*?)\}};", script, re.DOTALL)
    assert written is not None
    keys = re.findall(r"(?:^|,|\{)\s*(\w+):", re.sub(r'"[^"]*"', '""', written[1]))
    assert sorted(keys) == sorted(map(str, names))
