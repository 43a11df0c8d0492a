"""Queries and results for one alert of an incident, or for all of it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.metadata import ALERTS, DOCUMENT_TYPE, SECTION_PATH, TITLE
from knowledge_rag.orchestrator.links import anchored, linked_documents, stem
from knowledge_rag.orchestrator.naming import is_camel_case, names_alert, same_name
from knowledge_rag.orchestrator.queries import name_alone
from knowledge_rag.orchestrator.wanted import INCIDENT_NUMBER, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.retrieval import Asked


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a search, by document.

    Args:
        passages: the best score of each passage of a document, by first and last line.
        pages: how well the best passage of a document did, 0..1.
    """

    passages: Mapping[str, Mapping[tuple[int, int], float]] = field(default_factory=dict)
    pages: Mapping[str, float] = field(default_factory=dict)


MAX_COMPLETED: Final = 3
"""Maximum documents that are completed for one alert."""


class Search:
    """Queries and results for one alert of an incident, or for all of it.

    Attributes:
        wanted: its request.
        nearest: passages below the evidence floor that the first query found.
        order: documents that may give steps, likeliest first.
        sure: number of them that are chosen, linked, or named after the alert.
    """

    def __init__(self, member: Incident, incident: Incident, asked: Sequence[Asked]) -> None:
        self.member = member
        self.alert = "" if member is incident else member.alert_name
        mine = (it for it in asked if member is incident or it.alert == self.alert)
        self.asked = list(_counting(mine, member))
        self.results = [result for it in self.asked for result in it.outcome.results]
        self.nearest = self.asked[0].outcome.nearest if self.asked else ()
        self.wanted = wanted_by(member, self.results)
        self.evidence = _evidence(self.asked)
        self.order, self.sure = self._order()

    def _order(self) -> tuple[list[str], int]:
        if self.wanted.at:
            return [self.wanted.at[0]], 1
        pages = self.evidence.pages
        ranked = sorted(pages, key=lambda name: -pages[name])
        first = {it.citation.source_file: it.metadata for it in reversed(self.results)}
        reports = [it for it in ranked if first[it].get(DOCUMENT_TYPE) == DocumentType.POSTMORTEM]
        usable = reports if self.wanted.is_past else []
        usable = usable or [it for it in ranked if it not in reports]
        named = {it.citation.source_file for it in self.results if _is_named(it, self.wanted.names)}
        sure = dict.fromkeys([*self.wanted.anchors, *(it for it in usable if it in named)])
        return list(dict.fromkeys([*sure, *usable])), len(sure) if self.wanted.is_alert else 0

    def usable(self) -> list[RetrievalResult]:
        """Return the first query's results in documents that may give steps; all its results if there are none."""
        found = self.asked[0].outcome.results if self.asked else self.results
        return [it for it in found if it.citation.source_file in self.order] or [*found]

    def score(self, source_file: str) -> float:
        """Return the best score of a passage of a document; 0 if there is none."""
        own = (it for it in self.results if it.citation.source_file == source_file)
        return max((it.relevance_score or 0.0 for it in own), default=0.0)


def _evidence(asked: Iterable[Asked]) -> Evidence:
    """Return a search's evidence: each passage's best score, and each page's best as a share of a query's best."""
    passages: dict[str, dict[tuple[int, int], float]] = defaultdict(lambda: defaultdict(float))
    pages: dict[str, float] = defaultdict(float)
    for it in asked:
        best = max((result.relevance_score or 0.0 for result in it.outcome.results), default=0.0)
        for rank, result in enumerate(it.outcome.results):
            # a search without scores still ranks
            score = (result.relevance_score or 0.0) if best > 0 else 2 / (2 + rank)
            name = result.citation.source_file
            lines = (result.citation.start_line, result.citation.end_line)
            passages[name][lines] = max(passages[name][lines], score)
            pages[name] = max(pages[name], score / best if best > 0 else score)
    return Evidence(passages, pages)


def _counting(asked: Iterable[Asked], member: Incident) -> Iterator[Asked]:
    """Yield the queries; of one for the alert's name alone, only the results filed under it, since it has no symptoms."""
    for n, it in enumerate(asked):
        if n == 0 or it.query.text != name_alone(member) or not it.outcome.results:
            yield it
            continue
        filed = tuple(one for one in it.outcome.results if _is_called(one, member.alert_name))
        if filed:
            yield replace(it, outcome=replace(it.outcome, results=filed))


def _written(result: RetrievalResult) -> list[str]:
    """Return the names of a passage's page and section."""
    alerts = result.metadata.get(ALERTS)
    return [
        *(alerts if isinstance(alerts, list) else ()),
        str(result.metadata.get(TITLE, "")),
        result.citation.section_header,
        stem(result.citation.source_file),
    ]


def _is_called(result: RetrievalResult, name: str) -> bool:
    return any(same_name(it, name) for it in _written(result))


def _is_named(result: RetrievalResult, names: Sequence[str]) -> bool:
    return any(name in result.content or _is_called(result, name) for name in names)


def _spelled(text: str, results: Sequence[RetrievalResult]) -> Iterator[str]:
    """Yield the alerts that sections and pages are named after, if a text has their words in order.

    "datalake ingest stalled: no new files" names DatalakeIngestStalled; VaultSealed has to be written as it is.
    """
    for written in dict.fromkeys(it for result in results for it in _written(result)):
        if _TWO_HUMPS.fullmatch(written) and re.search(rf"(?<![\w-]){written}(?![\w-])", text):
            yield written
        if is_camel_case(written):
            spelled = _BETWEEN_WORDS.join(map(re.escape, _HUMP.findall(written)))
            if re.search(rf"\b{spelled}\b", text, re.IGNORECASE):
                yield written


def _numbers(text: str, results: Sequence[RetrievalResult]) -> Iterator[str]:
    """Yield the numbers of incidents in a text that titles of postmortems begin with."""
    held = set(INCIDENT_NUMBER.findall(text.upper()))
    for result in results:
        if result.metadata.get(DOCUMENT_TYPE) == DocumentType.POSTMORTEM:
            for title in map(result.metadata.get, ("incident_id", TITLE, SECTION_PATH)):
                if (begun := INCIDENT_NUMBER.match(str(title))) and begun[0] in held:
                    yield begun[0]


_TWO_HUMPS: Final = re.compile(r"[A-Z][a-z\d]+[A-Z][a-z\d]+")
_BETWEEN_WORDS: Final = r"[\W_]{0,3}"
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def wanted_by(member: Incident, results: Sequence[RetrievalResult]) -> Wanted:
    """Return the request of an incident."""
    text = " ".join(filter(None, (member.title, member.description, *member.signals)))
    is_unnamed = " " in member.alert_name or not member.alert_name
    # in words, only names written like alerts count: "auto-deploy" and "pubsub-rails" may be anything
    more = filter(is_camel_case, member.names) if is_unnamed else ()
    # some pagers have only a title, which is the alert's name if a page says so
    filed = (
        it
        for it in (member.title,)
        if not member.alert_name
        and any(names_alert(line, it) for one in results for line in one.content.split("\n"))
    )
    # "DatastoreFull: DS-GOLD-04 has less than 1 % free": only a page with that name can confirm it
    called, colon, _ = member.title.partition(":")
    # an alert named "MariaDB: lag is high" is about a product, unless a section or page is called so
    is_known = not member.alert_name or any(_is_called(it, called) for it in results)
    is_name = (is_unnamed and is_known) and re.fullmatch(
        r"[^\W_][\w-]*[A-Z_-][\w-]*(?<!-\w)", called
    )  # "Control-M" is a product
    before = (called,) if colon and is_name else ()
    numbers = () if member.alert_name else _numbers(text, results)
    known = (member.alert_name, *filed, *more, *before, *_spelled(text, results), *numbers)
    names = tuple(dict.fromkeys(filter(None, known)))
    links = anchored(linked_documents(results, member.links))
    labels = " ".join((*member.labels.values(), member.service, member.severity))
    is_alert = bool(member.alert_name)
    titles = dict.fromkeys(it for it in (member.alert_name, member.title) if " " in it)
    sentences = tuple(titles) if is_alert else ()
    return Wanted(names, text, links, is_alert, labels, member.service, member.at, sentences)
