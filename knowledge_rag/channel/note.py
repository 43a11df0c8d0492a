"""Writes a message as a Markdown note: for PagerDuty, incident.io and GitHub.

Citations are numbers that link to their lines; the list below has the same numbers. A model's words are quoted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.channel.markdown import words, written
from knowledge_rag.channel.message import BY_MODEL, document_of, lines_of
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.channel.message import Message
    from knowledge_rag.core.citations import Citation


def to_note(message: Message) -> str:
    """Return a message as Markdown."""
    return neutralise("\n".join(_lines(message))) + "\n"


def _lines(message: Message) -> Iterator[str]:
    yield f"**{words(message.title)}**"
    yield from (part for line in (*message.about, message.outcome) for part in ("", words(line)))
    if message.warnings:
        yield from ("", *(f"- {words(one)}" for one in message.warnings))
    if message.marked:
        yield from ("", *_body(message))
    if message.reading:
        yield from ("", f"**{message.reading_title}**", "")
        for name, citation in message.reading:
            yield f"- {words(name)} {_number(message, message.number(citation))}"
    if message.unknown:
        yield from ("", words(message.unknown))
    if message.places:
        yield from ("", "**Sources**", "")
        for number, cited in enumerate(message.places, start=1):
            yield f"- {_number(message, number)} {words(document_of(cited))}:{lines_of(cited)}"
    if message.receipt:
        yield from ("", f"Receipt {message.receipt}")


def _body(message: Message) -> list[str]:
    def cite(citation: Citation) -> str:
        return _number(message, message.number(citation))

    def in_code(citation: Citation) -> str:
        return f"[{message.number(citation)}]"

    body = written(message.marked, message.references, cite, in_code)
    if not message.by_model:
        return body
    quoted = (f"> {line}".rstrip() for line in "\n".join(body).split("\n"))
    return [f"**{words(BY_MODEL)}**", "", *quoted]


def _number(message: Message, number: int) -> str:
    url = message.url(message.places[number - 1])
    shown = rf"\[{number}\]"
    return f"[{shown}](<{url}>)" if url else shown
