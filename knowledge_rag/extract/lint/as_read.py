"""A text as a model reads it: without markup, in plain letters, with split and disguised words restored.

Only lines with such disguises are read again, each with its neighbours, so that a plain document costs next
to nothing.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.letters import looks_like, read_as

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_FEWEST: Final = 3
"""Minimum words of a line that are split, linked or written with digits; a host's name has fewer."""
_LONGEST: Final = 2_000
"""Maximum characters of a line that are read."""
_NOT_ASCII: Final = re.compile(
    r"[^\x00-\x7f\xa0-\xa9\xab\xac\xae-\xb9\xbb-\xbf\u2010-\u2027\u2190-\u245f\u2500-\u2bff\u2e80-\ua63f\uac00-\ud7ff\U0001f300-\U0001faff]"
)
"""Characters other than dashes, quotes, arrows and signs."""
_IN_WORDS: Final = (
    re.compile(r"\*(?<=[a-z]\*)\*{0,2}(?=[a-z])"),
    re.compile(r"<(?<=[a-z]<)/?[a-z!][^<>\n]{0,60}>(?:</?[a-z]\w{0,9}>)?(?=[a-z])"),
    re.compile(r"&(?:#\w{2,8}|shy|zwn?j|[a-z]{1,8}fr|[a-z]scr);"),
    _NOT_ASCII,
)
"""Disguises that begin with a rare character, and so are found fast."""
_APART: Final = (
    re.compile(r"\](?:\([^()\n]{0,200}\)|\[[^\[\]\n]{0,40}\])\W{0,3}\[[^\[\]\n]{1,30}\](?:\(|\[)"),
    re.compile(r"\|(?<=\n\|)[^\n|]{1,80}\|"),
)
"""Links side by side, a row of a table: separators of words that belong together."""
_SPLIT: Final = re.compile(r"(?<![a-z0-9])[a-z](?:([.\- _])[a-z](?:\1[a-z]){1,30})(?![a-z0-9])")
_JOINED: Final = re.compile(r"[a-z]{1,14}(?:[._-][a-z]{1,14}){1,40}")
_WORD: Final = re.compile(r"[a-z]+")
_JOINT: Final = re.compile(r"[._-]")
_WITH_DIGITS: Final = re.compile(
    r"(?<![\w.-])(?=[a-z]*[0134578@$])(?=[0134578@$]*[a-z])[a-z0134578@$]{2,16}(?![\w.-])"
)
_LINK: Final = re.compile(r"!?\[([^\[\]\n]{0,300})\](?:\([^()\n]{0,400}\)|\[[^\[\]\n]{0,60}\])")
_MARKUP: Final = re.compile(r"<[a-z/!][^<>\n]{0,200}>|[*~]+|(?<![a-z0-9])_+|_+(?![a-z0-9])")
_ROW: Final = re.compile(r"^[ \t>]*\||\|[ \t]*$|[ \t]*\|[ \t]*")
_LETTERS: Final = tuple(
    str.maketrans(f"0{one}34578@$", f"o{letter}eastbas") for one, letter in (("1", "i"), ("1", "l"))
)


class Read(NamedTuple):
    """Lines of a text as a model reads them.

    Args:
        text: in lower case; some lines occur several times, in different readings.
        starts: the offset of each of them.
        lines: for each, its number in the text as written, from 0.
    """

    text: str
    starts: Sequence[int]
    lines: Sequence[int]

    def line_at(self, at: int) -> int:
        """Return the number, as written and from 0, of the line at an offset of the text."""
        return self.lines[bisect_right(self.starts, at) - 1]


def as_read(text: str, signals: frozenset[str]) -> Read | None:
    """Return the lines that a model reads differently; ``None`` if there are none.

    Args:
        text: in lower case.
        signals: words that matter. Another reading counts if it shows one more of them, or brings two together.
    """
    odd = {at for sign in (*_APART, *_SPLIT_SIGNS) for at in _lines_of(sign, text)}
    letters = _IN_WORDS[: -1 if text.isascii() else None]
    in_words = {at for sign in letters for at in _lines_of(sign, text)}
    if not odd and not in_words:
        return None
    beside = {one + more for one in _numbers(text, in_words) for more in (-1, 0, 1)}
    return _read(text.split("\n"), beside.union(_numbers(text, odd)), signals)


_SPLIT_SIGNS: Final = (
    re.compile(r"[.\- _](?<=[a-z][.\- _])[a-z][.\- _][a-z](?=[.\- _])"),
    re.compile(
        r"[._-](?<=[a-z][._-])(?=[a-z][^\n]{0,30}?[a-z][._-][a-z][^\n]{0,30}?[a-z][._-][a-z])"
    ),
    re.compile(r"[013457@$](?<=[a-z][013457@$])[a-z]"),
)
"""Separate letters; words or parts of words with a mark between them; a digit within a word."""


def _lines_of(sign: re.Pattern[str], text: str) -> Iterator[int]:
    """Yield the offset of each line that contains a sign."""
    at = 0
    while found := sign.search(text, at):
        yield text.rfind("\n", 0, found.start()) + 1
        at = text.find("\n", found.start() + 1)
        if at < 0:
            return


def _numbers(text: str, starts: set[int]) -> list[int]:
    numbers, number, at = [], 0, 0
    for start in sorted(starts):
        number += text.count("\n", at, start)
        at = start
        numbers.append(number)
    return numbers


def _read(written: Sequence[str], odd: set[int], signals: frozenset[str]) -> Read | None:
    read = _Reading([], [], [])
    run: list[int] = []
    for number in [*sorted(one for one in odd if 0 <= one < len(written)), -1]:
        if run and number != run[-1] + 1:
            lines = [written[one][:_LONGEST] for one in run]
            for parts, reading in _readings(lines):
                more = [
                    at
                    for at, line in enumerate(reading)
                    if line != lines[at]
                    and (words := _signals_in(line, signals))
                    and ((parts and len(words) > 1) or words - _signals_in(lines[at], signals))
                ]
                around = sorted(
                    {at + by for at in more for by in (-1, 0, 1)}.intersection(range(len(run)))
                )
                if around:
                    read.add([run[at] for at in around], [reading[at] for at in around])
            run = []
        run.append(number)
    return Read("\n".join(read.parts), read.starts, read.lines) if read.parts else None


class _Reading(NamedTuple):
    parts: list[str]
    starts: list[int]
    lines: list[int]

    def add(self, numbers: Sequence[int], lines: Sequence[str]) -> None:
        """Add lines, and a blank one after them."""
        at = self.starts[-1] + len(self.parts[-1]) + 1 if self.parts else 0
        for number, line in zip([*numbers, numbers[-1]], [*lines, ""], strict=True):
            self.parts.append(line)
            self.starts.append(at)
            self.lines.append(number)
            at += len(line) + 1


def _signals_in(text: str, signals: frozenset[str]) -> frozenset[str]:
    return signals.intersection(_WORD.findall(text))


def _plain(line: str) -> str:
    if "&" in line:
        line = html.unescape(line)
    if not line.isascii():
        line = "".join(map(_letter, line)).lower()
    if "[" in line:
        line = _LINK.sub(r"\1", line)
    line = _MARKUP.sub("", line)
    return _ROW.sub(" ", line) if "|" in line else line


def _letter(character: str) -> str:
    plain = read_as(character)
    return plain if plain.isascii() else looks_like(character)


def _readings(written: Sequence[str]) -> Iterator[tuple[bool, list[str]]]:
    """Yield lines in plain letters and without markup, then with split, joined and digit-spelt words restored.

    Each with whether it also joins words that something separated.
    """
    plain = [_plain(line) for line in written]
    apart = any(sign.search(f"\n{line}") for line in written for sign in _APART)
    yield apart, plain
    digits = any(_SPLIT_SIGNS[-1].search(line) for line in plain)
    joined = any(map(_is_joined, plain))
    for change in (
        _unsplit,
        *((_unjoined, _parted) if joined else ()),
        *(_UNDIGITED if digits else ()),
    ):
        other = [change(line) for line in plain]
        if other != plain:
            yield change is _parted, other


def _unsplit(line: str) -> str:
    return _SPLIT.sub(lambda found: found[0].replace(found[1], ""), line)


def _rejoined(between: str, line: str) -> str:
    """Return a line of joined words with another separator between their parts."""
    return (
        _JOINED.sub(lambda found: _JOINT.sub(between, found[0]), line) if _is_joined(line) else line
    )


_unjoined: Final = partial(_rejoined, "")
_parted: Final = partial(_rejoined, " ")


def _is_joined(line: str) -> bool:
    """Whether most words of a line, or their parts, have dots, hyphens or underscores between them."""
    joints = line.count("-") + line.count(".") + line.count("_")
    return joints >= _FEWEST and joints >= len(line.split()) // 2


def _undigited(letters: dict[int, int]) -> Callable[[str], str]:
    def change(line: str) -> str:
        if len(_WITH_DIGITS.findall(line)) < _FEWEST - 1:
            return line
        return _WITH_DIGITS.sub(lambda found: found[0].replace("11", "ll").translate(letters), line)

    return change


_UNDIGITED: Final = tuple(map(_undigited, _LETTERS))
