"""``docs/mcp.md`` says what the server does."""

from __future__ import annotations

import json
import re

from typer.main import get_command

from knowledge_rag.cli.app import command_line
from knowledge_rag.mcp_server import resources, schemas, serving
from knowledge_rag.mcp_server.resources import parse_link
from knowledge_rag.mcp_server.server import MAX_REVIEWS, PROMPT
from knowledge_rag.mcp_server.tools import MAX_REFERENCES, MAX_SEARCHES, MAX_SESSION_SEARCHES, tools
from lambdas.retrieve_knowledge.events import MAX_GATEWAY_RESPONSE_BYTES
from tests.support.local import PROJECT

PAGE = (PROJECT / "docs" / "mcp.md").read_text(encoding="utf-8")


def test_the_configuration_of_a_client_starts_this_command():
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (server,) = json.loads(block)["mcpServers"].values()
    assert server["command"] == "knowledge-rag"
    command = get_command(command_line()).commands[server["args"][0]]
    command.make_context("mcp", server["args"][1:])


def test_every_tool_and_prompt_is_named():
    assert [tool.name for tool in tools() if f"**`{tool.name}`**" not in PAGE] == []
    assert f"The prompt `{PROMPT}`" in PAGE


def test_addresses_can_be_read():
    addresses = re.findall(r"`(knowledge:///[^`]+)`", PAGE)
    assert [parse_link(one).start_line for one in addresses] == [0, 45]


def test_limits_are_those_of_the_code():
    for limit in (
        f"at most {MAX_GATEWAY_RESPONSE_BYTES:,} bytes",
        f"at most {schemas.MAX_ANSWER_CHARACTERS:,} characters",
        f"{schemas.MAX_EVIDENCE_IDS} `evidence_ids`",
        f"{MAX_SESSION_SEARCHES} of a session, {MAX_SEARCHES} of all",
        f"is verified | {MAX_REFERENCES:,} |",
        f"{serving.MAX_REQUEST_BYTES // 2**20} MiB",
        f"{serving.MAX_SESSIONS:,} at once",
        f"{resources.PAGE} documents a page",
        f"verified at once | {MAX_REVIEWS} |",
    ):
        assert limit in PAGE, limit
    assert resources.MAX_CHARACTERS == 1_000_000
    assert serving.SESSION_SECONDS == 1_800
