"""Plans the procedures of an incident from its search results: which documents to complete, and what to use of them.

There are two steps with a query between them. :func:`documents_to_complete` names the documents whose rest is worth
fetching. :func:`plan_of` outlines all documents, chooses the place (:mod:`choosing`), and decides whether it is about
the incident at all. If nothing is documented, there is no procedure, and the closest sections are offered as reading.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.headings import names_only_kind
from knowledge_rag.core.languages import ENGLISH, language_of
from knowledge_rag.core.metadata import SOURCE_FILE, TITLE
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS, Query, is_whole_document
from knowledge_rag.guardrails.danger import dangers_in
from knowledge_rag.orchestrator.choosing import OF_PAGE, is_superseded, is_torn_between, place_for
from knowledge_rag.orchestrator.cross_references import links_out, own_range, section_called
from knowledge_rag.orchestrator.extent import (
    has_no_steps_yet,
    is_one_procedure,
    matter_at,
    procedures_at,
    sent_by,
    steps_of,
    top_of,
    undoes,
    with_rules,
    with_senders,
)
from knowledge_rag.orchestrator.links import fold, stem, words_of_link
from knowledge_rag.orchestrator.naming import alerts_named, is_filed
from knowledge_rag.orchestrator.objections import (
    doubt_of,
    held_off,
    left_alone,
    not_for,
    still_to_write,
)
from knowledge_rag.orchestrator.outline import outline_of
from knowledge_rag.orchestrator.procedures import NotShown, Why, held_off_by, procedure_of
from knowledge_rag.orchestrator.queries import RESULTS
from knowledge_rag.orchestrator.relevance import (
    ENOUGH,
    has_code,
    is_relevant,
    is_unambiguous,
    is_vague,
    matter_of,
    names_service,
    unheard_of,
    words_held,
)
from knowledge_rag.orchestrator.searches import MAX_COMPLETED, Search
from knowledge_rag.orchestrator.wanted import Place, asks_to_revert
from knowledge_rag.orchestrator.wording import (
    CHAPTERS,
    NO_WAY_BACK,
    RISKY,
    UNCLEAR,
    Declined,
    not_in,
)
from knowledge_rag.orchestrator.words import asked_words, meant_by, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.orchestrator.cross_references import Elsewhere
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.outline import Outline, Section
    from knowledge_rag.orchestrator.procedures import Procedure
    from knowledge_rag.orchestrator.relevance import (
        Floors,
    )
    from knowledge_rag.orchestrator.retrieval import Asked, Findings
    from knowledge_rag.orchestrator.wanted import Wanted


COMPLETION_RESULTS: Final = 100
"""Maximum passages of a completed document: as many as Retrieve returns at once."""
MAX_READING: Final = 3
"""Maximum sections that are offered as reading if nothing is documented."""


@dataclass(frozen=True, slots=True)
class Block:
    """The plan for one alert, or for one question.

    Args:
        alert: its name in a group; ``""`` if there is only one.
        procedures: the chosen one, then those that belong to it; none if nothing is documented.
        why: as in a place; ``""`` without procedures.
        unknown: words of the incident that nothing found contains.
        meant: names of the procedures that the question could mean, one for each passage that is offered as reading;
            empty if nothing is documented.
        unclear: why one of these has to be chosen, as a sentence.
        elsewhere: sections of other documents that the procedures refer to.
        doubt: the reason to doubt the procedures: another service, names that the page never mentions.
        also: other pages that are filed under the alert's name just as well.
        declined: why the closest page gives no steps although it is about the incident; else ``None``.
        said: the lines by which it says so; ``""`` if it doesn't.
        score: of the document's best passage, if the search's scale is known; else ``None``.
    """

    alert: str = ""
    procedures: tuple[Procedure, ...] = ()
    why: str = ""
    reading: tuple[Citation, ...] = ()
    unknown: tuple[str, ...] = ()
    looked_up: bool = True
    meant: tuple[str, ...] = ()
    unclear: str = UNCLEAR
    elsewhere: tuple[Elsewhere, ...] = ()
    score: float | None = None
    doubt: str = ""
    also: tuple[str, ...] = ()
    declined: Declined | None = None
    said: str = ""


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
        """The procedures of all blocks, each once, in order."""
        return tuple(dict.fromkeys(it for block in self.blocks for it in block.procedures))

    def needs(self, citation: Citation) -> bool:
        """Whether any procedure has a line of a passage, or any reading begins in it."""
        lines = range(citation.start_line, citation.end_line + 1)
        read = (it for block in self.blocks for it in block.reading)
        return any(
            it.source_file == citation.source_file and not it.lines.isdisjoint(lines)
            for it in self.procedures
        ) or any(it.source_file == citation.source_file and it.start_line in lines for it in read)


def members(incident: Incident) -> tuple[Incident, ...]:
    """Return the alerts of a group, each as an incident; the incident itself if it isn't a group."""
    return incident.alerts if incident.is_group else (incident,)


def _searches(incident: Incident, asked: Sequence[Asked]) -> Iterator[Search]:
    return (Search(it, incident, asked) for it in members(incident))


def documents_to_complete(incident: Incident, asked: Sequence[Asked]) -> list[str]:
    """Return the documents whose rest is to be fetched, likeliest first.

    These are the ones that are linked or named after the alert, if there are any; else the best ones by
    score. At most MAX_COMPLETED for each alert.
    """
    best = (
        it.order[: min(it.sure, MAX_COMPLETED) or MAX_COMPLETED]
        for it in _searches(incident, asked)
    )
    return list(dict.fromkeys(itertools.chain.from_iterable(best)))


def queries_elsewhere(incident: Incident, findings: Findings) -> list[Query]:
    """Return the queries for the documents that the chosen procedures refer to, as far as they weren't asked yet.

    A document that retrieval returned is completed. One that it didn't return is looked for by its path, in case that is
    its whole path, and by its name. Together with the completed ones, at most MAX_COMPLETED for each alert.
    """
    asked = [it.query for it in findings.completions]
    known = {it.citation.source_file for it in findings.ledger.results}
    blocks = findings.plan.blocks if findings.plan else ()
    found: list[Query] = []
    for it in (one for block in blocks for one in block.elsewhere):
        wanted = [completion(incident, file) for file in it.files]
        if known.isdisjoint(it.files):
            words = " ".join(filter(None, (words_of_link(it.files), it.section)))
            wanted.append(Query(words[:MAX_QUERY_CHARACTERS], RESULTS))
        found += [one for one in wanted if one not in (*asked, *found)]
    room = MAX_COMPLETED * len(members(incident)) - len(asked)
    return found[: max(room, 0)]


def completion(incident: Incident, source_file: str) -> Query:
    """Return the query for a whole document."""
    text = " ".join(filter(None, (incident.alert_name, incident.title, incident.description)))
    return Query((text or source_file)[:1000], COMPLETION_RESULTS, {SOURCE_FILE: source_file})


def no_place(incident: Incident, findings: Findings) -> str:
    """Return why the place of an incident isn't in the knowledge base; ``""`` if it is, or if that is unknown."""
    whole = {
        it.query.source_file
        for it in findings.completions
        if it.outcome.status is Status.NO_MATCH or is_whole_document(it.query, it.outcome)
    }
    if incident.at is None or incident.at[0] not in whole:
        return ""
    source_file, line = incident.at
    results = (it for one in (*findings.asked, *findings.completions) for it in one.outcome.results)
    ends = [it.citation.end_line for it in results if it.citation.source_file == source_file]
    return not_in(source_file, line, max(ends, default=0))


def plan_of(incident: Incident, findings: Findings, floors: Floors | None = None) -> Plan:
    """Choose the procedures of an incident."""
    outlines = _outlines(findings)
    blocks = (_block(it, outlines, floors) for it in _searches(incident, findings.asked))
    answered = {it.query.source_file for it in findings.completions if _is_answered(it)}
    return Plan(tuple(blocks), frozenset(outlines.keys() - answered))


def _is_answered(it: Asked) -> bool:
    """Whether a completion returned a whole document, or as much of a long one as it asked for."""
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
    # the ledger has the nearest passages if there are no others
    for result in findings.ledger.results:
        citation = result.citation
        place = (citation.start_line, citation.end_line)
        results[citation.source_file].setdefault(place, result)
    return {name: outline_of(its.values(), whole=name in whole) for name, its in results.items()}


def _block(search: Search, outlines: dict[str, Outline], floors: Floors | None) -> Block:
    alert, wanted, asked = search.alert, search.wanted, search.asked
    if not search.results and not wanted.at:
        nearest = Block(
            alert,
            reading=tuple(_nearest(search, outlines)),
            unknown=_unknown(search) if search.nearest else (),
            looked_up=any(it.outcome.status is not Status.DEGRADED for it in asked),
        )
        return _with_unused(nearest, wanted, outlines.values())
    if not wanted.at and is_vague(wanted, _used(asked[0], outlines)):
        return _offered(search, outlines)
    documents = [outlines[it] for it in search.order[:MAX_COMPLETED] if it in outlines]
    place = place_for(wanted, documents, search.evidence)
    unread = unclear = False
    guess = ""
    equal = _equal(place)
    if place is not None and not equal and not is_torn_between(place, wanted):
        procedures = procedures_at(place, wanted, alert=alert)
        is_found = place.why == "found"
        held = words_held(place, procedures, wanted) if is_found else set()
        is_about = not is_found or is_relevant(place, held, search, floors)
        if is_about and (instead := _instead(place, search, procedures)):
            return instead
        off = held_off if is_found else left_alone
        if procedures and is_about and (said := off(place, procedures, wanted)):
            procedures = [held_off_by(procedures[0], said)]
        unread = is_about and not procedures
        may_be_unclear = is_found and is_about and not unread
        unclear = may_be_unclear and not is_unambiguous(place, held, search, outlines, floors)
        unclear |= place.why in OF_PAGE.values() and not alerts_named(wanted)
        if may_be_unclear and floors is not None:
            guess = _harmful_guess(place, procedures, search)
        unclear |= bool(guess)
        if procedures and is_about and not unclear:
            known = [it for it, outline in outlines.items() if not is_superseded(outline)]
            elsewhere = links_out(place.outline, procedures[0], wanted.labels, known)
            given = with_elsewhere(place.outline, procedures, elsewhere, outlines, wanted)
            return Block(
                alert,
                given,
                place.why,
                unknown=_words_beyond(wanted.text, words_held(place, given, wanted))
                if is_found
                else (),
                elsewhere=tuple(elsewhere),
                score=search.score(place.outline.source_file) if floors else None,
                doubt=doubt_of(place, given, wanted),
                also=tuple(it.outline.source_file for it in place.also),
            )
    offered = (
        _between(search, equal)
        if equal
        else _offered(search, outlines, place if guess else None, guess or UNCLEAR)
    )
    if equal or unclear or (not unread and _may_mean_any(search)):
        return offered
    nothing = replace(
        offered, meant=(), unknown=_unknown(search), declined=Declined.UNREAD if unread else None
    )
    return nothing if unread else _with_unused(nothing, wanted, documents)


def _harmful_guess(place: Place, procedures: Sequence[Procedure], search: Search) -> str:
    """Return why a person has to choose a question's procedure, ``""`` if not: the evidence is thin, and it may do harm.

    It destroys something, or the question asks to undo something and it is not for that. A section with an error code of
    the question is no guess, nor is one with the words of an alert's name. Nor does one destroy by a guess that is on a
    page that names the incident's service.
    """
    outline, wanted = place.outline, search.wanted
    if wanted.is_alert or search.score(outline.source_file) >= ENOUGH or has_code(place, wanted):
        return ""
    items = [it for one in procedures for it in one.items]
    destroys = any(dangers_in(outline.text(it.start, it.end)) for it in items)
    if destroys and not names_service(outline, wanted.service):
        return RISKY
    return NO_WAY_BACK if items and asks_to_revert(wanted) and not undoes(place, items) else ""


def _used(asked: Asked, outlines: Mapping[str, Outline]) -> list[RetrievalResult]:
    """Return the results of a query but those of pages out of use."""
    return [
        it for it in asked.outcome.results if not is_superseded(outlines[it.citation.source_file])
    ]


def _with_unused(block: Block, wanted: Wanted, outlines: Iterable[Outline]) -> Block:
    """Return a block without procedures whose first reading is a page filed under the alert's name and no longer used."""
    for it in outlines:
        if is_superseded(it) and any(is_filed(it, name) for name in wanted.names):
            page = Citation(it.source_file, *own_range(top_of(it)))
            others = (one for one in block.reading if one.source_file != it.source_file)
            reading = (page, *others)[:MAX_READING]
            return replace(block, reading=reading, declined=Declined.UNUSED)
    return block


def _instead(place: Place, search: Search, procedures: Sequence[Procedure]) -> Block | None:
    """Return the reading if a page says that its steps don't apply to the request, or are still to be written."""
    outline, wanted = place.outline, search.wanted
    if place.why == "found":
        if said := not_for(place, wanted):
            return _declined(search, outline, said.start, said.end, Declined.NOT_FOR)
        if line := still_to_write(place, wanted):
            return _declined(search, outline, line, line, Declined.TO_WRITE)
    if not procedures and has_no_steps_yet(outline, place.section):
        start, end = own_range(place.section)
        block = _declined(search, outline, start, end, Declined.TO_WRITE)
        return replace(block, said=outline.text(place.section.heading_end + 1, end))
    return None


def _declined(search: Search, outline: Outline, start: int, end: int, why: Declined) -> Block:
    reading = (Citation(outline.source_file, start, end),)
    return Block(search.alert, reading=reading, declined=why, said=outline.text(start, end))


def _equal(place: Place | None) -> tuple[Place, ...]:
    """Return the places that fit an alert equally well: chapters of one page, or pages if the wrong one destroys something else.

    Such pages have different titles; pages of one title are versions of one page.
    """
    equal = (place, *place.also) if place is not None else ()
    if _are_of_one_page(equal):
        return equal
    titles = {fold(it.outline.title) for it in equal}
    return equal if len(titles) > 1 and len(set(map(_destructive, equal))) > 1 else ()


def _are_of_one_page(places: Sequence[Place]) -> bool:
    return len(places) > 1 and len({it.outline.source_file for it in places}) == 1


def _destructive(place: Place) -> frozenset[str]:
    """Return the lines of a section that destroy something."""
    text = place.outline.text(place.section.start, place.section.end)
    starts = (text.count("\n", 0, it.start) for it in dangers_in(text))
    lines = text.split("\n")
    return frozenset(lines[it].strip() for it in starts)


def _between(search: Search, places: Sequence[Place]) -> Block:
    """Return the procedures of pages that fit an alert equally well, by name; of one page, by section."""
    offered = places[:MAX_READING]
    if _are_of_one_page(offered):
        return Block(
            search.alert,
            reading=tuple(map(_beginning_of, offered)),
            meant=tuple(_name_of(it.outline, it.section) for it in offered),
            unclear=CHAPTERS,
        )
    return Block(
        search.alert,
        reading=tuple(_passage_at(it, search.results) for it in offered),
        meant=tuple(it.outline.title or stem(it.outline.source_file) for it in offered),
    )


def _beginning_of(place: Place) -> Citation:
    """Return a section's heading, and the first line below it."""
    section = place.section
    end = section.blocks[0].start if section.blocks else section.heading_end
    return Citation(place.outline.source_file, section.start, end)


def _passage_at(place: Place, results: Sequence[RetrievalResult]) -> Citation:
    """Return the first result in a section, else in its page."""
    of_page = [
        it.citation for it in results if it.citation.source_file == place.outline.source_file
    ]
    section = place.section
    within = (it for it in of_page if section.start <= it.end_line <= section.end)
    return next(within, of_page[0])


def _may_mean_any(search: Search) -> bool:
    """Whether a question in another language than English may mean any page that was found.

    Its words need not be in the page that answers it, so only the search speaks for a page; the question must not name
    anything that no page has.
    """
    wanted = search.wanted
    is_other = not wanted.is_alert and language_of(wanted.text) != ENGLISH
    pages = {it.citation.source_file for it in search.asked[0].outcome.results}
    return is_other and len(pages) > 1 and not unheard_of(wanted.text, search.results)


def _nearest(search: Search, outlines: Mapping[str, Outline]) -> list[Citation]:
    """Return the nearest sections, each by its best passage, if nothing was found at all; at most MAX_READING."""
    sections: dict[tuple[str, str], Citation] = {}
    for it in search.nearest:
        if (outline := outlines.get(it.citation.source_file)) and not is_superseded(outline):
            sections.setdefault((it.citation.source_file, it.citation.section_header), it.citation)
    return list(sections.values())[:MAX_READING]


def _offered(
    search: Search, outlines: Mapping[str, Outline], best: Place | None = None, why: str = UNCLEAR
) -> Block:
    """Return the nearest procedures by name, each with its best passage; at most MAX_READING.

    That of the best place comes first, if it is given: it may do harm, and may not be meant.
    """
    found: dict[tuple[str, int], tuple[str, Citation]] = {}
    if best:
        called = matter_at(best.outline, best.section.start, search.wanted)
        found[best.outline.source_file, called.start] = (
            _name_of(best.outline, called),
            _passage_at(best, search.results),
        )
    usable = [it for it in search.usable() if not is_superseded(outlines[it.citation.source_file])]
    for it in usable or search.usable():
        outline, matter = outlines[it.citation.source_file], matter_of(it, search.wanted, outlines)
        found.setdefault(
            (outline.source_file, matter.start), (_name_of(outline, matter), it.citation)
        )
    nearest = list(found.values())[:MAX_READING]
    return Block(
        search.alert,
        reading=tuple(it for _, it in nearest),
        meant=tuple(name for name, _ in nearest),
        unclear=why,
    )


def _name_of(outline: Outline, matter: Section) -> str:
    """Return what a procedure is called: its heading, or its page's name if the heading is a mere purpose."""
    heading = "" if names_only_kind(matter.heading) else matter.heading
    return heading or outline.title or stem(outline.source_file)


def with_elsewhere(
    outline: Outline,
    procedures: Sequence[Procedure],
    elsewhere: Sequence[Elsewhere],
    outlines: dict[str, Outline],
    wanted: Wanted,
) -> tuple[Procedure, ...]:
    """Return a page's procedures with those of other documents that they continue in; name the ones not found.

    Each of those begins with the line that refers to it.
    """
    first, *others = with_senders(outline, procedures)
    for it in elsewhere:
        known = [outlines[file] for file in it.files if file in outlines]
        if more := _going_on(it.section, known, wanted, first.alert):
            others += [sent_by(outline, it.line, more[0]), *more[1:]] if it.line else more
            continue
        left = NotShown(it.files[0], 1, 1, Why.ELSEWHERE, it.section)
        first = replace(first, not_shown=(*first.not_shown, left))
    return (first, *others)


def _going_on(
    section: str, known: Sequence[Outline], wanted: Wanted, alert: str
) -> Sequence[Procedure]:
    """Return the procedure of a section, or of a page: all of it if it is one procedure, else its only chapter "Steps"."""
    for outline in known:
        if not section:
            main = outline.root if is_one_procedure(outline, wanted) else steps_of(outline)
            if main and not is_superseded(outline):
                return procedures_at(Place(outline, main, "linked"), wanted, alert=alert)
            continue
        called = section_called(outline, section)
        if called and (more := procedure_of(outline, called, alert=alert)):
            return [with_rules(outline, called, more)]
    return []


def _unknown(search: Search) -> tuple[str, ...]:
    """Return the incident's own words that nothing found contains."""
    held = words_of(
        text
        for it in search.results or search.nearest
        for text in (it.content, it.citation.source_file, str(it.metadata.get(TITLE, "")))
    )
    member = search.member
    said = " ".join(filter(None, (member.alert_name, member.title, member.service)))
    return _words_beyond(said, held | meant_by(said, held))


def _words_beyond(said: str, held: set[str]) -> tuple[str, ...]:
    """Return the meaningful words that are not among others, in order, at most five."""
    asked = asked_words([said])
    words = dict.fromkeys(
        word.strip(".,:;!?()[]\"'`。，、；：？！「」（）") for word in said.split()
    )
    return tuple(it for it in words if (own := words_of([it]) & asked) and not own & held)[:5]
