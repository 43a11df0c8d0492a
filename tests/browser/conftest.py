"""A browser for all tests of this folder, and consoles that it reads."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.consoles import Script, console, sample_files, shelf_of
from tests.browser.engines import chromium
from tests.browser.firefox import firefox
from tests.browser.readers import Readers
from tests.browser.watching import SECONDS, Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from playwright.sync_api import Playwright

    from tests.browser.consoles import Shelf
    from tests.browser.engines import Engine

expect.set_options(timeout=SECONDS * 1000)

ENGINES = {
    "chromium": ("chromium-headless-shell", "chromium"),
    "firefox": ("firefox-esr", "firefox"),
}
"""Programs of each, of which the first one found is taken: Chromium's shell has no window's interface, at half the cost."""

WANTED = os.environ.get("KNOWLEDGE_RAG_TEST_BROWSERS", "chromium").split(",")
"""In which of them each test runs: all cases are the same in both."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have each test run in each browser that is wanted."""
    if "browser" in metafunc.fixturenames and WANTED != ["chromium"]:
        metafunc.parametrize("browser", WANTED, indirect=True, scope="module")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out of Firefox what it, or its protocol, does not have."""
    for item in items:
        only = item.get_closest_marker("chromium")
        if only and "[firefox" in item.name:
            item.add_marker(pytest.mark.skip(reason=f"Firefox: {only.args[0]}"))


class _Running:
    """Browsers that were wanted so far, until there is no more for them to read: starting one takes a second."""

    def __init__(self) -> None:
        self._playwright: Playwright | None = None
        self._engines: dict[str, Engine] = {}
        self._stack = ExitStack()

    def engine(self, name: str, path: str, factory: pytest.TempPathFactory) -> Engine:
        if self._playwright is None:
            self._playwright = self._stack.enter_context(sync_playwright())
        if name not in self._engines:
            started = (
                firefox(self._playwright, path, factory.mktemp("firefox"))
                if name == "firefox"
                else chromium(self._playwright, path)
            )
            self._engines[name] = self._stack.enter_context(started)
        return self._engines[name]

    def close(self) -> None:
        self._stack.close()
        self._playwright = None
        self._engines.clear()


_RUNNING = _Running()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """End the browsers behind the last test of this folder: Playwright's loop would be in the way of others."""
    try:
        return (yield)
    finally:
        if nextitem is None or not nextitem.path.is_relative_to(Path(__file__).parent):
            _RUNNING.close()


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """The browser that tests run in."""
    name = getattr(request, "param", "chromium")
    path = next(filter(None, map(shutil.which, ENGINES[name])), None)
    if path is None:
        pytest.skip(f"no {name}: there is no {' and no '.join(ENGINES[name])}")
    return _RUNNING.engine(name, path, tmp_path_factory)


@pytest.fixture(scope="session")
def _sample(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return shelf_of(tmp_path_factory.mktemp("shelf"), sample_files())


@pytest.fixture(scope="module")
def shelf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """The documents of the module's ``FILES``; of a module without any, those of the sample that are asked about."""
    files = getattr(request.module, "FILES", None)
    if files is None:
        return request.getfixturevalue("_sample")
    return shelf_of(tmp_path_factory.mktemp("shelf"), files)


@pytest.fixture(scope="module")
def _script() -> Script:
    return Script()


@pytest.fixture
def script(_script: Script) -> Iterator[Script]:
    """What the module's console is told to do, for one test."""
    yield _script
    _script.__init__()  # type: ignore[misc]


@pytest.fixture(scope="module")
def origin(browser: Engine, shelf: Shelf, _script: Script) -> Iterator[str]:  # noqa: ARG001 - no console without a browser
    """The address of the module's console."""
    with console(shelf, _script) as address:
        yield address


@pytest.fixture(scope="module")
def readers(browser: Engine, origin: str) -> Iterator[Readers]:
    """Whoever reads the module's console."""
    with closing(Readers(browser, origin)) as made:
        yield made


@pytest.fixture
def watched(readers: Readers, origin: str, browser: Engine) -> Iterator[Callable[..., Watched]]:
    """Open pages, each a reader of its own, that must not go wrong in any way."""
    opened: list[Watched] = []

    def open_page(at: str = origin, **context: Any) -> Watched:
        context.setdefault("viewport", {"width": 1280, "height": 900})
        opened.append(Watched(readers.page(**context), at, browser))
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
