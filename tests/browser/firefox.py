"""Firefox, driven by Playwright through WebDriver BiDi.

Playwright sets a theme by a command that Firefox does not have, and BiDi has none at all for paper, forced colours or
reduced motion. A relay between the two answers that command, and sets such media by the browser's own scripts, as
Firefox's developer tools do.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import serve

from tests.browser.engines import MEDIA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page, Playwright
    from websockets.sync.client import ClientConnection
    from websockets.sync.server import ServerConnection

OPEN: dict[str, Any] = {"max_size": None, "compression": None, "ping_interval": None}
"""How both sides are connected: Firefox answers no pings."""
SECONDS = 20
FIRST_OWN = 10**9
"""Numbers of the relay's own commands begin here."""

PREFERENCES = {
    "dom.events.testing.asyncClipboard": True,  # a page may read the clipboard without being asked
    "datareporting.policy.dataSubmissionEnabled": False,
}

_MEDIA = """(media) => {
  for (const window of Services.wm.getEnumerator("navigator:browser")) {
    for (const { browsingContext } of window.gBrowser.browsers) {
      browsingContext.prefersColorSchemeOverride = media.color_scheme ?? "none";
      browsingContext.forcedColorsOverride = media.forced_colors ?? "none";
      browsingContext.prefersReducedMotionOverride = media.reduced_motion ?? "none";
      browsingContext.mediumOverride = media.media ?? "";
    }
  }
}"""
_LETTERS = """(pixels) => ["variable", "monospace"].forEach((kind) =>
  Services.prefs.setIntPref(`font.size.${kind}.x-western`, pixels))"""


def _is_known(asked: dict[str, Any]) -> bool:
    """Whether Firefox has a command; a theme is set otherwise, and the clipboard needs no permission."""
    if asked["method"] == "permissions.setPermission":
        return not asked["params"]["descriptor"]["name"].startswith("clipboard")
    return asked["method"] != "emulation.setMediaFeaturesOverride"


def _named(told: dict[str, Any]) -> dict[str, Any]:
    """Return a file that a page made itself a name for its download, without which Playwright doesn't see it."""
    if told.get("method", "").startswith("browsingContext.download"):
        told["params"]["navigation"] = told["params"]["navigation"] or told["params"]["url"]
    return told


class Firefox:
    """A relay to one Firefox, which it can tell more than Playwright does."""

    def __init__(self) -> None:
        self.browser: Browser
        self._connection: ClientConnection | None = None
        self._media: dict[str, str] = {}
        self._numbers = count(FIRST_OWN)
        self._answers: dict[int, Any] = {}
        self._arrived = threading.Condition()

    def relay(self, playwright: ServerConnection) -> None:
        """Pass on what Playwright and the browser say to each other."""
        assert playwright.request is not None
        address = f"ws://127.0.0.1:{playwright.request.path.removeprefix('/')}"
        with connect(address, **OPEN) as browser, suppress(ConnectionClosed):
            self._connection = browser
            threading.Thread(target=self._answer, args=(browser, playwright), daemon=True).start()
            for message in playwright:
                asked = json.loads(message)
                if _is_known(asked):
                    browser.send(message)
                else:
                    done = {"type": "success", "id": asked["id"], "result": {}}
                    playwright.send(json.dumps(done))

    def _answer(self, browser: ClientConnection, playwright: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            for message in browser:
                told = json.loads(message)
                if (told.get("id") or 0) >= FIRST_OWN:
                    with self._arrived:
                        self._answers[told["id"]] = told
                        self._arrived.notify_all()
                else:
                    playwright.send(json.dumps(_named(told)))
        playwright.close()

    def _ask(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        assert self._connection is not None
        self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        with self._arrived:
            assert self._arrived.wait_for(lambda: number in self._answers, SECONDS), method
            told = self._answers.pop(number)
        assert told["type"] == "success", told
        return told["result"]

    def _run(self, function: str, argument: Any) -> None:
        """Call a function within the browser's own window."""
        windows = self._ask("browsingContext.getTree", **{"moz:scope": "chrome"})["contexts"]
        told = self._ask(
            "script.evaluate",
            expression=f"({function})({json.dumps(argument)})",
            target={"context": windows[0]["context"]},
            awaitPromise=False,
        )
        assert told["type"] == "success", told

    def context(self, **options: Any) -> BrowserContext:
        """Return a new reader's place, whose pages and all others are shown in the media of its options."""
        self._media = {name: options.pop(name) for name in MEDIA if name in options}
        context = self.browser.new_context(**options)
        context.on("page", self._dress)
        return context

    def _dress(self, page: Page) -> None:
        self._run(_MEDIA, self._media)
        # a page whose answer keeps other origins' windows off is shown in a new one
        page.on("domcontentloaded", lambda _: self._run(_MEDIA, self._media))

    def media(self, page: Page, **media: str) -> None:  # noqa: ARG002 - of all pages
        """Show all pages in some media."""
        self._media |= media
        self._run(_MEDIA, self._media)

    def letters(self, page: Page, pixels: int) -> None:  # noqa: ARG002 - of all pages
        """Set the size of letters of all pages, which takes effect when something else about their media changes."""
        self._run(_LETTERS, pixels)
        is_dark = self._media.get("color_scheme") == "dark"
        for scheme in ({"color_scheme": "light" if is_dark else "dark"}, {}):
            self._run(_MEDIA, self._media | scheme)

    def forget(self, page: Page, origin: str) -> bool:  # noqa: ARG002
        """Forget what pages of an origin keep, which needs a new place."""
        self._run(_LETTERS, 16)
        return False


@contextmanager
def firefox(playwright: Playwright, path: str, folder: Path) -> Iterator[Firefox]:
    """Start a Firefox behind a relay; it ends with the block."""
    relay = Firefox()
    with serve(relay.relay, "127.0.0.1", 0, **OPEN) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # what Playwright starts says the relay's address in place of its own
        started = folder / "firefox"
        here = server.socket.getsockname()[1]
        started.write_text(
            f"""#!/bin/sh
{path} "$@" 2>&1 | sed -u 's#ws://127.0.0.1:#ws://127.0.0.1:{here}/#' >&2
"""
        )
        started.chmod(0o700)
        relay.browser = playwright.firefox.launch(
            executable_path=started,
            channel="moz-firefox",
            args=["--remote-allow-system-access"],
            firefox_user_prefs=PREFERENCES,
        )
        yield relay
        relay.browser.close()
        server.shutdown()
