"""Which of the lifted steps to give, and in which order."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.metadata import DOCUMENT_TYPE
from knowledge_rag.orchestrator.advisors.lifting import ORDERED, PARAGRAPH, WARNING, lifted_from
from knowledge_rag.orchestrator.advisors.passages import passages_of
from knowledge_rag.orchestrator.advisors.sections import Purpose
from knowledge_rag.orchestrator.advisors.subjects import (
    fit,
    sections_at,
    sections_of,
    sections_told_of,
)
from knowledge_rag.orchestrator.confidence import told_of, words_of
from knowledge_rag.orchestrator.linked import anchored, followed
from knowledge_rag.orchestrator.relevance import documents_about

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.orchestrator.advisors.lifting import Lifted
    from knowledge_rag.orchestrator.advisors.passages import Passage
    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.linked import Followed

MAX_GIVEN: Final = 8
"""Steps at most."""

SHARES: Final = {
    Purpose.DIAGNOSIS: (4, 6),
    Purpose.OTHER: (4, 6),
    Purpose.RESOLUTION: (5, 6),
    Purpose.VERIFICATION: (1, 3),
    Purpose.ROLLBACK: (3, 6),
    Purpose.ESCALATION: (1, 1),
    Purpose.INTRODUCTION: (5, 6),
}
"""Steps of each purpose at most, and as many as that if there is room left when all purposes had
their turn; what has another purpose belongs to the background."""

ENOUGH: Final = 4
MIN_WORTH: Final = 0.3
"""From so many steps on, one is added only if it is worth this share of the best one."""

NEXT_DOCUMENT: Final = 0.6
"""A further document is drawn on if it did so well in the search as this share of the best one ..."""
FEW: Final = 3
FALLBACK_DOCUMENT: Final = 0.3
"""... or as this share where those before it give fewer steps than FEW: of the best document the search
may have returned what describes the matter, and of the next one what to do."""

_WORD_WORTH: Final = 0.15
_WORDS_COUNTED: Final = 4
_HEADING_WORTH: Final = 1.5
"""What a word of the heading counts for: one says what all lines below it are about."""
_TORN: Final = -0.4
"""What a step loses by being retrieved without the first one of its list."""
_FIRST: Final = re.compile(r"[ \t]*1[.)][ \t]")
_AFTERWARDS: Final = frozenset({Purpose.VERIFICATION, Purpose.ROLLBACK, Purpose.ESCALATION})
_IN_TURN: Final = (Purpose.RESOLUTION, Purpose.OTHER, Purpose.INTRODUCTION)
"""Purposes whose numbered steps are taken one after the other."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A step, and how much speaks for it."""

    step: Lifted
    worth: float


def choose(findings: Findings, incident: Incident) -> list[Lifted]:
    """Choose the steps for an incident, in the order in which to take them.

    Args:
        findings: what retrieval gave.
        incident: what is known.

    Returns:
        At most MAX_GIVEN, of the best document and then of those nearly as good, by purpose and line;
        verification, rollback and escalation last. Empty if no document is about the incident.
    """
    told = told_of(incident)
    links = followed(findings.ledger.results, incident.links)
    linked = anchored(links)
    documents = _documents(findings, incident, links)
    chunks = _chunk_worth(findings)
    passages: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages_of(findings):
        passages[passage.source_file].append(passage)
    ranked = {
        name: [
            Ranked(it, _worth(it, chunks, told))
            for it in _steps_for(passages[name], linked.get(name, ()), incident.alert_name, told)
        ]
        for name in documents
    }
    chosen: list[Lifted] = []
    _share_out([ranked[name] for name in documents if name in linked], chosen)
    for name, share in documents.items():
        if share < NEXT_DOCUMENT and len(chosen) >= FEW:
            break
        for turn in (0, 1):
            _choose_from(ranked[name], chosen, {it: most[turn] for it, most in SHARES.items()})
    return _in_order(chosen, list(documents), told)


def _share_out(linked: Sequence[Sequence[Ranked]], chosen: list[Lifted]) -> None:
    """Give each of several linked documents its share: alerts of one group may link one each."""
    if len(linked) > 1:
        for number, ranked in enumerate(linked, start=1):
            room = MAX_GIVEN * number // len(linked)
            _choose_from(ranked, chosen, {it: most[1] for it, most in SHARES.items()}, room)


def _steps_for(
    passages: Sequence[Passage], anchors: Sequence[str], name: str, told: set[str]
) -> list[Lifted]:
    """Give the steps of one document; of the sections that are the alert's own only, if these have any.

    Args:
        passages: of the document.
        anchors: of the sections that are linked, which go first.
        name: of the alert; a heading may be called so.
        told: the incident's words.
    """
    named = (sections_at(passages, anchors), sections_of(passages, name))
    for part in (*named, sections_told_of(passages, told), passages):
        if steps := list(_steps_of(part, told)):
            return steps
    return []


def _steps_of(passages: Sequence[Passage], told: set[str]) -> Iterator[Lifted]:
    """Give the steps of one document.

    What stands below its title counts where nothing else of it was found: it may have no sections.
    """
    whole = all(it.purpose is Purpose.INTRODUCTION for it in passages)
    for passage in passages:
        if passage.purpose is Purpose.INTRODUCTION:
            yield from _behind_opening(lifted_from(passage, told)) if whole else ()
        elif passage.purpose in SHARES:
            yield from lifted_from(passage, told)


def _behind_opening(steps: Sequence[Lifted]) -> Sequence[Lifted]:
    """Leave out the paragraphs above the first list or command, if there is one: they introduce it."""
    listed = (place for place, step in enumerate(steps) if step.kind is not PARAGRAPH)
    return steps[next(listed, 0) :]


def _in_order(chosen: list[Lifted], documents: Sequence[str], told: set[str]) -> list[Lifted]:
    """Put steps in the order of documents, matters, purposes and lines.

    What is checked or undone when all is over comes after what another document resolves it with.
    Which sections of one purpose are drawn on follows what fits; their order is the author's, who may
    have put what finds the cause before what is only safe behind it. Where a page speaks of several
    matters, the one whose heading says most of the incident goes first.
    """
    order = {name: place for place, name in enumerate(documents)}
    return sorted(
        chosen,
        key=lambda it: (
            it.purpose in _AFTERWARDS,
            order[it.source_file],
            -fit(it.passage, told),
            it.purpose,
            it.numbers,
        ),
    )


def _documents(
    findings: Findings, incident: Incident, links: Sequence[Followed]
) -> dict[str, float]:
    """Give the documents that may be drawn on, the best first; reports of incidents are none.

    Where the alert's author links some of them, these are, in the order of the links, and others only
    make up for few steps.

    Returns:
        How well each did in the search as a share of the best one, 0..1.
    """
    worth: dict[str, float] = defaultdict(float)
    for asked in findings.asked:
        for rank, result in enumerate(asked.outcome.results):
            if result.metadata.get(DOCUMENT_TYPE) != DocumentType.POSTMORTEM:
                worth[result.citation.source_file] += _rank_worth(rank)
    about = set(documents_about(findings.ledger.results, incident))
    best = sorted(about & worth.keys(), key=lambda name: -worth[name])
    near = [name for name in best if worth[name] >= FALLBACK_DOCUMENT * worth[best[0]]]
    meant = dict.fromkeys((name for it in links for name in best if name in it.files), 1.0)
    if not meant:
        return {name: worth[name] / worth[best[0]] for name in near}
    return meant | {name: FALLBACK_DOCUMENT for name in near if name not in meant}


def _chunk_worth(findings: Findings) -> dict[int, float]:
    """Give what each entry of the ledger is worth by its ranks."""
    numbers = {
        (it.citation.source_file, it.citation.start_line, it.citation.end_line): it.number
        for it in findings.ledger.entries
    }
    worth: dict[int, float] = defaultdict(float)
    for asked in findings.asked:
        for rank, result in enumerate(asked.outcome.results):
            it = result.citation
            worth[numbers[it.source_file, it.start_line, it.end_line]] += _rank_worth(rank)
    return worth


def _rank_worth(rank: int) -> float:
    return 1 / (2 + rank)


def _worth(step: Lifted, chunks: dict[int, float], told: set[str]) -> float:
    """Give what speaks for a step: its rank in the search, its form, and the incident's words."""
    texts = (step.action, *(command.text for command in step.commands))
    shared = len(told & words_of(texts))
    entries = {step.passage.entries[number] for number in step.numbers}
    rank = max(chunks[entry] for entry in entries)
    above = len(told & words_of(step.passage.path[-1:]))
    words = min(shared, _WORDS_COUNTED) + _HEADING_WORTH * min(above, _WORDS_COUNTED)
    torn = _TORN if step.kind is ORDERED and step.purpose in _IN_TURN and _is_torn(step) else 0.0
    return rank + step.kind.worth + _WORD_WORTH * words + torn


def _is_torn(step: Lifted) -> bool:
    """Whether the first step of its numbered list was not retrieved."""
    return not any(_FIRST.match(line.text) for line in step.passage.lines)


def _choose_from(
    ranked: Sequence[Ranked],
    chosen: list[Lifted],
    shares: Mapping[Purpose, int],
    room: int = MAX_GIVEN,
) -> None:
    """Add steps to those that are chosen, the worthiest first, while there is room."""
    taken = Counter(step.purpose for step in chosen)
    ranking = sorted(ranked, key=lambda it: -it.worth)
    for candidate in ranking:
        if len(chosen) >= ENOUGH and candidate.worth < MIN_WORTH * ranking[0].worth:
            break
        wanted = [it for it in _with_those_before(candidate.step, ranked) if it not in chosen]
        purpose = candidate.step.purpose
        if len(chosen) + len(wanted) > room or taken[purpose] + len(wanted) > shares[purpose]:
            continue
        if any(_repeats(it, other) for it in wanted for other in chosen):
            continue
        chosen += wanted
        taken[purpose] += len(wanted)


def _with_those_before(step: Lifted, ranked: Sequence[Ranked]) -> list[Lifted]:
    """Give a step and, of a numbered list that resolves, the retrieved ones before it.

    Who is told to skip a record has to be told to stop the consumers first. What undoes something is
    taken in turn however it is listed, and what its section warns of is told in any case.
    """
    if step.purpose is Purpose.ROLLBACK:
        steps = [it.step for it in ranked]
        before = [it for it in steps if it.passage is step.passage and it.numbers <= step.numbers]
        return [it for it in steps if it in before or _warns_of(it, step)]
    if step.kind is not ORDERED or step.purpose not in _IN_TURN:
        return [step]
    listed = [it.step for it in ranked if it.step.kind is ORDERED]
    return [it for it in listed if it.passage is step.passage and it.numbers <= step.numbers]


def _warns_of(it: Lifted, step: Lifted) -> bool:
    """Whether a quote stands in the section of a step, or in one around it."""
    around = it.passage.path
    same = it.source_file == step.source_file and it.purpose is step.purpose
    return it.kind is WARNING and same and step.passage.path[: len(around)] == around


def _repeats(step: Lifted, other: Lifted) -> bool:
    return " ".join(step.action.split()).casefold() == " ".join(other.action.split()).casefold()
