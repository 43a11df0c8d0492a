"""What lint says of a document: a kind, a place, a sentence and an excerpt without secrets."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.caution import Kind

MAX_EXCERPT: Final = 80
"""Characters of a document that an excerpt shows at most, before escapes."""
_SHOWN_OF_A_SECRET: Final = 4
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Finding:
    r"""One thing that a person should look at.

    Args:
        source_file: the document, relative to the corpus root.
        line: 1-based, in lines that ``\n`` ends.
        column: 1-based, in characters of the line.
        kind: what it is.
        message: what is wrong, in one sentence; holds nothing of the document but code points.
        excerpt: what stands there, safe to print: secrets masked, hidden characters escaped.
        count: how many findings this one stands for: 1, but for the last of a kind in a document
            that has too many to list.
        end_line: the last line that it reaches to, at least ``line``; that of the document for one
            that stands for further ones.
    """

    source_file: str
    line: int
    column: int
    kind: Kind
    message: str
    excerpt: str
    count: int = 1
    end_line: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "end_line", max(self.line, self.end_line))
        if min(self.line, self.column, self.count) < 1:
            raise ValueError(f"line, column and count start at 1: {self.line}, {self.column}")

    def __str__(self) -> str:
        """Give the form that editors open: ``path:line:column kind: message``."""
        place = f"{self.source_file}:{self.line}:{self.column}"
        return f"{place} {self.kind}: {self.message}" + (
            f": {self.excerpt}" if self.excerpt else ""
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form."""
        return asdict(self)


class Hit(NamedTuple):
    """A finding while the text is still at hand.

    Args:
        start: index of its first character in the text.
        end: index after its last; larger than ``start``.
        message: see :class:`Finding`.
    """

    start: int
    end: int
    message: str


def mask(secret: str) -> str:
    """Show of a secret its length, and its first four characters where they are at most a third.

    >>> mask("AKIAIOSFODNN7ABCDEFG"), mask("hunter2")
    ('AKIA… (20 characters)', '… (7 characters)')
    """
    shown = secret[:_SHOWN_OF_A_SECRET] if len(secret) >= 3 * _SHOWN_OF_A_SECRET else ""
    return neutralise(f"{_one_line(shown)}… ({len(secret)} characters)")


def excerpt(text: str, start: int, end: int, secrets: Sequence[Hit]) -> str:
    """Show a stretch of a text on one line, with stars where a secret lies in it.

    Args:
        text: the document's.
        start: index of the first character to show.
        end: index after the last; at most ``MAX_EXCERPT`` characters are shown.
        secrets: those of the document.
    """
    stop = min(end, start + MAX_EXCERPT)
    parts, at = [], start
    for secret in secrets:
        if at < secret.end and secret.start < stop:
            parts += [text[at : max(at, secret.start)], "****"]
            at = secret.end
    parts.append(text[at:stop])
    return neutralise(_one_line("".join(parts)) + ("…" if stop < end else ""))


def _one_line(text: str) -> str:
    return _SPACE.sub(" ", text).strip()
