"""Chooses the section with an incident's procedure: by its link, by its name, else by search.

The rule in short: the section that somebody chose; else the one that the alert links; else the one that is
filed under the alert's name (its heading, an "Alert:" line, the page's front matter, title or file name), or the one
below it whose heading a question spells out; else the one whose heading a question spells out; else the only one that
quotes a program's message that the incident has; else the one that has the alert's name together with its page's name;
else the section on which search and the incident's own words agree best, narrowed to one subject. Nothing is selected
inside that: see :mod:`procedures`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType, split_words
from knowledge_rag.core.headings import (
    NEVER,
    Kind,
    is_numbered,
    kind_of_heading,
    names_only_kind,
    without_number,
)
from knowledge_rag.core.lines import cells_of
from knowledge_rag.guardrails.retired import HEAD, is_retired
from knowledge_rag.orchestrator.cross_references import (
    own_range,
    page_referred,
    sections_referred,
)
from knowledge_rag.orchestrator.extent import (
    MAX_PAGE,
    is_bare_resolution,
    is_one_procedure,
    is_short_sop,
    matter_at,
    section_at,
    subjects_of,
    tabs_of_others,
    top_of,
)
from knowledge_rag.orchestrator.governing import is_no_way, sentences
from knowledge_rag.orchestrator.links import fold, stem
from knowledge_rag.orchestrator.naming import (
    CODE_OF_ERROR,
    NAME,
    STATES,
    alerts_named,
    is_called,
    is_camel_case,
    is_exactly,
    is_filed,
    is_filed_alone,
    is_headed,
    is_listed,
    is_mentioned,
    is_of_other_service,
    is_told,
    messages_in,
    names_code,
    other_numbers,
    same_name,
    told_in_all,
)
from knowledge_rag.orchestrator.outline import LABEL_LEVEL, TAB_LEVEL, Form
from knowledge_rag.orchestrator.procedures import (
    action_lines,
    asks_for_something,
    introduction_of,
)
from knowledge_rag.orchestrator.queries import WHO
from knowledge_rag.orchestrator.rows import begins_with_code, has_cases
from knowledge_rag.orchestrator.wanted import Place, asks_for_part, is_asked_for, kinds_at
from knowledge_rag.orchestrator.words import (
    asked_words,
    spaced_words,
    word_list,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.orchestrator.outline import Outline, Section
    from knowledge_rag.orchestrator.searches import Evidence
    from knowledge_rag.orchestrator.wanted import Wanted


_ENVIRONMENT: Final = re.compile(
    r"\b(?:staging|sandbox|pre-?prod(?:uction)?|dev(?:elopment)?|playground)\b", re.IGNORECASE
)
_ONLY_FOR: Final = re.compile(
    r"\bonly (?:for|on|in|valid for) (?:the )?[\w-]+|\b[\w-]+(?: environment)? only\b",
    re.IGNORECASE,
)
"""Limits a text to one environment or system: "only on staging", "Staging only"."""


def place_for(wanted: Wanted, outlines: Sequence[Outline], evidence: Evidence) -> Place | None:
    """Return the place of an incident's procedure; ``None`` without a document to use."""
    usable = [it for it in outlines if _gives_steps(it, wanted)]
    if wanted.at:
        file, line = wanted.at
        here = (it for it in usable if it.source_file == file and line <= it.root.end)
        return next((Place(it, section_at(it, line), "chosen") for it in here), None)
    others = _for_others(wanted, usable)
    ranked = [it for it in _ranked(wanted, usable, evidence) if id(it.section) not in others]
    if wanted.asks(WHO):
        ranked = [it for it in ranked if is_escalation(it)] or ranked
    elif ranked and (behind := _part_behind(ranked[0], wanted)):
        ranked.insert(0, behind)
    spelled = None if wanted.is_alert or asks_for_part(wanted) else _spelled_out(ranked, wanted)
    linked = [it for it in ranked if it.outline.source_file in wanted.anchors]
    order = list(wanted.anchors)
    linked.sort(key=lambda it: order.index(it.outline.source_file))
    for place in linked:
        anchors = wanted.anchors[place.outline.source_file]
        if any(is_called(place.section, anchor) for anchor in anchors):
            return replace(place, why="linked")
    filed = "named" if wanted.names or wanted.titles else "coded"
    for among, why in ((linked, "linked"), (ranked, filed)):
        by_heading = iter(_qualified(among, wanted))
        by_line = (
            it
            for it in among
            if any(is_listed(it, n) for n in wanted.names) or is_told(it, wanted.titles)
        )
        by_index = _indexed(among, wanted)
        by_page = (it for it in among if any(is_filed(it.outline, n) for n in wanted.names))
        for found in (by_heading, by_line, by_index, by_page):
            if places := list(found):
                meant = _narrowed(replace(_fitting(places, wanted), why=why), wanted, ranked)
                is_below = spelled and meant.section.holds(spelled.section)
                return replace(spelled, why=why) if spelled and is_below else meant
        if linked and among is linked:
            page = replace(linked[0], section=top_of(linked[0].outline), why="linked")
            return _narrowed(page, wanted, ranked)
    headed = replace(spelled, rival=0.0) if spelled else None
    return headed or _quoting(ranked, wanted) or _by_words(ranked, wanted)


def _spelled_out(ranked: Sequence[Place], wanted: Wanted) -> Place | None:
    """Return the only section whose heading a question has in full, the longest of several; of equal ones, that whose page it names.

    The heading has at least half of the question's meaningful words, or is all of it; or it has exactly those of a sentence
    that asks, in any order.
    """
    asked, told = spaced_words(wanted.text), asked_words([wanted.text])
    requests = [asked_words([it]) for it in sentences(wanted.text) if it.rstrip().endswith("?")]
    found: list[tuple[tuple[int, int], Place]] = []
    for it in ranked:
        called = without_number(it.section.heading)
        heading, words = spaced_words(called), words_of([called])
        is_page = it.section in (it.outline.root, top_of(it.outline))
        is_telling = 2 * len(words & told) >= len(told) > 0 or heading == asked
        is_spelled = (heading in asked and is_telling) or (len(words) > 1 and words in requests)
        if not is_page and is_spelled:
            around = words_of([*it.section.path, it.outline.title, it.outline.source_file])
            found.append(((len(heading.split()), len(around & told)), it))
    most = max((fit for fit, _ in found), default=(0, 0))
    best = [it for fit, it in found if fit == most]
    return best[0] if len(best) == 1 else None


def _by_words(ranked: list[Place], wanted: Wanted) -> Place | None:
    """Return the only place that has an alert's name as code, or one that has it with its page's name; else the best."""
    mentioned = [it for it in ranked if any(is_mentioned(it, name) for name in wanted.names)]
    if len(mentioned) == 1:  # no other result has it
        ranked = [*mentioned, *(it for it in ranked if it is not mentioned[0])]
    elif told := told_in_all(ranked, wanted):
        return replace(_fitting(told, wanted), why="told")
    if not ranked:
        return None
    first = _narrowest(ranked, wanted)
    return replace(first, rival=_rival([first, *ranked], wanted))


def _narrowest(ranked: Sequence[Place], wanted: Wanted) -> Place:
    """Return the first place; if it only holds or describes several subjects, the best one of these instead."""
    first = ranked[0]
    outline = first.outline
    while subjects := _subjects_at(first.section, outline, wanted):
        below = [
            it
            for it in ranked
            if it.section.kind is not Kind.BACKGROUND
            and any(one.holds(it.section) for one in subjects)
        ]
        if not below:
            break
        first = below[0]
    return first


def _subjects_at(section: Section, outline: Outline, wanted: Wanted) -> list[Section]:
    """Return the sections below one, or beside one that describes, that are subjects of their own; none if it has steps."""
    if is_one_procedure(outline, wanted):
        return []
    top = top_of(outline)
    if section.kind is Kind.BACKGROUND and is_short_sop(outline):
        return []
    around = top if section in (outline.root, top) or section.kind is Kind.BACKGROUND else section
    has_steps = any(it.form in _STEPS for it in around.blocks)
    below = subjects_of(outline, around)
    if around is not top and (has_steps or any(map(_is_part, below))):
        return []
    own = [it for it in below if around is top and is_bare_resolution(it)]
    return [it for it in own or below if it is not section]


def _is_part(section: Section) -> bool:
    """Whether a section is a part of the subject of the one around it: a step, a tab, or one with a mere purpose."""
    return (
        section.level in (TAB_LEVEL, LABEL_LEVEL)
        or names_only_kind(section.heading)
        or is_numbered(section.heading)
    )


_STEPS: Final = (Form.LIST, Form.CODE, Form.TABLE)


def _for_others(wanted: Wanted, outlines: Sequence[Outline]) -> set[int]:
    """Return the ids of sections and tabs for other environments, under another number, or about things never done.

    Where a page has sections about one and about all of its things, an alert's name says which: AllHostsDown isn't for
    "One host is down".
    """
    found: set[int] = set()
    extent = _extent(split_words(" ".join(wanted.names))) if wanted.is_alert else None
    for outline in outlines:
        headings = [it.heading for it in outline.sections()]
        others = set(other_numbers(headings, wanted.text))
        extents = {it: _extent(it) for it in headings} if extent is not None else {}
        if extent in extents.values():
            others |= {it for it, its in extents.items() if its is (not extent)}
        for section in outline.sections():
            if is_no_way(section.heading) or section.heading in others:
                found |= {id(it) for it in section.walk()}
    found |= {
        id(it)
        for outline in outlines
        for tab in tabs_of_others(wanted, outline.root)
        for it in tab.walk()
    }
    not_linked = (it for it in outlines if it.source_file not in wanted.anchors)
    return found.union(*(_for_elsewhere(wanted, it) for it in not_linked))


def _extent(text: str) -> bool | None:
    """Return whether a text is about all things of a kind, or about one of them; ``None`` if it says neither or both."""
    words = {*spaced_words(text).split()}
    is_all = not words.isdisjoint({"all", "every", "both"})
    is_one = not words.isdisjoint({"one", "single"})
    return is_all if is_all != is_one else None


def _part_behind(place: Place, wanted: Wanted) -> Place | None:
    """Return the section right after one that undoes or verifies it, if a question asks for that.

    "Ending free run" comes after "Free run": their headings share a word.
    """
    section = place.section
    beside = section.parent.children if section.parent else [section]
    behind = next(itertools.islice(beside, beside.index(section) + 1, None), None)
    if behind is None or not words_of([behind.heading]) & words_of([section.heading]):
        return None
    is_asked = [is_asked_for(wanted, it.heading, {it.kind}) for it in (section, behind)]
    return replace(place, section=behind) if is_asked == [False, True] else None


def _rival(ranked: Sequence[Place], wanted: Wanted) -> float:
    """Return the worth of the best section on another subject than the first one, as a share of the first one's worth."""
    first = ranked[0]
    own = matter_at(first.outline, first.section.start, wanted)
    others = (
        it.worth
        for it in ranked
        if it.section.level
        and not (
            it.outline is first.outline
            and it.section.start <= own.end
            and own.start <= it.section.end
        )
    )
    return max(others, default=0.0) / first.worth if first.worth > 0 else 1.0


def _quoting(places: Sequence[Place], wanted: Wanted) -> Place | None:
    """Return the only place whose own text quotes a program's message that the incident has; a heading's name is none."""
    headings = {spaced_words(it.section.heading) for it in places}
    found = [
        it
        for it in places
        if any(
            spaced_words(message) not in headings
            for block in it.section.blocks
            if block.form is not Form.CODE
            for n in range(block.start, block.end + 1)
            for message in messages_in(it.outline.lines.get(n, ""), wanted.said)
        )
    ]
    return replace(found[0], why="quoting") if len(found) == 1 else None


def _indexed(places: Sequence[Place], wanted: Wanted) -> Iterator[Place]:
    """Yield the places that their pages' indexes name for an alert, or for a code in the incident's words."""
    outlines = {it.outline.source_file: it.outline for it in places}
    indexed = {id(it) for outline in outlines.values() for it in _of_index(outline, wanted)}
    yield from (it for it in places if id(it.section) in indexed)


def _of_index(outline: Outline, wanted: Wanted) -> Iterator[Section]:
    """Yield the section of each line or row with an alert's name and one reference; a table's own for one to another page.

    A line with a code from the incident's words in the sentence before a colon or an arrow counts as well, and a row with
    a program's message of these. So does a row of a table of cases whose first cell is an error code of these: for its own
    section, since it is shown itself.
    """
    begins = tuple(filter(None, (fold(it)[:2] for it in wanted.names)))
    codes = set(CODE_OF_ERROR.findall(wanted.said))

    def is_coded(text: str) -> bool:
        return names_code(wanted.said, text) or not codes.isdisjoint(CODE_OF_ERROR.findall(text))

    for own, block in ((section, it) for section in outline.sections() for it in section.blocks):
        for number in range(block.start, block.end + 1):
            line = outline.lines.get(number, "")
            case = _ENTRY.match(line) if block.form is not Form.TABLE else None
            has_code = (
                any(messages_in(line, wanted.said))
                if block.form is Form.TABLE
                else case is not None and is_coded(sentences(case["case"])[-1])
            )
            if (
                codes
                and block.form is Form.TABLE
                and begins_with_code(line, codes)
                and has_cases(outline, block)
            ):
                yield own
            # most lines are about something else, which is seen at once
            may_name = "<" in line or any(it in line.casefold() for it in begins)
            if not (has_code or may_name):
                continue
            entry = [case["action"] if case and has_code else line]
            if block.form is Form.TABLE:
                heads = cells_of(outline.lines.get(block.start, ""))
                entry = [*map(" ".join, zip(heads, cells_of(line), strict=False))]
            written = (it for part in entry for it in NAME.findall(part))
            if not (
                has_code or any(same_name(it, name) for it in written for name in wanted.names)
            ):
                continue
            found = {id(it): it for part in entry for it in sections_referred(outline, part)}
            if len(found) == 1:
                yield from found.values()
            elif not found and block.form is Form.TABLE and page_referred(line):
                yield own  # of a list, the items for other alerts would come with it


_ENTRY: Final = re.compile(
    r"(?P<case>(?:`[^`\n]{1,80}`|[^:→`\n]){1,80}?)(?::\s|→|[-=]>)(?P<action>.*)"
)
"""An entry of an index, a colon within code aside: "`MODE: frozen` → Forward fix"."""


def _narrowed(place: Place, wanted: Wanted, ranked: Sequence[Place]) -> Place:
    """Return the section that is meant if a page of several subjects is filed under the alert's name, or linked.

    It is the one whose heading's words are all in that name, the longest of several ("down" alone names no subject); else
    the one that is best both by search and by the incident's words; else the page. Words of the page's own name tell no
    section from another. Of a short page with other alerts' sections, it is the best section that isn't one of these; of
    one with more than MAX_PAGE action lines, each chapter may be meant.
    """
    outline, top = place.outline, place.section
    if top.kind is Kind.BACKGROUND and top.parent:  # a page's description lists its alerts
        top = top.parent
        place = replace(place, section=top)
    others = (it for it in outline.sections() if it is not top)
    is_page = all(top.holds(it) or it.holds(top) for it in others)
    if not is_page or is_one_procedure(outline, wanted):
        return place
    # a title may have some words of a sentence that names an alert
    names_alone = [it for it in alerts_named(wanted) if " " not in it.strip()]
    if is_headed(top, names_alone) or is_filed_alone(outline, wanted):
        return place
    names = words_of(wanted.names)
    shared = STATES | words_of([outline.title, stem(outline.source_file)])
    # the chapter that has one other alert's section is for alerts, whatever else it has
    for_others = [
        it.parent if it.parent and not it.parent.holds(top) else it
        for it in outline.sections()
        if _is_another_alerts(it, wanted)
    ]
    below = [
        it
        for it in ranked
        if it.outline is outline
        and top.holds(it.section)
        and it.section is not top
        and it.section.kind not in (Kind.BACKGROUND, *NEVER)
        and asks_for_something(outline, it.section)
        and not any(other.holds(it.section) for other in for_others)
    ]
    held = [
        (len(own), it)
        for it in below
        if (own := words_of([it.section.heading])) <= names and (own - shared or own == names)
    ]
    if held:
        _, longest = max(held, key=itemgetter(0))
        return replace(longest, why=place.why)
    return _best_of(replace(place, why=OF_PAGE[place.why]), below, has_others=bool(for_others))


def _best_of(page: Place, below: Sequence[Place], *, has_others: bool) -> Place:
    """Return the section of a page that is meant if no heading tells it; or a chapter, with the others that may be meant."""
    if not below:
        return page
    is_short = action_lines(page.outline, page.section) <= MAX_PAGE
    if below[0].worth >= BEST_BY_BOTH or (has_others and is_short):
        return replace(below[0], why=page.why)
    if is_short:
        return page
    chapters = (next(it for it in page.section.children if it.holds(one.section)) for one in below)
    first, *others = (replace(page, section=it) for it in dict.fromkeys(chapters))
    return replace(first, also=tuple(others))


OF_PAGE: Final = {"named": "page", "coded": "page", "linked": "linked page"}
"""The reason for a section of a page, by the reason for the page."""


def _is_another_alerts(section: Section, wanted: Wanted) -> bool:
    return is_camel_case(section.heading.strip(" `")) and not is_headed(section, wanted.names)


def _qualified(places: Sequence[Place], wanted: Wanted) -> list[Place]:
    """Return the places whose heading is the alert's name; on each page, the one whose other words the alert has is first.

    Of "DiskFull (prod)" and "DiskFull (staging)", the alert's labels decide which one is meant.
    """
    headed = [it for it in places if is_headed(it.section, wanted.names)]
    names, known = words_of(wanted.names), words_of([wanted.text, wanted.labels])

    def fits(place: Place) -> tuple[bool, int]:
        words = words_of([place.section.heading])
        return is_exactly(place.section, wanted.names), len((words - names) & known)

    best = sorted(headed, key=fits, reverse=True)
    pages = list(dict.fromkeys(it.outline.source_file for it in headed))
    return sorted(best, key=lambda it: pages.index(it.outline.source_file))


def _fitting(places: Sequence[Place], wanted: Wanted) -> Place:
    """Return the first of the places under the alert's name on the page that the alert's labels fit best.

    Of a page for the EU and one for the US, ``region=eu`` decides; else a page with the whole name comes before one whose
    heading has words of it. If nothing decides, the others fit as well.
    """
    pages: dict[str, Place] = {}
    for it in places:
        pages.setdefault(it.outline.source_file, it)
    if len(pages) == 1 or set(pages) <= set(wanted.anchors):  # links have an order
        return places[0]
    # in labels every word counts: a region may be called "us"
    labels = set(spaced_words(wanted.labels).split())
    known = (words_of([wanted.text]) | labels) - words_of(wanted.names)
    said = {
        source: words_of(called) | set(spaced_words(" ".join(called)).split())
        for source, it in pages.items()
        if (called := [it.outline.title, *it.section.path, source])
    }
    shared = set.intersection(*said.values())
    fits = {
        source: (len((words - shared) & known), _has_whole_name(pages[source], wanted.names))
        for source, words in said.items()
    }
    meant = [it for source, it in pages.items() if fits[source] == max(fits.values())]
    return replace(meant[0], also=tuple(meant[1:]))


def _has_whole_name(place: Place, names: Sequence[str]) -> bool:
    """Whether a page has an alert's name verbatim: in front matter, title, heading, or on a line of alerts."""
    outline = place.outline
    return is_exactly(place.section, names) or any(
        is_filed(outline, name)
        or any(is_listed(Place(outline, it), name) for it in outline.sections())
        for name in names
    )


def is_torn_between(place: Place, wanted: Wanted) -> bool:
    """Whether a page has several sections under the alert's name, and nothing decides which one is meant."""
    if place.why == "chosen":
        return False
    section, names = place.section, wanted.names
    same = [it for it in place.outline.sections() if it.level and is_headed(it, names)]
    if len(same) < 2 or section not in same or is_exactly(section, names):
        return False
    if any(it is not section and section.holds(it) for it in same):
        return False
    known = words_of([*names, wanted.text, wanted.labels])
    shared = set.intersection(*(words_of([it.heading]) for it in same))
    return not (words_of([section.heading]) - shared) & known


def is_superseded(outline: Outline) -> bool:
    """Whether a page says in its front matter or first lines, or by its folder, that it is no longer used."""
    top = top_of(outline)
    return is_retired(
        outline.source_file,
        outline.status,
        (outline.title, top.heading),
        [
            (it.form in (Form.PARAGRAPH, Form.QUOTE), outline.text(it.start, it.end))
            for it in top.blocks[:HEAD]
            if it.form is not Form.CODE
        ],
    )


def _gives_steps(outline: Outline, wanted: Wanted) -> bool:
    if outline.document_type == DocumentType.POSTMORTEM:
        return wanted.is_past
    return not is_superseded(outline)


def _ranked(wanted: Wanted, outlines: Sequence[Outline], evidence: Evidence) -> list[Place]:
    """Return all sections, best first: by their best passage, that of their page, shared words, and :func:`_suits`."""
    places = [Place(outline, section) for outline in outlines for section in outline.sections()]
    if not places:
        return []
    scores = [_score_of(place, evidence) for place in places]
    pages = [_of_page(it.outline, wanted, evidence) for it in places]
    words = _bm25(wanted, places)
    best = [max(values) or 1.0 for values in (scores, pages, words)]
    things = set(_THING.findall(f"{wanted.said} {wanted.labels}".casefold()))
    worth = [
        score / best[0]
        + PAGE_SHARE * page / best[1]
        + word / best[2]
        + _suits(wanted, place, things)
        for score, page, word, place in zip(scores, pages, words, places, strict=True)
    ]
    ranked = [replace(place, worth=it) for place, it in zip(places, worth, strict=True)]
    return sorted(ranked, key=lambda it: -it.worth)


def _of_page(outline: Outline, wanted: Wanted, evidence: Evidence) -> float:
    """Return the evidence for a page, halved if the page is about another service than the incident."""
    share = evidence.pages.get(outline.source_file, 0.0)
    return share / 2 if is_of_other_service(outline, wanted) else share


BEST_BY_BOTH: Final = 2.0
"""Worth of a section that is the best of all both by search and by its words, each of which counts 1 at most."""
PAGE_SHARE: Final = 0.25
"""Weight of the evidence for a section's page beside its own."""


def _suits(wanted: Wanted, place: Place, things: set[str]) -> float:
    """Return a section's bonus: 1 if it is the part asked for, 1 if a thing of the incident heads it.

    It is negative for a section about things that aren't done.
    """
    kinds, heading = kinds_at(place), place.section.heading
    is_asked = is_asked_for(wanted, heading, kinds)
    if kinds & NEVER and not is_asked:
        return -5.0
    is_own = place.section.level > 1 and not things.isdisjoint(_THING.findall(heading.casefold()))
    return float(is_asked) + float(is_own)


_THING: Final = re.compile(r"(?<![\w-])[a-z]\w+(?:-\w+)+(?![\w-])")
"""The name of one thing, of several parts: basket-db, sapbr-1."""


def is_escalation(place: Place) -> bool:
    """Whether a section, one around it, or its page says whom to call."""
    return (
        Kind.ESCALATION in kinds_at(place)
        or kind_of_heading(place.outline.title) is Kind.ESCALATION
    )


def _for_elsewhere(wanted: Wanted, outline: Outline) -> set[int]:
    """Return the ids of the sections for an environment other than production that the incident doesn't name."""
    asked = words_of([*wanted.names, wanted.text, wanted.labels])

    def named_in(section: Section, *said: str) -> set[str]:
        limits = (
            m[0] for it in introduction_of(outline, section) for m in _ONLY_FOR.finditer(it.text)
        )
        return words_of(name for text in (*said, *limits) for name in _ENVIRONMENT.findall(text))

    own: dict[int, set[str]] = {}
    for section in outline.sections():  # those around a section come before it
        around = (
            own[id(section.parent)]
            if section.parent
            else named_in(top_of(outline), outline.title, outline.source_file)
        )
        own[id(section)] = around | named_in(section, section.heading)
    return {key for key, names in own.items() if names and not names & asked}


def _score_of(place: Place, evidence: Evidence) -> float:
    """Return the best score of a passage with lines of a section's own text, or of a bare heading above it."""
    section = place.section
    start, end = own_range(section)
    while section.parent and not section.parent.blocks and section.parent.children[0] is section:
        section = section.parent
        start = section.start
    if not section.level:
        start = 0
    passages = evidence.passages.get(place.outline.source_file, {})
    own = (it for (first, last), it in passages.items() if first <= end and start <= last)
    return max(own, default=0.0)


def _bm25(wanted: Wanted, places: Sequence[Place]) -> list[float]:
    """Return how well each section's own text and headings match the words (Robertson and Zaragoza, 2009)."""
    asked = set(word_list([*wanted.names, wanted.text]))
    texts = []
    for place in places:
        start, end = own_range(place.section)
        path = place.section.path or (place.outline.title,)
        said = (*path, *path[-1:], place.outline.source_file.rpartition("/")[2])
        texts.append(Counter(word_list((*said, place.outline.text(start, end)))))
    count = len(texts)
    held = Counter(word for text in texts for word in text if word in asked)
    mean = sum(text.total() for text in texts) / count or 1.0
    return [
        sum(
            math.log(1 + (count - held[word] + 0.5) / (held[word] + 0.5))
            * (often * 2.2 / (often + 1.2 * (0.25 + 0.75 * text.total() / mean)))
            for word in asked
            if (often := text[word])
        )
        for text in texts
    ]
