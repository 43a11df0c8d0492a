"""Filling chunks with blocks, in order, up to the cap."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from knowledge_rag.core.blocks import Block, item_parts, lines, markdown_blocks, plain_blocks
from knowledge_rag.core.lines import BLANK
from knowledge_rag.core.tokens import token_cost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Span(NamedTuple):
    """A stretch of a text with its estimated tokens.

    Args:
        start: offset of its first line.
        end: offset behind its last line; blank lines may be among the last.
        cost: estimated tokens.
        introduces: it is a heading or ends in a colon, so it should not be parted from what follows.
    """

    start: int
    end: int
    cost: float
    introduces: bool = False


def split_span(
    text: str, start: int, lead_end: int, end: int, cap: float, *, markdown: bool
) -> list[Span]:
    """Split a stretch that exceeds the cap into spans that do not.

    Fences, tables, list items and paragraphs stay whole unless one alone exceeds the cap; then it
    is split between its parts or its lines. Only a single line can exceed the cap.

    Args:
        text: the document.
        start: offset of the stretch's first line.
        lead_end: offset behind its heading lines; they stay with what follows where both fit.
        end: offset behind the stretch.
        cap: estimated tokens that a span may have.
        markdown: whether blocks are Markdown's, or just runs of non-blank lines.
    """
    source = "\n" + text
    blocks = (markdown_blocks if markdown else plain_blocks)(source, lead_end, end)
    return list(_pack(_units(source, start, lead_end, blocks, cap), cap))


def _units(
    source: str, start: int, lead_end: int, blocks: Iterator[Block], cap: float
) -> Iterator[Span]:
    if lead_end > start:
        yield Span(start, lead_end, token_cost(source[start + 1 : lead_end + 1]), introduces=True)
    for block in blocks:
        yield from _fitting(source, block, cap)


def _fitting(source: str, block: Block, cap: float) -> Iterator[Span]:
    content = source[block.start + 1 : block.end + 1]
    cost = token_cost(content)
    if cost <= cap:
        yield Span(block.start, block.end, cost, content.rstrip(BLANK + "\n").endswith(":"))
        return
    finer: Callable[[str, int, int], Iterator[Block]] = item_parts if block.is_item else lines
    parts = list(finer(source, block.start, block.end))
    if len(parts) == 1 and not block.is_item:
        yield Span(block.start, block.end, cost)
        return
    for part in parts:
        yield from _fitting(source, part._replace(is_item=False), cap)


def _pack(units: Iterator[Span], cap: float) -> Iterator[Span]:
    held: list[Span] = []
    cost = 0.0
    for unit in units:
        if held and cost + unit.cost > cap:
            carried = _carried(held, cap - unit.cost)
            yield _joined(held[: len(held) - len(carried)])
            held = carried
            cost = sum(span.cost for span in held)
        held.append(unit)
        cost += unit.cost
    if held:
        yield _joined(held)


def _carried(held: list[Span], room: float) -> list[Span]:
    """Give the last of ``held`` that introduce what follows and fit with it; never all of them."""
    first = len(held)
    while first > 1 and held[first - 1].introduces and held[first - 1].cost <= room:
        first -= 1
        room -= held[first].cost
    return held[first:]


def _joined(spans: list[Span]) -> Span:
    return Span(spans[0].start, spans[-1].end, sum(span.cost for span in spans))
