"""Writes a message as plain text: for e-mail, a pager's note, pasting into a chat, and in one line for an SMS.

Text has no markup, so a citation is a number in brackets, and other brackets are put between backticks.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, ClassVar, Final

from knowledge_rag.channel.marks import LineWriter, citations_of, plain, rows_of
from knowledge_rag.channel.message import BY_MODEL, lines_of, where
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.tree import SyntaxTreeNode

    from knowledge_rag.channel.marks import Reference
    from knowledge_rag.channel.message import Message

MAX_SHORT: Final = 300
"""Maximum characters of an SMS: two parts."""

BRACKETS: Final = re.compile(r"(?:\[[^\[\]\n]*\]|[\[\]])+")
"""Brackets in words, which only citations may have."""

_MENTION: Final = re.compile(r"@(?=\w)")
_ENTITY: Final = re.compile(r"<(?=[!@#]|[a-z][a-z0-9+.-]*:)", re.IGNORECASE)
"""Start of a mention, a channel or a link that works even in code: ``<!here>``, ``<https://a.example|words>``."""


def to_text(message: Message, *, for_chat: bool = False) -> str:
    """Return a message as text; for pasting into a chat, commands are in fences and nobody is mentioned."""
    return neutralise("\n".join(_lines(message, for_chat=for_chat))) + "\n"


def to_short(message: Message) -> str:
    """Return a message of at most MAX_SHORT characters: the result, its place, and the number of destructive steps."""
    strength = message.outcome.partition(" (")[0]
    said = bracketed(f"{message.title}: {strength}")
    where = ""
    if message.first is not None and message.status is Status.OK:
        danger = f", {message.dangerous} destructive" if message.dangerous else ""
        at = bracketed(f"{message.first[0]}:{lines_of(message.first)}")
        where = f" {counted(message.steps, 'step')}{danger}: {at}"
    tail = where + (f" {message.receipt}" if message.receipt else "")
    return said[: max(0, MAX_SHORT - len(tail))] + tail[:MAX_SHORT]


def chat_block(message: Message) -> str:
    """Return a message as one code block for chat: entities are escaped, and nothing in it ends the block."""
    return in_block(to_text(message).strip("\n"))


def in_block(text: str) -> str:
    """Return a text as one code block for chat."""
    shown = html.escape(text.replace("```", "`` `"), quote=False)
    return f"```\n{shown}\n```"


def calmed(text: str) -> str:
    """Return a text in which a chat finds nobody to notify, and no address hidden behind other words."""
    return _MENTION.sub("@ ", _ENTITY.sub("< ", text))


def bracketed(text: str) -> str:
    """Return words with their brackets between backticks."""
    return BRACKETS.sub(lambda found: f"`{found[0]}`", plain(text))


def _lines(message: Message, *, for_chat: bool) -> Iterator[str]:
    writer = _Writer(message, for_chat=for_chat)
    yield from map(writer.said, (message.title, *message.about, message.outcome))
    yield from (f"- {writer.said(one)}" for one in message.warnings)
    if message.marked:
        written = writer.written(message.marked)
        yield ""
        if message.by_model:
            quoted = "\n".join(written).split("\n")
            yield from (BY_MODEL, *(f"> {line}".rstrip() for line in quoted))
        else:
            yield from written
    if message.missing:
        yield from ("", writer.said(message.missing))
    if message.reading:
        yield from ("", f"{message.reading_title}:")
        for name, citation in message.reading:
            yield f"- {writer.said(name)} [{message.number(citation)}]"
    if message.unknown:
        yield writer.said(message.unknown)
    if message.places:
        yield from ("", "Sources:")
    for number, cited in enumerate(message.places, start=1):
        yield f"[{number}] {writer.said(where(cited))} {message.url(cited)}".rstrip()
    if message.receipt:
        yield from ("", f"Receipt {message.receipt}")


class _Writer(LineWriter):
    breaks: ClassVar = {"softbreak": " ", "hardbreak": "\n"}

    def __init__(self, message: Message, *, for_chat: bool) -> None:
        super().__init__(message.references)
        self._message = message
        self._for_chat = for_chat

    def said(self, text: str) -> str:
        """Return words with their brackets between backticks, and without mentions for a chat."""
        return self._calm(bracketed(text))

    def words(self, text: str, **_: bool) -> Iterator[str]:
        yield self.said(text)

    def code(self, text: str, **_: bool) -> Iterator[str]:
        shown = plain(text)
        if "[" not in shown or "`" in shown or self._message.by_model:
            yield self.said(shown)
        else:
            yield self._calm(f"`{shown}`")  # of a document: nothing inside code that may be copied

    def cited(self, reference: Reference) -> Iterator[str]:
        yield self.in_code(reference)

    def in_code(self, reference: Reference) -> str:
        return numbers_of(self._message, reference)

    def _calm(self, text: str) -> str:
        return calmed(text) if self._for_chat else text

    def block(self, node: SyntaxTreeNode) -> list[str]:
        match node.type:
            case "blockquote":
                return self.blocks(node.children)
            case "bullet_list" | "ordered_list":
                return [line for item in node.children for line in self._item(item, node.type)]
            case "fence" | "code_block":
                return self._commands(self.as_written(node.content).removesuffix("\n"))
            case "table":
                return [" | ".join(map(self._line, row)) for row in rows_of(node)]
            case _:  # a rule has no line
                return [line for line in self._line(node).split("\n") if line]

    def _item(self, item: SyntaxTreeNode, kind: str) -> list[str]:
        mark = f"{item.info}." if kind == "ordered_list" else "-"
        made = [line for line in self.blocks(item.children) if line] or [""]
        indent = " " * (len(mark) + 1)
        return [f"{mark} {made[0]}", *(indent + line for line in made[1:])]

    def _commands(self, text: str) -> list[str]:
        lines = plain(text).split("\n")
        if not self._for_chat or "```" in text:
            return [f"    {self._calm(line)}" for line in lines]
        # one piece, so that no list indents a command's own lines
        return [_ENTITY.sub("< ", "\n".join(("```", *lines, "```")))]

    def _line(self, node: SyntaxTreeNode) -> str:
        made = ""
        for piece in self.pieces(node.children):
            # a citation touches no backtick, which distinguishes it from other brackets
            apart = "[" in made[-1:] + piece[:1] or made.endswith("]")
            made += " " + piece if apart and "`" in made[-1:] + piece[:1] else piece
        return made.strip()


def numbers_of(message: Message, reference: Reference) -> str:
    """Return the numbers of a reference's citations, as ``[1] [2]``."""
    return " ".join(f"[{message.number(one)}]" for one in citations_of(reference))
