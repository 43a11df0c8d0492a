"""The browsers that read the console, and what each is told in a way of its own."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page, Playwright

MEDIA = ("color_scheme", "forced_colors", "reduced_motion", "media")
"""What a page is shown in: ``light`` or ``dark``, ``active``, ``reduce``, ``print``."""


class Engine(Protocol):
    """A browser, and the few things that Playwright doesn't do alike in all."""

    @property
    def browser(self) -> Browser:
        """Playwright's."""

    def context(self, **options: Any) -> BrowserContext:
        """Return a new reader's place; options as for ``Browser.new_context``."""

    def media(self, page: Page, **media: str) -> None:
        """Show a page in some :data:`MEDIA`; the others are as before."""

    def letters(self, page: Page, pixels: int) -> None:
        """Set the size of letters that the reader has chosen; 16 is what a browser comes with."""

    def forget(self, page: Page, origin: str) -> bool:
        """Forget what pages of an origin keep; False if another reader had better not sit there.

        Args:
            page: one of the place.
            origin: whose pages were read.
        """


class Chromium:
    """Chromium, which Playwright knows well."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser

    def context(self, **options: Any) -> BrowserContext:
        """Return a new reader's place."""
        return self.browser.new_context(**options)

    def media(self, page: Page, **media: Any) -> None:
        """Show a page in some media."""
        page.emulate_media(**media)

    def letters(self, page: Page, pixels: int) -> None:
        """Set the size of letters."""
        session = page.context.new_cdp_session(page)
        sizes = {"standard": pixels, "fixed": pixels}
        session.send("Page.setFontSizes", {"fontSizes": sizes})
        session.detach()

    def forget(self, page: Page, origin: str) -> bool:
        """Forget what pages of an origin keep."""
        page.context.set_offline(False)
        page.context.clear_permissions()
        page.context.clear_cookies()
        session = page.context.new_cdp_session(page)
        asked = {"origin": origin, "storageTypes": "all"}
        session.send("Storage.clearDataForOrigin", asked)
        session.detach()
        return True


@contextmanager
def chromium(playwright: Playwright, path: str) -> Iterator[Chromium]:
    """Start a Chromium; it ends with the block."""
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    browser = playwright.chromium.launch(executable_path=path, args=arguments)
    yield Chromium(browser)
    browser.close()
