"""Advisors whose answer can be followed while it is written."""

from __future__ import annotations

import asyncio
import codecs
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from knowledge_rag.orchestrator.advisors.advisor import Advisor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.orchestrator.advisors.advisor import Advice
    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.incident import Incident


class Listener(Protocol):
    """Follows an answer in the making."""

    def wrote(self, text: str, findings: Findings) -> None:
        """Take more of the answer, not verified.

        Args:
            text: what was added.
            findings: the evidence that is known until now; all of the answer may refer to it.
        """
        ...


@runtime_checkable
class LiveAdvisor(Advisor, Protocol):
    """Tells what it writes while it writes."""

    async def advise_live(
        self, incident: Incident, findings: Findings, listener: Listener
    ) -> Advice:
        """Write an answer as ``advise`` does; the listener hears nothing once this has ended.

        What it heard need not be what the answer comes to: the advice is what counts.
        """
        ...


async def advise(
    advisor: Advisor, incident: Incident, findings: Findings, listener: Listener
) -> Advice:
    """Have an advisor write, and tell the listener where the advisor knows how to."""
    if isinstance(advisor, LiveAdvisor):
        return await advisor.advise_live(incident, findings, listener)
    return await advisor.advise(incident, findings)


class Relay:
    """Carries bytes of an answer from a thread to a listener on the event loop.

    Args:
        listener: on the loop that runs where this is made.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        # one piece may end, and the next begin, within a character
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = True

    @contextmanager
    def listening(self) -> Iterator[Relay]:
        """Pass on what comes while the block runs, and nothing of a thread that was given up."""
        try:
            yield self
        finally:
            self._open = False

    def wrote(self, data: bytes, findings: Findings) -> None:
        """Take a piece of the answer; called in the thread."""
        if self._open and (text := self._decoder.decode(data)):
            self._loop.call_soon_threadsafe(self._tell, text, findings)

    def _tell(self, text: str, findings: Findings) -> None:
        if self._open:
            self._listener.wrote(text, findings)
