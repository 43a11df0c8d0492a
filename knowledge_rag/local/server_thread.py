"""Runs an ASGI server in a thread, on a port of the loopback interface."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Final

from knowledge_rag.local.errors import ServerFailed

if TYPE_CHECKING:
    import uvicorn

LOOPBACK: Final = "127.0.0.1"
_START_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 5.0
_BACKLOG: Final = 128


class ServerThread:
    """A server, from :meth:`start` to :meth:`stop`.

    Args:
        server: that is to run.
        name: of it, for people and of the thread.
        port: 0 takes a free one.
        option: of the command line, which sets the port; named where the port is taken.
    """

    def __init__(
        self, server: uvicorn.Server, name: str, port: int, option: str = "--port"
    ) -> None:
        self._server = server
        self._name = name
        self._port = port
        self._option = option
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address without a path, e.g. ``http://127.0.0.1:49152``."""
        return f"http://{LOOPBACK}:{self._port}"

    def start(self) -> None:
        """Take the port and serve.

        Raises:
            ServerFailed: the port is taken or the server does not start.
        """
        self._socket = listening_on(LOOPBACK, self._port, self._option)
        self._port = self._socket.getsockname()[1]
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name=self._name, daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.stop()
                raise ServerFailed(f"the {self._name} did not start at {self.url}")
            time.sleep(0.002)

    def stop(self) -> None:
        """End it and let go of the port."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
        if self._socket is not None:
            self._socket.close()


def listening_on(host: str, port: int, option: str = "--port") -> socket.socket:
    """Take a port of an address.

    Args:
        host: an address of this machine.
        port: 0 takes a free one.
        option: of the command line, which sets the port.

    Raises:
        ServerFailed: another process uses it, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # the protocol by name: asyncio turns Nagle's algorithm off only where it is given, and with it
    # on a response waits 40 ms for the client's acknowledgement of its headers
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # elsewhere it would let two processes listen on one port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            reason = "another process uses this port"
        hint = f"choose another with {option}, or 0 for a free one"
        raise ServerFailed(f"can't listen on {host}:{port}: {reason}; {hint}") from error
    return listening
