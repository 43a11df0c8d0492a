"""The page's files on their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.console.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from knowledge_rag.console.assets import Asset

PAGE: Final = "index.html"
"""The one page; it reads from its address what to show."""


class Pages:
    """Serves them.

    Args:
        assets: the files, by their paths.
    """

    def __init__(self, assets: Mapping[str, Asset]) -> None:
        self._assets = assets

    async def page(self, request: Request) -> Response:
        """Serve the page."""
        return self._file(PAGE, request)

    async def asset(self, request: Request) -> Response:
        """Serve a file of the page, by the exact name that it was read under."""
        return self._file(request.path_params["name"], request)

    def _file(self, name: str, request: Request) -> Response:
        asset = self._assets.get(name)
        if asset is None:
            raise Refused(404, "there is no such file")
        return asset.response(request)
