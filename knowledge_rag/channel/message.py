"""The content of one answer, independent of the channel that shows it.

Slack's blocks, a Markdown note, plain text and an SMS are all written from this, so they agree. Its citations
are numbered once, by first appearance; the numbers in the text match the list below it. Known forms of secrets are
masked here, before anything is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.marks import (
    citations_of,
    marked_parts,
    places_in,
    plain,
    tree_of,
    units_of,
)
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.formats import is_extracted
from knowledge_rag.core.outcome import Status
from knowledge_rag.extract.lint.patterns import Folded
from knowledge_rag.extract.lint.secrets import find_secrets
from knowledge_rag.guardrails.headings import heading_words
from knowledge_rag.orchestrator.consultation import answer_parts
from knowledge_rag.orchestrator.incident import name_of
from knowledge_rag.orchestrator.procedures import Why
from knowledge_rag.orchestrator.wording import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from markdown_it.tree import SyntaxTreeNode

    from knowledge_rag.channel.marks import Reference
    from knowledge_rag.core.repository_links import RepositoryLinks
    from knowledge_rag.orchestrator.consultation import Consultation
    from knowledge_rag.orchestrator.incident import Incident

BY_MODEL: Final = "Written by a model. Only the citations come from the documents:"
"""Above a model's words, each line of which is quoted; nothing else is quoted."""

MASK: Final = "<secret-masked>"
"""Replaces a secret: a placeholder, so that no command runs with it."""

UNCLEAR: Final = "It could be"
"""Above the possible procedures."""
CLOSEST: Final = "Closest sections, to read, not to follow"

MISSING: Final = "Steps are missing here: they don't fit in this message."
LEFT_OUT: Final = "The rest doesn't fit in this message."

MAX_TITLE: Final = 150
UNNAMED: Final = "An alert without a name"
MAX_WARNINGS: Final = 10

_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?\+00:00")
_OUTCOMES: Final = {
    Status.OK: "Documented.",
    Status.NO_MATCH: "Nothing documented.",
    Status.DEGRADED: "The knowledge base could not be searched, or no advice could be verified.",
}


Place = tuple[str, int, int]
"""A document and its cited lines."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A procedure that a reader can ask for: by document and line, like ``Incident.at``.

    Args:
        name: of the procedure; ``""`` for all steps of the one in the message.
        receipt: of the answer that offers it, and its ``number`` there, from 1; ``""`` for the message's own.
    """

    name: str
    source_file: str
    line: int
    receipt: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """An answer to write.

    Args:
        title: the question, or the alert's name, in one line.
        outcome: whether it is documented, and how good the evidence is.
        marked: the answer in Markdown, see :mod:`~knowledge_rag.channel.marks`, and the ``references`` in it.
        places: all cited lines; the first has number 1.
        about: facts of each alert, one line each.
        warnings: to read first.
        reading: sections to look at, each with a name, which are not steps; ``reading_title`` is their heading.
        choose: how a reader chooses one of them by its number; ``""`` if that is impossible.
        unknown: a sentence that words of the question were not found.
        missing: a sentence that steps are left out and where they begin.
        first: lines of the first procedure, for a one-line message.
        steps: number of its steps, ``dangerous`` of them destructive.
        offers: procedures that a reader can ask for: the possible ones, or the one that is given.
        folded: whether steps for this case or another are named and not shown.
        receipt: id of the receipt; ``""`` for an answer that isn't posted.
    """

    title: str
    status: Status
    outcome: str
    marked: str
    references: tuple[Reference, ...]
    places: tuple[Place, ...]
    about: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    by_model: bool = False
    reading_title: str = ""
    reading: tuple[tuple[str, Citation], ...] = ()
    choose: str = ""
    unknown: str = ""
    missing: str = ""
    first: Place | None = None
    steps: int = 0
    dangerous: int = 0
    offers: tuple[Offer, ...] = ()
    folded: bool = False
    links: RepositoryLinks | None = None
    receipt: str = ""

    def number(self, citation: Citation) -> int:
        """Return the number of a citation of this message."""
        return self.places.index(place(citation)) + 1

    def url(self, cited: Place) -> str:
        """Return a link to cited lines; ``""`` if unknown, or if they are extracted text."""
        return self.links.url(*cited) if self.links and not is_extracted(cited[0]) else ""


def place(citation: Citation) -> Place:
    """Return the place that a citation's number refers to."""
    return citation.source_file, citation.start_line, citation.end_line


def document_of(cited: Place) -> str:
    """Return the document of a place, marked if its lines are extracted text."""
    return cited[0] + (" (extracted text)" if is_extracted(cited[0]) else "")


def where(cited: Place) -> str:
    """Return a place as ``FILE:LINES``."""
    return f"{document_of(cited)}:{lines_of(cited)}"


def lines_of(cited: Place) -> str:
    """Return the lines of a place, as ``3-9``."""
    _, start, end = cited
    return f"{start}-{end}" if end > start else f"{start}"


def message_of(
    incident: Incident,
    consultation: Consultation,
    links: RepositoryLinks | None = None,
    *,
    title: str = "",
) -> Message:
    """Return the message for a consultation; the title is the question as asked, by default the incident's name."""
    parts, by_model = answer_parts(consultation)
    alerts = incident.alerts or (incident,)
    title = title or name_of(incident)
    names = (one.alert_name or name_of(one) for one in alerts)
    about = (
        facts("" if title.startswith(name) else name, one.severity, one.service, one.since)
        for name, one in zip(names, alerts, strict=True)
    )
    whole = consultation.recommendation.to_dict()
    message = message_from(title, whole, parts, by_model=by_model)
    said = tuple(one_line(line) for line in about if line)
    # each place is of one alert's procedure, and each choice is offered once
    offered = () if incident.is_group or incident.is_empty else message.offers
    offers = tuple(it for it in offered if not (incident.at and it.name))
    return replace(message, about=said, offers=offers, links=links)


def message_from(
    title: str, whole: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], *, by_model: bool
) -> Message:
    """Return the message for a recommendation (``schemas/recommendation.schema.json``) and the parts of its text."""
    advice = whole["recommendation"]
    status = Status(whole["status"])
    kept = [part if part.get("citations") else {"text": masked(part["text"])} for part in parts]
    references: list[Reference] = []
    # except for steps, the outcome says it
    marked = marked_parts(kept, references) if status is Status.OK else ""
    reading = list(_reading(advice))
    cited = [one for it in references for one in citations_of(it)] + [one for _, one in reading]
    guidance = advice["guidance"]
    return Message(
        title=one_line(title)[:MAX_TITLE] or UNNAMED,
        status=status,
        outcome=masked(f"{outcome_line(whole)} {evidence_line(whole)}"),
        marked=marked,
        references=tuple(references),
        places=tuple(dict.fromkeys(map(place, cited))),
        warnings=tuple(_warnings(whole["warnings"])),
        by_model=by_model and bool(marked),
        reading_title=(UNCLEAR if advice.get("meant") else CLOSEST) if reading else "",
        reading=tuple(reading),
        unknown=_unknown(advice, whole),
        first=_first(advice),
        steps=len(guidance),
        dangerous=sum(bool(step.get("destructive")) for step in guidance),
        offers=tuple(_offers(guidance, reading)),
        folded=any(
            it["reason"] in _FOLDED
            for one in advice.get("procedures", ())
            for it in one["not_shown"]
        ),
    )


def facts(name: str, severity: str, service: str, since: str) -> str:
    """Return the facts of an alert in one line, ``since`` as ISO 8601 in UTC; ``""`` if only its name is known.

    >>> facts("DiskFull", "critical", "", "2026-03-02T08:14:00+00:00")
    'DiskFull, severity critical, since 2026-03-02 08:14 UTC'
    """
    moment = _MOMENT.sub(r"\1 \2 UTC", since)
    known = zip(("severity", "service", "since"), (severity, service, moment), strict=True)
    said = [f"{what} {text}" for what, text in known if text]
    return ", ".join(filter(None, (name, *said))) if said else ""


def masked(text: str) -> str:
    """Replace the secrets that lint finds in a text.

    >>> masked("export PGPASSWORD=t0pHus!9vKq2")
    'export PGPASSWORD=<secret-masked>'
    """
    made, behind = "", 0
    for hit in find_secrets(text, Folded(text)):
        made += text[behind : hit.start] + MASK
        behind = hit.end
    return made + text[behind:]


def one_line(text: str) -> str:
    """Return a text in one line, without secrets and marks, and with hidden and steering characters made visible."""
    return " ".join(plain(masked(text)).split())


def outcome_line(whole: Mapping[str, Any]) -> str:
    """Return one sentence on whether it is documented."""
    meant = whole["recommendation"].get("meant", ())
    return str(whole["reasoning"]) if meant else _OUTCOMES[Status(whole["status"])]


def evidence_line(whole: Mapping[str, Any]) -> str:
    """Return one line on how good the evidence is, or why there is none."""
    if evidence := whole.get("evidence"):
        reasons = "; ".join(evidence["reasons"])
        return f"Evidence: {evidence['strength']}" + (f" ({reasons})" if reasons else "")
    return "" if whole["recommendation"].get("meant") else str(whole["reasoning"])


_FOLDED: Final = frozenset({Why.NOT_RETRIEVED, Why.OTHER, Why.ROW, Why.UNDONE, Why.NOT_GIVEN})
"""Reasons for steps not to be shown that don't apply if the procedure is requested by its place."""


def _offers(
    guidance: Sequence[Mapping[str, Any]], reading: Sequence[tuple[str, Citation]]
) -> Iterator[Offer]:
    """Yield the given procedure, or else the possible sections."""
    if guidance:
        cited = guidance[0]["citation"]
        yield Offer("", cited["source_file"], cited["start_line"])
        return
    # the last of several lines, as in `read_place`: a passage may begin with headings of the sections around it
    yield from (Offer(name, it.source_file, it.end_line) for name, it in reading)


def _first(advice: Mapping[str, Any]) -> Place | None:
    """Return the lines of the first procedure, or of the first step if a model wrote the steps."""
    for it in (*advice.get("procedures", ())[:1], *(one["citation"] for one in advice["guidance"])):
        return it["source_file"], it["start_line"], it["end_line"]
    return None


def _warnings(warnings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in warnings[:MAX_WARNINGS]:
        step = f"Step {one['step']}: " if "step" in one else ""
        yield step + one_line(one["message"])
    if len(warnings) > MAX_WARNINGS:
        yield f"{len(warnings) - MAX_WARNINGS} more warnings"


def _reading(advice: Mapping[str, Any]) -> Iterator[tuple[str, Citation]]:
    reading = advice.get("reading", ())
    meant = advice.get("meant", ())[: len(reading)]
    for one, own in zip_longest(reading, meant):
        citation = Citation(
            one["source_file"], one["start_line"], one["end_line"], one["section_header"]
        )
        name = one_line(heading_words(citation.section_header if own is None else own))
        if name and own is None:  # in a runbook for another alert, "Resolution" alone says nothing
            name = f"{one_line(PurePosixPath(citation.source_file).stem)} > {name}"
        yield name or citation.source_file, citation


def _unknown(advice: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    missed = [it for it in advice.get("unknown_words", ()) if it not in whole["reasoning"]]
    return one_line(f"Nothing found mentions {listed(missed, 'or')}.") if missed else ""


# shortening to the limit of a channel


def shortened(message: Message, write: Callable[[Message], str], most: int) -> str:
    """Return what ``write`` makes of a message, in at most ``most`` characters (at least about 1,000).

    It ends between two steps: a step is kept whole, with the lines that govern it and its citations, or dropped, since
    a command without its condition is worse than none. One line says that steps are missing, and where they begin.
    """
    if len(whole := write(message)) <= most:
        return whole
    ends = _ends(message.marked)
    count = _longest(len(ends), lambda it: len(write(_until(message, ends[it]))) <= most)
    message = _until(message, ends[count])
    if message.missing and len(made := write(message)) <= most:
        return made
    lines = (*message.warnings, *(name for name, _ in message.reading))
    count = _longest(len(lines), lambda it: len(write(_without_steps(message, it))) <= most)
    if len(made := write(_without_steps(message, count))) <= most:
        return made
    return write(
        replace(
            _without_steps(message, 0),
            about=(),
            outcome="",
            unknown="",
            places=(),
            missing=LEFT_OUT,
        )
    )


def words_within(words: str, most: int, write: Callable[[str], str] = str) -> str:
    """Return one line of words, cut so that its written form has at most ``most`` characters."""
    if len(whole := write(words)) <= most:
        return whole
    end = _longest(len(words), lambda it: len(write(f"{words[:it]}…")) <= most)
    return write(f"{words[:end]}…")


def _ends(marked: str) -> list[int]:
    """Return the lines at which a text may end: its start, and after each unit."""
    units = list(units_of(tree_of(marked)))
    return [0, *(_end(own, after) for own, after in zip(units, [*units[1:], []], strict=True))]


def _end(unit: Sequence[SyntaxTreeNode], following: Sequence[SyntaxTreeNode]) -> int:
    """Return the line after a unit, including a quotation below it, which may govern either side."""
    end = unit
    if following and following[0].type == "blockquote":
        end = following[:1]
    return end[-1].map[1] if end[-1].map else 0


def _until(message: Message, end: int) -> Message:
    """Return a message whose text ends before a line, with the remaining sources."""
    marked = message.marked.replace("\r\n", "\n").replace("\r", "\n")
    lines = marked.split("\n")  # as the parser counts
    kept, rest = "\n".join(lines[:end]).rstrip("\n"), "\n".join(lines[end:])
    if not rest.strip():
        return message
    references = message.references[: max(places_in(kept), default=-1) + 1]
    begins = [
        place(it)
        for number in places_in(rest)[:1]
        for it in citations_of(message.references[number])[:1]
    ]
    begin = (f"They begin at {where(it)}." for it in begins)
    cited = [place(one) for it in references for one in citations_of(it)]
    reading = [place(it) for _, it in message.reading]
    return replace(
        message,
        marked=kept,
        references=references,
        places=tuple(dict.fromkeys([*cited, *begins, *reading])),
        missing=" ".join((MISSING, *begin)),
    )


def _without_steps(message: Message, count: int) -> Message:
    """Return a message without steps that keeps only the first of its warnings and of its sections."""
    warnings = message.warnings[:count]
    reading = message.reading[: count - len(warnings)]
    own = {place(it) for _, it in message.reading} - {place(it) for _, it in reading}
    return replace(
        message,
        warnings=warnings,
        reading=reading,
        places=tuple(it for it in message.places if it not in own),
        missing=" ".join(filter(None, (message.missing, LEFT_OUT))),
    )


def _longest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number below ``most`` that fits, 0 if none does."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
