"""Bedrock's ``Converse`` and ``ConverseStream``: an answer with citations of the lines it is from.

The writer refers to lines as every answer here does; those references become the API's own
locations, whose ``start`` (from 0) and ``end`` (exclusive) count the items of a search result's
content.
"""

from __future__ import annotations

import math
import re
import time
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.tokens import token_cost
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.references import Lines, Numbers, parse
from knowledge_rag.local.converse_request import model_missing, parse_converse_request
from knowledge_rag.local.event_stream import Event, encode
from knowledge_rag.local.scripted_models import HONEST, MODEL_ID

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from knowledge_rag.guardrails.ledger import Evidence
    from knowledge_rag.local.converse_request import ConverseRequest, SearchResult
    from knowledge_rag.local.scripted_models import ScriptedModel
    from knowledge_rag.local.streaming import Piece

_BRACKET: Final = re.compile(r"[ \t]*\[([^\[\]\n]+)\]")
_PIECE: Final = 40
"""Characters of one delta of a stream."""


class Models:
    """The models of one server.

    Args:
        scripted: further models, by ``modelId``.
    """

    def __init__(self, scripted: Mapping[str, ScriptedModel] | None = None) -> None:
        self._models = {MODEL_ID: HONEST, **(scripted or {})}

    def converse(self, model_id: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        """Answer a request, and say how many seconds are to pass before the answer is sent.

        Raises:
            ServiceError: it can't be served.
        """
        model, request = self._checked(model_id, body)
        return model.reshape(_reply(model, request)), model.seconds

    def stream(self, model_id: str, body: Mapping[str, Any]) -> Generator[Piece]:
        """Answer a request by the pieces of an event stream.

        Raises:
            ServiceError: it can't be served.
        """
        model, request = self._checked(model_id, body)
        reply = model.reshape(_reply(model, request))
        return model.transmit(encode(event) for event in model.alter(_events(reply)))

    def _checked(
        self, model_id: str, body: Mapping[str, Any]
    ) -> tuple[ScriptedModel, ConverseRequest]:
        request = parse_converse_request(model_id, body)
        model = self._models.get(model_id)
        if model is None:
            raise model_missing()
        if model.refusal is not None:
            raise model.refusal
        return model, request


def _reply(model: ScriptedModel, request: ConverseRequest) -> dict[str, Any]:
    started = time.monotonic()
    evidence = request.evidence()
    text, stop_reason = _bounded(model.write(request.text, [evidence]), request)
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
    """End an answer where the request wants it to end, and say why it does."""
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
    """Cut an answer at its references: what stands before one is what it is cited for."""
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
    """Give the item, from 0, that a line, from 1, of a search result stands in."""
    for item, text in enumerate(result.texts):
        line -= text.count("\n") + 1
        if line <= 0:
            return item
    raise ValueError("no such line")


def _events(reply: Mapping[str, Any]) -> Iterator[Event]:
    yield Event("messageStart", {"role": reply["output"]["message"]["role"]})
    for index, block in enumerate(reply["output"]["message"]["content"]):
        if "toolUse" in block:
            use = block["toolUse"]
            begun = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
            yield Event("contentBlockStart", {"contentBlockIndex": index, "start": begun})
        for delta in _deltas(block):
            yield Event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
        yield Event("contentBlockStop", {"contentBlockIndex": index})
    yield Event("messageStop", {"stopReason": reply["stopReason"]})
    yield Event("metadata", {"usage": reply["usage"], "metrics": reply["metrics"]})


def _deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if "toolUse" in block:
        yield {"toolUse": {"input": "{}"}}
        return
    cited = block.get("citationsContent")
    texts = [block["text"]] if cited is None else [part["text"] for part in cited["content"]]
    for text in texts:
        for start in range(0, len(text), _PIECE):
            yield {"text": text[start : start + _PIECE]}
    for citation in cited["citations"] if cited is not None else ():
        yield {"citation": citation}
