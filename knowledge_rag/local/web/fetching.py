"""Fetches pages over HTTP: limited in time, size and redirects, and only from allowed addresses.

Each request has its own connection, so that one host's connection never serves another, and no proxy is used,
because it would resolve names again. All of it, slow servers included, ends at the time limit. A list of
addresses may come from anyone, and so may a redirect: a name is resolved here, each of its addresses is
checked, and the connection goes to a checked address.
"""

from __future__ import annotations

import asyncio
import socket
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag, urljoin

import httpx

from knowledge_rag.core.repository_links import web_address

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from ssl import SSLContext

    Gate = Callable[[str], Awaitable[None]]


class NotFetched(Exception):  # noqa: N818 - named for what it is
    """A page that was not fetched; the message is one clause that a person can act on."""


Address = IPv4Address | IPv6Address

_SERVICES: Final = frozenset(
    map(
        ip_address,
        ("169.254.169.254", "169.254.170.2", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
         "168.63.129.16", "100.100.100.200", "192.0.0.192"),
    )
)  # fmt: skip
"""Addresses where clouds give a machine its credentials: never fetched, whatever is allowed."""
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
_TRANSLATED_HERE: Final = IPv6Network("64:ff9b:1::/48")
_COMPATIBLE: Final = IPv6Network("::/96")
_LOW: Final = 0xFFFFFFFF


async def address_of(host: str, port: int, *, private: bool) -> str:
    """Return the address to connect to for a host.

    Raises:
        NotFetched: there is no such host, or one of its addresses isn't allowed.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )
    except (OSError, UnicodeError) as error:
        raise NotFetched(f"there is no host {host}") from error
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        if not may_ask(address, private=private):
            raise NotFetched(_refusal(host, address))
    return addresses[0]


def _refusal(host: str, address: str) -> str:
    shown = host if host == address else f"{host} ({address})"
    if may_ask(address, private=True):
        hint = "--allow-private allows addresses in this network"
        return f"{shown} is a private address; {hint}"
    return f"{shown} is an address that is never fetched, whatever is allowed"


def may_ask(address: str, *, private: bool) -> bool:
    """Whether pages may be fetched from an address."""
    try:
        meant = tuple(_meant(ip_address(address.partition("%")[0])))
    except ValueError:
        return False
    return all(_is_allowed(one, private=private) for one in meant)


def _is_allowed(address: Address, *, private: bool) -> bool:
    if address in _SERVICES or address.is_multicast or address.is_unspecified:
        return False
    if private:
        return not address.is_link_local
    return address.is_global and not (address.version == 6 and address.is_site_local)


def _meant(address: Address) -> Iterator[Address]:
    """Yield the machines that an address may lead to: also an IPv4 address embedded in it."""
    if not isinstance(address, IPv6Address):
        yield address
    elif address in _TRANSLATED_HERE:
        yield from _translated_here(address.packed)
    elif address.ipv4_mapped is not None or address in _TRANSLATED or _is_compatible(address):
        yield IPv4Address(int(address) & _LOW)
    else:
        if address.sixtofour is not None:
            yield address.sixtofour
        yield address


def _is_compatible(address: IPv6Address) -> bool:
    """Whether it is ``::a.b.c.d``; ``::`` and ``::1`` are addresses themselves."""
    return address in _COMPATIBLE and int(address) > 1


def _translated_here(octets: bytes) -> Iterator[Address]:
    """Yield the IPv4 address at the end, or each possible one for a shorter prefix (RFC 6052)."""
    yield IPv4Address(octets[12:])
    if any(octets[6:12]):
        yield IPv4Address(octets[6:8] + octets[9:11])
        yield IPv4Address(octets[7:8] + octets[9:12])
        yield IPv4Address(octets[9:13])


AGENT: Final = "knowledge-rag"
"""This program's name in robots.txt."""
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_UNZIP: Final = 31  # zlib's number for gzip
_MAX_MEMBERS: Final = 1_000
_MEBIBYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of one page.

    Args:
        max_bytes: of its body, decompressed.
        seconds: for all of it: names, connections, redirects, body; not counting polite pauses.
        redirects: maximum number to follow.
        private: whether this machine and others in its network are allowed.
    """

    max_bytes: int = 20 * _MEBIBYTE
    seconds: float = 60.0
    redirects: int = 5
    private: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """A server's answer after all redirects; the body is decompressed, empty unless the status is 200."""

    address: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


async def fetch(
    address: str, limits: FetchLimits, gate: Gate, headers: Mapping[str, str] | None = None
) -> Fetched:
    """Fetch a page over http or https.

    The gate is awaited with each address before it is fetched, redirects too; it raises ``NotFetched`` to refuse one.

    Raises:
        NotFetched: there was no usable answer; the message says why.
    """
    now = asyncio.get_running_loop().time
    left = limits.seconds
    for _ in range(limits.redirects + 1):
        await gate(address)  # politeness isn't limited in time
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
        raise NotFetched("redirected to something other than an http or https address")
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
        # without a client: it would use the environment's proxies, and keep cookies
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
    """Return the trusted certificates; ``SSL_CERT_FILE`` adds an organisation's own."""
    return httpx.create_ssl_context()


def _timeouts(limits: FetchLimits) -> dict[str, float]:
    return dict.fromkeys(("connect", "read", "write", "pool"), limits.seconds)


async def _read(address: str, answer: httpx.Response, limits: FetchLimits) -> Fetched:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    if answer.status_code != 200:
        return Fetched(address, answer.status_code, headers)
    packing = headers.get("content-encoding", "").strip().lower()
    if packing not in ("", "identity", "gzip", "x-gzip"):
        raise NotFetched(f"compressed as {packing}, which was not requested")
    body = _Body(limits.max_bytes, packed=packing.endswith("gzip"))
    assert isinstance(answer.stream, httpx.AsyncByteStream)  # noqa: S101 - an async transport's
    async for part in answer.stream:
        body.add(part)
    return Fetched(address, 200, headers, body.whole())


class _Body:
    """Collects a body, and decompresses no more of it than is allowed."""

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
                raise NotFetched("the body can't be decompressed") from error
            part = self._unpacking.unused_data
            if part:  # one compressed file may be followed by another
                self._members += 1
                if self._members > _MAX_MEMBERS:
                    raise NotFetched("the body is compressed in too many pieces")
                self._unpacking = zlib.decompressobj(_UNZIP)
        if self._unpacking is None:
            self._append(part)

    def _append(self, part: bytes) -> None:
        self._parts += part
        if len(self._parts) > self._max:
            raise NotFetched(f"larger than {self._max / _MEBIBYTE:.3g} MiB")

    def whole(self) -> bytes:
        if self._unpacking is not None and not self._unpacking.eof:
            raise NotFetched("the body ends early")
        return bytes(self._parts)


def _said(error: Exception) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "did not answer in time"
    if isinstance(error, httpx.ConnectError):
        return f"can't be reached: {_short(error)}"
    if isinstance(error, httpx.RemoteProtocolError):
        return f"sent invalid HTTP: {_short(error)}"
    return f"the connection failed: {_short(error)}"


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
