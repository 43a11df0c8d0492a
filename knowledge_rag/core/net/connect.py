"""Opens a connection under a deadline: name, proxy, TCP, TLS."""

from __future__ import annotations

import base64
import ipaddress
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.net.deadline import DeadlineSocket

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from knowledge_rag.core.net.deadline import Deadline
    from knowledge_rag.core.net.dns import Address, Resolver

MAX_ADDRESSES: Final = 3
"""Addresses of one name to try; each gets its share of the remaining time."""

MAX_PROXY_HEAD_BYTES: Final = 16_384
"""A proxy's response to CONNECT is a few hundred bytes; anything longer isn't from a proxy."""

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Endpoint(NamedTuple):
    """Where requests go: ``scheme`` is ``http`` or ``https``."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: SplitResult) -> Endpoint:
        """Return the endpoint of a URL.

        Raises:
            InvalidSettings: its port is invalid, or its scheme is neither ``http`` nor ``https``.
        """
        try:
            return cls(url.scheme, url.hostname or "", url.port or _DEFAULT_PORTS[url.scheme])
        except (KeyError, ValueError) as error:
            raise InvalidSettings(
                "endpoint URL: must be http://host:port or https://host:port"
            ) from error

    @property
    def authority(self) -> str:
        """The ``Host`` header, which is signed; it omits a default port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


class Proxy(NamedTuple):
    """An HTTP proxy.

    Args:
        host: its name or address.
        port: its port.
        authorization: value of the ``Proxy-Authorization`` header, ``""`` for none.
    """

    host: str
    port: int
    authorization: str = ""


def proxy_from_environment(endpoint: Endpoint) -> Proxy | None:
    """Return the proxy for ``endpoint`` from ``HTTP(S)_PROXY`` and ``NO_PROXY``, if any.

    Loopback is never proxied: no proxy can reach a knowledge base on this machine.

    Raises:
        InvalidSettings: the proxy itself needs TLS or SOCKS, or isn't a URL.
    """
    url = getproxies().get(endpoint.scheme)
    if not url or is_loopback(endpoint.host) or proxy_bypass(endpoint.authority):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or 80
    except ValueError:  # an invalid port or address
        parts, port = urlsplit(""), 0
    if parts.scheme != "http" or not parts.hostname:
        raise InvalidSettings(
            f"{endpoint.scheme.upper()}_PROXY: only http://host:port proxies are supported"
        )
    return Proxy(parts.hostname, port, _authorization(parts))


def _authorization(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def is_loopback(host: str) -> bool:
    """Return whether a host, by name or address, is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def tls_context(ca_bundle: str) -> ssl.SSLContext:
    """Create the context that verifies certificate and host name against ``ca_bundle``.

    Args:
        ca_bundle: a PEM file, or a directory of them under their hashes.

    Raises:
        InvalidSettings: there is no usable bundle at that path.
    """
    try:
        if Path(ca_bundle).is_dir():
            context = ssl.create_default_context(capath=ca_bundle)
        else:
            context = ssl.create_default_context(cafile=ca_bundle)
    except OSError as error:
        raise InvalidSettings(f"certificate bundle {ca_bundle!r}: {error}") from error
    context.set_alpn_protocols(["http/1.1"])
    return context


@dataclass(frozen=True, slots=True)
class Connector:
    """Opens connections to one endpoint.

    Args:
        endpoint: the peer.
        resolver: finds addresses.
        tls: verifies the peer; ``None`` only if the endpoint is plain ``http``.
        proxy: the proxy in between, if any.
    """

    endpoint: Endpoint
    resolver: Resolver
    tls: ssl.SSLContext | None = None
    proxy: Proxy | None = None

    def open(self, deadline: Deadline) -> DeadlineSocket:
        """Open a connection and return it ready for a request.

        Raises:
            OSError: it failed (refused, unreachable, TLS, name; ``TimeoutError`` at the deadline).
        """
        host, port = self.endpoint.host, self.endpoint.port
        if self.proxy is not None:
            host, port = self.proxy.host, self.proxy.port
        sock = self._reach(host, port, deadline)
        try:
            if self.tls is None:
                return DeadlineSocket(sock, deadline)
            if self.proxy is not None:
                _tunnel(DeadlineSocket(sock, deadline), self.endpoint, self.proxy)
            sock = self.tls.wrap_socket(
                sock, server_hostname=self.endpoint.host, do_handshake_on_connect=False
            )
            # the timeout bounds the whole handshake, not each round trip
            deadline.patiently(sock, sock.do_handshake)
            return DeadlineSocket(sock, deadline)
        except BaseException:
            sock.close()
            raise

    def _reach(self, host: str, port: int, deadline: Deadline) -> socket.socket:
        addresses = self.resolver.resolve(host, port, deadline)[:MAX_ADDRESSES]
        failure = OSError(f"{host!r} has no address")
        for index, address in enumerate(addresses):
            try:
                return _dial(address, deadline.remaining() / (len(addresses) - index))
            except OSError as error:
                failure = error
        self.resolver.forget(host, port)
        raise failure


def _dial(address: Address, seconds: float) -> socket.socket:
    family, kind, proto, where = address
    sock = socket.socket(family, kind, proto)
    try:
        sock.settimeout(seconds)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect(where)
    except BaseException:
        sock.close()
        raise
    return sock


def _tunnel(sock: DeadlineSocket, endpoint: Endpoint, proxy: Proxy) -> None:
    target = f"{endpoint.authority.removesuffix(f':{endpoint.port}')}:{endpoint.port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    sock.sendall("\r\n".join([*lines, "", ""]).encode())
    status = b"1"
    while status.startswith(b"1"):  # interim responses precede the final one
        head = _head(sock)
        status = head.split(b"\r\n", 1)[0].partition(b" ")[2]
    if not status.startswith(b"2"):
        raise ConnectionError(f"the proxy refused CONNECT: {head[:40]!r}")


def _head(sock: DeadlineSocket) -> bytes:
    head, byte = bytearray(), bytearray(1)
    while not head.endswith(b"\r\n\r\n"):  # byte by byte: what follows belongs to TLS
        if not sock.recv_into(byte) or len(head) > MAX_PROXY_HEAD_BYTES:
            raise ConnectionError("the proxy closed the connection or isn't a proxy")
        head += byte
    return bytes(head)
