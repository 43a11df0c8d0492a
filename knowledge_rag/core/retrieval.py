"""One query against the knowledge base: ask, prove, select."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import RetrievalFailed
from knowledge_rag.core.failures import FORESEEN, MAX_CODE_CHARACTERS, as_failure
from knowledge_rag.core.metadata import prove
from knowledge_rag.core.outcome import (
    DropReason,
    Reason,
    RetrievalOutcome,
    RetrievalResult,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knowledge_rag.core.deadline import Deadline

MAX_QUERY_CHARACTERS: Final = 20_000
"""Longest ``retrievalQuery.text`` that Retrieve takes."""

MAX_SERVICE_RESULTS: Final = 100
"""Largest ``numberOfResults`` that Retrieve takes."""

SPARE_RESULTS: Final = 5
"""Asked for on top, to make up for results that are dropped."""

FILTER_KEYS: Final = ("document_type", "service")
"""Metadata that a caller may filter on."""

UNPROVEN: Final = frozenset({DropReason.NOT_TEXT, DropReason.NO_CITATION, DropReason.NOT_PROVEN})
"""Drops that mean the knowledge base holds what it should not."""

NO_INTERVENTION: Final = (None, "NONE")
"""Values of ``guardrailAction`` that let the results through; any other one stops them."""

TOO_LARGE_NOTICE: Final = "Passages were found, but each is too large for this caller."


class SearchType(StrEnum):
    """How Bedrock searches; it knows no other type."""

    HYBRID = "HYBRID"
    SEMANTIC = "SEMANTIC"


@dataclass(frozen=True, slots=True)
class Guardrail:
    """A Bedrock guardrail that Retrieve applies: its id and its version (a number or DRAFT)."""

    guardrail_id: str
    version: str


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What every query of a process shares.

    Args:
        knowledge_base_id: the one knowledge base that is searched.
        search_type: hybrid unless set otherwise.
        evidence_floor: results scored below it are no evidence; ``None`` for no floor. Scores of
            different search types or stores can't be compared, so it belongs to both.
        guardrail: applied by Retrieve, if any.
    """

    knowledge_base_id: str
    search_type: SearchType = SearchType.HYBRID
    evidence_floor: float | None = None
    guardrail: Guardrail | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One validated question.

    Args:
        text: not blank, at most MAX_QUERY_CHARACTERS.
        max_results: 1..MAX_SERVICE_RESULTS.
        filters: from names in FILTER_KEYS to the value that a result must have.

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


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a query gave, and the service's id of the request (``""`` where it gave none)."""

    outcome: RetrievalOutcome
    request_id: str = ""


class Retriever:
    """Asks one knowledge base.

    Args:
        client: a ``bedrock-agent-runtime`` client; :func:`bedrock.create_client` makes one that
            keeps deadlines.
        settings: what all queries share.
    """

    def __init__(self, client: Any, settings: SearchSettings) -> None:  # noqa: ANN401 - botocore makes its classes at run time
        self._client = client
        self._settings = settings

    def retrieve(self, query: Query, deadline: Deadline) -> Retrieval:
        """Search, and prove each result.

        Args:
            query: the question.
            deadline: by which the service must have answered and its results be proven.

        Raises:
            RetrievalFailed: it could not be searched, or a guardrail intervened.
        """
        request = retrieve_request(query, self._settings)
        try:
            with deadline.applied():
                response = self._client.retrieve(**request)
            return self._read(response, query, deadline)
        except FORESEEN as error:
            raise as_failure(error) from error

    def _read(self, response: Mapping[str, Any], query: Query, deadline: Deadline) -> Retrieval:
        request_id = str(response.get("ResponseMetadata", {}).get("RequestId", ""))
        request_id = request_id[:MAX_CODE_CHARACTERS]
        if response.get("guardrailAction") not in NO_INTERVENTION:
            raise RetrievalFailed(Reason.GUARDRAIL, code="INTERVENED", request_id=request_id)
        items = response.get("retrievalResults")
        if not isinstance(items, list):
            raise RetrievalFailed(
                Reason.MALFORMED_RESPONSE, code="NoRetrievalResults", request_id=request_id
            )
        outcome = select(items, query.max_results, self._settings.evidence_floor, deadline)
        return Retrieval(outcome, request_id)


def retrieve_request(query: Query, settings: SearchSettings) -> dict[str, Any]:
    """Give the parameters of the Retrieve call for ``query``."""
    search: dict[str, Any] = {
        "numberOfResults": min(query.max_results + SPARE_RESULTS, MAX_SERVICE_RESULTS),
        "overrideSearchType": settings.search_type.value,
    }
    conditions = [
        {"equals": {"key": key, "value": query.filters[key]}}
        for key in FILTER_KEYS
        if key in query.filters
    ]
    if conditions:
        search["filter"] = conditions[0] if len(conditions) == 1 else {"andAll": conditions}
    request: dict[str, Any] = {
        "knowledgeBaseId": settings.knowledge_base_id,
        "retrievalQuery": {"text": query.text},
        "retrievalConfiguration": {"vectorSearchConfiguration": search},
    }
    if settings.guardrail is not None:
        request["guardrailConfiguration"] = {
            "guardrailId": settings.guardrail.guardrail_id,
            "guardrailVersion": settings.guardrail.version,
        }
    return request


def select(
    items: list[Any],
    max_results: int,
    evidence_floor: float | None,
    deadline: Deadline | None = None,
) -> RetrievalOutcome:
    """Turn the service's items into an outcome; their order is never altered.

    When none is left, the outcome is ``no_match`` only if what was dropped scored below the floor:
    an item at or above it that can't be proven might have been the answer.

    Args:
        items: ``retrievalResults`` as it came back; members of any type. Those after the first
            MAX_SERVICE_RESULTS, which the service never sends, are counted and not looked at.
        max_results: how many results to give at most.
        evidence_floor: lowest score that counts as evidence; an absent score always counts.
        deadline: looked at before each item, if given.

    Raises:
        DeadlineExceeded: it came before the last item.
    """
    dropped: Counter[DropReason] = Counter()
    kept: dict[tuple[str, int, int], RetrievalResult] = {}
    doubtful = False
    for index, item in enumerate(items):
        if len(kept) == max_results or index == MAX_SERVICE_RESULTS:
            dropped[DropReason.OVER_LIMIT] = len(items) - index
            break
        if deadline is not None:
            deadline.remaining()
        below = _is_below(item, evidence_floor)
        proven = _prove(item)
        if isinstance(proven, RetrievalResult):
            reason = DropReason.BELOW_FLOOR if below else _keep(proven, kept)
        else:
            reason = proven
            doubtful = doubtful or not below
        if reason is not None:
            dropped[reason] += 1
    if kept:
        return RetrievalOutcome(Status.OK, tuple(kept.values()), dropped=dict(dropped))
    if doubtful or (items and not dropped[DropReason.BELOW_FLOOR]):
        return degraded(Reason.UNVERIFIABLE_RESULTS, dropped)
    return RetrievalOutcome(Status.NO_MATCH, dropped=dict(dropped))


def fit(
    outcome: RetrievalOutcome, max_bytes: int, size: Callable[[RetrievalOutcome], int]
) -> RetrievalOutcome:
    """Drop whole results, lowest ranks first, until the answer is small enough.

    A result too large to be sent even alone goes first, whatever its rank, or it would take all
    others with it.

    Args:
        outcome: what was found.
        max_bytes: what the caller's side takes.
        size: gives the bytes that an outcome takes when sent; more results take more.
    """
    if not outcome.results or size(outcome) <= max_bytes:
        return outcome
    results = [r for r in outcome.results if size(replace(outcome, results=(r,))) <= max_bytes]
    # Measuring is writing the answer: by halves, or a hundred results would be written for seconds.
    room = bisect_right(
        range(1, len(results) + 1),
        max_bytes,
        key=lambda count: size(replace(outcome, results=tuple(results[:count]))),
    )
    del results[room:]
    dropped = Counter(outcome.dropped)
    dropped[DropReason.OVER_SIZE] += len(outcome.results) - len(results)
    if not results:
        return degraded(Reason.UNVERIFIABLE_RESULTS, dropped, TOO_LARGE_NOTICE)
    return replace(outcome, results=tuple(results), dropped=dict(dropped))


def degraded(
    reason: Reason, dropped: Mapping[DropReason, int] | None = None, notice: str | None = None
) -> RetrievalOutcome:
    """Give the outcome of a query that could not be answered."""
    return RetrievalOutcome(
        Status.DEGRADED, reason=reason, dropped=dict(dropped or {}), notice=notice
    )


def unproven_count(outcome: RetrievalOutcome) -> int:
    """Count the results that were dropped because nothing proves them."""
    return sum(count for reason, count in outcome.dropped.items() if reason in UNPROVEN)


def _keep(
    result: RetrievalResult, kept: dict[tuple[str, int, int], RetrievalResult]
) -> DropReason | None:
    lines = (result.citation.source_file, result.citation.start_line, result.citation.end_line)
    if lines in kept:
        return DropReason.DUPLICATE
    kept[lines] = result
    return None


def _prove(item: object) -> RetrievalResult | DropReason:
    content = item.get("content") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(content, dict):
        return DropReason.NOT_TEXT
    if content.get("type", "TEXT") != "TEXT":
        return DropReason.NOT_TEXT
    return prove(content.get("text"), item.get("metadata"), item.get("score"))


def _is_below(item: object, floor: float | None) -> bool:
    score = item.get("score") if isinstance(item, dict) else None
    if floor is None or isinstance(score, bool) or not isinstance(score, int | float):
        return False
    return score < floor
