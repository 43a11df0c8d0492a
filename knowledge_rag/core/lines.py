r"""Lines of a text: they end at ``\n`` only.

U+2028, U+0085, VT, FF and a lone ``\r`` are ordinary characters, so never use ``str.splitlines``. A final
``\n`` starts no further line.
"""

from __future__ import annotations

import re
from typing import Final

from knowledge_rag.core.errors import UnreadableDocument

BLANK = " \t\r"
"""Characters of a blank line: CommonMark's, and the ``\r`` of a CRLF ending."""
BLANKS = BLANK + "\n"
"""Characters of blank lines, line ends included."""


def decode(data: bytes, name: str) -> str:
    """Decode a document's bytes, UTF-8 without the byte-order mark, to its text, which is never empty.

    Raises:
        UnreadableDocument: it is empty, binary (has a NUL), or not UTF-8.
    """
    if not data:
        raise UnreadableDocument(name, "empty file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        looks = " (a binary file?)" if b"\0" in data else ""
        reason = f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}{looks}"
        raise UnreadableDocument(name, reason) from error
    if "\0" in text:
        raise UnreadableDocument(name, f"binary file: NUL byte at offset {data.index(0)}")
    if not text:
        raise UnreadableDocument(name, "empty file (a byte-order mark only)")
    return text


def split_lines(text: str) -> list[str]:
    r"""Split a text into its lines, without their ``\n`` (a ``\r`` stays).

    Returns:
        One string per line; ``[]`` for an empty text.
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def slice_lines(text: str, start_line: int, end_line: int) -> str:
    """Return the verbatim text of lines ``start_line`` to ``end_line``, 1-based and inclusive.

    Raises:
        IndexError: the range is empty, reversed, or ends beyond the last line.
    """
    lines = split_lines(text)
    if not 1 <= start_line <= end_line <= len(lines):
        raise IndexError(f"lines {start_line}-{end_line} of {len(lines)}")
    return "\n".join(lines[start_line - 1 : end_line])


_BARS: Final = re.compile(r"(?<!\\)\|")


def cells_of(line: str) -> list[str]:
    r"""Return the cells of a line of a Markdown table.

    >>> cells_of(r"| a | b \| c |")
    ['a', 'b | c']
    """
    return [it.strip().replace("\\|", "|") for it in _BARS.split(line.strip().strip("|"))]
