"""An answer to take away, its citations with it: as Markdown for people, as JSON for programs.

The product's own words and the documents' lines come first, under headings of a level that no answer's own can have:
a model's words come last, each line of them quoted, so that they can't hide the evidence, or imitate it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.console.rewriting import citation_words, fenced, rewritten, words
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.procedures import NotShown, Why
from knowledge_rag.orchestrator.showing import missing_line
from knowledge_rag.orchestrator.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.console.answers import Answer

BY_MODEL: Final = "## Written by a model"
"""Over the words of a model; only the citations in them come from the documents."""

_FOUND: Final = {
    Status.OK: "Documented.",
    Status.NO_MATCH: "Nothing documented.",
    Status.DEGRADED: "The knowledge base could not be searched, or no advice could be verified.",
}


def to_json(answer: Answer) -> dict[str, Any]:
    """Return the answer without what only the page needs."""
    whole = answer.to_dict()
    return {name: value for name, value in whole.items() if name != "blocks"}


def to_markdown(answer: Answer) -> str:
    """Return what was found and how good the evidence is, the procedures, and the retrieved lines word for word.

    The words of a model come last, each line behind a ``>``.
    """
    return neutralise("\n".join(_markdown(answer))) + "\n"


def _markdown(answer: Answer) -> Iterator[str]:
    advice = answer.recommendation
    written = rewritten(answer.parts or ({"text": answer.text},))
    yield from ("# Answer", "", *fenced(answer.question), "")
    yield f"{_FOUND[Status(advice['status'])]} Asked {answer.asked_at}."
    yield ""
    yield from _evidence(advice)
    yield from _warnings(answer)
    yield from _alerts(advice["recommendation"])
    if advice["recommendation"].get("procedures"):
        yield from ("## Procedures", "", *written, "")
        yield from _not_shown(advice["recommendation"])
    yield from _reading(advice)
    yield from ("## Sources", "")
    yield f"As retrieved at {answer.asked_at}; later changes are not shown."
    yield ""
    for source in answer.sources:
        yield from _source(source, answer.asked_at)
    if answer.by_model:
        yield from (BY_MODEL, "", *(f"> {line}".rstrip() for line in written))


def _evidence(advice: Mapping[str, Any]) -> Iterator[str]:
    """Yield how good the evidence is, in words; where there is none, why."""
    if evidence := advice.get("evidence"):
        reasons = "; ".join(evidence["reasons"])
        why = f" ({reasons})" if reasons else ""
        yield from (words(f"Evidence: {evidence['strength']}{why}"), "")
        return
    yield from (words(advice["reasoning"]), "")


def _alerts(advice: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the alerts of a group got."""
    told = {
        Status.OK: "documented",
        Status.NO_MATCH: "nothing documented",
        Status.DEGRADED: "could not be looked up",
    }
    if alerts := advice.get("alerts"):
        yield from ("## Alerts", "")
        yield from (f"- {words(it['alert'])}: {told[Status(it['status'])]}" for it in alerts)
        yield ""


def _not_shown(advice: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the procedures that are not shown, and why."""
    lines = [it for procedure in advice["procedures"] for it in procedure["not_shown"]]
    if lines:
        yield from ("## Not shown", "")
        for it in lines:
            place = (it["source_file"], it["start_line"], it["end_line"])
            line = missing_line(NotShown(*place, Why(it["reason"]), it.get("heading", "")))
            yield f"- {words(line.removeprefix('not shown: '))}"
        yield ""


def _reading(advice: Mapping[str, Any]) -> Iterator[str]:
    """Yield the closest sections where nothing is documented, and the words that nothing mentions."""
    if reading := advice["recommendation"].get("reading"):
        yield from ("## Closest sections, to read, not to follow", "")
        for it in reading:
            lines = f"{it['source_file']}:{it['start_line']}-{it['end_line']}"
            heading = f" ({it['section_header']})" if it["section_header"] else ""
            yield f"- {words(lines + heading)}"
        yield ""
    unknown = advice["recommendation"].get("unknown_words", ())
    if missed := [it for it in unknown if it not in advice["reasoning"]]:
        yield from (words(f"Nothing found mentions {listed(missed)}."), "")


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
    if caution := source.get("caution"):
        yield from ("", f"{indent}{words(caution)}")
    if stale := source.get("stale"):
        yield from ("", f"{indent}As of {as_of}: {words(stale['message'])}")
    yield ""
