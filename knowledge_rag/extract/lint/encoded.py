"""Finds encoded text in which lint finds something once it is decoded."""

from __future__ import annotations

import base64
import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.active_content import ACTIVE_CONTENT, EXFILTRATION
from knowledge_rag.extract.lint.instructions import INSTRUCTIONS, MARKERS, ROLE_PLAY, TOOL_CALLS
from knowledge_rag.extract.lint.patterns import Folded, Hit, matches, rule, wording
from knowledge_rag.extract.lint.signs import find_orders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.extract.lint.patterns import Rule

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
_SHELL: Final = (
    rule(
        "a shell script from the network",
        "curl wget tcp bash",
        r"(?:curl|wget)\b[^\n]{1,300}?\|\s{0,4}(?:sudo )?(?:ba|z|da)?sh\b|/dev/tcp/|bash -i",
    ),
    rule("a script", "rf", r"rm -rf [/~]"),
)
_TABLES: Final = (
    INSTRUCTIONS,
    ROLE_PLAY,
    EXFILTRATION,
    TOOL_CALLS,
    MARKERS,
    ACTIVE_CONTENT,
    _SHELL,
)
_ORDERS: Final[tuple[Rule, ...]] = (
    wording(
        "tells the reader to decode a text and follow it",
        "decode decoded decrypt unscramble",
        r"(?:decode|decrypt|unscramble)(?: (?:it|this|that|the \w{1,12}))? and (?:then )?"
        r"(?:follow\b|obey\b|(?:do|execute|run|act on) (?:what )?(?:it|this|that))",
    ),
    rule(
        "is code in pieces that are joined when it runs",
        "exec execute eval",
        r"(?:exec|execute|eval)\s{0,2}\(\s{0,2}['\"][^'\"\n]{1,20}['\"]\s{0,2}(?:\+|\|\||\.)\s{0,2}['\"]",
    ),
)


def find_encoded(text: str, folded: Folded) -> Iterator[Hit]:
    """Find base64, hex, and escapes of URLs, programs and HTML that decode to text with a finding."""
    for message, found in matches(folded.text, _ORDERS, folded.words):
        yield Hit(*found.span(), message)
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
    for table in _TABLES:
        for message, _ in matches(folded.text, table, folded.words):
            return f"decodes to text with a lint finding: {message}"
    order = next(find_orders(plain, folded), None)
    return f"decodes to text with a lint finding: {order.message}" if order else ""
