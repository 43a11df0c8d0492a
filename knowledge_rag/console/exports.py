"""An answer to take away, its citations with it: as Markdown for people, as JSON for programs.

What this product vouches for comes first, under headings of a level that no answer's own can have:
whatever a model wrote, it can't hide the evidence, or write some of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowledge_rag.console.rewriting import citation_words, fenced, rewritten, words
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.console.answers import Answer


def to_json(answer: Answer) -> dict[str, Any]:
    """Give the answer without what only the page needs."""
    whole = answer.to_dict()
    return {name: value for name, value in whole.items() if name != "blocks"}


def to_markdown(answer: Answer) -> str:
    """Give the lines that the answer rests on, word for word, and below them the answer."""
    return neutralise("\n".join(_markdown(answer))) + "\n"


def _markdown(answer: Answer) -> Iterator[str]:
    advice = answer.recommendation
    yield from ("# Answer", "", *fenced(answer.question), "")
    yield f"Asked {answer.asked_at}; status {advice['status']}, confidence {advice['confidence']:.2f}."
    yield from ("", words(advice["reasoning"]), "")
    yield from _warnings(answer)
    yield from ("## Sources", "")
    yield f"As they were retrieved at {answer.asked_at}; what became of them later is not told here."
    yield ""
    for source in answer.sources:
        yield from _source(source, answer.asked_at)
    yield from ("## What was written", "")
    yield from rewritten(answer.parts or ({"text": answer.text},))


def _warnings(answer: Answer) -> Iterator[str]:
    if warnings := answer.recommendation["warnings"]:
        yield from ("## Warnings", "")
        for one in warnings:
            step = f"Step {one['step']}: " if "step" in one else ""
            yield f"- {step}{words(one['message'])}"
        yield ""
    if answer.removed:
        yield from ("## References that were removed", "")
        for one in answer.removed:
            yield from ("- It stands for nothing that was retrieved:", "")
            yield from (f"  {line}" for line in fenced(one["reference"]))
        yield ""


def _source(source: Mapping[str, Any], as_of: str) -> Iterator[str]:
    marker = f"{source['number']}. "
    indent = " " * len(marker)
    yield marker + citation_words(Citation(**source["citation"]))
    yield ""
    yield from (f"{indent}{line}" if line else "" for line in fenced(source["content"]))
    if stale := source.get("stale"):
        yield from ("", f"{indent}As of {as_of}: {words(stale['message'])}")
    yield ""
