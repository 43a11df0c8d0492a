"""Exports an answer with its citations: as Markdown for people, as JSON for programs.

The product's own words and the documents' lines come first, under headings at levels that an answer's headings can't
have. A model's words come last, each line quoted, so that they can't hide or imitate the evidence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.markdown import citation_words, fenced, rewritten, words
from knowledge_rag.channel.message import evidence_line, facts, message_from, outcome_line
from knowledge_rag.channel.text import to_text
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.guardrails.headings import heading_words
from knowledge_rag.orchestrator.procedures import NotShown, Why
from knowledge_rag.orchestrator.showing import missing_line
from knowledge_rag.orchestrator.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from knowledge_rag.channel.message import Message
    from knowledge_rag.console.answers import Answer
    from knowledge_rag.core.repository_links import RepositoryLinks

BY_MODEL: Final = "## Written by a model"
"""The heading above a model's words; only the citations in them come from the documents."""

_ALERTS: Final = {
    "ok": "documented",
    "no_match": "nothing documented",
    "degraded": "could not be looked up",
}


def to_json(answer: Answer) -> dict[str, Any]:
    """Return the answer without its rendered blocks."""
    return {name: value for name, value in answer.to_dict().items() if name != "blocks"}


def to_markdown(answer: Answer, repository: RepositoryLinks | None = None) -> str:
    """Return the outcome and its evidence, the procedures, the cited lines, then a model's words, quoted."""
    return neutralise("\n".join(_markdown(answer, repository))) + "\n"


def to_note(answer: Answer, repository: RepositoryLinks | None = None) -> str:
    """Return an answer as plain text, for notes in a pager or a ticket."""
    return to_text(message_of(answer, repository))


def to_chat(answer: Answer, repository: RepositoryLinks | None = None) -> str:
    """Return an answer as text to paste into a chat; it mentions nobody."""
    return to_text(message_of(answer, repository), for_chat=True)


def message_of(answer: Answer, repository: RepositoryLinks | None = None) -> Message:
    """Return the contents of an answer, for writing it in another form."""
    parts = answer.parts or ({"text": answer.text},)
    made = message_from(answer.question, answer.recommendation, parts, by_model=answer.by_model)
    rows = (answer.incident or {}).get("alerts", ())
    about = (facts(it["name"], it["severity"], it["service"], it["since"]) for it in rows)
    return replace(made, about=tuple(filter(None, about)), links=repository)


def cited_sources(answer: Answer) -> list[Mapping[str, Any]]:
    """Return the sources that an answer cites, in the order of the answer; all of them if it cites none."""
    cited = [one["number"] for part in answer.parts for one in part.get("citations", ())]
    by_number = {source["number"]: source for source in answer.sources}
    found = [by_number[number] for number in dict.fromkeys(cited) if number in by_number]
    return found or list(answer.sources)


def _markdown(answer: Answer, repository: RepositoryLinks | None) -> Iterator[str]:
    whole = answer.recommendation
    advice = whole["recommendation"]
    written = rewritten(answer.parts or ({"text": answer.text},))
    yield from ("# Answer", "", *fenced(answer.question), "")
    meant = advice.get("meant", ())
    yield f"{outcome_line(whole)} Asked {answer.asked_at}."
    yield from ("", words(evidence_line(whole)), "")
    yield from _section("Warnings", map(_warning, whole["warnings"]))
    yield from _section("References that were removed", _removed(answer.removed))
    alerts = advice.get("alerts", ())
    yield from _section(
        "Alerts", (f"- {words(it['alert'])}: {_ALERTS[it['status']]}" for it in alerts)
    )
    if procedures := advice.get("procedures"):
        yield from ("## Procedures", "", *written, "")
        missing = (it for procedure in procedures for it in procedure["not_shown"])
        yield from _section("Not shown", map(_not_shown, missing))
    reading = [_reading(it) for it in advice.get("reading", ())]
    if meant:
        named = zip(meant, reading, strict=True)
        yield from _section(
            "It could be", (f"- {words(heading_words(name))}: {it[2:]}" for name, it in named)
        )
    else:
        yield from _section("Closest sections, to read, not to follow", reading)
    unknown = [it for it in advice.get("unknown_words", ()) if it not in whole["reasoning"]]
    if unknown:
        yield from (words(f"Nothing found mentions {listed(unknown, 'or')}."), "")
    yield from ("## Sources", "")
    yield from (f"As retrieved at {answer.asked_at}; later changes are not shown.", "")
    for source in cited_sources(answer):
        yield from _source(source, answer.asked_at, repository)
    if answer.by_model:
        yield from (BY_MODEL, "", *(f"> {line}".rstrip() for line in written))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    if found := list(lines):
        yield from (f"## {title}", "", *found, "")


def _warning(one: Mapping[str, Any]) -> str:
    step = f"Step {one['step']}: " if "step" in one else ""
    return f"- {step}{words(one['message'])}"


def _removed(removed: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for one in removed:
        yield from ("- Nothing retrieved matches it:", "")
        yield from (f"  {line}" for line in fenced(one["reference"]))


def _not_shown(it: Mapping[str, Any]) -> str:
    place = (it["source_file"], it["start_line"], it["end_line"])
    line = missing_line(NotShown(*place, Why(it["reason"]), it.get("heading", "")))
    return f"- {words(line.removeprefix('not shown: '))}"


def _reading(it: Mapping[str, Any]) -> str:
    lines = f"{it['source_file']}:{it['start_line']}-{it['end_line']}"
    heading = f" ({it['section_header']})" if it["section_header"] else ""
    return f"- {words(lines + heading)}"


def _source(
    source: Mapping[str, Any], as_of: str, repository: RepositoryLinks | None
) -> Iterator[str]:
    citation = Citation(**source["citation"])
    lines = (citation.source_file, citation.start_line, citation.end_line)
    url = repository.url(*lines) if repository else ""
    link = f" <{url}>" if url else ""
    yield from (f"- {citation_words(citation)}{link}", "")
    indent = "  "
    yield from (f"{indent}{line}" if line else "" for line in fenced(source["content"]))
    if caution := source.get("caution"):
        yield from ("", f"{indent}{words(caution)}")
    for said in source.get("drift", ()):
        yield from ("", f"{indent}{words(said)}")
    if stale := source.get("stale"):
        yield from ("", f"{indent}As of {as_of}: {words(stale['message'])}")
    yield ""
