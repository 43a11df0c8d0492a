"""Programs on pages run as shown: those of ``docs/agents.md`` and ``docs/recommendation.md``."""

from __future__ import annotations

import ast
import asyncio
import os
import re
from contextlib import closing
from types import FunctionType, SimpleNamespace

import pytest

from knowledge_rag.local.bedrock.invoke_agent import AGENT_ID, ALIAS_ID
from tests.support.deployed import function_fixture  # noqa: F401 - a fixture
from tests.support.local import PROJECT
from tests.support.mcp_gateway import TOOL, McpGateway
from tests.support.retrievals import NOTHING, Answering
from tests.unit.orchestrator.schema import VALIDATOR


def programs(page):
    return re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


PAGE = (PROJECT / "docs" / "agents.md").read_text(encoding="utf-8")
# test_cli_serve.py runs the first, test_agents.py the second
_CHAT, _A2A, AGENTS, GATEWAY, RETRIEVE = programs(PAGE)
(RECOMMEND,) = programs((PROJECT / "docs" / "recommendation.md").read_text(encoding="utf-8"))
CITED = "[Source: runbooks/sqs-backlog.md, lines "


@pytest.fixture
def gateway(function, monkeypatch):
    """A gateway in front of the real function, which knows the caller's signature."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = SimpleNamespace(custom={"bedrockAgentCoreToolName": TOOL})
    context = SimpleNamespace(client_context=client)
    with closing(McpGateway(lambda arguments: function(arguments, context))) as made:
        yield made


@pytest.mark.usefixtures("function")
def test_the_page_s_programs_do_what_it_says(gateway, cli, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"agent_id": AGENT_ID, "agent_alias_id": ALIAS_ID}
    exec(AGENTS, names)
    assert CITED in names["answer"]
    (command,) = re.findall(r"^knowledge-rag (verify .*)$", PAGE, re.MULTILINE)
    assert command.endswith(" events.json")
    ran = cli(*command.split()[:-1], tmp_path / "events.json")
    assert (ran.code, CITED in ran.out) == (0, True), ran.err
    exec(GATEWAY, {"gateway_url": gateway.url})
    status, *citations = capsys.readouterr().out.splitlines()
    assert (status, len(citations)) == ("ok", 5)
    assert citations[0].startswith(CITED)


@pytest.mark.usefixtures("function")
def test_any_client_of_the_service_works_as_the_page_says(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    names = {}
    exec(RETRIEVE.replace("LOCALKB001", os.environ["KNOWLEDGE_BASE_ID"]), names)
    assert len(names["answer"]["retrievalResults"]) == 5


def test_a_recommendation_is_made_as_the_page_says():
    state = {"incident": {"title": "RDS writer is down", "service": "rds"}}
    names = {"state": state, "backend": Answering(NOTHING)}
    code = compile(RECOMMEND, "recommendation.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    asyncio.run(FunctionType(code, names)())
    VALIDATOR.validate(names["recommendation"])
    assert names["recommendation"]["status"] == "no_match"


def test_the_outputs_and_the_tool_are_those_of_the_stack():
    stack = (PROJECT / "infra" / "service_stack.py").read_text(encoding="utf-8")
    named = re.findall(r"`([A-Z][a-z]+[A-Z]\w+|TryIt)`", PAGE.split("## Ask the agent")[0])
    assert len(named) == 6
    assert [name for name in [*named, "TryIt"] if f'_output("{name}",' not in stack] == []
    assert f"`{TOOL}`" in PAGE
