"""The rules of a robots.txt as RFC 9309 has them: which group is ours, and which rule decides.

A robots.txt is a stranger's text: patterns are matched from left to right without going back, so none
takes longer than its length and the address's together.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVERYBODY: Final = "*"
_TOKEN: Final = re.compile(r"[a-z_-]+")
_RULES: Final = frozenset(("allow", "disallow", "crawl-delay"))
_ESCAPED: Final = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED: Final = re.compile(r"[A-Za-z0-9._~-]")
_KEPT: Final = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
"""ASCII that is compared as it stands; what is none is compared as its escaped UTF-8."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line that allows or forbids.

    Args:
        pattern: of paths, normalised; ``*`` is anything, ``$`` behind it the end.
        allows: whether it allows what fits.
    """

    pattern: str
    allows: bool

    def fits(self, target: str) -> bool:
        """Whether a normalised path and query begin as the pattern says."""
        anchored = self.pattern.endswith("$")
        first, *others = self.pattern.removesuffix("$").split("*")
        if not target.startswith(first):
            return False
        at = len(first)
        if not others:
            return not anchored or at == len(target)
        *between, last = others
        for part in between:  # the leftmost place is as good as any
            found = target.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        if anchored:
            return len(target) - len(last) >= at and target.endswith(last)
        return target.find(last, at) >= 0


@dataclass(frozen=True, slots=True)
class Rules:
    """What a site's robots.txt says to one program.

    Args:
        rules: of all groups that are for it; the longest pattern goes first, and allowing before forbidding.
        delay: seconds between two pages, 0 where it doesn't say.
    """

    rules: tuple[Rule, ...] = ()
    delay: float = 0.0

    def allow(self, address: str) -> bool:
        """Whether a page may be fetched, by its http or https address."""
        parts = urlsplit(address)
        path = parts.path or "/"
        query = f"?{parts.query}" if parts.query else ""
        target = _normalised(path + query).replace("*", "%2A").replace("$", "%24")
        return next((rule.allows for rule in self.rules if rule.fits(target)), True)


def read_rules(text: str, agent: str) -> Rules:
    """Read a robots.txt; never raises, lines that say nothing are passed over.

    Args:
        text: of it.
        agent: by which name the program is known there, in lower case.
    """
    ours: list[tuple[str, str]] = []
    everybodys: list[tuple[str, str]] = []
    is_named = False
    agents: set[str] = set()
    has_rules = False
    for name, value in _lines(text):
        if name == "user-agent":
            if has_rules:
                agents, has_rules = set(), False
            agents.add(_agent(value))
            is_named = is_named or agent in agents
            continue
        has_rules = True
        if agent in agents:
            ours.append((name, value))
        if _EVERYBODY in agents:
            everybodys.append((name, value))
    return _rules(ours if is_named else everybodys)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Give the lines that count; blank ones, and names that the standard doesn't have, end no group."""
    for line in re.split(r"\r\n|\r|\n", text):
        name, colon, value = line.partition("#")[0].partition(":")
        name = name.strip().lower()
        if colon and (name == "user-agent" or name in _RULES):
            yield name, value.strip()


def _agent(value: str) -> str:
    """Give the name that a line is for, without a version behind it."""
    if value.startswith(_EVERYBODY):
        return _EVERYBODY
    found = _TOKEN.match(value.lower())
    return found[0] if found else ""


def _rules(lines: list[tuple[str, str]]) -> Rules:
    rules = {
        Rule(_normalised(value), name == "allow")
        for name, value in lines
        if name != "crawl-delay" and value
    }
    ordered = sorted(rules, key=lambda rule: (-len(rule.pattern), not rule.allows))
    delays = (_seconds(value) for name, value in lines if name == "crawl-delay")
    return Rules(tuple(ordered), max(delays, default=0.0))


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def _normalised(text: str) -> str:
    """Give a path so that two ways to write it are the same text."""
    return _ESCAPED.sub(_unescaped, quote(text, safe=_KEPT, errors="replace"))


def _unescaped(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if _UNRESERVED.fullmatch(character) else escape[0].upper()
