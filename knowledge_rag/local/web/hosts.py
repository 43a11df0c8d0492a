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
    map(ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192"))
)
"""Where clouds tell a machine its credentials: never a page's, whatever is allowed."""
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")


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
            hint = "" if private else "; --allow-private lets this network's machines be asked"
            raise NotFetched(f"{host} is {address}, no address of the public internet{hint}")
    return addresses[0]


def may_ask(address: str, *, private: bool) -> bool:
    """Whether a machine may be asked for pages, by its address."""
    try:
        meant = list(_meant(ip_address(address.partition("%")[0])))
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
    """Give an address, and the one of IPv4 that is written in it."""
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        if mapped is not None:
            yield mapped
            return
        if address.sixtofour is not None:
            yield address.sixtofour
        if address in _TRANSLATED:
            yield IPv4Address(int(address) & 0xFFFFFFFF)
    yield address
