"""From an incident to a recommendation: ask, let someone write, verify; one way for every caller."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core import telemetry
from knowledge_rag.core.metadata import (
    CAUTION,
    DOCUMENT_SHA256,
    DOCUMENT_TYPE,
    PAGE,
    SOURCE_URL,
    TITLE,
)
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.guardrails.log import log_warnings
from knowledge_rag.guardrails.pieces import Piece, PieceStream, pieces_of
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator import showing
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor, advise
from knowledge_rag.orchestrator.composition import compose, state, without_advice
from knowledge_rag.orchestrator.errors import AdviceFailed
from knowledge_rag.orchestrator.planning import (
    COMPLETION_RESULTS,
    completion,
    documents_elsewhere,
    documents_to_complete,
    plan_of,
)
from knowledge_rag.orchestrator.queries import build_queries
from knowledge_rag.orchestrator.retrieval import (
    Asked,
    Findings,
    SafeRetrieval,
    current_ids,
    gather,
    is_cancelled,
    log_defect,
    on_behalf_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.guardrails.verify import Verified
    from knowledge_rag.orchestrator.advisors.advisor import Advice, Advisor
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.planning import Floors, Plan
    from knowledge_rag.orchestrator.recommendation import Recommendation
    from knowledge_rag.orchestrator.retrieval import Retrieval

MAX_ALERTS: Final = 10
"""Alerts of a group that are looked up; the others are named as not looked up."""

_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Consultation:
    """What a consultation gave.

    Args:
        recommendation: what to do, every citation of it from the evidence.
        findings: the evidence that it rests on.
        advice: the answer as its advisor wrote it; ``None`` where nobody had to.
        verified: the answer as it may be shown, and what was taken out of it; likewise.
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
    """Return a recommendation for an incident.

    Args:
        incident: what is known.
        retrieval: the way to the knowledge base, whoever wrote it; asked even if the advisor searches
            itself, so that another can write in its place.
        advisor: who writes; by default the one without a model. Where it fails, nobody does: wrap
            it in a fallback to have it replaced.
        queries: what to ask; by default what the incident suggests.
        notify: is told of each stage, see :mod:`knowledge_rag.orchestrator.consultation`.
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
    """Ask, complete the documents that procedures stand in, and choose the procedures.

    The queries go out side by side, then the completions, at most MAX_COMPLETED for each alert; each has the
    budget of a query. Of the completions only what a procedure needs is kept.

    Args:
        incident: what is known; the alerts of a group are asked for one by one.
        retrieval: the way to the knowledge base.
        queries: what to ask; by default what the incident suggests.
        notify: is told of each stage.
    """
    teller = Teller(notify)
    floors = getattr(retrieval, "floors", None)
    asked = [(it, "") for it in queries] if queries is not None else list(_queries(incident))
    teller.searching(tuple(query for query, _ in asked))
    held = SafeRetrieval(retrieval)
    with _named(incident):
        outcomes = await gather([query for query, _ in asked], held)
        found = [
            Asked(query, outcome, alert)
            for (query, alert), outcome in zip(asked, outcomes, strict=True)
        ]
        findings = Findings(tuple(found))
        for choose in (_first, documents_elsewhere):
            if files := choose(incident, findings):
                findings = await _completed(incident, findings, files, held, floors)
    plan = findings.plan or plan_of(incident, findings, floors)
    kept = tuple(map(partial(_needed, plan=plan), findings.completions))
    findings = replace(findings, completions=kept, plan=plan)
    teller.found(findings)
    return findings


def _first(incident: Incident, findings: Findings) -> list[str]:
    return documents_to_complete(incident, findings.asked)


async def _completed(
    incident: Incident,
    findings: Findings,
    files: Sequence[str],
    retrieval: Retrieval,
    floors: Floors | None,
) -> Findings:
    """Fetch the rest of documents side by side, and choose the procedures again."""
    wanted = [completion(incident, it) for it in files]
    rest = await gather(wanted, retrieval, max_results=COMPLETION_RESULTS)
    findings = replace(findings, completions=(*findings.completions, *map(Asked, wanted, rest)))
    return replace(findings, plan=plan_of(incident, findings, floors))


def _queries(incident: Incident) -> Iterator[tuple[Query, str]]:
    """Yield the queries of an incident; of a group, the first one of each alert, with its name."""
    if not incident.is_group:
        yield from ((query, "") for query in build_queries(incident))
        return
    for member in incident.alerts[:MAX_ALERTS]:
        yield from ((query, member.alert_name) for query in build_queries(member)[:1])


def _needed(asked: Asked, plan: Plan) -> Asked:
    """Return a completion with the passages that a procedure needs."""
    results = tuple(it for it in asked.outcome.results if plan.needs(it.citation))
    return (
        replace(asked, outcome=replace(asked.outcome, results=results))
        if results
        else replace(asked, outcome=RetrievalOutcome(Status.NO_MATCH))
    )


async def advise_on(
    incident: Incident,
    findings: Findings,
    advisor: Advisor | None = None,
    *,
    notify: Notify | None = None,
) -> Consultation:
    """Have an advisor write from what was found.

    Args:
        incident: what is known.
        findings: of :func:`look_up`.
        advisor: who writes; by default the one without a model.
        notify: is told of each stage.
    """
    teller = Teller(notify)
    followed = Followed(teller, findings)
    given = await _written(incident, findings, advisor or ExtractiveAdvisor(), followed)
    followed.settle(given.findings, given.recommendation, given.verified)
    teller.done(given.recommendation)
    return given


def _named(incident: Incident) -> AbstractContextManager[None]:
    """Name the incident to the function, whose queries are counted by it; what is named already stays."""
    named = current_ids()
    return on_behalf_of(
        incident_id=incident.incident_id or named.get(telemetry.INCIDENT_ID, ""),
        session_id=named.get(telemetry.SESSION_ID, ""),
    )


async def _written(
    incident: Incident, findings: Findings, advisor: Advisor, followed: Followed
) -> Consultation:
    try:
        advice = await advise(advisor, incident, findings, followed)
        if advice.text is None:
            given = state(incident, advice.findings, advice.advisor)
            return Consultation(given, advice.findings, advice)
        verified = verify(advice.text, advice.findings.ledger)
        log_warnings(verified.warnings)
        given = compose(incident, verified, advice.findings, advice.advisor)
        return Consultation(given, advice.findings, advice, verified)
    except AdviceFailed as error:
        _logger.warning("reason=%s | no advice", neutralise(error.reason))
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        log_defect(error, "advisor raised")
    except Exception as error:  # noqa: BLE001 - what was found must not be lost with what was written
        log_defect(error, "advisor raised")
    return Consultation(without_advice(incident, findings), findings)


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


class Followed:
    """Hears an answer in the making and tells what may be shown of it; see ``live.Listener``.

    Nothing is told before the first reference that stands for retrieved lines, so that an answer
    which cites nothing is not shown even for a moment. In the end, what was told is what the
    recommendation was made of, character by character, or it is taken back.

    Args:
        teller: tells it.
        findings: the evidence that was told already.
    """

    def __init__(self, teller: Teller, findings: Findings) -> None:
        self._teller = teller
        self._findings = findings
        self._written = ""
        self._stream = PieceStream(findings.ledger)
        self._held: tuple[Piece, ...] = ()
        self._told = False

    def wrote(self, text: str, findings: Findings) -> None:
        """Take more of the answer."""
        written = self._written + text
        if findings.ledger != self._findings.ledger:
            self._take_back()
            self._now_with(findings)
            text = written
        self._written = written
        self._show(self._stream.feed(text))

    def settle(
        self, findings: Findings, recommendation: Recommendation, verified: Verified | None
    ) -> None:
        """Tell what is left to tell, or take back what was told and tell what it came to instead.

        Args:
            findings: that the recommendation rests on.
            recommendation: what the answer came to. Where it recommends nothing, its summary is all
                there is to show.
            verified: the answer; ``None`` where nobody wrote one.
        """
        if verified is None or recommendation.status is not Status.OK:
            self._take_back()
            self._now_with(findings)
            shown = showing.pieces_of(recommendation, findings.ledger)
            self._teller.text(shown or [Piece(recommendation.summary)], by_model=False)
            return
        same = findings.ledger == self._findings.ledger
        rest, told = self._stream.close()
        if self._told and same and told == verified:
            self._teller.text(rest, by_model=True)
            return
        self._take_back()
        self._now_with(findings)
        self._teller.text(pieces_of(verified), by_model=True)

    def _show(self, pieces: tuple[Piece, ...]) -> None:
        self._held += pieces
        if self._told or any(piece.cited for piece in pieces):
            self._teller.text(self._held, by_model=True)
            self._held, self._told = (), True

    def _take_back(self) -> None:
        if self._told:
            self._teller.restarted()
        self._restart()

    def _restart(self) -> None:
        self._written = ""
        self._stream = PieceStream(self._findings.ledger)
        self._held = ()
        self._told = False

    def _now_with(self, findings: Findings) -> None:
        if findings.ledger != self._findings.ledger:
            self._teller.evidence(findings)
        self._findings = findings
        self._restart()
