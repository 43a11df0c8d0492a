"""Builds claims from lines of real guidance: true ones, verbatim and reworded, and changed ones.

Random choices are seeded by the document's name and the line's number: the same documents result in
the same cases on any machine.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from benchmarks.guardrails.edits import CHUNK_NEEDED, EDITS, steps_reversed
from benchmarks.guardrails.mutations import PATTERNS, Mutator, negate
from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.lines import split_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from knowledge_rag.core.chunks import Chunk, Document

PER_DOCUMENT: Final = 12
"""Maximum lines of one document that become claims, so that a long one doesn't outweigh the others."""

CHUNK_CITED: Final = "chunk cited"
"""Suffix of families whose claims cite a whole chunk instead of their own lines."""

_IMPERATIVE: Final = (
    "add apply check choose click compare configure confirm connect contact copy create delete"
    " deploy disable drain edit enable ensure establish execute find fix follow get go identify"
    " increase inspect install investigate kill list log look make monitor move navigate note open"
    " perform promote query read reboot reduce remove replace restart restore review roll run scale"
    " search see select set silence ssh start stop switch take test try update upgrade use validate"
    " verify view wait"
)
_LINE: Final = re.compile(
    rf"\s*(?:[-*+]\s+|\d+[.)]\s+)?(?:\*\*)?(?:{'|'.join(_IMPERATIVE.split())})\b", re.IGNORECASE
)
_NOT_GUIDANCE: Final = re.compile(r"\s*(?:#|\||<|!\[|>|```|~~~|\[[^\]]*\]:|\{)")
_MARK: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_EMPHASIS: Final = re.compile(
    r"(?<![\w/-])(?:\*\*|__|\*)(?=\w)|(?<=[\w.:])(?:\*\*|__|\*)(?![\w./*-])|`"
)
_ARTICLE: Final = re.compile(r"\b(?:the|an?) ", re.IGNORECASE)
_TIME: Final = re.compile(
    r"(?<![\w.:/=-])(?P<number>\d+) ?(?P<unit>seconds|minutes|hours|[smh])(?![\w-])"
)
_OTHER_UNIT: Final = {
    "seconds": "s", "minutes": "min", "hours": "h", "s": " seconds", "m": " minutes", "h": " hours",
}  # fmt: skip
_THOUSANDS: Final = re.compile(r"(?<![\w.,:/#=-])([1-9]\d{0,2})(\d{3})(?=\s[a-z])")
_ASSIGNED: Final = re.compile(r"(?<=\s)(--[a-z][a-z-]+)=(?=\w)")
_WORDS: Final = re.compile(r"[A-Za-z]{2,}")


@dataclass(frozen=True, slots=True)
class Case:
    """A claim, the lines that it cites, and whether they support it.

    Args:
        document: the guidance's document, which decides the half.
        family: how the claim was made.
        claim: the text.
        lines: the cited lines.
        supported: whether the lines support the claim.
    """

    document: str
    family: str
    claim: str
    lines: tuple[str, ...]
    supported: bool

    @property
    def chooses(self) -> bool:
        """Whether it belongs to the half that settings are chosen on."""
        return hashlib.sha256(self.document.encode()).digest()[-1] % 2 == 0


@dataclass(frozen=True, slots=True)
class _Guidance:
    """A line to make claims of, the line after it, its chunk, and all chunks of its document."""

    document: str
    number: int
    line: str
    next_line: str
    chunk: Chunk
    others: Sequence[Chunk]


def build_cases(documents: Sequence[tuple[Document, str]]) -> list[Case]:
    """Return the cases of some documents, each given with its text."""
    guidance = [found for document, text in documents for found in _guidance(document, text)]
    mutator = Mutator(_pool(text for _, text in documents))
    return [
        case
        for it in guidance
        for case in (*_true(it), *_changed(it, mutator), *_edited(it), *_misplaced(it))
    ]


def _pool(texts: Iterator[str]) -> Mapping[str, Sequence[str]]:
    pool: dict[str, dict[str, None]] = defaultdict(dict)
    for text in texts:
        for kind, pattern in PATTERNS.items():
            if kind not in {"number", "unit", "date", "comparison"}:
                pool[kind].update(dict.fromkeys(found[0] for found in pattern.finditer(text)))
    return {kind: sorted(found) for kind, found in pool.items()}


def _guidance(document: Document, text: str) -> list[_Guidance]:
    chunks = chunk_text(document, text)
    found = []
    for chunk in chunks:
        lines = split_lines(chunk.content)
        for i, line in enumerate(lines):
            behind = lines[i + 1] if i + 1 < len(lines) else ""
            if _instructs(line):
                found.append(
                    _Guidance(
                        document.source_file, chunk.start_line + i, line, behind, chunk, chunks
                    )
                )
    rng = _rng(document.source_file, 0)
    return rng.sample(found, min(PER_DOCUMENT, len(found)))


def _instructs(line: str) -> bool:
    if _NOT_GUIDANCE.match(line) or not 20 <= len(line) <= 400 or len(_WORDS.findall(line)) < 4:
        return False
    return bool(_LINE.match(line)) or "`" in line or " --" in line


def _rng(document: str, number: int) -> Random:
    return Random(f"{document}:{number}")  # noqa: S311 - to be reproducible, not secret


def _true(it: _Guidance) -> Iterator[Case]:
    lines = (it.line,)
    yield Case(it.document, "as it stands", it.line, lines, supported=True)
    for family, reword in _REWORDINGS.items():
        claim = reword(it.line)
        if claim != it.line:
            yield Case(it.document, family, claim, lines, supported=True)
    if it.next_line.strip() and not _NOT_GUIDANCE.match(it.next_line):
        joined = f"{_unmarked(it.line)} {_unmarked(it.next_line)}"
        yield Case(it.document, "lines joined", joined, (it.line, it.next_line), supported=True)
    whole = tuple(split_lines(it.chunk.content))
    yield Case(it.document, CHUNK_CITED, _unemphasised(it.line), whole, supported=True)


def _changed(it: _Guidance, mutator: Mutator) -> Iterator[Case]:
    whole = tuple(split_lines(it.chunk.content))
    for kind in PATTERNS:
        claim = mutator.mutate(kind, it.line, _rng(it.document, it.number))
        if claim is not None:
            yield Case(it.document, kind, claim, (it.line,), supported=False)
            yield Case(it.document, f"{kind}, {CHUNK_CITED}", claim, whole, supported=False)
    if denied := negate(it.line):
        yield Case(it.document, "negation", denied, (it.line,), supported=False)


def _edited(it: _Guidance) -> Iterator[Case]:
    """Yield claims with a changed meaning that cite the line, and the whole chunk."""
    whole = tuple(split_lines(it.chunk.content))
    for name, edit in EDITS.items():
        claim = edit(it.line, it.chunk.content, _rng(it.document, it.number))
        if claim is not None and claim != it.line:
            if name not in CHUNK_NEEDED:
                yield Case(it.document, name, claim, (it.line,), supported=False)
            yield Case(it.document, f"{name}, {CHUNK_CITED}", claim, whole, supported=False)
    if reversed_steps := steps_reversed(it.line, it.next_line):
        own = (it.line, it.next_line)
        yield Case(it.document, "steps reversed", reversed_steps, own, supported=False)


def _misplaced(it: _Guidance) -> Iterator[Case]:
    """Yield the line as a claim that cites another chunk of the document, which doesn't repeat the line."""
    said = _unmarked(it.line)
    others = [other for other in it.others if said not in other.content]
    if others:
        other = _rng(it.document, it.number).choice(others)
        lines = tuple(split_lines(other.content))
        yield Case(it.document, "wrong section", it.line, lines, supported=False)


def _unmarked(line: str) -> str:
    return _MARK.sub("", line).strip()


def _unemphasised(line: str) -> str:
    return _EMPHASIS.sub("", line)


def _first_letter(line: str) -> str:
    body = _unmarked(line)
    return body[:1].swapcase() + body[1:]


_REWORDINGS: Final[Mapping[str, Callable[[str], str]]] = {
    "prefixed": lambda line: f"First, {_unmarked(line)}",
    "list mark dropped": _unmarked,
    "emphasis dropped": _unemphasised,
    "first letter's case": _first_letter,
    "articles dropped": lambda line: _ARTICLE.sub("", line),
    "units rewritten": lambda line: _TIME.sub(
        lambda it: it["number"] + _OTHER_UNIT[it["unit"]], line
    ),
    "thousands separated": lambda line: _THOUSANDS.sub(r"\1,\2", line),
    "flag's value apart": lambda line: _ASSIGNED.sub(r"\1 ", line),
}
