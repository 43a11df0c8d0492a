"""Asking the knowledge base from code that is not asynchronous, whether or not a loop runs around it."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.background import Background
from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.outcome import Reason
from knowledge_rag.core.retrieval import degraded
from knowledge_rag.orchestrator.held import HeldToItsWord
from knowledge_rag.orchestrator.retrieval import MAX_BUDGET_SECONDS

if TYPE_CHECKING:
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.retrieval import Retrieval

MAX_THREADS: Final = 32
"""Questions under way at once in a process; a way that never lets go of its thread keeps its place."""

_turns: Final = threading.BoundedSemaphore(MAX_THREADS)


def ask(
    retrieval: Retrieval, query: Query, seconds: float = MAX_BUDGET_SECONDS
) -> RetrievalOutcome:
    """Ask one question and wait for its outcome; never raises.

    It is asked on a thread with an event loop of its own: the caller's thread may have one that
    runs, and that one can't run anything while it is waited for here. So a way to the knowledge
    base must not hold on to the loop that it was first asked on; none of this product's does.

    Args:
        retrieval: whom to ask.
        query: the question.
        seconds: how long to wait, everything included, even if the loop's thread hangs.
    """
    deadline = Deadline.after(seconds)
    if not _turns.acquire(timeout=seconds):
        return degraded(Reason.TIMEOUT)
    context = contextvars.copy_context()

    def work() -> RetrievalOutcome:
        try:
            held = HeldToItsWord(retrieval, seconds)
            return context.run(asyncio.run, held.retrieve(query))
        finally:
            _turns.release()

    asking = Background("knowledge-rag-ask", work)
    try:
        asking.over.wait(deadline.remaining())
    except DeadlineExceeded:
        return degraded(Reason.TIMEOUT)
    if asking.error is not None:
        return degraded(Reason.INTERNAL)
    return asking.result or degraded(Reason.TIMEOUT)
