"""axe-core on a page, under the page's own Content-Security-Policy."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import axe_playwright_python

if TYPE_CHECKING:
    from playwright.sync_api import Page

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
COLOURS = ("color-contrast",)
"""What alone can differ between themes."""

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
    """Give what axe-core finds wrong: one line for each rule, of some rules or tags of rules."""
    settled(page)
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_source())
    return page.evaluate(_RUN, list(only))


def settled(page: Page) -> None:
    """Wait until no transition runs: a colour half way has no contrast that anybody sees."""
    page.evaluate(_SETTLED)
