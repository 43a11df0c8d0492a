"""``retrieve_knowledge``: answers one question with cited lines, or with the reason why it can't.

Every well-formed request is answered with 200 and a status. A fault of the service, of the settings
or of this code is ``degraded`` and never an exception, because an agent reads an exception as
"no documentation", which would be false.
"""

from __future__ import annotations

import gc
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import (
    DeadlineExceeded,
    InvalidRequest,
    InvalidSettings,
    RetrievalFailed,
)
from knowledge_rag.core.failures import as_failure
from knowledge_rag.core.net.deadline import DEFAULT_DEADLINE_SECONDS, Deadline
from knowledge_rag.core.outcome import Reason
from knowledge_rag.core.policy_settings import SourcePolicy
from knowledge_rag.core.retrieval import degraded
from lambdas.reporting import begin, logger
from lambdas.retrieve_knowledge import IS_IN_LAMBDA, report
from lambdas.retrieve_knowledge.events import recognise, unread
from lambdas.retrieve_knowledge.floor import READ_SECONDS
from lambdas.retrieve_knowledge.service import service

if TYPE_CHECKING:
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query, Retrieval
    from lambdas.retrieve_knowledge.events import Call
    from lambdas.retrieve_knowledge.service import Service
    from lambdas.retrieve_knowledge.settings import Settings

QUERY_LIMIT_NOTICE: Final = (
    "This turn has made all the knowledge base queries it may; answer from what they returned."
)

WARM_UP_SECONDS: Final = 5.0
"""How long the function's start waits for its client, which includes the first credentials."""

UNPROVEN_CODE: Final = "NoProvenResults"
"""Code in the log if there are results but none of them can be proven; no exception has that name."""


@dataclass(slots=True)
class _Run:
    """The state of one invocation."""

    started: float
    call: Call
    query: Query | None = None
    service: Service | None = None
    answer: dict[str, Any] | None = None

    @property
    def settings(self) -> Settings | None:
        """The settings, once they are read."""
        return self.service.settings if self.service else None


def lambda_handler(event: object, context: object) -> dict[str, Any]:
    """Answer one invocation of any form; every fault becomes an answer here.

    It raises nothing, except defects with the debug setting ``RAISE_INTERNAL_ERRORS``.

    Args:
        event: an agent's, a gateway's or a direct caller's event; see :mod:`events`.
        context: Lambda's context, of which only a gateway's client context is used; may be ``None``.
    """
    run = _Run(time.monotonic(), unread(event))
    try:
        return _serve(run, event, context)
    except Exception as error:
        end = _failed(run, RetrievalFailed(Reason.INTERNAL, code=type(error).__name__))
        with suppress(Exception):  # a report that fails must not prevent the answer
            report.defect(error)
            report.answered(run.call, run.query, end, run.started)
        if run.settings is not None and run.settings.raise_internal_errors:
            raise
        return run.call.answer(end.outcome, counted=run.query is not None)


def _serve(run: _Run, event: object, context: object) -> dict[str, Any]:
    begin()
    run.call = recognise(event, context)
    try:
        run.query = run.call.query()
    except InvalidRequest as error:
        report.refused(run.call, error)
        return run.call.refuse(error)
    end = _search(run, run.query)
    report.answered(run.call, run.query, end, run.started)
    if run.answer is not None:
        return run.answer
    return run.call.answer(end.outcome, counted=end.outcome.reason is not Reason.QUERY_LIMIT)


def _search(run: _Run, query: Query) -> report.End:
    try:
        current = _service(run)
        run.service = current
        retrieval = _ask(current, run, query)
    except RetrievalFailed as error:
        return _failed(run, error)
    except InvalidSettings as error:
        logger.error("settings are wrong", problems=str(error))
        permanent = RetrievalFailed(Reason.CONFIGURATION, code="InvalidSettings", permanent=True)
        return _failed(run, permanent)
    if problem := current.floor.new_problem():
        logger.warning(
            "evidence floor not read", problem=problem, floor=current.floor.current.value
        )
    outcome, run.answer = run.call.fitted(retrieval.outcome)
    if run.call.explain:
        run.answer |= {"explanation": _explanation(retrieval, outcome, current)}
    if retrieval.secondary_failure is not None:
        report.secondary_failed(run.call, retrieval.secondary_failure)
    code = UNPROVEN_CODE if outcome.reason is Reason.UNVERIFIABLE_RESULTS else ""
    return report.End(outcome, run.settings, retrieval.request_id, code, unread=retrieval.unread)


def _explanation(
    retrieval: Retrieval, outcome: RetrievalOutcome, current: Service
) -> dict[str, Any]:
    """Explain the order of the results, and the score threshold with the best score, above or below it."""
    evidence = {
        "floor": retrieval.evidence_floor,
        "floor_source": current.floor.current.source.value,
        "best_score": retrieval.best_score,
    }
    if retrieval.arrangement is None:
        return {"policy": SourcePolicy.OFF.value, "evidence": evidence}
    return retrieval.arrangement.to_dict(outcome.results) | {"evidence": evidence}


def _failed(run: _Run, failure: RetrievalFailed) -> report.End:
    notice = QUERY_LIMIT_NOTICE if failure.reason is Reason.QUERY_LIMIT else None
    outcome = degraded(failure.reason, notice=notice)
    return report.End(outcome, run.settings, failure.request_id, failure.code, failure.permanent)


def _service(run: _Run) -> Service:
    try:
        return service(Deadline(run.started + DEFAULT_DEADLINE_SECONDS))
    except DeadlineExceeded as error:
        raise as_failure(error) from error


def _ask(current: Service, run: _Run, query: Query) -> Retrieval:
    settings = current.settings
    if 0 < settings.max_queries_per_turn <= run.call.queries_before:
        raise RetrievalFailed(Reason.QUERY_LIMIT, code="QueryLimit")
    deadline = Deadline(run.started + settings.deadline_seconds)
    current.floor.refresh()
    with report.subsegment("Retrieve", settings.region) as span:
        retrieval = current.retriever.retrieve(query, deadline)
        span.request_id = retrieval.request_id
    return retrieval


def warm_up(seconds: float = WARM_UP_SECONDS) -> None:
    """Create the service before the first call, during Lambda's init.

    Init has more CPU and doesn't count towards the first query's time budget. Errors in the settings, or in
    creating the client, are reported by the first call, which can answer: init has 10 s, after which Lambda
    starts again.

    Args:
        seconds: maximum wait for the client.
    """
    with suppress(InvalidSettings, DeadlineExceeded):
        made = service(Deadline.after(seconds))
        made.prepare()
        if (reading := made.floor.refresh()) is not None:
            reading.over.wait(READ_SECONDS)


if IS_IN_LAMBDA:
    warm_up()
    gc.freeze()  # collections during a call needn't traverse these objects either
    gc.enable()
