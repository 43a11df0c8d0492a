"""Asks the knowledge base itself, by Bedrock's Retrieve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core.bedrock import create_client
from knowledge_rag.core.retrieval import Retriever
from knowledge_rag.orchestrator.backends.lazily import Lazily

if TYPE_CHECKING:
    from knowledge_rag.core.bedrock import BedrockClient
    from knowledge_rag.core.net.deadline import Deadline
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query, SearchSettings


class BedrockRetrieve:
    """The core's own retriever; needs ``bedrock:Retrieve`` on the knowledge base.

    Args:
        settings: of the search: knowledge base, search type, floor, guardrail.
        region: of the knowledge base.
    """

    name = "retrieve"

    def __init__(self, settings: SearchSettings, region: str) -> None:
        self._settings = settings
        self._client: Lazily[BedrockClient] = Lazily("AWS client", lambda: create_client(region))

    def prepare(self, deadline: Deadline) -> None:
        """Make the client and load its certificates; see ``Way``."""
        self._client.get(deadline).prepare()

    def ask(self, query: Query, deadline: Deadline) -> RetrievalOutcome:
        """Search, and prove each result; see ``Way``."""
        retriever = Retriever(self._client.get(deadline).api, self._settings)
        return retriever.retrieve(query, deadline).outcome

    def close(self) -> None:
        """Close every connection."""
        client = self._client.made()
        if client is not None:
            client.close()
