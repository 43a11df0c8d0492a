"""What is posted after a storm of alerts: a list of those that got no answer, with where the steps of each begin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.channel.message import UNCLEAR, Message, one_line
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.channel.message import Offer, Place

MAX_LINES: Final = 10
"""Alerts of one message of the list: each may have a button, and Slack bounds a message's size."""

_WITHOUT: Final = {
    Status.OK: "Several procedures may be meant, ask for them by name",
    Status.NO_MATCH: "Nothing documented",
    Status.DEGRADED: "Could not be looked up, ask again",
}


def lists_of(
    found: Sequence[tuple[str, int, Message]], more: Sequence[tuple[str, int]], key: str
) -> list[Message]:
    """Return the list of alerts without an answer of their own, MAX_LINES a message.

    Args:
        found: name of each, how often it came, and its answer, whose citation and offer are used.
        more: names that weren't looked up, and how often they came.
        key: of the list.
    """
    listed = [(_called(name, number), *it) for name, number, one in found for it in _steps(one)]
    about = dict.fromkeys(_WITHOUT, "")
    for name, number, one in found:
        if not list(_steps(one)):
            status = Status.OK if one.reading_title == UNCLEAR else one.status
            about[status] += f", {_called(name, number)}"
    lines = [f"{_WITHOUT[status]}: {names[2:]}." for status, names in about.items() if names]
    if more:
        lines.append(
            f"Not looked up, ask for them by name: {', '.join(_called(*it) for it in more)}."
        )
    chunks = [listed[at : at + MAX_LINES] for at in range(0, len(listed), MAX_LINES)] or [[]]
    links = next((one.links for _, _, one in found if one.links), None)
    return [
        Message(
            title=f"{counted(len(found) + len(more), 'alert')} without an answer so far"
            + (f" ({number}/{len(chunks)})" if len(chunks) > 1 else ""),
            status=Status.OK,
            outcome="They came faster than answers are posted.",
            marked="",
            references=(),
            places=tuple(dict.fromkeys(it for _, it, _ in chunk)),
            warnings=tuple(lines) if number == 1 else (),
            reading_title="Where the steps begin" if chunk else "",
            reading=tuple((name, Citation(*it)) for name, it, _ in chunk),
            offers=tuple(replace(offer, name=name) for name, _, offer in chunk),
            links=links,
            receipt=f"{key}-{number}",
        )
        for number, chunk in enumerate(chunks, start=1)
    ]


def _steps(message: Message) -> Iterator[tuple[Place, Offer]]:
    """Yield the first cited step of an answer, and what offers its procedure whole; nothing for one without steps."""
    for number, offer in enumerate(message.offers, start=1):
        if not offer.name:
            at = (offer.source_file, offer.line)
            first = next(it for it in message.places if it[:2] == at)
            yield first, replace(offer, receipt=message.receipt, number=number)


def _called(name: str, number: int) -> str:
    return f"{one_line(name)} ({number})"
