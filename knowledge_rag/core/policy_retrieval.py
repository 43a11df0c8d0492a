"""A query under a priority of sources: more is asked for, put in order, and only then cut.

The secondary scope is searched at the same time, on a thread of its own and within the same deadline.
It only adds: where it can't be searched in time, what the first search gave stays, and a notice says
what is missing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.background import Background
from knowledge_rag.core.errors import DeadlineExceeded, RetrievalFailed
from knowledge_rag.core.failures import as_failure
from knowledge_rag.core.policy import Candidate, arrange, past_notice
from knowledge_rag.core.policy_settings import PRIMARY_RESULTS, SECONDARY_RESULTS
from knowledge_rag.core.retrieval import Retrieval, retrieve_request
from knowledge_rag.core.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knowledge_rag.core.deadline import Deadline
    from knowledge_rag.core.policy_settings import SourcePriority
    from knowledge_rag.core.retrieval import Found, Query, SearchSettings

    Ask = Callable[[Mapping[str, Any], Deadline], Found]

SECONDARY_NOTICE: Final = (
    "A part of the knowledge base that is searched in addition could not be searched."
)

_MOST_KEPT: Final = 0.2
"""Seconds of the deadline that the secondary search leaves for proving what came."""
_SHARE_KEPT: Final = 0.2
"""Of a shorter deadline, this share."""


def prioritised(ask: Ask, query: Query, settings: SearchSettings, deadline: Deadline) -> Retrieval:
    """Search, prove, and put the results in the policy's order.

    Args:
        ask: carries out one Retrieve request.
        query: the question.
        settings: of the search, with a priority.
        deadline: of the whole query.

    Raises:
        RetrievalFailed: the knowledge base could not be searched, or a guardrail intervened.
    """
    priority = settings.priority
    if priority is None:
        raise ValueError("no priority of sources is set")
    selection = Selection(settings.evidence_floor, deadline)
    try:
        secondary = _Secondary.begun(ask, query, settings, deadline)
        first = ask(retrieve_request(query, settings, results=PRIMARY_RESULTS), deadline)
        selection.take(first.items, most=PRIMARY_RESULTS, first=PRIMARY_RESULTS)
    except DeadlineExceeded as error:
        raise as_failure(error) from error
    failure = secondary.added_to(selection) if secondary is not None else None
    return _arranged(selection, query, priority, first.request_id, failure)


def _arranged(
    selection: Selection,
    query: Query,
    priority: SourcePriority,
    request_id: str,
    failure: RetrievalFailed | None,
) -> Retrieval:
    candidates = [
        Candidate(result, _uri(item))
        for result, item in zip(selection.kept.values(), selection.items, strict=True)
    ]
    arrangement = arrange(candidates, query.text, priority.today())
    shown = tuple(one.result for one in arrangement.placements[: query.max_results])
    notices = [past_notice(arrangement, shown), SECONDARY_NOTICE if failure else None]
    outcome = selection.outcome(shown, " ".join(filter(None, notices)) or None)
    return Retrieval(outcome, request_id, arrangement, failure)


class _Secondary:
    """The search of the secondary scope, under way; its own deadline ends it, whoever waits or not."""

    def __init__(self, work: Background[Found], deadline: Deadline) -> None:
        self._work = work
        self._deadline = deadline

    @classmethod
    def begun(
        cls, ask: Ask, query: Query, settings: SearchSettings, deadline: Deadline
    ) -> _Secondary | None:
        """Begin it, if there is a scope."""
        scope = settings.priority.secondary_scope if settings.priority else None
        if scope is None:
            return None
        request = retrieve_request(query, settings, results=SECONDARY_RESULTS, scope=scope)
        kept = min(_MOST_KEPT, deadline.remaining() * _SHARE_KEPT)
        own = replace(deadline, at=deadline.at - kept)
        return cls(Background("secondary scope", lambda: ask(request, own)), own)

    def added_to(self, selection: Selection) -> RetrievalFailed | None:
        """Wait for what it finds and add that; give why, where it failed or takes too long."""
        with suppress(DeadlineExceeded):  # it may have ended before
            self._work.over.wait(self._deadline.remaining())
        if not self._work.over.is_set():
            return as_failure(DeadlineExceeded("the secondary scope took too long"))
        if isinstance(self._work.error, RetrievalFailed):
            return self._work.error
        if self._work.error is not None:
            raise self._work.error
        found = self._work.result.items if self._work.result else []
        try:
            most = PRIMARY_RESULTS + SECONDARY_RESULTS
            selection.take(found, most=most, first=SECONDARY_RESULTS)
        except DeadlineExceeded as error:  # what has been proven stays
            return as_failure(error)
        return None


def _uri(item: object) -> str:
    location = item.get("location") if isinstance(item, dict) else None
    stored = location.get("s3Location") if isinstance(location, dict) else None
    uri = stored.get("uri") if isinstance(stored, dict) else None
    return uri if isinstance(uri, str) else ""
