"""A name server on loopback, for a process whose resolver is pointed at it.

It speaks as much of RFC 1035 as the system's resolver asks for: one question over UDP, answered
with 127.0.0.1, with "no such name", or after a while.
"""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from enum import Enum
from typing import Final

PORT: Final = 53

_HEADER_BYTES: Final = 12
_MAX_BYTES: Final = 512
_ADDRESS: Final = 1
"""Type A; other types get an answer without records."""
_RECURSIVE_ANSWER: Final = b"\x81\x80"
_NO_SUCH_NAME: Final = b"\x81\x83"
_LOOPBACK: Final = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x01\x00\x04\x7f\x00\x00\x01"
"""The name asked for, type A, class IN, for a second, four bytes: 127.0.0.1."""


class Names(Enum):
    """What the server says of every name."""

    LOOPBACK = "127.0.0.1"
    NONE = "no such name"


class DnsServer:
    """Answers on 127.0.0.1:53 of a network of its own; closed when the process ends.

    Attributes:
        names: what it says; may be changed at any time.
        seconds: that it takes to say so.
        asked: how many questions came.
    """

    def __init__(self, port: int = PORT) -> None:
        self.names = Names.LOOPBACK
        self.seconds = 0.0
        self.asked = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(0.1)  # closing a socket does not wake who waits at it
        self._socket.bind(("127.0.0.1", port))
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer nothing any more."""
        self._stopping.set()
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._stopping.is_set():
            try:
                question, client = self._socket.recvfrom(_MAX_BYTES)
            except TimeoutError:
                continue
            self.asked += 1
            # A thread each: the resolver asks for IPv4 and IPv6 at once, and both answers wait.
            threading.Thread(target=self._answer, args=(question, client), daemon=True).start()

    def _answer(self, question: bytes, client: tuple[str, int]) -> None:
        names = self.names
        if not self._stopping.wait(self.seconds):
            with suppress(OSError):  # closed in this very moment
                self._socket.sendto(answer_to(question, names), client)


def answer_to(question: bytes, names: Names) -> bytes:
    """Give the message that answers a question."""
    end = _HEADER_BYTES
    while question[end]:  # labels, each behind its length; a 0 ends the name
        end += question[end] + 1
    (kind,) = struct.unpack_from(">H", question, end + 1)
    flags = _NO_SUCH_NAME if names is Names.NONE else _RECURSIVE_ANSWER
    records = _LOOPBACK if names is Names.LOOPBACK and kind == _ADDRESS else b""
    counts = struct.pack(">HHHH", 1, 1 if records else 0, 0, 0)
    return question[:2] + flags + counts + question[_HEADER_BYTES : end + 5] + records
