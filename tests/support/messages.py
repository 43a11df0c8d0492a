"""Messages of real consultations."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from knowledge_rag.channel.message import message_of
from knowledge_rag.orchestrator.consultation import consult
from tests.support.runbooks import Search, alert

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.channel.message import Message
    from knowledge_rag.core.repository_links import RepositoryLinks


def answered(name: str, texts: Mapping[str, str], links: RepositoryLinks | None = None) -> Message:
    """Return the message for an alert, from a search over some documents."""
    incident = alert(name)
    consultation = asyncio.run(consult(incident, Search(texts)))
    return message_of(incident, consultation, links)
