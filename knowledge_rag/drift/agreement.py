"""Whether runbooks state the durations and shares by which the code's alerts fire.

A sentence belongs to the alert that it names, else to the innermost section that is headed by one, else to the
one that the file is named after. What it states has to be a figure of that alert's definition.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from dataclasses import astuple, dataclass
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.drift.figures import Quantity, quantities_in, seconds_of
from knowledge_rag.drift.findings import Finding, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.drift.figures import Alerts, Figures
    from knowledge_rag.drift.page import Page, Paragraph

MAX_STATEMENTS: Final = 1_000
"""Of a document that are compared."""
MAX_SENTENCE: Final = 1_000
"""Characters of a sentence that is read."""
SHOWN: Final = 6
"""Figures of a definition that a finding lists."""
_FIRES: Final = re.compile(
    r"\b(?:alert|alarm)s?\b[^;:]{0,80}?"
    r"\b(?:fires?|fired|firing|triggers?|triggered|raised|goes off|notif(?:y|ies)|activates?|means|indicates?)\b"
    r"|\b(?:it|this)\b[^;:]{0,20}?\b(?:fires?|triggers?|triggered|raised)\s+(?:when|if|after|once|for)\b"
    r"|\b(?:fires?|raised)\s+(?:when|if|after|once)\b",
    re.IGNORECASE,
)
"""How a sentence says when an alert fires."""
_WHILE: Final = re.compile(
    r"\b(?:when(?:ever)?|if|once|after|until|while|before|because|since|unless|time)\b[^,;:]{0,60}$",
    re.IGNORECASE,
)
"""What makes of these words a condition of something else: "If this alert fires, wait 10 minutes"."""
_HOLDS: Final = re.compile(
    r"\b(?:for|after|at least|more than|longer than|over) (?:about |approximately )?\W{0,3}$",
    re.IGNORECASE,
)
"""What stands before the time for which a condition has to hold."""
_AND: Final = re.compile(r"[^.;]{0,40}\b(?:and|or)\s+")
_SENTENCE: Final = re.compile(r"(?:[^.!?]++|[.!?](?!\s|$))++")
_TARGET: Final = re.compile(r"\]\([^)\s]*\)?|<?https?://[^\s>)]+>?")
_NAME: Final = re.compile(r"[A-Za-z][\w-]*[\w]")
_COMPOSED: Final = re.compile(r"[a-z][A-Z]|[A-Za-z][-_][A-Za-z]")
_WAIT: Final = re.compile(r"^[ \t]*(?:- )?for:[ \t]*[\"']?(?P<wait>[\dsmhdwy]+)[\"']?[ \t]*$", re.MULTILINE)  # fmt: skip
_ALERT: Final = re.compile(r"^[ \t]*(?:- )?alert:[ \t]*[\"']?(?P<name>[^\"'\n]*[^\"'\s])[\"']?[ \t]*$", re.MULTILINE)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statement:
    """A duration or share that a document states of an alert.

    Args:
        line: 1-based, as ``column`` is, which counts characters.
        named: names that the sentence has, of which one may be an alert's.
        above: names of the sections that hold it and of the file, the innermost first.
        is_wait: whether it is the ``for`` of a rule that the document quotes.
        holds: whether it is the time for which a condition has to hold.
    """

    path: str
    line: int
    column: int
    text: str
    quantity: Quantity
    named: tuple[str, ...]
    above: tuple[str, ...]
    is_wait: bool = False
    holds: bool = False

    def to_wire(self) -> list[Any]:
        """Return it as JSON, without the path."""
        return list(astuple(self)[1:])

    @classmethod
    def of_wire(cls, path: str, wire: Sequence[Any]) -> Statement:
        """Return what was made JSON."""
        line, column, text, (start, end, seconds, parts, percent), named, above, *how = wire
        quantity = Quantity(start, end, seconds, tuple((a, b) for a, b in parts), percent)
        return cls(path, line, column, text, quantity, tuple(named), tuple(above), *how)


def statements_in(page: Page) -> Iterator[Statement]:
    """Find the first MAX_STATEMENTS durations and shares that a document states of alerts."""
    yield from islice(_statements(page), MAX_STATEMENTS)


def _statements(page: Page) -> Iterator[Statement]:
    stem = posixpath.basename(page.path).partition(".")[0]
    for paragraph in page.paragraphs:
        yield from _said(page, paragraph, stem)
    for code in page.codes:
        if code.is_block:
            yield from _quoted(page, code.text, code.place, stem)


def _said(page: Page, paragraph: Paragraph, stem: str) -> Iterator[Statement]:
    text = _TARGET.sub(lambda it: " " * len(it[0]), paragraph.text)
    for sentence in _SENTENCE.finditer(text):
        start = sentence.start()
        fires = _FIRES.search(sentence[0]) if sentence.end() - start < MAX_SENTENCE else None
        if not fires or _WHILE.search(sentence[0], 0, fires.start()):
            continue
        named = tuple(it for it in _NAME.findall(sentence[0]) if _COMPOSED.search(it))
        holds, behind = False, 0
        for quantity in quantities_in(text[start : sentence.end()]):
            if quantity.start < fires.end() - 1:
                continue
            at = start + quantity.start
            listed = holds and _AND.fullmatch(text, behind, at)
            holds = bool(listed or _HOLDS.search(text, start, at))
            behind = start + quantity.end
            line, column = paragraph.place(at)
            shown = text[at : start + quantity.end]
            above = (*page.above(line), stem)
            yield Statement(page.path, line, column, shown, quantity, named, above, holds=holds)


def _quoted(page: Page, text: str, place: Any, stem: str) -> Iterator[Statement]:  # noqa: ANN401
    alerts = [(it.end(), it["name"]) for it in _ALERT.finditer(text)]
    for found in _WAIT.finditer(text):
        seconds = seconds_of(found["wait"])
        if not seconds:
            continue
        at = bisect_right(alerts, found.start(), key=itemgetter(0))
        names = tuple(name for _, name in alerts[max(0, at - 1) : at])
        line, column = place(found.start("wait"))
        quantity = Quantity(0, 0, seconds, ((seconds, seconds),))
        above = () if names else (*page.above(line), stem)
        yield Statement(
            page.path, line, column, found["wait"], quantity, names, above, is_wait=True
        )


def check_agreement(statements: Sequence[Statement], alerts: Alerts) -> Iterator[Finding]:
    """Find durations and shares that the definition of their alert doesn't have.

    Where a condition only asks whether something is so, its limit is the metric's, and no figure but the time
    for which it holds is compared.
    """
    for each in statements:
        known = definition_of(each, alerts)
        if known is None:
            continue
        name, file, figures = known
        if each.quantity.seconds in figures.waits if each.is_wait else figures.has(each.quantity):
            continue
        said = " ".join(each.text.split())
        waits = " or ".join(map(duration, figures.waits)) or "none"
        has = f"for: {waits}" if each.is_wait else _listed(figures)
        end = each.column + len(each.text.partition("\n")[0])
        message = f"{name} in {file} has {has}, not {said}"
        yield Finding(each.path, each.line, each.column, end, Kind.OTHER_FIGURE, f"{name} {said}", message)  # fmt: skip


def definition_of(each: Statement, alerts: Alerts) -> tuple[str, str, Figures] | None:
    """Return name, file and figures of what a statement is compared with, ``None`` if it isn't."""
    names = [it for it in each.named if alerts.defines(it)] or each.above
    name = next((it for it in names if alerts.defines(it)), None)
    known = alerts.get(name) if name else None
    if known and (each.is_wait or each.holds or known[2].limits(each.quantity)):
        return known
    return None


def _listed(figures: Figures) -> str:
    """Return the figures that may be meant."""
    numbers = [f"{it:g}" for it in figures.numbers if it not in (0, 1, 100)]
    spans = map(duration, (*figures.waits, *figures.spans))
    listed = list(dict.fromkeys((*spans, *numbers)))
    return ", ".join(listed[:SHOWN]) + (" and others" if len(listed) > SHOWN else "")


def duration(seconds: float) -> str:
    """Return a duration in its largest whole unit.

    >>> duration(90), duration(7200)
    ('90s', '2h')
    """
    for name, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:g}{name}"
    return f"{seconds:g}s"
