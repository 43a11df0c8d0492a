"""A cheap, conservative estimate of how many tokens the local embedding model sees in a text.

The core has no tokenizer: it ships in a Lambda. WordPiece counts are close to linear in how many
characters of each class a text holds, and counting classes is one pass in C per class.
"""

from __future__ import annotations

_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
_SPACES = b" \t\r\n"
_HIGH = bytes(range(128, 256))


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of ``text``, without the model's two special tokens; >= 0."""
    data = text.encode(errors="surrogatepass")
    rest = data.translate(None, _LETTERS)
    letters = len(data) - len(rest)
    marks = rest.translate(None, _SPACES)
    spaces = len(rest) - len(marks)
    punctuation = marks.translate(None, _DIGITS)
    digits = len(marks) - len(punctuation)
    high = len(punctuation) - len(punctuation.translate(None, _HIGH))
    plain = len(punctuation) - high
    return int(0.22 * letters + 0.2 * spaces + 0.6 * digits + 1.0 * plain + 0.5 * high + 0.999)
