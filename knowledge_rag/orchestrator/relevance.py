"""Decides whether a procedure that search alone found is about the incident, and whether anything else may be meant."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from posixpath import commonprefix
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import split_words
from knowledge_rag.core.languages import LANGUAGES_OF_OTHER_SCRIPTS, language_of
from knowledge_rag.core.lines import cells_of
from knowledge_rag.core.metadata import TITLE
from knowledge_rag.orchestrator.choosing import is_escalation, is_superseded
from knowledge_rag.orchestrator.extent import matter_at
from knowledge_rag.orchestrator.governing import forbids
from knowledge_rag.orchestrator.links import fold, stem
from knowledge_rag.orchestrator.naming import (
    CODE_OF_ERROR,
    CODE_SPAN,
    STATES,
    is_camel_case,
    is_of_another,
)
from knowledge_rag.orchestrator.outline import Form
from knowledge_rag.orchestrator.queries import WHO
from knowledge_rag.orchestrator.wanted import (
    Place,
    asks_for_part,
    asks_to_undo,
    is_asked_for,
    kinds_at,
    words_of_part,
)
from knowledge_rag.orchestrator.words import (
    asked_words,
    holds,
    meant_by,
    share_of,
    spaced_words,
    words_of,
    written_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.orchestrator.outline import Outline, Section
    from knowledge_rag.orchestrator.procedures import Procedure
    from knowledge_rag.orchestrator.searches import Search
    from knowledge_rag.orchestrator.wanted import Wanted


@dataclass(frozen=True, slots=True)
class Floors:
    """Minimum scores of search results that are advice; they belong to one search's scale.

    Args:
        sure: for alerts whose name the section lacks.
        clear: for alerts whose name it has, if no other subject comes near.
    """

    alert: float
    question: float
    sure: float
    clear: float


NAME_SHARE: Final = 0.75
"""Minimum share of the words of an alert's name in a place that isn't filed under it."""
QUESTION_SHARE: Final = 0.5
"""Minimum share of a question's words in a place, unless it is close: a question has words of its own."""
RIVAL_SHARE: Final = 0.85
"""Share of a section's score above which another procedure may be meant as well."""
CLEAR_SHARE: Final = 0.65
"""Maximum worth, by search and words, of another subject that isn't meant, as a share of a section's."""
ENOUGH: Final = 0.45
"""Score, or share of words, below which the evidence for a procedure that search found is thin."""
FEW: Final = 3
"""Minimum words of a question for a section with all of them to be meant: "slow" and "database" occur anywhere."""


def is_relevant(place: Place, held: set[str], search: Search, floors: Floors | None) -> bool:
    """Whether a place that search alone found, and that has these words, is about the incident.

    Its page must not name another thing of the same kind instead. A question must not name anything that no result has,
    unless the page names its service, and an alert's section must not be filed under another alert. Contacts fit a
    question about them if they share a word with it, or if it names nothing unknown. Anything else has to be close
    enough, see :func:`_is_alerts` and :func:`_is_questions`. If the scores' scale is unknown, words alone decide.
    """
    # other things that a log or a description names need not be documented
    wanted = replace(search.wanted, text=search.member.title or search.wanted.text)
    if _is_whom_to_call(place, wanted):
        # contacts are by system: if they have that, they need not have the question's places and people
        told = words_told(wanted) - _CALLING
        is_listed = not told.isdisjoint(words_of(place.outline.lines.values()))
        return is_listed or not unheard_of(wanted.text, search.results)
    is_other = (
        is_of_another(place, wanted.names)
        or _is_of_another_thing(place, wanted.names)
        or _is_for_siblings(place, wanted.names)
        if wanted.is_alert
        else bool(
            (
                unheard_of(wanted.text, search.results)
                and not names_service(place.outline, wanted.service)
            )
            or _other_task(wanted.task, place)
        )
    )
    if is_other or _siblings_of(wanted.text, place):
        return False
    score = search.score(place.outline.source_file)
    is_sentence = wanted.is_alert and " " in wanted.names[0]
    if wanted.is_alert and not (is_sentence and names_service(place.outline, wanted.service)):
        return _is_alerts(place, wanted, held, score, floors)
    return _is_questions(place, wanted, held, score, floors)


def _is_whom_to_call(place: Place, wanted: Wanted) -> bool:
    """Whether a question asks whom to call, and a section says that."""
    return wanted.asks(WHO) and is_escalation(place)


_CALLING: Final = words_of(["call", "wake", "ring", "page", "phone", "number", "escalate"])


def _is_of_another_thing(place: Place, names: Sequence[str]) -> bool:
    """Whether a page has the name of another thing as code that ends like an alert's name, and lacks the alert's own.

    A page with the alarm `orders-db-replica-lag` isn't for "users-db-replica-lag".
    """
    if not names or not _OF_PARTS.fullmatch(names[0]):
        return False
    parts = names[0].split("-")
    page = "\n".join([*place.outline.lines.values(), place.outline.source_file])
    known = fold(page)
    for other in (it.split("-") for it in _OF_PARTS.findall(page)):
        shared = len(commonprefix([parts[::-1], other[::-1]]))
        own, its = parts[: len(parts) - shared], other[: len(other) - shared]
        if shared > 1 and own and its and fold("-".join(own)) not in known:
            return True
    return False


def _is_for_siblings(place: Place, names: Sequence[str]) -> bool:
    """Whether a page has a section for an alert whose name begins like the alert's, and lacks the alert's own name.

    A page with ColdChamberTooWarm isn't for ColdChamberTooCold.
    """
    if not names or not is_camel_case(names[0]):
        return False
    outline, parts = place.outline, split_words(names[0]).split()
    headings = (it.heading.strip() for it in outline.sections())
    others = [split_words(it).split() for it in headings if is_camel_case(it)]
    is_sibling = any(len(commonprefix([parts, it])) > 1 for it in others)
    return is_sibling and fold(names[0]) not in fold("\n".join(outline.lines.values()))


_OF_PARTS: Final = re.compile(r"(?<![\w-])[a-z\d]+(?:-[a-z\d]+){2,}(?![\w-])")
"""The name of an alarm, of a thing and its trouble: orders-db-replica-lag."""


def _is_alerts(
    place: Place, wanted: Wanted, held: set[str], score: float, floors: Floors | None
) -> bool:
    """Whether a section is about an alert.

    It has to score ``Floors.alert`` and have NAME_SHARE of the words of its name (QUESTION_SHARE of a sentence), without
    those of its state and of things that the page has as code: what is wrong with `stock-prod` is a matter of its own.
    Or it has to score ``Floors.sure``. If search and words together rate every other subject at CLEAR_SHARE of it at
    most, ``Floors.clear`` replaces ``Floors.alert``.
    """
    words = words_of(wanted.names[:1])
    name = words - STATES if len(words - STATES) > 1 else words
    name = name - _words_of_names(place, wanted.names[0]) or name
    share = QUESTION_SHARE if " " in wanted.names[0] else NAME_SHARE
    named = sum(holds(held, it, _SHORT) for it in name) >= share * len(name)
    if floors is None:
        return named
    floor = floors.clear if place.rival <= CLEAR_SHARE else floors.alert
    return score >= (floor if named else floors.sure)


def _words_of_names(place: Place, name: str) -> set[str]:
    """Return the words of the things in an alert's name that a page names as code: `fjb-fare-001`."""
    page = "\n".join(place.outline.lines.values())
    return words_of(
        it
        for it in CODE_SPAN.findall(page)
        if len(it) >= _LONG and it.casefold() in name.casefold()
    )


_LONG: Final = 6
"""Minimum letters of a thing's name."""
_SHORT: Final = 3
"""Minimum letters of a short form: "mem" of an alarm's name for "memory"."""


def _is_questions(
    place: Place, wanted: Wanted, held: set[str], score: float, floors: Floors | None
) -> bool:
    """Whether a section is about a question, or about an alert that is named by a sentence and whose service its page names.

    A section that has the code of a question ("V-307") is about it. Others need QUESTION_SHARE of the words (all of
    them, if fewer than FEW) and, unless they are the part that is asked for, a score of ``Floors.question``; or a score
    of ``Floors.alert``.
    """
    if has_code(place, wanted):
        return True
    told = words_told(wanted)
    if floors is None:
        return bool(told & held)
    share = share_of(told, held | meant_by(wanted.text, held))
    is_told = share >= (1 if _is_short(told, wanted) else QUESTION_SHARE)
    if is_asked_for(wanted, place.section.heading, kinds_at(place)):
        return is_told
    return score >= (floors.question if is_told else floors.alert)


def has_code(place: Place, wanted: Wanted) -> bool:
    """Whether a section has an error code of a question: "V-307"."""
    section = place.outline.text(place.section.start, place.section.end)
    return not wanted.is_alert and any(it in section for it in CODE_OF_ERROR.findall(wanted.text))


def _is_short(told: set[str], wanted: Wanted) -> bool:
    """Whether a question has so few words that each of them counts, and doesn't ask for a part of a page."""
    return len(told) < FEW and not asks_for_part(wanted)


def words_told(wanted: Wanted) -> set[str]:
    """Return the words of a question that name its subject."""
    told = asked_words([*wanted.names, WHO.sub(" ", wanted.text)]) - words_of([wanted.service])
    return told - words_of_part(wanted)


def names_service(outline: Outline, service: str) -> bool:
    """Whether a page names a service, in its text or as its own."""
    if not service:
        return False
    said = re.compile(rf"(?<![\w-]){re.escape(service)}(?![\w-])", re.IGNORECASE)
    return any(said.search(line) for line in (outline.service, *outline.lines.values()))


_AS_CODE: Final = re.compile(
    r"(?<![\w-])(?:[A-Z]{4,}|[A-Za-z]+_\w+|(?=[\w-]*\d)[A-Z]+-?\w*\d{3,})(?![\w-])"
)
"""A name in a program's notation: PLANNER, halt_reason, ORA-01653."""
_COMPOUND: Final = re.compile(
    r"(?<![\w/.-])(?!(?:prod|staging|dev|test|live|eu|us)[-_])[a-z]{2,}(?:[-_][a-z]+)+(?![\w/-])"
)
"""The name of a thing, of several parts: redis-session, aodb_core; one among several has a number."""
_OF_A_SERIES: Final = re.compile(r"(?<![\w/.-])[a-z]{2,}[-_][a-z](?![\w/-])")
"""A name that ends in a single letter, like those of a series: mq-a."""
_OF_A_KIND: Final = re.compile(r"(?<![\w-])[a-z]{1,8}-?\d{2,}(?![\w-])")
"""A code or a name that ends in a number: ORA-01653, gate-07."""
_OF_AN_ENVIRONMENT: Final = re.compile(
    r"\b(?!(?:the|this|our|each|every|an?|production|prod|live)\b)(\w+) (?:environment|env)\b",
    re.IGNORECASE,
)
_IN_CODE: Final = re.compile(r"`[^`\n]*`|^(?: {4}|\t).*$", re.MULTILINE)


def _siblings_of(text: str, place: Place) -> list[str]:
    """Return the names in a text that a page lacks, although it has others with the same beginning as code, or as its own.

    A page about `redis-badge` isn't for "redis-session"; "fail-over" is a word. Of a series, the section has to name the
    same one: steps on "mq-a" are not for "mq-b", nor is a section headed "ORA-01653" for "ORA-30036". Nor is one on the
    table `idem-keys` for "table user-config".
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
        *_others_alike(_OF_A_KIND, text, " ".join(section.path), own),
        *_codes_not_listed(text, outline),
        *_other_stores(text, own, page),
    ]


_STORE: Final = re.compile(
    r"\b(table|queue|topic|bucket|database|index|stream|cluster|cache|volume)s?[ :=]+[`'\"*]*"
    r"((?:[a-z\d]+[-_.])+[a-z\d]+)(?![\w-])",
    re.IGNORECASE,
)
"""What holds data, and its name: "table:user-config", "the queue `pay-out.fifo`"."""


def _other_stores(text: str, section: str, page: str) -> Iterator[str]:
    """Yield the stores in a text that a page lacks, if the section has others of their kind as code."""
    theirs = {kind.casefold() for kind, name in _STORE.findall(section) if f"`{name}`" in section}
    for kind, name in _STORE.findall(text):
        if kind.casefold() in theirs and fold(name) not in fold(page):
            yield name


def _codes_not_listed(text: str, outline: Outline) -> Iterator[str]:
    """Yield the codes in a text that a page's tables of codes lack, although their rows have codes with the same beginning."""
    blocks = [
        it for section in outline.sections() for it in section.blocks if it.form is Form.TABLE
    ]
    for block in blocks:
        rows = [cells_of(outline.lines.get(n, "")) for n in range(block.start + 2, block.end + 1)]
        listed = {cells[0].strip("`* ") for cells in rows}
        heads = {_head(it.casefold()) for it in listed if CODE_OF_ERROR.fullmatch(it)}
        said = " ".join(cell for cells in rows for cell in cells)
        yield from (
            it
            for it in CODE_OF_ERROR.findall(text)
            if _head(it.casefold()) in heads and it not in said
        )


def _others_alike(pattern: re.Pattern[str], text: str, among: str, page: str) -> Iterator[str]:
    """Yield the names in a text that a page lacks, of those that begin like a name among its words."""
    heads = {_head(it) for it in pattern.findall(among.casefold())}
    folded = fold(page)
    for name in dict.fromkeys(pattern.findall(text.casefold())):
        if _head(name) in heads and fold(name) not in folded:
            yield name


def _head(name: str) -> str:
    """Return the letters that a name begins with."""
    return "".join(itertools.takewhile(str.isalpha, name))


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
"""Tasks that a question may ask for, in words that aren't symptoms, and the words that a page has for each."""


def _other_task(text: str, place: Place) -> bool:
    """Whether a question asks for a task that a page has no word for, except in prohibitions."""
    outline = place.outline
    lines = [it for it in outline.lines.values() if not forbids(it)]
    page = " ".join([*lines, outline.source_file, outline.title])
    return any(asked.search(text) and not words.search(page) for asked, words in _TASKS)


def is_task_of(text: str, line: str) -> bool:
    """Whether a question asks for a task, and a line has a word for that."""
    return any(asked.search(text) and words.search(line) for asked, words in _TASKS)


_NAMED_ELSEWHERE: Final = re.compile(r"(?<![\w-])[A-Z][a-z]{2,}(?![a-z])|\b[A-Za-z]+[a-z][A-Z]\w*")
"""The same in a language with its own script, where a Latin word is a name; German capitalises all nouns."""
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


def unheard_of(text: str, results: Sequence[RetrievalResult]) -> list[str]:
    """Return the names in a question that no result has."""
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
        if it.casefold() not in held and (own := words_of([it])) and not _is_held(it, own, found)
    ]


def _is_held(name: str, own: set[str], found: set[str]) -> bool:
    """Whether a name's words were found: all parts of DocumentDB; one of a maker's name and a product's."""
    return bool(own & found) if " " in name else own <= found


def _is_which(before: str, found: set[str]) -> bool:
    """Whether a name follows a word that pages have, so that it says which one: "depot Erfurt"."""
    *_, last = before.split(" ")[:-1] or [""]
    return last.islower() and bool(own := words_of([last])) and own <= found


def words_held(place: Place, procedures: Sequence[Procedure], wanted: Wanted) -> set[str]:
    """Return the words of the procedures at a place, their headings, and the page's title and name.

    Text between their items counts, too, and so do the lines that govern these. For an alert, all text between their
    lines counts, since a page's symptoms name its alerts. Steps to undo or verify need not repeat what the page is about,
    so for these the whole page counts.
    """
    said: Iterable[str]
    if asks_for_part(wanted):
        said = place.outline.lines.values()
    elif wanted.is_alert:
        said = (place.outline.text(min(it.lines), max(it.lines)) for it in procedures)
    else:
        said = (text for it in procedures for text in _texts_of(place.outline, it))
    headings = (heading for it in procedures for heading in it.path)
    return written_words([*said, *headings, place.outline.title, place.outline.source_file])


def _texts_of(outline: Outline, procedure: Procedure) -> Iterator[str]:
    items = procedure.items
    yield outline.text(min(it.start for it in items), max(it.end for it in items))
    for item in items:
        yield from (it.text for it in item.governing)


def is_unambiguous(
    place: Place,
    held: set[str],
    search: Search,
    outlines: Mapping[str, Outline],
    floors: Floors | None,
) -> bool:
    """Whether a question means a procedure that search alone found, and nothing else that was found.

    It does if its section scores ``Floors.sure``; or has all of the question's words (if they are fewer than FEW, in its
    headings or its page's name); or has code from the question that no rival has; or if search and words together rate
    every section on another subject at CLEAR_SHARE of it at most; or if no rival scores more than RIVAL_SHARE of it.
    If the question asks for a part of a page, sections of the same page aren't rivals; if it asks to undo something, other
    pages' sections are rivals only if they do. Pages that are no longer used are never rivals. A question about contacts
    means contacts. The answer is always yes for an alert, and if the scores' scale is unknown.
    """
    wanted = search.wanted
    if wanted.is_alert or floors is None or _is_whom_to_call(place, wanted):
        return True
    source_file = place.outline.source_file
    score = search.score(source_file)
    told = words_told(wanted)
    called = words_of([*place.section.path, place.outline.title, place.outline.source_file])
    is_held = told <= (held if len(told) >= FEW else called)
    if score >= floors.sure or is_held or place.rival <= CLEAR_SHARE:
        return True
    own = matter_at(place.outline, place.section.start, wanted)
    is_part = asks_for_part(wanted)
    rivals = [
        it
        for it in search.usable()
        if not is_superseded(outlines[it.citation.source_file])
        and (
            _is_asked_part(it, wanted, outlines)
            if it.citation.source_file != source_file
            else not (
                is_part
                or (own.start <= it.citation.end_line and it.citation.start_line <= own.end)
                or _is_around(matter_of(it, wanted, outlines), own)
            )
        )
    ]
    section = place.outline.text(own.start, own.end)
    if any(
        term in section and not any(term in it.content for it in rivals)
        for term in _AS_CODE.findall(wanted.text)
    ):
        return True
    return max((it.relevance_score or 0.0 for it in rivals), default=0.0) <= RIVAL_SHARE * score


def _is_around(section: Section, own: Section) -> bool:
    """Whether a section is another one, or holds it, as a page's introduction does."""
    return section is own or section.holds(own)


def _is_asked_part(
    result: RetrievalResult, wanted: Wanted, outlines: Mapping[str, Outline]
) -> bool:
    """Whether a passage's section is for undoing, if a question asks to undo something; true for other questions."""
    outline, section = outlines[result.citation.source_file], matter_of(result, wanted, outlines)
    place = Place(outline, section)
    return not asks_to_undo(wanted) or is_asked_for(wanted, section.heading, kinds_at(place))


def is_vague(wanted: Wanted, results: Sequence[RetrievalResult]) -> bool:
    """Whether a question has at most one meaningful word, and several pages were found.

    It isn't vague if just one of them has that word in its title or name, or has a code that the question names, or if
    just one section's heading is in the question.
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
        if any(
            code[0].casefold() in it.content.casefold()
            for code in _ERROR_CODE.finditer(wanted.text)
        )
    }
    asked = spaced_words(wanted.text)
    headed = {
        it.citation.section_header
        for it in results
        if (heading := spaced_words(it.citation.section_header)).strip()
        and (heading in asked or words_of([heading]) == told)
    }
    return 1 not in (len(named), len(coded), len(headed))


def matter_of(result: RetrievalResult, wanted: Wanted, outlines: Mapping[str, Outline]) -> Section:
    """Return the section that a passage's procedure is made of."""
    # a passage may begin with the headings of the sections around its own
    citation = result.citation
    return matter_at(outlines[citation.source_file], citation.end_line, wanted)


_ERROR_CODE: Final = re.compile(r"\b[A-Za-z]{1,8}[-_]?\d[\w-]*\b")
"""An error code or the like: CU-30, ORA-00060."""
