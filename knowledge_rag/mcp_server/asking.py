"""The tools that answer: procedures for an alert, the skill to load, lists of documents and of outdated commands.

``ask`` returns the same answer as all other interfaces; its evidence is stored for verifying a model's answer that draws
on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.markdown import rewritten
from knowledge_rag.channel.message import BY_MODEL, evidence_line, masked, one_line, outcome_line
from knowledge_rag.channel.skills import MAX_TOKENS, find_skill, in_words
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.findings import notes_on
from knowledge_rag.core.metadata import DOCUMENT_TYPE, DRIFT
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.guardrails.headings import heading_words
from knowledge_rag.guardrails.rules import Kind
from knowledge_rag.mcp_server.card import cited_lines
from knowledge_rag.mcp_server.resources import shown_title
from knowledge_rag.mcp_server.skills import uri_of
from knowledge_rag.orchestrator.consultation import advise_on, answer_parts, evidence_of, look_up
from knowledge_rag.orchestrator.fitting import MIN_TOKENS, within
from knowledge_rag.orchestrator.incident import Incident, read_place
from knowledge_rag.orchestrator.queries import queries_for
from knowledge_rag.orchestrator.wording import BAR, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.channel.skills import Skills
    from knowledge_rag.core.citations import Citation
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.local.knowledge_base import Documents
    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.consultation import Consultation
    from knowledge_rag.orchestrator.recommendation import Recommendation
    from knowledge_rag.orchestrator.retrieval import Retrieval

Report = Callable[[int, int, str], Awaitable[None]]
"""Reports progress: steps done, total steps, and the current one."""

MAX_PAGE: Final = 100
"""Maximum documents to list at once."""
MAX_LINKS: Final = 50
"""Maximum links to lines beside one answer."""
_STAGES: Final = 3
_OF_EVIDENCE: Final = 50
"""Tokens for the sentence with the id of an answer's evidence."""


@dataclass(frozen=True, slots=True)
class Said:
    """A tool's result before it takes the protocol's form.

    ``texts`` are for a model, ``body`` is the structured content, ``cited`` are lines to link. A result that isn't an
    answer has no ``outcome``. ``lines`` returns the cited lines, for clients that show the card.
    """

    texts: tuple[str, ...]
    body: dict[str, Any]
    cited: tuple[Citation, ...] = ()
    outcome: RetrievalOutcome | None = None
    lines: Callable[[], list[dict[str, Any]]] = list


@dataclass(frozen=True, slots=True)
class Asking:
    """Runs the tools that answer.

    ``documents`` are ``None`` if they can't be read, ``skills`` if the knowledge base has none. Without an advisor,
    ``ask`` gives the procedures as written in the documents.
    """

    retrieval: Retrieval
    corrected: Callable[[str], str] = str
    documents: Documents | None = None
    skills: Callable[[], Skills] | None = None
    advisor: Advisor | None = None

    async def ask(self, arguments: Mapping[str, object], report: Report) -> Said:
        """Return the procedures for a question or an alert."""
        only(arguments, "question", "at", "max_tokens")
        most = tokens_in(arguments)
        consultation = await self._consulted(arguments, report, advisor=self.advisor)
        if most is not None:
            consultation = within(consultation, _text_of, most, _OF_EVIDENCE)
        given = consultation.recommendation
        return Said(
            tuple(_texts_of(consultation)),
            given.to_dict(),
            tuple(dict.fromkeys(_cited(given)))[:MAX_LINKS],
            evidence_of(consultation),
            lambda: cited_lines(_all_cited(given), consultation.findings.ledger),
        )

    async def find_skill(self, arguments: Mapping[str, object], report: Report) -> Said:
        """Return the skill to load for an alert."""
        only(arguments, "alert", "max_tokens")
        if self.skills is None:
            raise InvalidRequest("this knowledge base serves no skills")
        skills, most = self.skills, tokens_in(arguments)
        consultation = await self._consulted({"question": arguments.get("alert")}, report, "alert")
        it = await asyncio.to_thread(lambda: find_skill(consultation, skills()))
        body = await asyncio.to_thread(it.to_dict)
        said = await asyncio.to_thread(in_words, it, MAX_TOKENS if most is None else most)
        uris = {skill.name: uri_of(skill) for skill in it.skills if not skill.flagged}
        given = [body["load"]] if "load" in body else []
        for one in (*given, *body["could_be"], *body["closest"]):
            if one["name"] in uris:  # others aren't served
                one["uri"] = uris[one["name"]]
        return Said((said,), body)

    async def list_documents(self, arguments: Mapping[str, object], _: Report) -> Said:
        """List documents by path."""
        only(arguments, "containing", "after")
        documents = self._documents()
        part, after = _text_in(arguments, "containing"), _text_in(arguments, "after")
        if part and after:
            raise InvalidRequest("containing and after don't go together: name more of the path")
        if part:
            names = await asyncio.to_thread(documents.named_like, part, MAX_PAGE + 1)
            rows = [{"source_file": it} for it in names]
        else:
            page = await asyncio.to_thread(documents.after, after, MAX_PAGE + 1)
            rows = [{"source_file": it.source_file, "title": shown_title(it.title)} for it in page]
        body: dict[str, Any] = {"documents": rows[:MAX_PAGE], "more": len(rows) > MAX_PAGE}
        lines = (": ".join(filter(None, it.values())) for it in rows[:MAX_PAGE])
        head = counted(len(rows[:MAX_PAGE]), "document") + (", and more" if body["more"] else "")
        return Said((neutralise("\n".join((f"{head}.", *lines))),), body)

    async def check_drift(self, arguments: Mapping[str, object], _: Report) -> Said:
        """Return the commands of a document that were found at ingest to work no longer."""
        only(arguments, "source_file")
        name = _text_in(arguments, "source_file", required=True)
        passages = await asyncio.to_thread(self._documents().passages, name)
        if not passages:
            raise InvalidRequest(f"there is no document {name[:120]!a} in the knowledge base")
        notes = [
            {"line": note.line, "message": note.message}
            for it in passages
            for note in notes_on(it.citation, _stored(it.metadata.get(DRIFT)))
        ]
        lines = (f"Line {it['line']}: {it['message']}" for it in notes)
        head = f"{counted(len(notes), 'finding')} in {name}, as of its ingest."
        return Said(
            (neutralise("\n".join((head, *lines))),), {"source_file": name, "findings": notes}
        )

    def _documents(self) -> Documents:
        if self.documents is None:
            raise InvalidRequest("this knowledge base's documents can't be read here")
        return self.documents

    async def _consulted(
        self,
        arguments: Mapping[str, object],
        report: Report,
        name: str = "question",
        *,
        advisor: Advisor | None = None,
    ) -> Consultation:
        asked = _text_in(arguments, "question", required=True, said=name)
        if (incident := Incident.pasted_in(asked)) is None:
            said, asked = Incident.asked(asked), " ".join(asked.split())
            if len(asked) > MAX_QUERY_CHARACTERS:
                raise InvalidRequest(f"{name} has more than {MAX_QUERY_CHARACTERS} characters")
            incident, queries = said, queries_for(asked)
        else:
            queries = None
        at = _text_in(arguments, "at")
        if incident.is_group and (at or name == "alert"):
            count = counted(len(incident.alerts), "alert")
            raise InvalidRequest(f"that is a group of {count}: ask for one of them")
        if at:
            incident = replace(incident, at=read_place(at))
        incident = replace(incident, title=self.corrected(incident.title))
        await report(0, _STAGES, "searching")
        findings = await look_up(incident, _Unexplained(self.retrieval), queries=queries)
        if findings.no_place:
            raise InvalidRequest(f"at: {findings.no_place}")
        await report(1, _STAGES, f"found {counted(len(findings.ledger), 'passage')}")
        consultation = await advise_on(incident, findings, advisor)
        await report(2, _STAGES, "answering")
        return consultation


class _Unexplained:
    """Drops the notice of a search for earlier incidents about its filter, which nobody typed."""

    def __init__(self, retrieval: Retrieval) -> None:
        self.floors = getattr(retrieval, "floors", None)
        self._retrieval = retrieval

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """See ``orchestrator.retrieval.Retrieval``."""
        outcome = await self._retrieval.retrieve(query)
        return replace(outcome, notice=None) if DOCUMENT_TYPE in query.filters else outcome


def _text_of(consultation: Consultation) -> str:
    return "\n".join(_texts_of(consultation))


def _texts_of(consultation: Consultation) -> Iterator[str]:
    """Yield the outcome and the reading, then the steps."""
    given = consultation.recommendation
    whole = given.to_dict()
    head = [f"{outcome_line(whole)} {evidence_line(whole)}".strip()]
    said = (
        _TAKEN_OUT if it.kind == Kind.NON_EXISTENT_SOURCE else it.message for it in given.warnings
    )
    head += [f"Warning: {it}" for it in dict.fromkeys(said)]
    if given.reading:
        head.append(_AGAIN if given.meant else _READING)
        named = given.meant or [it.citation.section_header for it in given.reading]
        for name, it in zip(named, given.reading, strict=False):
            place = f"{it.citation.source_file}:{it.citation.end_line}"
            head.append(f"- {heading_words(name) or it.citation.source_file}: at={place}")
    yield neutralise("\n".join(map(one_line, head)))
    if given.status is Status.OK:
        parts, by_model = answer_parts(consultation)
        kept = [it if it.get("citations") else {"text": masked(it["text"])} for it in parts]
        written = neutralise("\n".join(rewritten(kept)))
        yield f"{BY_MODEL} {BARRED}\n{barred(written)}" if by_model else written


_AGAIN: Final = "It could be one of these. Call ask again with the same question and at:"
_READING: Final = (
    "Closest sections, to read, not to follow. If one of them is meant, call ask again with at:"
)


_TAKEN_OUT: Final = "a reference that matches nothing retrieved was removed"
"""The reference isn't shown, since a model could repeat it."""
BARRED: Final = (
    "The bar at the left of each line marks a model's words and is no part of them; the structured "
    "content has the text without it."
)


def barred(text: str) -> str:
    """Return a model's words with the bar before each line."""
    return "\n".join(f"{BAR}{line}".rstrip() for line in text.split("\n"))


def _cited(given: Recommendation) -> Iterator[Citation]:
    yield from (step.citations[0].citation for step in given.guidance)
    yield from (it.citation for it in given.reading)


def _all_cited(given: Recommendation) -> Iterator[Citation]:
    for step in given.guidance:
        yield from (it.citation for it in step.citations)
        yield from (it.citation for guard in step.guards for it in guard.citations)
    for incident in given.similar_incidents:
        yield from (it.citation for it in incident.citations)
    yield from (it.citation for it in given.reading)


def _stored(notes: object) -> Sequence[str]:
    return notes if isinstance(notes, list) else ()


def only(arguments: Mapping[str, object], *known: str, more: str = "") -> None:
    """Refuse other arguments; ``more`` ends the message."""
    if unknown := [name for name in arguments if name not in known]:
        names = ", ".join(ascii(str(name)[:40]) for name in unknown[:3])
        raise InvalidRequest(f"unknown argument {names}; known: {', '.join(known)}{more}")


def _text_in(
    arguments: Mapping[str, object], name: str, *, required: bool = False, said: str = ""
) -> str:
    value = arguments.get(name, "")
    if not isinstance(value, str):
        raise InvalidRequest(f"{said or name} must be text")
    if required and not value.strip():
        raise InvalidRequest(f"{said or name} is missing")
    return value.strip()


def tokens_in(arguments: Mapping[str, object]) -> int | None:
    """Return the maximum tokens that a call allows; ``None`` for any number."""
    value = arguments.get("max_tokens")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < MIN_TOKENS:
        raise InvalidRequest(f"max_tokens must be a whole number of at least {MIN_TOKENS}")
    return value
