"""The files of the page: read once, from the package, and looked up by their exact names."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable

    from starlette.requests import Request

TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""The kinds of files that are served; others in the folder are not."""

_DEPTH: Final = 4


@dataclass(frozen=True, slots=True)
class Asset:
    """One file.

    Args:
        data: its bytes.
        media_type: what it is.
        etag: of these bytes, quoted.
    """

    data: bytes
    media_type: str
    etag: str

    def response(self, request: Request) -> Response:
        """Answer a request for it; a browser that has it already is told so."""
        headers = {"ETag": self.etag, "Cache-Control": "no-cache"}
        known = {tag.strip() for tag in request.headers.get("if-none-match", "").split(",")}
        if self.etag in known:
            return Response(status_code=304, headers=headers)
        return Response(self.data, media_type=self.media_type, headers=headers)


def read_assets(folder: Traversable | None = None) -> dict[str, Asset]:
    """Read the page's files.

    Args:
        folder: where they are; by default in this package.

    Returns:
        By their paths below the folder, ``/``-separated.
    """
    root = folder if folder is not None else resources.files("knowledge_rag.console") / "static"
    return dict(_walk(root, "", _DEPTH)) if root.is_dir() else {}


def _walk(folder: Traversable, prefix: str, depth: int) -> Iterator[tuple[str, Asset]]:
    for entry in sorted(folder.iterdir(), key=lambda it: it.name):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            if depth:
                yield from _walk(entry, f"{prefix}{entry.name}/", depth - 1)
        elif media_type := TYPES.get("." + entry.name.rpartition(".")[2]):
            data = entry.read_bytes()
            etag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
            yield prefix + entry.name, Asset(data, media_type, etag)
