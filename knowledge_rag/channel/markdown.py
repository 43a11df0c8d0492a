"""Writes Markdown in which nothing but our citations can be a citation, a link or a mention.

Raw HTML, images and links become words. Brackets that are no reference, and whatever a site such as GitHub would make
a link or a mention of, become code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.marks import (
    citations_of,
    marked_parts,
    place_of,
    places_in,
    plain,
    tree_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from markdown_it.tree import SyntaxTreeNode

    from knowledge_rag.channel.marks import Reference
    from knowledge_rag.core.citations import Citation

_RUN: Final = re.compile("`+")
_CODED: Final = re.compile(
    r"(?:\[[^\[\]\n]*\]|[\[\]])+"
    r"|(?:\b[a-z][a-z0-9+.-]{0,20}:)?//[^\s`]*[^\s`.,;:!?)]|\bwww\.[^\s`]*[^\s`.,;:!?)]"
    r"|(?<![\w.+-])[\w.+-]{0,80}@\w[\w./-]*|@\w[\w./-]*"
    r"|(?<![\w./-])(?:[\w.-]{1,80}/[\w.-]{1,80})?\#\d+|\#\d+|\bGH-\d+"
    r"|\b(?=[a-f]{0,64}\d)[0-9a-f]{7,64}\b",
    re.IGNORECASE,
)
"""What becomes code: brackets, since only citations have any, and what a site makes links or mentions of (addresses,
``@name``, ``#12``, hashes of commits)."""
_SPECIAL: Final = re.compile(
    r"[\\`*<~|$#@]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|&(?=[#A-Za-z])|!\Z|:(?=//)|(?<=www)\.",
    re.IGNORECASE,
)
"""What could be markup anywhere; ``www.`` and ``://`` because some renderers make links of addresses."""

_AT_START: Final = re.compile(r"(?:(?=[-+=>#:]|~~~)|(\d+)(?=[.)]))")
_AFTER_REFERENCE: Final = re.compile(r"[(:{]")
_LANGUAGE: Final = re.compile(r"[a-z0-9+#-]{1,20}")
_PIPE: Final = re.compile(r"\\?\|")

DEMOTED: Final = 2
"""Levels by which an answer's headings stand below those of the page that it is put into."""


def rewritten(parts: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the answer as Markdown lines in which only its citations read as citations, by file and lines."""
    marked, references = marked_parts(parts)
    return written(marked, references, citation_words)


def written(
    marked: str,
    references: Sequence[Reference],
    cite: Callable[[Citation], str],
    code: Callable[[Citation], str] | None = None,
) -> list[str]:
    """Return marked Markdown as lines in which only its citations read as citations.

    Args:
        marked: see :func:`~knowledge_rag.channel.marks.marked_parts`.
        references: in it.
        cite: writes a citation.
        code: writes one that stands in code; by default as the answer has it.
    """
    writer = _Writer(references, cite, code)
    lines = writer.blocks(tree_of(marked))
    lost = [one for number, one in enumerate(references) if number not in writer.placed]
    return [*lines, *(("", " ".join(writer.cited(one) for one in lost)) if lost else ())]


def words(text: str) -> str:
    """Escape one line of text, so that every Markdown renderer shows it as it is."""
    return _started(_joined(_said(" ".join(plain(text).split("\n")))))


def citation_words(citation: Citation) -> str:
    """Return a citation as text; a file name in it is escaped."""
    name = re.sub(r"[\[\]]", r"\\\g<0>", _escaped(citation.source_file))
    return f"[Source: {name}, lines {citation.start_line}-{citation.end_line}]"


def fenced(text: str, language: str = "text") -> Iterator[str]:
    """Quote a text: nothing in it is markup, or a reference."""
    fence = "`" * max(3, _longest_run(text) + 1)
    yield from (fence + language, *text.split("\n"), fence)


class _Writer:
    """Writes Markdown; ``placed`` are the numbers of the references that were written."""

    def __init__(
        self,
        references: Sequence[Reference],
        cite: Callable[[Citation], str],
        code: Callable[[Citation], str] | None,
    ) -> None:
        self._references = references
        self._cite = cite
        self._code = code
        self.placed: set[int] = set()

    def cited(self, reference: Reference) -> str:
        """Return a reference's citations, written."""
        return " ".join(map(self._cite, citations_of(reference)))

    def blocks(self, nodes: Sequence[SyntaxTreeNode]) -> list[str]:
        lines: list[str] = []
        for node in nodes:
            made = self._block(node)
            lines += ["", *made] if lines and made else made
        return lines

    def _block(self, node: SyntaxTreeNode) -> list[str]:
        match node.type:
            case "heading":
                level = min(6, int(node.tag[1:]) + DEMOTED)
                made = [f"{'#' * level} {self._line(node)}".rstrip()]
            case "blockquote":
                made = [f"> {line}".rstrip() for line in self.blocks(node.children) or [""]]
            case "bullet_list" | "ordered_list":
                made = self._list(node)
            case "fence" | "code_block":
                made = self._block_of_code(node)
            case "hr":
                made = ["___"]  # `- ___` is a rule in a list, `- ---` were a rule alone
            case "table":
                made = self._table(node)
            case _:
                made = [line for line in self._text(node).split("\n") if line]
        return made

    def _list(self, node: SyntaxTreeNode) -> list[str]:
        lines: list[str] = []
        for item in node.children:
            marker = f"{item.info}{item.markup}" if node.type == "ordered_list" else "-"
            made = self.blocks(item.children) or [""]
            indent = " " * (len(marker) + 1)
            lines += [""] if lines else []
            lines.append(f"{marker} {made[0]}".rstrip())
            lines += [f"{indent}{line}" if line else "" for line in made[1:]]
        return lines

    def _block_of_code(self, node: SyntaxTreeNode) -> list[str]:
        named = node.info.split() if node.type == "fence" else []
        language = named[0].lower() if named and _LANGUAGE.fullmatch(named[0].lower()) else "text"
        return list(fenced(self._as_written(node.content).removesuffix("\n"), language))

    def _table(self, node: SyntaxTreeNode) -> list[str]:
        rows = [
            [_PIPE.sub(r"\\|", self._line(cell)) for cell in row.children]
            for part in node.children
            for row in part.children
        ]
        rows.insert(1, ["---"] * len(rows[0]))
        return [f"| {' | '.join(row)} |" for row in rows]

    def _line(self, node: SyntaxTreeNode) -> str:
        return self._text(node).replace("\\\n", " ").replace("\n", " ")

    def _text(self, node: SyntaxTreeNode) -> str:
        made = _joined(self._pieces(node.children))
        return "\n".join(_started(line.strip(" \t")) for line in made.split("\n"))

    def _pieces(self, nodes: Sequence[SyntaxTreeNode]) -> Iterator[str]:
        """Yield the pieces of a line, each with its markup."""
        for node in nodes:
            match node.type:
                case "text":
                    yield from _said(self._as_written(node.content))
                case "code_inline":
                    yield _coded(self._as_written(node.content))
                case "em" | "strong" | "s":
                    around = {"em": "*", "strong": "**", "s": "~~"}[node.type]
                    yield from (around, *self._pieces(node.children), around)
                case "link":
                    yield from (*self._pieces(node.children), *_said(f" ({node.attrs['href']})"))
                case "cite":
                    self.placed.add(node.meta["number"])
                    yield self.cited(self._references[node.meta["number"]])
                case "softbreak":
                    yield "\n"
                case "hardbreak":
                    yield "\\\n"
                case _:  # what stands around other pieces
                    yield from self._pieces(node.children)

    def _as_written(self, text: str) -> str:
        """Restore references as they were written, where none can be shown."""
        for number in places_in(text):
            self.placed.add(number)
            reference = self._references[number]
            own = (
                " ".join(map(self._code, citations_of(reference)))
                if self._code
                else plain(reference.text)
            )
            text = text.replace(place_of(number), own)
        return text


def _said(text: str) -> Iterator[str]:
    """Yield words, and what must be code between them."""
    behind = 0
    for found in _CODED.finditer(text):
        yield _escaped(text[behind : found.start()])
        yield _coded(found[0])
        behind = found.end()
    yield _escaped(text[behind:])


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _coded(text: str) -> str:
    around = "`" * (_longest_run(text) + 1 if "`" in text else 1)
    blank = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{around}{blank if text.strip() else ''}{text}{blank if text.strip() else ''}{around}"


def _joined(pieces: Iterable[str]) -> str:
    """Join pieces so that neighbours form no new markup."""
    made, last = "", ""
    for piece in filter(None, pieces):
        if last.startswith("`") and piece.startswith("`"):
            made += " "  # two runs of backticks were one
        elif last.startswith("["):
            made += "\\" if _AFTER_REFERENCE.match(piece) else " " if piece[0] == "[" else ""
        made, last = made + piece, piece
    return made


def _started(line: str) -> str:
    """Escape what would make a line the start of a heading, a list, a quote."""
    return _AT_START.sub(r"\g<1>\\", line, count=1) if _AT_START.match(line) else line


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUN.findall(text)), default=0)
