"""A document's metadata file, ``<file>.metadata.json`` beside it.

The shape is Bedrock's: ``{"metadataAttributes": {...}}`` with values that are plain or typed
(``{"value": {"type": "STRING", "stringValue": "..."}}``). Read are the fields that front matter may
have too; all others are for whoever wrote them. Nothing here costs a document: what can't be read is
reported and left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.metadata import (
    ALERTS,
    DOCUMENT_TYPE,
    FRONT_MATTER_FIELDS,
    HISTORY_FIELDS,
    LIST_FIELDS,
    SOURCE_URL,
    TAGS,
    TITLE,
)
from knowledge_rag.extract.addresses import MAX_ADDRESS, web_address

if TYPE_CHECKING:
    from knowledge_rag.core.chunks import FrontMatter

SUFFIX: Final = ".metadata.json"
"""Behind a document's whole name: ``handbook.pdf.metadata.json``."""

MAX_BYTES: Final = 10 * 1024
"""The limit of a knowledge base; a larger file is not read."""

FETCHED_AT: Final = "fetched_at"
"""Said beside a page that was fetched, with its address: nobody else writes both."""

FIELDS: Final = (
    TITLE, DOCUMENT_TYPE, SOURCE_URL, TAGS, ALERTS, *FRONT_MATTER_FIELDS, *HISTORY_FIELDS,
)  # fmt: skip
"""Attributes that are taken over."""

_MAX_VALUE: Final = 1_000
_TYPED: Final = ("stringValue", "numberValue", "booleanValue", "stringListValue")


@dataclass(frozen=True, slots=True)
class Sidecar:
    """Fields for a document, as front matter has them, and notes on what was left out.

    A document that was fetched from the web can't be trusted on what it says of itself.
    """

    fields: FrontMatter = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fetched: bool = False


def read_sidecar(data: bytes) -> Sidecar:
    """Read a metadata file, up to one byte more than MAX_BYTES; never raises."""
    if len(data) > MAX_BYTES:
        return Sidecar(notes=(f"{SUFFIX} is larger than {MAX_BYTES} bytes and was not read",))
    try:
        attributes = json.loads(data.decode("utf-8-sig"))["metadataAttributes"]
        given = {name: attributes[name] for name in FIELDS if name in attributes}
        fetched = FETCHED_AT in attributes and SOURCE_URL in attributes
    except (ValueError, TypeError, KeyError, RecursionError):
        return Sidecar(notes=(f"{SUFFIX} is no JSON object with metadataAttributes",))
    said = check_fields({name: _plain(value) for name, value in given.items()}, SUFFIX)
    return replace(said, fetched=fetched)


def check_fields(given: dict[str, object], where: str) -> Sidecar:
    """Keep the FIELDS whose values can be used, and say what is wrong with the others."""
    fields: FrontMatter = {}
    notes = []
    for name, value in given.items():
        if name not in FIELDS:
            continue
        usable = _usable(name, value)
        if usable is None:
            notes.append(f"{where}: {name} {_WANTED.get(name, 'is no line of text')}; left out")
        else:
            fields[name] = usable
    return Sidecar(fields, tuple(notes))


_WANTED: Final = {
    DOCUMENT_TYPE: f"is none of {', '.join(DocumentType)}",
    SOURCE_URL: "is no http or https address",
    TAGS: "are no list of words",
    ALERTS: "are no list of names",
}


def _plain(value: object) -> object:
    """Unwrap a typed value."""
    typed = value.get("value") if isinstance(value, dict) else None
    if not isinstance(typed, dict):
        return value
    return next((typed[name] for name in _TYPED if name in typed), None)


def _usable(name: str, value: object) -> str | list[str] | None:
    if name in LIST_FIELDS:
        words = value if isinstance(value, list) else [value]
        lines = [line for word in words if (line := _line(word)) is not None]
        return lines if lines and len(lines) == len(words) else None
    line = _line(value, MAX_ADDRESS if name == SOURCE_URL else _MAX_VALUE)
    if line is None or (name == DOCUMENT_TYPE and line not in set(DocumentType)):
        return None
    return web_address(line) if name == SOURCE_URL else line


def _line(value: object, longest: int = _MAX_VALUE) -> str | None:
    if isinstance(value, bool):
        value = str(value).lower()
    if not isinstance(value, str | int | float):
        return None
    line = " ".join(str(value).split())
    try:
        line.encode()
    except UnicodeEncodeError:
        return None
    return line if 1 <= len(line) <= longest else None
