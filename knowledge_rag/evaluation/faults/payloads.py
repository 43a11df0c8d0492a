"""Requests as each kind of caller sends them (``tests/events``), and valid items as a knowledge base returns them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import Any, Final

from knowledge_rag.core.chunks import chunk_id

QUERY_MARK: Final = "RDS-7Q4Z"
"""A word of the query, unusual enough to be found in a log, which must not contain any part of it."""

QUERY: Final = f"How do we fail over the {QUERY_MARK} cluster?"
"""The query for every fault."""

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
    """Return an orchestrator's event: the arguments themselves."""
    return {"query": QUERY, **arguments}


def agent(properties: dict[str, str], **change: object) -> dict[str, Any]:
    """Return an agent's event with a request body's properties; every value is text."""
    items = [{"name": name, "type": "string", "value": v} for name, v in properties.items()]
    content = {"application/json": {"properties": items}}
    return {**_AGENT, "requestBody": {"content": content}, **change}


def agent_parameters(arguments: dict[str, str]) -> dict[str, Any]:
    """Return an agent's event with the arguments under ``parameters``."""
    items = [{"name": name, "type": "string", "value": v} for name, v in arguments.items()]
    return {**_AGENT, "parameters": items}


def agent_function() -> dict[str, Any]:
    """Return the event of an action group with function details, which has no path or method."""
    event = {name: v for name, v in _AGENT.items() if name not in ("apiPath", "httpMethod")}
    return event | {
        "function": "retrieve",
        "parameters": [{"name": "query", "type": "string", "value": QUERY}],
    }


def http_api() -> dict[str, Any]:
    """Return an API Gateway event (HTTP API, payload format 2.0), shortened."""
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
    """The part of Lambda's client context that a gateway sets."""

    custom: dict[str, str]


@dataclass(frozen=True, slots=True)
class Context:
    """The part of Lambda's context that the function reads."""

    client_context: ClientContext | None = None
    aws_request_id: str = "00000000-0000-4000-8000-000000000000"
    function_name: str = field(default="retrieve_knowledge")


def gateway(tool: str = "retrieve_knowledge") -> Context:
    """Return the context of an AgentCore Gateway's invocation; its event is the arguments."""
    return Context(ClientContext({"bedrockAgentCoreToolName": f"knowledge___{tool}"}))


FILE: Final = "runbooks/rds-failover.md"


def item(
    content: str = "Promote the replica.\nCheck the lag.",
    *,
    start: int = 5,
    source_file: str = FILE,
    score: object = 0.5,
    prefix: str = "runbooks > rds failover > Resolution\n\n",
    **metadata: object,
) -> dict[str, Any]:
    """Return one retrieval result in Retrieve's JSON form: numbers are doubles.

    Args:
        content: the cited lines.
        start: number of the first of them.
        source_file: their document.
        score: ``None`` to leave it out.
        prefix: stored in front of the content.
        metadata: replaces valid attributes.
    """
    result: dict[str, Any] = {
        "content": {"type": "TEXT", "text": prefix + content},
        "location": {"type": "S3", "s3Location": {"uri": f"s3://corpus/{source_file}"}},
        "metadata": {
            "x-amz-bedrock-kb-source-uri": f"s3://corpus/{source_file}",
            "source_file": source_file,
            "start_line": float(start),
            "end_line": float(start + content.count("\n")),
            "section_header": "Resolution",
            "section_path": "RDS failover > Resolution",
            "document_type": "runbook",
            "title": "RDS failover",
            "document_sha256": "a" * 64,
            "content_sha256": hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest(),
            "context_length": float(len(prefix)),
            "chunk_id": _chunk_id(source_file, start, content),
            **metadata,
        },
    }
    if score is not None:
        result["score"] = score
    return result


def without(whole: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return an item without some of its metadata, or without one of its own members."""
    metadata = {key: value for key, value in whole["metadata"].items() if key not in names}
    return {key: value for key, value in whole.items() if key not in names} | (
        {} if "metadata" in names else {"metadata": metadata}
    )


def retrieved(*items: object, **extra: object) -> dict[str, Any]:
    """Return the body of a Retrieve response."""
    return {"retrievalResults": list(items), **extra}


def evidence(sound: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a valid item that a reader must get: content, citation and score, as stored.

    Computed only from the item, without the code under test.
    """
    metadata, text = sound["metadata"], sound["content"]["text"]
    shown: dict[str, Any] = {
        "content": text[int(metadata["context_length"]) :],
        "citation": {
            "source_file": metadata["source_file"],
            "start_line": int(metadata["start_line"]),
            "end_line": int(metadata["end_line"]),
            "section_header": metadata["section_header"],
        },
    }
    score = sound.get("score")
    if isinstance(score, float | int) and math.isfinite(score):
        shown["relevance_score"] = score
    return shown


def _chunk_id(source_file: str, start: int, content: str) -> str:
    try:
        return chunk_id(source_file, start, start + content.count("\n"), content)
    except UnicodeEncodeError:  # a lone surrogate: no chunk can contain one, so it has no id
        return "0" * 32
