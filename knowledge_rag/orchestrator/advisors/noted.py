"""Findings with something that an advisor wants the reader to know."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge_rag.orchestrator.findings import Findings


@dataclass(frozen=True, slots=True)
class NotedFindings(Findings):
    """The same evidence; a recommendation warns of its notes as it does of retrieval's notices.

    Args:
        notes: sentences.
    """

    notes: tuple[str, ...] = ()

    @property
    def notices(self) -> tuple[str, ...]:
        """What the reader is to know: the notes first, then what retrieval has to say."""
        # by name, since a class with slots is made anew and super() alone would miss it
        of_retrieval = super(NotedFindings, self).notices
        return tuple(dict.fromkeys((*self.notes, *of_retrieval)))


def noted(findings: Findings, *notes: str) -> Findings:
    """Give the findings with these notes."""
    return NotedFindings(findings.asked, notes)
