"""Other chunkers, each with the lines of its passages by its own offsets.

Nothing here uses the locator's normalisation: offsets are those that a chunker reports or cuts at, or the next
occurrence of a passage after the previous one, and lines are counted from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Cut(NamedTuple):
    """A passage as another chunker stores it, and its first and last non-blank line."""

    text: str
    lines: tuple[int, int] | None


Cutter = Callable[[str], list[Cut]]

TOKENS: Final = 300
OVERLAP: Final = 60
"""A fifth, the default of Bedrock's fixed-size chunking."""

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")


def fixed(text: str) -> list[Cut]:
    """Cut windows of words and punctuation marks, regardless of lines."""
    spans = [found.span() for found in _TOKEN.finditer(text)]
    starts = range(0, max(len(spans) - OVERLAP, 1), TOKENS - OVERLAP)
    windows = [spans[start : start + TOKENS] for start in starts]
    return [_cut(text, window[0][0], window[-1][1]) for window in windows if window]


def joined(text: str) -> list[Cut]:
    """Cut the same windows and put each on one line."""
    return [Cut(re.sub(r"\s*\n\s*", " ", cut.text), cut.lines) for cut in fixed(text)]


def bare_sections(text: str) -> list[Cut]:
    """Cut at headings; drop the headings, all indentation and blank lines."""
    cuts, lines, fenced = [], [], False
    for number, line in enumerate([*text.split("\n"), "# end"], start=1):
        fenced ^= line.lstrip().startswith("```")
        if fenced or not line.startswith("#"):
            lines += [(number, line.strip())] if line.strip() else []
        elif lines:
            stored = "\n".join(line for _, line in lines)
            cuts.append(Cut(stored, (lines[0][0], lines[-1][0])))
            lines = []
    return cuts


def _langchain_recursive() -> Cutter:
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=1000, chunk_overlap=200, add_start_index=True
    )

    def cut(text: str) -> list[Cut]:
        found = splitter.create_documents([text])
        starts = [document.metadata["start_index"] for document in found]
        return [
            _cut(text, start, start + len(document.page_content))
            for start, document in zip(starts, found, strict=True)
        ]

    return cut


def _langchain_headers() -> Cutter:
    from langchain_text_splitters import MarkdownHeaderTextSplitter  # noqa: PLC0415

    splitter = MarkdownHeaderTextSplitter([("#" * n, f"h{n}") for n in range(1, 7)])
    return lambda text: list(
        _by_lines(text, [document.page_content for document in splitter.split_text(text)])
    )


def _llama_index_nodes() -> Cutter:
    from llama_index.core import Document  # noqa: PLC0415
    from llama_index.core.node_parser import MarkdownNodeParser  # noqa: PLC0415

    parser = MarkdownNodeParser()
    return lambda text: list(
        _in_order(
            text, (n.get_content() for n in parser.get_nodes_from_documents([Document(text=text)]))
        )
    )


def _llama_index_sentences() -> Cutter:
    from llama_index.core import Document  # noqa: PLC0415
    from llama_index.core.node_parser import SentenceSplitter  # noqa: PLC0415

    parser = SentenceSplitter(chunk_size=256, chunk_overlap=40)
    return lambda text: list(
        _in_order(
            text, (n.get_content() for n in parser.get_nodes_from_documents([Document(text=text)]))
        )
    )


OWN: Final[dict[str, Callable[[], Cutter]]] = {
    "fixed, 300 tokens, 20 % overlap": lambda: fixed,
    "the same on one line": lambda: joined,
    "sections without headings, blank lines, indentation": lambda: bare_sections,
}
"""Cutters that need no library."""

PEERS: Final[dict[str, Callable[[], Cutter]]] = {
    "langchain RecursiveCharacter": _langchain_recursive,
    "langchain MarkdownHeader": _langchain_headers,
    "llama-index MarkdownNodeParser": _llama_index_nodes,
    "llama-index SentenceSplitter": _llama_index_sentences,
}
"""Name -> a function that creates the cutter; it raises ImportError if the library isn't installed."""


def _cut(text: str, start: int, end: int) -> Cut:
    passage = text[start:end]
    first = start + len(passage) - len(passage.lstrip())
    last = start + len(passage.rstrip()) - 1
    return Cut(passage, (text.count("\n", 0, first) + 1, text.count("\n", 0, last) + 1))


def _in_order(text: str, passages: Iterable[str]) -> Iterator[Cut]:
    """Find each passage verbatim after the start of the previous one."""
    behind = 0
    for passage in passages:
        start = text.find(passage, behind) if passage.strip() else -1
        if start >= 0:
            yield _cut(text, start, start + len(passage))
            behind = start + 1
        elif passage.strip():
            yield Cut(passage, None)


def _by_lines(text: str, passages: Iterable[str]) -> Iterator[Cut]:
    """Find each passage's lines, stripped like the splitter's, after those of the previous one."""
    lines = [_printable(line) for line in text.split("\n")]
    behind = 0
    for passage in passages:
        wanted = [line for line in map(_printable, passage.split("\n")) if line]
        numbers, at = [], behind
        for line in wanted:
            at = next((n for n in range(at, len(lines)) if lines[n] == line), len(lines))
            numbers.append(at + 1)
            at += 1
        if numbers and at <= len(lines):
            behind = at
        if numbers:
            yield Cut(passage, (numbers[0], numbers[-1]) if at <= len(lines) else None)


@cache
def _printable(line: str) -> str:
    return "".join(filter(str.isprintable, line.strip()))
