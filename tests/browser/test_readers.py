"""Pages of one browser: what one reader leaves behind, the next one does not find."""

from __future__ import annotations

import pytest

from tests.browser.readers import Readers

pytestmark = pytest.mark.chromium("each reader has a new place")

LEFT = """() => {
  localStorage.setItem("left", "behind");
  sessionStorage.setItem("left", "behind");
  document.cookie = "left=behind; max-age=3600";
  addEventListener("pagehide", () => localStorage.setItem("late", "behind"));
  return new Promise((done, failed) => {
    const opening = indexedDB.open("left");
    opening.onsuccess = () => { opening.result.close(); done(); };
    opening.onerror = failed;
  });
}"""
FOUND = """async () => [
  Object.keys(localStorage), Object.keys(sessionStorage), document.cookie, await indexedDB.databases(),
  history.length, await navigator.permissions.query({ name: "clipboard-read" }).then(it => it.state),
  navigator.onLine,
]"""


def found(page, origin):
    page.goto(origin)
    return page.evaluate(FOUND)


def test_the_next_reader_finds_nothing_of_the_last_one(browser, origin):
    readers = Readers(browser, origin)
    page = readers.page()
    before = found(page, origin)
    page.evaluate(LEFT)
    page.context.grant_permissions(["clipboard-read"])
    assert found(page, origin) != before
    page.context.set_offline(True)
    first = page.context
    readers.leave(page, origin)
    page = readers.page()
    assert page.context is first
    assert found(page, origin) == before


def test_two_readers_at_a_time_do_not_share_what_they_keep(browser, origin):
    readers = Readers(browser, origin)
    one, other = readers.page(), readers.page()
    before = found(other, origin)
    one.goto(origin)
    one.evaluate(LEFT)
    assert found(other, origin) == before


def test_who_sits_differently_sits_elsewhere(browser, origin):
    readers = Readers(browser, origin)
    readers.leave(readers.page(), origin)
    page = readers.page(viewport={"width": 360, "height": 640})
    page.goto(origin)
    assert page.evaluate("innerWidth") == 360


def test_a_place_where_more_was_opened_is_left(browser, origin):
    readers = Readers(browser, origin)
    page = readers.page()
    page.goto(origin)
    with page.context.expect_page():
        page.evaluate("() => { open('about:blank'); }")
    left = page.context
    readers.leave(page, origin)
    assert readers.page().context is not left
