"""An answer for a chat or a pager's note: the answer first, then the documents that it cites.

Slack's markup has no escapes but ``&lt;`` and the like, and a note has no markup at all. So words stay words: only the
product's citations become links, nothing mentions anybody, and a model's lines are quoted.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from markdown_it.tree import SyntaxTreeNode

from knowledge_rag.console.exports import cited_sources, found_line, marked_parts
from knowledge_rag.console.markup import parser, place_of, places_in, plain
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.console.addresses import RepositoryLinks
    from knowledge_rag.console.answers import Answer
    from knowledge_rag.console.markup import Reference

BY_MODEL: Final = "Written by a model. Only the citations come from the documents:"

_MENTION: Final = re.compile(r"@(?=\w)")
_CODE: Final = "```"


def to_slack(answer: Answer, repository: RepositoryLinks | None = None) -> str:
    """Return an answer in Slack's markup; citations link to the repository if it is known."""
    return _exported(answer, _Slack(repository))


def to_note(answer: Answer, repository: RepositoryLinks | None = None) -> str:
    """Return an answer as plain text, for notes of a pager or a ticket."""
    return _exported(answer, _Note(repository))


def _exported(answer: Answer, writer: _Writer) -> str:
    return neutralise("\n".join(_lines(answer, writer))) + "\n"


def _lines(answer: Answer, writer: _Writer) -> Iterator[str]:
    marked, references = marked_parts(answer.parts or ({"text": answer.text},))
    written = writer.written(SyntaxTreeNode(parser().parse(marked, {})), references)
    yield writer.strong(writer.said(answer.question))
    yield from (writer.said(about) for about in _about(answer.incident))
    yield writer.said(found_line(answer))
    yield from (f"- {writer.said(one['message'])}" for one in answer.recommendation["warnings"])
    yield ""
    if answer.by_model:
        quoted = "\n".join(written).split("\n")
        yield from (BY_MODEL, *(f"> {line}".rstrip() for line in quoted))
    else:
        yield from written
    sources = [Citation(**one["citation"]) for one in cited_sources(answer)]
    if sources:
        yield from ("", "Sources:", *(f"- {writer.cited(one, apart=True)}" for one in sources))


def _about(incident: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield a line for each alert of a pasted incident: its name, severity, service, and since when."""
    for alert in (incident or {}).get("alerts", ()):
        known = (alert["severity"], alert["service"], alert["since"])
        facts = (f"{name} {text}" for name, text in zip(_FACTS, known, strict=True) if text)
        yield ", ".join((alert["name"], *facts))


_FACTS: Final = ("severity", "service", "since")


class _Writer(ABC):
    """Writes an answer's Markdown for people who read it elsewhere.

    Args:
        repository: where lines can be linked; ``None`` if that isn't known.
    """

    bullet = "-"

    def __init__(self, repository: RepositoryLinks | None) -> None:
        self._repository = repository
        self._references: Sequence[Reference] = ()

    @abstractmethod
    def said(self, text: str) -> str:
        """Return one line of words, in which nothing is markup."""

    @abstractmethod
    def strong(self, text: str) -> str:
        """Return words of this form that stand out."""

    @abstractmethod
    def code(self, text: str) -> str:
        """Return code within a line."""

    @abstractmethod
    def commands(self, text: str) -> list[str]:
        """Return the lines of a command."""

    @abstractmethod
    def linked(self, shown: str, url: str, *, apart: bool) -> str:
        """Return a citation with its address; ``apart`` in the list of sources."""

    def cited(self, citation: Citation, *, apart: bool = False) -> str:
        """Return a citation, linked if the repository is known."""
        first, last = citation.start_line, citation.end_line
        shown = self.said(f"{citation.source_file}:{first}{f'-{last}' if last > first else ''}")
        if self._repository is None:
            return shown
        return self.linked(
            shown, self._repository.url(citation.source_file, first, last), apart=apart
        )

    def written(self, root: SyntaxTreeNode, references: Sequence[Reference]) -> list[str]:
        """Return the lines of a text."""
        self._references = references
        return self._blocks(root.children)

    def _blocks(self, nodes: Sequence[SyntaxTreeNode]) -> list[str]:
        lines: list[str] = []
        for node in nodes:
            made = self._block(node)
            lines += ["", *made] if lines and made else made
        return lines

    def _block(self, node: SyntaxTreeNode) -> list[str]:
        match node.type:
            case "heading":
                return [self.strong(self._line(node))]
            case "blockquote":
                return [f"> {line}".rstrip() for line in self._blocks(node.children)]
            case "bullet_list" | "ordered_list":
                return [line for item in node.children for line in self._item(item, node.type)]
            case "fence" | "code_block":
                return self.commands(self._as_written(node.content).removesuffix("\n"))
            case "table":
                rows = (row for part in node.children for row in part.children)
                return [" | ".join(map(self._line, row.children)) for row in rows]
            case _:  # a rule has no line
                return [line for line in self._line(node).split("\n") if line]

    def _item(self, item: SyntaxTreeNode, kind: str) -> list[str]:
        mark = f"{item.info}." if kind == "ordered_list" else self.bullet
        made = [line for line in self._blocks(item.children) if line] or [""]
        indent = " " * (len(mark) + 1)
        return [f"{mark} {made[0]}", *(indent + line for line in made[1:])]

    def _line(self, node: SyntaxTreeNode) -> str:
        return "".join(self._pieces(node.children)).strip()

    def _pieces(self, nodes: Sequence[SyntaxTreeNode]) -> Iterator[str]:
        for node in nodes:
            match node.type:
                case "text":
                    yield self.said(self._as_written(node.content))
                case "code_inline":
                    yield self.code(self._as_written(node.content))
                case "strong":
                    yield self.strong("".join(self._pieces(node.children)))
                case "link":
                    yield from (*self._pieces(node.children), self.said(f" ({node.attrs['href']})"))
                case "cite":
                    cited: list[Any] = [
                        one["citation"] for one in self._references[node.meta["number"]].citations
                    ]
                    yield f"({', '.join(self.cited(Citation(**one)) for one in cited)})"
                case "softbreak" | "hardbreak":
                    yield "\n" if node.type == "hardbreak" else " "
                case _:
                    yield from self._pieces(node.children)

    def _as_written(self, text: str) -> str:
        for number in places_in(text):
            text = text.replace(place_of(number), plain(self._references[number].text))
        return text


class _Slack(_Writer):
    bullet = "•"

    def said(self, text: str) -> str:
        return _entities(_MENTION.sub("@ ", plain(text)))

    def strong(self, text: str) -> str:
        return f"*{text}*" if text and "*" not in text else text

    def code(self, text: str) -> str:
        return self.said(text) if "`" in text or "@" in text else f"`{self.said(text)}`"

    def commands(self, text: str) -> list[str]:
        shown = _entities(plain(text))
        # one piece, so that no list indents a command's own lines
        return shown.split("\n") if _CODE in text else [f"{_CODE}\n{shown}\n{_CODE}"]

    def linked(self, shown: str, url: str, *, apart: bool) -> str:
        del apart
        return f"<{url}|{shown.replace('|', '/')}>"


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class _Note(_Writer):
    def said(self, text: str) -> str:
        return plain(text)

    def strong(self, text: str) -> str:
        return text

    def code(self, text: str) -> str:
        return plain(text)

    def commands(self, text: str) -> list[str]:
        return [f"    {line}" for line in plain(text).split("\n")]

    def linked(self, shown: str, url: str, *, apart: bool) -> str:
        return f"{shown} {url}" if apart else shown
