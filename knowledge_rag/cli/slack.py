"""`knowledge-rag slack`."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from knowledge_rag.cli.advisors import WriterOptions
from knowledge_rag.cli.ask import RepositoryOption
from knowledge_rag.cli.backend import BackendOptions
from knowledge_rag.cli.options import JsonOption, KbOption, with_options
from knowledge_rag.core.errors import InvalidRequest, how_to_install
from knowledge_rag.local.errors import NotInstalled

if TYPE_CHECKING:
    from pathlib import Path

    from knowledge_rag.channel.message import Message
    from knowledge_rag.channel.receipts import Offered

BOT_TOKEN: Final = "SLACK_BOT_TOKEN"  # noqa: S105 - a variable's name
APP_TOKEN: Final = "SLACK_APP_TOKEN"  # noqa: S105
API_URL: Final = "SLACK_API_URL"
"""Overrides the address of Slack's API, for example for GovSlack."""

WORKERS: Final = 4
"""Concurrent events; look-ups wait for each other, posts don't."""


@with_options
def slack(
    *,
    kb: KbOption = None,
    repository_url: RepositoryOption = None,
    writers: WriterOptions,
    backend: BackendOptions,
    json: JsonOption = False,
) -> None:
    """Answer questions in Slack, until Ctrl-C.

    The app connects to Slack (Socket Mode), so it needs no public address. It answers mentions, the
    command /runbook, follow-ups that mention it in the thread of an answer, and the buttons below
    answers. Its tokens come from SLACK_BOT_TOKEN and SLACK_APP_TOKEN.
    """
    backend.check_alone(kb=kb)
    if find_spec("slack_bolt") is None:
        raise NotInstalled(f"the Slack app is missing: {how_to_install('channel')}")
    if missing := [it for it in (BOT_TOKEN, APP_TOKEN) if not os.environ.get(it)]:
        raise InvalidRequest(f"set the environment variable {' and '.join(missing)}")
    writers = writers.or_configured()
    if backend.is_local:
        writers.check_region(backend)
    _serve(kb, repository_url, writers, backend, json=json)


def _serve(
    kb: Path | None,
    repository_url: str | None,
    writers: WriterOptions,
    backend: BackendOptions,
    *,
    json: bool,
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from slack_bolt.adapter.socket_mode import SocketModeHandler
    from slack_sdk import WebClient
    from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler

    from knowledge_rag.channel.receipts import Answering, Receipts
    from knowledge_rag.channel.slack_app import Conversations, create_app
    from knowledge_rag.cli.advice import queries_of
    from knowledge_rag.cli.exits import until_stopped
    from knowledge_rag.cli.hooks import RECEIPTS_FOLDER, asked_base
    from knowledge_rag.cli.terminal import log_to_standard_error, print_address
    from knowledge_rag.core.repository_links import RepositoryLinks
    from knowledge_rag.local.settings import LocalSettings
    from knowledge_rag.orchestrator.incident import Incident

    log_to_standard_error()
    # the block below hides the user's settings
    address = os.environ.get(API_URL) or WebClient.BASE_URL
    bot_token, app_token = os.environ[BOT_TOKEN], os.environ[APP_TOKEN]
    receipts = Receipts(LocalSettings.from_environment().data_dir / RECEIPTS_FOLDER)
    given = RepositoryLinks(repository_url) if repository_url else None
    base = asked_base(kb, backend, writers)
    with until_stopped(), base as (found, advisor, links):
        answering = Answering(found.retrieval, advisor, given or links, receipts)

        def ask(question: str, offered: Offered | None) -> Message:
            incident = Incident.asked(question)
            queries = queries_of(question, incident)
            # retrieval corrects the queries itself
            incident = replace(incident, title=found.corrected(incident.title))
            return answering.answer(incident, question, time.time(), queries, offered)

        client = WebClient(bot_token, base_url=address)
        client.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=5))
        conversations = Conversations(ask, receipts, bot_token, time.time)
        workers = ThreadPoolExecutor(WORKERS, "slack")
        app = create_app(client, conversations, workers)
        print_address(found.about, address, json=json, key="slack_api_url")
        try:
            SocketModeHandler(app, app_token).start()  # type: ignore[no-untyped-call]
        finally:
            workers.shutdown(cancel_futures=True)
