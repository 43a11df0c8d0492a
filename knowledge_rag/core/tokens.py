"""A cheap, conservative estimate of how many tokens the local embedding model sees in a text.

The core has no tokenizer: it ships in a Lambda. A WordPiece count is close to linear in how many
plain characters, digits and marks a text holds, and counting those is a few passes in C over the
text's character classes. The weights are a least-squares fit on windows of real runbooks, raised by
an eighth so that chunks near the cap stay below it; tests hold them against the model's tokenizer.
"""

from __future__ import annotations

from typing import Final

PER_PLAIN: Final = 0.205
"""An ASCII letter or a space."""
PER_DIGIT: Final = 0.585
PER_MARK: Final = 1.39
"""Any other character: WordPiece makes each mark, and each CJK character, a token of its own."""
PER_INDENT: Final = -0.41
"""Each pair of spaces, which costs nothing: takes back what the two counted as plain."""

_DIGITS = b"0123456789"
_SPACES = b" \t\r\n"
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CLASSES = bytes(
    ord("0")
    if c in _DIGITS
    else ord(" ")
    if c in _SPACES
    else ord("a")
    if c in _LETTERS
    else ord("-")
    for c in range(256)
)


class TokenMeter:
    """Estimates tokens for any stretch of one text, special tokens not counted.

    Args:
        text: the text; its characters are classed at the first estimate, so that each is a few counts.
    """

    __slots__ = ("_classes", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._classes: bytes | None = None

    def _classify(self) -> bytes:
        # one byte a character: what ASCII can't hold becomes "?", a mark
        classes = self._text.encode("ascii", "replace").translate(_CLASSES)
        self._classes = classes.replace(b"  ", b" +")
        return self._classes

    def cost(self, start: int, end: int) -> float:
        """Estimate the tokens of ``text[start:end]``; >= 0, and nearly additive."""
        count = (self._classes or self._classify()).count
        return (
            PER_PLAIN * (end - start)
            + (PER_DIGIT - PER_PLAIN) * count(b"0", start, end)
            + (PER_MARK - PER_PLAIN) * count(b"-", start, end)
            + PER_INDENT * count(b"+", start, end)
        )


def token_cost(text: str) -> float:
    """Estimate the tokens of ``text``, special tokens not counted; >= 0."""
    return TokenMeter(text).cost(0, len(text))
