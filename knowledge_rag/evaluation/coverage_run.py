"""Asks for every alert what an agent would ask, and looks for lines of the alert's own runbook."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.outcome import Status
from knowledge_rag.evaluation.coverage_runbooks import Gap, NoRunbook
from knowledge_rag.orchestrator.queries import RESULTS, build_queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.core.outcome import Reason, RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.evaluation.coverage_alerts import Alert
    from knowledge_rag.evaluation.coverage_runbooks import Runbook, Runbooks
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.orchestrator.retrieval import Retrieval

TRIES: Final = 2
"""A query that could not be searched is asked once more: a busy machine is no gap."""

INSTEAD: Final = 3
"""Citations that a message names of what was found in place of the runbook."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Where the runbook was found.

    Args:
        query: the text that found it.
        rank: of the result, 1 or more.
        citation: of the result.
    """

    query: str
    rank: int
    citation: Citation


@dataclass(frozen=True, slots=True)
class Checked:
    """One alert and what came of it: a hit, a gap, or that it could not be found out.

    Args:
        alert: the alert.
        runbook: its own, if it has one.
        hit: where it was found.
        gap: why the alert is not covered.
        message: of the gap, for people.
        reason: why it could not be found out.
        queries: what was asked.
        instead: what was found before the runbook, or in its place, in order.
    """

    alert: Alert
    runbook: Runbook | None = None
    hit: Hit | None = None
    gap: Gap | None = None
    message: str = ""
    reason: Reason | None = None
    queries: tuple[str, ...] = ()
    instead: tuple[Citation, ...] = ()


def check_all(
    alerts: Sequence[Alert],
    runbooks: Runbooks,
    retrieval: Retrieval,
    *,
    top: int = RESULTS,
    progress: Progress | None = None,
) -> tuple[Checked, ...]:
    """Check every alert, in order; a query that several have in common is asked once.

    Args:
        alerts: at least one.
        runbooks: the documents.
        retrieval: whom to ask.
        top: among how many results of a query the runbook has to be, 1..RESULTS.
        progress: called before each alert.
    """

    async def run() -> tuple[Checked, ...]:
        asking = _Asking(retrieval, top)
        checked = []
        for done, alert in enumerate(alerts):
            if progress is not None:
                progress(done, len(alerts), "asking")
            checked.append(await _checked(alert, runbooks.own(alert), asking))
        return tuple(checked)

    return asyncio.run(run())


class _Asking:
    def __init__(self, retrieval: Retrieval, top: int) -> None:
        self._retrieval = retrieval
        self._top = top
        self._known: dict[tuple[str, tuple[tuple[str, str], ...]], RetrievalOutcome] = {}

    async def outcome(self, query: Query) -> RetrievalOutcome:
        key = (query.text, tuple(sorted(query.filters.items())))
        if key not in self._known:
            for _ in range(TRIES):
                outcome = await self._retrieval.retrieve(replace(query, max_results=self._top))
                self._known[key] = outcome
                if outcome.status is not Status.DEGRADED:
                    break
        return self._known[key]


async def _checked(alert: Alert, own: Runbook | NoRunbook, asking: _Asking) -> Checked:
    if isinstance(own, NoRunbook):
        return Checked(alert, gap=own.gap, message=own.message)
    asked: list[str] = []
    found: dict[Citation, None] = {}
    reason: Reason | None = None
    for query in build_queries(alert.incident):
        asked.append(query.text)
        outcome = await asking.outcome(query)
        reason = reason or outcome.reason
        for rank, result in enumerate(outcome.results, start=1):
            if any(target.reached_by(result.citation) for target in own.targets):
                hit = Hit(query.text, rank, result.citation)
                return Checked(alert, own, hit, queries=tuple(asked), instead=tuple(found))
            found.setdefault(result.citation)
    instead = tuple(found)
    if reason is not None:  # nobody knows what that query would have found
        return Checked(alert, own, reason=reason, queries=tuple(asked), instead=instead)
    message = f"alert {alert.name} does not find {_wanted(own)}; {_instead(instead)}"
    return Checked(alert, own, None, Gap.NOT_FOUND, message, None, tuple(asked), instead)


def _wanted(own: Runbook) -> str:
    first = own.targets[0]
    lines = f", lines {first.lines[0]}-{first.lines[1]}" if first.lines else ""
    return f"{first.source_file}{lines}" + (" or the like" if len(own.targets) > 1 else "")


def _instead(citations: Sequence[Citation]) -> str:
    if not citations:
        return "nothing at all was found"
    named = [f"{c.source_file} lines {c.start_line}-{c.end_line}" for c in citations[:INSTEAD]]
    return f"found instead: {', '.join(named)}"
