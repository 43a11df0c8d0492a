"""Answers that were given of late, for who wants to read, share or export them: in memory."""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.console.limits import MAX_ANSWERS, MAX_ANSWERS_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Args:
        question: as it was asked.
        asked_at: when, ISO 8601, UTC.
        advisor: the name of who was to write.
        filters: that the reader set.
        text: the verified answer, in Markdown.
        blocks: it, rendered.
        sources: the cards of its evidence.
        recommendation: what came of it, as ``schemas/recommendation.schema.json`` describes it.
        removed: references that were taken out.
        parts: the text, cut into what was said and what was referred to, as the orchestrator tells it.
        by_model: whether a model wrote it.
    """

    question: str
    asked_at: str
    advisor: str
    filters: Mapping[str, str]
    text: str
    blocks: tuple[str, ...]
    sources: tuple[Mapping[str, Any], ...]
    recommendation: Mapping[str, Any]
    removed: tuple[Mapping[str, Any], ...] = ()
    parts: tuple[Mapping[str, Any], ...] = ()
    by_model: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form."""
        return {
            "question": self.question,
            "askedAt": self.asked_at,
            "staleAsOf": self.asked_at,
            "advisor": self.advisor,
            "filters": dict(self.filters),
            "text": self.text,
            "byModel": self.by_model,
            "blocks": list(self.blocks),
            "sources": list(self.sources),
            "recommendation": self.recommendation,
            "removed": list(self.removed),
        }


class Answers:
    """The last answers, by ids that nobody can guess; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Answer, int]] = OrderedDict()
        self._bytes = 0

    def keep(self, answer: Answer) -> str:
        """Keep an answer; give its id. The oldest ones go where there are too many."""
        key = secrets.token_urlsafe(_ID_BYTES)
        size = len(json.dumps([answer.to_dict(), answer.parts]))
        with self._lock:
            self._kept[key] = answer, size
            self._bytes += size
            while len(self._kept) > MAX_ANSWERS or self._bytes > MAX_ANSWERS_BYTES:
                _, (_, gone) = self._kept.popitem(last=False)
                self._bytes -= gone
        return key

    def sources(self, source_file: str) -> list[Mapping[str, Any]]:
        """Give the cards of a document in the answers that are kept, those of the last answer first."""
        with self._lock:
            kept = [answer for answer, _ in reversed(self._kept.values())]
        return [one for answer in kept for one in answer.sources if one["source"] == source_file]

    def get(self, key: str) -> Answer | None:
        """Give an answer; ``None`` if there is none of that id, or it is too long ago."""
        with self._lock:
            found = self._kept.get(key)
        return found[0] if found else None
