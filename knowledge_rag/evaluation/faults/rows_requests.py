"""Rows: the request itself is wrong, or written in an unusual way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.outcome import DropReason
from knowledge_rag.evaluation.faults.events import (
    QUERY,
    Context,
    agent,
    agent_function,
    agent_parameters,
    direct,
    gateway,
    http_api,
)
from knowledge_rag.evaluation.faults.model import Fault, Group, answers, refuses
from knowledge_rag.evaluation.faults.stage import HEALTHY_ANSWER, healthy

if TYPE_CHECKING:
    from knowledge_rag.evaluation.faults.model import Expected

_SIX_MB: Final = "x" * 6_000_000


def _row(
    name: str, what: str, event: object, expected: Expected, context: Context | None = None
) -> Fault:
    return Fault(
        name, Group.REQUESTS, what, healthy, expected, event, context or Context(), connections=1
    )


def _agent(**properties: str) -> dict[str, Any]:
    return agent({"query": QUERY, **properties})


_ONE: Final = answers(*HEALTHY_ANSWER.evidence[:1], dropped={DropReason.OVER_LIMIT: 1})
_MISSING: Final = refuses(400, "query is missing")
_NO_WHOLE: Final = refuses(400, "max_results must be a whole number")
_NO_OBJECT: Final = refuses(400, "the event must be a JSON object")

ROWS: Final = (
    _row("query-missing", "no query, direct", {"max_results": 3}, _MISSING),
    _row("query-missing-agent", "no query, from an agent", agent({"max_results": "3"}), _MISSING),
    _row("query-missing-gateway", "no query, from a gateway", {}, _MISSING, gateway()),
    _row("query-blank", "a blank query", {"query": " \n\t"}, refuses(400, "query is blank")),
    _row(
        "query-blank-agent",
        "a blank query, from an agent",
        agent({"query": "  "}),
        refuses(400, "query is blank"),
    ),
    _row(
        "query-blank-gateway",
        "a blank query, from a gateway",
        {"query": ""},
        refuses(400, "query is blank"),
        gateway(),
    ),
    _row(
        "query-too-long",
        "a query of 20,001 characters",
        {"query": "x" * 20_001},
        refuses(400, "at most 20000"),
    ),
    _row("query-no-text", "the query is a list", {"query": [QUERY]}, refuses(400, "must be text")),
    _row("max-results-word", 'max_results "five"', direct(max_results="five"), _NO_WHOLE),
    _row("max-results-word-agent", '"five", from an agent', _agent(max_results="five"), _NO_WHOLE),
    _row("max-results-fraction", "max_results 3.7", direct(max_results=3.7), _NO_WHOLE),
    _row("max-results-null", "max_results null", direct(max_results=None), _NO_WHOLE),
    _row("max-results-3.0", 'max_results "3.0" is 3', _agent(max_results="3.0"), HEALTHY_ANSWER),
    _row("max-results-0", "max_results 0, which is 1", direct(max_results=0), _ONE),
    _row("max-results-negative", "max_results -1, which is 1", direct(max_results=-1), _ONE),
    _row("max-results-huge", "max_results 10^9", direct(max_results=10**9), HEALTHY_ANSWER),
    _row("unknown-argument", "an argument that is none", direct(top_k=3), refuses(400, "top_k")),
    _row("in-request-body", "arguments under requestBody", _agent(), HEALTHY_ANSWER),
    _row(
        "in-parameters",
        "arguments under parameters",
        agent_parameters({"query": QUERY, "max_results": "3"}),
        HEALTHY_ANSWER,
    ),
    _row("in-neither", "arguments under neither", agent({}), _MISSING),
    _row(
        "path-unknown", "another path", _agent() | {"apiPath": "/search"}, refuses(404, "/search")
    ),
    _row("method-wrong", "GET", _agent() | {"httpMethod": "GET"}, refuses(405, "takes POST")),
    _row(
        "version-wrong",
        'messageVersion "2.0"',
        _agent() | {"messageVersion": "2.0"},
        refuses(400, "messageVersion must be '1.0'"),
    ),
    _row(
        "tool-unknown",
        "a gateway's tool that is none",
        direct(),
        refuses(404, "no tool 'delete_everything'"),
        gateway("delete_everything"),
    ),
    _row("event-empty", "{}", {}, _MISSING),
    _row("event-list", "[]", [], _NO_OBJECT),
    _row("event-null", "null", None, _NO_OBJECT),
    _row("event-http-api", "an API Gateway event", http_api(), refuses(400, "unknown argument")),
    _row(
        "event-function",
        "an action group with function details",
        agent_function(),
        refuses(404, "function details"),
    ),
    _row("event-6-mb", "a query of 6 MB", direct(query=_SIX_MB), refuses(400, "at most 20000")),
    _row(
        "event-6-mb-agent",
        "6 MB of session attributes around a sound query",
        _agent() | {"sessionAttributes": {"notes": _SIX_MB}},
        HEALTHY_ANSWER,
    ),
)
