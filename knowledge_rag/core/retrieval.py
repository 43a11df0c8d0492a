"""One query against the knowledge base: ask, prove, select.

A query filtered on ``source_file`` asks for a known document, so three rules differ: the evidence floor does
not apply; the best ``max_results`` passages come in line order, with the service's scores; a source policy
does not rearrange them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_rag.core.citations import check_source_file
from knowledge_rag.core.errors import DeadlineExceeded, RetrievalFailed
from knowledge_rag.core.failures import FORESEEN, MAX_CODE_CHARACTERS, as_failure
from knowledge_rag.core.locating import NOT_LOCATED, SOURCE_URI, locate, raw_passage
from knowledge_rag.core.metadata import DOCUMENT_TYPE, SOURCE_FILE, STATUS, is_out_of_use
from knowledge_rag.core.outcome import DropReason, Reason, RetrievalOutcome, Status
from knowledge_rag.core.selection import Selection, best_score, is_below

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowledge_rag.core.net.deadline import Deadline
    from knowledge_rag.core.originals import BucketOriginals
    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.core.policy import Arrangement
    from knowledge_rag.core.policy_settings import SourcePriority


MAX_QUERY_CHARACTERS: Final = 20_000
"""Longest ``retrievalQuery.text`` that Retrieve accepts."""

MAX_SERVICE_RESULTS: Final = 100
"""Largest ``numberOfResults`` that Retrieve accepts."""

SPARE_RESULTS: Final = 5
"""Extra results to request, to make up for dropped ones."""

FILTER_KEYS: Final = (DOCUMENT_TYPE, "service", SOURCE_FILE)
"""Metadata that a caller may filter on; see the module for the effect of a filter on SOURCE_FILE."""

UNPROVEN: Final = frozenset({DropReason.NOT_TEXT, DropReason.NO_CITATION, DropReason.NOT_PROVEN})
"""Drop reasons for items that the knowledge base shouldn't contain."""

NO_INTERVENTION: Final = (None, "NONE")
"""Values of ``guardrailAction`` that let the results through; any other stops them."""

TOO_LARGE_NOTICE: Final = "Passages were found, but each is too large for this caller."

ANSWERING_SECONDS: Final = 0.05
"""Part of a query's time reserved for answering: passages not located by then are left out."""

UNLOCATED_NOTICE: Final = (
    "Passages were left out: their lines could not be found in their documents, or not in time."
)

MORE_NOTICE: Final = "This document may have more passages than these."


class SearchType(StrEnum):
    """Bedrock's search types."""

    HYBRID = "HYBRID"
    SEMANTIC = "SEMANTIC"


class KnowledgeBaseType(StrEnum):
    """Bedrock's types of knowledge bases; each has its own form of request."""

    VECTOR = "VECTOR"
    MANAGED = "MANAGED"


class Guardrail(NamedTuple):
    """A Bedrock guardrail for Retrieve to apply: its id and its version (a number or DRAFT)."""

    guardrail_id: str
    version: str


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings for every query of a process.

    Args:
        knowledge_base_id: the one knowledge base to search.
        search_type: hybrid unless set otherwise.
        evidence_floor: results with lower scores are no evidence; ``None`` for no floor. Scores of
        different search types or stores can't be compared, so it is specific to both.
        guardrail: applied by Retrieve, if any.
        priority: of sources; ``None`` leaves Retrieve's order as it is. Requires hybrid search.
        knowledge_base_type: a managed one chooses its own search type.
        source_root: ``s3://<bucket>/<prefix>`` of the documents of a knowledge base that this project
        didn't ingest, whose results have no lines; ``""`` for one that it did.

    Raises:
        ValueError: a source priority with another search type or with documents without dates.
    """

    knowledge_base_id: str
    search_type: SearchType = SearchType.HYBRID
    evidence_floor: float | None = None
    guardrail: Guardrail | None = None
    priority: SourcePriority | None = None
    knowledge_base_type: KnowledgeBaseType = KnowledgeBaseType.VECTOR
    source_root: str = ""

    def __post_init__(self) -> None:
        if self.priority is not None and self.source_root:
            raise ValueError("a source priority without dates")
        if self.priority is not None and self.search_type is not SearchType.HYBRID:
            raise ValueError(f"a source priority with {self.search_type}")


@dataclass(frozen=True, slots=True)
class Query:
    """One validated question.

    Args:
        text: not blank, at most MAX_QUERY_CHARACTERS.
        max_results: 1..MAX_SERVICE_RESULTS.
        filters: from names in FILTER_KEYS to the value that a result must have; for SOURCE_FILE, a path
        as in a citation.

    Raises:
        ValueError: an argument is outside these bounds.
    """

    text: str
    max_results: int = 5
    filters: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.text.strip() or len(self.text) > MAX_QUERY_CHARACTERS:
            raise ValueError(f"query of {len(self.text)} characters, or blank")
        if not 1 <= self.max_results <= MAX_SERVICE_RESULTS:
            raise ValueError(f"max_results {self.max_results}")
        if not set(self.filters) <= set(FILTER_KEYS):
            raise ValueError(f"filters {sorted(self.filters)}")
        if self.source_file is not None:
            check_source_file(self.source_file)

    @property
    def source_file(self) -> str | None:
        """The one requested document; ``None`` if all are searched."""
        return self.filters.get(SOURCE_FILE)


class Retrieval(NamedTuple):
    """The outcome of one query, the service's request id, and the effect of the source policy.

    ``evidence_floor`` is the floor that applied, ``best_score`` the best of all items, including those below
    it. ``unread`` counts unavailable documents, by code.
    """

    outcome: RetrievalOutcome
    request_id: str = ""
    arrangement: Arrangement | None = None
    secondary_failure: RetrievalFailed | None = None
    evidence_floor: float | None = None
    best_score: float | None = None
    unread: Mapping[str, int] = MappingProxyType({})


class Retriever:
    """Queries one knowledge base by a client from :func:`bedrock.create_client`.

    ``floor`` returns the evidence floor once a query's results are there; by default it is the settings'.
    ``originals`` are the documents of ``settings.source_root``, where results have no lines.
    """

    def __init__(
        self,
        client: Any,  # noqa: ANN401 - botocore makes its classes at run time
        settings: SearchSettings,
        floor: Callable[[], float | None] | None = None,
        originals: BucketOriginals | None = None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._floor = floor or (lambda: settings.evidence_floor)
        self._originals = originals

    def retrieve(self, query: Query, deadline: Deadline) -> Retrieval:
        """Search, and prove each result, before the deadline.

        Raises:
            RetrievalFailed: the search failed, or a guardrail intervened.
        """
        if self._settings.priority is not None and query.source_file is None:
            # off by default, and then none of it is imported
            from knowledge_rag.core.policy import prioritised  # noqa: PLC0415

            return prioritised(self.found, query, self._settings, deadline, self._floor)
        answer = self.found(retrieve_request(query, self._settings), deadline)
        floor = self._floor() if query.source_file is None else None
        items, unread = self._with_lines(answer.items, floor, deadline)
        try:
            outcome = select(items, query.max_results, floor, deadline)
        except DeadlineExceeded as error:
            raise as_failure(error) from error
        if query.source_file is not None:
            # another chunker may have dropped lines, such as headings
            more = self._originals is not None or len(answer.items) >= _wanted(query)
            outcome = _in_line_order(outcome, more=more)
        else:
            outcome = _current_first(outcome)
            if not NOT_LOCATED.isdisjoint(outcome.dropped):
                outcome = replace(outcome, notice=UNLOCATED_NOTICE)
        return Retrieval(
            outcome,
            answer.request_id,
            evidence_floor=floor,
            best_score=best_score(answer.items[:MAX_SERVICE_RESULTS]),
            unread=unread,
        )

    def _with_lines(
        self, items: list[Any], floor: float | None, deadline: Deadline
    ) -> tuple[list[Any], Mapping[str, int]]:
        """Locate the items that name no lines; those below the floor are no evidence anyway."""
        if self._originals is None:
            return items, {}
        items, first = list(items), items[:MAX_SERVICE_RESULTS]
        root = self._settings.source_root
        raw = {n: one for n, item in enumerate(first) if (one := raw_passage(item, root))}
        for index in [index for index in raw if is_below(items[index], floor)]:
            items[index] = DropReason.BELOW_FLOOR
            del raw[index]
        sources = {one.source for one in raw.values() if one.text and one.source}
        read = self._originals.read(sources, deadline)

        def has_time() -> bool:
            try:
                return deadline.remaining() > ANSWERING_SECONDS
            except DeadlineExceeded:
                return False

        located = locate(list(raw.values()), read.originals.get, has_time)
        for index, found in zip(raw, located, strict=True):
            items[index] = found
        return items, read.failures

    def found(self, request: Mapping[str, Any], deadline: Deadline) -> Found:
        """Send one request and return its results as received.

        Raises:
            RetrievalFailed: the search failed, or a guardrail intervened.
        """
        try:
            with deadline.applied():
                response = self._client.retrieve(**request)
        except FORESEEN as error:
            raise as_failure(error) from error
        return _read(response)


class Found(NamedTuple):
    """The service's response: ``retrievalResults`` as received, and its request id."""

    items: list[Any]
    request_id: str


def _read(response: Mapping[str, Any]) -> Found:
    request_id = str(response.get("ResponseMetadata", {}).get("RequestId", ""))
    request_id = request_id[:MAX_CODE_CHARACTERS]
    if response.get("guardrailAction") not in NO_INTERVENTION:
        raise RetrievalFailed(Reason.GUARDRAIL, code="INTERVENED", request_id=request_id)
    items = response.get("retrievalResults")
    if not isinstance(items, list):
        raise RetrievalFailed(
            Reason.MALFORMED_RESPONSE, code="NoRetrievalResults", request_id=request_id
        )
    return Found(items, request_id)


def retrieve_request(
    query: Query,
    settings: SearchSettings,
    *,
    results: int | None = None,
    scope: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Return the parameters of a Retrieve call, by default for a few more results than the caller wants.

    ``scope`` is a metadata filter that results must match as well as the query's own.
    """
    search: dict[str, Any] = {"numberOfResults": results or _wanted(query)}
    form = "managedSearchConfiguration"
    if settings.knowledge_base_type is KnowledgeBaseType.VECTOR:
        form = "vectorSearchConfiguration"
        search["overrideSearchType"] = settings.search_type.value
    conditions: list[Mapping[str, object]] = [
        _condition(key, query.filters[key], settings.source_root)
        for key in FILTER_KEYS
        if key in query.filters
    ]
    if scope is not None:
        conditions.append(scope)
    if conditions:
        search["filter"] = conditions[0] if len(conditions) == 1 else {"andAll": conditions}
    request: dict[str, Any] = {
        "knowledgeBaseId": settings.knowledge_base_id,
        "retrievalQuery": {"text": query.text},
        "retrievalConfiguration": {form: search},
    }
    if settings.guardrail is not None:
        request["guardrailConfiguration"] = {
            "guardrailId": settings.guardrail.guardrail_id,
            "guardrailVersion": settings.guardrail.version,
        }
    return request


def _condition(key: str, value: str, source_root: str) -> dict[str, object]:
    if key == SOURCE_FILE and source_root:
        key, value = SOURCE_URI, source_root + value
    return {"equals": {"key": key, "value": value}}


def _wanted(query: Query) -> int:
    return min(query.max_results + SPARE_RESULTS, MAX_SERVICE_RESULTS)


def select(
    items: list[Any],
    max_results: int,
    evidence_floor: float | None,
    deadline: Deadline | None = None,
) -> RetrievalOutcome:
    """Turn the service's items into an outcome, in order; see :class:`~knowledge_rag.core.selection.Selection`.

    Items after the first MAX_SERVICE_RESULTS, which the service never sends, are counted and ignored.

    Raises:
        DeadlineExceeded: the deadline passed before the last item.
    """
    selection = Selection(evidence_floor, deadline)
    selection.take(items, most=max_results, first=MAX_SERVICE_RESULTS)
    return selection.outcome()


def is_whole_document(query: Query, outcome: RetrievalOutcome) -> bool:
    """Return whether an outcome is known to have every passage of the one requested document.

    ``dropped`` isn't transmitted: the notice reports the function's drops, ``dropped`` the caller's own.
    """
    return (
        outcome.status is Status.OK
        and outcome.notice is None
        and not _missing(outcome)
        and len(outcome.results) < query.max_results
        and all(result.citation.source_file == query.source_file for result in outcome.results)
    )


def _current_first(outcome: RetrievalOutcome) -> RetrievalOutcome:
    """Move the passages of documents that are no longer used behind the others; all are kept."""
    if not any(map(_is_old, outcome.results)):
        return outcome
    return replace(outcome, results=tuple(sorted(outcome.results, key=_is_old)))


def _is_old(result: RetrievalResult) -> bool:
    return is_out_of_use(result.citation.source_file, result.metadata.get(STATUS))


def _in_line_order(outcome: RetrievalOutcome, *, more: bool) -> RetrievalOutcome:
    """Order the passages of one document by line; a notice counts the missing ones.

    There may be ``more`` if the service returned as many as were requested.
    """
    missing = _missing(outcome)
    notice = MORE_NOTICE if more else None
    if missing:
        count = f"At least {missing}" if more else f"{missing}"
        notice = _of_document(count, missing, "not shown")
    results = sorted(outcome.results, key=_lines)
    return replace(outcome, results=tuple(results), notice=notice)


def _missing(outcome: RetrievalOutcome) -> int:
    """Count the passages that were found and not shown; a duplicate's lines are shown."""
    return sum(outcome.dropped.values()) - outcome.dropped.get(DropReason.DUPLICATE, 0)


def _of_document(count: str, number: int, what: str) -> str:
    subject = "passage of this document is" if number == 1 else "passages of this document are"
    return f"{count} {subject} {what}."


def _lines(result: RetrievalResult) -> tuple[int, int]:
    return result.citation.start_line, result.citation.end_line


def fit(
    outcome: RetrievalOutcome,
    max_bytes: int,
    size: Callable[[RetrievalOutcome], int],
    *,
    one_document: bool = False,
) -> RetrievalOutcome:
    """Drop whole results, lowest ranks first, until the answer is small enough.

    A result too large to be sent even alone goes first, whatever its rank.

    Args:
        outcome: of the query.
        max_bytes: the caller's limit.
        size: returns the size of an outcome when sent, in bytes; more results take more.
        one_document: whether the results are one document's, in line order: then the lowest scores
        are dropped first, and a notice counts them.
    """
    if not outcome.results or size(outcome) <= max_bytes:
        return outcome

    def with_results(results: Sequence[RetrievalResult]) -> RetrievalOutcome:
        over_size = len(outcome.results) - len(results)
        dropped = Counter(outcome.dropped)
        dropped[DropReason.OVER_SIZE] += over_size
        notice = outcome.notice
        if one_document:
            results = sorted(results, key=_lines)
            omitted = _of_document(f"{over_size}", over_size, "left out to keep the answer small")
            notice = " ".join(filter(None, (notice, omitted)))
        return replace(outcome, results=tuple(results), dropped=dict(dropped), notice=notice)

    ranked = sorted(outcome.results, key=_score, reverse=True) if one_document else outcome.results
    results = [result for result in ranked if size(with_results([result])) <= max_bytes]
    # Measuring means serialising: by halves, or a hundred results would take seconds.
    room = bisect_right(
        range(1, len(results) + 1), max_bytes, key=lambda count: size(with_results(results[:count]))
    )
    del results[room:]
    if not results:
        dropped = Counter(outcome.dropped)
        dropped[DropReason.OVER_SIZE] += len(outcome.results)
        return degraded(Reason.UNVERIFIABLE_RESULTS, dropped, TOO_LARGE_NOTICE)
    return with_results(results)


def _score(result: RetrievalResult) -> float:
    return -inf if result.relevance_score is None else result.relevance_score


def degraded(
    reason: Reason, dropped: Mapping[DropReason, int] | None = None, notice: str | None = None
) -> RetrievalOutcome:
    """Return the outcome of a query that could not be answered."""
    return RetrievalOutcome(
        Status.DEGRADED, reason=reason, dropped=dict(dropped or {}), notice=notice
    )


def unproven_count(outcome: RetrievalOutcome) -> int:
    """Count the results that were dropped because nothing proves them."""
    return sum(outcome.dropped.get(reason, 0) for reason in UNPROVEN)
