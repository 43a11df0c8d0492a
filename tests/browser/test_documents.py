"""The list of documents, the start page, and addresses that lead nowhere."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import violations
from tests.browser.consoles import QUESTION

HOSTILE = "<img src=x onerror=alert(1)>"


def runbook(title, service, owner="storage", **more):
    facts = {"title": json.dumps(title), "service": service, "owner": owner, **more}
    front = "\n".join(f"{name}: {value}" for name, value in facts.items())
    return f"---\n{front}\n---\n# {title}\n\n## Resolution\n\n1. Restart the {service} now.\n"


FILES = {
    "runbooks/disk.md": runbook("Disk full", "disk", tags="[space]", last_reviewed="2024-01-02"),
    "runbooks/mail.md": runbook("Mail queue stuck", "mail", "messaging"),
    "runbooks/odd.md": runbook(HOSTILE, "disk"),
    "postmortems/2026-01.md": runbook("The day of the disk", "disk", severity="SEV1"),
}


@pytest.fixture
def listed(page):
    page.open("/documents")
    expect(page.page.locator(".documents-count")).to_have_text("4 documents")
    return page


def expect_paths(page, paths):
    """Wait until these documents are listed; a row that is not drawn yet has no inner text."""
    expect(page.page.locator(".documents-list .path")).to_have_text(list(paths))


def test_all_documents_are_listed_with_what_is_known_of_them(listed):
    expect_paths(listed, sorted(FILES))
    row = listed.page.locator("li", has_text="runbooks/disk.md")
    expect(row).to_contain_text("Last reviewed 2024-01-02")
    assert violations(listed.page) == []
    row.get_by_role("link").click()
    expect(listed.page.locator("#document-view h1")).to_have_text("Disk full")


def test_the_list_is_searched_and_narrowed(listed):
    page = listed.page.locator("#documents-view")
    page.get_by_label("Search").fill("DISK space")
    expect(page.locator(".documents-count")).to_have_text("1 of 4 documents")
    expect_paths(listed, ["runbooks/disk.md"])
    page.get_by_label("Search").fill("")
    expect(page.locator(".documents-count")).to_have_text("4 documents")
    page.get_by_label("Owner").select_option("messaging")
    expect_paths(listed, ["runbooks/mail.md"])
    page.get_by_label("Service").select_option("disk")
    expect(page.locator(".documents-count")).to_have_text("0 of 4 documents")
    page.get_by_label("Service").select_option("")
    page.get_by_label("Owner").select_option("")
    page.get_by_label("Reviewed").select_option("never")
    expect_paths(listed, [it for it in sorted(FILES) if it != "runbooks/disk.md"])
    page.get_by_label("Reviewed").select_option("more than a year ago")
    expect_paths(listed, ["runbooks/disk.md"])
    page.get_by_label("Reviewed").select_option("in the last 90 days")
    expect(page.locator(".documents-count")).to_have_text("0 of 4 documents")


def test_a_hostile_title_is_words(listed):
    page = listed.page
    expect(page.locator(".documents-list")).to_contain_text(HOSTILE)
    assert page.locator(".documents-list img").count() == 0
    listed.open()
    expect(page.locator("#examples")).to_contain_text(HOSTILE)
    assert page.locator("#examples img").count() == 0


def test_ten_thousand_documents_are_made_as_they_are_scrolled_to(page):
    many = [
        {"source": f"r/{n:05}.md", "title": f"Runbook {n}", "service": f"s{n % 9}"}
        for n in range(10_000)
    ]
    page.page.route("**/api/documents", lambda it: it.fulfill(json={"documents": many}))
    page.open("/documents")
    expect(page.page.locator(".documents-count")).to_have_text("10000 documents")
    rows = page.page.locator(".documents-list li")
    expect(rows.nth(10)).to_be_attached()
    assert rows.count() < 200
    page.page.evaluate("() => scrollTo(0, document.documentElement.scrollHeight)")
    expect(rows.nth(50)).to_be_attached()
    during, searches = page.page.evaluate("""async () => {
      const list = document.querySelector(".documents-list");
      const input = document.querySelector("#documents-view input[type=search]");
      let changes = 0, cleared = 0;
      const count = (all) => all.forEach((one) => { changes += 1; cleared += one.removedNodes.length > 0; });
      const watch = new MutationObserver(count);
      watch.observe(list, { childList: true });
      for (const text of ["r", "ru", "runbook"]) {
        input.value = text;
        input.dispatchEvent(new Event("input"));
      }
      count(watch.takeRecords());
      const during = changes;
      await watched.drawn();
      await watched.drawn();
      return [during, cleared];
    }""")
    assert during == 0  # a letter is drawn before what it finds
    assert searches == 1  # and of letters that come at once the last one searches
    page.page.get_by_label("Search").fill("runbook 9999")
    expect(rows).to_have_count(1)


def test_the_start_page_offers_examples_and_the_services_that_there_are(page):
    page.open()
    page.page.locator("#filters summary").click()
    expect(page.page.locator("#services option")).to_have_count(2)
    assert violations(page.page) == []
    page.page.get_by_role("button", name="Disk full").click()
    expect(page.page.locator("#asked")).to_have_text("Disk full")
    expect(page.page).to_have_title("Disk full – Knowledge RAG")


def test_an_alert_is_pasted_with_a_click_where_the_browser_lets_a_page_read_it(watched):
    page = watched(permissions=["clipboard-read", "clipboard-write"]).open()
    page.page.evaluate('() => navigator.clipboard.writeText(\'{"title": "Disk full"}\')')
    page.page.get_by_role("button", name="Paste an alert").click()
    expect(page.page.locator("#question")).to_have_value('{"title": "Disk full"}')
    page.page.evaluate("() => navigator.clipboard.writeText('a secret')")
    page.page.get_by_role("button", name="Paste an alert").click()
    expect(page.page.locator("#question")).to_have_value("")


def test_where_filters_leave_nothing_the_search_goes_on_without_them(page):
    page.open()
    page.page.locator("#filters summary").click()
    page.page.locator("#service").fill("nothing-of-this-name")
    page.ask("Mail queue stuck")
    expect(page.outcome).to_have_attribute("data-kind", "nothing")
    page.page.get_by_role("button", name="Search without filters").click()
    expect(page.outcome).to_have_attribute("data-kind", re.compile("ok|warning"))


@pytest.mark.parametrize("path", ["/nowhere", "/doc/runbooks/none.md"])
def test_an_address_that_leads_nowhere_is_404_and_a_page(page, path):
    page.expected = ["404"]
    answer = page.page.goto(page.origin + path)
    assert answer.status == 404
    expect(page.page.locator("h1:visible")).to_be_visible()
    if path == "/nowhere":
        expect(page.page.get_by_role("alert")).to_contain_text("no page /nowhere")


def test_sources_are_grouped_by_document_in_the_order_of_the_text(page):
    page.open().ask("Disk full")
    groups = page.page.locator(".sources > .cards .group-head .path").all_inner_texts()
    assert groups
    assert len(groups) == len(set(groups))
    numbers = page.page.locator(".sources > .cards .card .number").all_inner_texts()
    cites = [it.strip("[]") for it in page.cites.all_inner_texts()]
    assert sorted(numbers) == sorted(set(cites))
    group = page.page.locator(".sources > .cards .source-group").first
    own = group.locator(".card .number").all_inner_texts()
    assert own == [it for it in dict.fromkeys(cites) if it in own]


def test_a_long_question_does_not_fill_the_tabs_title(page):
    page.open().ask(QUESTION * 20)
    assert len(page.page.title()) < 100


def test_a_view_that_can_not_be_fetched_is_said_and_fetched_the_next_time(page):
    page.open()
    page.expected = ["ERR_FAILED", "module"]
    page.page.route("**/js/dashboard-view.js", lambda route: route.abort())
    page.page.get_by_role("link", name="Dashboard").click()
    expect(page.page.locator("#dashboard-view")).to_contain_text("can't be reached")
    expect(page.page.get_by_role("heading", name="Dashboard")).to_be_visible()
    page.page.unroute("**/js/dashboard-view.js")
    page.page.get_by_role("button", name="Try again").click()
    expect(page.page.locator(".tile").first).to_be_visible()
