"""How far a recommendation can be trusted, computed from its evidence alone.

A score of a search says nothing across types of search, and what a model says of itself says less.
What counts is how much independent evidence points the same way; docs/recommendation.md has the
formula and why it is this one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.metadata import TITLE
from knowledge_rag.core.stemming import stem
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.guardrails.verify import Cited
    from knowledge_rag.orchestrator.answer import Answer
    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.incident import Incident

AGREEMENT_WEIGHT: Final = 0.30
COVERAGE_WEIGHT: Final = 0.30
STEPS_WEIGHT: Final = 0.15
DOCUMENTS_WEIGHT: Final = 0.10
PAST_WEIGHT: Final = 0.15
"""What each kind of evidence counts for; together 1."""

ENOUGH_STEPS: Final = 3
"""Cited steps from which more add nothing."""

ENOUGH_DOCUMENTS: Final = 2
"""Cited documents from which more add nothing."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_LONG_STEM: Final = 6
"""Letters of a stem from which a last ``i`` says nothing: ``expiri``, but ``queri`` stays."""
_COMMON: Final = frozenset({
    "a", "about", "above", "after", "all", "alarm", "alert", "also", "am", "an", "and", "any",
    "are", "as", "at", "be", "because", "been", "before", "below", "but", "by", "can", "did",
    "do", "does", "error", "errors", "fail", "failed", "failing", "fails", "for", "from", "had",
    "has", "have", "how", "i", "if", "in", "incident", "into", "is", "issue", "it", "its", "many",
    "minute", "minutes", "more", "no", "not", "of", "off", "on", "one", "or", "our", "out",
    "over", "per", "problem", "s", "says", "second", "seconds", "seems", "service", "since", "so",
    "some", "than", "that", "the", "their", "them", "there", "they", "this", "though", "time",
    "to", "under", "up", "was", "we", "were", "what", "when", "where", "which", "while", "who",
    "why", "will", "with", "you", "threshold", "crossed", "critical", "warning",
})  # fmt: skip
"""Words that any incident may be told in."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a confidence rests on.

    Args:
        queries: how many were asked.
        agreeing: how many of them returned a document that is cited.
        words: how many distinct words tell of the incident.
        covered: how many of them the cited lines hold, or the headings above them.
        steps: how many steps there are.
        documents: how many documents are cited.
        past: how many similar incidents are cited.
        said: steps and similar incidents, those that cite nothing included.
        backed: how many of them cite lines that hold what they say.
    """

    queries: int = 0
    agreeing: int = 0
    words: int = 0
    covered: int = 0
    steps: int = 0
    documents: int = 0
    past: int = 0
    said: int = 0
    backed: int = 0

    @property
    def confidence(self) -> float:
        """The figure, 0..1, two decimals; 0 where nothing is backed."""
        if not self.backed:
            return 0.0
        evidence = (
            AGREEMENT_WEIGHT * _share(self.agreeing, self.queries)
            + COVERAGE_WEIGHT * _share(self.covered, self.words)
            + STEPS_WEIGHT * min(1.0, self.steps / ENOUGH_STEPS)
            + DOCUMENTS_WEIGHT * min(1.0, self.documents / ENOUGH_DOCUMENTS)
            + PAST_WEIGHT * min(1, self.past)
        )
        return round(evidence * _share(self.backed, self.said), 2)

    @property
    def reasoning(self) -> str:
        """A sentence that says what the figure rests on."""
        parts = [
            f"{counted(self.steps, 'step')} from {counted(self.documents, 'document')}",
            f"{self.agreeing} of {counted(self.queries, 'query')} returned what is cited",
        ]
        if self.words:
            told = counted(self.words, "word")
            parts.append(f"the cited lines hold {self.covered} of {told} that tell of the incident")
        parts.append(
            f"{counted(self.past, 'similar incident')} documented"
            if self.past
            else "no similar incident is documented"
        )
        if self.backed < self.said:
            parts.append(f"{self.said - self.backed} of {self.said} statements are not backed")
        return "; ".join(parts) + "."


def ground(incident: Incident, findings: Findings, answer: Answer, backed: int) -> Grounds:
    """Collect what a recommendation rests on.

    Args:
        incident: what is known.
        findings: what retrieval gave.
        answer: the parts of the verified answer.
        backed: how many of its steps and similar incidents cite lines that hold what they say.
    """
    said = [*answer.steps, *answer.similar]
    cited = [it for part in said for it in part.cited]
    documents = {it.citation.source_file for it in cited}
    told = told_of(incident)
    return Grounds(
        queries=len(findings.asked),
        agreeing=sum(_returned(asked.outcome, documents) for asked in findings.asked),
        words=len(told),
        covered=len(told & words_of(_held(findings, cited))),
        steps=len(answer.steps),
        documents=len(documents),
        past=len(answer.similar),
        said=len(said) + len(answer.uncited),
        backed=backed,
    )


def told_of(incident: Incident) -> set[str]:
    """Give the words that tell of an incident, as :func:`words_of` gives them."""
    return words_of(
        (
            *(incident.alert_name, incident.title, incident.service, incident.description),
            *incident.signals,
        )
    )


def words_of(texts: Iterable[str]) -> set[str]:
    """Give the stems of the words of texts that tell something, names taken apart.

    ``expiry`` and ``expires`` are one word here: of longer stems, a last ``i`` (a ``y`` once) is cut.
    """
    words = (found[0].lower() for text in texts for found in _WORD.finditer(text))
    return {_root(stem(word)) for word in words if word not in _COMMON and len(word) > 1}


def _root(stemmed: str) -> str:
    return stemmed[:-1] if len(stemmed) >= _LONG_STEM and stemmed[-1] == "i" else stemmed


def _held(findings: Findings, cited: Sequence[Cited]) -> Iterator[str]:
    for it in cited:
        title = findings.result(it.number).metadata.get(TITLE, "")
        yield from (it.content, it.citation.section_header, it.citation.source_file, str(title))


def _returned(outcome: RetrievalOutcome, documents: set[str]) -> bool:
    return any(result.citation.source_file in documents for result in outcome.results)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
