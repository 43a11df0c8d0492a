"""Small documents, cut by the real chunker, and a search over them that a test can follow by hand."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.metadata import (
    ALERTS,
    DOCUMENT_TYPE,
    SOURCE_FILE,
    TITLE,
    prove,
    stored_text,
    to_metadata,
)
from knowledge_rag.core.outcome import RetrievalOutcome, RetrievalResult, Status
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.outline import outline_of
from knowledge_rag.orchestrator.procedures import procedure_of
from knowledge_rag.orchestrator.words import word_list
from tests.unit.orchestrator.schema import VALIDATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.consultation import Consultation
    from knowledge_rag.orchestrator.outline import Outline, Section
    from knowledge_rag.orchestrator.procedures import Procedure
    from knowledge_rag.orchestrator.recommendation import CitedLines, Recommendation

PAGE = "runbooks/page.md"
"""Name of a document whose name does not matter."""


def passages(source_file: str, text: str) -> list[RetrievalResult]:
    """Return all passages of a document, proven as retrieval proves them."""
    document, decoded = read_document(source_file, text.encode())
    proven = [
        prove(stored_text(chunk), to_metadata(chunk), 0.5)
        for chunk in chunk_text(document, decoded)
    ]
    assert all(isinstance(it, RetrievalResult) for it in proven)
    return [it for it in proven if isinstance(it, RetrievalResult)]


def outlined(text: str, source_file: str = PAGE) -> Outline:
    """Return the outline of a document that was retrieved whole."""
    return outline_of(passages(source_file, text), whole=True)


def outlined_in_part(text: str, *kept: int, source_file: str = PAGE) -> Outline:
    """Return the outline of a document of which only some passages were retrieved.

    Args:
        text: of the document.
        kept: places of the passages, from 0.
        source_file: name of the document.
    """
    found = passages(source_file, text)
    return outline_of([found[place] for place in kept], whole=False)


def section_called(outline: Outline, heading: str) -> Section:
    """Return the one section with a heading."""
    (section,) = [it for it in outline.sections() if it.heading == heading]
    return section


def procedure_in(text: str, heading: str = "", source_file: str = PAGE) -> Procedure:
    """Return the procedure of a section, or of the whole document."""
    outline = outlined(text, source_file)
    section = section_called(outline, heading) if heading else outline.root
    procedure = procedure_of(outline, section)
    assert procedure is not None
    return procedure


class Search:
    """Searches documents by shared words: the score of a passage is the share of the query's words in it.

    A query for one document returns all of its passages in the order of lines, as the real backends do.

    Args:
        texts: the documents by name.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._passages = [it for name, text in texts.items() for it in passages(name, text)]
        self.asked: list[Query] = []

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Return the best passages."""
        self.asked.append(query)
        found = self._of_one(query) if query.source_file else self._best(query)
        results = tuple(found)[: query.max_results]
        return RetrievalOutcome(Status.OK if results else Status.NO_MATCH, results)

    def _of_one(self, query: Query) -> Iterator[RetrievalResult]:
        wanted = query.filters[SOURCE_FILE]
        return (it for it in self._passages if it.citation.source_file == wanted)

    def _best(self, query: Query) -> Iterator[RetrievalResult]:
        asked = set(word_list([query.text]))
        kind = query.filters.get(DOCUMENT_TYPE)
        scored = [
            replace(it, relevance_score=len(asked & _words(it)) / max(len(asked), 1))
            for it in self._passages
            if kind in (None, it.metadata.get(DOCUMENT_TYPE))
        ]
        ranked = sorted(scored, key=lambda it: -(it.relevance_score or 0.0))
        return (it for it in ranked if it.relevance_score)


def _words(passage: RetrievalResult) -> set[str]:
    # what a real search embeds with a passage
    known = [str(passage.metadata.get(key, "")) for key in (TITLE, ALERTS)]
    return set(word_list([passage.citation.source_file, *known, passage.content]))


def consulted(incident: Incident, texts: Mapping[str, str]) -> Consultation:
    """Return what the product answers for an incident, from documents by name, without a model."""
    given = asyncio.run(consult(incident, Search(texts)))
    VALIDATOR.validate(given.recommendation.to_dict())
    return given


def advised(incident: Incident, texts: Mapping[str, str]) -> Recommendation:
    """Return the recommendation for an incident, from documents by name, without a model."""
    return consulted(incident, texts).recommendation


def alert(name: str, **more: Any) -> Incident:
    """Return the incident of an alert."""
    return Incident(alert_name=name, **more)


def question(text: str) -> Incident:
    """Return the incident that a typed question is."""
    return Incident(title=text)


def actions(recommendation: Recommendation) -> list[str]:
    """Return what each step says."""
    return [step.action for step in recommendation.guidance]


def all_citations(recommendation: Recommendation) -> Iterator[CitedLines]:
    """Yield every citation of a recommendation: of steps, warnings, earlier incidents and reading."""
    for step in recommendation.guidance:
        yield from step.citations
        for guard in step.guards:
            yield from guard.citations
    for similar in recommendation.similar_incidents:
        yield from similar.citations
    yield from recommendation.reading


def assert_cites_exactly(given: Consultation, texts: Mapping[str, str]) -> None:
    """Check that every citation is in the ledger, and that its hash is the one of the document's lines."""
    ledger = given.findings.ledger
    for cited in all_citations(given.recommendation):
        at = cited.citation
        found = ledger.lines(at.source_file, at.start_line, at.end_line)
        assert found is not None, at
        lines = texts[at.source_file].split("\n")[at.start_line - 1 : at.end_line]
        assert found.content == "\n".join(lines), at
        assert cited.text_sha256 == hashlib.sha256(found.content.encode()).hexdigest(), at


def cited_lines(cited: Iterable[CitedLines]) -> set[int]:
    """Return the numbers of the lines that citations of one document name."""
    return {
        number for it in cited for number in range(it.citation.start_line, it.citation.end_line + 1)
    }
