"""Looks incidents up for the channel, and keeps a receipt of each answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from knowledge_rag.channel.message import message_of
from knowledge_rag.channel.receipts import receipt_of
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.incident import Incident

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.channel.message import Links, Message
    from knowledge_rag.channel.receipts import Offered
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.retrieval import Retrieval


class KeepsReceipts(Protocol):
    """A store of receipts."""

    def add(self, says: Mapping[str, Any]) -> str:
        """Store a receipt, and return its id."""


@dataclass(frozen=True, slots=True)
class Answering:
    """Looks incidents up, and stores a receipt of each answer.

    Args:
        retrieval: of the knowledge base.
        advisor: the writer; ``None`` for the documents' own lines.
        links: to cited lines.
        receipts: the store.
    """

    retrieval: Retrieval
    advisor: Advisor | None
    links: Links | None
    receipts: KeepsReceipts

    def answer(  # noqa: PLR0913 - what is asked, and what it belongs to
        self,
        incident: Incident,
        title: str,
        now: float,
        queries: tuple[Query, ...] | None = None,
        offered: Offered | None = None,
        *,
        event: str = "",
    ) -> Message:
        """Return the message for an incident, with its receipt.

        Args:
            incident: to look up.
            title: the question as asked.
            now: seconds since 1970.
            queries: to send; by default those that the incident suggests.
            offered: by an earlier answer: return this procedure.
            event: key of the event, so that no two events share a receipt.

        Raises:
            InvalidRequest: the offered procedure is gone or has changed.
        """
        advisor = self.advisor
        if offered is not None:
            incident = replace(incident, at=offered.at)
            if not offered.name:  # all steps, as in the page: neither words nor a model choose
                incident, queries, advisor = Incident(at=offered.at), None, ExtractiveAdvisor()
        asking = consult(incident, self.retrieval, advisor, queries=queries)
        consultation = asyncio.run(asking)
        if offered is not None:
            offered.check(consultation.findings)
        message = message_of(incident, consultation, self.links, title=title)
        asked_at = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        says = receipt_of(message, consultation, asked_at)
        says |= {"event": event} if event else {}
        return replace(message, receipt=self.receipts.add(says))
