"""``docs/console.md`` and decision 13 match the code."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from knowledge_rag.cli.ask import AdvisorName
from knowledge_rag.cli.serve import REPORTS_FILE
from knowledge_rag.console import limits
from knowledge_rag.console.agent_api import Agents
from knowledge_rag.console.app import POLICY, ConsoleSettings, create_console
from knowledge_rag.console.metrics import NO_ADVICE, NO_STEPS
from knowledge_rag.console.server import DEFAULT_PORT
from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.guardrails.rules import Kind
from knowledge_rag.local.http_server import LOOPBACK_HOSTS
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.recommendation import Concern, Shortfall
from tests.support.local import PROJECT
from tests.support.retrievals import NOTHING, Answering

PAGE = (PROJECT / "docs" / "console.md").read_text()
DECISION = (PROJECT / "docs" / "decisions" / "0013-console.md").read_text()


def test_every_path_is_told():
    settings = ConsoleSettings(agents=Agents)
    app = create_console(Answering(NOTHING), None, {"extractive": ExtractiveAdvisor()}, settings)
    paths = {re.sub(r"\{(\w+)(:path)?\}", "{}", route.path) for route in app.routes}
    named = re.findall(r"`(?:GET |POST )?(/[\w/{}.-]*)", PAGE)
    told = {re.sub(r"\{\w+\}", "{}", path) for path in named}
    assert paths <= told, paths - told


@pytest.mark.parametrize(
    "words",
    [
        f"console: http://127.0.0.1:{DEFAULT_PORT}/",
        f"`{REPORTS_FILE}`",
        f"at most {limits.MAX_REPORTS:,}",
        f"last {limits.MAX_ANSWERS} answers",
        f"{limits.ASK_SECONDS:.0f} seconds",
        f"{limits.MAX_BODY_BYTES // 1024} KiB",
        f"{MAX_QUERY_CHARACTERS:,} characters",
        ", ".join(f"`{host}`" for host in LOOPBACK_HOSTS),
    ],
)
def test_limits_and_names_are_the_real_ones(words):
    assert words in " ".join(PAGE.split())


def test_the_decision_quotes_the_policy():
    assert f"`Content-Security-Policy: {POLICY}`" in DECISION
    assert limits.MAX_ASKS == 8
    assert "Eight questions" in PAGE


def test_the_limits_for_other_agents_are_the_real_ones():
    page = (PROJECT / "docs" / "agents.md").read_text()
    decision = (PROJECT / "docs" / "decisions" / "0059-agents-over-a2a.md").read_text()
    assert f"above {limits.MAX_BODY_BYTES // 1024} KiB" in page
    assert f"last\n  {limits.MAX_TASKS} are kept" in page
    assert limits.MAX_TASKS_BYTES == limits.MAX_CONTEXTS_BYTES == 16 * 1024 * 1024
    assert f"{limits.MAX_CONTEXTS:,} contexts and 16 MB" in decision
    assert f"{limits.MAX_TASKS} tasks and 16 MB" in decision
    assert f"up to {limits.MAX_AGENT_WAITING} wait" in decision
    assert limits.MAX_AGENT_ASKS == 4


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
