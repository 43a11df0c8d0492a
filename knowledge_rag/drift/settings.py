"""Whether runbooks state the values that settings have in the code.

A statement says what a setting is, and not what to set it to: "`RETRY_LIMIT` is 5", or a row of a table that begins with the setting. The code
has to give the setting that value somewhere, in whatever language: YAML, JSON, HCL, environment files, and defaults in programs. Lines of it are read,
and no grammar: a value stands behind its key's `=` or `:`, in the `value` behind a `name`, in a variable's `default`, or as the second argument of a call.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.drift.figures import same
from knowledge_rag.drift.findings import Finding, Kind
from knowledge_rag.drift.page import row_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.drift.page import Page, Row

# values, as runbooks and code write them

_TIMES: Final[Mapping[str, float]] = {
    name: seconds
    for names, seconds in (
        ("ms msec msecs millis millisecond milliseconds", 0.001),
        ("s sec secs second seconds", 1),
        ("m min mins minute minutes", 60),
        ("h hr hrs hour hours", 3600),
        ("d day days", 86_400),
        ("w week weeks", 604_800),
    )
    for name in names.split()
}
_SIZES: Final[Mapping[str, tuple[float, float]]] = {
    letter + rest: (1000.0**power, 1024.0**power)
    for power, letter in enumerate("kmgt", 1)
    for rest in ("", "b", "i", "ib")
} | {"b": (1.0, 1.0), "byte": (1.0, 1.0), "bytes": (1.0, 1.0)}
"""Powers of 1,000 and of 1,024, which are written alike."""
_SWITCHES: Final[Mapping[str, float]] = {
    "true": 1, "on": 1, "yes": 1, "enabled": 1, "false": 0, "off": 0, "no": 0, "disabled": 0,
}  # fmt: skip
_NUMBERS: Final[Mapping[str, float]] = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "fifteen": 15, "twenty": 20, "thirty": 30, "sixty": 60, "a": 1, "an": 1,
}  # fmt: skip
_UNITS: Final = "|".join(sorted({*_TIMES, *_SIZES}, key=len, reverse=True))
_DIGITS: Final = r"-?(?:\d{1,3}(?:[ ,]\d{3})+(?![\d,])|\d[\d_]*)(?:\.\d+)?"
_LONG: Final = "|".join(unit for unit in _TIMES if len(unit) > 2)
AMOUNT: Final = (
    rf"(?:{_DIGITS}|(?:{'|'.join(it for it in _NUMBERS if it not in ('a', 'an'))})\b|(?<!of )(?<!half )\ban?\b(?=\s(?:{_LONG})\b(?!\s+and\b)))"
    rf"(?:\s?%|[\s-]?(?:{_UNITS})\b)?"
)
"""Pattern of a number, with its unit if it has one; case doesn't count."""
SWITCH: Final = rf"(?:{'|'.join(_SWITCHES)})\b"
"""Pattern of a switch's two states."""
_AMOUNT_IN: Final = re.compile(rf"({_DIGITS}|[a-z]+)[\s-]?(%|[a-z]+)?")
_WORD: Final = re.compile(r"[A-Za-z][\w./:-]*")
_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class Value(NamedTuple):
    """The value of a setting.

    Args:
        number: as written; 1 or 0 of a switch, ``NaN`` of a word.
        kind: ``time``, ``size``, ``share``, ``switch`` or ``word``; ``""`` of a number without a unit.
        bases: the number in seconds, bytes or hundredths, else as written; of a size in both powers.
        word: in lower case, ``""`` of a number.
    """

    number: float
    kind: str = ""
    bases: tuple[float, ...] = ()
    word: str = ""

    def same(self, other: Value) -> bool:
        """Whether both may be the same: a number without a unit may be of any."""
        if self.word or other.word:
            return self.word == other.word
        if self.kind == other.kind or "switch" in (self.kind, other.kind):
            pairs = zip(self.bases or (self.number,), other.bases or (other.number,), strict=False)
            return any(same(*pair) for pair in pairs)
        if self.kind and other.kind:
            return False
        bare, of = (self, other) if not self.kind else (other, self)
        small = {"time": 1000, "size": 1, "share": 0.01}[of.kind]
        return any(
            same(bare.number, it) for base in of.bases for it in (of.number, base, base * small)
        )


def value_of(text: str, key: str) -> Value | None:
    """Return the value that a text is, ``None`` if it is none; a key's name may end in the unit of its number.

    >>> value_of("1.5 min", "WAIT").same(value_of("90", "WAIT_SECONDS"))
    True
    """
    low = text.strip().casefold()
    if low in _SWITCHES:
        return Value(_SWITCHES[low], "switch")
    found = _AMOUNT_IN.fullmatch(low)
    digits = re.sub(r"[,_ ]", "", found[1]) if found else ""
    if found is None or not (digits in _NUMBERS or digits.lstrip("-")[:1].isdigit()):
        return Value(math.nan, "word", word=low) if _WORD.fullmatch(low) else None
    number = _NUMBERS[digits] if digits in _NUMBERS else float(digits)
    unit = found[2] or _unit_of(key)
    if unit == "%":
        return Value(number, "share", (number,))
    if unit in _TIMES and not (unit == "m" and text.strip().endswith("M")):
        return Value(number, "time", (number * _TIMES[unit],))
    if unit in _SIZES:
        return Value(number, "size", tuple(number * it for it in _SIZES[unit]))
    return None if found[2] else Value(number)


def _unit_of(key: str) -> str:
    """Return the unit in which a key's name ends."""
    last = (_PARTS.findall(key) or [""])[-1].casefold()
    return "%" if last in ("percent", "percentage", "pct") else last if len(last) > 1 else ""


# what runbooks state

MAX_SETTINGS: Final = 1_000
"""Of a document that are compared."""
MAX_SENTENCE: Final = 1_000
"""Characters of a sentence that is read."""
BESIDE: Final = 120
"""Characters before a key in brackets among which its value may be."""
SHOWN: Final = 4
"""Values of a setting that a finding lists."""
_NAME: Final = r"[A-Za-z][A-Za-z0-9]*(?:[_.-][A-Za-z0-9]+)*"
_KEY: Final = re.compile(rf"`(?:--)?(?P<span>{_NAME})`|(?<![\w`./@-])(?P<bare>{_NAME})(?![\w`/])")
_COMPOSED: Final = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9][-_.][A-Za-z0-9]")
_UNSPACED: Final = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]")
"""How a key is told from words without the marks of code: "long-running" is none."""
_FIGURE: Final = rf"[*_\"']*(?:`(?P<code>{AMOUNT})`|(?P<plain>{AMOUNT}))(?![\w%]|[:.]\d)"
_VALUE: Final = (
    rf"[*_\"']*(?:`(?P<code>[^`\n]{{1,60}})`|(?P<plain>{AMOUNT}|{SWITCH}))(?![\w%]|[:.]\d)"
)
_SAYS: Final = re.compile(
    r"[\"'*_]*\)?[\"'*_]*(?:\s*=|"
    r"(?:\s+\([^()\n]{0,60}\))?(?:\s+(?!(?:is|are|was|were|has|have|and|or|to|not)\b)[\w./`-]+){0,5}?"
    r"\s+(?:is|are|stays?|stands?|runs?|defaults?)\b(?:\s+(?:now|currently|always|already|still|also|both|today))*"
    r"(?:\s+(?:set|configured|fixed|capped|limited|kept|left|pinned))?(?:\s+(?:to|at))?(?:\s+(?:its|the|our)\s+default(?:\s+of)?)?)"
    rf"\s*{_VALUE}",
    re.IGNORECASE,
)
"""What follows a key of which a sentence says the value."""
_HAS: Final = re.compile(
    rf"[\"'*_]*(?:\s*(?::|→|–|—|\bof\b|\bat\b)|,\s*(?:currently|now|today)|,?\s*which\b[\w ]{{1,20}}?\b(?:is|at))\s*{_FIGURE}",
    re.IGNORECASE,
)
"""The same for a figure alone: "with a `LIMIT` of 5"."""
_BESIDE: Final = re.compile(rf"\s*\((?:[\w ,]{{1,20}}?[ :])??{_FIGURE}", re.IGNORECASE)
"""A value in brackets behind its key."""
_KEYED: Final = re.compile(
    rf"(?<![\w.`]){_FIGURE}(?:\s+(?!\d)[\w-]+){{0,6}}(?:\s*\((?:[\w' ]{{1,20}} )?|,\s+(?:see|that's|that is)\s+)[*_]*$",
    re.IGNORECASE,
)
"""A value before its key: "30 seconds (`TIMEOUT`)"."""
_OPEN: Final = re.compile(
    r"\s*(?:or\b|to\b|\+|[-–]\s*\d|and (?:more|less|above|below|up|higher|lower)\b)"
)
"""What makes a value a bound or one of several."""
_CHANGED: Final = re.compile(
    r"\b(?:set|sets|setting|raised?|lower(?:ed)?|increased?|decreased?|reduced?|bump(?:ed)?|chang(?:e|ed|ing)|try|use|export|put|make sure|ensure|check|verify"
    r"|confirm|expect|should|was|were|had|used to|previously|formerly|e\.g|for example|such as|say|instead|suppose|assume|think|believe|from)\b",
    re.IGNORECASE,
)
"""Words before a key that make of a statement an instruction, a memory or an example."""
_OTHERWISE: Final = re.compile(
    r"\b(?:if|when(?:ever)?|once|until|unless|while|whether|after|before|where|must|could|would|may|might|can)\b",
    re.IGNORECASE,
)
"""Words that make a condition of it, but for a value in brackets, which holds whatever the sentence is about."""
_THEIRS: Final = re.compile(r"\b(?:their|its own)\s+$", re.IGNORECASE)
"""Words right before a key that make it the setting of another system: "The broker isn't ours. Their `LIMIT` is 5"."""
_ELSEWHERE: Final = re.compile(
    r"\b(?:staging|stage|dev|development|test(?:ing)?|qa|uat|acceptance|sandbox|local(?:ly|host)?|preprod|pre-prod|canary|demo|example|upstream|laptop)\b",
    re.IGNORECASE,
)
"""Words of a sentence, a heading or a column that speak of another environment than production."""
_SENTENCE: Final = re.compile(
    r"(?:[^.!?\n]++|[.!?](?![)\"'*_]*+(?:\s|$))|\n(?![^\S\n]*+(?:[-*+]|\d++[.)])\s))++"
)
_TARGET: Final = re.compile(r"\]\(\S*|https?://\S+")
_ROW_KEY: Final = re.compile(
    rf"(?:[^`()]*+\()?[*_ ]*+`(?:--)?(?P<key>{_NAME})`[*_ ]*+(?:\([^()]*+\)|\))?\s*"
)
_CELL: Final = re.compile(rf"\s*{_VALUE}|\s*(?P<word>[A-Za-z][\w.:/-]*)\s*$", re.IGNORECASE)
_AMOUNT: Final = re.compile(rf"\s*{_FIGURE}", re.IGNORECASE)
_CURRENT: Final = re.compile(r"\b(?:values?|current(?:ly)?|prod(?:uction)?|live|now)\b", re.IGNORECASE)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that a document states of a setting: its line and column (1-based, in characters), and its text."""

    path: str
    line: int
    column: int
    key: str
    text: str

    @property
    def value(self) -> Value | None:
        """Return what the text means."""
        return value_of(self.text, self.key)


def settings_in(page: Page) -> Iterator[Setting]:
    """Find the first MAX_SETTINGS values that a document states; postmortems and pages out of use have none."""
    if page.retired is None and not page.is_report:
        yield from islice(_settings(page), MAX_SETTINGS)


def _settings(page: Page) -> Iterator[Setting]:
    if _ELSEWHERE.search(page.path):
        return
    rows = {row.line for row in page.rows}
    for paragraph in page.paragraphs:
        if paragraph.line not in rows:
            yield from _in_prose(page, paragraph.line, paragraph.text)
    for row in page.rows:
        yield from _in_row(page, row)


def _in_prose(page: Page, first: int, source: str) -> Iterator[Setting]:
    text = _TARGET.sub(lambda it: " " * len(it[0]), source)
    for sentence in _SENTENCE.finditer(text):
        said = sentence[0]
        if len(said) > MAX_SENTENCE or _ELSEWHERE.search(said):
            continue
        changed, otherwise = (_first_end(it, said) for it in (_CHANGED, _OTHERWISE))
        for key in _KEY.finditer(said):
            name = key["span"] or key["bare"]
            if said.count('"', 0, key.start()) % 2:  # somebody's words
                continue
            if _THEIRS.search(said, max(0, key.start() - BESIDE), key.start()):
                continue
            if not (_COMPOSED if key["span"] else _UNSPACED).search(name):
                continue
            found = _said_of(key, said, changed, otherwise)
            if found is None or _OPEN.match(said, found.end()):
                continue
            group = "code" if found["code"] else "plain"
            row, column = row_of(text, sentence.start() + found.start(group))
            yield from _stated(page, first + row, column + 1, name, found[group])


def _first_end(pattern: re.Pattern[str], text: str) -> float:
    found = pattern.search(text)
    return found.end() if found else math.inf


def _said_of(
    key: re.Match[str], said: str, changed: float, otherwise: float
) -> re.Match[str] | None:
    """Return where a sentence says the value of a key.

    Args:
        key: in the sentence.
        said: the sentence.
        changed: where its first word ends that makes something else of a value behind it.
        otherwise: likewise, of the values that aren't in brackets.
    """
    if beside := _BESIDE.match(said, key.end()) or _KEYED.search(
        said, max(0, key.start() - BESIDE), key.start()
    ):
        return None if changed <= min(key.start(), beside.start()) else beside
    if min(changed, otherwise) <= key.start():
        return None
    return _SAYS.match(said, key.end()) or _HAS.match(said, key.end())


def _in_row(page: Page, row: Row) -> Iterator[Setting]:
    """Read a row that begins with a setting: its value is in the column of current values, else in the next one."""
    key = row.cells[0] if row.cells else ""
    heads = [*row.heads, *[""] * len(row.cells)][: len(row.cells)]
    possible = [n for n, head in enumerate(heads) if n and not _ELSEWHERE.search(head)]
    current = [n for n in possible if _CURRENT.search(heads[n])]
    at = next(iter([*current, *[n for n in possible if n == 1]]), 0)
    cell = row.cells[at] if at else ""
    found = _CELL.match(cell) if current else _AMOUNT.match(cell)
    name = _ROW_KEY.fullmatch(key)
    if found is None or name is None or _OPEN.match(cell, found.end()):
        return
    text = next(it for it in found.groups() if it)
    line = page.lines[row.line - 1] if row.line <= len(page.lines) else ""
    column = max(0, line.find(text, line.find(name["key"]) + len(name["key"]))) + 1
    yield from _stated(page, row.line, column, name["key"], text)


def _stated(page: Page, line: int, column: int, key: str, text: str) -> Iterator[Setting]:
    if value_of(text, key) and not any(map(_is_elsewhere, page.above(line))):
        yield Setting(page.path, line, column, key, text)


@lru_cache(maxsize=64)
def _is_elsewhere(heading: str) -> bool:
    return _ELSEWHERE.search(heading) is not None


# what code gives

MAX_VALUES: Final = 50
"""Of one setting in one file."""
MAX_LENGTH: Final = 200
"""Characters of a value that is read."""
MAX_BEFORE: Final = 100
"""Characters before a key that say what it is."""
_LITERAL: Final = re.compile(r"(?P<quote>[\"'])(?P<quoted>[^\"'\n]*)(?P=quote)|(?P<plain>[^\s\"',;{}()\[\]#]+(?: [^\s\"',;{}()\[\]#]+)*)")  # fmt: skip
_FILLED_IN: Final = re.compile(r"[$*!&<(\[{`]|\b(?:var|local|each|module|data|self|config|settings|values|env|os|process)\.", re.IGNORECASE)  # fmt: skip
"""What of a value only a deployment or a program knows."""
_DURATION: Final = re.compile(r"(\d+) ?\* ?time\.(Millisecond|Second|Minute|Hour)\b")
"""How Go writes one."""
_COMMENTED: Final = re.compile(r"\s*(?:#|//|--(?!\w)|\*|;)")
_OPENED: Final = re.compile(
    r"(?P<named>[\"']?[ \t]*+[:=][ \t]*+[\"']?eman\b)|(?P<variable>[\"'][ \t]++elbairav\b)|(?P<call>[\"'][ \t]*+\()"
)
"""What stands before a key whose value isn't directly behind it, read backwards from the key."""
_BEHIND: Final[Mapping[str, re.Pattern[str]]] = {
    "named": re.compile(r"[\"']?[ \t]*+,?\s*+[\"']?value[\"']?[ \t]*+[:=][ \t]*+"),
    "variable": re.compile(r"[\"'][ \t]*+\{[^{}]*?\bdefault[ \t]*+=[ \t]*+"),
    "call": re.compile(r"[\"'][ \t]*+,[ \t]*+"),
}
"""What is between such a key and its value."""
_ASSIGNED: Final = re.compile(
    r"[\"']?[ \t]*+(?::[\w\[\], |\t]++=(?!=)|:=|=>|:(?![:/])|=(?![=~]))[ \t]*+"
)
_PART_OF_MORE: Final = re.compile(r"[\w.$%{]$")
"""What stands before a key that is a part of a longer name, or that is filled in."""


def values_in(text: str, keys: Iterable[str]) -> dict[str, list[str | None]]:
    """Return the values that a file gives to each of these settings; ``None`` stands for one that isn't known before it runs."""
    return {key: found for key in keys if (found := list(islice(_values(text, key), MAX_VALUES)))}


def _values(text: str, key: str) -> Iterator[str | None]:
    """Yield the values of a key; a line has one at most."""
    at = begins = read = 0
    while (at := text.find(key, at)) >= 0:
        begins, read = max(begins, text.rfind("\n", read, at) + 1), at
        value = _value_at(text, at, at + len(key), begins)
        if value is None:
            at += len(key)
            continue
        start, before = value
        is_comment = _COMMENTED.match(text, begins, before + 1)
        rest = text[start : start + MAX_LENGTH].partition("\n")[0].strip()
        is_read = key in rest and re.search(rf"\([ \t]*[\"']{re.escape(key)}[\"']", rest)
        if is_read and not is_comment:
            at = start  # its default comes next
            continue
        at = begins = read = (text.find("\n", start) + 1) or len(text)
        if is_comment or not rest or _COMMENTED.match(rest) or rest[0] in "{[|>":
            continue
        yield _literal(rest)


def _value_at(text: str, key: int, end: int, begins: int) -> tuple[int, int] | None:
    """Return where the value of a key begins, and what gives it."""
    opened = _OPENED.match(text[max(begins, key - MAX_BEFORE) : key][::-1])
    if opened and (behind := _BEHIND[opened.lastgroup or ""].match(text, end)):
        return behind.end(), key - opened.end()
    if _PART_OF_MORE.search(text, max(begins, key - 1), key):
        return None
    assigned = _ASSIGNED.match(text, end)
    if assigned is None:
        return None
    return assigned.end(), key


def _literal(rest: str) -> str | None:
    """Return the value with which a text begins, ``None`` if it is computed."""
    if duration := _DURATION.match(rest):
        return f"{duration[1]} {duration[2]}"
    literal = _LITERAL.match(rest)
    if literal is None or _FILLED_IN.search(literal[0]) or rest[literal.end() :].startswith("("):
        return None
    return (literal["quoted"] if literal["quote"] else literal["plain"]).strip()


def check_settings(
    settings: Sequence[Setting], given: Mapping[str, Mapping[str, Sequence[str | None]]]
) -> Iterator[Finding]:
    """Find values that the code doesn't give a setting.

    ``given`` has the values of each by the file that gives them. ``None`` stands for one that isn't known before the code
    runs: then nothing is compared.
    """
    of_key: dict[str, list[Setting]] = defaultdict(list)
    for each in settings:
        of_key[each.key].append(each)
    for key, stated in of_key.items():
        if files := given.get(key):
            yield from _compared(key, stated, files)


def _compared(
    key: str, stated: Sequence[Setting], files: Mapping[str, Sequence[str | None]]
) -> Iterator[Finding]:
    texts = list(dict.fromkeys(text for values in files.values() for text in values))
    if None in texts:
        return
    known = {text: value for text in texts if text and (value := value_of(text, key))}
    for each in stated:
        value = each.value
        like = {it: of for it, of in known.items() if value and bool(of.word) == bool(value.word)}
        if value is None or not like or any(map(value.same, like.values())):
            continue
        listed = list(like)
        shown = ", ".join(listed[:SHOWN]) + (" and others" if len(listed) > SHOWN else "")
        said = " ".join(each.text.split())
        file = next(file for file, values in files.items() if listed[0] in values)
        message = f"{key} in {file} is {shown}, not {said}"
        end = each.column + len(each.text.partition("\n")[0])
        yield Finding(each.path, each.line, each.column, end, Kind.OTHER_VALUE, f"{key} {said}", message)  # fmt: skip
