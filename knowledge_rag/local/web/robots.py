"""What a site allows programs to fetch, by its robots.txt (RFC 9309).

A robots.txt is a stranger's text: patterns are matched from left to right without going back, so none
takes longer than its length and the address's together.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from knowledge_rag.local.web.fetching import AGENT, NotFetched, fetch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from knowledge_rag.local.web.fetching import FetchLimits


_EVERYBODY: Final = "*"
_TOKEN: Final = re.compile(r"[a-z_-]+")
_RULES: Final = frozenset(("allow", "disallow", "crawl-delay"))
_ESCAPED: Final = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED: Final = re.compile(r"[A-Za-z0-9._~-]")
_KEPT: Final = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
"""ASCII that is compared as it stands; what is none is compared as its escaped UTF-8."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line that allows or forbids; in its pattern ``*`` is anything, a last ``$`` the end."""

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
    """A site's rules for one program, the longest pattern first, and the seconds between two pages."""

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
    """Read the rules of a robots.txt for a program; never raises, other lines are skipped."""
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
    """Yield the lines that count; blank ones, and names that the standard doesn't have, end no group."""
    for line in re.split(r"\r\n|\r|\n", text):
        name, colon, value = line.partition("#")[0].partition(":")
        name = name.strip().lower()
        if colon and (name == "user-agent" or name in _RULES):
            yield name, value.strip()


def _agent(value: str) -> str:
    """Return the name that a line is for, without a version behind it."""
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
    """Normalise a path: each has one spelling."""
    return _ESCAPED.sub(_unescaped, quote(text, safe=_KEPT, errors="replace"))


def _unescaped(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if _UNRESERVED.fullmatch(character) else escape[0].upper()


MAX_BYTES: Final = 500 * 1024
"""Of a robots.txt, as much as the standard asks for; a larger one forbids what it may."""
MAX_DELAY: Final = 30.0
"""Seconds between two pages that a site may ask for; one that asks for more gets these."""
_REFUSED: Final = frozenset((401, 403, 429))
"""Who may not read the rules is not wanted; every other 4xx says that there are none."""


class Robots:
    """The rules of each site, read once; ``pause`` is awaited with each address before it is asked."""

    def __init__(self, limits: FetchLimits, pause: Callable[[str], Awaitable[None]]) -> None:
        self._limits = limits
        self._pause = pause
        self._rules: dict[str, Rules | str] = {}

    async def check(self, address: str) -> None:
        """Raise ``NotFetched`` where a site forbids a page, or its rules can't be had."""
        rules = await self._of(address)
        if isinstance(rules, str):
            raise NotFetched(
                f"robots.txt can't be had ({rules}), so nothing of that site is fetched"
            )
        if not rules.allow(address):
            raise NotFetched("robots.txt forbids it")

    def delay(self, address: str) -> float:
        """Give the seconds between two pages that a site asks for; 0 where it doesn't say."""
        rules = self._rules.get(_site(address))
        return min(rules.delay, MAX_DELAY) if isinstance(rules, Rules) else 0.0

    async def _of(self, address: str) -> Rules | str:
        site = _site(address)
        if site not in self._rules:
            self._rules[site] = await self._read(site)
        return self._rules[site]

    async def _read(self, site: str) -> Rules | str:
        """Return a site's rules, or why they can't be had."""
        try:
            answer = await fetch(f"{site}/robots.txt", self._limits, self._pause)
        except NotFetched as error:
            return str(error)
        if answer.status == 200:
            if len(answer.body) > MAX_BYTES:
                return f"larger than {MAX_BYTES // 1024} KiB"
            return read_rules(answer.body.decode("utf-8-sig", errors="replace"), AGENT)
        if 400 <= answer.status < 500 and answer.status not in _REFUSED:
            return Rules()
        return f"HTTP {answer.status}"


def _site(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"
