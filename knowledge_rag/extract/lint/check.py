"""Runs all lint checks on a document, with exact lines and columns."""

from __future__ import annotations

import base64
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.findings import CAUTIONS, Kind
from knowledge_rag.extract.lint.as_read import as_read
from knowledge_rag.extract.lint.hidden import find_hidden, find_hidden_text, find_look_alikes
from knowledge_rag.extract.lint.patterns import Finding, Folded, Hit, excerpt, mask, matches
from knowledge_rag.extract.lint.rules import (
    ACTIVE_CONTENT,
    DECODING,
    EXFILTRATION,
    FAKE_CITATIONS,
    INSTRUCTIONS,
    MARKERS,
    ROLE_PLAY,
    SHELL,
    TOOL_CALLS,
)
from knowledge_rag.extract.lint.secrets import find_secrets
from knowledge_rag.extract.lint.signs import WORDS, find_orders

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from knowledge_rag.core.chunks import Chunk
    from knowledge_rag.extract.lint.as_read import Read
    from knowledge_rag.extract.lint.patterns import Rule


MAX_CHARACTERS: Final = 2_000_000
"""Maximum characters of a document that are checked: a malicious one takes 16 s for a million."""
MAX_FINDINGS: Final = 1000
"""Maximum findings of one kind in one document; the last represents all further ones."""
_AROUND: Final = 8
"""Characters shown on either side of a hidden one."""
_DATA_DEPENDENT: Final = (ArithmeticError, LookupError, RuntimeError, ValueError)
"""Errors that a text can cause in a pure, typed function with a bug."""

_NOT_WORDS: Final = re.compile(r"[/._-]+")
"""Separators of the words of a path."""
_DISGUISED: Final = frozenset((Kind.INSTRUCTION, Kind.ROLE_PLAY, Kind.TOOL_CALL))
"""Kinds that are also searched for in the text as a model reads it."""
_SIGNAL_WORDS: Final = WORDS.union(
    *(rule.words for rule in (*INSTRUCTIONS, *ROLE_PLAY, *TOOL_CALLS))
)
"""A text without these words has no finding of these kinds."""

Detector = Callable[[str, Folded], Iterable[Hit]]
"""Takes a text and its folded form, yields hits in any order."""


class _Place(NamedTuple):
    hit: Hit
    kind: Kind
    stands_for: int


def _hidden(text: str, folded: Folded) -> Iterator[Hit]:
    return chain(find_hidden(text, folded.foreign), find_look_alikes(text, folded.foreign))


def _by(table: tuple[Rule, ...]) -> Detector:
    def detect(_text: str, folded: Folded) -> Iterator[Hit]:
        for message, found in matches(folded.text, table, folded.words):
            yield Hit(*found.span(), message)

    return detect


def _instruction(text: str, folded: Folded) -> Iterator[Hit]:
    return chain(_by(INSTRUCTIONS)(text, folded), find_orders(text, folded))


def _active_content(text: str, folded: Folded) -> Iterator[Hit]:
    for hit in _by(ACTIVE_CONTENT)(text, folded):
        if not folded.in_code(hit.start):
            yield hit


_LEAST: Final = 24
"""Minimum characters of base64 or hex that can encode a sentence."""
_MOST: Final = 4000
"""Maximum characters of one encoded text that are decoded."""
# for plain English, base64 has ``/`` and ``+`` only where every third letter is ? or >; paths have them
_BLOB: Final = re.compile(rf"(?<![A-Za-z0-9])[A-Za-z0-9]{{{_LEAST},{_MOST}}}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2})+")
_SIGN: Final = re.compile(r"\\u00|\\x|&#|%2")
_BETWEEN: Final = " \n\t\"'`(<"
_STRETCH: Final = re.compile(rf"\S{{1,{_MOST}}}")
_ESCAPE: Final = re.compile(
    r"(?:\\u(?=[0-9a-f]{4})|\\x(?=[0-9a-f]{2})|%(?=[0-9a-f]{2})|&#x(?=[0-9a-f]))"
    r"(?P<hex>(?<=u)[0-9a-f]{4}|(?<=\\x)[0-9a-f]{2}|(?<=%)[0-9a-f]{2}|(?<=#x)[0-9a-f]{1,4});?"
    r"|&#(?P<decimal>[0-9]{1,4});?",
    re.IGNORECASE,
)
_FEWEST: Final = 3
"""Minimum escapes that hide a text; addresses have fewer."""
_ENCODED: Final = (
    *INSTRUCTIONS, *ROLE_PLAY, *EXFILTRATION, *TOOL_CALLS, *MARKERS, *ACTIVE_CONTENT, *SHELL,
)  # fmt: skip


def _encoded(text: str, folded: Folded) -> Iterator[Hit]:
    """Find base64, hex, and escapes of URLs, programs and HTML that decode to text with a finding."""
    yield from _by(DECODING)(text, folded)
    blobs = (found.span() for found in _BLOB.finditer(text))
    for start, end in chain(blobs, _escaped(text)):
        if says := _finding_in(_decoded(text[start:end])):
            yield Hit(start, end, says)


def _escaped(text: str) -> Iterator[tuple[int, int]]:
    """Yield stretches between blanks, quotes or brackets that contain an escape."""
    free = 0
    for sign in _SIGN.finditer(text):
        if sign.start() < free:
            continue
        before = text[max(free, sign.start() - _MOST // 4) : sign.start()]
        start = sign.start() - len(before) + max(map(before.rfind, _BETWEEN)) + 1
        stretch = _STRETCH.match(text, start)
        free = stretch.end() if stretch else sign.end()
        yield start, free


def _decoded(encoded: str) -> str:
    plain, number = _ESCAPE.subn(_character, encoded)
    if number:
        return plain if number >= _FEWEST else ""
    try:
        data = (
            bytes.fromhex(encoded)
            if _HEX.fullmatch(encoded)
            else base64.b64decode(encoded + "=" * (-len(encoded) % 4))
        )
        return data.replace(b"\0", b"").decode("ascii")  # UTF-16 has a zero beside each letter
    except ValueError:  # neither, or not ASCII
        return ""


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape["hex"], 16) if escape["hex"] else int(escape["decimal"]))


def _finding_in(plain: str) -> str:
    if not plain:
        return ""
    folded = Folded(plain)
    found = next(chain(_by(_ENCODED)(plain, folded), find_orders(plain, folded)), None)
    return f"decodes to text with a lint finding: {found.message}" if found else ""


DETECTORS: Final[dict[Kind, Detector]] = {
    Kind.SECRET: find_secrets,
    Kind.HIDDEN_UNICODE: _hidden,
    Kind.INSTRUCTION: _instruction,
    Kind.ROLE_PLAY: _by(ROLE_PLAY),
    Kind.EXFILTRATION: _by(EXFILTRATION),
    Kind.TOOL_CALL: _by(TOOL_CALLS),
    Kind.HIDDEN_TEXT: find_hidden_text,
    Kind.ENCODED_TEXT: _encoded,
    Kind.FAKE_CITATION: _by(FAKE_CITATIONS),
    Kind.FAKE_SYSTEM_MESSAGE: _by(MARKERS),
    Kind.ACTIVE_CONTENT: _active_content,
}


def lint_text(source_file: str, text: str) -> tuple[Finding, ...]:
    """Find secrets, hidden Unicode and text aimed at a model, also in the document's path; the text stays as it is.

    A bug in lint never costs a document: it becomes a finding of its own kind. Text beyond MAX_CHARACTERS
    isn't checked, which the last finding says. Findings are in order of position.
    """
    try:
        found = _of_name(source_file, text)
        found += _lint(source_file, text[:MAX_CHARACTERS])
        return found if len(text) <= MAX_CHARACTERS else (*found, _unread(source_file, text))
    except _DATA_DEPENDENT as error:
        message = f"lint failed on this document, please report it: {type(error).__name__}"
        return (_unchecked(source_file, text, 1, message),)


def _of_name(source_file: str, text: str) -> tuple[Finding, ...]:
    """Return findings for text aimed at a model in a document's path, on all its lines: every answer repeats it."""
    said = _NOT_WORDS.sub(" ", source_file.rpartition(".")[0] or source_file)
    end_line = text.count("\n") + 1
    return tuple(
        replace(one, column=1, message=f"the document's name {one.message}", end_line=end_line)
        for one in _lint(source_file, said, _DISGUISED)
    )


def _unread(source_file: str, text: str) -> Finding:
    line = text.count("\n", 0, MAX_CHARACTERS) + 1
    message = f"lint checked only the first {MAX_CHARACTERS:,} characters"
    return _unchecked(source_file, text, line, message)


def _unchecked(source_file: str, text: str, line: int, message: str) -> Finding:
    end_line = text.count("\n") + 1
    return Finding(source_file, line, 1, Kind.UNCHECKED, message, "", end_line=end_line)


def _lint(
    source_file: str, text: str, kinds: AbstractSet[Kind] = frozenset(Kind)
) -> tuple[Finding, ...]:
    folded = Folded(text)
    again = as_read(folded.text, _SIGNAL_WORDS)
    disguise = again and (again, Folded(again.text))
    places: list[_Place] = []
    secrets: list[Hit] = []
    for kind, detect in DETECTORS.items():
        if kind not in kinds:
            continue
        hits = list(islice(found := iter(detect(text, folded)), MAX_FINDINGS))
        further = sum(1 for _ in found)
        if disguise and kind in _DISGUISED:
            hits += _disguised(text, *disguise, detect, hits)
        hits = _apart(hits)
        secrets += hits if kind is Kind.SECRET else []
        places += [_Place(hit, kind, 1) for hit in hits]
        if further:
            places[-1] = places[-1]._replace(stands_for=further + 1)
    if not places:
        return ()
    places.sort(key=lambda place: place.hit)
    return tuple(_findings(source_file, text, places, secrets))


def _disguised(
    text: str, read: Read, folded: Folded, detect: Detector, known: Sequence[Hit]
) -> list[Hit]:
    """Return whole lines in which a model reads something that a search of the text as written doesn't find."""
    found = [*islice(detect(folded.text, folded), MAX_FINDINGS)]
    if not found:
        return []
    starts = [0, *(at + 1 for at, one in enumerate(text) if one == "\n"), len(text) + 1]
    hits = []
    for hit in found:
        start = starts[read.line_at(hit.start)]
        end = starts[read.line_at(hit.end - 1) + 1] - 1
        if start < end and not any(it.start < end and start < it.end for it in known):
            hits.append(Hit(start, end, hit.message))
    return hits


def _apart(hits: list[Hit]) -> list[Hit]:
    """Keep the first of overlapping hits, and the longest of those that start together."""
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        if not kept or hit.start >= kept[-1].end:
            kept.append(hit)
    return kept


def _findings(
    source_file: str, text: str, places: list[_Place], secrets: list[Hit]
) -> Iterator[Finding]:
    line, line_start = 1, 0
    for hit, kind, count in places:
        newlines = text.count("\n", line_start, hit.start)
        if newlines:
            line += newlines
            line_start = text.rindex("\n", line_start, hit.start) + 1
        message = hit.message
        if count > 1:
            message = f"{message}, and {count - 1} more of this kind in the document"
        column, end = hit.start - line_start + 1, hit.end - 1 if count == 1 else len(text)
        end_line = line + text.count("\n", hit.start, end)
        shown = _excerpt(text, hit, kind, secrets)
        yield Finding(source_file, line, column, kind, message, shown, count, end_line)


def _excerpt(text: str, hit: Hit, kind: Kind, secrets: list[Hit]) -> str:
    if kind is Kind.SECRET:
        return mask(text[hit.start : hit.end])
    if kind is not Kind.HIDDEN_UNICODE:
        return excerpt(text, hit.start, hit.end, secrets)
    shown = excerpt(text, max(0, hit.start - _AROUND), hit.end + _AROUND, secrets)
    # lookalike and invisible characters are shown by their code points
    return shown.encode("ascii", "backslashreplace").decode()


LINT_VERSION: Final = 4
"""Raised with every change that finds other kinds in the same text."""


def cautioned(chunks: Sequence[Chunk], findings: Sequence[Finding]) -> list[Chunk]:
    """Return a document's chunks, each with the kinds that lint found in its lines.

    The text above all of them is front matter. Answers show its title and alert names with any line, so it
    counts for each chunk.
    """
    starts = [chunk.start_line for chunk in chunks]
    ends = [chunk.end_line for chunk in chunks]
    kinds: list[set[Kind]] = [set() for _ in chunks]
    for finding in findings:
        if finding.kind in CAUTIONS:
            first, behind = bisect_left(ends, finding.line), bisect_right(starts, finding.end_line)
            behind = behind or len(kinds)
            for found in kinds[first:behind]:
                found.add(finding.kind)
    return [
        chunk._replace(caution=tuple(kind.value for kind in Kind if kind in found))
        if found
        else chunk
        for chunk, found in zip(chunks, kinds, strict=True)
    ]
