"""Calls the real ``retrieve_knowledge`` Lambda in this process, as a Bedrock agent would.

The function, its settings and its boto3 client are the ones that run in AWS; only the environment
that it reads names this machine's server instead of Amazon's.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.policy_settings import SourcePolicy
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.local.floors import EVIDENCE_FLOOR_HYBRID, EVIDENCE_FLOOR_SEMANTIC
from knowledge_rag.local.retrieve_operation import KNOWLEDGE_BASE_ID
from knowledge_rag.local.thread_output import collected_output
from lambdas.retrieve_knowledge.events import API_PATH, HTTP_METHOD, MESSAGE_VERSION
from lambdas.retrieve_knowledge.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

REGION: Final = "us-east-1"
"""Any region will do: nothing leaves the machine."""

_POLICY: Final = frozenset({"SOURCE_POLICY", "SECONDARY_SCOPE", "POLICY_TODAY"})
"""Settings of the function that apply here as they do in AWS; see ``docs/source-policy.md``."""

_SHARED: Final = _POLICY | frozenset(
    {"HOME", "LANG", "ORT_DISABLE_TELEMETRY", "PATH", "SYSTEMROOT", "TMPDIR", "TZ"}
)
"""The variables of the user's that the function may see: those of the policy, and those that set
nothing about it.

A profile, a proxy or ``AWS_IGNORE_CONFIGURED_ENDPOINT_URLS`` would send its calls elsewhere, and
names like ``LOG_LEVEL`` or ``DEADLINE_SECONDS`` mean other things to other programs.
"""

_JSON: Final = "application/json"
_TYPES: Final = {"max_results": "integer"}


@dataclass(frozen=True, slots=True)
class LambdaAnswer:
    """What the function answered.

    Args:
        status_code: 200, or the 4xx of a request that can't be served.
        body: ``results``, ``status`` and what goes with them; or ``error``.
        envelope: the whole answer, as the agent would get it.
        log: what the function wrote to its log, one JSON object a line.
    """

    status_code: int
    body: dict[str, Any]
    envelope: dict[str, Any]
    log: str = field(repr=False)


def agent_event(arguments: Mapping[str, object], *, session_id: str = "local") -> dict[str, Any]:
    """Build the event that an agent's OpenAPI action group sends; every value travels as text."""
    properties = [
        {"name": name, "type": _TYPES.get(name, "string"), "value": str(value)}
        for name, value in arguments.items()
        if value is not None
    ]
    return {
        "messageVersion": MESSAGE_VERSION,
        "agent": {"name": "local", "id": "LOCALAGENT", "alias": "LOCALALIAS", "version": "DRAFT"},
        "inputText": str(arguments.get("query", "")),
        "sessionId": session_id,
        "actionGroup": "retrieve_knowledge",
        "apiPath": API_PATH,
        "httpMethod": HTTP_METHOD,
        "parameters": [],
        "requestBody": {"content": {_JSON: {"properties": properties}}},
        "sessionAttributes": {},
        "promptSessionAttributes": {},
    }


class ActionGroup:
    """Asks the function; made by :func:`local_action_group`.

    Args:
        handler: the function.
    """

    def __init__(self, handler: Callable[[object, object], dict[str, Any]]) -> None:
        self._handler = handler

    def retrieve(self, query: str, **arguments: object) -> LambdaAnswer:
        """Ask one question the way an agent does.

        Args:
            query: the question.
            arguments: ``max_results``, ``document_type``, ``service``, ``source_file``; ``None``
                leaves one out.
        """
        return self.invoke(agent_event({"query": query, **arguments}))

    def invoke(self, event: dict[str, Any]) -> LambdaAnswer:
        """Send an event of any shape that the function serves."""
        # log lines and metric records go to standard output, where Lambda collects them; here
        # standard output is the user's
        with collected_output() as log:
            answer = self._handler(event, None)
        response = answer.get("response")
        if not isinstance(response, dict):  # a direct call is answered with the bare body
            return LambdaAnswer(400 if "error" in answer else 200, answer, answer, log.getvalue())
        body = json.loads(response["responseBody"][_JSON]["body"])
        return LambdaAnswer(response["httpStatusCode"], body, answer, log.getvalue())


@contextmanager
def local_action_group(
    endpoint_url: str,
    *,
    search_type: SearchType = SearchType.HYBRID,
    policy: SourcePolicy | None = None,
    deadline_seconds: float | None = None,
) -> Iterator[ActionGroup]:
    """Point the function at a local server for as long as the block runs.

    The process's environment is changed meanwhile and put back afterwards, so one block at a time.

    Args:
        endpoint_url: of a :class:`~knowledge_rag.local.server.LocalBedrock`.
        search_type: what the function asks for.
        policy: of sources; by default what the user's ``SOURCE_POLICY`` says.
        deadline_seconds: when the function gives a query up; by default as in AWS.

    Raises:
        InvalidSettings: the policy, its scope or its day is wrong, or does not go with the search.
    """
    before = dict(os.environ)
    hidden = _POLICY if policy is SourcePolicy.OFF else frozenset()
    kept = {name: value for name, value in before.items() if name in _SHARED - hidden}
    chosen = {} if policy is None else {"SOURCE_POLICY": policy.value}
    _become(kept | chosen | _environment(endpoint_url, search_type))
    try:
        settings = load_settings(os.environ)
        if deadline_seconds is not None:
            settings = replace(settings, deadline_seconds=deadline_seconds)
        # only now: Powertools reads its settings when it is imported
        from lambdas.retrieve_knowledge.handler import (  # noqa: PLC0415
            WARM_UP_SECONDS,
            lambda_handler,
            warm_up,
        )
        from lambdas.retrieve_knowledge.service import reset, start  # noqa: PLC0415

        start(settings)
        # as Lambda does before the first event: no query pays for it
        warm_up(max(WARM_UP_SECONDS, settings.deadline_seconds))
        try:
            yield ActionGroup(lambda_handler)
        finally:
            reset()
    finally:
        _become(before)


def _become(environment: Mapping[str, str]) -> None:
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)


def _environment(endpoint_url: str, search_type: SearchType) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME": endpoint_url,
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "KNOWLEDGE_BASE_ID": KNOWLEDGE_BASE_ID,
        "SEARCH_TYPE": search_type.value,
        "EVIDENCE_FLOOR_HYBRID": str(EVIDENCE_FLOOR_HYBRID),
        "EVIDENCE_FLOOR_SEMANTIC": str(EVIDENCE_FLOOR_SEMANTIC),
    }
