"""JSON Schema as table rows: one per member, by path, with its limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tools.reference.markdown import cell, code, codes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Schema = Mapping[str, Any]

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
