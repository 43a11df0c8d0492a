"""A PDF: its extracted lines, and beside them the page that they were read from."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import violations
from tests.browser.consoles import shelf_of
from tests.support.pdfs import text_pdf

PUMP = text_pdf(
    [["Zebra pump"] + ["Restart the zebra pump."] * 30, ["Second page", "Wait ten minutes."]],
    title="Pump",
)
CHANGED = "changed.pdf"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    made = shelf_of(tmp_path_factory.mktemp("pdf"), {"pump.pdf": PUMP, CHANGED: PUMP})
    (made.folder / CHANGED).write_bytes(text_pdf([["Other"]]))
    return made


def natural_width(picture):
    return picture.evaluate("async it => { await it.decode(); return it.naturalWidth; }")


def test_the_page_of_the_chosen_line_is_shown_beside_it(page):
    page.open("/doc/pump.pdf#L2")
    picture = page.page.get_by_role("img", name="Page 1 of pump.pdf as it looks")
    expect(picture).to_be_visible()
    assert natural_width(picture) == 1000
    lines = page.page.locator(".document-lines").bounding_box()
    assert picture.bounding_box()["x"] > lines["x"] + lines["width"] - 1
    last = page.page.locator(".line[data-line]", has_text="Wait ten minutes.")
    last.locator(".line-number").click()
    expect(page.page.get_by_role("img", name="Page 2 of pump.pdf as it looks")).to_be_visible()
    expect(page.page.locator(".chosen .at")).to_contain_text("line")
    assert violations(page.page) == []


def test_on_a_phone_the_page_is_folded_and_not_fetched(watched):
    page = watched(viewport={"width": 390, "height": 844})
    asked = []
    page.page.on("request", lambda it: asked.append(it.url) if "/api/page" in it.url else None)
    page.open("/doc/pump.pdf")
    page.page.locator(".document-lines .line").first.wait_for()
    assert asked == []
    page.page.locator(".pdf-page summary").click()
    expect(page.page.get_by_role("img", name="Page 1 of pump.pdf as it looks")).to_be_visible()


def test_a_file_that_has_changed_shows_no_page_of_another(page):
    page.open(f"/doc/{CHANGED}")
    expect(page.page.locator(".notices")).to_contain_text("changed since it was ingested")
    expect(page.page.locator(".pdf-page")).to_be_hidden()
    assert page.page.request.get(f"{page.origin}/api/page?source={CHANGED}&page=1").status == 404


@pytest.mark.parametrize("query", ["source=pump.pdf&page=9", "source=gone.pdf&page=1"])
def test_a_page_that_there_is_not_is_404(page, query):
    page.open("/doc/pump.pdf")
    assert page.page.request.get(f"{page.origin}/api/page?{query}").status == 404


@pytest.mark.parametrize(
    "query", ["source=pump.pdf&page=x", "source=../etc/passwd&page=1", "page=1"]
)
def test_a_request_for_no_page_is_refused(page, query):
    page.open("/doc/pump.pdf")
    assert page.page.request.get(f"{page.origin}/api/page?{query}").status == 400
