"""Stores the searches of each session: the only evidence that ``verify_citations`` accepts.

A model calls both tools, so evidence from its arguments doesn't count: it could write a passage together with its hash.
It can name searches by their unguessable ids, or omit them, which means all searches of its own session.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.outcome import RetrievalOutcome

MAX_SEARCHES: Final = 512
"""Maximum searches to store for all sessions; at MAX_GATEWAY_RESPONSE_BYTES each, about 50 MB."""

MAX_SESSION_SEARCHES: Final = 64
"""Maximum searches to store for one session, so that none displaces all others."""

MAX_SESSIONS: Final = 4_096
"""Maximum sessions to remember whose searches were dropped."""


def unguessable_id() -> str:
    """Return an id for a search: 96 random bits."""
    return f"ev-{secrets.token_hex(12)}"


@dataclass(slots=True)
class _Search:
    session: str | None
    outcome: RetrievalOutcome | None = None


class EvidenceStore:
    """Stores the latest searches; for one event loop, without locks."""

    def __init__(self) -> None:
        self._searches: OrderedDict[str, _Search] = OrderedDict()
        self._lost: OrderedDict[str, None] = OrderedDict()  # sessions with dropped searches

    def begin(self, session: str | None) -> str:
        """Reserve a place for a search: an answer numbers its sources in the order of the requests.

        Returns:
            The search's id.
        """
        evidence_id = unguessable_id()
        self._searches[evidence_id] = _Search(session)
        if session is not None:
            mine = [key for key, search in self._searches.items() if search.session == session]
            for key in mine[:-MAX_SESSION_SEARCHES]:
                self._drop(key)
        while len(self._searches) > MAX_SEARCHES:
            self._drop(next(iter(self._searches)))
        return evidence_id

    def finish(self, evidence_id: str, outcome: RetrievalOutcome) -> None:
        """Store the outcome of a search."""
        if (search := self._searches.get(evidence_id)) is not None:
            search.outcome = outcome

    def abandon(self, evidence_id: str) -> None:
        """Drop a search if it has no outcome: its caller has gone."""
        search = self._searches.get(evidence_id)
        if search is not None and search.outcome is None:
            del self._searches[evidence_id]

    def named(self, evidence_ids: Sequence[str]) -> tuple[RetrievalOutcome, ...]:
        """Return the outcomes of searches, without duplicates, in the order of the ids.

        Raises:
            InvalidRequest: an id is unknown, or its search was dropped.
        """
        found = []
        for evidence_id in dict.fromkeys(evidence_ids):
            search = self._searches.get(evidence_id)
            if search is None or search.outcome is None:
                raise InvalidRequest(
                    f"there is no evidence {evidence_id[:60]!a}: either no search returned it, or it was "
                    f"dropped (only the latest {MAX_SESSION_SEARCHES} searches of a session are "
                    "stored); search again"
                )
            found.append(search.outcome)
        return tuple(found)

    def of_session(self, session: str) -> tuple[RetrievalOutcome, ...]:
        """Return the outcomes of all searches of a session, in the order of the requests.

        Raises:
            InvalidRequest: some were dropped, so that numbers would refer to other sources.
        """
        if session in self._lost:
            raise InvalidRequest(
                "this session made more searches than are stored: name those that the answer is "
                "based on in evidence_ids"
            )
        mine = (search for search in self._searches.values() if search.session == session)
        return tuple(search.outcome for search in mine if search.outcome is not None)

    def _drop(self, evidence_id: str) -> None:
        session = self._searches.pop(evidence_id).session
        if session is None:
            return
        self._lost[session] = None
        self._lost.move_to_end(session)
        if len(self._lost) > MAX_SESSIONS:
            self._lost.popitem(last=False)
