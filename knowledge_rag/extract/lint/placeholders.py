"""Tells values that stand for a secret from values that are one."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

_ANYWHERE: Final = re.compile(
    r"example|sample|placeholder|change[-_ ]?(?:me|it|this)|replace|redacted|removed|masked|hidden"
    r"|dummy|not[-_]?real|fake|insert|your[-_]?|xxx|\*\*\*|\.\.\.|…|__+$|^__|todo|\btbd\b",
    re.IGNORECASE,
)
_TEMPLATE: Final = re.compile(
    r"[<>]|\$[{(]|\$[A-Z_]{3}|\{\{|\}\}|^\{.*\}$|%[({]|%\w+%|^[$%@&!]\w|^\[.*\]$|^#\{"
)
_STAND_IN: Final = re.compile(
    r"(?:(?:my|a|the|some|new|old|db|database|user|admin|root|default|test|demo|foo|bar|basic|auth"
    r"|client|access|api|service|app|private|secret)[-_.]?){0,4}"
    r"(?:passw(?:or)?d|p[a@]ss(?:w[o0]rd)?|pwd|passphrase|secret|s3cr3t|token|key|string|value|text"
    r"|foo|bar|baz|qux|test|demo|abc|admin|user|root|guest|none|null|nil|true|false|undefined"
    r"|unset|required|optional)s?"
    r"[-_.]?(?:here|goes|value|key|id)?[-_.]?(?:123|1234|12345|\d{0,2})!?",
    re.IGNORECASE,
)
_SEQUENCES: Final = tuple(
    line[start : start + 6]
    for line in ("abcdefghijklmnopqrstuvwxyz", "01234567890", "98765432109876", "zyxwvutsrq")
    for start in range(len(line) - 5)
)
_MIN_KINDS: Final = 5
"""Different characters below which a value is a pattern such as ``aaaa-bbbb``."""


def stands_for_a_secret(value: str) -> bool:
    """Tell whether a value is a template, an example or a filler.

    >>> [stands_for_a_secret(v) for v in ("<token>", "$TOKEN", "changeme", "xxxxxx", "k9Vq2mZx")]
    [True, True, True, True, False]
    """
    folded = value.lower()
    return (
        bool(_ANYWHERE.search(value) or _TEMPLATE.search(value) or _STAND_IN.fullmatch(value))
        or len(set(folded)) < min(_MIN_KINDS, len(value) - 1)
        or any(run in folded for run in _SEQUENCES)
    )


def decoded(value: str) -> str:
    """Decode base64 of plain text; a value that is none comes back as it is."""
    if len(value) % 4 or not value.isascii():
        return value
    try:
        plain = base64.b64decode(value, validate=True).decode("ascii").strip()
    except (binascii.Error, UnicodeDecodeError):
        return value
    return plain if plain and plain.isprintable() else value
