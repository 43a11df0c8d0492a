"""The orchestrator's retrieval from the local knowledge base: the real function, in this process.

Only a knowledge base on this machine has the words to correct a question by, and can be asked again
without its filters at no cost; in AWS the function's answer is all there is.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.metadata import DOCUMENT_TYPE, SOURCE_FILE
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.response import MAX_NOTICE_CHARACTERS, read_outcome
from knowledge_rag.core.retrieval import FILTER_KEYS, SearchType
from knowledge_rag.local.action_group import ADVICE_FLOORS, local_action_group
from knowledge_rag.local.bedrock.server import LocalBedrock
from knowledge_rag.local.settings import LOCAL_TIMEOUT_SECONDS, timed_out
from knowledge_rag.local.spelling import Corrected
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
from knowledge_rag.orchestrator.retrieval import Budget, current_ids, to_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from knowledge_rag.local.knowledge_base import KnowledgeBase

    Invoke = Callable[[dict[str, Any]], dict[str, Any]]
    from knowledge_rag.core.net.deadline import Deadline
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.policy_settings import SourcePolicy
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.local.action_group import ActionGroup


GENERATED_FILTERS: Final = (DOCUMENT_TYPE,)
"""What queries are filtered on that a consultation makes of a question, and nobody typed."""

_SHOWN_CHARACTERS: Final = 60


def answered(
    knowledge_base: KnowledgeBase,
    event: Mapping[str, Any],
    invoke: Invoke,
    unexplained: Collection[str] = (),
) -> dict[str, Any]:
    """Ask the function, typing mistakes corrected; its answer's notice says what was done.

    Args:
        knowledge_base: the one that the function asks.
        event: a direct caller's.
        invoke: calls the function; returns the answer's body.
        unexplained: filters that nobody typed: a query that has one and finds nothing is not asked
            again without its filters.
    """
    asked = _corrected(knowledge_base, event)
    body = invoke({**event, "query": asked.text} if asked.meant else dict(event))
    notices = list(_of_spelling(asked, body))
    filters = {key: event[key] for key in FILTER_KEYS if event.get(key)}
    if body.get("status") == Status.NO_MATCH and filters and not filters.keys() & {*unexplained}:
        kept = {key: value for key, value in event.items() if key not in (*FILTER_KEYS, "explain")}
        without = invoke({**kept, "query": asked.text})
        notices.append(_of_filters(filters, without, event.get("max_results")))
    if not notices:
        return body
    told = "; ".join(filter(None, (body.get("notice"), *notices)))
    return {**body, "notice": _shown(told, MAX_NOTICE_CHARACTERS)}


def _corrected(knowledge_base: KnowledgeBase, event: Mapping[str, Any]) -> Corrected:
    query = event.get("query")
    # all of one document is asked for by its name: the question decides nothing but what comes first
    if not isinstance(query, str) or event.get(SOURCE_FILE):
        return Corrected(str(query))
    return knowledge_base.corrected(query)


def _of_spelling(asked: Corrected, body: Mapping[str, Any]) -> Iterator[str]:
    if asked.meant and "error" not in body:
        shown = "showing results" if body.get("results") else "searched"
        yield f"{shown} for {_quoted(asked.meant)} (you typed {_quoted(asked.typed)})"


def _of_filters(
    filters: Mapping[str, object], without: Mapping[str, Any], max_results: object
) -> str:
    named = ", ".join(f"{key}={_shown(str(value))}" for key, value in filters.items())
    those = "that filter" if len(filters) == 1 else "these filters"
    results = without.get("results")
    if not results:
        return f"nothing with {named}, nor without {those}"
    count = f"{len(results)} result{'s' if len(results) > 1 else ''}"
    if str(len(results)) == str(max_results):
        count = f"at least {count}"
    best = _shown(str(results[0]["citation"][SOURCE_FILE]), 2 * _SHOWN_CHARACTERS)
    return f"nothing with {named}; without {those}: {count}, best {best}"


def _quoted(words: Sequence[str]) -> str:
    *others, last = (f'"{word}"' for word in words)
    return f"{', '.join(others)} and {last}" if others else last


def _shown(text: str, most: int = _SHOWN_CHARACTERS) -> str:
    line = "".join(each if each.isprintable() else "?" for each in " ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 3]}..."


class LocalFunction:
    """Calls the function as a direct caller would.

    One query at a time: the function writes its records to the process's standard output, which is
    collected meanwhile. A local query takes some milliseconds, and waiting counts to the budget.

    Args:
        function: the function.
        knowledge_base: to correct typing mistakes by; ``None`` leaves queries as they are.
        unexplained: see :func:`answered`.
    """

    name = "local"

    def __init__(
        self,
        function: ActionGroup,
        knowledge_base: KnowledgeBase | None = None,
        unexplained: Collection[str] = GENERATED_FILTERS,
    ) -> None:
        self._function = function
        self._knowledge_base = knowledge_base
        self._unexplained = unexplained
        self._turn = threading.Lock()

    def prepare(self, deadline: Deadline) -> None:
        """Do nothing: all is made when the block is entered."""

    def ask(self, query: Query, deadline: Deadline) -> RetrievalOutcome:
        """Invoke it; see ``BlockingBackend``. The function has a deadline of its own."""
        if not self._turn.acquire(timeout=deadline.remaining()):
            raise DeadlineExceeded("other queries took too long")
        try:
            event = {**to_arguments(query), **current_ids()}
            if self._knowledge_base is None:
                body = self._invoke(event)
            else:
                body = answered(self._knowledge_base, event, self._invoke, self._unexplained)
        finally:
            self._turn.release()
        return read_outcome(body, max_results=query.max_results)

    def _invoke(self, event: dict[str, Any]) -> dict[str, Any]:
        return self._function.invoke(event).body

    def close(self) -> None:
        """Do nothing: the function belongs to whoever made it."""


@contextmanager
def local_retrieval(
    knowledge_base: KnowledgeBase,
    *,
    search_type: SearchType = SearchType.HYBRID,
    policy: SourcePolicy | None = None,
    budget: Budget | None = None,
    unexplained: Collection[str] = GENERATED_FILTERS,
) -> Iterator[BoundedRetrieval]:
    """Ask a local knowledge base for as long as the block runs.

    The process's environment is changed meanwhile and put back afterwards, so one block at a time.

    Args:
        knowledge_base: the one that is searched; the caller closes it.
        search_type: what the function asks for.
        policy: of sources; by default what the user's ``SOURCE_POLICY`` says.
        budget: of each query, and so of the function behind it; 30 s by default.
        unexplained: see :func:`answered`.

    Raises:
        InvalidSettings: on entering, when the policy is wrong or does not go with the search.
        ServerFailed: on entering, when the local server does not start.
        ModelUnavailable: on entering, when the embedding model can't be had.
    """
    budget = budget or Budget(LOCAL_TIMEOUT_SECONDS)
    with (
        LocalBedrock(knowledge_base) as bedrock,
        local_action_group(
            bedrock.endpoint_url,
            search_type=search_type,
            policy=policy,
            deadline_seconds=budget.working_seconds,
        ) as function,
    ):
        notice = timed_out(budget.seconds)
        retrieval = BoundedRetrieval(
            LocalFunction(function, knowledge_base, unexplained),
            budget,
            timeout_notice=notice,
            floors=ADVICE_FLOORS if search_type is SearchType.HYBRID else None,
        )
        try:
            yield retrieval
        finally:
            retrieval.close()
