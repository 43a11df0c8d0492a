"""Pages about what callers send and get: the tool, the recommendation, MCP; from their JSON schemas."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.files import shipped
from knowledge_rag.core.outcome import MAX_TOOL_RESULTS, TOOL_NAMES
from knowledge_rag.core.retrieval import MAX_SERVICE_RESULTS
from knowledge_rag.mcp_server.resources import templates
from knowledge_rag.mcp_server.schemas import RECOMMENDATION
from knowledge_rag.mcp_server.server import prompts
from knowledge_rag.mcp_server.tools import ASK, tools
from lambdas.retrieve_knowledge import events
from lambdas.retrieve_knowledge.events import API_PATH
from tests.support.local import PROJECT
from tools.reference.markdown import cell, code, codes, page, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Schema = Mapping[str, Any]
    from collections.abc import Mapping

    from mcp.types import Tool

HEADER: Final = ("member", "type", "limits", "description")

_LIMITS: Final = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "{} or more characters",
    "maxLength": "at most {} characters",
    "minItems": "{} or more",
    "maxItems": "at most {}",
    "default": "default {}",
}
_UNDERSTOOD: Final = {
    *_LIMITS, "type", "description", "properties", "items", "required", "enum", "const", "pattern",
    "additionalProperties", "propertyNames", "$ref",
}  # fmt: skip
"""Any other keyword would be missing from a page, so it is an error."""


def members(schema: Schema, path: str = "") -> Iterator[list[str]]:
    """Return a row for each member of an object, and of the objects inside it."""
    for name, member in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        required = "" if name in schema.get("required", ()) else "optional"
        yield [code(here), _type(member), _limits(member, required), cell(_about(member))]
        inner = member.get("items", member)
        yield from members(inner, f"{here}[]" if "items" in member else here)


def _type(schema: Schema) -> str:
    if unknown := schema.keys() - _UNDERSTOOD:
        raise ValueError(f"no page shows {', '.join(sorted(unknown))}")
    if "$ref" in schema:
        return f"[{reference(schema)}](#{reference(schema)})"
    if "items" in schema:
        return f"array of {_type(schema['items'])}"
    kinds = schema.get("type") or _kind_of(schema.get("enum") or [schema.get("const")])
    return kinds if isinstance(kinds, str) else " or ".join(kinds)


def _kind_of(values: list[object]) -> str:
    return "string" if all(isinstance(value, str) for value in values) else "any"


def reference(schema: Schema) -> str:
    """Return the name of a reference to a part of the same schema."""
    return str(schema["$ref"]).rpartition("/")[2]


def _limits(schema: Schema, *first: str) -> str:
    said = [each for each in first if each]
    said += [form.format(_number(schema[key])) for key, form in _LIMITS.items() if key in schema]
    if "enum" in schema:
        said.append(codes(schema["enum"]))
    if "propertyNames" in schema:
        said.append(f"keys: {codes(schema['propertyNames']['enum'])}")
    if "const" in schema:
        said.append(code(schema["const"]))
    if "pattern" in schema:
        said.append(_pattern(schema["pattern"]))
    return "; ".join(said)


def _number(given: object) -> str:
    return f"{given:,}" if isinstance(given, int) else json.dumps(given)


def _pattern(pattern: str) -> str:
    """Return a pattern's choices if it has nothing else, or else the pattern."""
    choices = pattern.removeprefix("^(").removesuffix(")$").split("|")
    if all(choice.replace("_", "").isalnum() for choice in choices):
        return codes(choices)
    return f"matches {code(pattern)}"


def _about(schema: Schema) -> str:
    return str(schema.get("description", ""))


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


_RECOMMENDATION: Final = PROJECT / "schemas" / "recommendation.schema.json"


def recommendation_page() -> str:
    """Return the page: the whole, its parts, and the fields of each status."""
    schema = json.loads(_RECOMMENDATION.read_text(encoding="utf-8"))
    return page(
        "The recommendation",
        f"What `ask`, the LangGraph node and the console answer, from "
        f"[its schema](../../schemas/{_RECOMMENDATION.name}). [How it is made](../recommendation.md).",
        text(schema["description"]),
        table(HEADER, members(schema)),
        _by_status(schema["allOf"]),
        *(_part_of_it(name, part) for name, part in schema["$defs"].items()),
    )


def _part_of_it(name: str, part: dict[str, Any]) -> str:
    if "properties" not in part:
        return f"## {name}\n\n{part['type']}, matches {code(part['pattern'])}"
    return f"## {name}\n\n{text(part['description'])}\n\n{table(HEADER, members(part))}"


def _by_status(rules: list[dict[str, Any]]) -> str:
    rows = [
        [code(rule["if"]["properties"]["status"]["const"]), *_then(rule["then"])] for rule in rules
    ]
    return "\n\n".join(
        [
            "## By status",
            table(
                ["status", "`reason`", "`confidence`", "guidance and similar incidents", "summary"],
                rows,
            ),
        ]
    )


def _then(then: dict[str, Any]) -> list[str]:
    properties = then["properties"]
    advice = properties["recommendation"]
    empty = advice.get("properties", {}).get("guidance", {}).get("maxItems") == 0
    summary = advice.get("properties", {}).get("summary", {}).get("const", "")
    return [
        "there" if "reason" in then.get("required", ()) else "absent",
        str(properties.get("confidence", {}).get("const", "0 to 1")),
        "both empty" if empty else "at least one of either",
        cell(summary),
    ]


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
