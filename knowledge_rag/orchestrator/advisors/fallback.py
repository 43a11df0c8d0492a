"""An advisor with a substitute for its failures; a note says which of them wrote the answer."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import degraded
from knowledge_rag.guardrails.review import review
from knowledge_rag.orchestrator.advisors.advisor import Advice, ExtractiveAdvisor, advise
from knowledge_rag.orchestrator.advisors.calls import as_model_failure
from knowledge_rag.orchestrator.errors import ModelFailed, NotAsked
from knowledge_rag.orchestrator.queries import build_queries
from knowledge_rag.orchestrator.recommendation import Shortfall
from knowledge_rag.orchestrator.retrieval import Asked, Findings, is_cancelled, log_defect
from knowledge_rag.orchestrator.written import recommend

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from knowledge_rag.orchestrator.advisors.advisor import Advisor, Listener
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.recommendation import Recommendation

_NOT_REACHED: Final = frozenset(
    {
        Reason.TIMEOUT,
        Reason.THROTTLED,
        Reason.UNAVAILABLE,
        Reason.ACCESS_DENIED,
        Reason.CONFIGURATION,
    }
)

DOUBTED_NOTE: Final = (
    "The model found nothing documented for this in the retrieved lines: these steps are quoted from"
    " lines about it, so check that they fit."
)

_logger = logging.getLogger(__name__)


class FallbackAdvisor:
    """Uses a substitute if the primary advisor fails, or says less than the retrieved lines do.

    The substitute is the advisor without a model. It also replaces a "nothing documented" for which it has guidance.

    Args:
        primary: the model or agent.
        strict: whether it also replaces an answer in which verification finds an error: for answers that are posted
            without anybody having asked, where a warning beside a wrong step is not enough.

    Attributes:
        unable: why the primary advisor can't write at all; ``""`` if it can.
    """

    def __init__(self, primary: Advisor, *, strict: bool = False) -> None:
        self._primary = primary
        self._strict = strict
        self._substitute = ExtractiveAdvisor()
        self.unable = str(getattr(primary, "unable", ""))

    async def advise(self, incident: Incident, findings: Findings) -> Advice:
        """Write an answer; a note in its findings says if the substitute wrote it.

        Raises:
            AdviceFailed: the substitute failed.
        """
        return await self._advised(self._primary.advise(incident, findings), incident, findings)

    async def advise_live(
        self, incident: Incident, findings: Findings, listener: Listener
    ) -> Advice:
        """Do the same, and stream the primary advisor's answer."""
        writing = advise(self._primary, incident, findings, listener)
        return await self._advised(writing, incident, findings)

    async def _advised(
        self, writing: Awaitable[Advice], incident: Incident, findings: Findings
    ) -> Advice:
        try:
            advice = await writing
            given = _checked(incident, findings, advice, strict=self._strict)
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            log_defect(error, "advisor raised")
            failure = ModelFailed(Reason.INTERNAL, type(error).__name__)
        except Exception as error:  # noqa: BLE001 - the substitute writes instead
            failure = as_model_failure(error)
        else:
            if given.status is Status.NO_MATCH:
                return await self._doubted(incident, advice)
            return advice
        _logger.warning("reason=%s | advisor failed, another one writes", failure.reason)
        evidence = _evidence(incident, findings, failure)
        instead = await self._substitute.advise(incident, evidence)
        has_steps = bool(recommend(incident, instead).guidance)
        findings = replace(instead.findings, notes=(note_of(failure, has_steps=has_steps),))
        return Advice(instead.text, findings, instead.advisor)

    async def _doubted(self, incident: Incident, advice: Advice) -> Advice:
        """Use the substitute's guidance if the primary advisor says that there is none.

        A wrong "nothing documented" ends the reader's search; lines that don't fit only cost a look.
        """
        instead = await self._substitute.advise(incident, advice.findings)
        if not recommend(incident, instead).guidance:
            return advice
        _logger.warning(
            "advisor=%s | the advisor found nothing documented, but the retrieved lines have steps",
            advice.advisor,
        )
        return Advice(
            instead.text, replace(instead.findings, notes=(DOUBTED_NOTE,)), instead.advisor
        )


def note_of(failure: ModelFailed, *, has_steps: bool) -> str:
    """Return the note that says why the substitute wrote."""
    if isinstance(failure, NotAsked):
        happened = f"{failure.said[:1].upper()}{failure.said[1:]}"
    elif failure.found.asked and failure.found.status is Status.NO_MATCH:
        happened = "The model's own search found nothing"
    elif failure.cause in _NOT_REACHED and not failure.found.asked:
        happened = f"The model could not be reached ({failure.cause})"
    else:
        happened = f"The model returned no usable answer ({failure.cause})"
    if has_steps:
        return f"{happened}: these steps are quoted from the retrieved lines."
    return f"{happened}."


def _checked(
    incident: Incident, findings: Findings, advice: Advice, *, strict: bool
) -> Recommendation:
    """Return the recommendation of an answer.

    Raises:
        ModelFailed: an advisor that searches itself found nothing although there is evidence, none of
            its steps cites any, or verification finds an error and ``strict`` is set.
    """
    found = advice.findings
    if findings.status is Status.OK and found.status is not Status.OK:
        cause = found.failures[0] if found.failures else Reason.UNVERIFIABLE_RESULTS
        raise ModelFailed(cause, "its own search returned no evidence, but another one did", found)
    given = recommend(incident, advice)
    if given.reason is Shortfall.UNVERIFIED_ADVICE:
        detail = "no step of the answer cites what was retrieved"
        raise ModelFailed(Reason.UNVERIFIABLE_RESULTS, detail, found)
    if strict and advice.text is not None:
        errors = review(advice.text, found.ledger, failed=found.failures).errors
        if errors:
            kinds = ", ".join(dict.fromkeys(it.rule for it in errors))
            raise ModelFailed(Reason.UNVERIFIABLE_RESULTS, f"verification finds {kinds}", found)
    return given


def _evidence(incident: Incident, findings: Findings, failure: ModelFailed) -> Findings:
    """Return the findings with evidence, else those of a search that ran.

    Without any search, the incident's queries count as failed for the primary advisor's reason.
    """
    searched = [it for it in (findings, failure.found) if it.asked]
    for status in Status:  # ok, no_match, degraded
        for one in searched:
            if one.status is status:
                return one
    outcome = degraded(failure.cause)
    return Findings(tuple(Asked(query, outcome) for query in build_queries(incident)))
