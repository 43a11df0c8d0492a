"""Exports an answer with its citations: as Markdown for people, as JSON for programs.

The product's own words and the documents' lines come first, under headings of levels that an answer's own can't have.
A model's words come last, each line quoted, so that they can't hide or imitate the evidence. Raw HTML, images and links
become words, and a bracket that is no reference becomes code: only citations of the verified answer read as such.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from markdown_it.tree import SyntaxTreeNode

from knowledge_rag.console.markup import Reference, parser, place_of, places_in, plain
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.headings import heading_words
from knowledge_rag.orchestrator.procedures import NotShown, Why
from knowledge_rag.orchestrator.showing import missing_line
from knowledge_rag.orchestrator.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.console.addresses import RepositoryLinks
    from knowledge_rag.console.answers import Answer

BY_MODEL: Final = "## Written by a model"
"""Over the words of a model; only the citations in them come from the documents."""

_FOUND: Final = {
    Status.OK: "Documented.",
    Status.NO_MATCH: "Nothing documented.",
    Status.DEGRADED: "The knowledge base could not be searched, or no advice could be verified.",
}
_ALERTS: Final = {
    "ok": "documented",
    "no_match": "nothing documented",
    "degraded": "could not be looked up",
}


def to_json(answer: Answer) -> dict[str, Any]:
    """Return the answer without its rendered blocks."""
    return {name: value for name, value in answer.to_dict().items() if name != "blocks"}


def to_markdown(answer: Answer, repository: RepositoryLinks | None = None) -> str:
    """Return the outcome and its evidence, the procedures, the cited lines, then a model's words, quoted.

    Args:
        answer: to be exported.
        repository: where cited lines can be linked; ``None`` if that isn't known.
    """
    return neutralise("\n".join(_markdown(answer, repository))) + "\n"


def cited_sources(answer: Answer) -> list[Mapping[str, Any]]:
    """Return the sources that an answer cites, in their order there; all of them if it cites none."""
    cited = [one["number"] for part in answer.parts for one in part.get("citations", ())]
    by_number = {source["number"]: source for source in answer.sources}
    found = [by_number[number] for number in dict.fromkeys(cited) if number in by_number]
    return found or list(answer.sources)


def found_line(answer: Answer) -> str:
    """Return one line: what was found, and how good the evidence is."""
    whole = answer.recommendation
    return f"{_found(whole)} {_evidence(whole)}"


def _found(whole: Mapping[str, Any]) -> str:
    meant = whole["recommendation"].get("meant", ())
    return str(whole["reasoning"]) if meant else _FOUND[Status(whole["status"])]


def _markdown(answer: Answer, repository: RepositoryLinks | None) -> Iterator[str]:
    whole = answer.recommendation
    advice = whole["recommendation"]
    written = rewritten(answer.parts or ({"text": answer.text},))
    yield from ("# Answer", "", *fenced(answer.question), "")
    meant = advice.get("meant", ())
    yield f"{_found(whole)} Asked {answer.asked_at}."
    yield from ("", words(_evidence(whole)), "")
    yield from _section("Warnings", map(_warning, whole["warnings"]))
    yield from _section("References that were removed", _removed(answer.removed))
    alerts = advice.get("alerts", ())
    yield from _section(
        "Alerts", (f"- {words(it['alert'])}: {_ALERTS[it['status']]}" for it in alerts)
    )
    if procedures := advice.get("procedures"):
        yield from ("## Procedures", "", *written, "")
        missing = (it for procedure in procedures for it in procedure["not_shown"])
        yield from _section("Not shown", map(_not_shown, missing))
    reading = [_reading(it) for it in advice.get("reading", ())]
    if meant:
        named = zip(meant, reading, strict=True)
        yield from _section(
            "It could be", (f"- {words(heading_words(name))}: {it[2:]}" for name, it in named)
        )
    else:
        yield from _section("Closest sections, to read, not to follow", reading)
    unknown = [it for it in advice.get("unknown_words", ()) if it not in whole["reasoning"]]
    if unknown:
        yield from (words(f"Nothing found mentions {listed(unknown)}."), "")
    yield from ("## Sources", "")
    yield from (f"As retrieved at {answer.asked_at}; later changes are not shown.", "")
    for source in cited_sources(answer):
        yield from _source(source, answer.asked_at, repository)
    if answer.by_model:
        yield from (BY_MODEL, "", *(f"> {line}".rstrip() for line in written))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    if found := list(lines):
        yield from (f"## {title}", "", *found, "")


def _evidence(whole: Mapping[str, Any]) -> str:
    if evidence := whole.get("evidence"):
        reasons = "; ".join(evidence["reasons"])
        return f"Evidence: {evidence['strength']}" + (f" ({reasons})" if reasons else "")
    return str(whole["reasoning"])


def _warning(one: Mapping[str, Any]) -> str:
    step = f"Step {one['step']}: " if "step" in one else ""
    return f"- {step}{words(one['message'])}"


def _removed(removed: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for one in removed:
        yield from ("- It stands for nothing that was retrieved:", "")
        yield from (f"  {line}" for line in fenced(one["reference"]))


def _not_shown(it: Mapping[str, Any]) -> str:
    place = (it["source_file"], it["start_line"], it["end_line"])
    line = missing_line(NotShown(*place, Why(it["reason"]), it.get("heading", "")))
    return f"- {words(line.removeprefix('not shown: '))}"


def _reading(it: Mapping[str, Any]) -> str:
    lines = f"{it['source_file']}:{it['start_line']}-{it['end_line']}"
    heading = f" ({it['section_header']})" if it["section_header"] else ""
    return f"- {words(lines + heading)}"


def _source(
    source: Mapping[str, Any], as_of: str, repository: RepositoryLinks | None
) -> Iterator[str]:
    citation = Citation(**source["citation"])
    lines = (citation.source_file, citation.start_line, citation.end_line)
    link = f" <{repository.url(*lines)}>" if repository else ""
    yield from (f"- {citation_words(citation)}{link}", "")
    indent = "  "
    yield from (f"{indent}{line}" if line else "" for line in fenced(source["content"]))
    if caution := source.get("caution"):
        yield from ("", f"{indent}{words(caution)}")
    if stale := source.get("stale"):
        yield from ("", f"{indent}As of {as_of}: {words(stale['message'])}")
    yield ""


_RUN: Final = re.compile("`+")
_BRACKETS: Final = re.compile(r"(?:\[[^\[\]\n]*\]|[\[\]])+")
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
    """Return the answer as Markdown lines in which only its citations read as citations."""
    marked, references = marked_parts(parts)
    writer = _Writer(references)
    lines = writer.blocks(SyntaxTreeNode(parser().parse(marked, {})).children)
    lost = [one for number, one in enumerate(references) if number not in writer.placed]
    return [*lines, *(("", " ".join(map(_cited_words, lost))) if lost else ())]


def marked_parts(parts: Iterable[Mapping[str, Any]]) -> tuple[str, list[Reference]]:
    """Return the answer's Markdown with a mark for each reference, and the references."""
    references: list[Reference] = []
    marked = ""
    for part in parts:
        if cited := tuple(part.get("citations") or ()):
            marked += place_of(len(references))
            references.append(Reference(part["text"], cited))
        else:
            marked += plain(part["text"])
    return marked, references


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

    def __init__(self, references: Sequence[Reference]) -> None:
        self._references = references
        self.placed: set[int] = set()

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
                made = self._code(node)
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

    def _code(self, node: SyntaxTreeNode) -> list[str]:
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
                    yield _cited_words(self._references[node.meta["number"]])
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
            text = text.replace(place_of(number), plain(self._references[number].text))
        return text


def _cited_words(reference: Reference) -> str:
    cited: list[Any] = [one["citation"] for one in reference.citations]
    return " ".join(citation_words(Citation(**one)) for one in cited)


def _said(text: str) -> Iterator[str]:
    """Yield words, and the brackets between them as code."""
    behind = 0
    for found in _BRACKETS.finditer(text):
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
