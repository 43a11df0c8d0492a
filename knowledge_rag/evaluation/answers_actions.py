"""Finds the action lines of a runbook, which a complete answer has to show.

The rule, so that other tools can be measured by it:

1. A *place* is the target of a label: lines of a document, or all of it.
2. Its *action sections* begin with a heading that contains a word of ACTION_WORDS (Diagnosis, Mitigation,
   How to fix, ...) and end before the next heading of the same or a higher level. A line that stands alone,
   contains emphasis, has at most MAX_LEAD_IN_WORDS words and ends in a colon (``How to **fix** it:``)
   is a heading of the lowest level, and so is a completely bold one. If labelled lines contain no such
   heading, all of them are one action section, since they are the alert's own; a whole document without
   one has none, and no figure counts it.
3. *Action lines* are, in those sections: list items with everything that belongs to them, the rows of
   tables without their heads, the lines of fenced and indented code, and lines of prose that are commands
   (a single code span, or a prompt ``$``). Blank lines and fences are left out.
4. *Code lines* are the lines of code and commands among them.

Markdown is read by ``markdown-it`` (CommonMark and tables); front matter is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt

from knowledge_rag.evaluation.answers_cases import FENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

ACTION_WORDS: Final = (
    "action", "actions", "debug", "debugging", "diagnose", "diagnosing", "diagnosis", "fix", "fixes",
    "fixing", "investigate", "investigating", "investigation", "mitigate", "mitigating", "mitigation",
    "mitigations", "procedure", "procedures", "recover", "recovering", "recovery", "remedial", "remediate",
    "remediation", "resolution", "resolutions", "resolve", "resolving", "steps", "troubleshoot",
    "troubleshooting",
)  # fmt: skip
"""Words of headings above steps."""

MAX_LEAD_IN_WORDS: Final = 8
"""Maximum words of a line that acts as a heading; a longer one is a sentence."""

_LOWEST: Final = 7
_WORD: Final = re.compile(r"\w+")
_EMPHASIS: Final = re.compile(r"\*\*\S|__\S|(?<![\w*])[*_]\w")
_BOLD: Final = re.compile(r"(\*\*|__)(?!\s)[^*_]+\1:?")
_COMMAND: Final = re.compile(r"`[^`]+`[.:]?|\$ \S.*")
_FRONT_MATTER: Final = re.compile(r"(---|\+\+\+)\n.*?\n\1[ \t]*(?:\n|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Actions:
    """The action lines of a place, by number, 1-based.

    Args:
        lines: all of them; empty if the place has no action section.
        code: lines of code and commands.
    """

    lines: frozenset[int]
    code: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Heading:
    line: int
    level: int
    is_action: bool


class ParsedDocument:
    """A document, parsed once for all its places."""

    def __init__(self, text: Sequence[str]) -> None:
        self._text = text
        document = "\n".join(text)
        if front := _FRONT_MATTER.match(document):
            document = "\n" * front[0].count("\n") + document[front.end() :]
        tokens = MarkdownIt("commonmark").enable("table").parse(document)
        self._headings = tuple(_headings(tokens, text))
        self._code = frozenset(_code(tokens, text))
        self._items = frozenset(_items(tokens))

    def actions(self, place: range | None = None) -> Actions:
        """Return the action lines of a place.

        Args:
            place: line numbers, 1-based; ``None`` for the whole document.
        """
        inside = place if place is not None else range(1, len(self._text) + 1)
        headings = [each for each in self._headings if each.line in inside]
        sections = list(_sections(headings, inside.stop))
        if place is not None and not sections:
            sections = [place]
        counted = frozenset(n for section in sections for n in section if self._is_counted(n))
        code = self._code & counted
        return Actions((self._items | code) & counted, code)

    def _is_counted(self, number: int) -> bool:
        line = self._text[number - 1].strip() if number <= len(self._text) else ""
        return bool(line) and not line.startswith(FENCE)


def _headings(tokens: Sequence[Token], text: Sequence[str]) -> Iterator[_Heading]:
    for token in tokens:
        if token.map is None or token.level > 0:
            continue
        first, end = token.map
        line = text[first].strip()
        if token.type == "heading_open":
            yield _Heading(first + 1, int(token.tag[1:]), _is_action(line))
        elif token.type == "paragraph_open" and end - first == 1 and _is_lead_in(line):
            yield _Heading(first + 1, _LOWEST, _is_action(line))


def _is_action(heading: str) -> bool:
    return not set(_WORD.findall(heading.casefold())).isdisjoint(ACTION_WORDS)


def _is_lead_in(line: str) -> bool:
    if len(line.split()) > MAX_LEAD_IN_WORDS:
        return False
    return bool(_BOLD.fullmatch(line) or (line.endswith(":") and _EMPHASIS.search(line)))


def _sections(headings: Sequence[_Heading], stop: int) -> Iterator[range]:
    for index, heading in enumerate(headings):
        if heading.is_action:
            following = (it.line for it in headings[index + 1 :] if it.level <= heading.level)
            yield range(heading.line + 1, next(following, stop))


def _items(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the lines of list items and of tables' rows."""
    in_head = False
    for token in tokens:
        if token.type in {"thead_open", "thead_close"}:
            in_head = token.type == "thead_open"
        is_item = token.type == "list_item_open" or (token.type == "tr_open" and not in_head)
        if is_item and token.map is not None:
            yield from range(token.map[0] + 1, token.map[1] + 1)


def _code(tokens: Sequence[Token], text: Sequence[str]) -> Iterator[int]:
    for token in tokens:
        if token.map is None:
            continue
        first, end = token.map
        if token.type in {"fence", "code_block"}:
            yield from range(first + 1, end + 1)
        elif token.type == "inline":
            numbers = range(first + 1, end + 1)
            yield from (it for it in numbers if _COMMAND.fullmatch(text[it - 1].strip(" \t>-*+")))
