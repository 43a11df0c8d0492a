"""What the function keeps between calls: settings, client, retriever."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from knowledge_rag.core.bedrock import create_client
from knowledge_rag.core.retrieval import Retriever
from lambdas.retrieve_knowledge.settings import load_settings

if TYPE_CHECKING:
    from knowledge_rag.core.bedrock import BedrockClient
    from lambdas.retrieve_knowledge.settings import Settings


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that a call needs and that outlives it."""

    settings: Settings
    client: BedrockClient
    retriever: Retriever


@lru_cache(maxsize=1)
def service() -> Service:
    """Give the process's service, made on first use from the environment.

    Raises:
        InvalidSettings: the environment is wrong; nothing is kept, so the next call says so again.
    """
    settings = load_settings(os.environ)
    client = create_client(settings.region)
    return Service(settings, client, Retriever(client.api, settings.search))


def reset() -> None:
    """Close the service, if there is one; the next call makes another from the environment."""
    if service.cache_info().currsize:
        service().client.close()
    service.cache_clear()
