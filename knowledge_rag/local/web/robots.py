"""The rules of a site for programs: its robots.txt (RFC 9309)."""

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
"""Maximum bytes of a robots.txt, the least that the standard requires; a larger one forbids everything."""
MAX_DELAY: Final = 30.0
"""Maximum seconds between two pages that a site may ask for; a longer delay is cut to this."""
_REFUSED: Final = frozenset((401, 403, 429))
"""A site that refuses access to its rules forbids everything; any other 4xx means that it has none."""
_VERSION: Final = re.compile(
    r"^([ \t]*user-agent[ \t]*:[ \t]*[a-z_-]+)/[^\s#]*", re.IGNORECASE | re.MULTILINE
)
"""A version after the name of a program, which the standard doesn't allow."""


def read_rules(text: str) -> Protego:
    """Parse a robots.txt; never raises, invalid lines are skipped."""
    return Protego.parse(_VERSION.sub(r"\1", text))


class Robots:
    """The rules of each site, read once; ``pause`` is awaited with each address before it is fetched."""

    def __init__(self, limits: FetchLimits, pause: Callable[[str], Awaitable[None]]) -> None:
        self._limits = limits
        self._pause = pause
        self._rules: dict[str, Protego | str] = {}

    async def check(self, address: str) -> None:
        """Raise ``NotFetched`` if a site forbids a page, or its rules aren't available."""
        rules = await self._of(address)
        if isinstance(rules, str):
            raise NotFetched(
                f"robots.txt isn't available ({rules}), so nothing is fetched from that site"
            )
        if not rules.can_fetch(address, AGENT):
            raise NotFetched("robots.txt forbids it")

    def delay(self, address: str) -> float:
        """Return the seconds between two pages that a site asks for; 0 if it doesn't say."""
        rules = self._rules.get(_site(address))
        asked = rules.crawl_delay(AGENT) if isinstance(rules, Protego) else None
        return min(asked or 0.0, MAX_DELAY)

    async def _of(self, address: str) -> Protego | str:
        site = _site(address)
        if site not in self._rules:
            self._rules[site] = await self._read(site)
        return self._rules[site]

    async def _read(self, site: str) -> Protego | str:
        """Return a site's rules, or why they aren't available."""
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
