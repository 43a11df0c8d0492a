"""The numbers in a value of CSS, about as many pixels as they come to."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = re.compile(r"([+-]?(?:\d++(?:\.\d++)?|\.\d++)(?:e[+-]?\d++)?)([a-z]++|%)?")
_PART: Final = re.compile(rf"\s*+(?:{_NUMBER.pattern}|([-+*/(),]))")
_PIXELS: Final = {
    "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 37.8,
    "mm": 3.78, "%": 10.0, "vw": 10.0, "vh": 10.0, "vmin": 10.0, "vmax": 10.0, "lh": 20.0, "rlh": 20.0,
}  # fmt: skip
"""Of one of each unit, on a screen a thousand pixels wide; of all others 1."""
_MAX_PARTS: Final = 60
_COMPUTED: Final = re.compile(r"\b(?:calc|min|max|clamp)\(")


def in_pixels(value: str) -> float | None:
    """Give a value that is one number, ``None`` for anything else.

    Args:
        value: in lower case, computed (``calc(1px - 2px)``) or not.
    """
    given = value.strip()
    found = _NUMBER.fullmatch(given)
    if found is not None:
        return _pixels(found[1], found[2])
    if not given.startswith("calc(") or not given.endswith(")"):
        return None
    return _Sum(given.removeprefix("calc")).result()


def numbers(value: str) -> list[float]:
    """Give all numbers in a value, that of ``calc(...)`` where it is computed as a whole."""
    whole = in_pixels(value)
    if whole is not None:
        return [whole]
    if not _COMPUTED.search(value):
        return [_pixels(number, unit) for number, unit in _NUMBER.findall(value)]
    parts = re.split(r",|\s+(?=calc\()", value)
    computed = (in_pixels(_balanced(part)) for part in parts)
    literal = [_pixels(number, unit) for number, unit in _NUMBER.findall(value)]
    return literal + [number for number in computed if number is not None]


def _balanced(text: str) -> str:
    """Give a computed number without the function around it."""
    inner = text[text.find("calc(") :].strip() if "calc(" in text else text.strip()
    ends = len(inner) - len(inner.rstrip(")"))
    excess = min(ends, max(0, inner.count(")") - inner.count("(")))
    return inner[: len(inner) - excess]


def _pixels(number: str, unit: str | None) -> float:
    return float(number) * _PIXELS.get(unit or "", 1.0)


class _Sum:
    """Computes what is in the brackets of ``calc``.

    Args:
        text: with its brackets.
    """

    def __init__(self, text: str) -> None:
        self._parts: list[float | str] = []
        at = 0
        while at < len(text) and len(self._parts) <= _MAX_PARTS:
            found = _PART.match(text, at)
            if found is None:
                self._parts = []
                break
            self._parts.append(found[3] or _pixels(found[1], found[2]))
            at = found.end()
        self._parts.reverse()

    def result(self) -> float | None:
        """Give the number, ``None`` where it can't be computed."""
        if not 0 < len(self._parts) <= _MAX_PARTS:
            return None
        try:
            total = self._sum()
        except (IndexError, TypeError, ValueError, ZeroDivisionError, OverflowError):
            return None
        return total if not self._parts else None

    def _sum(self) -> float:
        total = self._product()
        while self._parts:
            following = self._parts[-1]
            if isinstance(following, float):  # the sign belongs to the number: 1px -2px
                total += self._product()
            elif following in ("+", "-"):
                self._parts.pop()
                total += self._product() if following == "+" else -self._product()
            else:
                break
        return total

    def _product(self) -> float:
        product = self._one()
        while self._parts and self._parts[-1] in ("*", "/"):
            sign = self._parts.pop()
            other = self._one()
            product = product * other if sign == "*" else product / other
        return product

    def _one(self) -> float:
        part = self._parts.pop()
        if part in ("-", "+"):
            return -self._one() if part == "-" else self._one()
        if part != "(":
            return float(part)
        inside = self._sum()
        if self._parts.pop() != ")":
            raise ValueError
        return inside
