"""From an incident to a recommendation: ask, let someone write, verify; one way for every caller."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core import telemetry
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.guardrails.log import log_warnings
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator.advisors.extractive import ExtractiveAdvisor
from knowledge_rag.orchestrator.advisors.live import advise
from knowledge_rag.orchestrator.backends.arguments import current_ids, on_behalf_of
from knowledge_rag.orchestrator.composition import compose, without_advice
from knowledge_rag.orchestrator.errors import AdviceFailed
from knowledge_rag.orchestrator.findings import Asked, Findings
from knowledge_rag.orchestrator.followed import Followed
from knowledge_rag.orchestrator.held import HeldToItsWord, is_cancelled, tell_of
from knowledge_rag.orchestrator.queries import build_queries
from knowledge_rag.orchestrator.retrieval import gather
from knowledge_rag.orchestrator.telling import Teller

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.guardrails.verify import Verified
    from knowledge_rag.orchestrator.advisors.advisor import Advice, Advisor
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.recommendation import Recommendation
    from knowledge_rag.orchestrator.retrieval import Retrieval
    from knowledge_rag.orchestrator.telling import Notify

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
    """Give a recommendation for an incident.

    Args:
        incident: what is known.
        retrieval: the way to the knowledge base, whoever wrote it; asked even if the advisor searches
            itself, so that another can write in its place.
        advisor: who writes; by default the one without a model. Where it fails, nobody does: wrap
            it in a fallback to have it replaced.
        queries: what to ask; by default what the incident suggests.
        notify: is told of each stage, see :mod:`knowledge_rag.orchestrator.telling`.
    """
    teller = Teller(notify)
    asked = build_queries(incident) if queries is None else queries
    teller.searching(asked)
    with _named(incident):
        outcomes = await gather(asked, HeldToItsWord(retrieval))
    findings = Findings(tuple(map(Asked, asked, outcomes)))
    teller.found(findings)
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
