"""An HTTP server on loopback, in the place of a service; what it answers is its subclass's."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Raw:
    """An answer as the client gets it."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


class Loopback:
    """A server in a thread of its own, from its making until it is closed."""

    def __init__(self) -> None:
        served = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = served.respond(self.command, self.path, self.headers, body)
                self.send_response(answer.status)
                own = (
                    ("Content-Type", answer.content_type),
                    ("Content-Length", str(len(answer.body))),
                )
                for name, value in (*answer.headers, *own):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_PUT = do_POST = _serve  # noqa: N815 - http.server's names

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def respond(self, method: str, path: str, headers: Any, body: bytes) -> Raw:
        """Answer one request."""
        raise NotImplementedError
