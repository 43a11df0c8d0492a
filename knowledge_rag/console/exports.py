"""An answer to take away, its citations with it: as Markdown for people, as JSON for programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.console.answers import Answer

_RUN: Final = re.compile("`+")


def to_json(answer: Answer) -> dict[str, Any]:
    """Give the answer without what only the page needs."""
    whole = answer.to_dict()
    return {name: value for name, value in whole.items() if name != "blocks"}


def to_markdown(answer: Answer) -> str:
    """Give the answer, and below it the lines that it rests on, word for word."""
    return neutralise("\n".join(_markdown(answer))) + "\n"


def _markdown(answer: Answer) -> Iterator[str]:
    advice = answer.recommendation
    yield from ("# Answer", "", *_fenced(answer.question), "")
    yield f"Asked {answer.asked_at}; status {advice['status']}, confidence {advice['confidence']:.2f}. {advice['reasoning']}"
    yield from ("", answer.text.strip(), "")
    if warnings := advice["warnings"]:
        yield from ("## Warnings", "")
        for one in warnings:
            yield f"- {_on_step(one)}{one['message']}"
        yield ""
    if answer.removed:
        yield from ("## References that were removed", "")
        for one in answer.removed:
            yield from ("- It stands for nothing that was retrieved:", "")
            yield from (f"  {line}" for line in _fenced(one["reference"]))
        yield ""
    yield from ("## Sources", "")
    for source in answer.sources:
        yield from _source(source)


def _on_step(warning: Mapping[str, Any]) -> str:
    return f"Step {warning['step']}: " if "step" in warning else ""


def _source(source: Mapping[str, Any]) -> Iterator[str]:
    yield f"{source['number']}. {source['reference']}"
    yield ""
    yield from (f"   {line}" if line else "" for line in _fenced(source["content"]))
    if stale := source.get("stale"):
        yield from ("", f"   Since then: {stale['message']}")
    yield ""


def _fenced(text: str) -> Iterator[str]:
    """Quote a text: nothing in it is markup, or a reference."""
    longest = max((len(run) for run in _RUN.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (fence + "text", *text.split("\n"), fence)
