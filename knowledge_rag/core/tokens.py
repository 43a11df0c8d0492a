"""A cheap, conservative estimate of a text's tokens in the local embedding model.

The core has no tokenizer: it ships in a Lambda. A WordPiece count is close to linear in the number of
plain characters, digits and marks, and counting those is a few passes in C over the text's character
classes. The weights are a least-squares fit on windows of real runbooks, raised by an eighth so that
chunks near the cap stay below it; tests compare them with the model's tokenizer.
"""

from __future__ import annotations

import string
from typing import Final

PER_PLAIN: Final = 0.205
"""An ASCII letter or a space."""
PER_DIGIT: Final = 0.585
PER_MARK: Final = 1.39
"""Any other character: WordPiece makes each mark, and each CJK character, a token of its own."""
PER_INDENT: Final = -0.41
"""Each pair of spaces, which costs nothing: subtracts what the two counted as plain."""

_SPACES = " \t\r\n"
_CLASS_OF = {
    **dict.fromkeys(string.digits.encode(), ord("0")),
    **dict.fromkeys(_SPACES.encode(), ord(" ")),
    **dict.fromkeys(string.ascii_letters.encode(), ord("a")),
}
_CLASSES = bytes(_CLASS_OF.get(code, ord("-")) for code in range(256))

_DIGIT_EXTRA: Final = PER_DIGIT - PER_PLAIN
_MARK_EXTRA: Final = PER_MARK - PER_PLAIN


def classify(text: str, start: int = 0, end: int | None = None) -> bytes:
    """Return the class of each character of ``text[start:end]``, one byte each, for :func:`cost`.

    The whole text is required, since a space at the start may be the second of a pair.
    """
    begin = start - _is_second_of_pair(text, start)
    return _classes(text[begin:end]).replace(b"  ", b" +")[start - begin :]


def _classes(text: str) -> bytes:
    # characters outside ASCII become "?", a mark
    return text.encode("ascii", "replace").translate(_CLASSES)


def _is_second_of_pair(text: str, start: int) -> bool:
    run = start
    if text[start : start + 1] in _SPACES:
        while run and text[run - 1] in _SPACES:
            run -= 1
    return (start - run) % 2 == 1


def cost(classes: bytes, start: int, end: int) -> float:
    """Estimate the tokens of a part of classified text; >= 0, and nearly additive."""
    count = classes[start:end].count
    return (
        PER_PLAIN * (end - start)
        + _DIGIT_EXTRA * count(b"0")
        + _MARK_EXTRA * count(b"-")
        + PER_INDENT * count(b"+")
    )


def fits(text: str, start: int, end: int, cap: float) -> bool:
    """Return whether ``text[start:end]`` costs at most ``cap``."""
    length = end - start
    return (
        cost(_classes(text[start:end]), 0, length) <= cap
        or cost(classify(text, start, end), 0, length) <= cap
    )


def token_cost(text: str) -> float:
    """Estimate the tokens of ``text``, special tokens not counted; >= 0."""
    return cost(classify(text), 0, len(text))


_MARGIN: Final = 1.15
"""Maximum ratio of an answer's cost to the estimate: 1.13 was the most of 497, which have many names and paths."""


def token_bound(text: str) -> float:
    """Return an upper bound on the tokens of an answer's text in the local embedding model; >= 0."""
    return _MARGIN * token_cost(text)
