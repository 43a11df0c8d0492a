"""Ports at which a connection does not come about."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def unanswered_port() -> Iterator[int]:
    """Give a port on which a SYN gets no answer: its backlog is full and nobody accepts."""
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
    """Give a port on which nobody listens, and which nobody else is given meanwhile."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
