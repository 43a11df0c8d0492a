"""A browser for each file of tests, and consoles that it reads."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.consoles import Script, console, sample_files, shelf_of
from tests.browser.readers import Readers
from tests.browser.watching import SECONDS, Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

    from tests.browser.consoles import Shelf

expect.set_options(timeout=SECONDS * 1000)

BROWSERS = ("chromium-headless-shell", "chromium")
"""The first one found is taken: the shell is the same engine without a window's interface, at half the cost."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser; Playwright's loop would be in the way of other files' tests, so it ends with this one."""
    named = os.environ.get("CHROMIUM")
    wanted = (named,) if named else BROWSERS
    path = next(filter(None, map(shutil.which, wanted)), None)
    if path is None:
        pytest.skip(f"no browser: there is no {' and no '.join(wanted)}")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield running
        running.close()


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return shelf_of(tmp_path_factory.mktemp("shelf"), sample_files())


@pytest.fixture(scope="module")
def _script() -> Script:
    return Script()


@pytest.fixture
def script(_script: Script) -> Iterator[Script]:
    """What the module's console is told to do, for one test."""
    yield _script
    _script.__init__()  # type: ignore[misc]


@pytest.fixture(scope="module")
def origin(browser: Browser, shelf: Shelf, _script: Script) -> Iterator[str]:  # noqa: ARG001 - no console without a browser
    """The address of the module's console."""
    with console(shelf, _script) as address:
        yield address


@pytest.fixture(scope="module")
def readers(browser: Browser, origin: str) -> Readers:
    """Whoever reads the module's console."""
    return Readers(browser, origin)


@pytest.fixture
def watched(readers: Readers, origin: str) -> Iterator[Callable[..., Watched]]:
    """Open pages, each a reader of its own, that must not go wrong in any way."""
    opened: list[Watched] = []

    def open_page(at: str = origin, **context: Any) -> Watched:
        context.setdefault("viewport", {"width": 1280, "height": 900})
        opened.append(Watched(readers.page(**context), at))
        return opened[-1]

    yield open_page
    for page in opened:
        try:
            page.close()
        finally:
            readers.leave(page.page, page.origin)


@pytest.fixture
def page(watched: Callable[..., Watched]) -> Watched:
    """One reader at a desk."""
    return watched()
