"""``docs/reference/tool.md``: ``retrieve_knowledge`` for its callers, from its schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.outcome import MAX_TOOL_RESULTS
from knowledge_rag.core.retrieval import MAX_SERVICE_RESULTS
from lambdas.retrieve_knowledge import events
from tests.support.local import PROJECT
from tools.reference.markdown import code, page, table, text
from tools.reference.schemas import HEADER, members

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA: Final = PROJECT / "schemas" / "retrieve_knowledge.openapi.json"

_CALLERS: Final = {
    events.Caller.AGENT: (
        "an agent's action group",
        f"{MAX_TOOL_RESULTS}",
        events.MAX_AGENT_RESPONSE_BYTES,
    ),
    events.Caller.GATEWAY: (
        "an AgentCore gateway, a client of MCP",
        f"{MAX_TOOL_RESULTS}; {MAX_SERVICE_RESULTS} with `source_file`",
        events.MAX_GATEWAY_RESPONSE_BYTES,
    ),
    events.Caller.DIRECT: (
        "a direct caller of the function",
        f"{MAX_SERVICE_RESULTS}",
        events.MAX_DIRECT_RESPONSE_BYTES,
    ),
}


def tool_page() -> str:
    """Return the page: arguments, answer, and limits by caller."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    operation = schema["paths"][events.API_PATH]["post"]
    about = "The function's arguments and answer, from [its schema](../../schemas/{})."
    return page(
        "The tool retrieve_knowledge",
        about.format(SCHEMA.name),
        text(operation["description"]),
        f"An agent calls it by `{events.HTTP_METHOD} {events.API_PATH}`.",
        _part("## Parameters", _body(operation["requestBody"])),
        *(_response(status, each) for status, each in operation["responses"].items()),
        "The meaning of each `reason`: [outcomes](outcomes.md#reasons).",
        _callers(),
    )


def _response(status: str, response: Mapping[str, Any]) -> str:
    heading = f"## Answer {status}\n\n{text(response['description'])}"
    return _part(heading, _body(response))


def _part(heading: str, schema: Mapping[str, Any]) -> str:
    return f"{heading}\n\n{table(HEADER, members(schema))}"


def _body(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = holder["content"]["application/json"]["schema"]
    return schema


def _callers() -> str:
    rows = [
        [code(kind), who, results, f"{size:,}"] for kind, (who, results, size) in _CALLERS.items()
    ]
    return "\n\n".join(
        [
            "## Limits by caller",
            (
                "The event's shape identifies the caller. `max_results` is clamped. If an answer is "
                "too large, its lowest-ranked results are left out. A direct caller may add "
                f"`session_id`, `incident_id` and `{events.EXPLAIN}`."
            ),
            table(["caller", "that is", "most results", "most bytes in an answer"], rows),
        ]
    )
