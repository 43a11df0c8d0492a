"""From an incident to a recommendation: ask, let someone write, verify; one way for every caller."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from knowledge_rag.core import telemetry
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.guardrails.log import log_warnings
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator.advisors.extractive import ExtractiveAdvisor
from knowledge_rag.orchestrator.advisors.live import advise
from knowledge_rag.orchestrator.backends.arguments import current_ids, on_behalf_of
from knowledge_rag.orchestrator.composition import compose, state, without_advice
from knowledge_rag.orchestrator.errors import AdviceFailed
from knowledge_rag.orchestrator.findings import Asked, Findings
from knowledge_rag.orchestrator.followed import Followed
from knowledge_rag.orchestrator.held import HeldToItsWord, is_cancelled, tell_of
from knowledge_rag.orchestrator.planning import (
    COMPLETION_RESULTS,
    completion,
    documents_elsewhere,
    documents_to_complete,
    plan_of,
)
from knowledge_rag.orchestrator.queries import build_queries
from knowledge_rag.orchestrator.retrieval import gather
from knowledge_rag.orchestrator.telling import Teller

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.guardrails.verify import Verified
    from knowledge_rag.orchestrator.advisors.advisor import Advice, Advisor
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.planning import Floors, Plan
    from knowledge_rag.orchestrator.recommendation import Recommendation
    from knowledge_rag.orchestrator.retrieval import Retrieval
    from knowledge_rag.orchestrator.telling import Notify

MAX_ALERTS: Final = 10
"""Alerts of a group that are looked up; the others are named as not looked up."""

_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Consultation:
    """What a consultation gave.

    Args:
        recommendation: what to do, every citation of it from the evidence.
        findings: the evidence that it rests on.
        advice: the answer as its advisor wrote it; ``None`` where nobody had to.
        verified: the answer as it may be shown, and what was taken out of it; likewise.
    """

    recommendation: Recommendation
    findings: Findings
    advice: Advice | None = None
    verified: Verified | None = None


async def consult(
    incident: Incident,
    retrieval: Retrieval,
    advisor: Advisor | None = None,
    *,
    queries: tuple[Query, ...] | None = None,
    notify: Notify | None = None,
) -> Consultation:
    """Return a recommendation for an incident.

    Args:
        incident: what is known.
        retrieval: the way to the knowledge base, whoever wrote it; asked even if the advisor searches
            itself, so that another can write in its place.
        advisor: who writes; by default the one without a model. Where it fails, nobody does: wrap
            it in a fallback to have it replaced.
        queries: what to ask; by default what the incident suggests.
        notify: is told of each stage, see :mod:`knowledge_rag.orchestrator.telling`.
    """
    findings = await look_up(incident, retrieval, queries=queries, notify=notify)
    return await advise_on(incident, findings, advisor, notify=notify)


async def look_up(
    incident: Incident,
    retrieval: Retrieval,
    *,
    queries: tuple[Query, ...] | None = None,
    notify: Notify | None = None,
) -> Findings:
    """Ask, complete the documents that procedures stand in, and choose the procedures.

    The queries go out side by side, then the completions, at most MAX_COMPLETED for each alert; each has the
    budget of a query. Of the completions only what a procedure needs is kept.

    Args:
        incident: what is known; the alerts of a group are asked for one by one.
        retrieval: the way to the knowledge base.
        queries: what to ask; by default what the incident suggests.
        notify: is told of each stage.
    """
    teller = Teller(notify)
    floors = getattr(retrieval, "floors", None)
    asked = [(it, "") for it in queries] if queries is not None else list(_queries(incident))
    teller.searching(tuple(query for query, _ in asked))
    held = HeldToItsWord(retrieval)
    with _named(incident):
        outcomes = await gather([query for query, _ in asked], held)
        found = [
            Asked(query, outcome, alert)
            for (query, alert), outcome in zip(asked, outcomes, strict=True)
        ]
        findings = Findings(tuple(found))
        for choose in (_first, documents_elsewhere):
            if files := choose(incident, findings):
                findings = await _completed(incident, findings, files, held, floors)
    plan = findings.plan or plan_of(incident, findings, floors)
    kept = tuple(map(partial(_needed, plan=plan), findings.completions))
    findings = replace(findings, completions=kept, plan=plan)
    teller.found(findings)
    return findings


def _first(incident: Incident, findings: Findings) -> list[str]:
    return documents_to_complete(incident, findings.asked)


async def _completed(
    incident: Incident,
    findings: Findings,
    files: Sequence[str],
    retrieval: Retrieval,
    floors: Floors | None,
) -> Findings:
    """Fetch the rest of documents side by side, and choose the procedures again."""
    wanted = [completion(incident, it) for it in files]
    rest = await gather(wanted, retrieval, max_results=COMPLETION_RESULTS)
    findings = replace(findings, completions=(*findings.completions, *map(Asked, wanted, rest)))
    return replace(findings, plan=plan_of(incident, findings, floors))


def _queries(incident: Incident) -> Iterator[tuple[Query, str]]:
    """Yield the queries of an incident; of a group, the first one of each alert, with its name."""
    if not incident.is_group:
        yield from ((query, "") for query in build_queries(incident))
        return
    for member in incident.alerts[:MAX_ALERTS]:
        yield from ((query, member.alert_name) for query in build_queries(member)[:1])


def _needed(asked: Asked, plan: Plan) -> Asked:
    """Return a completion with the passages that a procedure needs."""
    results = tuple(it for it in asked.outcome.results if plan.needs(it.citation))
    return (
        replace(asked, outcome=replace(asked.outcome, results=results))
        if results
        else replace(asked, outcome=RetrievalOutcome(Status.NO_MATCH))
    )


async def advise_on(
    incident: Incident,
    findings: Findings,
    advisor: Advisor | None = None,
    *,
    notify: Notify | None = None,
) -> Consultation:
    """Have an advisor write from what was found.

    Args:
        incident: what is known.
        findings: of :func:`look_up`.
        advisor: who writes; by default the one without a model.
        notify: is told of each stage.
    """
    teller = Teller(notify)
    followed = Followed(teller, findings)
    given = await _written(incident, findings, advisor or ExtractiveAdvisor(), followed)
    followed.settle(given.findings, given.recommendation, given.verified)
    teller.done(given.recommendation)
    return given


def _named(incident: Incident) -> AbstractContextManager[None]:
    """Name the incident to the function, whose queries are counted by it; what is named already stays."""
    named = current_ids()
    return on_behalf_of(
        incident_id=incident.incident_id or named.get(telemetry.INCIDENT_ID, ""),
        session_id=named.get(telemetry.SESSION_ID, ""),
    )


async def _written(
    incident: Incident, findings: Findings, advisor: Advisor, followed: Followed
) -> Consultation:
    try:
        advice = await advise(advisor, incident, findings, followed)
        if advice.text is None:
            given = state(incident, advice.findings, advice.advisor)
            return Consultation(given, advice.findings, advice)
        verified = verify(advice.text, advice.findings.ledger)
        log_warnings(verified.warnings)
        given = compose(incident, verified, advice.findings, advice.advisor)
        return Consultation(given, advice.findings, advice, verified)
    except AdviceFailed as error:
        _logger.warning("reason=%s | no advice", neutralise(error.reason))
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        tell_of(error, "advisor raised")
    except Exception as error:  # noqa: BLE001 - what was found must not be lost with what was written
        tell_of(error, "advisor raised")
    return Consultation(without_advice(incident, findings), findings)
