"""Turns an incident into a recommendation, the same way for every caller: search, advise, verify."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.metadata import (
    CAUTION,
    COMMIT,
    DOCUMENT_SHA256,
    DOCUMENT_TYPE,
    DRIFT,
    LAST_CHANGED,
    LAST_REVIEWED,
    PAGE,
    SOURCE_URL,
    TITLE,
)
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.guardrails.ledger import Piece
from knowledge_rag.orchestrator import showing
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor, advise
from knowledge_rag.orchestrator.composition import state, without_advice
from knowledge_rag.orchestrator.errors import AdviceFailed
from knowledge_rag.orchestrator.planning import (
    COMPLETION_RESULTS,
    completion,
    documents_to_complete,
    no_place,
    plan_of,
    queries_elsewhere,
)
from knowledge_rag.orchestrator.queries import build_queries
from knowledge_rag.orchestrator.retrieval import (
    Asked,
    Findings,
    contained,
    gather,
    on_behalf_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.guardrails.verify import PieceStream, Verified
    from knowledge_rag.orchestrator.advisors.advisor import Advice, Advisor
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.planning import Plan
    from knowledge_rag.orchestrator.recommendation import Recommendation
    from knowledge_rag.orchestrator.relevance import Floors
    from knowledge_rag.orchestrator.retrieval import Retrieval

MAX_ALERTS: Final = 10
"""Maximum alerts of a group that are looked up; the others are named as not looked up."""

ROUNDS_ELSEWHERE: Final = 2
"""Rounds of queries for documents that procedures refer to: one that is found by its name is completed in the second."""

_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Consultation:
    """A recommendation with its evidence.

    Args:
        advice: the answer as its advisor wrote it; ``None`` without one.
        verified: a model's answer in the form that may be shown, and the parts removed from it.
    """

    recommendation: Recommendation
    findings: Findings
    advice: Advice | None = None
    verified: Verified | None = None


async def consult(
    incident: Incident,
    retrieval: Retrieval,
    advisor: Advisor | None = None,
    *,
    queries: tuple[Query, ...] | None = None,
    notify: Notify | None = None,
) -> Consultation:
    """Return a recommendation for an incident: :func:`look_up`, then :func:`advise_on`.

    Args:
        incident: what is known.
        retrieval: the backend; it is asked even if the advisor searches itself, so that a fallback has
            evidence.
        advisor: by default the one without a model. If it fails there is no advice: wrap it in a
            fallback.
        queries: by default those that the incident suggests.
        notify: receives the events, see :data:`Notify`.
    """
    findings = await look_up(incident, retrieval, queries=queries, notify=notify)
    return await advise_on(incident, findings, advisor, notify=notify)


async def look_up(
    incident: Incident,
    retrieval: Retrieval,
    *,
    queries: tuple[Query, ...] | None = None,
    notify: Notify | None = None,
) -> Findings:
    """Search, complete the documents that contain procedures, and choose the procedures.

    The queries run in parallel, then the completions, at most MAX_COMPLETED for each alert; each has the
    budget of a query. Of the completions, only the parts that a procedure needs remain.
    """
    events = Events(notify)
    floors = getattr(retrieval, "floors", None)
    asked = [(it, "") for it in queries] if queries is not None else list(_queries(incident))
    events.send("searching", queries=[query.text for query, _ in asked])
    with on_behalf_of(incident_id=incident.incident_id):  # for the retrieval function's metrics
        outcomes = await gather([query for query, _ in asked], retrieval)
        found = [
            Asked(query, outcome, alert)
            for (query, alert), outcome in zip(asked, outcomes, strict=True)
        ]
        findings = Findings(tuple(found))
        if files := documents_to_complete(incident, findings.asked):
            wanted = [completion(incident, it) for it in files]
            findings = await _completed(incident, findings, wanted, retrieval, floors)
        findings = replace(findings, no_place=no_place(incident, findings))
        for _ in range(ROUNDS_ELSEWHERE):
            if not (wanted := queries_elsewhere(incident, findings)):
                break
            findings = await _completed(incident, findings, wanted, retrieval, floors)
    plan = findings.plan or plan_of(incident, findings, floors)
    kept = tuple(map(partial(_needed, plan=plan), findings.completions))
    findings = replace(findings, completions=kept, plan=plan)
    events.send("found", status=findings.status.value, sources=len(findings.ledger))
    events.evidence(findings)
    return findings


async def _completed(
    incident: Incident,
    findings: Findings,
    wanted: Sequence[Query],
    retrieval: Retrieval,
    floors: Floors | None,
) -> Findings:
    """Ask for more of the documents in parallel, and choose the procedures again."""
    rest = await gather(wanted, retrieval, max_results=COMPLETION_RESULTS)
    findings = replace(findings, completions=(*findings.completions, *map(Asked, wanted, rest)))
    return replace(findings, plan=plan_of(incident, findings, floors))


def _queries(incident: Incident) -> Iterator[tuple[Query, str]]:
    """Yield the queries of an incident; for a group, the first query of each alert, with its name."""
    if not incident.is_group:
        yield from ((query, "") for query in build_queries(incident))
        return
    for member in incident.alerts[:MAX_ALERTS]:
        yield from ((query, member.alert_name) for query in build_queries(member)[:1])


def _needed(asked: Asked, plan: Plan) -> Asked:
    results = tuple(it for it in asked.outcome.results if plan.needs(it.citation))
    nothing = RetrievalOutcome(Status.NO_MATCH)
    outcome = replace(asked.outcome, results=results) if results else nothing
    return replace(asked, outcome=outcome)


async def advise_on(
    incident: Incident,
    findings: Findings,
    advisor: Advisor | None = None,
    *,
    notify: Notify | None = None,
    fit: Callable[[Consultation], Consultation] | None = None,
) -> Consultation:
    """Have an advisor write from the findings of :func:`look_up`; see :func:`consult`.

    ``fit`` shortens the outcome before its text is sent; a model's text is sent as it comes.
    """
    events = Events(notify)
    answer = _LiveAnswer(events, findings)
    consultation = await _written(incident, findings, advisor or ExtractiveAdvisor(), answer)
    if fit is not None:
        consultation = await asyncio.to_thread(fit, consultation)
    answer.settle(consultation)
    events.send("done", status=consultation.recommendation.status.value)
    return consultation


async def _written(
    incident: Incident, findings: Findings, advisor: Advisor, answer: _LiveAnswer
) -> Consultation:
    with contained("advisor raised"):  # a failed answer must not lose the findings
        try:
            advice = await advise(advisor, incident, findings, answer)
        except AdviceFailed as error:
            _logger.warning("reason=%s | no advice", neutralise(error.reason))
            return Consultation(without_advice(incident, findings), findings)
        if advice.text is None:
            given = state(incident, advice.findings, advice.advisor)
            return Consultation(given, advice.findings, advice)
        # verifying a model's words takes longer to import than to quote the documents'
        from knowledge_rag.orchestrator.written import given_by  # noqa: PLC0415

        given, verified = given_by(incident, advice.text, advice)
        return Consultation(given, advice.findings, advice, verified)
    return Consultation(without_advice(incident, findings), findings)


Notify = Callable[[Mapping[str, Any]], None]
"""Receives an event, a mapping of JSON values with the key ``event``:

``searching``  ``queries``: the ones about to be run
``found``      ``status`` and number of ``sources``
``evidence``   ``sources`` of :func:`sources_of`, which the text after it refers to; sent again if an
           advisor has searched itself
``text``       more ``text`` to show, and its ``parts``: ``{"text"}`` of words,
           ``{"text", "citations": [{"number", "citation"}]}`` of each reference; ``by_model``
           is whether a model wrote it, so that it has to be shown as such
``restarted``  the text sent so far is void: another advisor writes, or the answer turned out
           different
``done``       ``status`` of the recommendation
"""

_OF_SOURCES: Final = (
    TITLE, DOCUMENT_TYPE, SOURCE_URL, PAGE, CAUTION, DRIFT, COMMIT, LAST_CHANGED, LAST_REVIEWED,
    DOCUMENT_SHA256,
)  # fmt: skip


class Events:
    """Sends the events of one consultation to a listener, if there is one."""

    def __init__(self, notify: Notify | None) -> None:
        self._notify = notify

    def send(self, event: str, **more: object) -> None:
        """Send an event."""
        if self._notify:
            self._notify({"event": event, **more})

    def evidence(self, findings: Findings) -> None:
        """Send the evidence that the text after it may refer to; it replaces earlier evidence."""
        if self._notify and len(findings.ledger):
            self.send("evidence", sources=sources_of(findings))

    def text(self, pieces: Iterable[Piece], *, by_model: bool) -> None:
        """Send more of the answer."""
        if self._notify and (parts := [_part(piece) for piece in pieces]):
            text = "".join(part["text"] for part in parts)
            self.send("text", text=text, parts=parts, by_model=by_model)


def sources_of(findings: Findings) -> list[dict[str, Any]]:
    """Return the evidence as JSON, in the order of the ledger's numbers.

    Each entry has ``number``, ``citation``, ``content``; ``relevance_score``, ``title``,
    ``document_type``, ``source_url``, ``page``, ``caution``, ``drift``, ``commit``, ``last_changed``,
    ``last_reviewed`` and ``document_sha256`` where known.
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


def evidence_of(consultation: Consultation) -> RetrievalOutcome:
    """Return all passages of a consultation as one outcome, to verify an answer that draws on it."""
    if results := consultation.findings.ledger.results:
        return RetrievalOutcome(Status.OK, tuple(results))
    if failures := consultation.findings.failures:
        return RetrievalOutcome(Status.DEGRADED, reason=failures[0])
    return RetrievalOutcome(Status.NO_MATCH)


def answer_parts(consultation: Consultation) -> tuple[list[dict[str, Any]], bool]:
    """Return the parts of an answer's text, as in the event ``text``, and whether a model wrote it."""
    pieces, by_model = _pieces(consultation)
    return [_part(piece) for piece in pieces], by_model


def _pieces(consultation: Consultation) -> tuple[list[Piece], bool]:
    """Return the text of an answer, or its summary if it recommends nothing, and whether a model wrote it."""
    given, verified = consultation.recommendation, consultation.verified
    if verified is not None and given.status is Status.OK:
        from knowledge_rag.guardrails.verify import pieces_of  # noqa: PLC0415 - as above

        return list(pieces_of(verified)), True
    ledger = consultation.findings.ledger
    return showing.pieces_of(given, ledger) or [Piece(given.summary)], False


def _part(piece: Piece) -> dict[str, Any]:
    if not piece.cited:
        return {"text": piece.text}
    cited = [{"number": it.number, "citation": it.citation.to_dict()} for it in piece.cited]
    return {"text": piece.text, "citations": cited}


class _LiveAnswer:
    """Streams an answer while it is written, verified; a ``Listener`` of an advisor.

    Nothing is shown before the first reference to retrieved lines, so that an answer without
    citations never appears. In the end the shown text is the verified answer, character by
    character, or it is retracted.
    """

    def __init__(self, events: Events, findings: Findings) -> None:
        self._events = events
        self._shown = False
        self._begin(findings)

    def _begin(self, findings: Findings) -> None:
        self._findings = findings
        self._written = ""
        self._stream: PieceStream | None = None
        self._buffer: tuple[Piece, ...] = ()

    def wrote(self, text: str, findings: Findings) -> None:
        """Take more of the answer."""
        written = self._written + text
        if findings.ledger != self._findings.ledger:
            self._restart(findings)
            text = written
        self._written = written
        if self._stream is None:
            from knowledge_rag.guardrails.verify import PieceStream  # noqa: PLC0415 - as above

            self._stream = PieceStream(findings.ledger)
        pieces = self._stream.feed(text)
        self._buffer += pieces
        if self._shown or any(piece.cited for piece in pieces):
            self._events.text(self._buffer, by_model=True)
            self._buffer, self._shown = (), True

    def settle(self, consultation: Consultation) -> None:
        """Stream the rest, or retract the streamed text and send the final answer instead.

        If it recommends nothing, that is its summary.
        """
        findings = consultation.findings
        pieces, by_model = _pieces(consultation)
        same = findings.ledger == self._findings.ledger
        if by_model and same and self._shown and self._stream is not None:
            rest, streamed = self._stream.close()
            if streamed == consultation.verified:
                self._events.text(rest, by_model=True)
                return
        self._restart(findings)
        self._events.text(pieces, by_model=by_model)

    def _restart(self, findings: Findings) -> None:
        if self._shown:
            self._events.send("restarted")
        self._shown = False
        if findings.ledger != self._findings.ledger:
            self._events.evidence(findings)
        self._begin(findings)
