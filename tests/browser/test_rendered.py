"""A document that is rendered: the same lines marked, links that work, and the way back."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.consoles import QUESTION, sample_files

LINKS = "notes/links.md"
TEXT = """---
title: Links
---
# Links

See [the runbook](../runbooks/rds-failover.md#when-to-fail-over), [its lines](../runbooks/rds-failover.md#L12)
and [a page that is gone](gone.md).

| Symptom | Cause | Action |
|---|---|---|
| Slow | Lock | Wait |
| Down | Host | Fail over |

1. Stop it.

   ```bash
   parcelctl stop
   parcelctl status
   ```
2. Start it.
"""
RUNBOOK = "/doc/runbooks/rds-failover.md"


FILES = sample_files() | {LINKS: TEXT}


def rendered(page, path):
    page.open(path)
    page.page.locator(".document-lines .line").first.wait_for()
    page.page.get_by_role("button", name="Rendered").click()
    page.page.locator(".rendered [data-lines]").first.wait_for()
    return page.page.locator(".rendered")


def marks(shown):
    return [it.get_attribute("data-lines") for it in shown.locator(".marked").all()]


def test_cited_lines_are_marked_in_both_forms(page):
    shown = rendered(page, f"/doc/{LINKS}#L12-L17")
    assert marks(shown) == ["12-12", "14-14", "17-17"]  # a row, a step, a line of its command
    expect(shown.locator(".marked").first).to_be_in_viewport()
    page.page.get_by_role("button", name="Lines", exact=True).click()
    assert page.marked() == list(range(12, 18))
    expect(page.page.locator(".line.marked").first).to_be_in_viewport()


def test_a_number_chooses_its_lines_and_the_address_follows(page):
    shown = rendered(page, f"/doc/{LINKS}")
    shown.get_by_role("link", name="Line 11", exact=True).click()
    expect(page.page).to_have_url(re.compile("#L11$"))
    expect(page.page.locator(".chosen .at")).to_have_text("line 11")
    shown.get_by_role("link", name="Lines 14 to 19", exact=True).click(modifiers=["Shift"])
    expect(page.page).to_have_url(re.compile("#L11-L19$"))


def test_numbers_are_one_stop_of_the_keyboard(page):
    shown = rendered(page, f"/doc/{LINKS}")
    assert shown.locator(".line-number[tabindex='0']").count() == 1
    shown.get_by_role("link", name="Line 4", exact=True).focus()
    page.page.keyboard.press("ArrowDown")
    expect(shown.get_by_role("link", name="Lines 6 to 7", exact=True)).to_be_focused()
    page.page.keyboard.press("Enter")
    expect(page.page).to_have_url(re.compile("#L6-L7$"))


def test_the_form_is_kept_for_the_next_document(page):
    rendered(page, f"/doc/{LINKS}")
    page.open(RUNBOOK)
    expect(page.page.locator(".rendered h2")).to_have_text("RDS failover")
    expect(page.page.locator(".document-lines")).to_be_hidden()
    expect(page.page.get_by_role("button", name="Rendered")).to_have_attribute(
        "aria-pressed", "true"
    )


def test_a_relative_link_opens_the_document_at_its_heading(page):
    shown = rendered(page, f"/doc/{LINKS}")
    expect(shown).to_contain_text("a page that is gone (not ingested: gone.md)")
    shown.get_by_role("link", name="the runbook").click()
    expect(page.page).to_have_url(re.compile(re.escape(RUNBOOK)))
    expect(page.page.locator(".rendered .marked")).to_contain_text("When to fail over")
    page.page.go_back()
    shown.get_by_role("link", name="its lines").click()
    expect(page.page.locator(".rendered .marked")).to_contain_text("Use this runbook")


def test_a_table_is_a_table(page):
    shown = rendered(page, f"/doc/{LINKS}")
    table = shown.get_by_role("table")
    assert table.get_by_role("columnheader").all_inner_texts() == ["Symptom", "Cause", "Action"]
    assert table.get_by_role("row").count() == 3


def test_front_matter_is_not_on_the_rendered_page_and_this_is_said(page):
    shown = rendered(page, f"/doc/{LINKS}#L2")
    assert marks(shown) == []
    expect(page.page.locator(".notices")).to_contain_text("Not on the rendered page.")


def test_owner_review_freshness_and_the_way_back_stay_in_sight(page):
    page.open().ask(QUESTION)
    page.page.locator(".card .open").first.click()
    page.page.locator(".line.marked").first.wait_for()
    page.page.mouse.wheel(0, 4000)
    bar = page.page.locator(".document-tools")
    for words in ("Owner data-platform", "Reviewed 2026-03-18", "Same file as ingested"):
        expect(bar.get_by_text(words)).to_be_in_viewport()
    bar.get_by_role("link", name="Back to the answer").click()
    expect(page.page.locator("#answer")).to_be_visible()


def test_a_document_that_can_not_be_rendered_is_shown_line_by_line(page):
    page.expected = ["503"]
    page.page.route(
        "**/api/rendered*", lambda route: route.fulfill(status=503, json={"error": "Busy."})
    )
    page.open(f"/doc/{LINKS}")
    page.page.get_by_role("button", name="Rendered").click()
    expect(page.page.locator(".notices")).to_contain_text("Not rendered. Busy.")
    expect(page.page.locator(".document-lines")).to_be_visible()
