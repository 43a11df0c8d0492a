"""An answer in HTML while it is written: in blocks, of which only the last ones are made again.

A block is a paragraph, a list, a table: what stands at the outermost level of the Markdown. What is
behind a block that is over can't change it any more, so it is rendered once more and then left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.console.held import Contents, mark_held
from knowledge_rag.console.markup import (
    PLACED,
    WRITTEN,
    mark_of,
    parser,
    place_of,
    places_in,
    plain,
    prepare,
)
from knowledge_rag.console.references import Reference
from knowledge_rag.console.sanitising import sanitised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

PATIENT_CHARACTERS: Final = 4_096
"""Of open blocks that are rendered again at once; longer ones wait until a good part has come."""

PATIENT_SHARE: Final = 16
"""Which part of them that is: one in so many, so that all renderings together stay linear."""


@dataclass(frozen=True, slots=True)
class Block:
    """A rendered block.

    Args:
        number: 0-based; a later block of the same number replaces it.
        html: sanitised; ``""`` where what was one block for a while is none.
    """

    number: int
    html: str


class AnswerRenderer:
    """Renders one answer, piece by piece."""

    def __init__(self) -> None:
        self._references: list[Reference] = []
        self._contents = Contents()
        self._open = ""
        self._rendered = 0  # how long the open part was when it was rendered last
        self._closed = 0
        self._shown: list[str] = []

    def know(self, sources: Iterable[Mapping[str, Any]]) -> None:
        """Take the evidence that the answer refers to.

        Args:
            sources: its cards.
        """
        self._contents = Contents(sources)

    def feed(self, parts: Iterable[Mapping[str, Any]]) -> None:
        """Take the next parts of the verified answer, as the orchestrator tells them.

        Args:
            parts: ``{"text"}``, and ``{"text", "citations"}`` of a reference.
        """
        for part in parts:
            cited = tuple(part.get("citations") or ())
            if cited:
                self._references.append(Reference(part["text"], cited))
                self._open += place_of(len(self._references) - 1)
            else:
                self._open += plain(part["text"])

    def is_due(self) -> bool:
        """Whether enough has come since the last rendering to make the next one."""
        grown = len(self._open) - self._rendered
        return grown > 0 and (
            len(self._open) <= PATIENT_CHARACTERS or grown * PATIENT_SHARE >= len(self._open)
        )

    def render(self) -> list[Block]:
        """Give the blocks that have changed since the last time, and close those that are over."""
        blocks = list(_blocks(self._open, _parser()))
        html = [self._html(block) for block in blocks]
        changed = [
            Block(self._closed + at, now)
            for at, now in enumerate(html)
            if at >= len(self._shown) or self._shown[at] != now
        ]
        changed += [
            Block(self._closed + at, "")
            for at in range(len(html), len(self._shown))
            if self._shown[at]
        ]
        self._shown = html
        self._close()
        self._rendered = len(self._open)
        return changed

    def _close(self) -> None:
        """Leave the blocks that no further line can change: all before the last of whole lines."""
        if len(self._shown) < 2:
            return
        whole = self._open[: self._open.rfind("\n") + 1]
        over = list(_blocks(whole, _outliner()))[:-1]
        if over and len(over) < len(self._shown):
            self._closed += len(over)
            self._shown = self._shown[len(over) :]
            self._open = self._open[over[-1].end :]

    def _html(self, block: _Parsed) -> str:
        """Render a block, every reference of its source in it: in its place, or else at the end."""
        meant = places_in(block.source)
        env: dict[str, Any] = {
            PLACED: set(),
            WRITTEN: {number: plain(self._references[number].text) for number in meant},
        }
        prepare(block.tokens)
        mark_held(block.tokens, block.source, self._references, self._contents)
        html = _parser().renderer.render(block.tokens, _parser().options, env)
        lost = "".join(mark_of(number) for number in meant if number not in env[PLACED])
        return sanitised(f"{html}<p>{lost}</p>" if lost else html, self._references)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """One block: its tokens, its Markdown, and the offset behind it."""

    tokens: Sequence[Token]
    source: str
    end: int


def _blocks(source: str, parse: MarkdownIt) -> Iterator[_Parsed]:
    """Cut Markdown into its outermost blocks; blank lines belong to the block above them."""
    tokens = parse.parse(source, {})
    opening = [at for at, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
    lines = [0, *(at + 1 for at, character in enumerate(source) if character == "\n")]
    starts = [lines[(tokens[at].map or [0])[0]] for at in opening]
    for n, (first, last) in enumerate(pairwise([*opening, len(tokens)])):
        start, end = starts[n], starts[n + 1] if n + 1 < len(starts) else len(source)
        yield _Parsed(tokens[first:last], source[start:end], end)


@cache
def _parser() -> MarkdownIt:
    return parser()


@cache
def _outliner() -> MarkdownIt:
    """Make a parser that finds blocks and leaves what is in them."""
    return parser().disable("inline")
