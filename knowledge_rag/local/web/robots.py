"""What a site allows programs to fetch, by its robots.txt (RFC 9309)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from protego import Protego

from knowledge_rag.local.web.fetching import AGENT, NotFetched, fetch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from knowledge_rag.local.web.fetching import FetchLimits

MAX_BYTES: Final = 500 * 1024
"""Of a robots.txt, as much as the standard asks for; a larger one forbids what it may."""
MAX_DELAY: Final = 30.0
"""Seconds between two pages that a site may ask for; one that asks for more gets these."""
_REFUSED: Final = frozenset((401, 403, 429))
"""A site that refuses its rules forbids everything; every other 4xx means that it has none."""
_VERSION: Final = re.compile(
    r"^([ \t]*user-agent[ \t]*:[ \t]*[a-z_-]+)/[^\s#]*", re.IGNORECASE | re.MULTILINE
)
"""Behind the name of a program, where the standard has none."""


def read_rules(text: str) -> Protego:
    """Read the text of a robots.txt; never raises, lines that are no rules are skipped."""
    return Protego.parse(_VERSION.sub(r"\1", text))


class Robots:
    """The rules of each site, read once; ``pause`` is awaited with each address before it is asked."""

    def __init__(self, limits: FetchLimits, pause: Callable[[str], Awaitable[None]]) -> None:
        self._limits = limits
        self._pause = pause
        self._rules: dict[str, Protego | str] = {}

    async def check(self, address: str) -> None:
        """Raise ``NotFetched`` where a site forbids a page, or its rules can't be had."""
        rules = await self._of(address)
        if isinstance(rules, str):
            raise NotFetched(
                f"robots.txt can't be had ({rules}), so nothing of that site is fetched"
            )
        if not rules.can_fetch(address, AGENT):
            raise NotFetched("robots.txt forbids it")

    def delay(self, address: str) -> float:
        """Return the seconds between two pages that a site asks for; 0 where it doesn't say."""
        rules = self._rules.get(_site(address))
        asked = rules.crawl_delay(AGENT) if isinstance(rules, Protego) else None
        return min(asked or 0.0, MAX_DELAY)

    async def _of(self, address: str) -> Protego | str:
        site = _site(address)
        if site not in self._rules:
            self._rules[site] = await self._read(site)
        return self._rules[site]

    async def _read(self, site: str) -> Protego | str:
        """Return a site's rules, or why they can't be had."""
        try:
            answer = await fetch(f"{site}/robots.txt", self._limits, self._pause)
        except NotFetched as error:
            return str(error)
        if answer.status == 200:
            if len(answer.body) > MAX_BYTES:
                return f"larger than {MAX_BYTES // 1024} KiB"
            return read_rules(answer.body.decode("utf-8-sig", errors="replace"))
        if 400 <= answer.status < 500 and answer.status not in _REFUSED:
            return read_rules("")
        return f"HTTP {answer.status}"


def _site(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"
