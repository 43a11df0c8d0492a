"""The dashboard: what the console has done, in numbers that agree with what was done."""

from __future__ import annotations

from playwright.sync_api import expect

from knowledge_rag.core.outcome import Reason
from tests.browser.consoles import QUESTION, UNDOCUMENTED, Script, console

FABRICATED = "1. Promote the reader. [1]\n2. It definitely helps. [Source 99]\n"


def tile(page, name):
    return page.page.locator(".tile", has=page.page.get_by_text(name, exact=True)).locator(
        ".tile-value"
    )


def test_a_new_console_has_nothing_to_show_and_says_so(shelf, watched):
    with console(shelf, Script()) as address:
        page = watched(address).open("/dashboard")
        expect(tile(page, "Questions")).to_have_text("0")
        expect(tile(page, "Answered")).to_have_text("–")
        expect(tile(page, "No documented steps")).to_have_text("–")
        assert page.page.get_by_text("Nothing yet").count() == 4


def test_the_figures_are_those_of_what_was_asked(page, script):
    page.open().ask(QUESTION)
    page.open().ask(UNDOCUMENTED)
    script.reason = Reason.TIMEOUT
    page.ask(QUESTION)
    script.reason, script.says = None, FABRICATED
    page.ask(QUESTION)
    page.page.get_by_role("link", name="Dashboard").click()
    expect(tile(page, "Questions")).to_have_text("4")
    expect(tile(page, "Answered")).to_have_text("50 %")
    expect(tile(page, "No documented steps")).to_have_text("0 %")
    expect(tile(page, "Nothing documented")).to_have_text("25 %")
    expect(tile(page, "Unavailable")).to_have_text("25 %")
    expect(tile(page, "Invalid references")).to_have_text("1")
    sources = page.page.get_by_role("region", name="Most-cited sources")
    expect(sources.get_by_role("link").first).to_have_text("runbooks/rds-failover.md")
    expect(page.page.get_by_role("region", name="Why it was unavailable")).to_contain_text(
        "Timeout"
    )
    expect(page.page.get_by_role("region", name="Warnings by kind")).to_contain_text(
        "Source does not exist"
    )


def test_a_server_that_is_gone_is_told(page):
    page.expected = ["ERR_"]
    page.open()
    page.page.context.set_offline(True)
    page.page.get_by_role("link", name="Dashboard").click()
    expect(page.page.locator("#dashboard-view .outcome")).to_contain_text("can't be reached")
    page.page.context.set_offline(False)
    page.page.get_by_role("button", name="Try again").click()
    expect(tile(page, "Questions")).to_be_visible()
