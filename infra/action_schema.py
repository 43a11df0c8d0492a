"""The rules that Bedrock has for an action group's OpenAPI schema, checked before anything is deployed.

CloudFormation takes any text, and the agent is then refused halfway through a deployment or, worse,
prepared without its tool. The rules are those of the service's user guide.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

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
