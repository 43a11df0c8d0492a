"""A resolver that says what a fault wants it to.

The system's own resolver is led to :class:`DnsServer` where the process has a network of its own.
Where the system allows no such thing, ``socket.getaddrinfo`` is replaced in this process instead,
and whoever shows the result has to say so.
"""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.evaluation.faults.dns_server import DnsServer, Names
from knowledge_rag.evaluation.faults.stage import ENDPOINT

if TYPE_CHECKING:
    from knowledge_rag.evaluation.faults.stage import Stage

HOST: Final = "kb.game-day.test"
"""The ``test`` domain is reserved (RFC 6761): no real resolver knows it."""


class ReplacedResolver:
    """Stands in for the resolver, with the attributes of :class:`DnsServer`."""

    def __init__(self) -> None:
        self.names = Names.LOOPBACK
        self.seconds = 0.0
        self._real: Any = socket.getaddrinfo
        socket.getaddrinfo = self._lookup

    def close(self) -> None:
        """Put the real one back."""
        socket.getaddrinfo = self._real

    def _lookup(self, host: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - getaddrinfo's own
        if host != HOST or kwargs.get("flags"):  # an address is asked for without a lookup
            return self._real(host, *args, **kwargs)
        names = self.names
        time.sleep(self.seconds)
        if names is Names.NONE:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self._real("127.0.0.1", *args, **kwargs)


def resolver(stage: Stage) -> DnsServer | ReplacedResolver:
    """Serve a healthy knowledge base under a name; give what resolves it."""
    names = DnsServer() if stage.own_network else ReplacedResolver()
    stage.exit.callback(names.close)
    server = stage.serve()
    stage.environment[ENDPOINT] = f"http://{HOST}:{server.port}"
    return names
