"""Readers of a browser, who know nothing of each other.

Whoever has left may come again as somebody else: the browser keeps the console's own files, and the process that
has compiled them, which is half of what a page costs; what a page or a test left behind is gone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.engines import Engine

INERT = "/static/favicon.svg"
"""A path of the console's that runs nothing."""


@dataclass(frozen=True, eq=False)
class _Place:
    """Where one reader after the other sits; a page that nobody sees keeps the browser's process alive."""

    unseen: Page
    options: str


class Readers:
    """Pages of one browser, no two of which share what they keep.

    Args:
        browser: the browser.
        origin: the console that most of them read.
    """

    def __init__(self, browser: Engine, origin: str) -> None:
        self._browser = browser
        self._origin = origin
        self._free: defaultdict[str, list[_Place]] = defaultdict(list)
        self._taken: dict[Page, _Place] = {}

    def page(self, **options: Any) -> Page:
        """Give a new reader's page.

        Args:
            options: what ``Browser.new_context`` takes.
        """
        key = json.dumps(options, sort_keys=True)
        place = self._free[key].pop() if self._free[key] else self._new(key, options)
        page = place.unseen.context.new_page()
        self._taken[page] = place
        return page

    def leave(self, page: Page, origin: str) -> None:
        """Close a reader's page, and forget the reader.

        Args:
            page: what :meth:`page` gave.
            origin: the console that was read.
        """
        place = self._taken.pop(page)
        page.close()
        context = place.unseen.context
        # more was opened than was asked for
        if len(context.pages) > 1 or not self._browser.forget(place.unseen, origin):
            context.close()
            return
        self._free[place.options].append(place)

    def close(self) -> None:
        """Take the places away: nobody comes again."""
        for place in chain.from_iterable(self._free.values()):
            place.unseen.context.close()
        self._free.clear()

    def _new(self, key: str, options: dict[str, Any]) -> _Place:
        page = self._browser.context(**options).new_page()
        page.goto(self._origin + INERT)
        return _Place(page, key)
