"""One page over HTTP: bounded in time, size and redirects, and only from where it may be asked.

Each request has a connection of its own, so that none made for one host serves another, and a proxy is
not used, because it would resolve names again. The whole of it, a server that drips included, ends when
the time is up.
"""

from __future__ import annotations

import asyncio
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag, urljoin

import httpx

from knowledge_rag.extract.addresses import web_address
from knowledge_rag.local.web.errors import NotFetched
from knowledge_rag.local.web.hosts import address_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from ssl import SSLContext

    Gate = Callable[[str], Awaitable[None]]

AGENT: Final = "knowledge-rag"
"""By which robots.txt knows this program."""
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_UNZIP: Final = 31  # zlib's number for gzip
_MAX_MEMBERS: Final = 1_000
_MEBIBYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Bounds of one page.

    Args:
        max_bytes: of its body, unpacked.
        seconds: for all of it: names, connections, redirects, body; waiting to be polite apart.
        redirects: that are followed at most.
        private: whether machines of this network and this machine itself may be asked.
    """

    max_bytes: int = 20 * _MEBIBYTE
    seconds: float = 60.0
    redirects: int = 5
    private: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a server answered.

    Args:
        address: that answered, behind all redirects.
        status: of HTTP.
        headers: by name in lower case.
        body: unpacked; empty unless the status is 200.
    """

    address: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


async def fetch(
    address: str, limits: FetchLimits, gate: Gate, headers: Mapping[str, str] | None = None
) -> Fetched:
    """Fetch a page.

    Args:
        address: http or https.
        limits: of it.
        gate: awaited with each address before it is asked, redirects too; raises ``NotFetched`` to
            refuse one.
        headers: beside those of every request.

    Raises:
        NotFetched: there was no answer that can be used; says why.
    """
    now = asyncio.get_running_loop().time
    left = limits.seconds
    for _ in range(limits.redirects + 1):
        await gate(address)  # to be polite may take its own time
        started = now()
        try:
            async with asyncio.timeout(left):
                answer = await _ask(address, limits, headers or {})
        except TimeoutError as error:
            raise NotFetched(f"took longer than {limits.seconds:g} s") from error
        left -= now() - started
        location = answer.headers.get("location")
        if answer.status not in _REDIRECTS or not location:
            return answer
        address = _next(address, location)
    raise NotFetched(f"redirected more than {limits.redirects} times")


def _next(address: str, location: str) -> str:
    try:
        following = web_address(urldefrag(urljoin(address, location)).url)
    except ValueError:
        following = None
    if following is None:
        raise NotFetched("redirected to what is no http or https address")
    if address.startswith("https:") and not following.startswith("https:"):
        raise NotFetched(f"redirected from https to {following}")
    return following


async def _ask(address: str, limits: FetchLimits, headers: Mapping[str, str]) -> Fetched:
    try:
        url = httpx.URL(address)
        port = url.port or (443 if url.scheme == "https" else 80)
        machine = await address_of(url.raw_host.decode("ascii"), port, private=limits.private)
        request = httpx.Request(
            "GET",
            url.copy_with(host=machine),
            headers={
                "Host": url.netloc.decode("ascii"),
                "User-Agent": AGENT,
                "Accept": "text/html, application/xhtml+xml, application/pdf, text/plain;q=0.9, */*;q=0.1",
                "Accept-Encoding": "gzip",
                **headers,
            },
            extensions={"sni_hostname": url.raw_host.decode("ascii"), "timeout": _timeouts(limits)},
        )
        # not through a client: it would follow proxies of the environment, and keep cookies
        async with httpx.AsyncHTTPTransport(verify=_trusted(), trust_env=False) as transport:
            answer = await transport.handle_async_request(request)
            try:
                return await _read(address, answer, limits)
            finally:
                await answer.aclose()
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise NotFetched(_said(error)) from error


@lru_cache(maxsize=1)
def _trusted() -> SSLContext:
    """Give whose certificates count; ``SSL_CERT_FILE`` names an organisation's own."""
    return httpx.create_ssl_context()


def _timeouts(limits: FetchLimits) -> dict[str, float]:
    return dict.fromkeys(("connect", "read", "write", "pool"), limits.seconds)


async def _read(address: str, answer: httpx.Response, limits: FetchLimits) -> Fetched:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    if answer.status_code != 200:
        return Fetched(address, answer.status_code, headers)
    packing = headers.get("content-encoding", "").strip().lower()
    if packing not in ("", "identity", "gzip", "x-gzip"):
        raise NotFetched(f"packed as {packing}, which was not asked for")
    body = _Body(limits.max_bytes, packed=packing.endswith("gzip"))
    assert isinstance(answer.stream, httpx.AsyncByteStream)  # noqa: S101 - an async transport's
    async for part in answer.stream:
        body.add(part)
    return Fetched(address, 200, headers, body.whole())


class _Body:
    """Collects a body, and unpacks no more of it than is allowed."""

    def __init__(self, max_bytes: int, *, packed: bool) -> None:
        self._max = max_bytes
        self._unpacking = zlib.decompressobj(_UNZIP) if packed else None
        self._parts = bytearray()
        self._members = 1

    def add(self, part: bytes) -> None:
        while self._unpacking is not None and part:
            try:
                self._append(self._unpacking.decompress(part, self._max + 1 - len(self._parts)))
            except zlib.error as error:
                raise NotFetched("what it sent can't be unpacked") from error
            part = self._unpacking.unused_data
            if part:  # one packed file may be followed by another, which goes on where it ends
                self._members += 1
                if self._members > _MAX_MEMBERS:
                    raise NotFetched("what it sent is packed in too many pieces")
                self._unpacking = zlib.decompressobj(_UNZIP)
        if self._unpacking is None:
            self._append(part)

    def _append(self, part: bytes) -> None:
        self._parts += part
        if len(self._parts) > self._max:
            raise NotFetched(f"larger than {self._max / _MEBIBYTE:.3g} MiB")

    def whole(self) -> bytes:
        if self._unpacking is not None and not self._unpacking.eof:
            raise NotFetched("what it sent ends early")
        return bytes(self._parts)


def _said(error: Exception) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "did not answer in time"
    if isinstance(error, httpx.ConnectError):
        return f"can't be reached: {_short(error)}"
    if isinstance(error, httpx.RemoteProtocolError):
        return f"answered no proper HTTP: {_short(error)}"
    return f"the connection failed: {_short(error)}"


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
