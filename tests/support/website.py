"""A web site on loopback whose pages behave as a test asks: redirect, drip, change, never end."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from ssl import SSLContext


@dataclass
class Page:
    """What a path answers.

    Args:
        body: its bytes; ``None`` sends nothing and waits until the site closes.
        status: of HTTP.
        headers: beside the type.
        kind: the ``Content-Type``; ``""`` sends none.
        pieces: gives the body in pieces instead, without saying how long it is.
    """

    body: bytes | None = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "text/html; charset=utf-8"
    pieces: Callable[[], Iterator[bytes]] | None = None


@dataclass
class Website:
    """The site: its pages, and what it was asked for."""

    url: str
    pages: dict[str, Page]
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def paths(self) -> list[str]:
        """Give the paths that were asked for, in their order."""
        return [path for path, _ in self.asked]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, pages: dict[str, Page]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.site = Website(f"http://127.0.0.1:{self.server_port}", pages)

    def handle_error(self, *_: object) -> None:
        pass  # a client that goes away, or trusts nobody, is part of the tests


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        site = self.server.site
        site.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
        page = site.pages.get(self.path, Page(status=404))
        etag = page.headers.get("ETag")
        if etag and self.headers.get("If-None-Match") == etag:
            page = Page(status=304, headers=page.headers)
        if page.body is None:
            site.closing.wait(60)
        else:
            self._answer(page, page.body)

    def _answer(self, page: Page, body: bytes) -> None:
        self.send_response(page.status)
        for name, value in page.headers.items():
            self.send_header(name, value)
        if page.kind:
            self.send_header("Content-Type", page.kind)
        if page.pieces is None:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):  # the client had enough
            for piece in page.pieces() if page.pieces else (body,):
                self.wfile.write(piece)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def website(*, tls: SSLContext | None = None, **pages: Page) -> Iterator[Website]:
    """Serve pages by their names; ``robots_txt`` is ``/robots.txt``, all others ``/<name>``."""
    server = _Server({"/" + name.replace("_txt", ".txt"): page for name, page in pages.items()})
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.site.url = f"https://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.site
    finally:
        server.site.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
