"""Converts a resource's CloudFormation properties to the parameters of the operation that creates it.

The names are matched against botocore's model of the operation, ignoring case. Unknown, missing and out-of-range
values are errors, also for enums, patterns and maxima, which botocore leaves to the service.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import botocore.session

from knowledge_rag.local.bedrock.wire import problems


class InvalidPropertiesError(ValueError):
    """The service wouldn't accept a resource's properties."""


@lru_cache(maxsize=64)
def operation_shape(service: str, operation: str) -> Any:
    """Return the input shape of an operation, named as in the API."""
    model = botocore.session.get_session().get_service_model(service)
    return model.operation_model(operation).input_shape


def parameters(service: str, operation: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Convert properties and check them.

    Raises:
        InvalidPropertiesError: names every constraint that they violate.
    """
    shape = operation_shape(service, operation)
    unknown: list[str] = []
    converted = _convert(properties, shape, "", unknown)
    # botocore adds idempotency tokens.
    checked = {name: value for name, value in converted.items() if value is not None}
    found = [f"{where} is not known to {operation}" for where in unknown]
    found += problems(checked, _by_member_name(shape))
    if found:
        raise InvalidPropertiesError("; ".join(found))
    return checked


class _ByMemberName:
    """A shape whose members have their own names, not those on the wire."""

    def __init__(self, shape: Any) -> None:
        self._shape = shape

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shape, name)

    @property
    def serialization(self) -> dict[str, Any]:
        return {}

    @property
    def required_members(self) -> list[str]:
        members = self._shape.members
        return [
            name
            for name in self._shape.required_members
            if not getattr(members[name], "metadata", {}).get("idempotencyToken")
        ]

    @property
    def metadata(self) -> dict[str, Any]:
        """Constraints; patterns are Java's, with Unicode classes that Python's `re` lacks."""
        metadata = dict(self._shape.metadata)
        if "pattern" in metadata:
            pattern = re.sub(r"\\p\{(L|N|IsAlphabetic|IsDigit)\}", r"\\w", metadata["pattern"])
            pattern = re.sub(r"\\p\{(Z|IsWhite_Space)\}", r"\\s", pattern)
            # punctuation and symbols, ASCII only: no property here has others
            pattern = re.sub(
                r"\\p\{[PS]\}", r"\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e", pattern
            )
            metadata["pattern"] = pattern
        return metadata

    @property
    def members(self) -> dict[str, Any]:
        return {name: _by_member_name(member) for name, member in self._shape.members.items()}

    @property
    def member(self) -> Any:
        return _by_member_name(self._shape.member)

    @property
    def key(self) -> Any:
        return _by_member_name(self._shape.key)

    @property
    def value(self) -> Any:
        return _by_member_name(self._shape.value)


def _by_member_name(shape: Any) -> _ByMemberName:
    return _ByMemberName(shape)


def _convert(value: Any, shape: Any, where: str, unknown: list[str]) -> Any:
    kind = shape.type_name
    if getattr(shape, "is_document_type", False):
        return value
    if kind == "structure" and isinstance(value, dict):
        return _structure(value, shape, where, unknown)
    if kind == "list" and isinstance(value, list):
        return [_convert(item, shape.member, f"{where}[]", unknown) for item in value]
    if kind == "map" and isinstance(value, list):  # tags: a list of pairs in CloudFormation
        return {pair["Key"]: pair["Value"] for pair in value}
    if kind == "map" and isinstance(value, dict):
        return {
            name: _convert(item, shape.value, f"{where}.{name}", unknown)
            for name, item in value.items()
        }
    return _scalar(value, kind)


def _structure(value: dict[str, Any], shape: Any, where: str, unknown: list[str]) -> dict[str, Any]:
    members = {name.lower(): name for name in shape.members}
    converted = {}
    for name, item in value.items():
        member = members.get(name.lower())
        if member is None:
            unknown.append(f"{where}.{name}".lstrip("."))
        else:
            converted[member] = _convert(item, shape.members[member], f"{where}.{name}", unknown)
    return converted


def _scalar(value: Any, kind: str) -> Any:
    """Convert numbers and booleans given as text, as CloudFormation does."""
    if isinstance(value, str) and kind == "boolean" and value in {"true", "false"}:
        return value == "true"
    if isinstance(value, str) and kind in {"integer", "long", "float", "double"}:
        number = float(value)
        return int(number) if number.is_integer() else number
    if isinstance(value, int) and not isinstance(value, bool) and kind in {"float", "double"}:
        return float(value)
    return value
