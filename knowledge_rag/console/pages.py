"""The page's files: read once from the package, served by their exact names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from knowledge_rag.channel.json_requests import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request


class Pages:
    """Serves the one page, which decides by its address what to show, and its files."""

    def __init__(self, assets: Mapping[str, Asset]) -> None:
        self._assets = assets

    async def page(self, _request: Request) -> Response:
        """Serve the page."""
        return self.shown(200)

    def shown(self, status: int) -> Response:
        """Serve the page with a status; the page itself reports a missing document."""
        return self._file("index.html", status)

    async def asset(self, request: Request) -> Response:
        """Serve a file of the page, by its exact name."""
        return self._file(request.path_params["name"], 200)

    def _file(self, name: str, status: int) -> Response:
        asset = self._assets.get(name)
        if asset is None:
            raise Refused(404, "there is no such file")
        headers = {"Cache-Control": "no-cache"}
        return Response(asset.data, status, headers=headers, media_type=asset.media_type)


TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Media types of the files to serve, by ending; other files in the folder aren't served."""

FOLDER: Final = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file."""

    data: bytes
    media_type: str


def read_assets(folder: Path = FOLDER) -> dict[str, Asset]:
    """Read the page's files, by their paths below the folder, ``/``-separated."""
    return {
        path.relative_to(folder).as_posix(): Asset(path.read_bytes(), TYPES[path.suffix])
        for path in sorted(folder.rglob("*"))
        if path.suffix in TYPES and path.is_file() and not path.name.startswith(".")
    }
