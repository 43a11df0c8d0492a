"""The service's wire format: requests checked against its own model, its errors, its event streams.

botocore checks only names, types and minimum lengths before it sends; enums, patterns and maxima
are left to the service.

A stream consists of ``application/vnd.amazon.eventstream`` messages: two lengths and their checksum, headers, a
payload, and the checksum of all of it::

    total length (4) | headers' length (4) | CRC32 of both (4) | headers | payload | CRC32 (4)

All numbers are big-endian. A header consists of the length of its name (1), the name, the type of its
value (1; 7 is text), the length of the value (2) and the value.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from botocore.model import OperationModel, ServiceModel

    Shape = Any  # botocore's stubs don't say which kind of shape has which attributes


@lru_cache(maxsize=2)
def service_model(service: str = "bedrock-agent-runtime") -> ServiceModel:
    """Return botocore's model of a service, ignoring the user's profiles and settings."""
    # only the wire's requests are checked
    from botocore.loaders import Loader  # noqa: PLC0415
    from botocore.model import ServiceModel  # noqa: PLC0415

    return ServiceModel(Loader().load_service_model(service, "service-2"), service)


_NAMED_PROBLEMS: Final = 20
"""A body of a megabyte can violate a hundred thousand constraints."""
_SHOWN_VALUE: Final = 64
"""Longer values are not repeated in an error message."""

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "blob": (str,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "boolean": (bool,),
}


class ServiceError(Exception):
    """A service error: its code, e.g. ``ValidationException``, message and HTTP status."""

    def __init__(self, code: str, status: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


def invalid(message: str) -> ServiceError:
    """Return the error for a request that can't be served as it is."""
    return ServiceError("ValidationException", 400, message)


def check(values: Mapping[str, Any], operation: OperationModel) -> None:
    """Check a request against the service's model; raise a ValidationException that names the problems."""
    opaque = frozenset({"RetrievalFilter"})
    found = list(islice(problems(values, operation.input_shape, "", opaque), _NAMED_PROBLEMS))
    if found:
        plural = "" if len(found) == 1 else "s"
        raise invalid(f"{len(found)} validation error{plural} detected: {'; '.join(found)}")


def problems(
    value: Any,  # noqa: ANN401 - decoded JSON
    shape: Shape,
    where: str = "",
    opaque: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """Yield one sentence for each constraint of the model that a value violates, except by ``opaque`` shapes."""
    if shape.name in opaque or getattr(shape, "is_document_type", False):
        return
    kind = shape.type_name
    fits = isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
    if not fits:
        yield _failed(None, where, f"Member must be of type {kind}")
    elif kind == "structure":
        yield from _members(value, shape, where, opaque)
    elif kind == "list":
        yield from _bounds(len(value), "length", shape, where)
        for position, member in enumerate(value, 1):
            yield from problems(member, shape.member, f"{where}.{position}.member", opaque)
    elif kind == "map":
        yield from _bounds(len(value), "length", shape, where)
        for name, member in value.items():
            yield from problems(name, shape.key, f"{where}.key", opaque)
            yield from problems(member, shape.value, _join(where, name), opaque)
    elif kind != "boolean":
        yield from _scalar(value, kind, shape, where)


def _members(
    value: dict[str, Any], shape: Shape, where: str, opaque: frozenset[str]
) -> Iterator[str]:
    members = {m.serialization.get("name", name): m for name, m in shape.members.items()}
    for name in shape.required_members:
        if value.get(name) is None:
            yield _failed(None, _join(where, name), "Member must not be null")
    for name, member in value.items():
        if name not in members:
            yield _failed(None, _join(where, name), "Member is not known to this operation")
        elif member is not None:
            yield from problems(member, members[name], _join(where, name), opaque)
    if shape.is_tagged_union and sum(member is not None for member in value.values()) != 1:
        yield _failed(None, where, "Exactly one member must be set")


def _scalar(value: Any, kind: str, shape: Shape, where: str) -> Iterator[str]:  # noqa: ANN401
    if kind == "blob":
        try:
            size = len(base64.b64decode(value, validate=True))
        except ValueError:
            yield _failed(None, where, "Member must be base64")
        else:
            yield from _bounds(size, "length", shape, where)
    elif kind == "string":
        yield from _bounds(len(value), "length", shape, where, value)
        if shape.enum and value not in shape.enum:
            allowed = ", ".join(shape.enum)
            yield _failed(value, where, f"Member must satisfy enum value set: [{allowed}]")
        pattern = shape.metadata.get("pattern")
        if pattern and not re.fullmatch(pattern, value):
            yield _failed(
                value, where, f"Member must satisfy regular expression pattern: {pattern}"
            )
    else:
        yield from _bounds(value, "value", shape, where, value)


def _bounds(
    size: float, what: str, shape: Shape, where: str, shown: object = None
) -> Iterator[str]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and size < least:
        yield _failed(shown, where, f"Member must have {what} greater than or equal to {least}")
    if most is not None and size > most:
        yield _failed(shown, where, f"Member must have {what} less than or equal to {most}")


def _failed(value: object, where: str, constraint: str) -> str:
    shown = "" if value is None or len(str(value)) > _SHOWN_VALUE else f" '{value}'"
    return f"Value{shown} at '{where}' failed to satisfy constraint: {constraint}"


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


CONTENT_TYPE: Final = "application/vnd.amazon.eventstream"
_FRAME_BYTES: Final = 16
_TEXT: Final = 7


class Event(NamedTuple):
    """One message of a stream: its member of the operation's output, its JSON, whether it is an error."""

    kind: str
    payload: Mapping[str, Any]
    failed: bool = False


def encode(event: Event) -> bytes:
    """Return an event's message."""
    message_type = "exception" if event.failed else "event"
    headers = {
        f":{message_type}-type": event.kind,
        ":content-type": "application/json",
        ":message-type": message_type,
    }
    return message(headers, json.dumps(event.payload).encode())


def message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return one message; names have 1..255 bytes and values up to 65,535, as UTF-8."""
    head = b"".join(_header(name.encode(), value.encode()) for name, value in headers.items())
    lengths = struct.pack(">II", _FRAME_BYTES + len(head) + len(payload), len(head))
    checked = b"".join((lengths, struct.pack(">I", zlib.crc32(lengths)), head, payload))
    return checked + struct.pack(">I", zlib.crc32(checked))


def _header(name: bytes, value: bytes) -> bytes:
    return struct.pack(f">B{len(name)}sBH", len(name), name, _TEXT, len(value)) + value
