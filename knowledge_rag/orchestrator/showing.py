"""Renders a recommendation as Markdown, with procedures in their authors' order.

The text is for people and is never parsed: programs read the recommendation. Each reference is a separate piece, so
that a reader never has to look for brackets in a document's words.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.formats import is_markdown
from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.ledger import Cited, Piece
from knowledge_rag.orchestrator.governing import NEVER, Governs
from knowledge_rag.orchestrator.outline import plain_words
from knowledge_rag.orchestrator.procedures import Why

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from knowledge_rag.guardrails.ledger import Ledger
    from knowledge_rag.orchestrator.procedures import NotShown, Part
    from knowledge_rag.orchestrator.recommendation import (
        CitedLines,
        Guard,
        Recommendation,
        Section,
        Step,
    )

LABELS: Final = {
    Governs.CAUTION: "Caution",
    Governs.CONDITION: "Condition",
    Governs.PRECONDITION: "First",
    Governs.PROHIBITED: "Do not",
    Governs.OBSOLETE: "Obsolete, do not",
    Governs.NOTE: "",
}
"""Labels in front of lines that govern a step."""

DESTRUCTIVE: Final = "Destructive"
"""Label in front of the things that a step's commands may destroy."""

_REASONS: Final = {
    Why.NOT_RETRIEVED: "not retrieved",
    Why.LIMIT: "too long to show",
    Why.ELSEWHERE: "in a section that was not retrieved",
    Why.OTHER: "for another one than is meant",
    Why.CASE: "destructive, and only for a case that isn't named here",
    Why.ROW: "for other cases",
    Why.UNWRITTEN: "still to be written",
    Why.HELD_OFF: "the page says that they aren't for this",
    Why.UNDONE: "the steps that these undo",
    Why.NOT_GIVEN: "left out by the model",
    Why.BUDGET: "beyond the tokens asked for",
    Why.PROHIBITED: "what must not be done",
    Why.OBSOLETE: "not used any more",
}
_BLOCK: Final = re.compile(r"\s*(?:`{3}|~{3}|[|>#]|[-*+][ \t]|\d{1,9}[.)][ \t])")
"""The beginning of a line that isn't a sentence: no words may precede it on the line."""
_TABLE_ROW: Final = re.compile(r"\s*\|")
_TABLE_HEAD: Final = re.compile(r"[^\n]*\|[^\n]*\n[ \t|:-]*-[ \t|:-]*")
"""The first lines of a table: its rows name their columns themselves."""
_SPECIAL: Final = re.compile(r"^(\d{1,9})?(?=[.)])|^(?=[-+=>#])|(?=[\\`*_\[\]<|~&])")
"""The places in a line of plain text where markup could begin."""
_ASIDE: Final = "  "
"""Indent of each line of a plain-text paragraph that is set apart."""
_HEADING: Final = re.compile(r"#{1,6}[ \t]+(\S.*?)[ \t#]*")
_OWN_LABEL: Final = re.compile(r"\W*(?:warning|caution|danger|attention)\b\W*?[:!]", re.IGNORECASE)
"""The beginning of a caution that its author has labelled."""
_NUMBER: Final = re.compile(r"(\d{1,9})[.)]")


def headed(section: Section) -> str:
    """Return the heading of a procedure: its sections, outermost first.

    >>> from knowledge_rag.core.headings import Kind
    >>> from knowledge_rag.orchestrator.recommendation import Section
    >>> headed(Section("runbooks/rds.md", ("RDS", "Failover"), Kind.RESOLUTION, 3, 9))
    'runbooks/rds.md: RDS > Failover'
    """
    path = " > ".join(section.path)
    return f"{section.source_file}: {path}" if path else section.source_file


def missing(section: Section) -> Iterator[str]:
    """Yield a line for each part of a procedure that is not shown."""
    yield from map(missing_line, section.not_shown)


def missing_line(it: NotShown) -> str:
    """Return the line that names the lines not shown, and why.

    >>> from knowledge_rag.orchestrator.procedures import NotShown
    >>> missing_line(NotShown("a.md", 3, 9, Why.PROHIBITED, "Do not purge"))
    'not shown: a.md:3-9 (Do not purge), what must not be done'
    """
    lines = f"{it.start}-{it.end}" if it.end > it.start else f"{it.start}"
    return _missing(f"{it.source_file}:{lines}" if it.start else it.source_file, it)


def _missing(where: str, it: NotShown) -> str:
    what = f" ({it.heading})" if it.heading else ""
    return f"not shown: {where}{what}, {_REASONS[it.why]}"


def is_heading(guard: Guard, step: Step) -> bool:
    """Whether a guard is a heading that the step is under, so that it is shown above it anyway."""
    said = plain_words(guard.text.lstrip("# \t").partition("\n")[0]).strip(" *:#")
    return guard.kind not in NEVER and any(said == it.strip(" *:#") for it in step.path)


def headings_of(recommendation: Recommendation) -> list[tuple[str, str]]:
    """Return the headings that each step is under, as far as they differ from the step before.

    Returns:
        For each step the heading of its procedure and the one below it, each ``""`` if it is the same as
        for the step before. A model's step has none.
    """
    headings: list[tuple[str, str]] = []
    shown, below = 0, ""
    for step in recommendation.guidance:
        section = recommendation.section_of(step)
        if section is None:
            headings.append(("", ""))
            continue
        its = (it for it in recommendation.guidance if it.procedure == step.procedure)
        path = common_path(its) or section.path
        inner = step.path[len(path) :] if step.path[: len(path)] == path else step.path
        is_new, now = step.procedure != shown, " > ".join(inner)
        alert = f"{section.alert}: " if section.alert else ""
        heading = alert + headed(replace(section, path=path)) if is_new else ""
        # back from an inner section, whose heading no longer applies
        own = now or (path[-1] if path else "")
        headings.append((heading, now if is_new else own if now != below else ""))
        shown, below = step.procedure, now
    return headings


def common_path(steps: Iterable[Step]) -> tuple[str, ...]:
    """Return the headings that all steps are under."""
    paths = (it.path for it in steps)
    same = takewhile(lambda names: len(set(names)) == 1, zip(*paths, strict=False))
    return tuple(names[0] for names in same)


def counted_line(it: NotShown) -> str:
    """Return the line that names the lines not shown by their number, for a text that is verified.

    >>> from knowledge_rag.orchestrator.procedures import NotShown
    >>> counted_line(NotShown("a.md", 3, 9, Why.PROHIBITED, "Do not purge"))
    'not shown: 7 lines of a.md (Do not purge), what must not be done'
    """
    count = it.end - it.start + 1
    lines = f"{count} line{'s' if count > 1 else ''} of {it.source_file}"
    return _missing(lines if it.start else it.source_file, it)


def pieces_of(
    recommendation: Recommendation,
    ledger: Ledger,
    left_out: Callable[[NotShown], str] = missing_line,
) -> list[Piece]:
    """Return the text of a recommendation, split into words and references."""
    pieces = [Piece("## Guidance\n")] if recommendation.guidance else []
    left: list[NotShown] = []
    before: Step | None = None
    mark = ""
    headings = headings_of(recommendation)
    for step, (heading, below) in zip(recommendation.guidance, headings, strict=True):
        section = recommendation.section_of(step)
        if heading:
            pieces += _named(left, left_out)
            left = list(section.not_shown) if section else []
            before = None
        above = [it for it in left if _is_above(it, step)]
        left = [it for it in left if it not in above]
        if heading:
            pieces.append(Piece(f"\n### {_escaped(heading)}\n"))
        pieces += _named(above, left_out)
        if below:
            pieces.append(Piece(f"\n#### {_escaped(below)}\n"))
        mark = _mark(step.number, "" if heading or below else mark)
        pieces += _step(step, before, mark, ledger)
        before = step
    pieces += _named(left, left_out)
    pieces += _named([it for one in recommendation.left_out for it in one.not_shown], left_out)
    pieces += [
        Piece(f"\n*{_escaped(name)}: {_ALERTS[status]}*\n")
        for name, status in recommendation.alerts
        if status is not Status.OK
    ]
    if recommendation.similar_incidents:
        pieces.append(Piece("\n## Similar incidents\n"))
    for similar in recommendation.similar_incidents:
        name = f"{similar.incident_id}: " if similar.incident_id else ""
        pieces.append(Piece(_item("- ", name, similar.resolution)))
        pieces += _references(similar.citations, ledger)
        pieces.append(Piece("\n"))
    return pieces


def _is_above(it: NotShown, step: Step) -> bool:
    first = step.citations[0].citation
    return it.source_file == first.source_file and 0 < it.start < first.start_line


_ALERTS: Final = {
    Status.NO_MATCH: "nothing is documented for it",
    Status.DEGRADED: "it could not be looked up",
}


def _mark(number: str, before: str) -> str:
    """Return the list mark of a step: the author's number, or a dash.

    Markdown numbers a list from its first number on, whatever the others are. A number that does not follow
    gets the other one of ``.`` and ``)``, which begins a new list.

    >>> _mark("2.", "1. "), _mark("4.", "2. "), _mark("b)", "1. ")
    ('2. ', '4) ', '- ')
    """
    found = _NUMBER.fullmatch(number)
    if found is None:
        return "- "
    last = re.fullmatch(r"(\d+)([.)]) ", before)
    follows = last is None or int(found[1]) == int(last[1]) + 1
    end = last[2] if last else "."
    return f"{found[1]}{end if follows else '.)'[end == '.']} "


def _step(step: Step, before: Step | None, mark: str, ledger: Ledger) -> Iterator[Piece]:
    known = before.guards if before else ()
    guards = [
        it
        for it in step.guards
        if not is_heading(it, step)
        and it not in known
        and not _TABLE_HEAD.fullmatch(it.text.strip())
    ]
    for guard in guards:
        if not guard.after:
            yield from _guard(guard, ledger)
    lead = f"{step.number} " if step.number and mark == "- " else ""
    danger = f"**{DESTRUCTIVE}: {', '.join(step.destructive)}.** " if step.destructive else ""
    is_plain = not is_markdown(step.citations[0].citation.source_file)
    text = (
        "\n\n".join(_shown(it, is_plain=is_plain) for it in step.parts)
        if step.parts
        else step.action
    )
    yield Piece(_item(mark, lead + danger, text))
    guarded = {one for guard in step.guards for one in guard.citations}
    yield from _references(
        [it for it in step.citations if it not in guarded] or step.citations, ledger
    )
    yield Piece("\n")
    for guard in guards:
        if guard.after:
            yield from _guard(guard, ledger)


def _guard(guard: Guard, ledger: Ledger) -> Iterator[Piece]:
    label = "" if _OWN_LABEL.match(guard.text) else LABELS[guard.kind]
    words = textwrap.dedent(guard.text).strip("\n")
    if heading := _HEADING.fullmatch(words):
        words = f"**{heading[1]}**"
    elif not is_markdown(guard.citations[0].citation.source_file):
        words = _plain(words)
    elif "\n" not in words and _TABLE_ROW.match(words):
        words = words.strip("| \t")
    yield Piece(_item("> ", f"**{label}:** " if label else "", words, "> "))
    yield from _references(guard.citations, ledger)
    yield Piece("\n")


def _item(mark: str, words: str, text: str, indent: str = "") -> str:
    """Return a block of Markdown, up to its references."""
    indent = indent or " " * len(mark)
    apart = "\n\n" if words and _BLOCK.match(text) else ""
    *_, last = text.rstrip().split("\n")
    is_open = not last.strip("`~ ") or _TABLE_ROW.match(last)  # no words may follow these
    end = f"\n{indent.rstrip()}\n{indent}" if is_open else " "
    return (
        "\n"
        + _indented(words.rstrip() + apart + text if apart else words + text, mark, indent)
        + end
    )


def _named(left: Sequence[NotShown], name: Callable[[NotShown], str]) -> Iterator[Piece]:
    yield from (Piece(f"\n*{_escaped(name(it))}*\n") for it in left)


def _references(cited: Sequence[CitedLines], ledger: Ledger) -> Iterator[Piece]:
    for place, one in enumerate(cited):
        lines = one.citation
        found = ledger.lines(lines.source_file, lines.start_line, lines.end_line)
        if found is None:  # lines outside the ledger can't be cited
            continue
        text = str(lines)
        if place:
            yield Piece(" ")
        yield Piece(text, (Cited(0, len(text), found.number, lines, found.content),))


def _shown(part: Part, *, is_plain: bool) -> str:
    if part.is_code:
        return _fenced(part.text, part.language)
    return _plain(part.text) if is_plain else part.text


def _fenced(code: str, language: str = "") -> str:
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}{language}\n{code}\n{fence}"


def _plain(text: str) -> str:
    """Return plain-text lines as Markdown that shows each character as it is, line by line.

    A paragraph that its author indented is code: plain texts set commands apart that way.
    """
    first, *others = re.split(r"\n[ \t]*\n", text)
    shown = [_verbatim(first)]
    for paragraph in others:
        is_aside = all(line.startswith((_ASIDE, "\t")) for line in paragraph.split("\n"))
        shown.append(_fenced(textwrap.dedent(paragraph)) if is_aside else _verbatim(paragraph))
    return "\n\n".join(shown)


def _verbatim(paragraph: str) -> str:
    lines = (_SPECIAL.sub(r"\g<0>\\", line.strip()) for line in paragraph.split("\n"))
    return "\\\n".join(filter(None, lines))


def _indented(text: str, first: str, others: str) -> str:
    lines = text.split("\n")
    rest = (others + line if line else others.rstrip() for line in lines[1:])
    return "\n".join([first + lines[0], *rest])


def _escaped(text: str) -> str:
    return re.sub(r"[\\`*_\[\]<]", r"\\\g<0>", " ".join(text.split()))
