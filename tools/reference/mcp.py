"""``docs/reference/mcp.md``: tools, resources and prompts, from the server itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.files import shipped
from knowledge_rag.core.outcome import TOOL_NAMES
from knowledge_rag.mcp_server.resources import templates
from knowledge_rag.mcp_server.schemas import RECOMMENDATION
from knowledge_rag.mcp_server.server import prompts
from knowledge_rag.mcp_server.tools import ASK, tools
from lambdas.retrieve_knowledge.events import API_PATH
from tools.reference.markdown import cell, code, page, table, text
from tools.reference.schemas import HEADER, members
from tools.reference.tool import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp.types import Tool

_HINTS: Final = {
    "read_only_hint": "is read-only",
    "idempotent_hint": "is idempotent",
    "destructive_hint": "is destructive",
    "open_world_hint": "reaches beyond the knowledge base",
}


def mcp_page() -> str:
    """Return the page: tools, resources, prompts."""
    return page(
        "MCP tools and resources",
        "Tools, resources and prompts of `knowledge-rag mcp`. [How to use it](../mcp.md).",
        *map(_tool, tools()),
        *_resources(),
        *_prompts(),
    )


def _tool(tool: Tool) -> str:
    given = list(members(tool.output_schema or {}))
    beside = "The result:"
    if tool.name == TOOL_NAMES[0]:
        function = list(members(_answer_of_the_function()))
        given = [row for row in given if row not in function]
        beside = "The result contains what [the function](tool.md#answer-200) returns, and:"
    if tool.name == ASK:
        recommendation = list(members(json.loads(shipped(RECOMMENDATION).read_bytes())))
        given = [row for row in given if row not in recommendation]
        beside = "The result is the [recommendation](recommendation.md), and:"
    return "\n\n".join(
        [
            f"## {tool.name}",
            f"{text(tool.description or '')} It {_hints(tool)}.",
            table(HEADER, members(tool.input_schema)),
            beside,
            table(HEADER, given),
        ]
    )


def _hints(tool: Tool) -> str:
    hints = tool.annotations.model_dump() if tool.annotations else {}
    return " and ".join(said for hint, said in _HINTS.items() if hints.get(hint))


def _answer_of_the_function() -> dict[str, Any]:
    operation = json.loads(SCHEMA.read_text(encoding="utf-8"))["paths"][API_PATH]["post"]
    schema: dict[str, Any] = operation["responses"]["200"]["content"]["application/json"]["schema"]
    return schema


def _resources() -> Iterator[str]:
    for each in templates():
        address = code(each.uri_template)
        yield f"## Resource: {each.title}\n\n{address}\n\n{text(each.description or '')}"


def _prompts() -> Iterator[str]:
    for prompt in prompts():
        rows = [
            [code(it.name), "" if it.required else "optional", cell(it.description or "")]
            for it in prompt.arguments or ()
        ]
        header = ("argument", "", "description")
        yield f"## Prompt: {prompt.name}\n\n{text(prompt.description or '')}.\n\n{table(header, rows)}"
