"""Decides how much of a page is the procedure at a place: its section or the whole page, with what belongs to it.

Nothing is selected inside that: see :mod:`procedures`.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.headings import (
    ACTIONS,
    NEVER,
    Kind,
    instructs,
    is_called_remarks,
    is_called_rules,
    is_instruction,
    is_numbered,
    kind_of_heading,
    names_only_kind,
    number_of,
)
from knowledge_rag.guardrails.danger import dangers_in
from knowledge_rag.orchestrator.cross_references import (
    dispatches,
    lines_sending,
    linked_sections,
    not_sent_to,
    only_sent_to,
)
from knowledge_rag.orchestrator.governing import (
    LIST_MARK,
    Governing,
    Governs,
    forbids,
    governs,
    holds_for_all,
    is_empty,
    is_no_way,
    is_unwritten,
    leads,
    lists_open_points,
    says_nothing,
    titles_withdrawn,
    warns,
)
from knowledge_rag.orchestrator.links import fold
from knowledge_rag.orchestrator.naming import (
    AND,
    NAME,
    alerts_named,
    is_camel_case,
    is_filed_alone,
    names_code,
)
from knowledge_rag.orchestrator.outline import LABEL_LEVEL, TAB_LEVEL, Form
from knowledge_rag.orchestrator.procedures import (
    Item,
    NotShown,
    Part,
    Why,
    action_lines,
    asks_for_something,
    boxes_of,
    governed,
    held_off_by,
    introduction_of,
    procedure_of,
    rules_of,
)
from knowledge_rag.orchestrator.queries import WHO
from knowledge_rag.orchestrator.references import with_references
from knowledge_rag.orchestrator.rows import other_rows
from knowledge_rag.orchestrator.wanted import (
    UNDOES,
    Place,
    asks_to_undo,
    is_asked_for,
    kinds_at,
)
from knowledge_rag.orchestrator.words import words_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from knowledge_rag.orchestrator.outline import Outline, Section
    from knowledge_rag.orchestrator.procedures import Procedure
    from knowledge_rag.orchestrator.wanted import Wanted


MAX_PAGE: Final = 60
"""Maximum action lines of a page that is one procedure and comes whole; 30 and 120 measured the same."""
MAX_CHAPTERS: Final = 20
"""The same for a page with numbered chapters whose description was found: a short SOP."""
MIN_KINDS: Final = 2
"""Minimum headings such as "Diagnosis" and "Mitigation" that make a page one subject."""
_UNDO_LABEL: Final = re.compile(
    r"\W*(?:\[[ x]\]\W*)?(?:(?:to )?(?:undo|revert|roll(?:ing)? ?back|back ?out|(?:go|switch|fail)(?:ing)? ?back)\b|to (?:stop|cancel|abort|end)\b"
    r"|(?:back(?: to)?|off|end(?:ing)?|when (?:it|this) is over)\b[^:\n]{0,30}:)",
    re.IGNORECASE,
)
"""The beginning of an item, or of its list's lead-in, that undoes the items before it."""
_SAME_STEPS: Final = re.compile(
    r"\bsame (?:steps|procedure|order|commands)\b|\bsteps above\b|\bother way (?:a?round)\b|\b(?:in|the) (?:reverse|opposite)\b|\breverse order\b",
    re.IGNORECASE,
)
"""Says that the steps themselves undo, in some order or with other values."""
_LABEL_WORDS: Final = 6
_ONE_NAME: Final = re.compile(
    r"(?P<label>[\w.-]{2,40} ?[=:] ?)?(?P<value>(?(label)[\w.-]{1,40}|[\w.-]{2,40}))"
)
"""A heading that is a name: "hist-plant", or a label's value: "zone = a"."""
_STEP_NUMBER: Final = re.compile(r"\b(?:step|point) (\d{1,3})\b", re.IGNORECASE)


def procedures_at(place: Place, wanted: Wanted, *, alert: str = "") -> list[Procedure]:
    """Return the procedure at a place, with the sections that belong to it.

    First comes the section (or the page, if it is one procedure) in the author's order; then the sections that it
    links to; then the page's own verification and clean-up. The page's warnings govern the items of the first.
    """
    outline, main = place.outline, _main_of(place, wanted)
    if main is None or any(
        it.kind in NEVER or is_no_way(it.heading) for it in (main, *main.above())
    ):
        return []
    found: list[Procedure] = []
    others = _of_others(wanted, main)
    rows = set(
        other_rows(
            outline,
            wanted,
            is_notes=_is_notes(outline),
            is_called=wanted.asks(WHO) and is_short_contacts(outline),
        )
    )
    # sections that only those rows refer to are for their cases
    sent = (*only_sent_to(outline, main, rows), *not_sent_to(outline, main, rows)) if rows else ()
    out = rows.union(*(range(it.start, it.end + 1) for it in (*others, *sent)))
    linked = linked_sections(outline, main, out)
    others += itertools.chain.from_iterable(_without(it, linked) for it in sent)
    others = [*{id(it): it for it in others}.values()]
    risky = [*_risky_cases(outline, main, linked, out, wanted)]
    linked = [it for it in linked if it not in risky]
    given: list[Section] = [*others, *risky]
    for section in (main, *_resolving(main), *linked, *_closing(outline, main)):
        if any(it.holds(section) for it in given):
            continue
        if procedure := procedure_of(
            outline, section, leave_out=given, other_rows=rows, alert=alert
        ):
            found.append(procedure)
            given.append(section)
    if not found:
        return []
    if found[0].path == main.path and (said := _withdrawal_of(outline, main)):
        return [held_off_by(found[0], said)]
    if asks_to_undo(wanted) and not _asks_for_part(wanted, main):
        found = _undoing(found[0]) or found
    if found[0].path == main.path:
        found[0] = with_rules(outline, main, found[0], is_part=_asks_for_part(wanted, main))
    found = [*with_references(outline, found)]
    source = outline.source_file
    left = [NotShown(source, it.start, it.end, Why.OTHER, it.heading) for it in others]
    left += [NotShown(source, it.start, it.end, Why.CASE, it.heading) for it in risky]
    return [replace(found[0], not_shown=(*found[0].not_shown, *left)), *found[1:]]


def _risky_cases(
    outline: Outline, main: Section, linked: Sequence[Section], left: Container[int], wanted: Wanted
) -> Iterator[Section]:
    """Yield the linked sections that destroy something, and that only a case sends to which isn't the incident's.

    It is the incident's if that has code of the line that sends there, or all its words.
    """
    destroying = [it for it in linked if dangers_in(outline.text(it.start, it.end))]
    if not destroying:  # most have none, and what sends where takes a look at every line
        return
    sure = linked_sections(outline, main, left, in_any_case=True)
    sending = lines_sending(outline, main, linked)
    asked = words_of([wanted.said, wanted.labels])
    for it in destroying:
        line = outline.lines.get(sending.get(id(it), 0), "")
        words = words_of([line]) - words_of([it.heading])
        is_told = names_code(wanted.said, line) or words <= asked
        if it not in sure and not is_told:
            yield it


def _withdrawal_of(outline: Outline, section: Section) -> Governing | None:
    """Return the line by which a page withdraws a section, naming it by its heading."""
    for number, line in outline.lines.items():
        if any(fold(it) == fold(section.heading) for it in titles_withdrawn(line)):
            return Governing(LIST_MARK.sub("", line.strip()), Governs.OBSOLETE, number, number)
    return None


def with_senders(outline: Outline, procedures: Sequence[Procedure]) -> tuple[Procedure, ...]:
    """Return a page's procedures, each but the first with the line that says to go there, since it may say when."""
    first, *others = procedures
    sections = {it.path: it for it in outline.sections()}
    behind = [sections[it.path] for it in others]
    lines = lines_sending(outline, sections[first.path], behind) if behind else {}
    return first, *(
        sent_by(outline, lines[id(section)], it) if id(section) in lines else it
        for section, it in zip(behind, others, strict=True)
    )


def _without(section: Section, linked: Sequence[Section]) -> Iterator[Section]:
    """Yield a section; if it holds any of others, the sections below it that don't."""
    if not any(section.holds(it) for it in linked):
        yield section
    elif section not in linked:
        for below in section.children:
            yield from _without(below, linked)


def sent_by(outline: Outline, number: int, procedure: Procedure) -> Procedure:
    """Return a procedure whose first item begins with the line, of its page or another one, that says to go to it."""
    text = LIST_MARK.sub("", outline.lines[number].strip())
    kind = Governs.CONDITION if governs(text) is Governs.CONDITION else Governs.NOTE
    first, *others = procedure.items
    said = Governing(text, kind, number, number, sent_from=outline.source_file)
    return replace(procedure, items=(governed(first, said), *others))


def _main_of(place: Place, wanted: Wanted) -> Section | None:
    """Return the section that a procedure is made of; ``None`` if there is none at the place."""
    outline = place.outline
    if has_no_steps_yet(outline, place.section):
        return None
    main = _climbed(place, wanted)
    if (wanted.asks(WHO) and is_short_contacts(outline)) or (
        is_one_procedure(outline, wanted) and not _asks_for_part(wanted, main)
    ):
        return outline.root
    tops = (outline.root, top_of(outline))
    if main not in tops:
        return main
    if place.section.kind is Kind.BACKGROUND and is_short_sop(outline):
        return main
    # on a page of several subjects, the section that was found is all there is of this one
    is_about_all = place.section in tops or place.section.kind is Kind.BACKGROUND
    is_one_of_several = bool(subjects_of(outline, top_of(outline)))
    if place.why == "found" and is_about_all and is_one_of_several:
        return None
    below = (it for it in (place.section, *place.section.above()) if it.parent in tops)
    own = next(below, place.section)
    return main if place.section in tops and not is_one_of_several else own


def subjects_of(outline: Outline, section: Section) -> list[Section]:
    """Return the sections right below one that are subjects of their own: several that ask for something.

    None are if the page's top sends to its sections by case.
    """
    below = [
        it
        for it in section.children
        if asks_for_something(outline, it) and it.kind not in (Kind.BACKGROUND, *NEVER)
    ]
    is_several = len(below) >= SEVERAL and not dispatches(outline, top_of(outline))
    return below if is_several else []


def is_short_sop(outline: Outline) -> bool:
    """Whether a page is a description and a few numbered chapters, which are done one after the other."""
    return has_chapters(outline) and action_lines(outline, outline.root) <= MAX_CHAPTERS


SEVERAL: Final = 2
"""Minimum subjects below a section for each of them to be one of its own."""


def is_short_contacts(outline: Outline) -> bool:
    """Whether a page only says whom to call, in at most MAX_PAGE lines: its rules apply to each of its numbers."""
    is_contacts = kind_of_heading(outline.title) is Kind.ESCALATION and names_only_kind(
        outline.title
    )
    return outline.whole and is_contacts and action_lines(outline, outline.root) <= MAX_PAGE


def matter_at(outline: Outline, line: int, wanted: Wanted) -> Section:
    """Return the section that the procedure around a line is made of; the line's own section if there is none."""
    section = section_at(outline, line)
    return _main_of(Place(outline, section), wanted) or section


def section_at(outline: Outline, line: int) -> Section:
    """Return the innermost section that a line is in; the root if it is in none."""
    *_, section = (it for it in outline.sections() if not it.level or it.start <= line <= it.end)
    return section


def _of_others(wanted: Wanted, main: Section) -> list[Section]:
    """Return the sections below one that are for other cases than the incident's, if one is for that."""
    others = list(tabs_of_others(wanted, main))
    for above in main.walk():
        others += _named_otherwise(wanted, above.children)
        others += _of_other_cases(wanted, above.children)
    return others


def _named_otherwise(wanted: Wanted, beside: Sequence[Section]) -> Iterator[Section]:
    """Yield the sections headed by other names, if just one is headed by the alert's.

    Of "hist-plant" and "hist-lab, hist-test", the label ``cluster`` decides which is left out; of "zone = a" and
    "zone = b", the label ``zone``, or "zone-b" in a question. Beside an alert's name, only other alerts' names count:
    "Escalation" isn't one.
    """
    labels, told = ({fold(it) for it in said.split()} for said in (wanted.labels, wanted.text))
    labels |= set(map(fold, alerts_named(wanted)))
    meant: dict[bool, list[Section]] = {True: [], False: []}
    for section in beside:
        names = [_ONE_NAME.fullmatch(it) for it in AND.split(section.heading.strip(" :`*"))]
        if all(names) and not names_only_kind(section.heading):
            is_meant = any(
                fold(it["value"]) in labels or (it["label"] and fold(it[0]) in told)
                for it in names
                if it
            )
            meant[is_meant].append(section)
    if len(meant[True]) == 1:
        is_alert = is_camel_case(meant[True][0].heading)
        yield from (it for it in meant[False] if is_camel_case(it.heading) or not is_alert)


def _of_other_cases(wanted: Wanted, beside: Sequence[Section]) -> Iterator[Section]:
    """Yield the sections headed by conditions that share no word with the alert's labels, if another one does.

    Of "Production" and "Staging", one is left out if a question has the other, or its beginning: "prod".
    """
    labels = words_of([wanted.labels]) | {fold(it) for it in wanted.labels.split()}
    cases = [it for it in beside if governs(it.heading) is Governs.CONDITION]
    told = [fold(it) for it in wanted.text.split()]
    named = [it for it in cases if _ONE_NAME.fullmatch(it.heading)]
    asked = [it for it in named if any(_is_short_for(word, fold(it.heading)) for word in told)]
    if len(asked) == 1:
        yield from (it for it in named if it not in asked)
    meant = [
        it
        for it in cases
        if labels & (words_of([it.heading]) | {fold(word) for word in it.heading.split()})
    ]
    yield from (it for it in cases if meant and it not in meant)


def _is_short_for(word: str, name: str) -> bool:
    """Whether one of two words is the beginning of the other: "prod", "production"."""
    shorter, longer = sorted((word, name), key=len)
    return len(shorter) > 2 and longer.startswith(shorter)


def tabs_of_others(wanted: Wanted, main: Section) -> Iterator[Section]:
    """Yield the tabs that share no word with the incident, if others do."""
    known = words_of([wanted.text, wanted.labels])
    for above in main.walk():
        tabs = [it for it in above.children if it.level == TAB_LEVEL and it.heading]
        meant = [it for it in tabs if words_of([it.heading]) & known]
        yield from (it for it in tabs if meant and it not in meant)


_NOTES: Final = re.compile(
    r"\b(?:notes?|tips|tricks|things|stuff|gotchas|learn(?:ed|t)|cheat ?sheet|odds and ends)\b",
    re.IGNORECASE,
)
"""Names of pages and folders whose list items have nothing to do with each other."""


def _is_notes(outline: Outline) -> bool:
    """Whether a page is notes: by its name, without sections, and of lists without numbers or of paragraphs alone."""
    top = top_of(outline)
    first = [outline.text(it.start, it.end) for it in top.blocks[:1] if it.form is Form.PARAGRAPH]
    items = [item for block in top.blocks for item in block.items]
    called = " ".join([re.sub(r"[/_.-]", " ", outline.source_file), outline.title, *first])
    is_prose = all(it.form is Form.PARAGRAPH for it in top.blocks)
    is_list = bool(items) and not any(it.is_numbered for it in items)
    is_flat = not top.children and (is_list or is_prose)
    return is_flat and _NOTES.search(called) is not None


def _undoing(procedure: Procedure) -> list[Procedure]:
    """Return a procedure reduced to its items that undo it, with the lines that govern it; nothing without such items.

    Steps that they name by number come after them. The others are named as not shown.
    """
    items = [*_labelled_as_undoing(procedure.items)]
    if not items or len(items) == len(procedure.items):
        return []
    numbers = {n for it in items for part in it.parts for n in _STEP_NUMBER.findall(part.text)}
    items += [it for it in procedure.items if it not in items and it.number.strip(".)") in numbers]
    if any(_SAME_STEPS.search(part.text) for it in items for part in it.parts):
        return [procedure]
    first, *others = items
    governing = [it for it in procedure.items[0].governing if it not in first.governing]
    runs = itertools.groupby(procedure.items, key=lambda it: it not in items)
    ends = [(one[0].start, one[-1].end) for is_undone, it in runs if is_undone and (one := [*it])]
    left = [NotShown(procedure.source_file, start, end, Why.UNDONE) for start, end in ends]
    return [
        replace(
            procedure,
            items=(governed(first, *governing), *others),
            not_shown=(*procedure.not_shown, *left),
        )
    ]


def undoes(place: Place, items: Sequence[Item]) -> bool:
    """Whether a section, or an item of its procedure, is for undoing."""
    headings = (*place.section.path, place.outline.title)
    return (
        Kind.ROLLBACK in {it.kind for it in items} | kinds_at(place)
        or any(map(UNDOES.search, headings))
        or any(_labelled_as_undoing(items))
    )


def _labelled_as_undoing(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items that begin with a label of undoing ("Back to normal: ..."), or are in a list below one ("Off:").

    A governing line that begins so becomes an item.
    """
    below = False
    for item in items:
        labels = [it.text for it in item.governing if it.text.rstrip().endswith(":")]
        if labels:
            below = any(_UNDO_LABEL.match(it) and len(it.split()) <= _LABEL_WORDS for it in labels)
        if below or _UNDO_LABEL.match(item.parts[0].text):
            yield item
        for it in item.governing:
            if _UNDO_LABEL.match(it.text) and not it.text.rstrip().endswith(":"):
                part = Part(it.text, start=it.start, end=it.end)
                yield Item("", (part,), it.start, it.end, item.path, Kind.ROLLBACK)


def with_rules(
    outline: Outline, section: Section, procedure: Procedure, *, is_part: bool = False
) -> Procedure:
    """Return a section's procedure with the introductions, warnings and requirements of the sections around it.

    The sections around a part that a question asks for say what it undoes or verifies: of these, only warnings and
    requirements count.
    """
    tops = (outline.root, top_of(outline))
    said = [
        it
        for above in section.above()
        for it in introduction_of(outline, above)
        if not is_part or above in tops or it.kind is not Governs.NOTE
    ]
    never = [it for it in section.walk() if it.kind is Kind.PROHIBITED and it is not section]
    said += [*_rules_beside(outline, section), *(rules_of(outline, it) for it in never)]
    rules = [it for it in said if it.kind is not Governs.NOTE]
    first, *others = procedure.items
    items = (governed(first, *said), *(governed(it, *rules) for it in others))
    left = tuple(it for it in procedure.not_shown if it.why is not Why.PROHIBITED)
    return replace(procedure, items=items, not_shown=left)


def _asks_for_part(wanted: Wanted, section: Section) -> bool:
    """Whether a question asks for a part of a page, and the section is that part."""
    return is_asked_for(wanted, section.heading, {section.kind})


def _climbed(place: Place, wanted: Wanted) -> Section:
    """Return the nearest section upwards with something to do and a heading that names a subject, not a part of one."""
    section = place.section
    while True:
        below = (it for it in section.walk() if it is not section)
        parts = [it for it in below if _asks_for_part(wanted, it)]
        if len(parts) == 1:
            return parts[0]
        above = section.parent
        if above is None or _is_one_of_alerts(section):
            return section
        is_part = (
            names_only_kind(section.heading)
            or _is_step(section)
            or section.level == TAB_LEVEL
            or any(is_bare_resolution(it) for it in above.children if it is not section)
        )
        if (
            not asks_for_something(place.outline, section)
            or section.kind is Kind.BACKGROUND
            or (is_part and not _asks_for_part(wanted, section) and _is_matter(above))
        ):
            section = above
        else:
            return section


def _is_one_of_alerts(section: Section) -> bool:
    """Whether a section is headed by an alert's name, like others beside it, and so is all there is for that alert."""
    beside = section.parent.children if section.parent else ()
    return is_camel_case(section.heading) and any(
        is_camel_case(it.heading) for it in beside if it is not section
    )


def _is_step(section: Section) -> bool:
    """Whether a heading is one step of the section around it.

    It is by its number; or below a heading with "steps", or an instruction such as "Remove a disk", if most of those
    beside it instruct too, with other verbs: "Restore orders-db" is a case of "Restore".
    """
    if is_numbered(section.heading):
        return not _is_chapter(section)
    above = section.parent
    if above is None or not (
        _CALLED_STEPS.search(above.heading) or (above.level > 1 and is_instruction(above.heading))
    ):
        return False
    verb, *_ = above.heading.casefold().split()
    headings = [it.heading for it in above.children]
    steps = [it for it in headings if is_instruction(it) and it.casefold().split()[0] != verb]
    return 2 * len(steps) > len(headings) > 1


_CALLED_STEPS: Final = re.compile(r"\bsteps\b", re.IGNORECASE)


def _is_chapter(section: Section) -> bool:
    """Whether a numbered heading has a subject of its own.

    It has one if several headings numbered like it have numbered steps, and most of them don't begin with an
    instruction; or if one of them has an alert's name. Headings of a mere purpose, such as "5. Rollback", don't count.
    """
    run = [it for it in section.parent.children if _tells_matter(it)] if section.parent else []
    if section not in run:
        return False
    if any(is_camel_case(name[0]) for it in run for name in NAME.finditer(it.heading)):
        return True
    told = sum(instructs(it.heading) for it in run)
    return len(run) > max(1, 2 * told)


def has_chapters(outline: Outline) -> bool:
    """Whether numbered headings of a page have a subject of their own each."""
    return any(map(_is_chapter, outline.sections()))


def _tells_matter(section: Section) -> bool:
    heading = section.heading
    return (
        bool(number_of(heading)) and not names_only_kind(heading) and not is_called_rules(heading)
    )


def is_bare_resolution(section: Section) -> bool:
    """Whether a section is only called "Steps" or the like, so that those beside it are parts of the same subject."""
    return section.kind is Kind.RESOLUTION and names_only_kind(section.heading)


def _is_matter(section: Section) -> bool:
    """Whether a section is about one subject, unlike a page of many."""
    return section.level > 0 or len(section.children) == 1


def has_no_steps_yet(outline: Outline, section: Section) -> bool:
    """Whether a section is still to be written.

    Its heading says so, its first words say that it is empty, or it has only placeholders and links.
    """
    if is_unwritten(section.heading) or lists_open_points(section.heading):
        return True
    if section.blocks and is_empty(outline.text(section.blocks[0].start, section.blocks[0].end)):
        return True
    texts = [
        outline.text(block.start, block.end) for part in section.walk() for block in part.blocks
    ]
    return bool(texts) and all(map(says_nothing, texts))


def top_of(outline: Outline) -> Section:
    """Return the section that is the page: the root, or its only heading, whatever text is above that."""
    top = outline.root
    while len(top.children) == 1 and not (top.level and top.blocks):
        top = top.children[0]
    return top


def is_one_procedure(outline: Outline, wanted: Wanted) -> bool:
    """Whether a page is one procedure.

    It is if it is filed under the alert's name alone and has at most MAX_PAGE action lines. It also is if its
    headings name the purpose of its parts, all of them or at least MIN_KINDS with something to do, or if most are its
    steps.
    """
    if not outline.whole:
        return False
    if is_filed_alone(outline, wanted):
        return action_lines(outline, outline.root) <= MAX_PAGE
    if has_chapters(outline):
        return False
    top = top_of(outline)
    parts = [
        it
        for it in top.children
        if asks_for_something(outline, it)
        and (it.level != LABEL_LEVEL or not names_only_kind(it.heading))
    ]
    asking = [it.kind for it in parts if it.kind in ACTIONS and names_only_kind(it.heading)]
    # several subjects may share their verification and their contacts
    is_one = len(asking) >= MIN_KINDS and bool({Kind.DIAGNOSIS, Kind.RESOLUTION} & set(asking))
    counts_steps = 2 * sum(map(_is_step, parts)) > len(parts)
    return (
        is_one
        or counts_steps
        or all(
            names_only_kind(it.heading) or _is_step(it) or it.kind in (Kind.BACKGROUND, *NEVER)
            for it in parts
        )
    )


def steps_of(outline: Outline) -> Section | None:
    """Return a page's only chapter called "Steps" or the like; ``None`` for a page with none or several."""
    called = [
        it
        for it in top_of(outline).children
        if it.kind is Kind.RESOLUTION and names_only_kind(it.heading)
    ]
    return called[0] if outline.whole and len(called) == 1 else None


def _resolving(main: Section) -> Iterator[Section]:
    """Yield the sections right after a diagnosis that resolve its findings."""
    if main.kind is Kind.DIAGNOSIS and main.parent:
        beside = main.parent.children
        behind = itertools.islice(beside, beside.index(main) + 1, None)
        yield from itertools.takewhile(lambda it: it.kind is Kind.RESOLUTION, behind)


def _closing(outline: Outline, main: Section) -> Iterator[Section]:
    """Yield the sections beside a procedure, or beside the ones around it, that only verify or clean up."""
    for around in (main, *main.above()):
        if around.parent is None:
            return
        for beside in around.parent.children:
            if (
                beside is not around
                and beside.kind in (Kind.VERIFICATION, Kind.ROLLBACK)
                and (names_only_kind(beside.heading) or _is_after(beside, outline, main))
            ):
                yield beside


def _is_after(section: Section, outline: Outline, main: Section) -> bool:
    """Whether a section is headed "After ...", and a procedure mentions that."""
    what = _AFTER.match(section.heading)
    return what is not None and bool(
        words_of([what[1]]) & words_of([outline.text(main.start, main.end)])
    )


_AFTER: Final = re.compile(r"after (.+)", re.IGNORECASE)


def _mostly_forbids(outline: Outline, section: Section) -> bool:
    """Whether a section without subsections is a list whose items mostly forbid something."""
    items = [outline.text(it.start, it.end) for block in section.blocks for it in block.items]
    forbidding = [it for it in items if forbids(LIST_MARK.sub("", it))]
    return not section.children and 2 * len(forbidding) > len(items) > 1


def _rules_beside(outline: Outline, main: Section) -> Iterator[Governing]:
    """Yield the rules and prohibitions in sections beside a procedure, or beside the ones around it.

    A section counts as rules by its name, or if most of its items forbid something; a section of remarks, if it warns.
    Of a section that describes, the parts called rules count; of a section further up that only describes, the boxes
    that it sets apart; of any other section, text that applies to the whole page.
    """
    for around in (main, *main.above()):
        for beside in around.parent.children if around.parent else ():
            if beside is around:
                continue
            text = outline.text(beside.start, beside.end)
            if (
                is_called_rules(beside.heading)
                or holds_for_all(beside.heading)
                or beside.kind is Kind.PROHIBITED
                or _mostly_forbids(outline, beside)
                or (is_called_remarks(beside.heading) and (warns(text) or forbids(text)))
            ):
                yield rules_of(outline, beside)
            else:
                if beside.kind is Kind.BACKGROUND:
                    yield from (
                        rules_of(outline, it)
                        for it in beside.children
                        if is_called_rules(it.heading)
                    )
                if beside.start < around.start and _only_describes(beside):
                    yield from (it for part in beside.walk() for it in boxes_of(outline, part))
                yield from (it for part in beside.walk() for it in _for_all(outline, part))


def _for_all(outline: Outline, section: Section) -> Iterator[Governing]:
    """Yield the parts of a section's own text that apply to the whole page, each with the list that it introduces."""
    for it, behind in itertools.pairwise([*section.blocks, None]):
        said = outline.text(it.start, it.end) if it else ""
        if it and holds_for_all(said):
            is_led = behind and (
                behind.form is Form.LIST or (leads(said) and behind.form in (Form.CODE, Form.TABLE))
            )
            end = behind.end if behind and is_led else it.end
            text = outline.text(it.start, end)
            yield Governing(text, Governs.PRECONDITION, it.start, end)


def _only_describes(section: Section) -> bool:
    """Whether a section has neither lists nor code: "Landscape", with a table of hosts."""
    forms = {block.form for it in section.walk() for block in it.blocks}
    return section.kind not in ACTIONS and forms <= {Form.TABLE, Form.PARAGRAPH, Form.QUOTE}
