"""The gateway's tool, derived from the action group's OpenAPI schema: one contract for both callers.

A gateway's schema knows types, properties, required names, items and descriptions, and nothing else
(``SchemaDefinition`` of bedrock-agentcore-control). Bounds and defaults therefore stay behind; the
descriptions say them, and the function keeps them. There is no output schema: a client would hold a
refused call's ``{"error": ...}`` against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from infra.action_schema import operations

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPES: Final = frozenset({"string", "number", "object", "array", "boolean", "integer"})

MAX_INSTRUCTIONS_CHARACTERS: Final = 2_048
"""Of a gateway, see ``MCPGatewayConfiguration`` of the service model."""


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """What a gateway knows of a value.

    Args:
        type: one of JSON's, or ``integer``.
        description: what it means, ``""`` for none.
        properties: of an object, by name.
        required: names of the properties that must be there.
        items: of an array, ``None`` for anything else.
    """

    type: str
    description: str = ""
    properties: Mapping[str, ToolSchema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    items: ToolSchema | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of a gateway's target."""

    name: str
    description: str
    arguments: ToolSchema


def tools_of(document: Mapping[str, Any]) -> tuple[Tool, ...]:
    """Derive a tool from each operation: its id, its description, its JSON request body.

    Raises:
        ValueError: an operation takes something that a tool can't say.
    """
    return tuple(
        Tool(
            operation["operationId"],
            operation["description"],
            _schema(_body(where, operation), where),
        )
        for where, operation in operations(document)
    )


def instructions_of(document: Mapping[str, Any]) -> str:
    """Give what a gateway tells its clients of itself: the description of the whole schema.

    Raises:
        ValueError: there is none, or more than a gateway takes.
    """
    info = document.get("info")
    text = info.get("description") if isinstance(info, dict) else None
    if not isinstance(text, str) or not 1 <= len(text.strip()) <= MAX_INSTRUCTIONS_CHARACTERS:
        raise ValueError(
            "has no info.description of 1 to"
            f" {MAX_INSTRUCTIONS_CHARACTERS} characters, which a gateway tells its clients"
        )
    return text.strip()


def _body(where: str, operation: Mapping[str, Any]) -> object:
    if operation.get("parameters"):
        raise ValueError(f"{where} has parameters; a gateway's tool takes a request body only")
    try:
        return operation["requestBody"]["content"]["application/json"]["schema"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"{where} has no JSON request body to make a tool of") from error


def _schema(schema: object, where: str) -> ToolSchema:
    if not isinstance(schema, dict) or schema.get("type") not in _TYPES:
        raise ValueError(f"{where} has a schema without a type, which a gateway's tool can't say")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise ValueError(  # noqa: TRY004 - what is wrong is a file, like all that is refused here
            f"{where} has properties that are no object"
        )
    items = schema.get("items")
    return ToolSchema(
        schema["type"],
        schema.get("description", ""),
        {name: _schema(value, f"{where}/{name}") for name, value in properties.items()},
        tuple(schema.get("required", ())),
        None if items is None else _schema(items, f"{where}/items"),
    )
