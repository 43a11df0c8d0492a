"""Which machines pages are fetched from: those of the public internet, unless told otherwise.

A list of addresses may come from anyone, and so may a redirect. So a name is resolved here, each of its
addresses is looked at, and the connection goes to the address that was looked at, not to the name again.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Final

from knowledge_rag.local.web.errors import NotFetched

if TYPE_CHECKING:
    from collections.abc import Iterator

Address = IPv4Address | IPv6Address

_SERVICES: Final = frozenset(
    map(
        ip_address,
        ("169.254.169.254", "169.254.170.2", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
         "168.63.129.16", "100.100.100.200", "192.0.0.192"),
    )
)  # fmt: skip
"""Where clouds tell a machine its credentials: never a page's, whatever is allowed."""
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
_TRANSLATED_HERE: Final = IPv6Network("64:ff9b:1::/48")
_COMPATIBLE: Final = IPv6Network("::/96")
_LOW: Final = 0xFFFFFFFF


async def address_of(host: str, port: int, *, private: bool) -> str:
    """Give the address to connect to for a host.

    Args:
        host: a name or an address.
        port: of the server.
        private: whether machines of this network and this machine itself may be asked.

    Raises:
        NotFetched: there is no such host, or one of its addresses may not be asked.
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
        hint = "--allow-private lets this network's machines be asked"
        return f"{shown} is a private address; {hint}"
    return f"{shown} is an address that no page is fetched from, whatever is allowed"


def may_ask(address: str, *, private: bool) -> bool:
    """Whether a machine may be asked for pages, by its address."""
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
    """Give the machines that an address may lead to: of IPv4, where one is written in it."""
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
    """Whether it is ``::a.b.c.d``; ``::`` and ``::1`` are addresses of their own."""
    return address in _COMPATIBLE and int(address) > 1


def _translated_here(octets: bytes) -> Iterator[Address]:
    """Give the IPv4 address at the end, or each there may be where a shorter prefix puts it (RFC 6052)."""
    yield IPv4Address(octets[12:])
    if any(octets[6:12]):
        yield IPv4Address(octets[6:8] + octets[9:11])
        yield IPv4Address(octets[7:8] + octets[9:12])
        yield IPv4Address(octets[9:13])
