"""The one mapping between a chunk and its stored form in a Bedrock knowledge base.

The stored text, which is embedded and searched, is a *context prefix* (title, folder, file and section in
words) followed by the chunk's lines, because context improves retrieval. The prefix's length, the sha256 of
the lines and the chunk's id are stored as metadata, so that the retrieval side can remove the prefix and
prove that the lines, file and line numbers are those that the chunker read. The knowledge base itself is
trusted: an attacker who can rewrite all of it can rewrite the proof too.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import date
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import chunk_id, context_prefix
from knowledge_rag.core.citations import MAX_LINE, Citation
from knowledge_rag.core.errors import InvalidCitation
from knowledge_rag.core.findings import CAUTIONS, is_note
from knowledge_rag.core.outcome import DropReason, RetrievalResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knowledge_rag.core.chunks import Chunk
    from knowledge_rag.core.outcome import MetadataValue

SOURCE_FILE: Final = "source_file"
START_LINE: Final = "start_line"
END_LINE: Final = "end_line"
SECTION_HEADER: Final = "section_header"
SECTION_PATH: Final = "section_path"
DOCUMENT_TYPE: Final = "document_type"
TITLE: Final = "title"
DOCUMENT_SHA256: Final = "document_sha256"
CONTENT_SHA256: Final = "content_sha256"
CONTEXT_LENGTH: Final = "context_length"
CHUNK_ID: Final = "chunk_id"
SOURCE_URL: Final = "source_url"
PAGE: Final = "page"
DATES: Final = "dates"
"""ISO dates in a chunk's lines, sorted; found at ingest, see ``extract/dates.py``."""
CAUTION: Final = "caution"
"""Kinds of lint findings in a chunk's lines, see :mod:`knowledge_rag.core.findings`."""
DRIFT: Final = "drift"
"""Drift findings in a chunk's lines, see :mod:`knowledge_rag.core.findings`."""
COMMIT: Final = "commit"
"""The last Git commit that changed the document, abbreviated; absent if the file has changed since."""
LAST_CHANGED: Final = "last_changed"
"""The day of that commit, ISO."""
LAST_REVIEWED: Final = "last_reviewed"
"""Date of the document's last review, from its front matter."""
TAGS: Final = "tags"
ALERTS: Final = "alerts"
"""Names of the alerts that a document belongs to: ``alerts`` or ``alert`` in its front matter."""

STATUS: Final = "status"
"""Whether a document is still valid: ``status`` in its front matter, or an equivalent field."""

SECTION_SEPARATOR: Final = " > "
"""Joins a section path into one string, for storage and display."""

FRONT_MATTER_FIELDS: Final = (
    "service", "severity", "incident_id", "owner", LAST_REVIEWED, STATUS,
)  # fmt: skip
"""Front-matter scalars worth filtering on or showing; ``tags`` and ``alerts`` are stored as lists."""

HISTORY_FIELDS: Final = (COMMIT, LAST_CHANGED)
"""A document's Git metadata: read at a local ingest, otherwise from the metadata file beside it."""

LIST_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {TAGS: (TAGS,), ALERTS: (ALERTS, "alert")}
"""Metadata that are lists, each with its names in front matter; a single value is a list of one."""

_GONE_FLAGS: Final = ("deprecated", "obsolete", "archived", "retired")
SUPERSEDED_BY: Final = "superseded by "
"""Begins the status of a document that names its successor."""
_SUCCESSORS: Final = ("superseded_by", "superseded-by", "replaced_by", "replaced-by")

MAX_METADATA_BYTES: Final = 1024
"""Maximum that S3 Vectors accepts for a chunk; more would fail the whole document."""

SHOWN_FIELDS: Final = (
    TITLE, DOCUMENT_TYPE, SECTION_PATH, *FRONT_MATTER_FIELDS, *HISTORY_FIELDS, TAGS, ALERTS, SOURCE_URL,
    PAGE, DATES, CAUTION, DRIFT, DOCUMENT_SHA256, CONTENT_SHA256, CHUNK_ID,
)  # fmt: skip
"""Metadata that a retrieval result passes on to its reader, in this order."""

_COMMIT: Final = re.compile(r"[0-9a-f]{7,40}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


def stored_text(chunk: Chunk) -> str:
    """Return the text that is embedded, searched and returned: context prefix, then the lines."""
    return context_prefix(chunk) + chunk.content


def to_metadata(chunk: Chunk) -> dict[str, MetadataValue]:
    """Return the metadata that is stored beside :func:`stored_text`; integers stay integers.

    The last entries of ``caution``, ``drift`` and ``alerts`` are left out where the total would exceed
    MAX_METADATA_BYTES.
    """
    metadata: dict[str, MetadataValue] = {
        SOURCE_FILE: chunk.document.source_file,
        START_LINE: chunk.start_line,
        END_LINE: chunk.end_line,
        SECTION_HEADER: chunk.section_header,
        SECTION_PATH: SECTION_SEPARATOR.join(chunk.section_path),
        DOCUMENT_TYPE: chunk.document.document_type.value,
        TITLE: chunk.document.title,
        DOCUMENT_SHA256: chunk.document.sha256,
        CONTENT_SHA256: chunk.content_sha256,
        CONTEXT_LENGTH: len(context_prefix(chunk)),
        CHUNK_ID: chunk.chunk_id,
    }
    if chunk.page is not None:
        metadata[PAGE] = chunk.page
    front_matter = chunk.document.front_matter
    for name in (*FRONT_MATTER_FIELDS, *HISTORY_FIELDS, SOURCE_URL):
        value = status_of(front_matter) if name == STATUS else front_matter.get(name)
        if value and isinstance(value, str):
            metadata[name] = value
    if tags := listed_in(TAGS, front_matter):
        metadata[TAGS] = tags
    metadata |= _fitting(metadata, CAUTION, list(chunk.caution))
    metadata |= _fitting(metadata, DRIFT, list(chunk.drift))
    metadata |= _fitting(metadata, ALERTS, listed_in(ALERTS, front_matter))
    if chunk.dates:
        metadata[DATES] = list(chunk.dates)
    return metadata


def status_of(front_matter: Mapping[str, str | list[str]]) -> str:
    """Return a document's status: a successor that it names, a flag that it sets, else its own word."""
    for key in _SUCCESSORS:
        if value := front_matter.get(key):
            return SUPERSEDED_BY + (value if isinstance(value, str) else ", ".join(value))
    for key in _GONE_FLAGS:
        value = front_matter.get(key, "")
        if isinstance(value, str) and value.casefold() in ("true", "yes"):
            return key
    value = front_matter.get(STATUS, "")
    return value if isinstance(value, str) else ""


_GONE: Final = re.compile(
    r"\b(?:superseded|outdated|obsolete|deprecated|archived|retired|withdrawn|replaced)\b",
    re.IGNORECASE,
)
_OLD_FOLDERS: Final = frozenset(
    {"old", "archive", "archived", "obsolete", "deprecated", "historical", "legacy"}
)


def is_out_of_use(source_file: str, status: object) -> bool:
    """Return whether a document is no longer used, by its status or its folder.

    >>> is_out_of_use("runbooks/rds.md", "superseded by aurora.md"), is_out_of_use("old/rds.md", "")
    (True, True)
    """
    *folders, _ = source_file.casefold().split("/")
    is_gone = isinstance(status, str) and _GONE.search(status) is not None
    return is_gone or not _OLD_FOLDERS.isdisjoint(folders)


def metadata_bytes(metadata: Mapping[str, MetadataValue]) -> int:
    """Return the size of metadata as JSON, in bytes; see MAX_METADATA_BYTES."""
    return len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode())


def listed_in(name: str, front_matter: Mapping[str, str | list[str]]) -> list[str]:
    """Return the values of a list field under any of its names, each once."""
    values: dict[str, None] = {}
    for key in LIST_FIELDS[name]:
        value = front_matter.get(key, [])
        values |= dict.fromkeys([value] if isinstance(value, str) else value)
    return [value for value in values if value]


def _fitting(
    metadata: Mapping[str, MetadataValue], name: str, values: list[str]
) -> dict[str, MetadataValue]:
    if values and metadata_bytes(metadata) <= MAX_METADATA_BYTES:
        while values and metadata_bytes({**metadata, name: values}) > MAX_METADATA_BYTES:
            values = values[:-1]
    return {name: values} if values else {}


def prove(text: object, metadata: object, score: object = None) -> RetrievalResult | DropReason:
    """Turn a result of the service into evidence, or return the reason why it can't be.

    Nothing is repaired and nothing invented: a result is proven or dropped.

    Args:
        text: the stored text as received, of any type.
        metadata: the metadata map as received, of any type; numbers may be doubles (``5.0``) or digit
        strings (``"5"``).
        score: as received; anything but a finite number counts as absent.

    Returns:
        The result, or the reason to drop it.
    """
    if not isinstance(text, str) or not text:
        return DropReason.NOT_TEXT
    if not isinstance(metadata, dict):
        return DropReason.NO_CITATION
    try:
        citation = citation_in(metadata)
    except (InvalidCitation, TypeError, ValueError):
        return DropReason.NO_CITATION
    content = _verbatim(text, metadata)
    if content is None or not _is_bound(citation, content, metadata):
        return DropReason.NOT_PROVEN
    return RetrievalResult(content, citation, finite_score(score), shown_fields(metadata))


def whole_number(value: object) -> int:
    """Read an integer that may have become a double or digits on the way.

    Raises:
        ValueError: it is not integral (``5.5``, ``"five"``, ``nan``).
        TypeError: it is not a number at all (``True``, ``None``, a list).
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(f"{type(value).__name__} is not a line number")
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit() and len(value) <= 10):
            raise ValueError(f"{value[:20]!r} is not a line number")
        return int(value)
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value} is not integral")
    return int(value)


def citation_in(metadata: Mapping[str, object]) -> Citation:
    """Read the citation in metadata.

    Raises:
        InvalidCitation: no real file can have such a path or such lines.
        TypeError, ValueError: a value is missing, or not of the stored type.
    """
    source_file = metadata.get(SOURCE_FILE)
    section_header = metadata.get(SECTION_HEADER, "")
    if not isinstance(source_file, str) or not isinstance(section_header, str):
        raise TypeError("source_file and section_header are text")
    if not _showable(section_header):
        raise ValueError("section_header is not one line of text")
    return Citation(
        source_file,
        whole_number(metadata.get(START_LINE)),
        whole_number(metadata.get(END_LINE)),
        section_header,
    )


def _is_bound(citation: Citation, content: str, metadata: Mapping[str, object]) -> bool:
    """Whether the chunk was created with this citation: its id binds file, lines and bytes."""
    lines = (citation.start_line, citation.end_line)
    return content.count("\n") == lines[1] - lines[0] and chunk_id(
        citation.source_file, *lines, content
    ) == metadata.get(CHUNK_ID)


def _verbatim(text: str, metadata: Mapping[str, object]) -> str | None:
    try:
        length = whole_number(metadata.get(CONTEXT_LENGTH, 0))
    except (TypeError, ValueError):
        return None
    if not 0 <= length < len(text):
        return None
    content = text[length:]
    try:
        digest = hashlib.sha256(content.encode()).hexdigest()
    except UnicodeEncodeError:  # UTF-8 bytes never decode to a lone surrogate
        return None
    return content if digest == metadata.get(CONTENT_SHA256) else None


def shown_fields(metadata: Mapping[str, object]) -> dict[str, MetadataValue]:
    """Return the metadata that a reader sees: SHOWN_FIELDS with values that can be shown."""
    shown: dict[str, MetadataValue] = {}
    for name in SHOWN_FIELDS:
        value = _READERS.get(name, _line)(metadata.get(name))
        if value is not None:
            shown[name] = value
    return shown


def is_sha256(text: str) -> bool:
    """Return whether it is a sha256 as this product writes it: 64 lower-case hex digits."""
    return _SHA256.fullmatch(text) is not None


def _line(value: object) -> str | None:
    return value if isinstance(value, str) and _showable(value) else None


def _page(value: object) -> int | None:
    try:
        page = whole_number(value)
    except (TypeError, ValueError):
        return None
    return page if 1 <= page <= MAX_LINE else None


def _dates(value: object) -> list[str] | None:
    return [day for day in value if _is_iso_date(day)] if isinstance(value, list) else None


def _texts(value: object) -> list[str] | None:
    if not isinstance(value, list):
        return None
    return [text for text in value if isinstance(text, str) and _showable(text)]


def _kinds(value: object) -> list[str] | None:
    found = [kind for kind in value if kind in CAUTIONS] if isinstance(value, list) else []
    return found or None


def _notes(value: object) -> list[str] | None:
    return [text for text in _texts(value) or () if is_note(text)] or None


def _is_iso_date(value: object) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _text_if(is_right: Callable[[str], object]) -> Callable[[object], str | None]:
    return lambda value: value if isinstance(value, str) and is_right(value) else None


_READERS: Final[Mapping[str, Callable[[object], MetadataValue | None]]] = {
    PAGE: _page,
    DATES: _dates,
    CAUTION: _kinds,
    DRIFT: _notes,
    COMMIT: _text_if(_COMMIT.fullmatch),
    LAST_CHANGED: _text_if(_is_iso_date),
    TAGS: _texts,
    ALERTS: _texts,
    DOCUMENT_SHA256: _text_if(is_sha256),
    CONTENT_SHA256: _text_if(is_sha256),
}
"""Readers of fields that are more than a line of text; ``None`` if the value can't be shown."""


def _showable(text: str) -> bool:
    """Whether it is one line that UTF-8 can encode; anything else could pass for lines of a citation."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\n" not in text


def finite_score(score: object) -> float | None:
    """Return a score that is a finite number; anything else counts as absent."""
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    try:
        value = float(score)
    except OverflowError:
        return None
    return value if value - value == 0.0 else None
