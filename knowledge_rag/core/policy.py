"""Which sources come first: a deterministic order on top of Retrieve's, off unless it is set.

Websites come before PDFs, and for a question that asks for a date, sources that name a day to come
before those that name past days only. A rule moves only what it speaks of: the places that websites
and PDFs had are filled again, websites first, each kind in the order it had; whatever is neither
keeps its place, and so does a source without dates where dates are compared. So PDFs alone, or PDFs
among runbooks, stay as Retrieve ranked them. Nothing is scored, added or taken away.

Pure: the present day is passed in, the question and the results decide the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.metadata import DATES, DOCUMENT_TYPE, SOURCE_URL
from knowledge_rag.core.policy_questions import asks_for_a_date

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from knowledge_rag.core.outcome import RetrievalResult

_T = TypeVar("_T")


class SourceKind(StrEnum):
    """What a source is to the policy."""

    WEBSITE = "website"
    PDF = "pdf"
    OTHER = "other"


class Timing(StrEnum):
    """When the days lie that a source names."""

    FUTURE = "future"
    """One of them at least is today or later."""
    PAST = "past"
    UNDATED = "undated"


class Candidate(NamedTuple):
    """One proven result on its way to be placed.

    Args:
        result: as it will be shown.
        uri: where the service says that it is from, ``""`` where it does not.
    """

    result: RetrievalResult
    uri: str = ""


class Placement(NamedTuple):
    """Where a result stood and where it stands; ranks count from 1.

    Args:
        result: the result.
        kind: of its source.
        timing: of the days that it names.
        before: its rank as Retrieve gave it.
        by_kind: its rank with websites before PDFs.
        after: its rank with the dates looked at, too.
    """

    result: RetrievalResult
    kind: SourceKind
    timing: Timing
    before: int
    by_kind: int
    after: int

    @property
    def why(self) -> str:
        """Say in a few words what moved it."""
        reasons = []
        if self.by_kind != self.before:
            up = self.by_kind < self.before
            reasons.append("a website goes before PDFs" if up else "a PDF goes behind websites")
        if self.after != self.by_kind:
            latest = latest_date(self.result)
            up = self.after < self.by_kind
            reasons.append(f"{latest} is to come" if up else f"nothing later than {latest}")
        return "; ".join(reasons) or "kept its place"


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What the policy made of one query's results.

    Args:
        dated: whether the question asked for a date, so that dates counted.
        today: the day that they were compared with.
        placements: all candidates, in the new order.
    """

    dated: bool
    today: date
    placements: tuple[Placement, ...]


def arrange(candidates: Sequence[Candidate], question: str, today: date) -> Arrangement:
    """Put candidates in the policy's order.

    Args:
        candidates: best first, as the service ranked them.
        question: as it was asked.
        today: days from it on are to come.

    Returns:
        Every candidate once.
    """
    kinds = [source_kind(candidate) for candidate in candidates]
    timings = [timing(candidate.result, today) for candidate in candidates]
    by_kind = _refilled(range(len(candidates)), lambda index: _KIND_ORDER.get(kinds[index]))
    dated = asks_for_a_date(question, today)
    final = list(by_kind)
    for kind in SourceKind if dated else ():
        places = [place for place, index in enumerate(by_kind) if kinds[index] is kind]
        own = _refilled(
            [by_kind[place] for place in places], lambda index: _TIMING_ORDER.get(timings[index])
        )
        for place, index in zip(places, own, strict=True):
            final[place] = index
    rank_by_kind = {index: rank for rank, index in enumerate(by_kind, start=1)}
    placements = tuple(
        Placement(
            candidates[index].result,
            kinds[index],
            timings[index],
            index + 1,
            rank_by_kind[index],
            rank,
        )
        for rank, index in enumerate(final, start=1)
    )
    return Arrangement(dated, today, placements)


def source_kind(candidate: Candidate) -> SourceKind:
    """Classify a source.

    A PDF is one by its document type, or by the name of its file, its object in S3 or its address; a
    website has an http(s) address and is no PDF. Queries and fragments of addresses don't count.
    """
    result, uri = candidate
    address = result.metadata.get(SOURCE_URL)
    url = address if isinstance(address, str) else ""
    declared = result.metadata.get(DOCUMENT_TYPE) == DocumentType.PDF
    names = (result.citation.source_file, _path(uri), _path(url))
    if declared or any(name.lower().endswith(".pdf") for name in names):
        return SourceKind.PDF
    return SourceKind.WEBSITE if _is_web(url) else SourceKind.OTHER


def timing(result: RetrievalResult, today: date) -> Timing:
    """Say when the days lie that a result names."""
    latest = latest_date(result)
    if latest is None:
        return Timing.UNDATED
    return Timing.FUTURE if latest >= today.isoformat() else Timing.PAST


def latest_date(result: RetrievalResult) -> str | None:
    """Give the latest day that a result names, ISO, if any."""
    days = result.metadata.get(DATES)
    return max(days, default=None) if isinstance(days, list) else None


def past_notice(arrangement: Arrangement, shown: Sequence[RetrievalResult]) -> str | None:
    """Give the sentence for a reader who asked for a date and gets past ones only, else ``None``.

    Args:
        arrangement: of the query.
        shown: the results that are given.
    """
    latest = max((day for result in shown if (day := latest_date(result))), default=None)
    if not arrangement.dated or latest is None or latest >= arrangement.today.isoformat():
        return None
    return (
        f"Every date in these passages is past, the latest is {latest}: "
        "what they say may be outdated."
    )


_KIND_ORDER: Final = {SourceKind.WEBSITE: 0, SourceKind.PDF: 1}
_TIMING_ORDER: Final = {Timing.FUTURE: 0, Timing.PAST: 1}


def _refilled(items: Sequence[_T], key: Callable[[_T], int | None]) -> list[_T]:
    """Sort, stably, what has a key among the places that it has; the rest stays."""
    refilled = list(items)
    places = [place for place, item in enumerate(refilled) if key(item) is not None]
    moved = sorted((refilled[place] for place in places), key=lambda item: key(item) or 0)
    for place, item in zip(places, moved, strict=True):
        refilled[place] = item
    return refilled


def _path(address: str) -> str:
    try:
        path = urlsplit(address.strip()).path
    except ValueError:
        return ""
    return unquote(path).partition(";")[0].rstrip("/")


def _is_web(address: str) -> bool:
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return False
    return parts.scheme.lower() in {"http", "https"} and bool(parts.netloc)
