"""How each of the three callers asks, and others who ask the wrong way.

The shapes are those of ``tests/events``, where their provenance is written down.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

QUERY_MARK: Final = "RDS-7Q4Z"
"""A word of the query, odd enough to be found in a log that should not hold any part of it."""

QUERY: Final = f"How do we fail over the {QUERY_MARK} cluster?"
"""What every fault is asked."""

_AGENT: Final[dict[str, Any]] = {
    "messageVersion": "1.0",
    "agent": {"name": "knowledge-agent", "id": "AGENTID001", "alias": "ALIASID001", "version": "3"},
    "inputText": "The primary database is down, what do we do?",
    "sessionId": "914912543234567",
    "actionGroup": "knowledge",
    "apiPath": "/retrieve",
    "httpMethod": "POST",
    "sessionAttributes": {"incident_id": "INC-4711"},
    "promptSessionAttributes": {"locale": "en"},
}


def direct(**arguments: object) -> dict[str, Any]:
    """Give an orchestrator's event: the arguments themselves."""
    return {"query": QUERY, **arguments}


def agent(properties: dict[str, str], **change: object) -> dict[str, Any]:
    """Give an agent's event with a request body's properties; every value is text."""
    items = [{"name": name, "type": "string", "value": v} for name, v in properties.items()]
    content = {"application/json": {"properties": items}}
    return {**_AGENT, "requestBody": {"content": content}, **change}


def agent_parameters(arguments: dict[str, str]) -> dict[str, Any]:
    """Give an agent's event with the arguments under ``parameters``."""
    items = [{"name": name, "type": "string", "value": v} for name, v in arguments.items()]
    return {**_AGENT, "parameters": items}


def agent_function() -> dict[str, Any]:
    """Give the event of an action group with function details, which has no path or method."""
    event = {name: v for name, v in _AGENT.items() if name not in ("apiPath", "httpMethod")}
    return event | {
        "function": "retrieve",
        "parameters": [{"name": "query", "type": "string", "value": QUERY}],
    }


def http_api() -> dict[str, Any]:
    """Give an API Gateway event (HTTP API, payload format 2.0), shortened."""
    return {
        "version": "2.0",
        "routeKey": "POST /retrieve",
        "rawPath": "/retrieve",
        "headers": {"content-type": "application/json"},
        "requestContext": {"http": {"method": "POST", "path": "/retrieve"}, "stage": "$default"},
        "body": '{"query": "RDS failover steps"}',
        "isBase64Encoded": False,
    }


@dataclass(frozen=True, slots=True)
class ClientContext:
    """Lambda's client context, as far as a gateway fills it."""

    custom: dict[str, str]


@dataclass(frozen=True, slots=True)
class Context:
    """Lambda's context, as far as the function looks at it."""

    client_context: ClientContext | None = None
    aws_request_id: str = "00000000-0000-4000-8000-000000000000"
    function_name: str = field(default="retrieve_knowledge")


def gateway(tool: str = "retrieve_knowledge") -> Context:
    """Give the context of an AgentCore Gateway's invocation; its event is the arguments."""
    return Context(ClientContext({"bedrockAgentCoreToolName": f"knowledge___{tool}"}))
