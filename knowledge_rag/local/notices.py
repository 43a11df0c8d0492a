"""Interprets questions as people mean them, and reports the changes in a notice.

Only a knowledge base on this machine has the words for correcting a question, and can be searched again
without its filters at no cost; in AWS there is only the function's answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.metadata import SOURCE_FILE
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.response import MAX_NOTICE_CHARACTERS
from knowledge_rag.core.retrieval import FILTER_KEYS
from knowledge_rag.local.spelling import Corrected

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from knowledge_rag.local.knowledge_base import KnowledgeBase

    Invoke = Callable[[dict[str, Any]], dict[str, Any]]

_SHOWN_CHARACTERS: Final = 60


def answered(
    knowledge_base: KnowledgeBase,
    event: Mapping[str, Any],
    invoke: Invoke,
    unexplained: Collection[str] = (),
) -> dict[str, Any]:
    """Call the function with typing mistakes corrected; the answer's notice reports the changes.

    ``event`` is a direct caller's, and ``invoke`` returns the answer's body. Nobody typed the filters in
    ``unexplained``: a query that has one and finds nothing isn't repeated without its filters.
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
    notice = "; ".join(filter(None, (body.get("notice"), *notices)))
    return {**body, "notice": _shown(notice, MAX_NOTICE_CHARACTERS)}


def _corrected(knowledge_base: KnowledgeBase, event: Mapping[str, Any]) -> Corrected:
    query = event.get("query")
    # one document is requested by its name: the question only decides the order
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
