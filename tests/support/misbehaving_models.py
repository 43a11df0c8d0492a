"""Models for the local server that misbehave on purpose, and one that is merely talkative.

Which one plays is the caller's choice of ``modelId``, never a word in his text.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.local.bedrock.converse import SERVICE
from knowledge_rag.local.bedrock.wire import service_model
from tests.support import answer_writers as writers
from tests.support import stream_faults as faults
from tests.support.scripted import HONEST_MODEL, modelled_error, modelled_exceptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.support.scripted import Reshape, ScriptedModel

QUOTING_ID: Final = "local.quotes"


def each_citation(change: Callable[[dict[str, Any]], object]) -> Reshape:
    """Change every citation of a reply in place."""

    def reshape(reply: dict[str, Any]) -> dict[str, Any]:
        changed = copy.deepcopy(reply)
        for block in changed["output"]["message"]["content"]:
            for citation in block.get("citationsContent", {}).get("citations", ()):
                change(citation)
        return changed

    return reshape


def relocated(move: Callable[[dict[str, int]], dict[str, int]]) -> Reshape:
    """Move every citation's ``searchResultIndex``, ``start`` and ``end``."""

    def change(citation: dict[str, Any]) -> None:
        location = citation["location"]
        location["searchResultLocation"] = move(location["searchResultLocation"])

    return each_citation(change)


def stopping(reason: str, *content: Mapping[str, Any]) -> Reshape:
    """End for this reason, with this content alone."""

    def reshape(reply: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": [dict(block) for block in content]}
        return {**reply, "output": {"message": message}, "stopReason": reason}

    return reshape


def _later(reply: dict[str, Any]) -> dict[str, Any]:
    """Add a kind of block that is not known yet."""
    content = [*reply["output"]["message"]["content"], {"hologram": {"depth": 3}}]
    return stopping(reply["stopReason"], *content)(reply)


def _truncated(reply: dict[str, Any]) -> dict[str, Any]:
    """Give the first half of the answer, its last block without its citations."""
    content = reply["output"]["message"]["content"] or [{}]
    kept = list(content[: len(content) // 2])
    begun = content[len(kept)].get("citationsContent", {}).get("content", [{}])[0].get("text", "")
    kept.append({"text": begun[: len(begun) // 2]})
    return stopping("max_tokens", *kept)(reply)


QUOTING: Final = replace(HONEST_MODEL, write=writers.quoted)
"""Honest too, and as talkative as its evidence: those that misbehave are like it but for one thing."""
_FOREVER: Final = 30.0
_BLOCKED: Final = {"text": "Sorry, the guardrail says that I can't answer that."}
_MISQUOTED: Final = {
    "sourceContent": [{"text": "Restart everything at once."}],
    "title": "runbooks/never-written.md",
    "source": "runbooks/never-written.md",
}
_OF_A_DOCUMENT: Final = {"location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 5}}}
_TOOL_USE: Final = {
    "toolUse": {"toolUseId": "tooluse_0000", "name": "restart_everything", "input": {}}
}

SCRIPTED: Final[Mapping[str, ScriptedModel]] = {
    QUOTING_ID: QUOTING,
    # what it writes
    "local.fabricates": replace(QUOTING, write=writers.fabricating(QUOTING.write)),
    "local.uncited": replace(QUOTING, write=writers.unreferenced(QUOTING.write)),
    "local.silent": replace(QUOTING, write=writers.saying("")),
    # what it says of where that is from
    "local.index-beyond": replace(
        QUOTING, reshape=relocated(lambda at: {**at, "searchResultIndex": 99})
    ),
    "local.lines-beyond": replace(
        QUOTING, reshape=relocated(lambda at: {**at, "start": 4_000, "end": 5_000})
    ),
    "local.end-beyond": replace(QUOTING, reshape=relocated(lambda at: {**at, "end": 5_000})),
    "local.reversed": replace(
        QUOTING, reshape=relocated(lambda at: {**at, "start": at["end"], "end": at["start"]})
    ),
    "local.negative": replace(QUOTING, reshape=relocated(lambda at: {**at, "start": -1})),
    "local.inclusive-ends": replace(
        QUOTING, reshape=relocated(lambda at: {**at, "end": at["end"] - 1})
    ),
    "local.no-start": replace(
        QUOTING,
        reshape=relocated(lambda at: {k: n for k, n in at.items() if k != "start"}),
    ),
    "local.no-locations": replace(QUOTING, reshape=each_citation(lambda it: it.pop("location"))),
    "local.of-a-document": replace(
        QUOTING, reshape=each_citation(lambda it: it.update(_OF_A_DOCUMENT))
    ),
    "local.misquotes": replace(QUOTING, reshape=each_citation(lambda it: it.update(_MISQUOTED))),
    # how it ends
    "local.max-tokens": replace(QUOTING, reshape=_truncated),
    "local.guardrail": replace(QUOTING, reshape=stopping("guardrail_intervened", _BLOCKED)),
    "local.filtered": replace(QUOTING, reshape=stopping("content_filtered")),
    "local.tool-use": replace(QUOTING, reshape=stopping("tool_use", _TOOL_USE)),
    "local.empty": replace(QUOTING, reshape=stopping("end_turn")),
    "local.no-output": replace(QUOTING, reshape=lambda reply: {**reply, "output": {}}),
    "local.later": replace(QUOTING, reshape=_later),
    # how it is sent
    "local.hangs": replace(QUOTING, seconds=_FOREVER, transmit=faults.late(_FOREVER)),
    "local.cut-off": replace(QUOTING, transmit=faults.cut_off(after=2)),
    "local.ends-early": replace(QUOTING, transmit=faults.ending_early(after=2)),
    "local.damaged": replace(QUOTING, transmit=faults.damaged(after=1, where=-1)),
    "local.tomorrows": replace(QUOTING, alter=faults.with_unknown_members),
}
"""Models that are played only where they are asked for, by ``modelId``."""


def errors() -> tuple[str, ...]:
    """Give the errors that ``Converse``'s model has, e.g. ThrottlingException."""
    operation = service_model(SERVICE).operation_model("Converse")
    return tuple(shape.name for shape in operation.error_shapes)


def stream_errors() -> tuple[str, ...]:
    """Give the errors that ``ConverseStream``'s model has for its stream."""
    return modelled_exceptions(SERVICE, "ConverseStreamOutput")


def refusing(code: str) -> ScriptedModel:
    """Give a model that answers every request with an error of the API's model."""
    return replace(QUOTING, refusal=modelled_error(SERVICE, code, "It failed"))


def failing_in_stream(code: str, *, after: int = 2) -> ScriptedModel:
    """Give a model whose stream ends with an exception after some events."""
    return replace(QUOTING, alter=faults.failing(code, after=after))
