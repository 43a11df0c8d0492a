"""WCAG 2.2 AA: axe-core in every state and both themes, the keyboard alone, a phone, reduced motion."""

from __future__ import annotations

import json
import threading
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from knowledge_rag.core.outcome import Reason
from tests.browser.accessibility import faults, settled, violations
from tests.browser.consoles import QUESTION, UNDOCUMENTED

WARNED = """\
## Guidance

1. Promote the reader, which certainly helps. [1]

   ```bash
   aws rds failover-db-cluster --db-cluster-identifier <cluster-id> --target-db-instance-identifier <reader>
   ```
2. Set the timeout to 4711 seconds. [2] [Source 99]

| Check | Value |
|---|--:|
| lag | 12 |

> Ask [the team](https://example.com/) first. [1]
"""
ALERT = {
    "status": "firing",
    "labels": {"alertname": "RDSReplicaLagHigh", "severity": "critical", "service": "rds"},
    "annotations": {
        "summary": "Replication lag above 90 s on both readers, the writer is impaired"
    },
    "startsAt": "2026-03-02T03:04:00Z",
}
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


def start(page, _script):
    page.open()
    page.page.locator("#filters summary").click()


def recent(page, _script):
    page.open().ask(QUESTION)
    page.page.get_by_role("button", name="New question").click()


def answered(page, _script):
    page.open().ask(QUESTION)
    page.cites.nth(1).click()
    page.outcome.locator("summary").first.click()
    for button in page.page.locator(".card .more").all()[:1]:
        button.click()


def previewed(page, _script):
    page.open().ask(QUESTION)
    page.cites.nth(1).focus()
    page.cites.nth(1).hover()
    expect(page.page.locator(".preview")).to_be_visible()


def warned(page, script):
    script.says = WARNED
    page.open().ask(QUESTION)
    page.outcome.locator("summary").first.click()
    page.page.locator(".also-found summary").click()


def writing(page, script):
    script.pause, script.gate = 0.001, threading.Event()
    page.open().begin(QUESTION)
    expect(page.outcome).to_contain_text("writing")


def nothing(page, _script):
    page.open().ask(UNDOCUMENTED)
    page.outcome.locator("summary").first.click()


def unavailable(page, script):
    script.reason = Reason.THROTTLED
    page.open().ask(QUESTION)


def stopped(page, script):
    writing(page, script)
    page.page.get_by_role("button", name="Stop").click()
    expect(page.outcome).to_have_attribute("data-kind", "stopped")


def reporting(page, _script):
    page.open().ask(QUESTION)
    page.page.locator(".card").first.get_by_role("button", name="Report").click()
    expect(page.page.get_by_role("dialog")).to_be_visible()


def document(page, _script):
    page.open("/doc/runbooks/rds-failover.md#L89-L94")
    page.page.locator(".line.marked").first.wait_for()


def rendered(page, _script):
    page.open().ask(QUESTION)
    page.page.locator(".card .open").first.click()
    page.page.get_by_role("button", name="Rendered").click()
    page.page.locator(".rendered .marked").first.wait_for()


def no_document(page, _script):
    page.expected = ["404"]
    page.open("/doc/never.md")
    page.page.locator("#document-view .outcome").wait_for()


def dashboard(page, _script):
    page.open().ask(QUESTION)
    page.page.get_by_role("link", name="Dashboard").click()
    page.page.locator(".figure").first.wait_for()


def alerted(page, _script):
    page.open()
    page.page.locator("#question").fill(json.dumps({"receiver": "oncall", "alerts": [ALERT]}))
    page.page.locator("#question").press("Enter")
    page.page.locator('#answer[aria-busy="false"]').wait_for()


def ticked(page, script):
    alerted(page, script)
    page.page.locator(".fill summary").click()
    page.page.get_by_label("<cluster-id>", exact=True).fill("orders-db")
    page.page.get_by_role("checkbox").first.check()
    page.page.get_by_label("Note", exact=True).first.fill("lag 94 s")
    page.page.evaluate("() => scrollTo(0, 0)")  # else the header covers half of a button


def keys(page, _script):
    page.open()
    page.page.keyboard.press("Escape")
    page.page.locator("h1:visible").click()
    page.page.keyboard.press("?")
    expect(page.page.get_by_role("dialog")).to_be_visible()


def documents(page, _script):
    page.open("/documents")
    page.page.locator(".documents-list li").first.wait_for()


def verifying(page, _script):
    page.open("/verify")
    page.page.get_by_role("button", name="Verify").click()


def verified(page, script):
    script.says = WARNED
    page.open().ask(QUESTION)
    page.page.get_by_role("link", name="Check each claim").click()
    page.page.locator(".claim-card").first.wait_for()


STATES = (
    start, recent, answered, previewed, warned, writing, nothing, unavailable, stopped, reporting,
    alerted, ticked, keys, document, rendered, no_document, documents, verifying, verified, dashboard,
)  # fmt: skip


@pytest.mark.parametrize("reach", STATES, ids=[state.__name__ for state in STATES])
def test_each_state_is_sound_in_all_widths_and_colours(watched, script, reach):
    page = watched(viewport=DESK)
    try:
        reach(page, script)
        assert faults(page) == {}
    finally:
        if script.gate is not None:
            script.gate.set()


def test_targets_are_large_enough_for_a_finger(page):
    page.open().ask(QUESTION)
    page.cites.first.click()
    small = page.page.evaluate("""() =>
      [...document.querySelectorAll("a[href], button, summary, select, input, textarea")]
        .filter((it) => it.checkVisibility() && !it.matches(".skip, .where a"))
        .map((it) => [it.getBoundingClientRect(), it.outerHTML.slice(0, 120)])
        .filter(([{ width, height }]) => width < 24 || height < 24)
        .map(([{ width, height }, html]) => `${width}x${height} ${html}`)""")
    assert small == []


def test_the_whole_way_goes_by_keyboard_alone(page):
    page.open()
    press = page.page.keyboard.press
    press("/")
    expect(page.page.locator("#question")).to_be_focused()
    page.page.keyboard.type(QUESTION)
    press("Shift+Enter")
    page.page.keyboard.type("And when?")
    press("Enter")
    page.page.locator('#answer[aria-busy="false"]').wait_for()
    cite = page.cites.first
    tab_to(page, "a.cite")
    expect(page.page.locator(".preview")).to_be_visible()
    press("Escape")
    expect(page.page.locator(".preview")).to_be_hidden()
    expect(cite).to_be_focused()
    press("Enter")
    expect(page.page.locator(f"#source-{cite.get_attribute('data-number')}")).to_be_focused()
    tab_to(page, ".card.reached .open")
    press("Enter")
    page.page.locator(".line.marked").first.wait_for()
    expect(page.page.locator("#document-view h1")).to_be_focused()
    page.page.go_back()  # Alt and the left arrow, which a browser without a window does not know
    expect(page.page.locator(".card.reached .open")).to_be_focused()
    press("/")
    expect(page.page.locator("#question")).to_be_focused()


def tab_to(page, selector):
    """Press Tab until something is focused."""
    for _ in range(60):
        page.page.keyboard.press("Tab")
        if page.page.locator(f"{selector}:focus").count():
            return
    pytest.fail(f"Tab never reaches {selector}")


def test_the_focus_is_always_visible(page):
    page.open().ask(QUESTION)
    settled(page.page)
    seen = set()
    for _ in range(25):
        page.page.keyboard.press("Tab")
        outline = page.page.evaluate("""() => {
          const it = document.activeElement;
          const style = getComputedStyle(it);
          const box = getComputedStyle(it.closest("#composer") ?? it);
          return [it.id || it.className || it.tagName,
            style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 || box.boxShadow !== "none"];
        }""")
        seen.add(outline[0])
        assert outline[1], outline[0]
    assert len(seen) >= 5


def test_a_dialog_keeps_the_focus_and_gives_it_back(page):
    page.open().ask(QUESTION)
    button = page.page.locator(".card").first.get_by_role("button", name="Report")
    button.focus()
    page.page.keyboard.press("Enter")
    dialog = page.page.get_by_role("dialog")
    expect(dialog.get_by_label("What is wrong with it?")).to_be_focused()
    page.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()


@pytest.mark.chromium("Playwright's taps reach none of its pages")
def test_on_a_phone_a_tap_shows_the_lines_and_leads_on(watched):
    page = watched(viewport=PHONE, has_touch=True, is_mobile=True).open()
    page.page.locator("#question").fill(QUESTION)
    page.page.get_by_role("button", name="Ask", exact=True).tap()
    page.page.locator('#answer[aria-busy="false"]').wait_for()
    cite = page.cites.nth(2)
    cite.tap()
    sheet = page.page.locator(".preview.sheet")
    expect(sheet).to_be_visible()
    assert violations(page.page) == []
    sheet.get_by_role("button", name="Show the source").tap()
    card = page.page.locator(f"#source-{cite.get_attribute('data-number')}")
    expect(card).to_be_in_viewport()
    card.get_by_role("button", name="Back to the text").tap()
    expect(cite).to_be_in_viewport()
    cite.tap()
    sheet.get_by_role("link", name="Open the file").tap()
    page.page.locator(".line.marked").first.wait_for()
    first, last = map(int, cite.get_attribute("data-lines").split("-"))
    assert page.marked() == list(range(first, last + 1))


def test_a_chosen_theme_stays_and_never_flashes(watched):
    page = watched(color_scheme="light").open()
    root = page.page.locator("html")
    page.page.get_by_role("button", name="Use the dark theme").click()
    expect(root).to_have_attribute("data-theme", "dark")
    dark = page.page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
    page.page.reload(wait_until="commit")
    expect(root).to_have_attribute("data-theme", "dark")
    page.open("/dashboard")
    assert dark == page.page.evaluate(
        "() => getComputedStyle(document.documentElement).backgroundColor"
    )
    page.page.get_by_role("button", name="Use the light theme").click()
    expect(root).to_have_attribute("data-theme", "light")


def test_who_wants_no_motion_gets_none(watched):
    page = watched(reduced_motion="reduce").open().ask(QUESTION)
    page.cites.last.click()
    moving = page.page.evaluate(
        "() => document.getAnimations().filter((it) => it.effect.getComputedTiming().duration > 1).length"
    )
    assert moving == 0


def test_landmarks_and_headings_stand_in_their_order(page):
    page.open().ask(QUESTION)
    for role in ("banner", "main", "navigation", "complementary"):
        assert page.page.get_by_role(role).count() == 1
    levels = page.page.evaluate(
        "() => [...document.querySelectorAll('h1,h2,h3,h4')].filter((it) => it.checkVisibility()).map((it) => +it.tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


MARKS = {
    document: {".line.marked": "marked"},
    rendered: {".rendered .marked": "marked", '.forms [aria-pressed="true"]': "aria-pressed"},
    warned: {".unbacked": "unbacked"},
    verified: {".cited-line": "cited-line", "nav a[aria-current]": "aria-current"},
}
"""By state: what a colour marks, and the class or attribute that says so."""


@pytest.mark.parametrize("reach", MARKS, ids=lambda it: it.__name__)
def test_in_forced_colours_what_is_marked_still_looks_marked(page, script, reach):
    page.shown(forced_colors="active", reduced_motion="reduce")
    page.expected = [
        "style-src-elem"
    ]  # Playwright's own, for a picture; Firefox applies the policy to it
    reach(page, script)
    for mark, name in MARKS[reach].items():
        marked = page.page.locator(mark).first.element_handle()
        marked.scroll_into_view_if_needed()
        page.page.mouse.move(0, 0)
        before = page.page.screenshot(animations="disabled")
        marked.evaluate(
            "(it, name) => { it.removeAttribute(name); it.classList.remove(name); }", name
        )
        assert page.page.screenshot(animations="disabled") != before, mark


NAMED = (
    "button", "link", "textbox", "searchbox", "combobox", "checkbox", "heading", "dialog", "region",
    "navigation", "img", "article", "form", "search",
)  # fmt: skip


@pytest.mark.parametrize(
    "reach", [start, answered, ticked, warned, reporting, document, rendered, documents, verified],
    ids=lambda it: it.__name__,
)  # fmt: skip
def test_whatever_a_screen_reader_comes_to_has_a_name(page, script, reach):
    reach(page, script)
    said = page.page.locator("body").aria_snapshot().splitlines()
    roles = [line.strip().removeprefix("- ") for line in said]
    assert [it for it in roles if it.removesuffix(":").split(" [")[0] in NAMED] == []
    assert any(it.startswith("link") for it in roles)
