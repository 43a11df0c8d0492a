"""What a listener is told while an incident is looked up: events, all of them JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.metadata import (
    CAUTION,
    DOCUMENT_SHA256,
    DOCUMENT_TYPE,
    PAGE,
    SOURCE_URL,
    TITLE,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.guardrails.pieces import Piece
    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.recommendation import Recommendation

Notify = Callable[[Mapping[str, Any]], None]
"""Takes an event, a mapping of JSON values with the key ``event``:

``searching``  ``queries``: what is about to be asked
``found``      ``status`` and number of ``sources``
``evidence``   ``sources``, as ``sources_of`` gives them: all that the text after it refers to. Where an
               advisor has searched itself, it comes again and replaces the first
``text``       more ``text`` that may be shown, and its ``parts``: ``{"text"}`` of what is said,
               ``{"text", "citations": [{"number", "citation"}]}`` of each reference; ``by_model``
               is whether a model wrote it, so that it has to be shown as such
``restarted``  what was shown of the text is void: another advisor writes, or the answer came to
               something else
``done``       ``status`` of the recommendation
"""

_OF_SOURCES: Final = (TITLE, DOCUMENT_TYPE, SOURCE_URL, PAGE, CAUTION, DOCUMENT_SHA256)


class Teller:
    """Tells a listener of a consultation's stages.

    Args:
        notify: the listener; ``None`` for nobody.
    """

    def __init__(self, notify: Notify | None) -> None:
        self._notify = notify

    def searching(self, queries: tuple[Query, ...]) -> None:
        """Tell what is about to be asked."""
        self._tell("searching", queries=[query.text for query in queries])

    def found(self, findings: Findings) -> None:
        """Tell how the search ended, and what it found."""
        self._tell("found", status=findings.status.value, sources=len(findings.ledger))
        self.evidence(findings)

    def evidence(self, findings: Findings) -> None:
        """Tell what the text that follows may refer to; it replaces what was told before."""
        if self._notify and len(findings.ledger):
            self._tell("evidence", sources=sources_of(findings))

    def text(self, pieces: Iterable[Piece], *, by_model: bool) -> None:
        """Tell more of the answer."""
        if self._notify and (parts := [_part(piece) for piece in pieces]):
            text = "".join(part["text"] for part in parts)
            self._tell("text", text=text, parts=parts, by_model=by_model)

    def restarted(self) -> None:
        """Tell that what was told of the answer is void."""
        self._tell("restarted")

    def done(self, recommendation: Recommendation) -> None:
        """Tell that the recommendation stands."""
        self._tell("done", status=recommendation.status.value)

    def _tell(self, event: str, **more: object) -> None:
        if self._notify:
            self._notify({"event": event, **more})


def sources_of(findings: Findings) -> list[dict[str, Any]]:
    """Give the evidence as JSON: of each entry its number, citation, lines and what is known of it.

    Returns:
        In the order of their numbers: ``number``, ``citation``, ``content``; ``relevance_score``,
        ``title``, ``document_type``, ``source_url``, ``page``, ``caution`` and ``document_sha256``
        where known.
    """
    sources = []
    for entry in findings.ledger.entries:
        result = findings.result(entry.number)
        known = {key: result.metadata[key] for key in _OF_SOURCES if key in result.metadata}
        if result.relevance_score is not None:
            known["relevance_score"] = result.relevance_score
        cited = {"number": entry.number, "citation": entry.citation.to_dict()}
        sources.append({**cited, "content": entry.content, **known})
    return sources


def _part(piece: Piece) -> dict[str, Any]:
    if not piece.cited:
        return {"text": piece.text}
    cited = [{"number": it.number, "citation": it.citation.to_dict()} for it in piece.cited]
    return {"text": piece.text, "citations": cited}
