"""The page's files: read once from the package, served by their exact names."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from knowledge_rag.channel.json_requests import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request


class Pages:
    """Serves the one page, which reads from its address what to show, and its files."""

    def __init__(self, assets: Mapping[str, Asset]) -> None:
        self._assets = assets

    async def page(self, request: Request) -> Response:
        """Serve the page."""
        return self.shown(request, 200)

    def shown(self, request: Request, status: int) -> Response:
        """Serve the page with a status: it says itself what is missing."""
        response = self._file("index.html", request)
        response.status_code = status if response.status_code == 200 else response.status_code
        return response

    async def asset(self, request: Request) -> Response:
        """Serve a file of the page, by its exact name."""
        return self._file(request.path_params["name"], request)

    def _file(self, name: str, request: Request) -> Response:
        asset = self._assets.get(name)
        if asset is None:
            raise Refused(404, "there is no such file")
        return asset.response(request)


TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""The kinds of files that are served; others in the folder are not."""

FOLDER: Final = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file."""

    data: bytes
    media_type: str
    etag: str

    def response(self, request: Request) -> Response:
        """Answer a request for it; 304 where the browser has it already."""
        headers = {"ETag": self.etag, "Cache-Control": "no-cache"}
        known = {tag.strip() for tag in request.headers.get("if-none-match", "").split(",")}
        if self.etag in known:
            return Response(status_code=304, headers=headers)
        return Response(self.data, media_type=self.media_type, headers=headers)


def read_assets(folder: Path = FOLDER) -> dict[str, Asset]:
    """Read the page's files, by their paths below the folder, ``/``-separated."""
    assets = {}
    for path in sorted(folder.rglob("*")):
        media_type = TYPES.get(path.suffix)
        if media_type and path.is_file() and not path.name.startswith("."):
            data = path.read_bytes()
            etag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
            assets[path.relative_to(folder).as_posix()] = Asset(data, media_type, etag)
    return assets
