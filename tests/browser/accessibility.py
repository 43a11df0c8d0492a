"""What everybody needs who reads a page: axe-core under the page's own policy, room for its words, other colours."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import axe_playwright_python

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.watching import Watched

WIDTHS = (1440, 834, 390)
"""Pixels: a desk, a tablet, a phone."""
ZOOMED = {640: 512, 320: 256}
"""Width and height in pixels that are left of a window of 1,280 x 1,024 at 200 and 400 %."""
MOST = 0.5
"""Of a window's height there must be that much to read in, whatever stays on top."""

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
COLOURS = ("color-contrast",)
"""What alone can differ between themes."""
PLACES = ("color-contrast", "target-size", "scrollable-region-focusable")
"""What alone can differ between widths, whose elements are the same."""

_RUN = """async (only) => (await axe.run(document, {
  runOnly: only,
  resultTypes: ["violations"],
})).violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`)"""

# what is folded away does not move, so its transitions never end
_SETTLED = """async () => {
  const moving = document.getAnimations().filter((it) => it instanceof CSSTransition && it.effect.target.checkVisibility());
  await Promise.all(moving.map((it) => it.finished.catch(() => {})));
}"""


@cache
def _source() -> str:
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Page, only: tuple[str, ...] = RULES) -> list[str]:
    """Return what axe-core finds wrong: one line for each rule, of some rules or tags of rules."""
    settled(page)
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_source())
    return page.evaluate(_RUN, list(only))


def settled(page: Page) -> None:
    """Wait until no transition runs: a colour half way has no contrast that anybody sees."""
    page.evaluate(_SETTLED)


# Words may be outside what can be seen only where they can be scrolled to, or are meant for ears.
_CUT_OFF = """() => {
  const found = [];
  const told = (it, why) => found.push(`${why}: ${it.outerHTML.slice(0, 100)}`);
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) found.push(`the page is ${page.scrollWidth} px wide`);
  for (const it of document.querySelectorAll("body *")) {
    if (!it.checkVisibility() || it.closest(".skip, [aria-hidden]")) continue;
    const style = getComputedStyle(it);
    const box = it.getBoundingClientRect();
    if (style.clipPath !== "none" || box.width <= 1) continue;
    if (["hidden", "clip"].includes(style.overflowX) && it.scrollWidth > it.clientWidth + 1) told(it, "cut off");
    if (it.matches("a, button, input, select, textarea, summary, h1, h2, h3, p") && !it.closest(".visually-hidden, .table-box")
        && (box.left < -1 || box.right > page.clientWidth + 1)) told(it, "outside");
  }
  return found;
}"""

# What is stuck to the window's edges, and what of its height is left between them to read in.
_LEFT_TO_READ = """() => {
  scrollTo(0, document.documentElement.scrollHeight);
  const stuck = [...document.querySelectorAll("body *")].filter((it) =>
    it.checkVisibility() && ["sticky", "fixed"].includes(getComputedStyle(it).position) && !it.closest("dialog, .preview, .skip, .visually-hidden")
    && it.getBoundingClientRect().top < innerHeight / 2 && it.getBoundingClientRect().width > innerWidth / 2);
  const top = Math.max(0, ...stuck.map((it) => it.getBoundingClientRect()).filter(({ top, bottom }) => top <= 60 && bottom > 0).map(({ bottom }) => bottom));
  scrollTo(0, 0);
  return 1 - top / innerHeight;
}"""


def cut_off(page: Page) -> list[str]:
    """Return what can't be read or reached at a page's width without scrolling it sideways: one line for each."""
    return page.evaluate(_CUT_OFF)


def faults(page: Watched) -> dict[str, list[str]]:
    """Return what a page lacks of what everybody needs: in each width, both themes, forced colours, 200 and 400 %."""
    shown, before = page.page, page.page.viewport_size
    wrong: dict[str, list[str]] = {}
    for width in WIDTHS:
        shown.set_viewport_size({"width": width, "height": 900})
        page.shown(color_scheme="light")
        wrong[f"{width} px, light"] = violations(shown, RULES if width == WIDTHS[0] else PLACES)
        page.shown(color_scheme="dark")
        wrong[f"{width} px, dark"] = violations(shown, COLOURS)
        wrong[f"{width} px"] = cut_off(shown)
    page.shown(color_scheme="light", forced_colors="active")
    wrong["forced colours"] = violations(shown, COLOURS)
    page.shown(forced_colors="none")
    for width, height in ZOOMED.items():
        shown.set_viewport_size({"width": width, "height": height})
        wrong[f"zoomed to {width} px"] = cut_off(shown)
        left = shown.evaluate(_LEFT_TO_READ)
        wrong[f"room at {width} px"] = [] if left >= MOST else [f"{left:.0%} of the window"]
    if before is not None:
        shown.set_viewport_size(before)
    return {where: found for where, found in wrong.items() if found}
