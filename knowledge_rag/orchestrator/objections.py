"""Finds a page's own reasons against its steps: they are not for this, stop here, or still to be written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.headings import (
    is_called_rules,
)
from knowledge_rag.core.stemming import stem as stemmed
from knowledge_rag.orchestrator.governing import (
    Governing,
    Governs,
    excluded_by,
    forbidden_by,
    is_to_do,
    lists_open_points,
    out_of_scope,
    sentences,
    sets_apart,
    stopped_by,
)
from knowledge_rag.orchestrator.naming import CODE_SPAN, NAME, is_of_other_service
from knowledge_rag.orchestrator.procedures import (
    introduction_of,
    rules_of,
)
from knowledge_rag.orchestrator.relevance import is_task_of, words_told
from knowledge_rag.orchestrator.rows import FOR
from knowledge_rag.orchestrator.wanted import part_missing
from knowledge_rag.orchestrator.words import (
    spaced_words,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.orchestrator.procedures import Procedure
    from knowledge_rag.orchestrator.wanted import Place, Wanted


def not_for(place: Place, wanted: Wanted) -> Governing | None:
    """Return the statement before a page's steps that excludes the request, or puts it out of scope."""
    outline = place.outline
    said = _said_before(place)
    asked = words_of([wanted.text, wanted.labels])
    told = set(re.split(r"[\s:,;()\"']+", f"{wanted.said} {wanted.labels}".casefold()))
    for it in said:
        for what in excluded_by(it.text):
            names = {one[0].casefold() for one in _COMPOUND.finditer(what)}
            # "imaging" isn't imaging-prod
            if names & told if names else words_of([what]) & asked:
                return it
    rules = [rules_of(outline, it) for it in outline.sections() if is_called_rules(it.heading)]
    for it in (*said, *rules):
        for what in out_of_scope(it.text):
            words, names = words_of([what]), {one[0].casefold() for one in _COMPOUND.finditer(what)}
            if 2 * len(words & asked) > len(words) or names & told:
                return it
    return next(_set_apart(place, wanted), None)


def _set_apart(place: Place, wanted: Wanted) -> Iterator[Governing]:
    """Yield the lines that set a thing of the request apart from what the page is about; no other line has that thing."""
    outline = place.outline
    told = f"{wanted.said} {wanted.labels}"
    called = f"{outline.title} {outline.source_file}"
    lines: dict[str, int] = {}
    for number, line in outline.lines.items():
        for said in filter(sets_apart, sentences(line)):
            names = {*CODE_SPAN.findall(said), *(it[0] for it in _COMPOUND.finditer(said))}
            for name in (it for it in names if _names_alone(told, it)):
                if name not in lines:
                    lines[name] = sum(_names_alone(it, name) for it in outline.lines.values())
                if lines[name] == 1 and not _names_alone(called, name):
                    yield Governing(line.strip(), Governs.PRECONDITION, number, number)


def _names_alone(text: str, name: str) -> bool:
    """Whether a text has a name as words of its own, or that of one of its parts: redis-a-0 of redis-a."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?!\w|-[a-z])", text, re.IGNORECASE) is not None


def held_off(place: Place, procedures: Sequence[Procedure], wanted: Wanted) -> Governing | None:
    """Return the statement that a page makes instead of its steps for the request.

    It says to stop in that case, or excludes a thing that the request names and that it has as code. Or it forbids in
    every case the action that a question asks for, with its verb and most of its words, and the steps have that verb:
    steps for something else stay, below the prohibition. So do steps that forbid it too: they say what to do instead.
    """
    items = [item for one in procedures for item in one.items]
    first = procedures[0].items[0].start
    governing = [it for item in items for it in item.governing]
    steps = [part.text for item in items for part in item.parts]
    known = [it for step in steps for it in forbidden_by(step)]
    told, asked = f"{wanted.said} {wanted.labels}", words_of([wanted.text, wanted.labels])
    for it in (*_said_before(place), *governing):
        if it.withheld:
            continue
        forbidden = [] if wanted.is_alert else forbidden_by(it.text)
        if any(
            _is_asked(words_of([what]), asked)
            for what in forbidden
            if _has_verb(what, wanted.task)
            and any(_has_verb(what, step) for step in steps)
            and not any(_has_verb(what, it) for it in known)
        ):
            return it
        if any(_names_alone(told, name) for name in _codes_excluded(it.text)):
            return it
        case = stopped_by(it.text)
        if it.start > first and not CODE_SPAN.search(case):
            continue  # below the first step, it is for those who are in the middle of them
        words = words_of([case])
        if words and 2 * len(words & asked) >= len(words) and _names_all(case, wanted):
            return it
    return None


def left_alone(place: Place, procedures: Sequence[Procedure], wanted: Wanted) -> Governing | None:
    """Return what a page says for an alert's label instead of its steps.

    That alerts with it need nothing: "for `env=dev` nobody gets up"; or a rule for it where the steps are for another one:
    "For `kafka-market`: don't touch it" beside "For `kafka-ingest`:".
    """
    if not wanted.is_alert:
        return None
    values = {it.casefold() for it in wanted.labels.split()}
    items = [item for one in procedures for item in one.items]
    governing = [it for item in items for it in item.governing]
    things = {it: found[1].casefold() for it in governing if (found := FOR.match(it.text))}
    leads = {it for it in things if it.text.rstrip().endswith(":")}
    if any(things[it] not in values for it in items[0].governing if it in leads):
        for it, thing in things.items():
            if thing in values and it not in leads:
                return it
    for it in (*_said_before(place), *governing):
        for said in sentences(it.text):
            label = _LABEL.search(said)
            if label and label[1].casefold() in values and _leaves_alone(said[label.end() :]):
                return it
    return None


_LABEL: Final = re.compile(r"`[\w.]+ ?= ?\"?([\w.-]+)\"?`")


def _leaves_alone(text: str) -> bool:
    """Whether a text says that nothing has to be done, at once and in every case."""
    return _NOTHING.search(text) is not None and _NOT_AT_ONCE.search(text) is None


_NOTHING: Final = re.compile(
    r"\b(?:nobody(?:['’]s business| (?:gets up|is woken|cares|has to|needs to))|(?:can|may) be ignored|nothing (?:has )?to (?:do|be done)"
    r"|(?:do|needs?) nothing|no action|(?:ignore|silence) (?:it|them|these|this|at|until)|(?:and|just) (?:leave|ignore)|back to (?:bed|sleep))\b",
    re.IGNORECASE,
)
_NOT_AT_ONCE: Final = re.compile(
    r"\b(?:not|never|before|without|unless|except|then|but|if|first|still)\b|n['’]t\b",
    re.IGNORECASE,
)


def _codes_excluded(text: str) -> list[str]:
    """Return the things, as code, that a text says it doesn't apply to: "Not for `stock-moves`"."""
    return [name for what in excluded_by(text) for name in CODE_SPAN.findall(what)]


def _said_before(place: Place) -> list[Governing]:
    around = (place.section, *place.section.above())
    return [it for above in around for it in introduction_of(place.outline, above)]


def _is_asked(words: set[str], asked: set[str]) -> bool:
    return len(words) > 1 and 2 * len(words & asked) > len(words)


def _has_verb(forbidden: str, text: str) -> bool:
    """Whether a text has the verb of a forbidden action, which is its first word."""
    verb, *_ = spaced_words(forbidden).split()
    return any(stemmed(it) == stemmed(verb) for it in spaced_words(text).split())


def _names_all(case: str, wanted: Wanted) -> bool:
    """Whether an incident has every name in a case that isn't a plain word, such as pedidos-db-ro-2, and all its code."""
    names = (it[0] for it in NAME.finditer(case) if not it[0].isalpha())
    text = f"{wanted.text} {wanted.labels}".casefold()
    return all(it.casefold() in text for it in (*names, *CODE_SPAN.findall(case)))


def still_to_write(place: Place, wanted: Wanted) -> int | None:
    """Return the line on which a page says that the answer to the request is still to be written.

    It has more than half of the request's words, at least two; or, in the section, a word for the task.
    """
    told, section = words_told(wanted), place.section
    open_points = {
        number
        for it in place.outline.sections()
        if lists_open_points(it.heading)
        for number in range(it.heading_end + 1, it.end + 1)
    }
    for number, line in place.outline.lines.items():
        is_task = section.start <= number <= section.end and is_task_of(wanted.task, line)
        is_open = is_to_do(line) or number in open_points
        if is_open and (is_task or len(told) < 2 * len(told & words_of([line])) > 2):
            return number
    return None


def doubt_of(place: Place, procedures: Sequence[Procedure], wanted: Wanted) -> str:
    """Return the reason to doubt procedures; ``""`` if there is none."""
    if is_of_other_service(place.outline, wanted):
        return f"the page is about {place.outline.service}, and the alert says {wanted.service}"
    if part := part_missing(wanted, _texts_of(procedures)):
        return f"it doesn't say how to {part}"
    if place.why != "found":  # for a found place, this was checked before
        return "the page says that it isn't for what is asked" if not_for(place, wanted) else ""
    lines = place.outline.lines
    text = " ".join([*lines.values(), place.outline.source_file]).casefold()
    # the name of another thing matters only if the page names one of the same kind
    if not _IDENTIFIER.search(
        " ".join(lines[n] for it in procedures for n in it.lines if n in lines)
    ):
        return ""
    told = dict.fromkeys(it[0] for it in _IDENTIFIER.finditer(wanted.text))
    names = [it for it in told if it.casefold() not in text]
    return f"it never mentions {', '.join(names[:3])}" if names else ""


def _texts_of(procedures: Sequence[Procedure]) -> Iterator[str]:
    for item in (item for one in procedures for item in one.items):
        yield from (*item.path, *(part.text for part in item.parts))
        yield from (it.text for it in item.governing)


_COMPOUND: Final = re.compile(r"(?<![\w-])[A-Za-z]\w*(?:-\w+)+")
"""The name of a thing, of several parts: plcgw-brk."""
_IDENTIFIER: Final = re.compile(
    r"(?<![A-Za-z\d])(?<![A-Za-z\d][-_.])(?=[\w.-]*[A-Za-z])(?=[\w.-]*\d)[A-Za-z\d]+(?:[-_.][A-Za-z\d]+)+\b"
)
"""The name of one thing among several: db-primary-02, eu-west-1. It is searched once a word, however long that is."""
