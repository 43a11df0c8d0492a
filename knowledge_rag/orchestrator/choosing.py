"""Which procedures an incident gets: by its link, by its name, else by what search found best.

A rule a person can say: the section that the alert links; else the one that is filed under the alert's name (its
heading, an "Alert:" line, the page's front matter, title or file name); else the section that search and the
incident's own words agree on best. Inside what is chosen nothing is chosen: see :mod:`procedures`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from operator import itemgetter
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.headings import (
    ACTIONS,
    NEVER,
    Kind,
    instructs,
    is_called_rules,
    is_numbered,
    kind_told,
    number_of,
    tells_only_kind,
)
from knowledge_rag.core.stemming import stem as stemmed
from knowledge_rag.orchestrator.governing import (
    Governs,
    excluded_by,
    forbidden_by,
    forbids,
    holds_for_all,
    out_of_scope,
    says_nothing,
    stopped_by,
)
from knowledge_rag.orchestrator.links import fold, stem
from knowledge_rag.orchestrator.outline import LABEL_LEVEL, TAB_LEVEL, Form, cells_of
from knowledge_rag.orchestrator.procedures import (
    NotShown,
    Why,
    action_lines,
    asks_for_something,
    governed,
    introduction_of,
    procedure_of,
    rules_of,
)
from knowledge_rag.orchestrator.queries import WHO
from knowledge_rag.orchestrator.words import spaced_words, word_list, words_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.orchestrator.governing import Governing
    from knowledge_rag.orchestrator.outline import Block, Outline, Section
    from knowledge_rag.orchestrator.procedures import Procedure

MAX_PAGE: Final = 60
"""Action lines up to which a page that is one procedure is given whole; 30 and 120 measured the same."""
MAX_DEPTH: Final = 2
"""Links inside a document that are followed, one behind the other."""
MAX_LINKED: Final = 8
"""Sections that links draw in at most."""

_SUPERSEDED: Final = re.compile(
    r"^[\s>*_#\W]*(?:(?:note|warning|important|attention)\W+)?(?:(?:this|the) (?:page|runbook|document|procedure|playbook|guide|section)\b[^.]{0,40}?\b)?"
    r"(?:superseded|out of date|outdated|obsolete|deprecated|archived|replaced by|kept for|no longer (?:maintained|valid|used|in use))\b"
    r"|.{0,80}\((?:superseded|obsolete|deprecated|outdated|archived|old|copy|replaced by)\b"
    r"|(?s:.{0,200}?)\bcurrent(?: (?:page|version|one))?(?: is)?: *\[",
    re.IGNORECASE,
)
"""How a page's title or first words say that it isn't used any more."""
_GONE: Final = re.compile(
    r"\b(?:superseded|outdated|obsolete|deprecated|archived|retired|withdrawn|replaced)\b",
    re.IGNORECASE,
)
_ENVIRONMENT: Final = re.compile(
    r"\b(?:staging|sandbox|pre-?prod(?:uction)?|dev(?:elopment)?|playground)\b", re.IGNORECASE
)
_ONLY_FOR: Final = re.compile(
    r"\bonly (?:for|on|in|valid for) (?:the )?[\w-]+|\b[\w-]+(?: environment)? only\b",
    re.IGNORECASE,
)
"""For what words say alone to be: "only on staging", "Staging only"."""
_OLD_FOLDERS: Final = frozenset(
    {"old", "archive", "archived", "obsolete", "deprecated", "historical", "legacy"}
)
_NAME_LENGTH: Final = 5
"""Letters and digits from which a name inside a longer one is no chance."""
_ALERT_LINE: Final = re.compile(r"\b(?:alert|alarm|monitor|trigger)", re.IGNORECASE)
_NAME: Final = re.compile(r"[\w.:/-]*<[\w-]{1,20}>[\w.:/-]*|[\w][\w.:/-]*")
_NUMBER: Final = re.compile(r"\d+")
_CODE: Final = re.compile(r"`([^`\n]+)`")
_LINK: Final = re.compile(r"\[[^\]\n]*\]\(#([\w.:%-]+)\)")
_SET_APART: Final = re.compile(
    r"(?<!\w)(?:[*_]{1,2}|[\"“]|\[)(\w[^*_\"“”\[\]\n]{1,58}\w)(?:[*_]{1,2}|[\"”]|\])(?!\w)"
)
"""Words in quotes, in emphasis or of a link, as a heading is named within a sentence."""
_CHAPTER: Final = re.compile(r"\b(?:section|chapter|procedure) (\d+(?:\.\d+)*)", re.IGNORECASE)
"""How a chapter is named by its number."""
_NEXT: Final = re.compile(r"\b(?:(?:next|following) section|section below)\b", re.IGNORECASE)
_PREVIOUS: Final = re.compile(r"\b(?:(?:previous|last) section|section above)\b", re.IGNORECASE)
_OUTSIDE: Final = re.compile(
    r"\]\((?P<path>[\w./-]+\.(?:md|txt|html?))#(?P<anchor>[\w.%-]+)\)"
    r"|(?<![\w./-])(?P<file>[\w./-]+\.(?:md|txt|html?))[`),:]* (?:(?:section|part|chapter) )?[\"“](?P<words>[^\"”\n]{3,60})[\"”]"
    r"|[*_\"“](?P<said>[^*_\"“”\n]{3,60})[*_\"”]+ (?:in|of|on) `?(?P<of>[\w./-]+\.(?:md|txt|html?))\b"
)
"""A link to a named section of another document."""
_UNDO: Final = re.compile(
    r"\b(?:undo|revert|rollback|back (?:on|off|to (?:normal|spot))|(?:on|off) again"
    r"|(?:roll|go|turn|put|set|scale|switch|move|get|bring|take|fail|change|shift|route)(?:t?ing|e?s|e?d)?\b.{0,60}\bback)\b",
    re.IGNORECASE,
)
_UNDO_LABEL: Final = re.compile(
    r"\W*(?:\[[ x]\]\W*)?(?:to )?(?:undo|revert|roll(?:ing)? ?back|back ?out)\b", re.IGNORECASE
)
"""How an item begins that undoes those before it."""
_ONE_NAME: Final = re.compile(r"[\w.-]{2,40}")
_STEP_NUMBER: Final = re.compile(r"\bstep (\d{1,3})\b", re.IGNORECASE)
_UNDOES: Final = re.compile(
    r"\b(?:undo|revert|roll(?:ing)? ?back|back|again|afterwards|(?:scal(?:e|ing)|back) down|normal|re-?enabl\w+|restor\w+)\b",
    re.IGNORECASE,
)
_VERIFY: Final = re.compile(
    r"\bhow (?:do|can|would) (?:i|we) (?:know|tell|verify|check (?:that|whether|if))\b|\bis it over\b|\breally (?:ok|over|fixed)\b|\bcan (?:i|we) close\b|\bis everything ok\b"
    r"|\bwhat (?:do|should|must|can) (?:i|we) (?:check|verify)\b|\bbefore (?:i|we) close\b|\bbefore closing\b",
    re.IGNORECASE,
)
PAST: Final = re.compile(
    r"\blast time\b|\bdid we (?:do|fix)\b|\b(?:previous|earlier|past) incidents?\b|\bhappened before\b|\bpost-?mortem\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an incident or a question asks for, as far as choosing needs it.

    Args:
        names: of alerts in it, exactly as written, the likeliest first.
        anchors: documents that the alert links, the likeliest first, with the sections it names.
        labels: what else is known of the alert, such as its environment.
        is_alert: whether an alert tells of it, rather than a person's question.
    """

    names: tuple[str, ...] = ()
    text: str = ""
    anchors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_alert: bool = False
    labels: str = ""
    service: str = ""

    def asks(self, pattern: re.Pattern[str]) -> bool:
        """Whether it is a question of a certain form."""
        return not self.is_alert and pattern.search(self.text) is not None


@dataclass(frozen=True, slots=True)
class Place:
    """A section, and what speaks for it.

    Args:
        section: the section; the root stands for the page.
        why: ``linked``, ``named``, ``page`` (the page is filed under the alert's name, the section fits best) or
            ``found``.
    """

    outline: Outline
    section: Section
    why: str = "found"
    worth: float = 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a search says of documents.

    Args:
        ranks: of each document, what its passages are worth by their ranks, by first and last line.
        pages: of each document, how well its best passage did, 0..1.
    """

    ranks: Mapping[str, Mapping[tuple[int, int], float]] = field(default_factory=dict)
    pages: Mapping[str, float] = field(default_factory=dict)


def place_for(wanted: Wanted, outlines: Sequence[Outline], evidence: Evidence) -> Place | None:
    """Return where the procedure for an incident stands; ``None`` without a document to draw on."""
    usable = [it for it in outlines if _gives_steps(it, wanted)]
    others = (it for it in usable if it.source_file not in wanted.anchors)
    elsewhere = {key for it in others for key in _for_elsewhere(wanted, it)}
    for outline in usable:
        tabs = (tab for it in _tabs_of_others(wanted, outline.root) for tab in it.walk())
        elsewhere.update(map(id, tabs))
    ranked = [it for it in _ranked(wanted, usable, evidence) if id(it.section) not in elsewhere]
    if wanted.asks(WHO):
        ranked = [it for it in ranked if _is_escalation(it)] or ranked
    elif ranked:  # of the likeliest page, what undoes or verifies, where a question asks for that
        likeliest = ranked[0].outline
        ranked.sort(key=lambda it: -(it.outline is likeliest and _suits(wanted, it) > 0))
    linked = [it for it in ranked if it.outline.source_file in wanted.anchors]
    order = list(wanted.anchors)
    linked.sort(key=lambda it: order.index(it.outline.source_file))
    for place in linked:
        anchors = wanted.anchors[place.outline.source_file]
        if any(is_called(place.section, anchor) for anchor in anchors):
            return replace(place, why="linked")
    for among, why in ((linked, "linked"), (ranked, "named")):
        by_heading = iter(_qualified(among, wanted))
        by_line = (it for it in among if any(_is_listed(it, n) for n in wanted.names))
        by_page = (it for it in among if any(is_filed(it.outline, n) for n in wanted.names))
        for found in (by_heading, by_line, by_page):
            if first := next(found, None):
                return _narrowed(replace(first, why=why), wanted, ranked)
        if linked and among is linked:
            return replace(linked[0], why="linked")
    return ranked[0] if ranked else None


def _narrowed(place: Place, wanted: Wanted, ranked: Sequence[Place]) -> Place:
    """Return the section that is meant where a page of several matters is filed under the alert's name.

    The one whose heading's words are all in that name, the longest; else the one that is best both by the search
    and by the incident's words; else the page.
    """
    outline, top = place.outline, place.section
    others = (it for it in outline.sections() if it is not top)
    is_page = all(top.holds(it) or it.holds(top) for it in others)
    if not is_page or _is_one_procedure(outline, wanted):
        return place
    if _is_headed(top, wanted.names) or _is_filed_alone(outline, wanted):
        return place
    names = words_of(wanted.names)
    below = [
        it
        for it in ranked
        if it.outline is outline
        and top.holds(it.section)
        and it.section is not top
        and it.section.kind not in (Kind.BACKGROUND, *NEVER)
        and asks_for_something(outline, it.section)
    ]
    held = [
        (len(own), it) for it in below if (own := words_of([it.section.heading])) and own <= names
    ]
    if held:
        _, longest = max(held, key=itemgetter(0))
        return replace(longest, why=place.why)
    is_best = below and below[0].worth >= BEST_BY_BOTH
    return replace(below[0] if is_best else place, why="page")


def _qualified(places: Sequence[Place], wanted: Wanted) -> list[Place]:
    """Return the places whose heading is the alert's name, the one whose other words the alert has first.

    Of "DiskFull (prod)" and "DiskFull (staging)" the alert's labels tell which one is meant.
    """
    headed = [it for it in places if _is_headed(it.section, wanted.names)]
    names, known = words_of(wanted.names), words_of([wanted.text, wanted.labels])

    def fits(place: Place) -> tuple[bool, int]:
        words = words_of([place.section.heading])
        return _is_exactly(place.section, wanted.names), len((words - names) & known)

    page = [it for it in headed if it.outline is headed[0].outline]
    return sorted(page, key=fits, reverse=True)


def is_torn_between(place: Place, wanted: Wanted) -> bool:
    """Whether a page has several sections under the alert's name, and nothing tells which one is meant."""
    section, names = place.section, wanted.names
    same = [it for it in place.outline.sections() if it.level and _is_headed(it, names)]
    if len(same) < 2 or section not in same or _is_exactly(section, names):
        return False
    if any(it is not section and section.holds(it) for it in same):
        return False
    known = words_of([wanted.text, wanted.labels])
    return not (words_of([section.heading]) - words_of(names)) & known


def is_called(section: Section, anchor: str) -> bool:
    """Whether a link's anchor names a section's heading, or is the one that the heading sets."""
    wanted = fold(anchor.removeprefix("user-content-"))
    return bool(wanted) and wanted in (fold(section.heading), fold(section.anchor))


def _is_exactly(section: Section, names: Sequence[str]) -> bool:
    """Whether a heading is one of an alert's names and nothing else."""
    return any(fold(section.heading) == fold(name) for name in names)


def _is_headed(section: Section, names: Sequence[str]) -> bool:
    """Whether a heading is one of an alert's names, or has it as one of its words."""
    return any(_has_name(section.heading, name) for name in names)


def _has_name(heading: str, name: str) -> bool:
    """Whether a heading is a name, or has it as one of its words; ``<az>`` stands for any."""
    folded = fold(name)
    if not folded or not heading:
        return False
    if fold(heading) == folded:
        return True
    if len(folded) >= _NAME_LENGTH and any(
        same_name(found[0], name) for found in _NAME.finditer(heading)
    ):
        return True
    # NginxIngressPodDown heads Default-non-prod-ingress-NginxIngressPodDown as well
    words, wanted = words_of([heading]), words_of([name])
    if not set(_NUMBER.findall(heading)) <= set(_NUMBER.findall(name)):
        return False  # KafkaBroker1Down is no KafkaBroker2Down
    return 2 * len(words) >= max(2 * MIN_NAME_WORDS, len(wanted)) and words <= wanted


MIN_NAME_WORDS: Final = 3
"""Words of a heading, all of them in an alert's name and half of it, that make it the alert's own."""


def is_of_another(place: Place, names: Sequence[str]) -> bool:
    """Whether a place is filed under the name of another alert: such a section is for that one alone."""
    titles = [*place.section.path, place.outline.title, stem(place.outline.source_file)]
    return any(
        is_camel_case(title.strip()) and not any(same_name(title, name) for name in names)
        for title in titles
    )


def is_camel_case(text: str) -> bool:
    """Whether a text is one word made of three or more, each with a capital."""
    return _CAMEL_CASE.fullmatch(text) is not None


_CAMEL_CASE: Final = re.compile(r"(?=(?:[^\s]*[a-z\d_-][A-Z]){2})[A-Z][\w()./-]{7,}")


def _is_listed(place: Place, name: str) -> bool:
    """Whether a line of a section's own text that speaks of alerts holds the name."""
    outline, section = place.outline, place.section
    # a list of symptoms names the alarms that tell of them; one of steps may name any other alert
    steps = (Form.CODE,) if section.kind is Kind.BACKGROUND else (Form.CODE, Form.LIST)
    for block in section.blocks:
        if block.form in steps:
            continue
        for number in range(block.start, block.end + 1):
            line = outline.lines.get(number, "")
            if names_alert(line, name):
                return True
    return False


def names_alert(line: str, name: str) -> bool:
    """Whether a line that speaks of alerts holds a name: as one of its words, or, of several words, as it is written."""
    if not _ALERT_LINE.search(line):
        return False
    if " " in name.strip():
        return (
            re.search(rf"(?<!\w){re.escape(name.strip())}(?!\w)", line, re.IGNORECASE) is not None
        )
    return any(same_name(found[0], name) for found in _NAME.finditer(line))


def not_for(place: Place, wanted: Wanted) -> Governing | None:
    """Return what a page says before its steps of what they aren't for, or of its scope, if that is what is asked."""
    outline = place.outline
    said = _said_before(place)
    asked = words_of([wanted.text, wanted.labels])
    for it in said:
        if any(words_of([what]) & asked for what in excluded_by(it.text)):
            return it
    rules = [rules_of(outline, it) for it in outline.sections() if is_called_rules(it.heading)]
    for it in (*said, *rules):
        outside = (words_of([what]) for what in out_of_scope(it.text))
        if any(2 * len(words & asked) > len(words) for words in outside):
            return it
    return None


def held_off(place: Place, procedures: Sequence[Procedure], wanted: Wanted) -> Governing | None:
    """Return what a page says instead of its steps for what is asked.

    It says to stop in that case, or forbids in every case what a question asks for: its verb, and most of its words.
    """
    governing = [it for one in procedures for item in one.items for it in item.governing]
    asked = words_of([wanted.text, wanted.labels])
    for it in (*_said_before(place), *governing):
        if it.withheld:
            continue
        forbidden = [] if wanted.is_alert else forbidden_by(it.text)
        if any(
            _is_asked(words_of([what]), asked) for what in forbidden if _has_verb(what, wanted.text)
        ):
            return it
        case = stopped_by(it.text)
        words = words_of([case])
        if words and 2 * len(words & asked) >= len(words) and _names_all(case, wanted):
            return it
    return None


def _said_before(place: Place) -> list[Governing]:
    around = (place.section, *place.section.above())
    return [it for above in around for it in introduction_of(place.outline, above)]


def _is_asked(words: set[str], asked: set[str]) -> bool:
    return len(words) > 1 and 2 * len(words & asked) > len(words)


def _has_verb(forbidden: str, text: str) -> bool:
    """Whether a text asks for what is forbidden, which begins with its verb."""
    verb, *_ = spaced_words(forbidden).split()
    return any(stemmed(it) == stemmed(verb) for it in spaced_words(text).split())


def _names_all(case: str, wanted: Wanted) -> bool:
    """Whether an incident has every name of a case that is written as one: pedidos-db-ro-2."""
    names = (it[0] for it in _NAME.finditer(case) if not it[0].isalpha())
    text = f"{wanted.text} {wanted.labels}".casefold()
    return all(it.casefold() in text for it in names)


def is_filed(outline: Outline, name: str) -> bool:
    """Whether a page is filed under an alert's name: front matter, title or file name."""
    filed = (*outline.alerts, outline.title, stem(outline.source_file))
    return bool(fold(name)) and any(same_name(it, name) for it in filed)


def same_name(written: str, name: str) -> bool:
    """Whether two names are one: letters and digits alone count, and ``<...>`` stands for anything."""
    if "<" in written and ">" in written:
        before, _, rest = written.partition("<")
        behind = rest.partition(">")[2]
        if len(fold(before)) < _NAME_LENGTH:
            return False
        return fold(name).startswith(fold(before)) and fold(name).endswith(fold(behind))
    return fold(written) == fold(name) != ""


def is_superseded(outline: Outline) -> bool:
    """Whether a page says in its front matter or first lines, or by its folder, that it isn't used any more."""
    if _GONE.search(outline.status):
        return True
    *folders, _ = outline.source_file.casefold().split("/")
    if _OLD_FOLDERS & set(folders):
        return True
    top = _top(outline)
    first = [
        outline.text(it.start, it.end)
        for it in top.blocks[:2]
        if it.form in (Form.PARAGRAPH, Form.QUOTE)
    ]
    return any(_SUPERSEDED.match(text) for text in (outline.title, top.heading, *first))


def _gives_steps(outline: Outline, wanted: Wanted) -> bool:
    if outline.document_type == DocumentType.POSTMORTEM:
        return wanted.asks(PAST)
    return not is_superseded(outline)


# which section


def _ranked(wanted: Wanted, outlines: Sequence[Outline], evidence: Evidence) -> list[Place]:
    """Return all sections, the best first: evidence of the search, of their page, and shared words."""
    places = [Place(outline, section) for outline in outlines for section in outline.sections()]
    if not places:
        return []
    ranks = [_rank_of(place, evidence) for place in places]
    pages = [evidence.pages.get(it.outline.source_file, 0.0) for it in places]
    words = _bm25(wanted, places)
    best = [max(values) or 1.0 for values in (ranks, pages, words)]
    worth = [
        rank / best[0] + PAGE_SHARE * page / best[1] + word / best[2] + _suits(wanted, place)
        for rank, page, word, place in zip(ranks, pages, words, places, strict=True)
    ]
    ranked = [replace(place, worth=it) for place, it in zip(places, worth, strict=True)]
    return sorted(ranked, key=lambda it: -it.worth)


BEST_BY_BOTH: Final = 2.0
"""Worth of a section that is the best of all by the search and by its words, each of which counts 1 at most."""
PAGE_SHARE: Final = 0.25
"""What the evidence for a section's page counts beside its own."""


def _suits(wanted: Wanted, place: Place) -> float:
    kinds = _kinds_at(place)
    if _is_asked_for(wanted, place.section.heading, kinds):
        return 1.0
    return -5.0 if kinds & NEVER else 0.0


def _is_asked_for(wanted: Wanted, heading: str, kinds: set[Kind]) -> bool:
    """Whether a question asks for undoing or verifying, and a section is for that."""
    undoes = Kind.ROLLBACK in kinds or _UNDOES.search(heading) is not None
    return (wanted.asks(_UNDO) and undoes) or (wanted.asks(_VERIFY) and Kind.VERIFICATION in kinds)


def _kinds_at(place: Place) -> set[Kind]:
    """Return what the headed sections at a place are for, those around it included."""
    section = place.section
    return {it.kind for it in (section, *section.above()) if it.heading}


def _is_escalation(place: Place) -> bool:
    """Whether a section, one that it is in, or the page says whom to call."""
    return Kind.ESCALATION in _kinds_at(place) or kind_told(place.outline.title) is Kind.ESCALATION


def _for_elsewhere(wanted: Wanted, outline: Outline) -> set[int]:
    """Return the ids of the sections for an environment that isn't production, which nobody asks about."""
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
            else named_in(_top(outline), outline.title, outline.source_file)
        )
        own[id(section)] = around | named_in(section, section.heading)
    return {key for key, names in own.items() if names and not names & asked}


def _own_range(section: Section) -> tuple[int, int]:
    last = max((block.end for block in section.blocks), default=section.start)
    return section.start, max(last, section.heading_end)


def _rank_of(place: Place, evidence: Evidence) -> float:
    """Return what the chunks are worth that have lines of a section's own text, or of a bare heading above it."""
    section = place.section
    start, end = _own_range(section)
    while section.parent and not section.parent.blocks and section.parent.children[0] is section:
        section = section.parent
        start = section.start
    if not section.level:
        start = 0
    chunks = evidence.ranks.get(place.outline.source_file, {})
    return sum(worth for (first, last), worth in chunks.items() if first <= end and start <= last)


def _bm25(wanted: Wanted, places: Sequence[Place]) -> list[float]:
    """Return how well each section's own text and headings hold the words (Robertson and Zaragoza, 2009)."""
    asked = set(word_list([*wanted.names, wanted.text]))
    texts = []
    for place in places:
        start, end = _own_range(place.section)
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


# how much of the page


def procedures_at(place: Place, wanted: Wanted, *, alert: str = "") -> list[Procedure]:
    """Return the procedure at a place, with what belongs to it.

    First the section (or the page, if it is one procedure) in the author's order; then the sections that it
    links to; then the page's own verification and clean-up. The page's warnings govern the first item.
    """
    outline, main = place.outline, _main_of(place, wanted)
    if main is None or any(it.kind in NEVER for it in (main, *main.above())):
        return []
    found: list[Procedure] = []
    others = _of_others(wanted, main)
    rows = set(_other_rows(outline, wanted))
    linked = _linked(outline, main, rows)
    # what only those rows send to is for their cases
    others += _only_sent_to(outline, main, rows) if rows else ()
    given: list[Section] = [*others]
    for section in (main, *_resolving(main), *linked, *_closing(main)):
        if any(it.holds(section) for it in given):
            continue
        if procedure := procedure_of(
            outline, section, leave_out=given, other_rows=rows, alert=alert
        ):
            found.append(procedure)
            given.append(section)
    if not found:
        return []
    if wanted.asks(_UNDO) and not _asks_for_part(wanted, main):
        found = _undoing(found[0]) or found
    if found[0].path == main.path:
        found[0] = with_rules(outline, main, found[0])
    source = outline.source_file
    left = [NotShown(source, it.start, it.end, Why.OTHER, it.heading) for it in others]
    return [replace(found[0], not_shown=(*found[0].not_shown, *left)), *found[1:]]


def _main_of(place: Place, wanted: Wanted) -> Section | None:
    """Return the section that a procedure is made of; ``None`` if the place is for none."""
    outline = place.outline
    if _is_unwritten(outline, place.section):
        return None
    main = _climbed(place, wanted)
    if _is_one_procedure(outline, wanted) and not _asks_for_part(wanted, main):
        return outline.root
    tops = (outline.root, _top(outline))
    short = action_lines(outline, main) <= MAX_PAGE
    if main not in tops or (place.section.kind is Kind.BACKGROUND and short):
        return main
    # a page of several matters is no procedure: what was found there is all there is of this one,
    # unless that describes what the page is about
    if place.why == "found" and place.section in tops and not short:
        return None
    return place.section


def matter_at(outline: Outline, line: int, wanted: Wanted) -> Section:
    """Return the section that the procedure around a line is made of; the one that it is in, if that is for none."""
    *_, section = (it for it in outline.sections() if not it.level or it.start <= line <= it.end)
    return _main_of(Place(outline, section), wanted) or section


def asks_for_part(wanted: Wanted) -> bool:
    """Whether a question says which part of a page it wants: how to undo, how to verify, whom to call."""
    return any(wanted.asks(it) for it in (_UNDO, _VERIFY, WHO))


def _of_others(wanted: Wanted, main: Section) -> list[Section]:
    """Return the sections below one that are for others than the one of several that the alert's labels name.

    Of "hist-plant" and "hist-lab" the one is left out if the label ``cluster`` is the other; of tabs, those that
    share no word with the incident, if another one does.
    """
    labels = {fold(it) for it in wanted.labels.split()}
    others = list(_tabs_of_others(wanted, main))
    for above in main.walk():
        named = [it for it in above.children if _ONE_NAME.fullmatch(it.heading.strip(" :`*"))]
        meant = [it for it in named if fold(it.heading) in labels]
        others += (it for it in named if len(meant) == 1 and it not in meant)
    return others


def _tabs_of_others(wanted: Wanted, main: Section) -> Iterator[Section]:
    known = words_of([wanted.text, wanted.labels])
    for above in main.walk():
        tabs = [it for it in above.children if it.level == TAB_LEVEL and it.heading]
        meant = [it for it in tabs if words_of([it.heading]) & known]
        yield from (it for it in tabs if meant and it not in meant)


_CASES: Final = re.compile(
    r"\b(?:symptoms?|see|signs?|errors?|messages?|alerts?|alarms?|codes?|problems?|issues?|situations?|findings?|observations?|cases?"
    r"|when|if|happens?|complaints?|states?|status)\b",
    re.IGNORECASE,
)
"""How the first column of a table is headed that tells when each row applies."""


def _other_rows(outline: Outline, wanted: Wanted) -> Iterator[int]:
    """Yield the rows of tables of cases that share less than half as much with the incident as the best row does.

    A table is one of cases if its first column is headed so, or if the incident names what a single row has as code.
    What a word tells is less the more rows hold it; if most rows are as good, all of them stay.
    """
    asked = words_of([*wanted.names, wanted.text])
    for block in (it for section in outline.sections() for it in section.blocks):
        head, rows = block.start, [*range(block.start + 2, block.end + 1)]
        if block.form is not Form.TABLE:
            continue
        if not _CASES.search(cells_of(outline.text(head, head))[0]):
            named = [n for n in rows if _names_code(wanted.text, outline.text(n, n))]
            if len(named) == 1:
                yield from (n for n in rows if n not in named)
            continue
        of_others = set(_rows_of_others(outline, rows, wanted))
        yield from of_others
        rows = [n for n in rows if n not in of_others]
        held = {n: words_of([outline.text(n, n)]) & asked for n in rows}
        often = Counter(word for words in held.values() for word in words)
        worth = {n: sum(math.log(len(rows) / often[it]) for it in held[n]) for n in rows}
        best = max(worth.values(), default=0.0)
        others = [n for n in rows if worth[n] < best / 2]
        if 2 * len(others) > len(rows):
            yield from others


def _rows_of_others(outline: Outline, rows: Iterable[int], wanted: Wanted) -> Iterator[int]:
    """Yield the rows that begin with the name of another thing, where others begin with the incident's: ``es-logs``."""
    text = f"{wanted.text} {wanted.labels}"
    firsts = {n: cells_of(outline.text(n, n))[0] for n in rows}
    named = {n for n, first in firsts.items() if _names_code(text, first)}
    if named:
        yield from (n for n, it in firsts.items() if n not in named and _CODE.match(it))


def _names_code(text: str, line: str) -> bool:
    """Whether a text holds what a line has as code: ``mgw-plc``."""
    return any(
        len(code) >= _NAME_LENGTH
        and re.search(rf"(?<![\w-]){re.escape(code)}(?![\w-])", text, re.IGNORECASE)
        for code in _CODE.findall(line)
    )


def _undoing(procedure: Procedure) -> list[Procedure]:
    """Return a procedure's items that are labelled as undoing it, with what governs it; none without any.

    The steps that they name by number come behind them.
    """
    items = [it for it in procedure.items if _UNDO_LABEL.match(it.parts[0].text)]
    if not items or len(items) == len(procedure.items):
        return []
    numbers = {n for it in items for part in it.parts for n in _STEP_NUMBER.findall(part.text)}
    items += [it for it in procedure.items if it not in items and it.number.strip(".)") in numbers]
    first, *others = items
    governing = [it for it in procedure.items[0].governing if it not in first.governing]
    return [replace(procedure, items=(governed(first, *governing), *others))]


def with_rules(outline: Outline, section: Section, procedure: Procedure) -> Procedure:
    """Return a section's procedure with what the sections around it say first, warn of and require."""
    said = [it for above in section.above() for it in introduction_of(outline, above)]
    said += [rules_of(outline, it) for it in _rules_beside(outline, section)]
    rules = [it for it in said if it.kind is not Governs.NOTE]
    first, *others = procedure.items
    items = (governed(first, *said), *(governed(it, *rules) for it in others))
    return replace(procedure, items=items)


def _asks_for_part(wanted: Wanted, section: Section) -> bool:
    """Whether a question wants one part of a page, and the section is that part."""
    return _is_asked_for(wanted, section.heading, {section.kind})


def _climbed(place: Place, wanted: Wanted) -> Section:
    """Go up until there is something to do, and the heading names a matter rather than a part of one."""
    section = place.section
    parts = [
        it for it in place.outline.sections() if section.holds(it) and _asks_for_part(wanted, it)
    ]
    if len(parts) == 1:
        return parts[0]
    while section.parent:
        above = section.parent
        is_part = (
            tells_only_kind(section.heading)
            or _is_step(section)
            or section.level == TAB_LEVEL
            or any(_is_bare_resolution(it) for it in above.children if it is not section)
        )
        if (
            not asks_for_something(place.outline, section)
            or section.kind is Kind.BACKGROUND
            or (is_part and not _asks_for_part(wanted, section) and _is_matter(above))
        ):
            section = above
        else:
            break
    return section


def _is_step(section: Section) -> bool:
    """Whether a numbered heading is one step of the section around it."""
    return is_numbered(section.heading) and not _is_chapter(section)


def _is_chapter(section: Section) -> bool:
    """Whether a numbered heading is about a matter of its own.

    It is if several headings numbered like it count steps of their own, and most don't begin with an instruction;
    those that only say what they are for, such as "5. Rollback", aside.
    """
    run = [it for it in section.parent.children if _tells_matter(it)] if section.parent else []
    if section not in run:
        return False
    counting = sum(any(map(_counts, it.blocks)) for it in run)
    told = sum(instructs(it.heading) for it in run)
    return counting > 1 and len(run) > 2 * told


def _tells_matter(section: Section) -> bool:
    heading = section.heading
    return (
        bool(number_of(heading)) and not tells_only_kind(heading) and not is_called_rules(heading)
    )


def _counts(block: Block) -> bool:
    """Whether a block is a list of two numbered items or more."""
    return sum(item.is_numbered for item in block.items) > 1


def _is_bare_resolution(section: Section) -> bool:
    """Whether a section is only called "Steps" or the like: those beside it are parts of the same matter."""
    return section.kind is Kind.RESOLUTION and tells_only_kind(section.heading)


def _is_matter(section: Section) -> bool:
    """Whether a section is about one matter, as a page of many is not."""
    return section.level > 0 or len(section.children) == 1


def _is_unwritten(outline: Outline, section: Section) -> bool:
    """Whether a section is still to be written: it holds a TODO and nothing to do."""
    texts = [
        outline.text(block.start, block.end) for part in section.walk() for block in part.blocks
    ]
    return bool(texts) and all(map(says_nothing, texts))


def _top(outline: Outline) -> Section:
    """Return the section that is the page: the root, or its only heading."""
    top = outline.root
    while len(top.children) == 1 and not top.blocks:
        top = top.children[0]
    return top


def _is_filed_alone(outline: Outline, wanted: Wanted) -> bool:
    """Whether a page is filed under the alert's name and no other."""
    return any(is_filed(outline, name) for name in wanted.names) and len(outline.alerts) <= 1


def _is_one_procedure(outline: Outline, wanted: Wanted) -> bool:
    """Whether a page is one procedure.

    It is if it is filed under the alert's name alone and has at most MAX_PAGE action lines, or if its headings
    say what its parts are for: all of them, or at least MIN_KINDS that ask for something.
    """
    if not outline.whole:
        return False
    if _is_filed_alone(outline, wanted):
        return action_lines(outline, outline.root) <= MAX_PAGE
    if any(_is_chapter(it) for it in outline.sections()):
        return False
    top = _top(outline)
    parts = [
        it
        for it in top.children
        if asks_for_something(outline, it)
        and (it.level != LABEL_LEVEL or not tells_only_kind(it.heading))
    ]
    asking = [it.kind for it in parts if it.kind in ACTIONS and tells_only_kind(it.heading)]
    # several matters may share their verification and their contacts
    is_one = len(asking) >= MIN_KINDS and bool({Kind.DIAGNOSIS, Kind.RESOLUTION} & set(asking))
    return is_one or all(
        tells_only_kind(it.heading) or _is_step(it) or it.kind in (Kind.BACKGROUND, *NEVER)
        for it in parts
    )


MIN_KINDS: Final = 2
"""Headings such as "Diagnosis" and "Mitigation" by which a page is about one matter."""


def _resolving(main: Section) -> Iterator[Section]:
    """Yield the sections right behind a diagnosis that resolve what it finds."""
    if main.kind is Kind.DIAGNOSIS and main.parent:
        beside = main.parent.children
        behind = itertools.islice(beside, beside.index(main) + 1, None)
        yield from itertools.takewhile(lambda it: it.kind is Kind.RESOLUTION, behind)


def _closing(main: Section) -> Iterator[Section]:
    """Yield the sections beside a procedure, or beside the ones around it, that only verify or clean up."""
    for around in (main, *main.above()):
        if around.parent is None:
            return
        for beside in around.parent.children:
            if (
                beside is not around
                and beside.kind in (Kind.VERIFICATION, Kind.ROLLBACK)
                and tells_only_kind(beside.heading)
            ):
                yield beside


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A section of another document that a procedure says to go to.

    Args:
        files: that may be meant, from the corpus root and from the document's own folder, the likelier first.
        section: its heading, or the anchor of that.
    """

    files: tuple[str, ...]
    section: str


def links_out(outline: Outline, procedure: Procedure) -> list[Elsewhere]:
    """Return the sections of other documents that a procedure names, in its order, each once."""
    text = "\n".join(outline.lines.get(number, "") for number in sorted(procedure.lines))
    folder = procedure.source_file.rpartition("/")[0]
    found = []
    for link in _OUTSIDE.finditer(text):
        path = link["path"] or link["file"] or link["of"]
        files = [normpath(path), normpath(f"{folder}/{path}") if folder else normpath(path)]
        if link["path"]:  # of a link the path is meant from the document's own folder
            files.reverse()
        usable = tuple(dict.fromkeys(it for it in files if not it.startswith(("..", "/"))))
        if usable and procedure.source_file not in usable:
            found.append(Elsewhere(usable, link["anchor"] or link["words"] or link["said"]))
    return list(dict.fromkeys(found))


def section_called(outline: Outline, name: str) -> Section | None:
    """Return the section that an anchor or a heading's words name, if it asks for something.

    Its first words do, from MIN_HEADING_WORDS on: "Lost its token" of "Lost its token, how do I renew it?".
    """
    sections = [it for it in outline.sections() if it.level and asks_for_something(outline, it)]
    words = spaced_words(name)
    is_telling = len(words.split()) >= MIN_HEADING_WORDS
    begun = (it for it in sections if is_telling and spaced_words(it.heading).startswith(words))
    called = (it for it in sections if is_called(it, name))
    return next(itertools.chain(called, begun), None)


def _rules_beside(outline: Outline, main: Section) -> Iterator[Section]:
    """Yield the sections of rules, and of what not to do, beside a procedure, or beside the ones around it."""
    for around in (main, *main.above()):
        for beside in around.parent.children if around.parent else ():
            if beside is not around and (
                is_called_rules(beside.heading)
                or beside.kind is Kind.PROHIBITED
                or holds_for_all(outline.text(beside.start, beside.end))
            ):
                yield beside


def _linked(outline: Outline, main: Section, left: Container[int]) -> list[Section]:
    """Return the sections of the page that a procedure says to go to, and those that these do; not in lines left out."""
    found: list[Section] = []
    turn = [main]
    for _ in range(MAX_DEPTH):
        turn = [
            section
            for source in turn
            for section in _named_in(outline, source, left=left)
            if not main.holds(section) and not section.holds(main) and section not in found
        ]
        found += dict.fromkeys(turn)
    return found[:MAX_LINKED]


def _only_sent_to(outline: Outline, main: Section, rows: set[int]) -> list[Section]:
    """Return the sections that rows name which are left out, and that nothing else of a procedure names."""
    others = {*range(main.start, main.end + 1)} - rows
    elsewhere = {id(it) for it in _named_in(outline, main, left=rows)} | {id(main)}
    return [it for it in _named_in(outline, main, left=others) if id(it) not in elsewhere]


def _named_in(outline: Outline, source: Section, *, left: Container[int]) -> Iterator[Section]:
    """Yield the sections that a section names where it forbids nothing: by a link, apart from the text, or in full.

    A heading that is a name of several words in one is named wherever that stands, a chapter by its number.
    """
    headings = {n for it in source.walk() if it.level for n in range(it.start, it.heading_end + 1)}
    lines = [n for n in range(source.start, source.end + 1) if n not in headings and n not in left]
    said = [outline.lines.get(n, "") for n in lines]
    text = "\n".join(it for it in said if not forbids(it))
    links = (it.removeprefix("user-content-") for it in _LINK.findall(text))
    written = (it[0] for it in _NAME.finditer(text) if is_camel_case(it[0]))
    names = {fold(it) for it in (*links, *_SET_APART.findall(text), *written)} - {""}
    numbers = set(_CHAPTER.findall(text))
    spelled = spaced_words(text)
    words = spelled.split()
    runs = set(zip(words, words[1:], words[2:], strict=False))
    for section in outline.sections():
        heading = spaced_words(section.heading)
        # the first words are looked up: a long page has many headings
        is_named = tuple(heading.split()[:MIN_HEADING_WORDS]) in runs and heading in spelled
        is_named |= heading.startswith(" the ") and heading in spelled
        name = section.heading.partition(":")[0]
        is_named |= not names.isdisjoint((fold(section.heading), fold(name), fold(section.anchor)))
        is_named |= number_of(section.heading) in numbers
        if is_named and section.level and asks_for_something(outline, section):
            yield section
    for section in source.walk():
        yield from _beside(outline, section)


def _beside(outline: Outline, section: Section) -> Iterator[Section]:
    """Yield the sections before and behind one that its own text sends to: "see the next section"."""
    beside = section.parent.children if section.parent else [section]
    text = outline.text(*_own_range(section))
    for step, pattern in ((1, _NEXT), (-1, _PREVIOUS)):
        if pattern.search(text) and 0 <= (place := beside.index(section) + step) < len(beside):
            yield from (it for it in (beside[place],) if asks_for_something(outline, it))


MIN_HEADING_WORDS: Final = 3
"""Words of a heading from which on it is named wherever it is written out; with its article, "The restart" is."""
