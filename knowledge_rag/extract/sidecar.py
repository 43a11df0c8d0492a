"""A document's metadata file, ``<file>.metadata.json`` beside it.

The format is Bedrock's: ``{"metadataAttributes": {...}}`` with plain or typed values
(``{"value": {"type": "STRING", "stringValue": "..."}}``). Only fields that front matter may have are
read; the others belong to other programs. Nothing here costs a document: an unreadable value is
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
from knowledge_rag.core.repository_links import MAX_ADDRESS, web_address

if TYPE_CHECKING:
    from knowledge_rag.core.chunks import FrontMatter

SUFFIX: Final = ".metadata.json"
"""Appended to a document's whole name: ``handbook.pdf.metadata.json``."""

MAX_BYTES: Final = 10 * 1024
"""The limit of a knowledge base; a larger file is not read."""

FETCHED_AT: Final = "fetched_at"
"""Marks a fetched page, together with its address: only this program writes both."""

FIELDS: Final = (
    TITLE, DOCUMENT_TYPE, SOURCE_URL, TAGS, ALERTS, *FRONT_MATTER_FIELDS, *HISTORY_FIELDS,
)  # fmt: skip
"""Attributes that are read."""

_MAX_VALUE: Final = 1_000
_TYPED: Final = ("stringValue", "numberValue", "booleanValue", "stringListValue")


@dataclass(frozen=True, slots=True)
class Sidecar:
    """Fields for a document, as in front matter, and notes on the ones left out.

    A fetched document can't be trusted about itself.
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
        return Sidecar(notes=(f"{SUFFIX} is not a JSON object with metadataAttributes",))
    said = check_fields({name: _plain(value) for name, value in given.items()}, SUFFIX)
    return replace(said, fetched=fetched)


def check_fields(given: dict[str, object], where: str) -> Sidecar:
    """Keep the FIELDS with usable values, and describe the problems of the others."""
    fields: FrontMatter = {}
    notes = []
    for name, value in given.items():
        if name not in FIELDS:
            continue
        usable = _usable(name, value)
        if usable is None:
            notes.append(
                f"{where}: {name} {_WANTED.get(name, 'is not one line of text')}; left out"
            )
        else:
            fields[name] = usable
    return Sidecar(fields, tuple(notes))


_WANTED: Final = {
    DOCUMENT_TYPE: f"is none of {', '.join(DocumentType)}",
    SOURCE_URL: "is not an http or https address",
    TAGS: "are not a list of words",
    ALERTS: "are not a list of names",
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
