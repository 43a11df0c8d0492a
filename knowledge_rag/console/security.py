"""Refuses requests from other pages, and restricts the console's page in browsers.

The console serves one person on their own machine and has no authentication. So it answers only to names of this
machine, against DNS rebinding, and only to its own page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers, MutableHeaders

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.console.json_http import Json
from knowledge_rag.console.model_formats import refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")
"""Names that the console answers to, without the port."""

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types knowledge-rag",
    )
)
"""The Content-Security-Policy: code and styles only from our own files, and connections only to our server."""

_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_HOST: Final = re.compile(r"(.*?)(?::[0-9]{1,5})?")
_READING: Final = frozenset({"GET", "HEAD"})
_OWN: Final = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site for our own page and the address bar."""


class Guard:
    """Refuses requests from other pages and for other hosts with 403, and adds security headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def bound(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            self._check(scope)
        except Refused as error:
            body = refusal(scope["path"], error)
            await Json(body, error.status)(scope, receive, bound)
        else:
            await self._app(scope, receive, bound)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        named = _HOST.fullmatch(host)
        if named is None or named[1] not in LOOPBACK_HOSTS:
            raise Refused(403, "requests for this Host are refused")
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host}":
            raise Refused(403, "requests from another origin are refused")
        if not _is_own(scope, headers):
            raise Refused(403, "requests from another site are refused")


def _is_own(scope: Scope, headers: Headers) -> bool:
    """Whether a request comes from our own page, the address bar, a link, or no browser at all."""
    site = headers.get("sec-fetch-site")
    if site is None or site in _OWN:
        return True
    follows_link = (
        scope["method"] in _READING
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )
    # links from a chat to a document are allowed; requests of another site's page aren't
    return follows_link and not scope["path"].startswith(("/api/", "/v1/"))
