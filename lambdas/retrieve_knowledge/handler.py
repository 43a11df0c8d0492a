"""``retrieve_knowledge``: answers one question with cited lines, or says honestly why not.

Every well-formed request is answered with 200 and a status; a fault of the service, of the settings
or of this code is ``degraded`` and never an exception, because an agent turns an exception into
"no documentation", which would be false.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.deadline import Deadline
from knowledge_rag.core.errors import InvalidRequest, InvalidSettings, RetrievalFailed
from knowledge_rag.core.outcome import Reason
from knowledge_rag.core.retrieval import Retrieval, degraded
from knowledge_rag.core.tracing import subsegment
from lambdas.retrieve_knowledge import report
from lambdas.retrieve_knowledge.events import recognise
from lambdas.retrieve_knowledge.service import service

if TYPE_CHECKING:
    from knowledge_rag.core.retrieval import Query
    from lambdas.retrieve_knowledge.events import Call
    from lambdas.retrieve_knowledge.service import Service

QUERY_LIMIT_NOTICE: Final = (
    "This turn has made all the knowledge base queries it may; answer from what they returned."
)


def lambda_handler(event: object, context: object) -> dict[str, Any]:
    """Answer one invocation of any shape.

    Args:
        event: an agent's, a gateway's or a direct caller's; see :mod:`events`.
        context: Lambda's; only a gateway's client context is looked at, so ``None`` will do.

    Returns:
        The answer in the caller's form. It is never an exception, save for a defect under the
        debug setting ``RAISE_INTERNAL_ERRORS``.
    """
    started = time.monotonic()
    call = recognise(event, context)
    try:
        query = call.query()
    except InvalidRequest as error:
        report.refused(call, error)
        return call.refuse(error)
    end = _search(call, query, started)
    report.answered(call, query, end, (time.monotonic() - started) * 1000)
    outcome = end.outcome
    return call.answer(outcome, counted=outcome.reason is not Reason.QUERY_LIMIT)


def _search(call: Call, query: Query, started: float) -> report.End:
    """Carry the query out; this is where every fault becomes an answer."""
    settings = None
    try:
        current = service()
        settings = current.settings
        retrieval = _ask(current, call, query, Deadline(started + settings.deadline_seconds))
    except RetrievalFailed as error:
        failure = error
    except InvalidSettings as error:
        report.misconfigured(error)
        failure = RetrievalFailed(Reason.CONFIGURATION, code="InvalidSettings", permanent=True)
    except Exception as error:
        report.defect(error, query)
        if settings is not None and settings.raise_internal_errors:
            raise
        failure = RetrievalFailed(Reason.INTERNAL, code=type(error).__name__)
    else:
        return report.End(retrieval.outcome, settings, retrieval.request_id)
    notice = QUERY_LIMIT_NOTICE if failure.reason is Reason.QUERY_LIMIT else None
    outcome = degraded(failure.reason, notice=notice)
    return report.End(outcome, settings, failure.request_id, failure.code, failure.permanent)


def _ask(current: Service, call: Call, query: Query, deadline: Deadline) -> Retrieval:
    most = current.settings.max_queries_per_turn
    if most and call.queries_before >= most:
        raise RetrievalFailed(Reason.QUERY_LIMIT, code="QueryLimit")
    with subsegment("Retrieve", current.settings.region) as span:
        retrieval = current.retriever.retrieve(query, deadline)
        span.request_id = retrieval.request_id
    return Retrieval(call.fitting(retrieval.outcome), retrieval.request_id)


def _warm_up() -> None:
    # Lambda's init has more CPU and does not count towards the first query's budget. What is wrong
    # with the settings is said at the first call, when there is somebody to answer.
    with suppress(InvalidSettings):
        service().client.prepare()


if "AWS_LAMBDA_INITIALIZATION_TYPE" in os.environ:
    _warm_up()
