"""What must hold for every call of ``retrieve_knowledge``, whatever is asked and whatever comes back.

Written from the specification and not from the code: proofs are worked out here anew, with nothing
of the product's but the names of its metrics.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema

from knowledge_rag.core import telemetry

if TYPE_CHECKING:
    from tests.support.fixtures import Invocation

BUDGET_SECONDS = 2.0
AGENT_BYTES = 25_000
AGENT_RESULTS, SERVICE_RESULTS = 5, 100
CANARY = "Canary-7Q4Z"
"""Part of every generated question, so that it shows when a question's text is logged."""

SCHEMA = Path(__file__).parents[2] / "schemas" / "retrieve_knowledge.openapi.json"


@dataclass(frozen=True)
class Asked:
    """One invocation.

    Args:
        event: of any form.
        context: of the invocation.
        most: results that it asks for, where that is known.
    """

    event: Any
    context: Any = None
    most: int | None = None

    @property
    def caller(self) -> str:
        """Who calls, by CONTRACTS 3: only an agent's event has an envelope, a gateway's a tool."""
        event, custom = self.event, _custom(self.context)
        if isinstance(event, dict) and {"messageVersion", "actionGroup", "apiPath"} & event.keys():
            return "agent"
        named = isinstance(custom, dict) and isinstance(custom.get("bedrockAgentCoreToolName"), str)
        return "gateway" if named and isinstance(event, dict) else "direct"


def assert_invariant(asked: Asked, invocation: Invocation, seconds: float, response: bytes) -> Any:
    """Hold one call against the invariant of every fault.

    Args:
        asked: what was sent to the handler.
        invocation: what it answered and logged.
        seconds: that it took.
        response: body that the service answered, or would have answered.

    Returns:
        The body of the answer.
    """
    assert seconds <= BUDGET_SECONDS, seconds
    status, body = unwrapped(asked, invocation.answer)
    _validator(200 if status == 200 else 400).validate(body)
    if status != 200:
        assert body["error"]
        assert 400 <= status < 500
    else:
        _assert_honest(asked, body, response)
    _assert_told(invocation, status, body)
    return body


def unwrapped(asked: Asked, answer: Any) -> tuple[int, Any]:
    """Give status and body of an answer that has exactly its caller's form."""
    text = _strict_json(answer)
    if asked.caller != "agent":
        return (400 if "error" in answer else 200), answer
    assert set(answer) == {
        "messageVersion", "response", "sessionAttributes", "promptSessionAttributes",
    }  # fmt: skip
    assert answer["messageVersion"] == "1.0"
    for name in ("sessionAttributes", "promptSessionAttributes"):
        assert all(type(k) is type(v) is str for k, v in answer[name].items())
    response = answer["response"]
    assert set(response) == {
        "actionGroup", "apiPath", "httpMethod", "httpStatusCode", "responseBody",
    }  # fmt: skip
    assert all(type(response[name]) is str for name in ("actionGroup", "apiPath", "httpMethod"))
    assert type(response["httpStatusCode"]) is int
    assert response["responseBody"].keys() == {"application/json"}
    assert response["responseBody"]["application/json"].keys() == {"body"}
    body = response["responseBody"]["application/json"]["body"]
    assert type(body) is str
    # attributes and names may fill it as the caller likes; with results it has to fit
    parsed = json.loads(body, parse_constant=_no_constant)
    assert len(text) <= AGENT_BYTES or not parsed.get("results")
    return response["httpStatusCode"], parsed


def proof_of(result: Any, item: Any) -> bool:
    """Whether a returned item is what a result says, value by value and byte by byte."""
    if not isinstance(item, dict) or not isinstance(item.get("content"), dict):
        return False
    metadata, text = item.get("metadata"), item["content"].get("text")
    if not isinstance(metadata, dict) or not isinstance(text, str):
        return False
    citation, content = result["citation"], result["content"]
    start, end = citation["start_line"], citation["end_line"]
    key = f"{citation['source_file']}\0{start}\0{end}\0{content}".encode()
    return (
        metadata.get("source_file") == citation["source_file"]
        and _is_number(metadata.get("start_line"), start)
        and _is_number(metadata.get("end_line"), end)
        and metadata.get("section_header", "") == citation["section_header"]
        and _is_number(metadata.get("context_length", 0), len(text) - len(content))
        and text.endswith(content)
        and hashlib.sha256(content.encode()).hexdigest() == metadata.get("content_sha256")
        and hashlib.sha256(key).hexdigest()[:32] == metadata.get("chunk_id")
        and _has_score(result, item.get("score"))
        and all(_is_shown(metadata.get(name), v) for name, v in result["metadata"].items())
    )


def items_in(response: bytes) -> list[Any] | None:
    """Give the items of a Retrieve response, ``None`` where it holds no list of them."""
    try:
        body = json.loads(response.decode())
    except (ValueError, RecursionError):
        return None
    items = body.get("retrievalResults") if isinstance(body, dict) else None
    return items if isinstance(items, list) else None


def _assert_honest(asked: Asked, body: Any, response: bytes) -> None:
    results = body["results"]
    assert bool(results) == (body["status"] == "ok")
    assert ("reason" in body) == (body["status"] == "degraded")
    limit = SERVICE_RESULTS if asked.caller == "direct" else AGENT_RESULTS
    assert len(results) <= (limit if asked.most is None else asked.most)
    items = items_in(response)
    if items is None:
        assert body["status"] == "degraded"
        return
    if body["status"] == "no_match":
        assert items == []
    left = iter(items)  # in the order in which they came
    for result in results:
        lines = result["content"].count("\n") + 1
        assert result["citation"]["end_line"] - result["citation"]["start_line"] + 1 == lines
        assert any(proof_of(result, item) for item in left), result["citation"]


def _assert_told(invocation: Invocation, status: int, body: Any) -> None:
    assert CANARY not in invocation.output
    if status != 200 or body.get("reason") == "query_limit":
        assert invocation.metrics == []
        return
    (metrics,) = invocation.metrics
    failed = body["status"] == "degraded"
    assert metrics[telemetry.RETRIEVAL_COUNT] == [1.0]
    assert metrics[telemetry.RETRIEVAL_ERRORS] == [float(failed)]
    assert body.get("reason") != "internal"
    assert [log["level"] for log in invocation.logs] == ["ERROR" if failed else "INFO"]


def _strict_json(answer: Any) -> bytes:
    # what Lambda's runtime does with an answer, and no less than UTF-8
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
    json.loads(text, parse_constant=_no_constant)
    return text


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def _custom(context: Any) -> Any:
    return getattr(getattr(context, "client_context", None), "custom", None)


def _is_number(value: Any, number: int) -> bool:
    if isinstance(value, str):
        return value.isascii() and value.isdigit() and len(value) <= 10 and int(value) == number
    return type(value) in (int, float) and value == number


def _has_score(result: Any, score: Any) -> bool:
    is_score = type(score) in (int, float) and _is_finite(score)
    if "relevance_score" not in result:
        return not is_score
    return is_score and result["relevance_score"] == float(score)


def _is_finite(score: float) -> bool:
    try:
        return math.isfinite(score)
    except OverflowError:
        return False


def _is_shown(stored: Any, shown: Any) -> bool:
    if isinstance(shown, list):
        return isinstance(stored, list) and [t for t in stored if t in shown] == shown
    return _is_number(stored, shown) if isinstance(shown, int) else stored == shown


@lru_cache(maxsize=2)
def _validator(status: int) -> Any:
    operation = json.loads(SCHEMA.read_text())["paths"]["/retrieve"]["post"]
    schema = operation["responses"][str(status)]["content"]["application/json"]["schema"]
    if status == 200:
        del schema["properties"]["results"]["maxItems"]  # an agent's; a direct caller has 100
    return jsonschema.Draft202012Validator(schema)
