"""The page of what there is to mend: from computing to findings with their lines, while answers go on."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import faults
from tests.browser.consoles import QUESTION, UNDOCUMENTED, Script, console, sample_files, shelf_of

RULES = """\
groups:
- name: widgets
  rules:
  - alert: WidgetPressJammed
    expr: up == 0
"""
PAGE = "# <b onmouseover=alert(1)>Widgets</b>\n\nSee [x](<gone.md>).\n\nkey AKIAIOSFODNN7EXAMPL2\n"
PATIENCE = 180_000


@pytest.fixture(scope="module")
def origin(browser, tmp_path_factory):  # noqa: ARG001 - no console without a browser
    folder = tmp_path_factory.mktemp("health")
    made = shelf_of(folder, sample_files() | {"runbooks/<img src=x>.md": PAGE})
    (folder / "rules.yaml").write_text(RULES)
    with console(made, Script(), rules=(str(folder / "rules.yaml"),)) as address:
        yield address


def section(page, name):
    return page.page.get_by_role("region", name=name)


def checked(page):
    page.open("/health")
    page.page.locator("#health-view[data-state='ready']").wait_for(timeout=PATIENCE)
    return page


def test_an_answer_comes_while_the_checks_run_and_they_end_with_file_and_line(page):
    page.open("/health")
    expect(page.page.locator("#health-view .since")).to_contain_text("Answers don’t wait for it.")
    page.page.get_by_role("link", name="Ask", exact=True).click()
    page.ask(QUESTION)
    assert page.cites.count() > 0
    page.ask(UNDOCUMENTED)
    page.page.get_by_role("link", name="Health").click()
    page.page.locator("#health-view[data-state='ready']").wait_for(timeout=PATIENCE)
    page.page.get_by_role("button", name="Check again").click()
    page.page.locator("#health-view[data-state='ready']").wait_for(timeout=PATIENCE)
    alerts = section(page, "Alerts without a runbook")
    expect(alerts).to_contain_text("WidgetPressJammed")
    expect(alerts).to_contain_text("rules.yaml:4")
    expect(section(page, "Questions that found nothing")).to_contain_text(UNDOCUMENTED)
    expect(section(page, "Runbooks that were never reviewed")).to_contain_text("no last_reviewed")
    section(page, "Procedures that no longer fit").get_by_role(
        "link", name="<img src=x>.md:3"
    ).click()
    expect(page.page.locator(".line.marked")).to_have_count(1)
    assert page.marked() == [3]


def test_a_secret_is_named_and_not_shown(page):
    secret = section(checked(page), "Text to look at")
    expect(secret).to_contain_text("<img src=x>.md:5")
    assert "AKIAIOSFODNN7EXAMPL2" not in page.page.locator("#health-view").inner_text()


def test_it_is_sound_in_all_widths_and_colours(page):
    checked(page)
    assert faults(page) == {}


def test_a_server_that_is_gone_is_said(page):
    page.expected = ["ERR_FAILED"]
    page.page.route("**/api/health", lambda route: route.abort())
    page.open("/health")
    expect(page.page.locator("#health-view .since")).to_contain_text("can't be reached")
