"""Writes Markdown in which only our own citations can be citations, links or mentions.

In a note for PagerDuty, incident.io and GitHub, citations are numbers that link to their lines; the list below has
the same numbers. Raw HTML, images and links become words. Other brackets, and text that a site such as GitHub would
turn into a link or a mention, become code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from knowledge_rag.channel.marks import (
    CLOSE,
    OPEN,
    LineWriter,
    citations_of,
    marked_parts,
    plain,
    rows_of,
)
from knowledge_rag.channel.message import BY_MODEL, document_of, lines_of
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from markdown_it.tree import SyntaxTreeNode

    from knowledge_rag.channel.marks import Reference
    from knowledge_rag.channel.message import Message, Place
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
"""Text that becomes code: brackets, since only citations have any, and text that a site turns into links or mentions
(addresses, ``@name``, ``#12``, hashes of commits)."""
_SPECIAL: Final = re.compile(
    r"[\\`*<~|$#@]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|&(?=[#A-Za-z])|!\Z|:(?=//)|(?<=www)\.",
    re.IGNORECASE,
)
"""Possible markup anywhere; ``www.`` and ``://`` because some renderers link addresses."""

_AT_START: Final = re.compile(r"(?:(?=[-+=>#:]|~~~)|(\d+)(?=[.)]))")
_AFTER_REFERENCE: Final = re.compile(r"[(:{]")
_LANGUAGES: Final = frozenset({
    "bash", "c", "console", "cpp", "csharp", "css", "diff", "dockerfile", "go", "groovy", "hcl",
    "html", "http", "ini", "java", "javascript", "json", "kotlin", "nginx", "perl", "php",
    "powershell", "promql", "properties", "python", "ruby", "rust", "scala", "sh", "shell",
    "shellsession", "sql", "swift", "text", "toml", "typescript", "xml", "yaml", "zsh",
})  # fmt: skip
"""Languages that only colour a code block; for others, such as ``mermaid``, a site may draw something."""
_PIPE: Final = re.compile(r"\\?\|")

DEMOTED: Final = 2
"""Levels by which an answer's headings are lowered in the surrounding page."""


@dataclass(frozen=True, slots=True)
class Note:
    """A message as Markdown, and in ``cited`` the start, the end and the lines of each citation, in order."""

    text: str
    cited: tuple[tuple[int, int, Place], ...]


def to_note(message: Message) -> str:
    """Return a message as Markdown."""
    return note_from(message, message.url).text


def note_from(message: Message, address: Callable[[Place], str]) -> Note:
    """Return a message as Markdown; ``address`` returns a link to cited lines, ``""`` for lines without one."""
    marked = neutralise("\n".join(_note(message)).lstrip("\n")) + "\n"
    text, behind, cited = "", 0, []
    for mark in _CITED.finditer(marked):
        where = message.places[int(mark["number"]) - 1]
        text += marked[behind : mark.start()]
        start, behind = len(text), mark.end()
        text += _citation(mark["number"], neutralise(address(where)), in_code=bool(mark["code"]))
        cited.append((start, len(text), where))
    return Note(text + marked[behind:], tuple(cited))


def _citation(number: str, url: str, *, in_code: bool) -> str:
    if in_code:
        return f"[{number}]"
    shown = rf"\[{number}\]"
    return f"[{shown}](<{url}>)" if url else shown


_CITED: Final = re.compile(rf"\[{OPEN}#(?P<code>c?)(?P<number>\d+){CLOSE}\]")
"""A citation in an unfinished note. Its marks are removed from all other text, so nothing can imitate it."""


def _note(message: Message) -> Iterator[str]:
    if message.title:
        yield f"**{words(message.title)}**"
    yield from (part for line in (*message.about, message.outcome) for part in ("", words(line)))
    if message.warnings:
        yield from ("", *(f"- Warning: {words(one)}" for one in message.warnings))
    if message.marked:
        yield from ("", *_body(message))
    if message.missing:
        yield from ("", f"*{words(message.missing)}*")
    yield from _reading(message)
    if message.unknown:
        yield from ("", words(message.unknown))
    if message.places:
        yield from ("", "**Sources**", "")
        for number, cited in enumerate(message.places, start=1):
            yield f"- {_mark(number)} {words(document_of(cited))}:{lines_of(cited)}"
    if message.receipt:
        yield from ("", f"Receipt {message.receipt}")


def _reading(message: Message) -> Iterator[str]:
    if message.reading:
        yield from ("", f"**{message.reading_title}**", "")
    for number, (name, citation) in enumerate(message.reading, start=1):
        item = f"{number}." if message.choose else "-"
        yield f"{item} {words(name)} {_mark(message.number(citation))}"
    if message.choose:
        yield from ("", message.choose)


def _body(message: Message) -> list[str]:
    def cite(citation: Citation) -> str:
        return _mark(message.number(citation))

    def in_code(citation: Citation) -> str:
        return _mark(message.number(citation), "c")

    body = _Writer(message.references, cite, in_code).written(message.marked)
    if not message.by_model:
        return body
    quoted = (f"> {line}".rstrip() for line in "\n".join(body).split("\n"))
    return [f"**{words(BY_MODEL)}**", "", *quoted]


def _mark(number: int, code: str = "") -> str:
    return f"[{OPEN}#{code}{number}{CLOSE}]"


def rewritten(parts: Iterable[Mapping[str, Any]], *, levels: int = DEMOTED) -> list[str]:
    """Return the parts of an answer as Markdown lines in which only its citations, by file and lines, read as citations.

    Its headings are lowered by so many levels.
    """
    references: list[Reference] = []
    marked = marked_parts(parts, references)
    return _Writer(references, citation_words, levels=levels).written(marked)


def words(text: str) -> str:
    """Escape one line of text, so that every Markdown renderer shows it literally."""
    return _started(_joined(_said(" ".join(plain(text).split("\n")))))


def citation_words(citation: Citation) -> str:
    """Return a citation as text; a file name in it is escaped."""
    name = re.sub(r"[\[\]]", r"\\\g<0>", _escaped(citation.source_file))
    return f"[Source: {name}, lines {citation.start_line}-{citation.end_line}]"


def fenced(text: str, language: str = "text") -> Iterator[str]:
    """Quote a text in a fence: it can't contain markup or a reference."""
    fence = "`" * max(3, _longest_run(text) + 1)
    yield from (fence + language, *text.split("\n"), fence)


class _Writer(LineWriter):
    """Writes Markdown in which only citations read as citations; inside code, by default, as the answer has them."""

    breaks: ClassVar = {"softbreak": "\n", "hardbreak": "\\\n"}

    def __init__(
        self,
        references: Sequence[Reference],
        cite: Callable[[Citation], str],
        code: Callable[[Citation], str] | None = None,
        *,
        levels: int = DEMOTED,
    ) -> None:
        super().__init__(references)
        self._cite = cite
        self._code = code
        self._levels = levels

    def words(self, text: str, **_: bool) -> Iterator[str]:
        return _said(text)

    def code(self, text: str, **_: bool) -> Iterator[str]:
        yield _coded(text)

    def cited(self, reference: Reference) -> Iterator[str]:
        yield " ".join(map(self._cite, citations_of(reference)))

    def in_code(self, reference: Reference) -> str:
        if self._code is None:
            return plain(reference.text)
        return " ".join(map(self._code, citations_of(reference)))

    def emphasised(self, node: SyntaxTreeNode, **_: bool) -> Iterator[str]:
        around = {"em": "*", "strong": "**", "s": "~~"}[node.type]
        yield from (around, *self.pieces(node.children), around)

    def block(self, node: SyntaxTreeNode) -> list[str]:
        match node.type:
            case "heading":
                level = min(6, int(node.tag[1:]) + self._levels)
                made = [f"{'#' * level} {self._line(node)}".rstrip()]
            case "blockquote":
                made = [f"> {line}".rstrip() for line in self.blocks(node.children) or [""]]
            case "bullet_list" | "ordered_list":
                made = self._list(node)
            case "fence" | "code_block":
                made = self._block_of_code(node)
            case "hr":
                made = ["___"]  # `- ___` is a rule in a list, `- ---` would be a rule alone
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
        language = named[0].lower() if named and named[0].lower() in _LANGUAGES else "text"
        return list(fenced(self.as_written(node.content).removesuffix("\n"), language))

    def _table(self, node: SyntaxTreeNode) -> list[str]:
        rows = [[_PIPE.sub(r"\\|", self._line(cell)) for cell in row] for row in rows_of(node)]
        rows.insert(1, ["---"] * len(rows[0]))
        return [f"| {' | '.join(row)} |" for row in rows]

    def _line(self, node: SyntaxTreeNode) -> str:
        return self._text(node).replace("\\\n", " ").replace("\n", " ")

    def _text(self, node: SyntaxTreeNode) -> str:
        made = _joined(self.pieces(node.children))
        return "\n".join(_started(line.strip(" \t")) for line in made.split("\n"))


def _said(text: str) -> Iterator[str]:
    """Yield words, and the parts that must be code between them."""
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
            made += " "  # two runs of backticks would merge
        elif last.startswith("["):
            made += "\\" if _AFTER_REFERENCE.match(piece) else " " if piece[0] == "[" else ""
        made, last = made + piece, piece
    return made


def _started(line: str) -> str:
    """Escape a line that would start a heading, a list or a quote."""
    return _AT_START.sub(r"\g<1>\\", line, count=1) if _AT_START.match(line) else line


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUN.findall(text)), default=0)
