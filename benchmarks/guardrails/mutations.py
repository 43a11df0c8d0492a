"""Changes one value in a line of guidance, so that its source no longer supports it.

It finds its targets by patterns of its own: with the checks' patterns, the benchmark couldn't show their
gaps.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

Mutation = str
"""Name of a change."""

PATTERNS: Final[Mapping[Mutation, re.Pattern[str]]] = {
    "flag": re.compile(r"(?<![\w-])(?:--[a-z][\w-]+|-[a-zA-Z](?![\w-]))"),
    "host": re.compile(
        r"(?<![\w./@-])(?:\d{1,3}(?:\.\d{1,3}){3}"
        r"|[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|io|uk|internal|local))(?![\w./-])"
    ),
    "url": re.compile(r"https?://[\w.-]+/[\w./#?=&%-]+\w"),
    "path": re.compile(
        r"(?<![\w.:/<>{}-])(?:~?(?:/[\w.@-]*\w){2,}|[\w-]+(?:/[\w.-]+)*/[\w-]+\.[a-z]{1,5})(?![\w/{<$-])"
    ),
    "identifier": re.compile(r"(?<![\w./$<{-])[a-zA-Z]+(?:_[a-zA-Z0-9]+)+(?![\w/-])"),
    "number": re.compile(
        r"(?<![\w.,:/#@=+-])\d{1,7}(?=(?: ?%|[smhd]|ms|[KMG]i?B?)?(?:[\s,;)]|\.\s|\.?$))"
    ),
    "unit": re.compile(
        r"(?<=\d)(?P<gap> ?)(?P<unit>seconds?|minutes?|hours?|days?|s|m|h|ms|mins?|[KMG]i?B|[MG]i|%)(?![\w%])"
    ),
    "date": re.compile(
        r"(?<![\w/-])20\d\d-[01]\d-[0-3]\d(?!\w)|\b[0-3]?\d (?:January|February|March|April|May|June|July"
        r"|August|September|October|November|December)\b"
    ),
    "comparison": re.compile(
        r"(?:(?<=\s)[<>]=?|\b(?:more|less) than|\b(?:above|below|at least|at most))(?=\s*\d)"
    ),
    "command": re.compile(
        r"(?<=`)(?:kubectl|oc|aws|docker|systemctl|git|helm|psql|sudo|gcloud|terraform|knife|curl)"
        r"(?: [a-z][a-z-]+)?(?= [^`]+`)"
    ),
}

_UNITS: Final = {
    "second": "minute", "seconds": "minutes", "minute": "hour", "minutes": "hours", "hour": "day",
    "hours": "days", "day": "hour", "days": "hours", "s": "m", "m": "h", "h": "d", "ms": "s",
    "min": "h", "mins": "hours", "KB": "MB", "MB": "GB", "GB": "MB", "KiB": "MiB", "MiB": "GiB",
    "GiB": "MiB", "Mi": "Gi", "Gi": "Mi", "%": "GB",
}  # fmt: skip
_OPPOSITES: Final = {
    ">": "<", "<": ">", ">=": "<=", "<=": ">=", "more than": "less than", "less than": "more than",
    "above": "below", "below": "above", "at least": "at most", "at most": "at least",
}  # fmt: skip
_DIGIT: Final = re.compile(r"\d+")
_NEGATED: Final = re.compile(r"\b(?:do not|don't|not|never) ", re.IGNORECASE)
_VERB: Final = re.compile(r"\b(?:is|are|can|should|will|must)\b(?! not)")
_MARK: Final = re.compile(r"\s*(?:[-*+]|\d+[.)])?\s*")


class Mutator:
    """Changes texts.

    Args:
        pool: kind of target -> the corpus's targets of that kind.
    """

    def __init__(self, pool: Mapping[Mutation, Sequence[str]]) -> None:
        self._pool = pool
        self._changes: Mapping[Mutation, Callable[[str, Random], str]] = {
            "number": _other_number,
            "date": _other_day,
            "unit": lambda unit, _: _UNITS.get(unit.strip(), ""),
            "comparison": lambda words, _: _OPPOSITES.get(words.lower(), ""),
        }

    def mutate(self, kind: Mutation, text: str, rng: Random) -> str | None:
        """Change one target; return ``None`` if there is none, or no replacement for it.

        The replacement doesn't occur elsewhere in the text, except for comparisons and units.
        """
        mark = _MARK.match(text)
        targets = list(PATTERNS[kind].finditer(text, mark.end() if mark else 0))
        if not targets:
            return None
        target = rng.choice(targets)
        start, end = target.span("unit" if kind == "unit" else 0)
        for _ in range(5):
            new = self._other(kind, text[start:end], rng)
            if new and new != text[start:end] and not _occurs(new, text, kind):
                return text[:start] + new + text[end:]
        return None

    def _other(self, kind: Mutation, old: str, rng: Random) -> str:
        if change := self._changes.get(kind):
            return change(old, rng)
        if kind in {"host", "path", "url", "identifier"} and rng.random() < 0.5:
            return _nearly(old, rng)
        return rng.choice(self._pool[kind]) if self._pool.get(kind) else ""


def negate(text: str) -> str | None:
    """Add or remove a ``not``; return ``None`` if there is no place for it."""
    if found := _NEGATED.search(text):
        return text[: found.start()] + text[found.end() :]
    if found := _VERB.search(text):
        return f"{text[: found.end()]} not{text[found.end() :]}"
    mark = _MARK.match(text)
    body = mark.end() if mark else 0
    if text[body : body + 1].isupper() and text[body + 1 : body + 2].islower():
        return f"{text[:body]}Do not {text[body].lower()}{text[body + 1 :]}"
    return None


def _occurs(new: str, text: str, kind: Mutation) -> bool:
    if kind in {"comparison", "unit"}:
        return False  # it matters which value it belongs to
    inside = r"\d" if kind == "number" else r"\w"
    return bool(re.search(rf"(?<!{inside}){re.escape(new)}(?!{inside})", text))


def _other_number(old: str, rng: Random) -> str:
    number = int(old)
    return str(rng.choice((number + 1, number * 2, number * 10, number // 2, number + 10)))


def _other_day(old: str, rng: Random) -> str:
    """Change the last number of an ISO date, or the first of a date in words."""
    iso = "-" in old
    day = _DIGIT.findall(old)[-1 if iso else 0]
    new = str((int(day) + rng.randint(1, 20)) % 28 + 1)
    return old[: -len(day)] + new.zfill(2) if iso else new + old[len(day) :]


def _nearly(old: str, rng: Random) -> str:
    """Change one character within a name to another digit or letter."""
    places = [i for i, character in enumerate(old) if character.isalnum() and i > 0]
    if old.startswith("http"):
        places = [i for i in places if i > len("https://")]
    if not places:
        return ""
    i = rng.choice(places)
    alphabet = "0123456789" if old[i].isdigit() else "abcdefghijklmnopqrstuvwxyz"
    return old[:i] + rng.choice(alphabet.replace(old[i].lower(), "")) + old[i + 1 :]
