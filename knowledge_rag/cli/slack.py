"""`knowledge-rag slack`."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Annotated, Final

import typer

from knowledge_rag.cli.ask import ModelIdOption, ModelOption, RepositoryOption
from knowledge_rag.cli.backend import (
    BackendOptions,
    FunctionOption,
    GatewayOption,
    KnowledgeBaseOption,
    StackOption,
)
from knowledge_rag.cli.options import JsonOption, KbOption, RegionOption, TimeoutOption

BOT_TOKEN: Final = "SLACK_BOT_TOKEN"  # noqa: S105 - a variable's name
APP_TOKEN: Final = "SLACK_APP_TOKEN"  # noqa: S105
AgentOption = Annotated[
    str | None,
    typer.Option(metavar="ID/ALIAS", help="Bedrock agent that writes, and its alias."),
]


def slack(
    kb: KbOption = None,
    repository_url: RepositoryOption = None,
    model: ModelOption = None,
    model_id: ModelIdOption = None,
    agent: AgentOption = None,
    stack: StackOption = None,
    function: FunctionOption = None,
    knowledge_base: KnowledgeBaseOption = None,
    gateway: GatewayOption = None,
    region: RegionOption = None,
    timeout: TimeoutOption = None,
    json: JsonOption = False,
) -> None:
    """Answer questions in Slack, until Ctrl-C.

    The app connects to Slack (Socket Mode), so it needs no public address. It answers mentions, the
    command /runbook, and follow-ups that mention it in the thread of an answer. Its tokens come from
    SLACK_BOT_TOKEN and SLACK_APP_TOKEN.
    """
    from knowledge_rag.cli.serve import ConsoleOptions
    from knowledge_rag.core.errors import InvalidRequest, how_to_install
    from knowledge_rag.local.errors import NotInstalled

    backend = BackendOptions(function, knowledge_base, None, region, stack, gateway, timeout)
    backend.check_alone(kb=kb)
    if find_spec("slack_bolt") is None:
        raise NotInstalled(f"the Slack app is missing: {how_to_install('channel')}")
    if missing := [it for it in (BOT_TOKEN, APP_TOKEN) if not os.environ.get(it)]:
        raise InvalidRequest(f"set the environment variable {' and '.join(missing)}")
    options = ConsoleOptions(model_id=model_id, agent=agent, region=region, model=model)
    if backend.is_local:
        backend.check_region("--model-id", "--agent", asks_aws=options.asks_aws())

    from knowledge_rag.cli.slack_serving import SlackOptions, serve_slack

    tokens = os.environ[BOT_TOKEN], os.environ[APP_TOKEN]
    serve_slack(kb, backend, options.advisor, tokens, SlackOptions(repository_url, json))
