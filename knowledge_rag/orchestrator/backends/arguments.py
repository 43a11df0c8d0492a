"""A query as the retrieval function takes it from whoever calls it directly or through a gateway."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from knowledge_rag.core import telemetry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.core.retrieval import Query

_ids: Final[ContextVar[Mapping[str, str]]] = ContextVar("ids")


def to_arguments(query: Query, *, most_results: int | None = None) -> dict[str, object]:
    """Give the flat arguments, JSON types.

    Args:
        query: the question.
        most_results: what the other side's schema allows; ``None`` for what the query asks for.
    """
    wanted = query.max_results if most_results is None else min(query.max_results, most_results)
    return {"query": query.text, "max_results": wanted, **query.filters}


@contextmanager
def on_behalf_of(*, incident_id: str = "", session_id: str = "") -> Iterator[None]:
    """Say what the block's queries are for, in this task and those that it starts.

    A function that is called directly makes it a property of its log lines and metrics, by which
    queries per incident can be counted. Other ways have no place for it.
    """
    ids = {telemetry.INCIDENT_ID: incident_id, telemetry.SESSION_ID: session_id}
    token = _ids.set({name: value for name, value in ids.items() if value})
    try:
        yield
    finally:
        _ids.reset(token)


def current_ids() -> Mapping[str, str]:
    """Give the ids that :func:`on_behalf_of` set here, by the function's names for them."""
    return _ids.get({})
