"""The source policy: a deterministic reordering of Retrieve's results, off unless set.

Websites come before PDFs, and for a question that asks for a date, sources with a future date before
those with only past dates. A rule moves only the sources that it names: the places of websites and PDFs are
refilled, websites first, each kind in its own order. Other sources keep their places, and so do sources
without dates where dates are compared. Nothing is scored, added or removed.

More results are requested than the caller wants, reordered, and only then cut. The secondary scope is
searched at the same time, on a thread of its own and within the same deadline. It only adds results: if it
can't be searched in time, the first search's results stay, and a notice reports it.

``docs/source-policy.md`` explains which questions ask for a date. Words that are common in runbook
questions count only where they ask for a time: "what to do when replication lags" and "the next step" do
not. Nor does a question about the past.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from knowledge_rag.core.background import Background
from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.errors import DeadlineExceeded, RetrievalFailed
from knowledge_rag.core.failures import as_failure
from knowledge_rag.core.metadata import DATES, DOCUMENT_TYPE, SOURCE_URL
from knowledge_rag.core.policy_settings import PRIMARY_RESULTS, SECONDARY_RESULTS, SourcePolicy
from knowledge_rag.core.retrieval import MAX_SERVICE_RESULTS, Retrieval, retrieve_request
from knowledge_rag.core.selection import Selection, best_score

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date
    from urllib.parse import SplitResult

    from knowledge_rag.core.net.deadline import Deadline
    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.core.retrieval import Found, Query, SearchSettings

    Ask = Callable[[Mapping[str, Any], Deadline], Found]


_T = TypeVar("_T")


class SourceKind(StrEnum):
    """Kind of a source."""

    WEBSITE = "website"
    PDF = "pdf"
    OTHER = "other"


class Timing(StrEnum):
    """Whether a source's dates are past."""

    FUTURE = "future"
    """At least one date is today or later."""
    PAST = "past"
    UNDATED = "undated"


class Candidate(NamedTuple):
    """A proven result, and its URI in the service, ``""`` for none."""

    result: RetrievalResult
    uri: str = ""


class Placement(NamedTuple):
    """Ranks of a result, from 1: by Retrieve, with websites before PDFs, and with dates compared as well."""

    result: RetrievalResult
    kind: SourceKind
    timing: Timing
    before: int
    by_kind: int
    after: int

    @property
    def why(self) -> str:
        """The reason for its rank, in a few words."""
        reasons = []
        if self.by_kind != self.before:
            up = self.by_kind < self.before
            reasons.append("a website goes before PDFs" if up else "a PDF goes after websites")
        if self.after != self.by_kind:
            latest = latest_date(self.result)
            up = self.after < self.by_kind
            reasons.append(f"{latest} is upcoming" if up else f"nothing later than {latest}")
        return "; ".join(reasons) or "kept its place"

    def to_dict(self, *, shown: bool) -> dict[str, Any]:
        """Return the wire form; ``shown`` means that the caller gets the result."""
        return {
            "citation": self.result.citation.to_dict(),
            "before": self.before,
            "after": self.after,
            "shown": shown,
            "source_kind": self.kind.value,
            "timing": self.timing.value,
            "dates": self.result.metadata.get(DATES, []),
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The new order of all candidates; dates were compared with ``today`` if a ``dated`` question asked for it."""

    dated: bool
    today: date
    placements: tuple[Placement, ...]

    def to_dict(self, shown: Sequence[RetrievalResult]) -> dict[str, Any]:
        """Return the wire form, for a caller who gets the ``shown`` results and asks for the reasons."""
        citations = {result.citation for result in shown}
        return {
            "policy": SourcePolicy.WEBSITE_FIRST.value,
            "date_related": self.dated,
            "today": self.today.isoformat(),
            "order": [
                placement.to_dict(shown=placement.result.citation in citations)
                for placement in self.placements
            ],
        }


def arrange(candidates: Sequence[Candidate], question: str, today: date) -> Arrangement:
    """Arrange candidates, best first, by the policy; dates from ``today`` on are future."""
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

    A PDF is recognised by its document type, or by the name of its file, its S3 object or its address; a
    website has an http(s) address and is no PDF. Queries and fragments of addresses are ignored.
    """
    result, uri = candidate
    address = result.metadata.get(SOURCE_URL)
    url = _split(address if isinstance(address, str) else "")
    declared = result.metadata.get(DOCUMENT_TYPE) == DocumentType.PDF
    names = (result.citation.source_file, *map(_path, (_split(uri), url)))
    if declared or any(name.lower().endswith(".pdf") for name in names):
        return SourceKind.PDF
    is_web = url.scheme in {"http", "https"} and url.netloc
    return SourceKind.WEBSITE if is_web else SourceKind.OTHER


def timing(result: RetrievalResult, today: date) -> Timing:
    """Return whether a result's dates are past."""
    latest = latest_date(result)
    if latest is None:
        return Timing.UNDATED
    return Timing.FUTURE if latest >= today.isoformat() else Timing.PAST


def latest_date(result: RetrievalResult) -> str | None:
    """Return the latest date in a result, ISO, if any."""
    days = result.metadata.get(DATES)
    return max(days, default=None) if isinstance(days, list) else None


def past_notice(arrangement: Arrangement, shown: Sequence[RetrievalResult]) -> str | None:
    """Return the notice if a question asked for a date and the shown results only have past ones."""
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
    """Sort the items that have a key, stably, among their own places; the others stay."""
    refilled = list(items)
    places = [place for place, item in enumerate(refilled) if key(item) is not None]
    moved = sorted((refilled[place] for place in places), key=lambda item: key(item) or 0)
    for place, item in zip(places, moved, strict=True):
        refilled[place] = item
    return refilled


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address.strip())
    except ValueError:
        return urlsplit("")


def _path(address: SplitResult) -> str:
    return unquote(address.path).partition(";")[0].rstrip("/")


_MONTHS: Final = "january|february|april|june|july|august|september|october|november|december"
_UNSURE_MONTHS: Final = r"may|march|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
_ORDINAL: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_WEEKDAYS: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_SPANS: Final = (
    rf"day|week|weekend|month|year|quarter|semester|term|spring|summer|autumn|fall|winter|night|"
    rf"morning|evening|{_WEEKDAYS}|{_MONTHS}|may|march"
)
_IS: Final = r"is|are|do|does|will|would|can|could|should|shall|must|might|has|have"

_FORWARD: Final = re.compile(
    rf"""
    \bupcoming\b | \bdeadlines?\b | \bcalendar\b | \btomorrow\b | \btonight\b
    | \bhow\ (?:soon|long\ until)\b
    | (?<!since\ )\b(?:this|coming|following)\ (?:{_SPANS})\b
    | \bnext\ (?!(?:steps?|actions?|commands?|hops?|tokens?|lines?|pages?|questions?|sections?
                   |things?|items?|to|in|is|are|and|or|after|if|when)\b)\w
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Words that ask about the future, regardless of the rest of a question."""

_WHEN: Final = re.compile(
    rf"""
    \bwhen(?:['’]s|['’]ll|\s+(?:{_IS})\b(?!\s+not\b))
    | \b(?:know|tell\ (?:me|us)|ask|says?|find\ out|check|remember|see|wonder(?:ing)?)\ when\b
    | \b(?:since|until|till|by|and)\ when\b | \bwhen\s*\?*\s*\Z
    | \b(?:what|which|at\ what)\ (?:time|days?|dates?|months?|weeks?|weekdays?)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)

_NAMED: Final = re.compile(
    rf"""
    \btoday\b | \b{_WEEKDAYS}\b | \b(?:{_MONTHS})\b
    | \b(?:in|on|by|until|till|before|after|since|from|during|through|of|early|mid|late)
      \ (?:may|march)\b(?!\ (?:be|not|have|fail|on)\b)
    | \b(?:{_UNSURE_MONTHS})\.?\ {_ORDINAL}\b | \b{_ORDINAL}\ (?:of\ )?(?:{_UNSURE_MONTHS})\b
    | \b(?:{_UNSURE_MONTHS})\.?,?\ (?:19|20)\d\d\b
    | (?<!up\ to\ )(?<!up-to-)(?<!out\ of\ )(?<!out-of-)(?<![\w_-])dates?\b
      (?![_-]|\ (?:formats?|fields?|columns?|types?|pars\w+|functions?|strings?|headers?)\b)
    | (?<!to\ )(?<!can't\ )(?<!cannot\ )(?<!not\ )(?<!\ can\ )\bschedules?\b | \bscheduled\ (?:for|on)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)

_YEAR: Final = re.compile(
    r"(?<![\w./:#-])(?<!port )(?<!error )(?<!code )(?<!line )(?<!exit )(?<!status )(?<!rfc )"
    r"(?<!event )(?<!errno )(20\d\d)"
    r"(?!\w|[./:%]\w|-\d{3}|\s*(?:ms|seconds|requests|connections|hosts|pods|errors|times|[kmg]i?b)\b)",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"(?<![\w./-])(20\d\d)-(\d\d)-(\d\d)(?!\d)")

_PAST: Final = re.compile(
    rf"\bwhen\s+(?:did|was|were|had)\b|\byesterday\b|\bago\b|\b(?:last|previous|past)\ (?:time|{_SPANS})\b",
    re.IGNORECASE,
)
_MONTH_NUMBERS: Final = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
_MONTH_BEFORE: Final = re.compile(
    rf"\b({_MONTHS}|{_UNSURE_MONTHS})\.?,?\s(?:\d{{1,2}},?\s)?\Z", re.IGNORECASE
)
MAX_QUESTION_CHARACTERS: Final = 1_000
"""A longer question is a pasted log, full of dates that ask for nothing."""


def asks_for_a_date(question: str, today: date) -> bool:
    """Return whether a question, cut to MAX_QUESTION_CHARACTERS, asks for a time that is not yet past."""
    asked = " ".join(question[:MAX_QUESTION_CHARACTERS].split())
    if _FORWARD.search(asked):
        return True
    if _PAST.search(asked) or _names_the_past(asked, today):
        return False
    return any(rule.search(asked) for rule in (_WHEN, _NAMED, _YEAR, _ISO))


def _names_the_past(asked: str, today: date) -> bool:
    """Return whether every date, month and year in it is past."""
    named = [tuple(map(int, found.groups())) for found in _ISO.finditer(asked)]
    rest = _ISO.sub(" ", asked)
    for found in _YEAR.finditer(rest):
        month = _MONTH_BEFORE.search(rest[: found.start()])
        number = _MONTH_NUMBERS[month[1][:3].lower()] if month else 12
        named.append((int(found[1]), number, 31))
    return bool(named) and max(named) < (today.year, today.month, today.day)


SECONDARY_NOTICE: Final = (
    "A part of the knowledge base that is searched in addition could not be searched."
)

_MOST_KEPT: Final = 0.2
"""Seconds of the deadline that the secondary search leaves for proving its results."""
_SHARE_KEPT: Final = 0.2
"""The same as a share of a shorter deadline."""


def prioritised(
    ask: Ask,
    query: Query,
    settings: SearchSettings,
    deadline: Deadline,
    floor: Callable[[], float | None],
) -> Retrieval:
    """Search, prove, and arrange the results by the policy; ``ask`` makes one Retrieve request.

    ``floor`` returns the evidence floor once the results are there.

    Raises:
        RetrievalFailed: the knowledge base could not be searched, or a guardrail intervened.
    """
    priority = settings.priority
    if priority is None:
        raise ValueError("no source priority is set")
    try:
        second = _second_search(ask, query, settings, priority.secondary_scope, deadline)
        first = ask(retrieve_request(query, settings, results=PRIMARY_RESULTS), deadline)
        selection = Selection(floor(), deadline)
        selection.take(first.items, most=PRIMARY_RESULTS, first=PRIMARY_RESULTS)
    except DeadlineExceeded as error:
        raise as_failure(error) from error
    failure = _added(selection, second) if second is not None else None
    found = zip(selection.kept.values(), selection.items, strict=True)
    candidates = [Candidate(result, _uri(item)) for result, item in found]
    arrangement = arrange(candidates, query.text, priority.today())
    shown = tuple(one.result for one in arrangement.placements[: query.max_results])
    notices = [past_notice(arrangement, shown), SECONDARY_NOTICE if failure else None]
    return Retrieval(
        selection.outcome(shown, " ".join(filter(None, notices)) or None),
        first.request_id,
        arrangement,
        failure,
        evidence_floor=selection.evidence_floor,
        best_score=best_score(first.items[:MAX_SERVICE_RESULTS]),
    )


def _second_search(
    ask: Ask,
    query: Query,
    settings: SearchSettings,
    scope: Mapping[str, object] | None,
    deadline: Deadline,
) -> tuple[Background[Found], Deadline] | None:
    """Start the search of the secondary scope, if there is one; its own deadline ends it."""
    if scope is None:
        return None
    request = retrieve_request(query, settings, results=SECONDARY_RESULTS, scope=scope)
    kept = min(_MOST_KEPT, deadline.remaining() * _SHARE_KEPT)
    own = deadline._replace(at=deadline.at - kept)
    return Background("secondary scope", lambda: ask(request, own)), own


def _added(
    selection: Selection, second: tuple[Background[Found], Deadline]
) -> RetrievalFailed | None:
    """Wait for the second search and add its results; return the failure if it failed or took too long."""
    work, deadline = second
    with suppress(DeadlineExceeded):  # it may have ended before
        work.over.wait(deadline.remaining())
    if not work.over.is_set():
        return as_failure(DeadlineExceeded("the secondary scope took too long"))
    if isinstance(work.error, RetrievalFailed):
        return work.error
    if work.error is not None:
        raise work.error
    try:
        most = PRIMARY_RESULTS + SECONDARY_RESULTS
        items = work.result.items if work.result else []
        selection.take(items, most=most, first=SECONDARY_RESULTS)
    except DeadlineExceeded as error:  # results proven so far stay
        return as_failure(error)
    return None


def _uri(item: object) -> str:
    location = item.get("location") if isinstance(item, dict) else None
    stored = location.get("s3Location") if isinstance(location, dict) else None
    uri = stored.get("uri") if isinstance(stored, dict) else None
    return uri if isinstance(uri, str) else ""
