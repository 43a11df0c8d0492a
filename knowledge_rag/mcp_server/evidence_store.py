"""What ``retrieve_knowledge`` gave to whom: the only evidence that ``verify_citations`` takes.

A model calls both tools, so nothing that it hands in may count: hashes are no signatures, and it
could write a passage together with its hash. It can name searches of this server, by ids that no one
can guess; or leave that out, which means all of its own session's.
"""

from __future__ import annotations

import secrets
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowledge_rag.core.outcome import RetrievalOutcome

MAX_SEARCHES: Final = 512
"""That are remembered, of all sessions; at MAX_GATEWAY_RESPONSE_BYTES each, some 50 MB at most."""

MAX_SESSION_SEARCHES: Final = 64
"""That are remembered of one session, so that none takes the place of all others."""

MAX_SESSIONS: Final = 4_096
"""Of which it is remembered how often they searched."""

_ID_BYTES: Final = 12
_SHOWN_CHARACTERS: Final = 60


def unguessable_id() -> str:
    """Return the id of a search: 96 random bits."""
    return f"ev-{secrets.token_hex(_ID_BYTES)}"


@dataclass(slots=True)
class _Search:
    session: str | None
    outcome: RetrievalOutcome | None = None


class EvidenceStore:
    """Remembers the latest searches; for one event loop, without locks."""

    def __init__(
        self,
        *,
        max_searches: int = MAX_SEARCHES,
        max_session_searches: int = MAX_SESSION_SEARCHES,
        new_id: Callable[[], str] = unguessable_id,
    ) -> None:
        self._max_searches = max_searches
        self._max_session_searches = max_session_searches
        self._new_id = new_id
        self._searches: OrderedDict[str, _Search] = OrderedDict()
        self._forgetful: OrderedDict[str, None] = OrderedDict()

    def begin(self, session: str | None) -> str:
        """Reserve a place for a search, in the order of asking: numbers in an answer count by it.

        Returns:
            The search's id.
        """
        evidence_id = self._new_id()
        self._searches[evidence_id] = _Search(session)
        self._make_room(session)
        return evidence_id

    def finish(self, evidence_id: str, outcome: RetrievalOutcome) -> None:
        """Remember what a search gave."""
        if (search := self._searches.get(evidence_id)) is not None:
            search.outcome = outcome

    def abandon(self, evidence_id: str) -> None:
        """Forget a search that gave nothing to anyone: its caller has gone."""
        search = self._searches.get(evidence_id)
        if search is not None and search.outcome is None:
            del self._searches[evidence_id]

    def named(self, evidence_ids: Sequence[str]) -> tuple[RetrievalOutcome, ...]:
        """Return what some searches gave, each once, in the order of their names.

        Raises:
            InvalidRequest: one is unknown, or forgotten by now.
        """
        found = []
        for evidence_id in dict.fromkeys(evidence_ids):
            search = self._searches.get(evidence_id)
            if search is None or search.outcome is None:
                raise InvalidRequest(
                    f"there is no evidence {evidence_id[:_SHOWN_CHARACTERS]!a}: either no search gave "
                    f"it, or it is forgotten (the latest {self._max_session_searches} searches of a "
                    "session are kept); search again"
                )
            found.append(search.outcome)
        return tuple(found)

    def of_session(self, session: str) -> tuple[RetrievalOutcome, ...]:
        """Return what all searches of a session gave, in the order of asking.

        Raises:
            InvalidRequest: some are forgotten, so that numbers would refer to other sources.
        """
        if session in self._forgetful:
            raise InvalidRequest(
                "this session made more searches than are kept: name those that the answer is "
                "based on by evidence_ids"
            )
        mine = (search for search in self._searches.values() if search.session == session)
        return tuple(search.outcome for search in mine if search.outcome is not None)

    def _make_room(self, session: str | None) -> None:
        if session is not None:
            mine = [key for key, search in self._searches.items() if search.session == session]
            for key in mine[: -self._max_session_searches]:
                self._forget(key)
        while len(self._searches) > self._max_searches:
            self._forget(next(iter(self._searches)))

    def _forget(self, evidence_id: str) -> None:
        session = self._searches.pop(evidence_id).session
        if session is None:
            return
        self._forgetful[session] = None
        self._forgetful.move_to_end(session)
        if len(self._forgetful) > MAX_SESSIONS:
            self._forgetful.popitem(last=False)


def reasons_in(outcomes: Sequence[RetrievalOutcome]) -> dict[str, int]:
    """Count why searches could not be carried out."""
    return dict(Counter(one.reason.value for one in outcomes if one.reason is not None))
