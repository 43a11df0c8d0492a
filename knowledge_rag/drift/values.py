"""Values of settings as runbooks and code write them, and whether two of them are the same."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMES: Final[Mapping[str, float]] = {
    name: seconds
    for names, seconds in (
        ("ms msec msecs millis millisecond milliseconds", 0.001),
        ("s sec secs second seconds", 1),
        ("m min mins minute minutes", 60),
        ("h hr hrs hour hours", 3600),
        ("d day days", 86_400),
        ("w week weeks", 604_800),
    )
    for name in names.split()
}
_SIZES: Final[Mapping[str, tuple[float, float]]] = {
    letter + rest: (1000.0**power, 1024.0**power)
    for power, letter in enumerate("kmgt", 1)
    for rest in ("", "b", "i", "ib")
} | {"b": (1.0, 1.0), "byte": (1.0, 1.0), "bytes": (1.0, 1.0)}
"""Powers of 1,000 and of 1,024, which are written alike."""
_SWITCHES: Final[Mapping[str, float]] = {
    "true": 1, "on": 1, "yes": 1, "enabled": 1, "false": 0, "off": 0, "no": 0, "disabled": 0,
}  # fmt: skip
_NUMBERS: Final[Mapping[str, float]] = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "fifteen": 15, "twenty": 20, "thirty": 30, "sixty": 60, "a": 1, "an": 1,
}  # fmt: skip
_UNITS: Final = "|".join(sorted({*_TIMES, *_SIZES}, key=len, reverse=True))
_DIGITS: Final = r"-?(?:\d{1,3}(?:[ ,]\d{3})+(?![\d,])|\d[\d_]*)(?:\.\d+)?"
_LONG: Final = "|".join(unit for unit in _TIMES if len(unit) > 2)
AMOUNT: Final = (
    rf"(?:{_DIGITS}|(?:{'|'.join(it for it in _NUMBERS if it not in ('a', 'an'))})\b|(?<!of )(?<!half )\ban?\b(?=\s(?:{_LONG})\b(?!\s+and\b)))"
    rf"(?:\s?%|[\s-]?(?:{_UNITS})\b)?"
)
"""Pattern of a number, with its unit if it has one; case doesn't count."""
SWITCH: Final = rf"(?:{'|'.join(_SWITCHES)})\b"
"""Pattern of a switch's two states."""
_NUMBER: Final = re.compile(rf"({_DIGITS}|[a-z]+)[\s-]?(%|[a-z]+)?")
_WORD: Final = re.compile(r"[A-Za-z][\w./:-]*")
_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class Value(NamedTuple):
    """The value of a setting.

    Args:
        number: as written; 1 or 0 of a switch, ``NaN`` of a word.
        kind: ``time``, ``size``, ``share``, ``switch`` or ``word``; ``""`` of a number without a unit.
        bases: the number in seconds, bytes or hundredths, else as written; of a size in both powers.
        word: in lower case, ``""`` of a number.
    """

    number: float
    kind: str = ""
    bases: tuple[float, ...] = ()
    word: str = ""

    def same(self, other: Value) -> bool:
        """Whether both may be the same: a number without a unit may be of any."""
        if self.word or other.word:
            return self.word == other.word
        if self.kind == other.kind or "switch" in (self.kind, other.kind):
            pairs = zip(self.bases or (self.number,), other.bases or (other.number,), strict=False)
            return any(_close(*pair) for pair in pairs)
        if self.kind and other.kind:
            return False
        bare, of = (self, other) if not self.kind else (other, self)
        small = {"time": 1000, "size": 1, "share": 0.01}[of.kind]
        return any(
            _close(bare.number, it) for base in of.bases for it in (of.number, base, base * small)
        )


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6)


def value_of(text: str, key: str) -> Value | None:
    """Return the value that a text is, ``None`` if it is none.

    >>> value_of("1.5 min", "WAIT").same(value_of("90", "WAIT_SECONDS"))
    True

    Args:
        text: without quotes.
        key: the setting, whose name may end in the unit of its number.
    """
    low = text.strip().casefold()
    if low in _SWITCHES:
        return Value(_SWITCHES[low], "switch")
    found = _NUMBER.fullmatch(low)
    digits = re.sub(r"[,_ ]", "", found[1]) if found else ""
    if found is None or not (digits in _NUMBERS or digits.lstrip("-")[:1].isdigit()):
        return Value(math.nan, "word", word=low) if _WORD.fullmatch(low) else None
    number = _NUMBERS[digits] if digits in _NUMBERS else float(digits)
    unit = found[2] or _unit_of(key)
    if unit == "%":
        return Value(number, "share", (number,))
    if unit in _TIMES and not (unit == "m" and text.strip().endswith("M")):
        return Value(number, "time", (number * _TIMES[unit],))
    if unit in _SIZES:
        return Value(number, "size", tuple(number * it for it in _SIZES[unit]))
    return None if found[2] else Value(number)


def _unit_of(key: str) -> str:
    """Return the unit in which a key's name ends."""
    last = (_PARTS.findall(key) or [""])[-1].casefold()
    return "%" if last in ("percent", "percentage", "pct") else last if len(last) > 1 else ""
