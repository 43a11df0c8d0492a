"""From what search found to the procedures that an incident gets: which documents to complete, and what of them.

Two steps with a query between them. :func:`documents_to_complete` names the documents whose rest is worth
fetching; :func:`plan_of` lays all documents out, chooses the place (:mod:`choosing`), and decides whether it is
about the incident at all. Nothing documented means no procedure: the closest sections are offered as reading.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.headings import tells_only_kind
from knowledge_rag.core.languages import ENGLISH, LANGUAGES_OF_OTHER_SCRIPTS, language_of
from knowledge_rag.core.metadata import ALERTS, DOCUMENT_TYPE, SOURCE_FILE, TITLE
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.retrieval import Query, is_whole_document
from knowledge_rag.orchestrator.choosing import (
    PAST,
    Evidence,
    Wanted,
    asks_for_part,
    held_off,
    is_camel_case,
    is_of_another,
    is_torn_between,
    links_out,
    matter_at,
    names_alert,
    not_for,
    place_for,
    procedures_at,
    same_name,
    section_called,
    with_rules,
)
from knowledge_rag.orchestrator.governing import forbids, is_to_do
from knowledge_rag.orchestrator.links import anchored, fold, linked_documents, stem
from knowledge_rag.orchestrator.outline import outline_of
from knowledge_rag.orchestrator.procedures import NotShown, Why, held_off_by, procedure_of
from knowledge_rag.orchestrator.queries import WHO
from knowledge_rag.orchestrator.words import asked_words, meant_by, share_of, spaced_words, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.orchestrator.choosing import Elsewhere, Place
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.outline import Outline, Section
    from knowledge_rag.orchestrator.procedures import Procedure
    from knowledge_rag.orchestrator.retrieval import Asked, Findings

MAX_COMPLETED: Final = 3
"""Documents that are completed for one alert."""
COMPLETION_RESULTS: Final = 100
"""Passages of a completed document at most: what Retrieve gives at once."""
MAX_READING: Final = 3
"""Sections that are offered as reading where nothing is documented."""


@dataclass(frozen=True, slots=True)
class Floors:
    """Scores of a search under which what it found is no advice; they belong to one search's scale.

    Args:
        sure: for alerts whose name the section doesn't hold.
    """

    alert: float
    question: float
    sure: float


NAME_SHARE: Final = 0.75
"""Share of the words of an alert's name a place must hold which isn't filed under it."""


QUESTION_SHARE: Final = 0.5
"""Share of a question's words that a place must hold unless it is close: a question has words of its own."""


RIVAL_SHARE: Final = 0.85
"""Share of a section's score from which on another procedure may be meant as well."""


@dataclass(frozen=True, slots=True)
class Block:
    """What one alert, or one question, gets.

    Args:
        alert: its name in a group; ``""`` where there is one only.
        procedures: the one that was chosen, then what belongs to it; none if nothing is documented.
        why: ``linked``, ``named``, ``page`` or ``found``, as of a place; ``""`` without procedures.
        unknown: words of the incident that nothing found holds.
        meant: what the question could mean: of each passage that is offered as reading, the procedure's name;
            empty where nothing is documented.
        elsewhere: sections of other documents that the procedures say to go to.
        doubt: what speaks against the procedures: another service, names that the page never mentions.
        is_unread: whether the closest page is about it, and no steps could be read from it.
        is_to_write: whether that page says that it is still to be written: this line is the reading.
        is_not_for: whether that page says that its steps aren't for what is asked: these lines are the reading.
        score: of the document's best passage, where the search's scale is known; else ``None``.
    """

    alert: str = ""
    procedures: tuple[Procedure, ...] = ()
    why: str = ""
    reading: tuple[Citation, ...] = ()
    unknown: tuple[str, ...] = ()
    looked_up: bool = True
    meant: tuple[str, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
    score: float | None = None
    doubt: str = ""
    is_unread: bool = False
    is_not_for: bool = False
    is_to_write: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The procedures of an incident.

    Args:
        cut_off: documents whose rest could not be retrieved, so that warnings and steps may be missing.
    """

    blocks: tuple[Block, ...] = ()
    cut_off: frozenset[str] = frozenset()

    @property
    def procedures(self) -> tuple[Procedure, ...]:
        """Those of all blocks, each once, in their order."""
        return tuple(dict.fromkeys(it for block in self.blocks for it in block.procedures))

    def needs(self, citation: Citation) -> bool:
        """Whether any procedure has a line of a passage."""
        lines = range(citation.start_line, citation.end_line + 1)
        return any(
            it.source_file == citation.source_file and not it.lines.isdisjoint(lines)
            for it in self.procedures
        )


def members(incident: Incident) -> tuple[Incident, ...]:
    """Return the alerts of a group, each as an incident; the incident itself if it is none."""
    return incident.alerts if incident.is_group else (incident,)


class _Search:
    """What was asked and found for one alert of an incident, or for all of it.

    Attributes:
        wanted: what it asks for.
        order: documents that may give steps, the likeliest first.
        sure: how many of them are linked, or named after the alert.
    """

    def __init__(self, member: Incident, incident: Incident, asked: Sequence[Asked]) -> None:
        self.member = member
        self.alert = "" if member is incident else member.alert_name
        self.asked = [it for it in asked if member is incident or it.alert == self.alert]
        self.results = [result for it in self.asked for result in it.outcome.results]
        self.wanted = wanted_by(member, self.results)
        self.evidence = _evidence(self.asked)
        self.order, self.sure = self._ranked()

    def _ranked(self) -> tuple[list[str], int]:
        pages = self.evidence.pages
        ranked = sorted(pages, key=lambda name: -pages[name])
        first = {it.citation.source_file: it.metadata for it in reversed(self.results)}
        reports = [it for it in ranked if first[it].get(DOCUMENT_TYPE) == DocumentType.POSTMORTEM]
        usable = reports if self.wanted.asks(PAST) else []
        usable = usable or [it for it in ranked if it not in reports]
        named = {it.citation.source_file for it in self.results if _is_named(it, self.wanted.names)}
        sure = dict.fromkeys([*self.wanted.anchors, *(it for it in usable if it in named)])
        return list(dict.fromkeys([*sure, *usable])), len(sure) if self.wanted.is_alert else 0

    def usable(self) -> list[RetrievalResult]:
        """Return what the first query found in documents that may give steps; all of it if they have nothing."""
        found = self.asked[0].outcome.results
        return [it for it in found if it.citation.source_file in self.order] or [*found]

    def score(self, source_file: str) -> float:
        """Return the best score of a passage of a document; 0 where there is none."""
        own = (it for it in self.results if it.citation.source_file == source_file)
        return max((it.relevance_score or 0.0 for it in own), default=0.0)


def _searches(incident: Incident, asked: Sequence[Asked]) -> Iterator[_Search]:
    return (_Search(it, incident, asked) for it in members(incident))


def documents_to_complete(incident: Incident, asked: Sequence[Asked]) -> list[str]:
    """Return the documents whose rest is to be fetched, the likeliest first.

    The one that is linked or filed under the alert's name, if there is one; else the best ones by
    score. At most MAX_COMPLETED for each alert.
    """
    best = (
        it.order[: min(it.sure, MAX_COMPLETED) or MAX_COMPLETED]
        for it in _searches(incident, asked)
    )
    return list(dict.fromkeys(itertools.chain.from_iterable(best)))


def documents_elsewhere(incident: Incident, findings: Findings) -> list[str]:
    """Return the documents that the chosen procedures say to go to and that are not completed yet.

    With those that are completed at most MAX_COMPLETED for each alert.
    """
    known = {it.query.source_file for it in findings.completions}
    room = MAX_COMPLETED * len(members(incident)) - len(known)
    blocks = findings.plan.blocks if findings.plan else ()
    wanted = dict.fromkeys(file for block in blocks for it in block.elsewhere for file in it.files)
    return [it for it in wanted if it not in known][: max(room, 0)]


def completion(incident: Incident, source_file: str) -> Query:
    """Return the query for all of a document."""
    text = " ".join(filter(None, (incident.alert_name, incident.title, incident.description)))
    return Query((text or source_file)[:1000], COMPLETION_RESULTS, {SOURCE_FILE: source_file})


def plan_of(incident: Incident, findings: Findings, floors: Floors | None = None) -> Plan:
    """Choose the procedures of an incident."""
    outlines = _outlines(findings)
    blocks = (_block(it, outlines, floors) for it in _searches(incident, findings.asked))
    answered = {it.query.source_file for it in findings.completions if _is_answered(it)}
    return Plan(tuple(blocks), frozenset(outlines.keys() - answered))


def _is_answered(it: Asked) -> bool:
    """Whether a completion gave all of a document, or as much of a long one as it asked for."""
    results = it.outcome.results
    is_full = len(results) == it.query.max_results
    of_it = all(result.citation.source_file == it.query.source_file for result in results)
    return is_whole_document(it.query, it.outcome) or (is_full and of_it)


def _outlines(findings: Findings) -> dict[str, Outline]:
    results: dict[str, dict[tuple[int, int], RetrievalResult]] = defaultdict(dict)
    whole = {
        it.query.source_file
        for it in findings.completions
        if is_whole_document(it.query, it.outcome)
    }
    for it in (*findings.asked, *findings.completions):
        for result in it.outcome.results:
            citation = result.citation
            place = (citation.start_line, citation.end_line)
            results[citation.source_file].setdefault(place, result)
    return {name: outline_of(its.values(), whole=name in whole) for name, its in results.items()}


def _evidence(asked: Iterable[Asked]) -> Evidence:
    """Return what a search says: of passages by their ranks, of pages by the best score of a passage."""
    ranks: dict[str, dict[tuple[int, int], float]] = defaultdict(lambda: defaultdict(float))
    pages: dict[str, float] = defaultdict(float)
    for it in asked:
        best = max((result.relevance_score or 0.0 for result in it.outcome.results), default=0.0)
        for rank, result in enumerate(it.outcome.results):
            by_rank, citation = 1 / (2 + rank), result.citation
            ranks[citation.source_file][citation.start_line, citation.end_line] += by_rank
            # of a score, only its share of the best one says something on any search's scale
            share = (result.relevance_score or 0.0) / best if best > 0 else 2 * by_rank
            pages[citation.source_file] = max(pages[citation.source_file], share)
    return Evidence(ranks, pages)


def _written(result: RetrievalResult) -> list[str]:
    """Return what a passage's page and section are called."""
    alerts = result.metadata.get(ALERTS)
    return [
        *(alerts if isinstance(alerts, list) else ()),
        str(result.metadata.get(TITLE, "")),
        result.citation.section_header,
        stem(result.citation.source_file),
    ]


def _is_named(result: RetrievalResult, names: Sequence[str]) -> bool:
    written = _written(result)
    return any(same_name(it, name) or name in result.content for it in written for name in names)


def _spelled(text: str, results: Sequence[RetrievalResult]) -> Iterator[str]:
    """Yield alerts that sections and pages are named after whose words a text holds in their order.

    "datalake ingest stalled: no new files" names DatalakeIngestStalled.
    """
    for written in dict.fromkeys(it for result in results for it in _written(result)):
        if is_camel_case(written):
            spelled = _BETWEEN_WORDS.join(map(re.escape, _HUMP.findall(written)))
            if re.search(rf"\b{spelled}\b", text, re.IGNORECASE):
                yield written


_BETWEEN_WORDS: Final = r"[\W_]{0,3}"
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def wanted_by(member: Incident, results: Sequence[RetrievalResult]) -> Wanted:
    """Return what an incident asks for."""
    text = " ".join(filter(None, (member.title, member.description, *member.signals)))
    # in words, only what is written as alerts are counts: "auto-deploy" and "pubsub-rails" may be anything
    more = (
        filter(is_camel_case, member.names)
        if " " in member.alert_name or not member.alert_name
        else ()
    )
    # some pagers have a title alone, which is the alert's name where a page says so
    titles = (
        it
        for it in (member.title,)
        if not member.alert_name
        and any(names_alert(line, it) for one in results for line in one.content.split("\n"))
    )
    known = (member.alert_name, *titles, *more, *_spelled(text, results))
    names = tuple(dict.fromkeys(filter(None, known)))
    links = anchored(linked_documents(results, member.links))
    labels = " ".join((*member.labels.values(), member.service, member.severity))
    return Wanted(names, text, links, bool(member.alert_name), labels, member.service)


def _block(search: _Search, outlines: dict[str, Outline], floors: Floors | None) -> Block:
    alert, wanted, asked = search.alert, search.wanted, search.asked
    if not search.results:
        return Block(alert, looked_up=any(it.outcome.status is not Status.DEGRADED for it in asked))
    if _is_vague(wanted, asked[0].outcome.results):
        return _offered(search, outlines)
    documents = [outlines[it] for it in search.order[:MAX_COMPLETED]]
    place = place_for(wanted, documents, search.evidence)
    unread = unclear = False
    if place is not None and not is_torn_between(place, wanted):
        procedures = procedures_at(place, wanted, alert=alert)
        is_found = place.why == "found"
        held = _words_held(place, procedures) if is_found else set()
        is_about = not is_found or _is_about(place, held, search, floors)
        if is_found and is_about and (instead := _instead(place, search)):
            return instead
        if procedures and is_found and is_about and (said := held_off(place, procedures, wanted)):
            procedures = [held_off_by(procedures[0], said)]
        unread = is_about and not procedures
        may_be_unclear = is_found and is_about and not unread
        unclear = may_be_unclear and not _is_clear(place, held, search, outlines, floors)
        if procedures and is_about and not unclear:
            elsewhere = links_out(place.outline, procedures[0])
            given = _with_elsewhere(procedures, elsewhere, outlines, alert)
            return Block(
                alert,
                given,
                place.why,
                unknown=_words_beyond(wanted.text, _words_held(place, given)) if is_found else (),
                elsewhere=tuple(elsewhere),
                score=search.score(place.outline.source_file) if floors else None,
                doubt=_doubt(place, given, wanted),
            )
    offered = _offered(search, outlines)
    if unclear or (not unread and _may_mean_any(search)):
        return offered
    return replace(offered, meant=(), unknown=_unknown(search), is_unread=unread)


def _instead(place: Place, search: _Search) -> Block | None:
    """Return what is to be read where a page says that its steps aren't for what is asked, or still to be written."""
    source, wanted = place.outline.source_file, search.wanted
    if said := not_for(place, wanted):
        lines = Citation(source, said.start, said.end)
        return Block(search.alert, reading=(lines,), is_not_for=True)
    if line := _still_to_write(place.outline, wanted):
        return Block(search.alert, reading=(Citation(source, line, line),), is_to_write=True)
    return None


def _may_mean_any(search: _Search) -> bool:
    """Whether a question in another language than English may mean any page that was found.

    Its words need not stand in the page that answers it, so search alone speaks for a page; it has to name
    nothing that no page holds.
    """
    wanted = search.wanted
    is_other = not wanted.is_alert and language_of(wanted.text) != ENGLISH
    pages = {it.citation.source_file for it in search.asked[0].outcome.results}
    return is_other and len(pages) > 1 and not _unheard_of(wanted.text, search.results)


def _offered(search: _Search, outlines: Mapping[str, Outline]) -> Block:
    """Return the nearest procedures by name, each with its best passage; at most MAX_READING."""
    found: dict[tuple[str, int], tuple[str, Citation]] = {}
    for it in search.usable():
        outline, matter = outlines[it.citation.source_file], _matter_of(it, search.wanted, outlines)
        heading = "" if tells_only_kind(matter.heading) else matter.heading
        called = heading or outline.title or stem(outline.source_file)
        found.setdefault((outline.source_file, matter.start), (called, it.citation))
    nearest = list(found.values())[:MAX_READING]
    return Block(
        search.alert,
        reading=tuple(it for _, it in nearest),
        meant=tuple(name for name, _ in nearest),
    )


def _matter_of(result: RetrievalResult, wanted: Wanted, outlines: Mapping[str, Outline]) -> Section:
    # a passage may begin with the headings of the sections around its own
    citation = result.citation
    return matter_at(outlines[citation.source_file], citation.end_line, wanted)


_CODE: Final = re.compile(r"\b[A-Za-z]{1,8}[-_]?\d[\w-]*\b")
"""A code of an error or the like: CU-30, ORA-00060."""


def _is_vague(wanted: Wanted, results: Sequence[RetrievalResult]) -> bool:
    """Whether a question has at most one word that tells something, and several pages were found.

    Unless just one of them has that word in its title or name, or holds a code that the question names, or just one
    section's heading is in the question.
    """
    told = asked_words([wanted.text])
    pages: dict[str, RetrievalResult] = {}
    for it in results:
        pages.setdefault(it.citation.source_file, it)
    if wanted.is_alert or wanted.names or len(told) > 1 or len(pages) < 2:
        return False
    named = [
        name
        for name, it in pages.items()
        if told and told <= words_of([name, str(it.metadata.get(TITLE, ""))])
    ]
    coded = {
        it.citation.source_file
        for it in results
        if any(code[0].casefold() in it.content.casefold() for code in _CODE.finditer(wanted.text))
    }
    asked = spaced_words(wanted.text)
    headed = {
        it.citation.section_header
        for it in results
        if (heading := spaced_words(it.citation.section_header)).strip() and heading in asked
    }
    return 1 not in (len(named), len(coded), len(headed))


def _with_elsewhere(
    procedures: list[Procedure],
    elsewhere: Sequence[Elsewhere],
    outlines: dict[str, Outline],
    alert: str,
) -> tuple[Procedure, ...]:
    """Return procedures with the sections of other documents that they go on in; name those not found."""
    first, *others = procedures
    for it in elsewhere:
        known = [outlines[file] for file in it.files if file in outlines]
        found = ((o, section) for o in known if (section := section_called(o, it.section)))
        place = next(found, None)
        more = procedure_of(*place, alert=alert) if place else None
        if place and more:
            others.append(with_rules(*place, more))
            continue
        left = NotShown(it.files[0], 1, 1, Why.ELSEWHERE, it.section)
        first = replace(first, not_shown=(*first.not_shown, left))
    return (first, *others)


def _is_about(place: Place, held: set[str], search: _Search, floors: Floors | None) -> bool:
    """Whether what was found by search alone, and holds these words, is about the incident.

    Its page must not name another thing of the same kind instead; a question must not name what nothing found
    holds, unless the page names the service that it is about, nor an alert's section be filed under another alert.
    Then a question's section must be as close to it as ``Floors.question`` and hold QUESTION_SHARE of its words,
    or as close as ``Floors.alert``; so must that of an alert called by a sentence, if its page names the alert's
    service, whose words don't count. Any other alert's section must be as close as ``Floors.alert`` and hold
    NAME_SHARE of the words of its name, or as close as ``Floors.sure``. Where the scores' scale isn't known,
    words alone decide.
    """
    # what a log or a description names besides need not be documented
    wanted = replace(search.wanted, text=search.member.title or search.wanted.text)
    is_other = (
        is_of_another(place, wanted.names)
        if wanted.is_alert
        else bool(
            (_unheard_of(wanted.text, search.results) and not _names(place.outline, wanted.service))
            or _other_task(wanted.text, place)
        )
    )
    if is_other or _siblings_of(wanted.text, place):
        return False
    score = search.score(place.outline.source_file)
    is_sentence = wanted.is_alert and " " in wanted.names[0]
    if wanted.is_alert and not (is_sentence and _names(place.outline, wanted.service)):
        name = words_of(wanted.names[:1])
        named = len(name & held) >= NAME_SHARE * len(name)
        return score >= (floors.alert if named else floors.sure) if floors else named
    told = _told(wanted)
    is_told = share_of(told, held | meant_by(wanted.text, held)) >= QUESTION_SHARE
    return score >= (floors.question if is_told else floors.alert) if floors else bool(told & held)


def _still_to_write(outline: Outline, wanted: Wanted) -> int | None:
    """Return the line on which a page says that what is asked is still to be written: it holds half of its words."""
    told = _told(wanted)
    for number, line in outline.lines.items():
        if is_to_do(line) and len(told) < 2 * len(told & words_of([line])) > 2:
            return number
    return None


def _told(wanted: Wanted) -> set[str]:
    """Return the words of a question that tell what it is about."""
    return asked_words([*wanted.names, WHO.sub(" ", wanted.text)]) - words_of([wanted.service])


def _is_clear(
    place: Place,
    held: set[str],
    search: _Search,
    outlines: Mapping[str, Outline],
    floors: Floors | None,
) -> bool:
    """Whether a question means a procedure that was found by search alone, and nothing else that was found.

    It does if its section is as close as ``Floors.sure``, or holds all of the question's words, or what the question
    has in the form of code and nothing else that was found has; or if no other procedure scores more than RIVAL_SHARE
    of what it does: where the question says which part of a page it wants, none on another page.
    """
    wanted = search.wanted
    if wanted.is_alert or floors is None:
        return True
    source_file = place.outline.source_file
    score = search.score(source_file)
    if score >= floors.sure or _told(wanted) <= held:
        return True
    own = matter_at(place.outline, place.section.start, wanted)
    rivals = [
        it
        for it in search.usable()
        if it.citation.source_file != source_file
        or not (
            asks_for_part(wanted)
            or (own.start <= it.citation.end_line and it.citation.start_line <= own.end)
            or _matter_of(it, wanted, outlines) is own
        )
    ]
    section = place.outline.text(own.start, own.end)
    if any(
        term in section and not any(term in it.content for it in rivals)
        for term in _AS_CODE.findall(wanted.text)
    ):
        return True
    return max((it.relevance_score or 0.0 for it in rivals), default=0.0) <= RIVAL_SHARE * score


def _names(outline: Outline, service: str) -> bool:
    """Whether a page names a service, in its words or as what it is about."""
    if not service:
        return False
    said = re.compile(rf"(?<![\w-]){re.escape(service)}(?![\w-])", re.IGNORECASE)
    return any(said.search(line) for line in (outline.service, *outline.lines.values()))


_IDENTIFIER: Final = re.compile(
    r"(?<![A-Za-z\d])(?<![A-Za-z\d][-_.])(?=[\w.-]*[A-Za-z])(?=[\w.-]*\d)[A-Za-z\d]+(?:[-_.][A-Za-z\d]+)+\b"
)
"""A name of one thing among several: db-primary-02, eu-west-1. It is looked for once a word, however long that is."""


_AS_CODE: Final = re.compile(
    r"(?<![\w-])(?:[A-Z]{4,}|[A-Za-z]+_\w+|(?=[\w-]*\d)[A-Z]+-?\w*\d{3,})(?![\w-])"
)
"""What is written as a program writes it: PLANNER, halt_reason, ORA-01653."""


_COMPOUND: Final = re.compile(
    r"(?<![\w/.-])(?!(?:prod|staging|dev|test|live|eu|us)[-_])[a-z]{2,}(?:[-_][a-z]+)+(?![\w/-])"
)
"""A name of several parts, as things are called: redis-session, aodb_core; of one among several, it has a number."""
_OF_A_SERIES: Final = re.compile(r"(?<![\w/.-])[a-z]{2,}[-_][a-z](?![\w/-])")
"""A name that ends in a single letter, as those of a series do: mq-a."""
_OF_AN_ENVIRONMENT: Final = re.compile(
    r"\b(?!(?:the|this|our|each|every|an?|production|prod|live)\b)(\w+) (?:environment|env)\b",
    re.IGNORECASE,
)
_IN_CODE: Final = re.compile(r"`[^`\n]*`|^(?: {4}|\t).*$", re.MULTILINE)


def _siblings_of(text: str, place: Place) -> list[str]:
    """Return the names in a text that a page doesn't hold, though it holds others that begin alike as code, or as its own.

    "redis-session" is not what a page about `redis-badge` is for; "fail-over" is a word. Of a series, the section
    has to name the same one: what is done on "mq-a" is not for "mq-b".
    """
    outline, section = place.outline, place.section
    page = "\n".join([*outline.lines.values(), outline.source_file, outline.title])
    named = [
        it[1] for it in _OF_AN_ENVIRONMENT.finditer(text) if it[1].casefold() not in page.casefold()
    ]
    code = " ".join([*_IN_CODE.findall(page), stem(outline.source_file), *section.path])
    own = outline.text(section.start, section.end)
    return [
        *named,
        *_others_alike(_COMPOUND, text, code, page),
        *_others_alike(_OF_A_SERIES, text, own, own),
    ]


def _others_alike(pattern: re.Pattern[str], text: str, among: str, page: str) -> Iterator[str]:
    """Yield the names in a text that a page doesn't hold, of those that begin like a name among its words."""
    heads = {re.split("[-_]", it)[0] for it in pattern.findall(among.casefold())}
    folded = fold(page)
    for name in dict.fromkeys(pattern.findall(text.casefold())):
        if re.split("[-_]", name)[0] in heads and fold(name) not in folded:
            yield name


def _doubt(place: Place, procedures: Sequence[Procedure], wanted: Wanted) -> str:
    """Return what speaks against procedures; ``""`` if nothing does."""
    service, its = wanted.service, place.outline.service
    if its and service and not (fold(its) in fold(service) or fold(service) in fold(its)):
        return f"the page is about {its}, and the alert says {service}"
    if place.why != "found":  # of what was only found, that is known to fit
        return "the page says that it isn't for what is asked" if not_for(place, wanted) else ""
    lines = place.outline.lines
    text = " ".join([*lines.values(), place.outline.source_file]).casefold()
    # only where the page names a thing of the same kind does another one's name say something
    if not _IDENTIFIER.search(
        " ".join(lines[n] for it in procedures for n in it.lines if n in lines)
    ):
        return ""
    names = [it[0] for it in _IDENTIFIER.finditer(wanted.text) if it[0].casefold() not in text]
    return f"it never mentions {', '.join(names[:3])}" if names else ""


def _words_held(place: Place, procedures: Sequence[Procedure]) -> set[str]:
    """Return the words of the procedures at a place, their headings, and the page's title and name.

    What stands between their lines counts, too: a page's symptoms name its alerts.
    """
    said = (place.outline.text(min(it.lines), max(it.lines)) for it in procedures)
    headings = (heading for it in procedures for heading in it.path)
    return words_of([*said, *headings, place.outline.title, place.outline.source_file])


_NAMED: Final = re.compile(
    r"(?<=[\w,;] )[A-Z][a-z]{2,}\w*|\b[A-Za-z]+[a-z][A-Z]\w*|^[A-Z][a-z]{2,}\w*(?: [A-Z][a-z]{2,}\w*)*"
)
"""How a question names a thing: a capital within a sentence or a word, or at its start, there with its maker's name."""


_ASKED_TO: Final = r"^(?:please |how (?:do|can|should|would) (?:i|we|you) |how to |(?:i|we) (?:need|want|have) to |(?:can|may|should) (?:i|we) )?"
_TASKS: Final = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(rf"\b(?:{words})", re.IGNORECASE))
    for asked, words in (
        (r"\brestor", r"restor|recover|pitr|point[- ]in[- ]time|undelet|bring(?:ing)? back"),
        (r"\bupgrad", r"upgrad|updat|version|patch"),
        (r"\bmigrat", r"migrat|move"),
        (r"\brotat", r"rotat|renew|replac"),
        (r"\b(?:en|de)crypt", r"(?:en|de)crypt|kms"),
        (r"\brenam", r"renam"),
        (r"\binstall", r"install|deploy"),
        (rf"{_ASKED_TO}(?:create|provision|onboard)\b", r"creat|provision|onboard|add|new"),
        (
            rf"{_ASKED_TO}(?:delete|remove|decommission)\b",
            r"delet|remov|decommission|drop|purg|clean|clear|prun",
        ),
        (rf"{_ASKED_TO}(?:roll ?back|revert)\b", r"roll(?:ed|ing)? ?back|revert|undo|previous|old"),
    )
)
"""Tasks that a question may ask for, in words that tell a task and no symptom, and the words that a page has for each."""


def _other_task(text: str, place: Place) -> bool:
    """Whether a question asks for a task that a page has no word for, but where it forbids it."""
    outline = place.outline
    lines = [it for it in outline.lines.values() if not forbids(it)]
    page = " ".join([*lines, outline.source_file, outline.title])
    return any(asked.search(text) and not words.search(page) for asked, words in _TASKS)


_NAMED_ELSEWHERE: Final = re.compile(r"(?<![\w-])[A-Z][a-z]{2,}(?![a-z])|\b[A-Za-z]+[a-z][A-Z]\w*")
"""The same in a language with letters of its own, where a word in Latin ones is a name; German has capitals of its own."""
_NOUNS_IN_CAPITALS: Final = "de"


def _names_in(text: str) -> Iterator[re.Match[str]]:
    language = language_of(text)
    if language == _NOUNS_IN_CAPITALS:
        return (it for it in _NAMED.finditer(text) if is_camel_case(it[0]))
    own = language in LANGUAGES_OF_OTHER_SCRIPTS
    return (_NAMED_ELSEWHERE if own else _NAMED).finditer(text)


_OF_THE_CALENDAR: Final = frozenset({
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "January", "February",
    "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
})  # fmt: skip


def _unheard_of(text: str, results: Sequence[RetrievalResult]) -> list[str]:
    """Return the names in a question that nothing that was found holds."""
    held = " ".join(f"{it.content} {it.citation.source_file}" for it in results).casefold()
    found = words_of([held])
    names = (
        it[0]
        for it in _names_in(text)
        if it[0] not in _OF_THE_CALENDAR and not _is_which(text[: it.start()], found)
    )
    return [
        it
        for it in names
        if it.casefold() not in held and (own := words_of([it])) and not own & found
    ]


def _is_which(before: str, found: set[str]) -> bool:
    """Whether a name stands right behind a word that pages hold, so that it says which one: "depot Erfurt"."""
    *_, last = before.split(" ")[:-1] or [""]
    return last.islower() and bool(own := words_of([last])) and own <= found


def _unknown(search: _Search) -> tuple[str, ...]:
    """Return the incident's own words that nothing found holds."""
    held = words_of(
        text
        for it in search.results
        for text in (it.content, it.citation.source_file, str(it.metadata.get(TITLE, "")))
    )
    member = search.member
    said = " ".join(filter(None, (member.alert_name, member.title, member.service)))
    return _words_beyond(said, held | meant_by(said, held))


def _words_beyond(said: str, held: set[str]) -> tuple[str, ...]:
    """Return the words that tell something and that are not among others, in their order, at most five."""
    asked = asked_words([said])
    words = dict.fromkeys(
        word.strip(".,:;!?()[]\"'`。，、；：？！「」（）") for word in said.split()
    )
    return tuple(it for it in words if (own := words_of([it]) & asked) and not own & held)[:5]
