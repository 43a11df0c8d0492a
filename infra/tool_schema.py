"""The gateway's tool, derived from the action group's OpenAPI schema: one contract for both callers.

A gateway's schema knows types, properties, required names, items and descriptions, and nothing else
(``SchemaDefinition`` of bedrock-agentcore-control). Bounds and defaults therefore stay behind; the
descriptions say them, and the function keeps them. There is no output schema: a client would hold a
refused call's ``{"error": ...}`` against it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from typing_extensions import TypeIs


MAX_OPERATIONS: Final = 11
"""Operations of one action group."""

MAX_SCHEMA_BYTES: Final = 50_000
"""Of a schema in line, as UTF-8; well below what the service takes."""

_VERSION: Final = re.compile(r"3\.0\.[0-9]+")
_METHODS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})


def find_problems(text: str) -> list[str]:
    """Check a schema against the rules of action groups.

    Args:
        text: of the schema, JSON.

    Returns:
        A line for each rule that is broken, with where; empty for a schema that will be accepted.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        return [f"is no JSON: {error}"]
    if not isinstance(document, dict):
        return ["must be a JSON object"]
    return [*_of_document(document, text), *_of_operations(document), *_enums(document, "")]


def operations(document: Any) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 -- any JSON
    """Give a schema's operations, each with the place that it stands at."""
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        for method, operation in item.items() if isinstance(item, dict) else ():
            if method in _METHODS and isinstance(operation, dict):
                yield f"{method.upper()} {path}", operation


def _of_document(document: dict[str, Any], text: str) -> Iterator[str]:
    version = document.get("openapi")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        yield f"openapi is {json.dumps(version)}; action groups take 3.0.x only"
    size = len(text.encode())
    if size > MAX_SCHEMA_BYTES:
        yield f"has {size} bytes; at most {MAX_SCHEMA_BYTES} are sent in line"
    count = sum(1 for _ in operations(document))
    if not 1 <= count <= MAX_OPERATIONS:
        yield f"has {count} operations; an action group has 1 to {MAX_OPERATIONS}"


def _of_operations(document: dict[str, Any]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for where, operation in operations(document):
        name = operation.get("operationId")
        if not _is_text(name):
            yield f"{where} has no operationId"
        elif name in seen:
            yield f"{where} has the operationId {name!r} of {seen[name]}; each needs its own"
        else:
            seen[name] = where
        if not _is_text(operation.get("description")):
            yield f"{where} has no description; the agent chooses by it"
        yield from _of_responses(where, operation.get("responses"))


def _of_responses(where: str, responses: object) -> Iterator[str]:
    if not isinstance(responses, dict) or not responses:
        yield f"{where} has no responses"
        return
    for status, response in responses.items():
        if not isinstance(response, dict) or not _is_text(response.get("description")):
            yield f"{where} has no description of its response {status}"


def _enums(node: object, where: str) -> Iterator[str]:
    """Find ``enum`` as a keyword; a property may be called so."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _enums(item, f"{where}/{index}")
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        if key == "enum":
            yield f"{where or '/'} has enum, which action groups refuse; describe the values instead"
        elif key == "properties" and isinstance(value, dict):
            for name, schema in value.items():
                yield from _enums(schema, f"{where}/properties/{name}")
        else:
            yield from _enums(value, f"{where}/{key}")


def _is_text(value: object) -> TypeIs[str]:
    return isinstance(value, str) and bool(value.strip())


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
