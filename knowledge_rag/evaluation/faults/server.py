"""A real server on loopback that does byte for byte what a fault is, and no more.

Each connection is handed to a *script*: a function that gets the accepted socket and does with it
whatever the fault is. Scripts are queued; the last one stays for all later connections.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

Script = Callable[[socket.socket, "RawServer"], None]
"""What to do with one connection; an ``OSError`` ends it, for a client may always go."""

PATIENCE_SECONDS: Final = 40.0
"""How long a script waits for a client: longer than any client of a game day is watched."""


class RawServer:
    """Listens on 127.0.0.1; close it when done.

    Args:
        scripts: one a connection, in this order; the last one for all that follow.
        tls: answers every connection over TLS with it; see also :func:`scripts.secured`.
        port: to listen on, 0 for any free one.

    Attributes:
        port: that it listens on.
        connections: how many connections were accepted.
        requests: the requests read so far, head and body each.
        stopping: set when the server closes; scripts that wait, wait for it.
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
        """Where a client reaches it; certificates are made for ``localhost``."""
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
