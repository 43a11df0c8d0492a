"""Reads the body of a ``retrieve_knowledge`` response, where evidence enters another process.

Results from the network or a file are proven again: a passage's id binds its file, its lines and their
bytes together, so evidence that was altered on the way is dropped and counted. A body that contradicts
itself is refused; members that this version doesn't know are ignored, because a newer function may have
added them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import RequestRefused, UnreadableResponse
from knowledge_rag.core.metadata import (
    END_LINE,
    SECTION_HEADER,
    SHOWN_FIELDS,
    SOURCE_FILE,
    START_LINE,
    prove,
)
from knowledge_rag.core.outcome import (
    MAX_NEAREST,
    NEAREST,
    DropReason,
    Reason,
    RetrievalOutcome,
    RetrievalResult,
    Status,
)
from knowledge_rag.core.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_NOTICE_CHARACTERS: Final = 500
"""A notice is a sentence; our longest has a hundred characters."""

_SHOWN_CHARACTERS: Final = 200
_CITATION: Final = frozenset({SOURCE_FILE, START_LINE, END_LINE, SECTION_HEADER})


def read_outcome(body: object, *, max_results: int | None = None) -> RetrievalOutcome:
    """Parse a response's body into an outcome, with its results proven again.

    A result is dropped, and counted in ``dropped``, if it has no text or no citation, if text and citation
    don't match the passage's id and sha256, if its score is not a finite number, or if it repeats another
    one. An ``ok`` with no results left becomes ``degraded`` with ``unverifiable_results``. A reason that this
    version doesn't know becomes ``internal``: a newer function's outage stays an outage.

    Args:
        body: the decoded JSON of a 200: ``results``, ``status``, and ``reason`` and ``notice``
        if present, and ``nearest`` from a function that is invoked directly.
        max_results: number requested; further ones are dropped. ``None`` keeps all.

    Raises:
        RequestRefused: it is an error body, ``{"error": "..."}``: the function refused the request.
        UnreadableResponse: it isn't this function's body; the message says why.
    """
    if not isinstance(body, dict):
        raise UnreadableResponse(f"a response is a JSON object, not {_kind(body)}")
    if "error" in body:
        raise RequestRefused(_shown(body["error"]))
    status = _status(body.get("status"))
    items = body.get("results")
    if not isinstance(items, list):
        raise UnreadableResponse(f"results must be a list, not {_kind(items)}")
    if bool(items) != (status is Status.OK):
        raise UnreadableResponse(f"status {status} with {len(items)} results")
    reason, notice = _reason(body, status), _notice(body.get("notice"))
    if status is not Status.OK:
        nearest = _nearest(body.get(NEAREST)) if status is Status.NO_MATCH else ()
        return RetrievalOutcome(status, reason=reason, notice=notice, nearest=nearest)
    selection = Selection()
    proven = [_result(item) for item in items]
    selection.take(
        proven, most=len(items) if max_results is None else max_results, first=len(items)
    )
    return selection.outcome(notice=notice)


def read_json(data: bytes | str) -> Any:  # noqa: ANN401 - JSON is of any type
    """Decode JSON from outside.

    Raises:
        UnreadableResponse: it is not UTF-8, not JSON, or nested too deeply.
    """
    try:
        return json.loads(data if isinstance(data, str) else data.decode())
    except (ValueError, RecursionError) as error:
        raise UnreadableResponse(f"{len(data)} bytes that are not JSON") from error


def _nearest(items: object) -> tuple[RetrievalResult, ...]:
    """Return the nearest passages that are proven; unreadable ones are skipped."""
    proven = map(_result, items[:MAX_NEAREST]) if isinstance(items, list) else ()
    return tuple(it for it in proven if isinstance(it, RetrievalResult))


def _result(item: object) -> RetrievalResult | DropReason:
    if not isinstance(item, dict):
        return DropReason.NOT_TEXT
    citation, metadata = item.get("citation"), item.get("metadata")
    if not isinstance(citation, dict) or not isinstance(metadata, dict):
        return DropReason.NO_CITATION
    if not citation.keys() >= _CITATION:
        return DropReason.NO_CITATION
    if isinstance(citation[START_LINE], str) or isinstance(citation[END_LINE], str):
        return DropReason.NO_CITATION  # a knowledge base may store digits; this body has numbers
    # No other metadata: a context prefix, for one, was removed long before.
    known = {name: metadata[name] for name in SHOWN_FIELDS if name in metadata}
    where = {name: citation[name] for name in _CITATION}
    score = item.get("relevance_score")
    result = prove(item.get("content"), known | where, score)
    if isinstance(result, RetrievalResult) and "relevance_score" in item:
        return DropReason.NOT_PROVEN if result.relevance_score is None else result
    return result


def _status(value: object) -> Status:
    try:
        return Status(value)  # type: ignore[arg-type] # what is no text is no status either
    except ValueError as error:
        raise UnreadableResponse(
            f"status must be {', '.join(Status)}; it is {_shown(value)}"
        ) from error


def _reason(body: Mapping[str, object], status: Status) -> Reason | None:
    value = body.get("reason")
    if status is not Status.DEGRADED:
        if value is not None:
            raise UnreadableResponse(f"status {status} with a reason, {_shown(value)}")
        return None
    if not isinstance(value, str):
        raise UnreadableResponse(f"degraded for a reason that is not text, but {_kind(value)}")
    try:
        return Reason(value)
    except ValueError:
        return Reason.INTERNAL


def _notice(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_NOTICE_CHARACTERS or not value.isprintable():
        raise UnreadableResponse(
            f"notice must be one printable line of at most {MAX_NOTICE_CHARACTERS} characters"
        )
    return value


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return "nothing" if value is None else kinds.get(type(value), "a number")


def _shown(value: object) -> str:
    return repr(value[:_SHOWN_CHARACTERS]) if isinstance(value, str) else _kind(value)
