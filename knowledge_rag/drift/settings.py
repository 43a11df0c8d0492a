"""Whether runbooks state the values that settings have in the code.

A statement says what a setting is, and not what to set it to: "`RETRY_LIMIT` is 5", or a row of a table that begins with the setting. The code
has to give the setting that value somewhere.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from knowledge_rag.drift.findings import Finding, Kind
from knowledge_rag.drift.page import row_of
from knowledge_rag.drift.values import AMOUNT, SWITCH, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.drift.page import Page, Row
    from knowledge_rag.drift.values import Value

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
    """A value that a document states of a setting.

    Args:
        path: of the document.
        line: 1-based.
        column: 1-based, in characters; of the value.
        key: the setting.
        text: the value as it stands there.
    """

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


def check_settings(
    settings: Sequence[Setting], given: Mapping[str, Mapping[str, Sequence[str | None]]]
) -> Iterator[Finding]:
    """Find values that the code doesn't give a setting. Nothing is compared where it doesn't know one of a setting's values before it runs.

    Args:
        settings: of all documents.
        given: values of each setting by the file that gives them; ``None`` stands for an unknown one.
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
        message = f"{key} in {_file_of(listed[0], files)} is {shown}, not {said}"
        end = each.column + len(each.text.partition("\n")[0])
        yield Finding(each.path, each.line, each.column, end, Kind.OTHER_VALUE, f"{key} {said}", message)  # fmt: skip


def _file_of(text: str, files: Mapping[str, Sequence[str | None]]) -> str:
    return next(file for file, values in files.items() if text in values)
