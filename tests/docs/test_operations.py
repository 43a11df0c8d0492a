"""Pages about operations match the deployed stacks."""

from __future__ import annotations

import re
from functools import lru_cache

import pytest

from infra.retrieval import MEMORY_MB
from knowledge_rag.core.alarms import (
    advice_alarms,
    canary_alarms,
    gateway_alarms,
    ingestion_alarms,
    retrieval_alarms,
)
from tests.docs.site import Page, on_pages
from tests.support.local import PROJECT
from tools.reference import monitoring

DOCS = PROJECT / "docs"
HANDBOOK = Page(DOCS / "operations" / "alarms.md")
COSTS = Page(DOCS / "costs.md")
SECURITY = Page(DOCS / "security.md")
TITLE = re.compile(r'(?<![\w=`{])"([A-Z][^"{}]{5,60})"')
LOG_LINE = re.compile(r"`([a-z]+(?: [a-z]+){2,})`")

_NUMBERS = {4: "four", 5: "five", 6: "six"}

ROLES = {
    "`retrieve_knowledge`": "RetrievalRetrieveRole",
    "agent": "AgentRole",
    "gateway": "GatewayRole",
    "harness": "HarnessRole",
    "AWS DevOps Agent": "DevOpsAgentRole",
    "canary's schedule": "CanaryRole",
    "alarms in chat": "MonitoringNotificationsChatRole",
    "knowledge base": "KnowledgeBaseRole",
    "`chunk_documents`": "ChunkDocumentsChunkRole",
    "`deploy_steps`": "DeployStepsDoRole",
    "`start_ingestion`": "StartIngestionStartRole",
    "`advise_incident`": "AdviseRole",
    "teardown of advice": "StepsDoRole",
    "removal of old versions": "KeptVersionsStepsDoRole",
    "`check_release`": "ReleaseCheckRole",
    "CodeDeploy": "ReleaseRole",
}


@lru_cache
def source(*folders):
    files = (path for folder in folders for path in sorted((PROJECT / folder).rglob("*.py")))
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def flat(page):
    return " ".join(page.text.split())


def test_a_chart_or_table_that_the_handbook_names_is_on_the_dashboard():
    named = set(TITLE.findall(flat(HANDBOOK)))
    code = source("infra")
    assert len(named) >= 7
    assert {title for title in named if f'"{title}' not in code} == set()


@pytest.mark.parametrize("name", ["operations/alarms.md", "gameday.md"])
def test_a_line_of_a_log_that_is_named_is_one_that_is_logged(name):
    named = set(LOG_LINE.findall(flat(Page(DOCS / name))))
    code = source("lambdas", "knowledge_rag/core")
    assert named
    assert {line for line in named if f'"{line}"' not in code} == set()


def test_logs_and_functions_are_called_as_the_stacks_call_them():
    code = source("infra")
    logs = re.findall(r"`/aws/lambda/<name>(-[a-z-]+)`", HANDBOOK.text)
    names = monitoring._NAMES
    functions = [
        names.retrieve_function,
        names.chunk_function,
        names.ingestion_function,
        names.advice_function,
    ]
    assert sorted(logs) == sorted(name.removeprefix("<name>") for name in functions)
    assert [name for name in logs if f'f"{{settings.name}}{name}"' not in code] == []


def test_an_output_of_a_stack_that_is_named_exists():
    code = source("infra")
    named = re.compile(r"(?:the )?outputs? `([A-Z]\w+)`")
    assert on_pages(lambda page: [it for it in named.findall(flat(page)) if f'"{it}"' not in code]) == {}  # fmt: skip


def test_costs_count_what_is_deployed():
    alarms = [*retrieval_alarms(), *canary_alarms(), *gateway_alarms(), *ingestion_alarms()]
    assert f"| {sum(len(alarm.metrics) for alarm in alarms)} metrics in alarms" in COSTS.text
    assert f"snapshot of the function ({MEMORY_MB // 1024} GB" in COSTS.text
    assert f"| function ({MEMORY_MB // 1024} GB" in COSTS.text
    emitted = [it for it in monitoring.metrics() if not it.startswith("ADVICE_")]  # opt-in
    assert 15 < len(emitted) < 25  # "some twenty names"
    assert f"{_NUMBERS[len(advice_alarms())]} metrics in alarms" in COSTS.text


def test_columns_of_the_costs_add_up():
    table = [
        row.strip("|").split("|")[1:] for row in COSTS.text.splitlines() if row.count("|") == 6
    ]
    dollars = [[re.search(r"\d[\d.]*", cell) for cell in row] for row in table[2:]]
    *parts, total = [row for row in dollars if all(row)]
    sums = [sum(float(cell[0]) for cell in column) for column in zip(*parts, strict=True)]
    assert [float(cell[0]) for cell in total] == [pytest.approx(it, abs=1) for it in sums]


def test_security_has_a_row_for_every_role():
    grants = (PROJECT / "tests" / "infra" / "grants.txt").read_text(encoding="utf-8")
    roles = set(re.findall(r"^(\w+) \(trust\)", grants, re.MULTILINE))
    table = SECURITY.text.partition("| role | reads | writes |\n")[2].partition("\n\n")[0]
    told = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
    assert {ROLES[name] for name in told} == roles
