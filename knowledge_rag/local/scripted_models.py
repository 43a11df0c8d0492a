"""The model that the local server plays, by its ``modelId``; callers in Python may give it others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.local import answer_writers as writers
from knowledge_rag.local.streaming import unaltered, whole

if TYPE_CHECKING:
    from knowledge_rag.local.answer_writers import AnswerWriter
    from knowledge_rag.local.retrieve_operation import ServiceError
    from knowledge_rag.local.streaming import ByteStep, EventStep

MODEL_ID: Final = "local.extractive-v1"
"""Of the model that the server plays."""

Reshape = Callable[[dict[str, Any]], dict[str, Any]]
"""From one response body to another."""


def _unchanged(reply: dict[str, Any]) -> dict[str, Any]:
    return reply


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """A model.

    Args:
        write: writes its answer.
        reshape: what becomes of the response.
        alter: what becomes of its events, where it is streamed.
        transmit: what becomes of their bytes.
        refusal: what it answers instead.
        seconds: that pass before its response, where it is not streamed.
    """

    write: AnswerWriter = writers.extracted
    reshape: Reshape = _unchanged
    alter: EventStep = unaltered
    transmit: ByteStep = whole
    refusal: ServiceError | None = None
    seconds: float = 0.0


HONEST: Final = ScriptedModel()
