"""Rewrites HTML tables in Markdown, as wikis export them, as Markdown tables, line for line."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.orchestrator.containers import in_code

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPENS: Final = re.compile(
    r"[ \t]*<table\b[^<>]*>(?:[ \t]*</?(?:tbody|thead|colgroup|col)\b[^<>]*>)*[ \t]*"
)
_CLOSES: Final = re.compile(r"</table>[ \t]*$")
_ROW: Final = re.compile(r"<tr\b[^<>]*>(.*?)</tr>")
_CELL: Final = re.compile(r"<(t[hd])\b[^<>]*>(.*?)</t[hd]>")
_BETWEEN: Final = re.compile(
    r"(?:[ \t]*</?(?:table|tbody|thead|tfoot|colgroup|col)\b[^<>]*>)*[ \t]*"
)
_CODE: Final = re.compile(r"<code\b[^<>]*>(.*?)</code>")
_FACT: Final = 2
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>")


def in_markdown(lines: Mapping[int, str]) -> dict[int, str]:
    r"""Return the lines of HTML tables that have at most one row on a line, as Markdown.

    Rows below heads make a table, with the heads right above them. Without heads, a row of two cells is a fact, and any
    other an item.

    >>> html = "<table>\n<tr><th>A</th><th>B</th></tr>\n<tr><td>1</td><td><code>ls</code></td></tr>\n</table>"
    >>> in_markdown(dict(enumerate(html.split("\n"))))
    {0: '| A | B |', 1: '| --- | --- |', 2: '| 1 | `ls` |', 3: ''}
    """
    found: dict[int, str] = {}
    opened: int | None = None
    numbers = sorted(lines)
    code = {numbers[place] for place in in_code([lines[n] for n in numbers])}
    for number in numbers:
        if number in code:
            opened = None
        elif _OPENS.fullmatch(lines[number]):
            opened = number
        elif opened is not None and _CLOSES.search(lines[number]):
            found |= _written({n: lines.get(n, "") for n in range(opened, number + 1)})
            opened = None
    return found


def _written(lines: Mapping[int, str]) -> dict[int, str]:
    """Return the lines of one table; none if a row is cut off, two share a line, or other text stands between rows."""
    rows: dict[int, list[tuple[str, str]]] = {}
    for number, line in lines.items():
        on_line = _ROW.findall(line)
        if len(on_line) > 1 or not _BETWEEN.fullmatch(_ROW.sub("", line)):
            return {}
        if on_line:
            rows[number] = _CELL.findall(on_line[0])
    first, *others = rows or [0]
    has_heads = bool(others) and all(kind == "th" for kind, _ in rows[first])
    body = others if has_heads else [*rows]
    if not body or body[-1] - body[0] >= len(body):
        return {}
    written = dict.fromkeys(lines, "")
    for number in body:
        cells = [_words(cell) for _, cell in rows[number]]
        if has_heads:
            written[number] = f"| {' | '.join(cells)} |"
        else:  # the first of two cells is a name: a fact of the page
            fact = f"**{cells[0]}:** {cells[-1]}"
            written[number] = fact if len(cells) == _FACT else f"- {' | '.join(cells)}"
    if has_heads:
        heads = [_words(cell) for _, cell in rows[first]]
        written[body[0] - 2] = f"| {' | '.join(heads)} |"
        written[body[0] - 1] = "|" + " --- |" * len(heads)
    return written


def _words(cell: str) -> str:
    """Return a cell's text, its code between backticks."""
    said = _TAG.sub(" ", _CODE.sub(lambda it: f" `{_TAG.sub('', it[1])}` ", cell))
    return " ".join(html.unescape(said).split()).replace("|", "\\|")
