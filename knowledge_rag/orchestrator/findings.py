"""What was asked for an incident and what retrieval gave: the only ground of a recommendation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.ledger import Ledger

if TYPE_CHECKING:
    from knowledge_rag.core.outcome import Reason, RetrievalOutcome, RetrievalResult
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.planning import Plan


@dataclass(frozen=True, slots=True)
class Asked:
    """One query and what it gave.

    Args:
        query: the question.
        outcome: what it gave.
        alert: the alert of a group that it was asked for; ``""`` where there is one only.
    """

    query: Query
    outcome: RetrievalOutcome
    alert: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """All queries of one incident, in the order of asking.

    Args:
        asked: the queries with their outcomes; none where nothing could be asked.
        completions: queries for the rest of documents that these had found, with their outcomes.
        plan: the procedures in them; ``None`` where nobody has looked for them yet.
        notes: sentences of an advisor that the reader is to know.
        ledger: all results, numbered; made from them.

    Raises:
        InvalidCitation: a result's text has not as many lines as its citation.
    """

    asked: tuple[Asked, ...] = ()
    completions: tuple[Asked, ...] = ()
    plan: Plan | None = None
    notes: tuple[str, ...] = ()
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        ledger = Ledger.of(*(it.outcome.results for it in (*self.asked, *self.completions)))
        object.__setattr__(self, "ledger", ledger)

    @property
    def status(self) -> Status:
        """How the search as a whole ended.

        ``ok`` with any result. Without one, ``no_match`` only if every query was answered: where
        one could not be, nobody knows whether something is documented.
        """
        if len(self.ledger):
            return Status.OK
        return Status.DEGRADED if self.failures else Status.NO_MATCH

    @property
    def failures(self) -> tuple[Reason, ...]:
        """Why queries could not be answered, in the order of asking, each reason once."""
        reasons = (asked.outcome.reason for asked in self.asked)
        return tuple(dict.fromkeys(reason for reason in reasons if reason is not None))

    @property
    def notices(self) -> tuple[str, ...]:
        """What the reader is to know: an advisor's notes, then retrieval's notices, each sentence once."""
        notices = (asked.outcome.notice for asked in self.asked)
        return tuple(dict.fromkeys((*self.notes, *(notice for notice in notices if notice))))

    def result(self, number: int) -> RetrievalResult:
        """Give the result that is entry ``number`` of the ledger, with its metadata.

        Raises:
            IndexError: the ledger has no such entry.
        """
        if not 1 <= number <= len(self.ledger):
            raise IndexError(f"entry {number} of {len(self.ledger)}")
        return self.ledger.results[number - 1]
