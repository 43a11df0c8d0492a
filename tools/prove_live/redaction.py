"""Removes an account's identifiers, and every secret, from texts for others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_SECRETS: Final = (
    (re.compile(r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|AROA|AIDA|AGPA|ANPA|ANVA)[A-Z0-9]{12,}\b"), "<key>"),
    (re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/=_-]{40,}(?![\w+/=-])"), "<removed>"),
    (re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+"), "<mail>"),
)
_IDENTIFIERS: Final = (
    (re.compile(r"arn:[a-z-]+:([a-z0-9-]*):[^\s\"'`,;)\]}>]*"), r"<ARN of \1>"),
    (re.compile(r"(?:https?://)?[\w.-]+\.amazonaws\.com(?:\.cn)?[^\s\"'`,;)\]}>]*"), "<address>"),
    (re.compile(r"(?<!\d)\d{12}(?!\d)"), "<account>"),
    (re.compile(r"\b(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{10}\b"), "<id>"),
)


class Redactor:
    """Redacts texts.

    Args:
        secrets: texts that must never be shown, whatever they look like.
        identifiers: whether to keep ARNs, account ids and addresses.
    """

    def __init__(self, secrets: Iterable[str] = (), *, identifiers: bool = False) -> None:
        # longest first: one may be a part of another
        self._literals = sorted((each for each in secrets if len(each) >= 4), key=len, reverse=True)
        self._patterns = _SECRETS if identifiers else (*_IDENTIFIERS, *_SECRETS)

    def text(self, text: str) -> str:
        """Redact a text."""
        for literal in self._literals:
            text = text.replace(literal, "<removed>")
        for place, name in ((Path(__file__).parents[2], "."), (Path.home(), "~")):
            text = text.replace(str(place), name) if len(place.parts) > 1 else text
        for pattern, instead in self._patterns:
            text = pattern.sub(instead, text)
        return text

    def value(self, value: Any) -> Any:
        """Redact every text in a JSON value, including names of members."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value
