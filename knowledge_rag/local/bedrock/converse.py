"""Bedrock's ``Converse`` and ``ConverseStream``: an answer with citations of its source lines.

The writer refers to lines as every answer here does; those references become the API's own
locations, whose ``start`` (from 0) and ``end`` (exclusive) count the items of a search result's
content.
"""

from __future__ import annotations

import math
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.metadata import SECTION_PATH, SECTION_SEPARATOR
from knowledge_rag.core.outcome import RetrievalOutcome, RetrievalResult, Status
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS, Query
from knowledge_rag.core.tokens import token_cost
from knowledge_rag.local.bedrock.wire import Event, check, encode, invalid, service_model
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from knowledge_rag.guardrails.ledger import Evidence, Ledger
    from knowledge_rag.local.bedrock.wire import ServiceError


MODEL_ID: Final = "local.extractive-v1"
SERVICE: Final = "bedrock-runtime"
MAX_TOKENS: Final = 4_096
"""Maximum tokens of an answer, unless the request sets another."""

_HEADING: Final = re.compile(r"#{1,6} (.+)")
_READ: Final = frozenset({"text", "searchResult", "toolResult", "cachePoint"})
_READ_OF_TOOLS: Final = frozenset({"text", "json", "searchResult"})
_NOT_HERE: Final = {
    "guardrailConfig": "a guardrail, which is not available locally",
    "outputConfig": "a model, which is not available locally",
    "promptVariables": "a prompt of Prompt management, which is not available locally",
}


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One ``searchResult`` block; a location's start and end count the items in ``texts``."""

    source: str
    title: str
    texts: tuple[str, ...]
    cited: bool


@dataclass(frozen=True, slots=True)
class ConverseRequest:
    """A valid request: the last user message's text, and all search results in order."""

    text: str
    results: tuple[SearchResult, ...]
    max_tokens: int = MAX_TOKENS
    stop_sequences: tuple[str, ...] = ()

    @property
    def cited(self) -> bool:
        """Whether the answer should have citations."""
        return any(result.cited for result in self.results)

    def evidence(self) -> RetrievalOutcome:
        """Return the search results as a retrieval's, each as a file named by its index."""
        found = tuple(
            RetrievalResult(
                "\n".join(result.texts), _whole(index, result), None, {SECTION_PATH: _path(result)}
            )
            for index, result in enumerate(self.results)
            if any(text.strip() for text in result.texts)
        )
        return RetrievalOutcome(Status.OK if found else Status.NO_MATCH, found)


def name_of(index: int) -> str:
    """Return the file name of a search result in :meth:`ConverseRequest.evidence`."""
    return f"search-result-{index}"


def parse_converse_request(model_id: str, body: Mapping[str, Any]) -> ConverseRequest:
    """Check a request as the service does.

    Raises:
        ServiceError: ValidationException.
    """
    check({**body, "modelId": model_id}, service_model(SERVICE).operation_model("Converse"))
    for name, what in _NOT_HERE.items():
        if body.get(name):
            raise invalid(f"{name} needs {what}")
    messages: list[dict[str, Any]] = body.get("messages") or []
    _check_turns(messages)
    results = tuple(_search_results(messages))
    if len({result.cited for result in results}) > 1:
        raise invalid("citations must be enabled for all search results or for none")
    texts = [block["text"] for block in messages[-1]["content"] if block.get("text") is not None]
    inference = body.get("inferenceConfig") or {}
    return ConverseRequest(
        "\n".join(texts),
        results,
        inference.get("maxTokens") or MAX_TOKENS,
        tuple(inference.get("stopSequences") or ()),
    )


def _check_turns(messages: list[dict[str, Any]]) -> None:
    if not messages or messages[0]["role"] != "user":
        raise invalid("A conversation must start with a user message.")
    roles = [message["role"] for message in messages]
    if any(role not in ("user", "assistant") for role in roles):
        raise invalid("messages: this model takes the system's text only in system.")
    if any(role == following for role, following in pairwise(roles)):
        raise invalid("A conversation must alternate between user and assistant roles.")
    if roles[-1] != "user":
        raise invalid("The last message must be the user's.")
    for number, message in enumerate(messages):
        if not message["content"]:
            raise invalid(f"The content field in the Message object at messages.{number} is empty.")
        for place, block in enumerate(message["content"]):
            _check_block(block, f"messages.{number}.content.{place}", message["role"])
    _check_tools(messages)


def _check_block(block: dict[str, Any], where: str, role: str) -> None:
    if role == "assistant":
        return  # earlier output of a model is not part of the question
    kind = _kind(block)
    if kind not in _READ:
        raise invalid(f"This model doesn't support the {kind} content block at {where}.")
    if kind == "text" and not block["text"].strip():
        raise invalid(f"The text field in the ContentBlock object at {where} is blank.")
    for inner in block["toolResult"]["content"] if kind == "toolResult" else ():
        if _kind(inner) not in _READ_OF_TOOLS:
            raise invalid(
                f"This model doesn't support {_kind(inner)} in the toolResult at {where}."
            )
    for found in _results_in(block):
        if not found["content"]:
            raise invalid(f"The content field in the SearchResultBlock object at {where} is empty.")


def _kind(block: dict[str, Any]) -> str:
    return next(name for name, value in block.items() if value is not None)


def _check_tools(messages: list[dict[str, Any]]) -> None:
    """Check that tools' results follow the message that requested them and answer all its requests."""
    asked: list[str] = []
    for number, message in enumerate(messages):
        given = [block["toolResult"]["toolUseId"] for block in _all(message, "toolResult")]
        if sorted(given) != sorted(asked):
            raise invalid(
                f"Expected toolResult blocks at messages.{number}.content for exactly the toolUse "
                "blocks of the message before it."
            )
        asked = [block["toolUse"]["toolUseId"] for block in _all(message, "toolUse")]


def _all(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [block for block in message["content"] if block.get(kind) is not None]


def _search_results(messages: list[dict[str, Any]]) -> Iterator[SearchResult]:
    """Yield search results in the order of ``searchResultIndex``: across messages and tools' results."""
    users = (message for message in messages if message["role"] == "user")
    for block in (block for message in users for block in message["content"]):
        for found in _results_in(block):
            yield SearchResult(
                found["source"],
                found["title"],
                tuple(item["text"] for item in found["content"]),
                bool((found.get("citations") or {}).get("enabled")),
            )


def _results_in(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    inner = (block.get("toolResult") or {}).get("content") or ()
    for one in (block, *inner):
        if (found := one.get("searchResult")) is not None:
            yield found


def _whole(index: int, result: SearchResult) -> Citation:
    lines = sum(text.count("\n") + 1 for text in result.texts)
    return Citation(name_of(index), 1, lines, " ".join(result.title.split()))


def _path(result: SearchResult) -> str:
    """Return the headings at the start of a result, else its title, as a document's metadata do."""
    headings: list[str] = []
    for line in "\n".join(result.texts).split("\n"):
        found = _HEADING.fullmatch(line)
        if found is None and line.strip():
            break
        headings.extend([found[1]] if found else [])
    return SECTION_SEPARATOR.join(headings or [" ".join(result.title.split())])


def model_missing() -> ServiceError:
    """Return the service's error for a model that does not exist."""
    return invalid("The provided model identifier is invalid.")


AnswerWriter = Callable[[str, Sequence[RetrievalOutcome]], str]
"""Returns an answer's text for a question and the results of its queries."""


def extracted(question: str, outcomes: Sequence[RetrievalOutcome]) -> str:
    """Return the procedures in the results, as the advisor without a model does."""
    # only now: most users of the local server never ask it for an answer
    from knowledge_rag.orchestrator.composition import state  # noqa: PLC0415
    from knowledge_rag.orchestrator.incident import Incident  # noqa: PLC0415
    from knowledge_rag.orchestrator.retrieval import Asked, Findings  # noqa: PLC0415
    from knowledge_rag.orchestrator.showing import counted_line, pieces_of  # noqa: PLC0415

    query = Query(question[:MAX_QUERY_CHARACTERS] if question.strip() else "?")
    findings = Findings(tuple(Asked(query, outcome) for outcome in outcomes))
    given = state(Incident.from_state({"incident": question}), findings, "extractive")
    if given.status is not Status.OK:
        return UNREACHABLE if given.status is Status.DEGRADED else NO_MATCH
    return "".join(piece.text for piece in pieces_of(given, findings.ledger, counted_line))


_BRACKET: Final = re.compile(r"[ \t]*\[([^\[\]\n]+)\]")
_PIECE: Final = 40
"""Characters per delta of a stream."""


class Models:
    """The models of one server: a single one, which writes its answers from the search results."""

    def converse(self, model_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a request.

        Raises:
            ServiceError: it can't be served.
        """
        request = parse_converse_request(model_id, body)
        if model_id != MODEL_ID:
            raise model_missing()
        return reply(request, extracted)

    def stream(self, model_id: str, body: Mapping[str, Any]) -> Generator[bytes]:
        """Answer a request by the messages of an event stream."""
        answer = self.converse(model_id, body)
        return (encode(event) for event in events_of(answer))


def reply(request: ConverseRequest, write: AnswerWriter) -> dict[str, Any]:
    """Return the response to a request, with its text written from the search results."""
    # only here: most servers are only asked for lines, and these take longer to import than to search
    from knowledge_rag.guardrails.ledger import Ledger  # noqa: PLC0415

    started = time.monotonic()
    evidence = request.evidence()
    text, stop_reason = _bounded(write(request.text, [evidence]), request)
    blocks = _blocks(text, request, Ledger.of(evidence.results))
    asked = math.ceil(
        token_cost("\n".join([request.text, *(each.content for each in evidence.results)]))
    )
    said = math.ceil(token_cost(text))
    return {
        "output": {"message": {"role": "assistant", "content": blocks}},
        "stopReason": stop_reason,
        "usage": {"inputTokens": asked, "outputTokens": said, "totalTokens": asked + said},
        "metrics": {"latencyMs": int((time.monotonic() - started) * 1000)},
    }


def _bounded(text: str, request: ConverseRequest) -> tuple[str, str]:
    stops = [text.find(stop) for stop in request.stop_sequences]
    reason = "end_turn"
    if first := [stop for stop in stops if stop >= 0]:
        text, reason = text[: min(first)], "stop_sequence"
    if token_cost(text) <= request.max_tokens:
        return text, reason
    ends = [word.end() for word in re.finditer(r"\S+", text)]
    most = bisect_right(ends, request.max_tokens, key=lambda end: math.ceil(token_cost(text[:end])))
    return text[: ends[most - 1] if most else 0], "max_tokens"


def _blocks(text: str, request: ConverseRequest, ledger: Ledger) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    start = 0
    for found in _BRACKET.finditer(text) if request.cited else ():
        citations = [_citation(entry, request) for entry in _referred(found[1], ledger) if entry]
        if not citations:
            continue
        said = text[start : found.start()]
        if said or not blocks:
            cited = {"content": [{"text": said}], "citations": citations}
            blocks.append({"citationsContent": cited})
        else:  # a second reference for the same text
            blocks[-1]["citationsContent"]["citations"].extend(citations)
        start = found.end()
    rest = text[start:]
    return [*blocks, {"text": rest}] if rest else blocks


def _referred(raw: str, ledger: Ledger) -> Iterator[Evidence | None]:
    from knowledge_rag.guardrails.references import Lines, Numbers, parse  # noqa: PLC0415

    reference = parse(raw)
    for part in reference if isinstance(reference, tuple) else ():
        if isinstance(part, Numbers):
            yield from (ledger.numbered(n) for n in range(part.first, part.last + 1)[: len(ledger)])
        elif isinstance(part, Lines):
            yield ledger.lines(part.names[0], part.first, part.last)


def _citation(entry: Evidence, request: ConverseRequest) -> dict[str, Any]:
    index = int(entry.citation.source_file.rpartition("-")[2])
    result = request.results[index]
    start = _item(result, entry.citation.start_line)
    end = _item(result, entry.citation.end_line) + 1
    return {
        "title": result.title,
        "source": result.source,
        "sourceContent": [{"text": text} for text in result.texts[start:end]],
        "location": {
            "searchResultLocation": {"searchResultIndex": index, "start": start, "end": end}
        },
    }


def _item(result: SearchResult, line: int) -> int:
    """Return the item, from 0, that contains a line, from 1, of a search result."""
    for item, text in enumerate(result.texts):
        line -= text.count("\n") + 1
        if line <= 0:
            return item
    raise ValueError("no such line")


def events_of(reply: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events that stream a response."""
    yield Event("messageStart", {"role": reply["output"]["message"]["role"]})
    for index, block in enumerate(reply["output"]["message"]["content"]):
        for delta in _deltas(block):
            yield Event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
        yield Event("contentBlockStop", {"contentBlockIndex": index})
    yield Event("messageStop", {"stopReason": reply["stopReason"]})
    yield Event("metadata", {"usage": reply["usage"], "metrics": reply["metrics"]})


def _deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    cited = block.get("citationsContent")
    texts = [block["text"]] if cited is None else [part["text"] for part in cited["content"]]
    for text in texts:
        for start in range(0, len(text), _PIECE):
            yield {"text": text[start : start + _PIECE]}
    for citation in cited["citations"] if cited is not None else ():
        yield {"citation": citation}
