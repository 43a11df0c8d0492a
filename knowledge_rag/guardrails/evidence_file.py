"""Reads evidence of whatever system retrieved it: what verifying an answer has to start from.

Understood are the JSON of

- this product's function: its body, the action group's envelope, or an MCP tool's result;
- Bedrock's ``Retrieve`` and ``RetrieveAndGenerate``;
- ``InvokeAgent``: its events, or the traces among them;
- Bedrock's ``Converse``: ``{"request": ..., "response": ...}``, or either alone;

and a list of any of these, one after another.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import UnreadableResponse
from knowledge_rag.core.metadata import CONTEXT_LENGTH
from knowledge_rag.core.outcome import DropReason, Reason, Status
from knowledge_rag.core.response import read_json
from knowledge_rag.guardrails.bedrock_evidence import (
    Said,
    attributed,
    converse_request,
    converse_response,
    generated,
    retrieved,
)
from knowledge_rag.guardrails.json_shapes import member, objects
from knowledge_rag.guardrails.passages import Passage, read_passage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

UNDERSTOOD: Final = (
    "the JSON of retrieve_knowledge, Retrieve, RetrieveAndGenerate, InvokeAgent (its events) or "
    "Converse (request, response or both)"
)

Item = Passage | DropReason | Reason | Said
"""A passage, why one can't be cited, why a search could not be carried out, or an answer."""


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    """What a file of evidence holds.

    Args:
        passages: in the order of retrieval, query after query.
        dropped: how many passages can't be cited, by reason.
        reasons: of the searches that could not be carried out, in order.
        answer: what was answered, where it stands beside the evidence; else ``""``.
    """

    passages: tuple[Passage, ...]
    dropped: Mapping[DropReason, int] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    answer: str = ""


def read_evidence(document: object) -> EvidenceFile:
    """Read evidence from decoded JSON.

    Raises:
        UnreadableResponse: it is none of what is understood; the message says what is.
    """
    documents = document if isinstance(document, list) else [document]
    read = [way(one) for one in documents if (way := _way(one))]
    if not read:
        raise UnreadableResponse(f"there is no evidence in it; understood is {UNDERSTOOD}")
    items = [item for some in read for item in some]
    said = [one.text for one in items if isinstance(one, Said)]
    return EvidenceFile(
        tuple(one for one in items if isinstance(one, Passage)),
        dict(Counter(one for one in items if isinstance(one, DropReason))),
        tuple(one for one in items if isinstance(one, Reason)),
        said[-1] if said else "",
    )


def _way(document: object) -> Callable[[object], Iterator[Item]] | None:
    """Give how to read a document: by the first member that it has of those that tell."""
    names = document.keys() if isinstance(document, dict) else ()
    return next((way for name, way in _WAYS.items() if name in names), None)


def _body(body: object) -> Iterator[Item]:
    """Read what the function answers with."""
    for one in objects(member(body, "results")):
        metadata = {**_object(one.get("metadata")), **_object(one.get("citation"))}
        metadata.pop(CONTEXT_LENGTH, None)  # the function has taken the prefix off
        yield read_passage(one.get("content"), metadata, one.get("relevance_score"))
    if member(body, "status") == Status.DEGRADED:
        reason = member(body, "reason")
        known = isinstance(reason, str) and reason in set(Reason)
        yield Reason(reason) if known else Reason.INTERNAL


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _envelope(envelope: object) -> Iterator[Item]:
    body = member(envelope, "response", "responseBody", "application/json", "body")
    return _body(read_json(body) if isinstance(body, str) else body)


def _tool_result(result: object) -> Iterator[Item]:
    return _body(member(result, "structuredContent"))


def _rpc(message: object) -> Iterator[Item]:
    return _tool_result(member(message, "result"))


def _events(response: object) -> Iterator[Item]:
    for event in objects(member(response, "completion")):
        if way := _way(event):
            yield from way(event)


def _trace(event: object) -> Iterator[Item]:
    """Read a trace, as it stands in an event or alone."""
    inner = member(event, "trace")
    if isinstance(inner, dict) and "trace" in inner:
        inner = inner["trace"]
    return _orchestration(inner)


def _orchestration(trace: object) -> Iterator[Item]:
    observation = member(trace, "orchestrationTrace", "observation")
    output = member(observation, "actionGroupInvocationOutput", "text")
    if isinstance(output, str):
        yield from _observed(output)
    yield from retrieved(member(observation, "knowledgeBaseLookupOutput"), "retrievedReferences")
    final = member(observation, "finalResponse", "text")
    if isinstance(final, str):
        yield Said(final)


def _observed(output: str) -> Iterator[Item]:
    """Read what a tool gave the agent; one that is not ours may have given anything.

    It may give back what the model wrote, so only what hashes bind counts; ours always sends them.
    """
    try:
        body = read_json(output)
    except UnreadableResponse:
        return
    for one in _body(body):
        is_given = isinstance(one, Passage) and not one.proven
        yield DropReason.NOT_PROVEN if is_given else one


def _chunk(event: object) -> Iterator[Item]:
    return attributed(member(event, "chunk"))


def _exchange(exchange: object) -> Iterator[Item]:
    request = member(exchange, "request")
    yield from converse_request(request)
    yield from converse_response(member(exchange, "response"), request)


def _output(response: object) -> Iterator[Item]:
    """Read a response of Converse that stands alone, or beside the messages of its request."""
    request = response if member(response, "messages") is not None else None
    if request is not None:
        yield from converse_request(request)
    yield from converse_response(response, request)


_WAYS: Final[dict[str, Callable[[object], Iterator[Item]]]] = {
    "retrievalResults": retrieved,
    "results": _body,
    "messageVersion": _envelope,
    "structuredContent": _tool_result,
    "jsonrpc": _rpc,
    "citations": generated,
    "completion": _events,
    "trace": _trace,
    "orchestrationTrace": _orchestration,
    "chunk": _chunk,
    "request": _exchange,
    "output": _output,
    "messages": converse_request,
}
"""By the member that tells what a document is; the first one decides."""
