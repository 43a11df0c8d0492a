"""A page that is watched: what it says of errors, where it goes, what moves on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.browser.engines import Engine

SECONDS = 120
"""No expectation of a test waits longer."""

_INIT = """
window.watched = { violations: [], shifts: [], labels: [] };
// what was drawn has been measured two frames and a task later
watched.drawn = () => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
document.addEventListener("securitypolicyviolation", (event) =>
  watched.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
if (PerformanceObserver.supportedEntryTypes.includes("layout-shift")) new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) watched.shifts.push({
    value: entry.value,
    parts: entry.sources.map(({ node }) => (node?.matches ? node : node?.parentElement)
      ?.closest(".block, .outcome, .asked")?.className ?? "") });
}).observe({ type: "layout-shift", buffered: true });
"""


@dataclass
class Watched:
    """A page and what went wrong on it.

    Args:
        page: the page.
        origin: the console's.
        engine: the browser that shows it.
        faults: errors, dialogs, violations and requests to other places, each as a line.
        expected: parts of lines that a test expects among them.
    """

    page: Page
    origin: str
    engine: Engine
    faults: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(SECONDS * 1000)
        self.page.add_init_script(_INIT)
        self.page.on(
            "console",
            lambda it: self._fault(
                it.type in {"error", "warning"}, f"{it.text} {it.location.get('url', '')}"
            ),
        )
        self.page.on("pageerror", lambda it: self._fault(True, f"raised: {it}"))  # noqa: FBT003
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda it: self._fault(not self._is_own(it.url), f"asked {it.url}"))
        self.page.context.on("page", self._opened)

    def _fault(self, wrong: bool, text: str) -> None:  # noqa: FBT001
        if wrong:
            self.faults.append(text)

    def _dialog(self, dialog: Any) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _opened(self, page: Page) -> None:
        self.faults.append(f"opened {page.url}")

    def _is_own(self, url: str) -> bool:
        return url.startswith(self.origin) or urlsplit(url).scheme in {"data", "blob"}

    def shown(self, **media: str) -> None:
        """Show it in other media: ``color_scheme``, ``forced_colors``, ``reduced_motion``, ``media``."""
        self.engine.media(self.page, **media)

    def open(self, path: str = "/") -> Watched:
        """Load a view, and wait until it is there."""
        self.page.goto(self.origin + path)
        self.page.locator("h1:visible").first.wait_for()
        return self

    def follow(self, path: str) -> None:
        """Follow a link to a path of the console, as if the page had one."""
        self.page.evaluate(
            """path => {
              const link = document.createElement("a");
              link.href = path;
              document.body.append(link);
              link.click();
              link.remove();
            }""",
            path,
        )

    def ask(self, question: str) -> Watched:
        """Ask as a person does, and wait for the end of the answer."""
        self.begin(question)
        self.page.locator('#answer[aria-busy="false"]').wait_for()
        return self

    def paste(self, alert: str) -> Watched:
        """Ask with an alert's JSON, which is shown by its name, and wait for the end of the answer."""
        self._send(alert)
        self.page.locator('#answer[aria-busy="false"]').wait_for()
        return self

    def _send(self, text: str) -> None:
        self.page.locator("#question").fill(text)
        self.page.locator("#question").press("Enter")

    def begin(self, question: str) -> Watched:
        """Ask, and do not wait."""
        self._send(question)
        self.page.locator("#asked").get_by_text(question, exact=True).wait_for()
        return self

    @property
    def cites(self) -> Locator:
        """The citations in the answer's text."""
        return self.page.locator(".blocks a.cite")

    @property
    def outcome(self) -> Locator:
        """The banner above the answer."""
        return self.page.locator("#answer .outcome")

    def drawn(self) -> None:
        """Wait until what the page holds by now was drawn, and its shifts are known."""
        self.page.evaluate("() => watched.drawn()")

    def shift(self, among: str) -> float:
        """Give how much moved: the sum of layout shifts, of those too that follow a key.

        Args:
            among: in what part of an answer: ``block``, ``outcome`` or ``asked``.
        """
        self.drawn()
        shifts = self.page.evaluate("() => watched.shifts")
        return sum(one["value"] for one in shifts if among in one["parts"])

    def marked(self) -> list[int]:
        """Give the numbers of the lines that the document view marks."""
        lines = self.page.locator(".document-lines .line.marked")
        return [int(it.get_attribute("data-line") or 0) for it in lines.all()]

    def close(self) -> None:
        """Hold what went wrong against what was expected; the page stays, and is watched no longer."""
        violations = self.page.evaluate("() => window.watched?.violations ?? []")
        self.faults += [f"policy: {one}" for one in violations]
        self.page.context.remove_listener("page", self._opened)
        unexpected = [it for it in self.faults if not any(part in it for part in self.expected)]
        assert not unexpected, unexpected
