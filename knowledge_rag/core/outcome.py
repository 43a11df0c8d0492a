"""Outcomes of a retrieval, and names and limits of the tool: shared by the Lambda and its callers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.core.citations import Citation


MetadataValue = str | int | float | bool | list[str]
"""Types of a metadata attribute that a Bedrock knowledge base stores."""


class Status(StrEnum):
    """How a retrieval ended; ``results`` is empty unless it is ``ok``."""

    OK = "ok"
    NO_MATCH = "no_match"
    """The search succeeded; nothing is documented."""
    DEGRADED = "degraded"
    """The search failed, or none of its results could be proven; has a reason."""


class Reason(StrEnum):
    """Why a retrieval is degraded: coarse, stable and safe to show."""

    TIMEOUT = "timeout"
    THROTTLED = "throttled"
    UNAVAILABLE = "unavailable"
    ACCESS_DENIED = "access_denied"
    MALFORMED_RESPONSE = "malformed_response"
    CONFIGURATION = "configuration"
    GUARDRAIL = "guardrail"
    UNVERIFIABLE_RESULTS = "unverifiable_results"
    QUERY_LIMIT = "query_limit"
    INTERNAL = "internal"


class DropReason(StrEnum):
    """Why a result that the service returned is not shown."""

    NOT_TEXT = "not_text"
    """No usable text: null, ``{}``, an image or a row, or an empty string."""
    NO_CITATION = "no_citation"
    """``source_file`` or the line range is missing or garbled."""
    NOT_PROVEN = "not_proven"
    """The text without its prefix doesn't match its sha256 or spans a different number of lines."""
    UNLOCATED = "unlocated"
    """It names no lines, and its document doesn't contain its text."""
    AMBIGUOUS = "ambiguous"
    """It names no lines, and its document contains its text in several places."""
    UNREAD = "unread"
    """It names no lines, and its document isn't available: unknown, unreadable, or not in time."""
    DUPLICATE = "duplicate"
    """The same lines as a better result."""
    BELOW_FLOOR = "below_floor"
    """Scored under the evidence floor: not evidence for this query."""
    OVER_LIMIT = "over_limit"
    """More than requested."""
    OVER_SIZE = "over_size"
    """The response would exceed the caller's size limit; lowest ranks are dropped first."""


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """One proven piece of evidence.

    Args:
        content: the cited lines, byte for byte.
        citation: of these lines.
        relevance_score: from the service, finite; ``None`` if it returned none.
        metadata: title, document_type, section_path, document_sha256 and other known fields.
    """

    content: str
    citation: Citation
    relevance_score: float | None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Return the wire form; an absent score stays absent."""
        wire: dict[str, object] = {"content": self.content, "citation": self.citation.to_dict()}
        if self.relevance_score is not None:
            wire["relevance_score"] = self.relevance_score
        wire["metadata"] = dict(self.metadata)
        return wire


@dataclass(frozen=True, slots=True)
class RetrievalOutcome:
    """The outcome of one query.

    Args:
        status: how it ended.
        results: the evidence, best first, or in line order if one document was requested; empty
        unless ``status`` is ``ok``.
        reason: the reason if degraded; else ``None``.
        dropped: number of returned results that were not shown, by reason.
        notice: a sentence for the reader, if there is something to know; else ``None``.
        nearest: proven passages below the evidence floor, best first, at most MAX_NEAREST: suggestions for
        further reading, never evidence. Empty unless ``status`` is ``no_match``.
    """

    status: Status
    results: tuple[RetrievalResult, ...] = ()
    reason: Reason | None = None
    dropped: Mapping[DropReason, int] = field(default_factory=dict)
    notice: str | None = None
    nearest: tuple[RetrievalResult, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.results) != (self.status is Status.OK):
            raise ValueError(f"{self.status} with {len(self.results)} results")
        if (self.reason is not None) != (self.status is Status.DEGRADED):
            raise ValueError(f"{self.status} with reason {self.reason}")
        if self.nearest and self.status is not Status.NO_MATCH:
            raise ValueError(f"{self.status} with {len(self.nearest)} nearest passages")

    def to_dict(self, *, nearest: bool = False) -> dict[str, object]:
        """Return the wire form: ``results``, ``status``, and ``reason``/``notice`` where present.

        With ``nearest`` also those passages, if there are any.
        """
        wire: dict[str, object] = {
            "results": [result.to_dict() for result in self.results],
            "status": self.status.value,
        }
        if self.reason is not None:
            wire["reason"] = self.reason.value
        if self.notice is not None:
            wire["notice"] = self.notice
        if nearest and self.nearest:
            wire[NEAREST] = [result.to_dict() for result in self.nearest]
        return wire


NEAREST: Final = "nearest"
MAX_NEAREST: Final = 5

TOOL_NAMES: Final = ("retrieve_knowledge", "retrieveKnowledge")
"""Names of the tool in a gateway's target; the gateway puts ``<target>___`` before it."""

TARGET_SEPARATOR: Final = "___"

MAX_TOOL_RESULTS: Final = 5
"""Maximum results for an agent or a gateway."""

MAX_FILTER_CHARACTERS: Final = 200
"""Longer than any document type or service name; a longer filter is a mistake."""
