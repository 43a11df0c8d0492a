"""Finds the rows of tables, and items of notes, that aren't to be done or are for other cases."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.lines import cells_of
from knowledge_rag.orchestrator.governing import LIST_MARK, NEVER, forbids, governs
from knowledge_rag.orchestrator.links import fold
from knowledge_rag.orchestrator.naming import CODE_OF_ERROR, CODE_SPAN, names_code
from knowledge_rag.orchestrator.outline import Form
from knowledge_rag.orchestrator.words import spaced_words, words_of, written_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.orchestrator.outline import Block, ListItem, Outline, Section
    from knowledge_rag.orchestrator.wanted import Wanted

_FORBIDDING_CELL: Final = re.compile(
    r"^\W*(?:never|no|not allowed|forbidden|prohibited)\W*(?:$|[,;:(])|^\W*[⛔❌🚫]", re.IGNORECASE
)
"""A cell that says that its row isn't to be done, if the column's head asks whether it is."""
_ASKS_WHETHER: Final = re.compile(
    r"\?|\b(?:valid|status|state|allowed|safe|may|can|ok(?:ay)?|permitted|do|run|use|production|prod|on-?call|live)\b|^$",
    re.IGNORECASE,
)
_GONE_CELL: Final = re.compile(
    r"\W*(?:obsolete|deprecated|superseded|outdated|retired|withdrawn|removed|gone)\b",
    re.IGNORECASE,
)
_STATUS: Final = re.compile(r"\W*(?:still )?(?:valid(?:ity)?|status|state)\W*$", re.IGNORECASE)
_CASES: Final = re.compile(
    r"\b(?:symptoms?|see|signs?|errors?|messages?|alerts?|alarms?|codes?|problems?|issues?|situations?|findings?|observations?|cases?"
    r"|when|if|happens?|complaints?|states?|status)\b",
    re.IGNORECASE,
)


def has_cases(outline: Outline, table: Block) -> bool:
    """Whether the head of a table's first column says when each row applies: "Symptom", "Code"."""
    return _CASES.search(cells_of(outline.text(table.start, table.start))[0]) is not None


def begins_with_code(row: str, codes: Collection[str]) -> bool:
    """Whether the first cell of a row is one of some error codes, and nothing else."""
    return _first_cell(row) in codes


def _first_cell(row: str) -> str:
    """Return a row's first cell without emphasis and code marks."""
    return cells_of(row)[0].strip(" `*")


def other_rows(
    outline: Outline, wanted: Wanted, *, is_notes: bool, is_called: bool
) -> Iterator[int]:
    """Yield the rows of tables of cases, and notes, that are for other cases than the incident.

    A table has cases if the head of its first column says so, if a question about contacts gets the page, or if the
    incident names the code of a single row, or the thing in its first cell, or if an alert's label has that as its value.
    A note, an item or a paragraph, that forbids something stays.

    Args:
        outline: of the page.
        wanted: the incident's request.
        is_notes: whether the page's lists consist of unrelated notes.
        is_called: whether a question about contacts gets the page.
    """
    asked = words_of([*wanted.names, wanted.text])
    for section in outline.sections():
        yield from _led_otherwise(outline, section, wanted)
    blocks = [it for section in outline.sections() for it in section.blocks]
    if is_notes and not any(it.items for it in blocks):
        yield from _other_notes(outline, (it for it in blocks if it.form is Form.PARAGRAPH), asked)
    for block in blocks:
        if is_notes and block.form is Form.LIST:
            yield from _other_notes(outline, block.items, asked)
        if block.form is Form.TABLE:
            others = {*_others_of(outline, block, wanted, asked, is_called=is_called)}
            yield from others - {*_rows_referred(outline, block, others)}


def _other_notes(
    outline: Outline, notes: Iterable[Block | ListItem], asked: set[str]
) -> Iterator[int]:
    """Yield the first lines of notes that are about something else, except of those that forbid something."""
    texts = {it.start: outline.text(it.start, it.end) for it in notes}
    less = _sharing_less(texts, asked)
    yield from (n for n in less if not forbids(LIST_MARK.sub("", texts[n])))


def _others_of(
    outline: Outline, table: Block, wanted: Wanted, asked: set[str], *, is_called: bool
) -> Iterator[int]:
    """Yield a table's rows for other cases than the incident, whose words are `asked`."""
    head, rows = table.start, [*range(table.start + 2, table.end + 1)]
    if not (is_called or has_cases(outline, table)):
        texts = {n: outline.text(n, n) for n in rows}
        values = set(wanted.labels.casefold().split())
        labelled = [
            n for n, it in texts.items() if wanted.is_alert and _first_cell(it).casefold() in values
        ]
        by_code = (
            [n for n, text in texts.items() if names_code(wanted.said, form(text))]
            for form in (str, _thing_in)
        )
        for named in (labelled, *by_code):
            if len(named) == 1:
                yield from (n for n in rows if n not in named)
                break
        return
    of_others = {
        *_rows_of_others(outline, rows, wanted),
        *_not_spelled(outline, rows, wanted),
        *_of_other_cases(outline, rows, wanted),
    }
    yield from of_others
    heads = cells_of(outline.text(head, head))
    rows = [
        n
        for n in rows
        if n not in of_others and not is_forbidden_row(heads, cells_of(outline.lines.get(n, "")))
    ]
    yield from _sharing_less({n: outline.text(n, n) for n in rows}, asked)


def _thing_in(row: str) -> str:
    """Return a row's first cell as code if it is the name of a thing: ds-elb-db; else ``""``."""
    first = cells_of(row)[0].strip()
    return f"`{first}`" if _THING.fullmatch(first) else ""


_THING: Final = re.compile(r"[\w.]+(?:[-_][\w.]+)+")


def _not_spelled(outline: Outline, rows: Sequence[int], wanted: Wanted) -> Iterator[int]:
    """Yield the other rows if the incident's words contain the whole first cell of some: "Out of service 17", AM04."""
    asked, codes = spaced_words(wanted.said), CODE_OF_ERROR.findall(wanted.said)
    texts = {n: outline.text(n, n) for n in rows}
    cells = {n: spaced_words(cells_of(text)[0]) for n, text in texts.items()}
    spelled = [
        n
        for n, cell in cells.items()
        if (len(cell.split()) > 1 and cell in asked) or begins_with_code(texts[n], codes)
    ]
    yield from (n for n in rows if spelled and n not in spelled)


def _of_other_cases(outline: Outline, rows: Sequence[int], wanted: Wanted) -> Iterator[int]:
    """Yield the rows for other cases of one alert: "`Lag`, pods OOMKilled" beside "`Lag`, pods Running" if they run.

    Of the words by which the first cells of an alert's rows differ, such a row has none that the incident has, and
    another one has some.
    """
    asked = _words_of_case(f"{wanted.said} {wanted.labels}")
    cases: dict[str, dict[int, set[str]]] = {}
    for n in rows:
        cell = cells_of(outline.text(n, n))[0]
        if name := CODE_SPAN.match(cell.strip()):
            cases.setdefault(name[1], {})[n] = _words_of_case(cell)
    for words in cases.values():
        own = {
            n: it.difference(*(words[other] for other in words if other != n))
            for n, it in words.items()
        }
        meant = [n for n, it in own.items() if it & asked]
        yield from (n for n in own if meant and n not in meant)


def _words_of_case(text: str) -> set[str]:
    """Return the words of a text, and those that say how many are concerned."""
    return words_of([text]) | set(_HOW_MANY.findall(text.casefold()))


_HOW_MANY: Final = re.compile(r"\b(?:one|single|both|several|many|all|every)\b")


def _rows_referred(outline: Outline, table: Block, others: set[int]) -> Iterator[int]:
    """Yield those of the other rows that begin with a code that a remaining row names: "treat as S-101"."""
    codes = {
        n: {
            it[0]
            for cell in cells_of(outline.text(n, n))
            if (it := CODE_OF_ERROR.match(cell.strip("`* ")))
        }
        for n in range(table.start + 2, table.end + 1)
    }
    kept = [n for n in codes if n not in others]
    named = {it for n in kept for it in CODE_OF_ERROR.findall(outline.text(n, n))}
    named = named.difference(*(codes[n] for n in kept))
    yield from (n for n in others if not named.isdisjoint(codes.get(n, ())))


def _led_otherwise(outline: Outline, section: Section, wanted: Wanted) -> Iterator[int]:
    """Yield the first lines of blocks whose lead-in begins with another thing's name as code, if one has the incident's.

    Such lead-ins are "`stoker` (topic job-events)" and "For `usage-sink`:", each with its list.
    """
    leads: dict[int, list[int]] = {}
    lead = 0
    for block, behind in itertools.pairwise([*section.blocks, None]):
        text = outline.text(block.start, block.end) if block else ""
        is_paragraph = block and block.form is Form.PARAGRAPH
        is_lead = behind and behind.form in _LED and len(text.split()) <= _LEAD_WORDS
        if block and is_paragraph and is_lead and (CODE_SPAN.match(text) or FOR.match(text)):
            lead = block.start
        if block and lead:
            items = [it.start for it in block.items] or [block.start]
            leads.setdefault(lead, []).extend(items)
    values = {fold(it) for it in wanted.labels.split()}
    meant = [
        it
        for it in leads
        for name in CODE_SPAN.findall(outline.lines.get(it, ""))[:1]
        # `error` is a word, too
        if fold(name) in values or (not name.isalpha() and names_code(wanted.said, f"`{name}`"))
    ]
    if len(meant) == 1:
        yield from (n for it, starts in leads.items() if it not in meant for n in starts)


FOR: Final = re.compile(r"(?:for|on) `([^`\n]+)`:", re.IGNORECASE)
"""Says for which thing the rest of a text is."""
_LEAD_WORDS: Final = 6
_LED: Final = (Form.LIST, Form.CODE, Form.TABLE)


def _sharing_less(texts: Mapping[int, str], asked: set[str]) -> list[int]:
    """Return the texts that share less than half as much with the request as the best one does.

    A word counts less the more texts contain it. If at least half of the texts are good, none is returned.
    """
    held = {n: written_words([text]) & asked for n, text in texts.items()}
    often = Counter(word for words in held.values() for word in words)
    worth = {n: sum(math.log(len(texts) / often[it]) for it in held[n]) for n in texts}
    best = max(worth.values(), default=0.0)
    others = [n for n in texts if worth[n] < best / 2]
    return others if 2 * len(others) > len(texts) else []


def _rows_of_others(outline: Outline, rows: Iterable[int], wanted: Wanted) -> Iterator[int]:
    """Yield the rows that begin with another thing's name as code, if others begin with the incident's: ``es-logs``.

    Beside rows that begin with the alert's name, yield all others. Also yield those with another code in a column that has
    one of the incident's: "E31" beside "E12".
    """
    text = f"{wanted.said} {wanted.labels}"
    cells = {n: cells_of(outline.text(n, n)) for n in rows}
    named = {n for n, it in cells.items() if names_code(text, it[0])}
    alerts = {
        n for n in named if wanted.is_alert and names_code(" ".join(wanted.names), cells[n][0])
    }
    if alerts:
        yield from (n for n in cells if n not in alerts)
    elif named:
        yield from (n for n, it in cells.items() if n not in named and CODE_SPAN.match(it[0]))
    told = {*CODE_OF_ERROR.findall(text), *_NUMBER_ALONE.findall(text)}
    for place, column in enumerate(zip(*(it for it in cells.values() if it), strict=False)):
        code = CODE_OF_ERROR if place else _CODE_OR_NUMBER  # further columns have sizes
        if any(it in told and code.fullmatch(it) for it in column):
            codes = zip(cells, column, strict=False)
            yield from (n for n, it in codes if it not in told and code.fullmatch(it))


_NUMBER_ALONE: Final = re.compile(r"(?<![\w.-])\d+(?![\w.-])")
_CODE_OR_NUMBER: Final = re.compile(rf"{CODE_OF_ERROR.pattern}|{_NUMBER_ALONE.pattern}")


def ended_rows(heads: Sequence[str], rows: Mapping[int, Sequence[str]]) -> Iterator[int]:
    """Yield the rows with a date in a column "Until", if another row there is valid today."""
    for place in (n for n, head in enumerate(heads) if _UNTIL.match(head)):
        until = {n: cells[place].strip() for n, cells in rows.items() if place < len(cells)}
        if any(map(_TODAY.fullmatch, until.values())):
            yield from (n for n, cell in until.items() if _DATE.match(cell))


_UNTIL: Final = re.compile(
    r"\W*(?:valid )?(?:until|to|till|through|end(?:ed)?|bis)\W*$", re.IGNORECASE
)
_TODAY: Final = re.compile(
    r"\W*(?:today|now|current(?:ly)?|present|open|still valid|heute)?\W*", re.IGNORECASE
)
_DATE: Final = re.compile(r"\W*(?:(?:19|20)\d\d|\d{1,2}[./]\d)")


def is_forbidden_row(heads: Sequence[str], cells: Sequence[str]) -> bool:
    """Whether a row says that it isn't to be done: in its first cell, or in one whose column asks whether it is."""
    labelled = zip([*heads, *[""] * len(cells)], cells, strict=False)
    return says_never(cells[0]) or any(
        (_FORBIDDING_CELL.match(cell) and _ASKS_WHETHER.search(name))
        or (_GONE_CELL.match(cell) and _STATUS.match(name))
        for name, cell in labelled
    )


def says_never(label: str) -> bool:
    """Whether a column's head, or a row's first cell, is a prohibition of a word or two: "Wrong", "Forbidden"."""
    return len(label.split()) <= 2 and governs(label.strip()) in NEVER


def of_row(labelled: Iterable[tuple[str, str]]) -> str:
    """Return the cells of a row, each after its column's head."""
    return " | ".join(f"{name}: {cell}" if name else cell for name, cell in labelled if cell)
