"""A cheap, conservative estimate of how many tokens the local embedding model sees in a text.

The core has no tokenizer: it ships in a Lambda. A WordPiece count is close to linear in how many
letters, digits and marks a text holds, and counting those is three passes in C. The weights are a
least-squares fit on windows of real runbooks, raised so that chunks near the cap stay below it;
tests hold them against the model's own tokenizer.
"""

from __future__ import annotations

_SPACES = b" \t\r\n"
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
_ASCII = bytes(range(128))

PER_LETTER = 0.25
PER_DIGIT = 0.58
PER_MARK = 1.38
PER_HIGH_BYTE = 0.62
"""Tokens per UTF-8 byte beyond ASCII: a CJK character is about one token in three bytes, a Hangul
syllable is taken apart into two or three."""


def token_cost(text: str) -> float:
    """Estimate the tokens of ``text``, special tokens not counted; additive over its parts."""
    data = text.encode(errors="surrogatepass")
    solid = data.translate(None, _SPACES)
    marks = solid.translate(None, _LETTERS)
    cost = PER_LETTER * (len(solid) - len(marks))
    others = marks.translate(None, _DIGITS)
    cost += PER_DIGIT * (len(marks) - len(others))
    if text.isascii():
        return cost + PER_MARK * len(others)
    high = len(others.translate(None, _ASCII))
    return cost + PER_MARK * (len(others) - high) + PER_HIGH_BYTE * high
