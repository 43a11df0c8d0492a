"""Connects the Slack app to a knowledge base, for `knowledge-rag slack`."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler

from knowledge_rag.channel.message import message_of
from knowledge_rag.channel.receipts import Receipts, receipt_of
from knowledge_rag.channel.slack_app import Conversations, create_app
from knowledge_rag.cli.advice import queries_of
from knowledge_rag.cli.exits import until_stopped
from knowledge_rag.cli.hooks import RECEIPTS_FOLDER, asked_base, iso_utc
from knowledge_rag.cli.terminal import log_to_standard_error, print_address
from knowledge_rag.local.settings import LocalSettings
from knowledge_rag.local.source_links import RepositoryLinks
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.pager_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knowledge_rag.channel.message import Message
    from knowledge_rag.cli.backend import BackendOptions
    from knowledge_rag.orchestrator.advisors.advisor import Advisor


API_URL: Final = "SLACK_API_URL"
"""Another address of Slack's API, as GovSlack has."""


@dataclass(frozen=True, slots=True)
class SlackOptions:
    """How the app answers.

    Args:
        repository_url: template of links to lines; ``None`` as ingest found it.
        json: whether the addresses are printed as JSON.
    """

    repository_url: str | None = None
    json: bool = False


def serve_slack(
    kb: Path | None,
    backend: BackendOptions,
    advisor: Callable[[str], Advisor],
    tokens: tuple[str, str],
    options: SlackOptions,
) -> None:
    """Answer questions in Slack until Ctrl-C.

    Args:
        kb: the knowledge base; ``None`` for the usual one.
        backend: or what is deployed.
        advisor: returns who writes, given the deployed agent.
        tokens: of the bot and of the app.
        options: how it answers.
    """
    log_to_standard_error()
    # the block below hides the user's settings
    address = os.environ.get(API_URL) or WebClient.BASE_URL
    receipts = Receipts(LocalSettings.from_environment().data_dir / RECEIPTS_FOLDER)
    url = options.repository_url
    given = RepositoryLinks(url) if url else None
    with until_stopped(), asked_base(kb, backend) as (retrieval, agent, corrected, found, about):
        writes, links = advisor(agent), given or found

        def ask(question: str) -> Message:
            incident = Incident(title=corrected(one_line(question) or ""))
            queries = queries_of(question, incident)
            consultation = asyncio.run(consult(incident, retrieval, writes, queries=queries))
            message = message_of(incident, consultation, links, title=question)
            receipt = receipt_of(message, consultation, iso_utc(time.time()))
            return replace(message, receipt=receipts.add(receipt))

        client = WebClient(tokens[0], base_url=address)
        client.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=5))
        app = create_app(client, Conversations(ask))
        print_address(about, address, json=options.json, key="slack_api_url")
        SocketModeHandler(app, tokens[1]).start()  # type: ignore[no-untyped-call]
