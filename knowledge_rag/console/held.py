"""Which inner items of a list the citation of an item around them holds, word for word.

A step with inner items has one reference, behind its first line. What it cites says more than that
line, and what of it stands in the step as it stands in the document rests on it, however deep.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.console.markup import HELD, plain, without_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from markdown_it.token import Token

    from knowledge_rag.console.references import Reference

_MARK: Final = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)){1,9}(?:\[[ xX]\][ \t]+)?")
"""What a list item begins with."""


class Contents:
    """The lines behind an answer's references.

    Args:
        sources: the cards of its evidence.
    """

    def __init__(self, sources: Iterable[Mapping[str, Any]] = ()) -> None:
        self._sources = {one["number"]: one for one in sources}
        self._made: dict[tuple[int, int, int], _Passage] = {}

    def of(self, references: Iterable[Reference]) -> Iterator[_Passage]:
        """Give what references cite, as far as the evidence has it."""
        for reference in references:
            for one in reference.citations:
                yield from self._cited(one)

    def _cited(self, cited: Mapping[str, Any]) -> Iterator[_Passage]:
        citation, source = cited["citation"], self._sources.get(cited["number"])
        if source is None or source["source"] != citation["source_file"]:
            return
        first, last = citation["start_line"], citation["end_line"]
        start, end = source["citation"]["start_line"], source["citation"]["end_line"]
        if not start <= first <= last <= end:
            return
        key = (cited["number"], first, last)
        if key not in self._made:
            lines = source["content"].split("\n")[first - start : last - start + 1]
            self._made[key] = _Passage(lines)
        yield self._made[key]


class _Passage:
    """Lines that are cited, as they are compared: blank ones left out."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines: list[str] = []
        self._starts: dict[str, list[int]] = {}
        self._begun = set()  # where an item or a paragraph begins
        is_new = True
        for line in (plain(one).strip() for one in lines):
            if not line:
                is_new = True
                continue
            bare = _bare(line)
            if is_new or bare != line:
                self._begun.add(len(self._lines))
                self._starts.setdefault(bare, []).append(len(self._lines))
            self._lines.append(line)
            is_new = False
        self._begun.add(len(self._lines))

    def holds(self, run: Sequence[str]) -> bool:
        """Whether lines are an item or paragraphs in it, whole: half a sentence may mean the contrary.

        Args:
            run: the lines, the first one without its list mark.
        """
        rest = list(run[1:])
        return any(
            self._lines[at + 1 : at + len(run)] == rest and at + len(run) in self._begun
            for at in self._starts.get(run[0], ())
        )


@dataclass(slots=True)
class _Item:
    """One list item: its token, the items around it, its references, the lines of items in it."""

    token: Token
    around: tuple[_Item, ...]
    cited: list[int] = field(default_factory=list)
    inner: list[range] = field(default_factory=list)

    @property
    def lines(self) -> range:
        return range(*(self.token.map or (0, 0)))


def mark_held(
    tokens: Sequence[Token], source: str, references: Sequence[Reference], contents: Contents
) -> None:
    """Give each inner item whose lines a citation of the items around it holds the class for it.

    Args:
        tokens: of one block.
        source: its Markdown, with places for the references.
        references: of the answer, by the numbers of their places.
        contents: what they cite.
    """
    inner = [item for item in _items(tokens) if any(one.cited for one in item.around)]
    if not inner:  # as of most blocks, each of which is rendered many times while it is written
        return
    first = (tokens[0].map or [0])[0]
    lines = [without_places(line).strip() for line in source.split("\n")]
    for item in inner:
        cited = [references[number] for one in item.around for number in one.cited]
        runs = list(_runs(item, lines, first))
        if all(any(it.holds(run) for it in contents.of(cited)) for run in runs):
            item.token.attrs |= {"class": HELD}


def _items(tokens: Iterable[Token]) -> list[_Item]:
    found: list[_Item] = []
    around: list[_Item] = []
    for token in tokens:
        if token.type == "list_item_open":
            item = _Item(token, tuple(around))
            if around:
                around[-1].inner.append(item.lines)
            around.append(item)
            found.append(item)
        elif token.type == "list_item_close":
            around.pop()
        elif token.type == "inline" and around:
            children = token.children or ()
            around[-1].cited += [one.meta["number"] for one in children if one.type == "cite"]
    return found


def _runs(item: _Item, lines: Sequence[str], first: int) -> Iterator[list[str]]:
    """Give an item's own lines, those between two items in it as one run; blank ones left out."""
    run: list[str] = []
    for at in item.lines:
        if any(at in inner for inner in item.inner):
            if run:
                yield run
            run = []
            continue
        line = lines[at - first] if at - first < len(lines) else ""
        if line := _bare(line) if at == item.lines.start else line:
            run.append(line)
    if run:
        yield run


def _bare(line: str) -> str:
    found = _MARK.match(line)
    return line[found.end() :] if found else line
