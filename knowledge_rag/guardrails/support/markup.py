"""Blanks markup that states nothing: list marks, headings, HTML tags, references.

Every function keeps the text's length, so that offsets into the result are offsets into the text.
"""

from __future__ import annotations

import re
from typing import Final

_LINE_MARK: Final = re.compile(
    r"[ \t]*(?:>[ \t]*+(?![\d=]))*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?(?:\[[ xX]\][ \t]+)?"
    r"(?:#{1,6}[ \t]+)?"
)
_REFERENCE: Final = re.compile(
    r"\[(?i:source)[^\[\]\n]{0,300}\]|(?<![\w\]])\[\d{1,4}(?:\s?[,\-–]\s?\d{1,4}){0,20}\](?![(\[])"
)
_STEP: Final = re.compile(
    r"^[ \t*_]*[Ss]tep \d{1,3}(?=[:.)*_])|\b[Ss]tep \d{1,3}(?=:)", re.MULTILINE
)
_TAG: Final = re.compile(
    r"</?(?:a|b|br|code|details|div|em|hr|i|img|kbd|li|ol|p|pre|span|strong|sub|summary|sup|table|td"
    r"|th|tr|ul)(?:[ \t][^<>\n]{0,500})?/?>|<!--|-->"
)
_RUN: Final = re.compile(r"`+")
_TYPOGRAPHY: Final = {
    **dict.fromkeys("‐‑‒–−", "-"),
    **dict.fromkeys("\u00a0\u2007\u202f", " "),
    "—": ",",
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”", '"'),
    "≥": ">",
    "≤": "<",
    "µ": "u",
    "μ": "u",
}


def plain(text: str) -> str:
    """Return the text with markup blanked and typographic marks as ASCII, at the same length."""
    if not text.isascii():
        for mark, meant in _TYPOGRAPHY.items():  # str.translate takes fifty times as long
            text = text.replace(mark, meant)
    text = _without_line_marks(text).replace("~~", "  ")
    if "[" in text:
        text = _REFERENCE.sub(_blank, text)
    if "<" in text or "-->" in text:
        text = _TAG.sub(_blank, text)
    return _STEP.sub(_blank, text) if "tep" in text else text


def _without_line_marks(text: str) -> str:
    # line by line: finding the starts of lines with a pattern takes several times as long
    if "\n" in text:
        return "\n".join(map(_without_mark, text.split("\n")))
    return _without_mark(text)


def _without_mark(line: str) -> str:
    if line[:1].isalpha():
        return line
    mark = _LINE_MARK.match(line)
    return _blank(mark) + line[mark.end() :] if mark and mark.end() else line


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def code_stretches(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the contents of code spans and fences, in order.

    The next run of backticks with the same length closes a run (CommonMark 6.1); a run that nothing
    closes is text. The info string of a fence is not code.
    """
    runs = [found.span() for found in _RUN.finditer(text)]
    closing: dict[int, int] = {}
    partner = [0] * len(runs)
    for i in range(len(runs) - 1, -1, -1):
        length = runs[i][1] - runs[i][0]
        partner[i] = closing.get(length, 0)
        closing[length] = i
    stretches = []
    i = 0
    while i < len(runs):
        if partner[i]:
            stretches.append((_content(text, runs[i]), runs[partner[i]][0]))
            i = partner[i]
        i += 1
    return stretches


def _content(text: str, run: tuple[int, int]) -> int:
    start, end = run
    if end - start < 3 or text[:start].rpartition("\n")[2].strip():
        return end
    line_end = text.find("\n", end)
    return end if line_end < 0 else line_end
