"""A real server on loopback that misbehaves byte by byte, and its certificates.

Each connection is given to a *script*: a function that receives the accepted socket and enacts the fault on
it. The last of a server's scripts handles all later connections.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import KnowledgeRagError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_OPENSSL_SECONDS: Final = 20

Script = Callable[[socket.socket, "RawServer"], None]
"""Handles one connection; an ``OSError`` ends it, since a client may disconnect at any time."""

PATIENCE_SECONDS: Final = 40.0
"""How long a script waits for a client: longer than any game day watches a client."""


class CannotRun(KnowledgeRagError):  # noqa: N818 - named for what it is
    """This machine lacks something that a fault needs; the message says what."""


class RawServer:
    """Listens on 127.0.0.1; close it when done.

    Args:
        scripts: one per connection, in this order; the last one for all later ones.
        tls: for every connection; see also :func:`secured`.
        port: to listen on, 0 for any free one.

    Attributes:
        connections: number accepted.
        requests: read so far, head and body each.
        stopping: set when the server closes; waiting scripts wait for it.
    """

    def __init__(self, *scripts: Script, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self._scripts = list(scripts)
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", port), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._accepted: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.stopping = threading.Event()
        self.connections = 0
        self.requests: list[tuple[bytes, bytes]] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Return its address for clients; certificates are for ``localhost``."""
        return f"https://localhost:{self.port}" if self._tls else f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Close the port and every connection, and wait for the scripts to end."""
        self.stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._accepted:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        for thread in self._threads:
            thread.join(5)
        for sock in self._accepted:
            sock.close()

    def read_request(self, sock: socket.socket) -> tuple[bytes, bytes]:
        """Read one request, head and body.

        Raises:
            ConnectionError: the client has gone.
        """
        data = b""
        while b"\r\n\r\n" not in data:
            data += _some(sock)
        head, body = data.split(b"\r\n\r\n", 1)
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        while len(body) < length:
            body += _some(sock)
        self.requests.append((head, body))
        return head, body

    def _serve(self) -> None:
        while not self.stopping.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._accepted.append(sock)
            script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
            thread = threading.Thread(target=self._run, args=(script, sock), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _run(self, script: Script, sock: socket.socket) -> None:
        with contextlib.suppress(OSError), sock:
            sock.settimeout(PATIENCE_SECONDS)
            if self._tls is None:
                script(sock, self)
                return
            with self._tls.wrap_socket(sock, server_side=True) as secured:
                script(secured, self)


@contextlib.contextmanager
def serving(*scripts: Script, tls: ssl.SSLContext | None = None) -> Iterator[RawServer]:
    """Run a server while the block runs."""
    server = RawServer(*scripts, tls=tls)
    try:
        yield server
    finally:
        server.close()


def _some(sock: socket.socket) -> bytes:
    data = sock.recv(65536)
    if not data:
        raise ConnectionResetError
    return data


REQUEST_ID: Final = "11111111-2222-3333-4444-555555555555"
"""The service's id of every request."""


def http(
    body: bytes | str | object = b"",
    status: str = "200 OK",
    *,
    content_type: str = "application/json",
    length: int | None = None,
    headers: tuple[str, ...] = (),
) -> bytes:
    """Return the bytes of a response.

    Args:
        body: sent as JSON, with NaN and Infinity as such, unless it is bytes or text.
        status: code and phrase.
        content_type: value of the header.
        length: announced instead of the body's own.
        headers: further lines.
    """
    if not isinstance(body, bytes | str):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    head = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body) if length is None else length}",
        f"x-amzn-requestid: {REQUEST_ID}",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def answering(*responses: bytes) -> Script:
    """Answer each request, on any connection, with the next response, then always the last one."""
    queue = list(responses)

    def script(sock: socket.socket, server: RawServer) -> None:
        while True:
            server.read_request(sock)
            sock.sendall(queue.pop(0) if len(queue) > 1 else queue[0])

    return script


def sending(data: bytes) -> Script:
    """Send ``data`` whatever the request was, then close without announcing it."""

    def script(sock: socket.socket, server: RawServer) -> None:
        server.read_request(sock)
        sock.sendall(data)

    return script


def silent(sock: socket.socket, server: RawServer) -> None:
    """Read the request and never answer."""
    server.read_request(sock)
    server.stopping.wait(PATIENCE_SECONDS)


def mute(_sock: socket.socket, server: RawServer) -> None:
    """Accept, and neither read nor write."""
    server.stopping.wait(PATIENCE_SECONDS)


def dripping(response: bytes, *, at_once: int, seconds: float = 0.3) -> Script:
    """Send ``at_once`` bytes, then one byte every ``seconds``."""

    def script(sock: socket.socket, server: RawServer) -> None:
        server.read_request(sock)
        sock.sendall(response[:at_once])
        for index in range(at_once, len(response)):
            if server.stopping.wait(seconds):
                return
            sock.sendall(response[index : index + 1])

    return script


def resetting(sock: socket.socket, server: RawServer) -> None:
    """Reset the connection instead of answering."""
    server.read_request(sock)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    sock.close()


def secured(script: Script, tls: ssl.SSLContext) -> Script:
    """Run a script over TLS, on a server whose other connections may be plain."""

    def over_tls(sock: socket.socket, server: RawServer) -> None:
        with tls.wrap_socket(sock, server_side=True) as wrapped:
            script(wrapped, server)

    return over_tls


@dataclass(frozen=True, slots=True)
class Certificate:
    """A self-signed certificate: the server's side of it, and the path of the PEM file for the client to trust."""

    tls: ssl.SSLContext
    bundle: str


def self_signed(folder: Path, host: str = "localhost") -> Certificate:
    """Create a certificate for ``host`` that is valid for a day.

    The ``openssl`` command makes it, since the standard library can't.

    Raises:
        CannotRun: there is no such command, or it can't do this.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        raise CannotRun("TLS needs the openssl command, to create a certificate")
    pem, key = folder / f"{host}.pem", folder / f"{host}.key"
    command = [
        openssl, "req", "-x509", "-nodes", "-days", "1",
        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}",
        "-keyout", str(key), "-out", str(pem),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, timeout=_OPENSSL_SECONDS, check=False)  # noqa: S603 - a fixed command
    if done.returncode:
        problem = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise CannotRun(f"openssl made no certificate: {problem}")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem, key)
    return Certificate(tls, str(pem))


@contextlib.contextmanager
def unanswered_port() -> Iterator[int]:
    """Yield a port on which a SYN gets no answer: its backlog is full and nothing accepts."""
    with socket.socket() as listener, contextlib.ExitStack() as waiting:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            sock = waiting.enter_context(socket.socket())
            sock.settimeout(0)
            sock.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


@contextlib.contextmanager
def refused_port() -> Iterator[int]:
    """Yield a port on which nothing listens, reserved while the block runs."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
