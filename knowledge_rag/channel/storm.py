"""The list posted after a storm of alerts: those without an answer, with the place where the steps of each begin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from knowledge_rag.channel.message import UNCLEAR, Message, one_line
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.channel.message import Offer, Place

MAX_NAME: Final = 80
"""Maximum characters of a name in a list."""

MAX_NAMES: Final = 10
"""Names per line."""

MAX_BESIDE: Final = 1_000
"""Maximum characters of names above the first place; more have messages of their own."""

MAX_NAMED: Final = 4
"""Lines of names in such a message."""

MAX_LINES: Final = 10
"""Alerts per message of the list: each may have a button, and Slack limits a message's size."""

_Item = TypeVar("_Item")
_NOT_LOOKED_UP: Final = "Not looked up, ask for them by name"
_WITHOUT: Final = {
    Status.OK: "Several procedures may be meant, ask for them by name",
    Status.NO_MATCH: "Nothing documented",
    Status.DEGRADED: "Could not be looked up, ask again",
}


def lists_of(
    found: Sequence[tuple[str, int, Message]], more: Sequence[tuple[str, int]], key: str
) -> list[Message]:
    """Return the list of alerts without an answer of their own, MAX_LINES per message.

    Args:
        found: name of each, how often it came, and its answer, for its citation and offer.
        more: names that weren't looked up, and how often they came.
        key: of the list.
    """
    listed = [(_called(name, number), *it) for name, number, one in found for it in _steps(one)]
    about: dict[str, list[str]] = {it: [] for it in (*_WITHOUT.values(), _NOT_LOOKED_UP)}
    for name, number, one in found:
        if not list(_steps(one)):
            status = Status.OK if one.reading_title == UNCLEAR else one.status
            about[_WITHOUT[status]].append(_called(_short(name), number))
    about[_NOT_LOOKED_UP] += [_called(_short(name), number) for name, number in more]
    lines = [
        f"{what}: {', '.join(names)}."
        for what, own in about.items()
        for names in _split(own, MAX_NAMES)
    ]
    # many names have messages of their own: they must not displace the places where steps begin
    pages: list[tuple[Sequence[Any], Sequence[str]]] = [
        (chunk, ()) for chunk in _split(listed, MAX_LINES)
    ]
    if sum(map(len, lines)) <= MAX_BESIDE:
        pages[:1] = [(pages[0][0] if pages else (), lines)]
    else:
        pages += [((), chunk) for chunk in _split(lines, MAX_NAMED)]
    links = next((one.links for _, _, one in found if one.links), None)
    return [
        Message(
            title=f"{counted(len(found) + len(more), 'alert')} without an answer so far"
            + (f" ({number}/{len(pages)})" if len(pages) > 1 else ""),
            status=Status.OK,
            outcome="They came faster than answers are posted.",
            marked="",
            references=(),
            places=tuple(dict.fromkeys(it for _, it, _ in chunk)),
            warnings=tuple(names),
            reading_title="Where the steps begin" if chunk else "",
            reading=tuple((name, Citation(*it)) for name, it, _ in chunk),
            offers=tuple(replace(offer, name=name) for name, _, offer in chunk),
            links=links,
            receipt=f"{key}-{number}",
        )
        for number, (chunk, names) in enumerate(pages, start=1)
    ]


def _steps(message: Message) -> Iterator[tuple[Place, Offer]]:
    """Yield the first cited step of an answer, with the offer of its whole procedure; nothing if it has no steps."""
    for number, offer in enumerate(message.offers, start=1):
        if not offer.name:
            at = (offer.source_file, offer.line)
            first = next(it for it in message.places if it[:2] == at)
            yield first, replace(offer, receipt=message.receipt, number=number)


def _split(items: Sequence[_Item], most: int) -> list[Sequence[_Item]]:
    return [items[at : at + most] for at in range(0, len(items), most)]


def _short(name: str) -> str:
    shown = one_line(name)
    return shown if len(shown) <= MAX_NAME else f"{shown[: MAX_NAME - 1]}…"


def _called(name: str, number: int) -> str:
    return f"{one_line(name)} ({number})"
