"""Ways to the knowledge base that do what a test says, and evidence to give."""

import asyncio

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, RetrievalResult, Status

NOTHING = RetrievalOutcome(Status.NO_MATCH)
DOWN = RetrievalOutcome(Status.DEGRADED, reason=Reason.UNAVAILABLE)


def result(number=1, lines=("Restart the writer.",)):
    """Give evidence that no test reads closely."""
    return RetrievalResult("\n".join(lines), Citation(f"runbooks/{number}.md", 1, len(lines)), 0.5)


def found(*results):
    return RetrievalOutcome(Status.OK, results)


class Answering:
    """Gives what a function gives for the query, or awaits it; remembers what was asked."""

    def __init__(self, answer):
        self.answer = answer if callable(answer) else lambda _: answer
        self.asked = []

    async def retrieve(self, query):
        self.asked.append(query)
        answer = self.answer(query)
        return await answer if asyncio.iscoroutine(answer) else answer


class Waiting:
    """Never answers; tells how many queries wait and how many were cancelled."""

    def __init__(self, expected=1):
        self.expected, self.waiting, self.cancelled = expected, 0, 0
        self.all_wait = asyncio.Event()

    async def retrieve(self, _query):
        self.waiting += 1
        if self.waiting == self.expected:
            self.all_wait.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
