"""Citations: exact lines of a real file."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from knowledge_rag.core.errors import InvalidCitation
from knowledge_rag.core.neutral import STEERING

MAX_LINE = 2**31 - 1
"""No real document has more lines; a larger number is garbled metadata."""

MAX_PATH = 1_024
"""Maximum characters of a path: an S3 key has at most that many bytes."""

_UNPRINTABLE = re.compile(rf"[\t\n\\{STEERING}]")
_IMITATION = re.compile(r"\[\s*source\b|,\s*lines?\s+\d", re.IGNORECASE)
_BRACKETS = re.compile("SQUARE BRACKET|TORTOISE SHELL BRACKET|LENTICULAR BRACKET")
"""Matches Unicode's names of characters that can pass for a citation's brackets."""


def check_source_file(path: str) -> str:
    r"""Return ``path`` if it can name a document relative to a corpus root.

    Raises:
        InvalidCitation: it is empty, over MAX_PATH characters, absolute, or leaves the root with ``..``;
        has ``\\``, an empty or ``.`` segment, or a control, invisible or direction character; or
        reads like a citation. So does a path with unbalanced brackets, which could end its own citation
        and begin another.
    """
    if not 1 <= len(path) <= MAX_PATH:
        raise InvalidCitation(f"source_file has {len(path)} characters, allowed: 1 to {MAX_PATH}")
    if _UNPRINTABLE.search(path):
        raise InvalidCitation(
            f"source_file {path!r} contains a backslash, a control or an invisible character"
        )
    if _reads_like_citation(path if path.isascii() else unicodedata.normalize("NFKC", path)):
        raise InvalidCitation(f"source_file {path!r} reads like a citation")
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise InvalidCitation(f"source_file {path!r} is not a plain path below the corpus root")
    return path


def _reads_like_citation(path: str) -> bool:
    depth = 0
    for character in path if not path.isascii() or "[" in path or "]" in path else "":
        if character in "[]" or (not character.isascii() and _is_bracket(character)):
            depth += 1 if unicodedata.category(character) == "Ps" else -1
            if depth < 0:
                return True
    return depth > 0 or _IMITATION.search(path) is not None


def _is_bracket(character: str) -> bool:
    return _BRACKETS.search(unicodedata.name(character, "")) is not None


@dataclass(frozen=True, slots=True)
class Citation:
    """Lines ``start_line`` to ``end_line`` (1-based, inclusive) of one document.

    Args:
        source_file: path relative to the corpus root, ``/``-separated.
        start_line: first line, 1..MAX_LINE.
        end_line: last line, start_line..MAX_LINE.
        section_header: text of the heading above the lines, ``""`` if there is none.

    Raises:
        InvalidCitation: no real file can have such a path or such lines.
    """

    source_file: str
    start_line: int
    end_line: int
    section_header: str = ""

    def __post_init__(self) -> None:
        check_source_file(self.source_file)
        if not 1 <= self.start_line <= self.end_line <= MAX_LINE:
            raise InvalidCitation(
                f"{self.source_file}: lines {self.start_line}-{self.end_line} are not a valid line range"
            )

    def __str__(self) -> str:
        """Return the human form, ``[Source: runbooks/rds-failover.md, lines 5-10]``."""
        return f"[Source: {self.source_file}, lines {self.start_line}-{self.end_line}]"

    def overlaps(self, other: Citation) -> bool:
        """Whether it shares a line with another citation."""
        return (
            self.source_file == other.source_file
            and self.start_line <= other.end_line
            and other.start_line <= self.end_line
        )

    def to_dict(self) -> dict[str, str | int]:
        """Return the wire form: the four keys of the OpenAPI schema."""
        return {
            "source_file": self.source_file,
            "start_line": self.start_line,
            "end_line": self.end_line,
            "section_header": self.section_header,
        }
