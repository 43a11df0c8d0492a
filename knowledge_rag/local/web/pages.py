"""Saves web pages in a folder of the corpus: fetches each address of a list politely, saves changed pages."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urldefrag, urlsplit

from protego import Protego

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.repository_links import web_address
from knowledge_rag.local.web.fetching import AGENT, FetchLimits, NotFetched, fetch
from knowledge_rag.local.web.saved import SavedPages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from pathlib import Path

    from knowledge_rag.local.web.saved import Note


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


MAX_ADDRESSES: Final = 1_000
"""Maximum addresses in a list; a whole site is a crawler's job."""

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class WebSettings:
    """How pages are fetched; ``delay`` is the minimum seconds between requests to a host."""

    limits: FetchLimits = field(default_factory=FetchLimits)
    delay: float = 1.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Clock, sleep, and the receiver of warnings about earlier runs."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    today: Callable[[], datetime] = lambda: datetime.now(UTC)
    warn: Callable[[str], None] = lambda _: None


class PageState(StrEnum):
    """The result of fetching a page."""

    SAVED = "saved"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    KEPT = "kept"
    """It could not be fetched, and its saved version stays."""


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """The result for one address of the list: its file below the corpus, or the reason that it has none."""

    address: str
    state: PageState
    file: str = ""
    reason: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether the saved page isn't the current one."""
        return self.state in (PageState.FAILED, PageState.KEPT)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        shown = {"url": self.address, "state": self.state.value}
        return shown | {k: v for k, v in (("file", self.file), ("reason", self.reason)) if v}


def read_addresses(name: str, data: bytes) -> list[str]:
    """Read a list of addresses: one per line; blank lines and lines that begin with ``#`` are ignored.

    Raises:
        InvalidRequest: it is too long, not text, or empty.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{name} is not a list of addresses: not UTF-8") from error
    lines = (line.strip() for line in text.split("\n"))
    addresses = list(dict.fromkeys(line for line in lines if line and not line.startswith("#")))
    if len(addresses) > MAX_ADDRESSES:
        raise InvalidRequest(f"{name} lists more than {MAX_ADDRESSES} addresses")
    if not addresses:
        raise InvalidRequest(f"{name} lists no address: put one on each line")
    return addresses


def fetch_pages(
    root: Path,
    addresses: Sequence[str],
    settings: WebSettings,
    *,
    progress: Progress | None = None,
    surroundings: Surroundings | None = None,
) -> tuple[PageOutcome, ...]:
    """Update the saved pages of a corpus; a page that can't be fetched is reported, and the others continue.

    Returns one outcome for each address, in order. ``progress`` is called with the amount done, the total, and
    the phase.

    Raises:
        OSError: a page can't be written.
    """
    run = _Run(root, settings, surroundings or Surroundings())
    return asyncio.run(run.carry_out(addresses, progress or (lambda *_: None)))


class _Run:
    def __init__(self, root: Path, settings: WebSettings, surroundings: Surroundings) -> None:
        self._saved = SavedPages(root)
        for warning in self._saved.warnings:
            surroundings.warn(warning)
        self._settings = settings
        self._around = surroundings
        self._robots = Robots(settings.limits, self._pause)
        self._asked: dict[str, float] = {}  # time of each host's last request

    async def carry_out(
        self, addresses: Sequence[str], progress: Progress
    ) -> tuple[PageOutcome, ...]:
        outcomes = []
        try:
            for done, address in enumerate(addresses):
                progress(done, len(addresses), "fetching")
                outcomes.append(await self._bring(address))
            progress(len(addresses), len(addresses), "fetching")
        finally:
            if any(not outcome.is_failure for outcome in outcomes):
                self._saved.write_notes()
        return tuple(outcomes)

    async def _bring(self, given: str) -> PageOutcome:
        address = web_address(urldefrag(given).url) if given.isprintable() else None
        if address is None:
            return PageOutcome(given, PageState.FAILED, reason="not an http or https address")
        known = self._saved.known(address)
        try:
            return await self._fetch(given, address, known)
        except NotFetched as error:
            if known is None:
                return PageOutcome(given, PageState.FAILED, reason=str(error))
            reason = f"{error}; the version saved on {known.fetched_at[:10]} is kept"
            return PageOutcome(given, PageState.KEPT, known.file, reason)

    async def _fetch(self, given: str, address: str, known: Note | None) -> PageOutcome:
        answer = await fetch(address, self._settings.limits, self._gate, _conditions(known))
        if answer.status == 304 and known is not None:
            return PageOutcome(given, PageState.UNCHANGED, known.file)
        if answer.status != 200:
            raise NotFetched(f"HTTP {answer.status}")
        now = self._around.today().isoformat(timespec="seconds")
        file, changed = self._saved.save(address, answer, now)
        return PageOutcome(given, PageState.SAVED if changed else PageState.UNCHANGED, file)

    async def _gate(self, address: str) -> None:
        await self._robots.check(address)
        await self._pause(address)

    async def _pause(self, address: str) -> None:
        host = urlsplit(address).netloc
        delay = max(self._settings.delay, self._robots.delay(address))
        asked = self._asked.get(host)
        if asked is not None and (left := asked + delay - self._around.clock()) > 0:
            await self._around.sleep(left)
        self._asked[host] = self._around.clock()


def _conditions(known: Note | None) -> dict[str, str]:
    if known is None:
        return {}
    conditions = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
    return {name: value for name, value in conditions.items() if value}
