"""From a question to the very lines: what a reader at a desk does."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.consoles import QUESTION
from tests.support.cli import lines_of
from tests.support.local import CORPUS


@pytest.fixture
def answered(page):
    return page.open().ask(QUESTION)


def lines_cited_by(cite):
    first, last = map(int, cite.get_attribute("data-lines").split("-"))
    path = cite.get_attribute("href").removeprefix("/doc/").partition("#")[0]
    return path, first, last


def shown_lines(rows):
    """Give the text of lines as they are shown, by their numbers."""
    return {
        int(row.get_attribute("data-line")): row.locator(".line-text").text_content()
        for row in rows.all()
    }


def test_a_question_becomes_an_answer_with_citations(answered):
    expect(answered.outcome).to_have_attribute("data-kind", "ok")
    expect(answered.page.locator(".block h3").first).to_have_text("Guidance")
    assert answered.cites.count() >= 5
    expect(answered.page).to_have_url(re.compile(re.escape(f"{answered.origin}/?answer=")))


def test_resting_the_pointer_on_a_citation_shows_its_lines_word_for_word(answered):
    cite = answered.cites.nth(2)
    path, first, last = lines_cited_by(cite)
    cite.hover()
    preview = answered.page.locator(".preview")
    expect(preview).to_be_visible()
    expect(preview.locator(".path")).to_have_text(path)
    shown = shown_lines(preview.locator(".line"))
    assert "\n".join(shown.values()) == lines_of(CORPUS / path, first, last)
    assert list(shown) == list(range(first, last + 1))
    number = cite.get_attribute("data-number")
    expect(answered.page.locator(f"#source-{number}")).to_contain_class("pointed")


def test_the_pointer_may_move_onto_the_preview_and_escape_closes_it(answered):
    preview = answered.page.locator(".preview")
    answered.cites.first.hover()
    expect(preview).to_be_visible()
    preview.hover()
    answered.page.wait_for_timeout(400)  # longer than the preview takes to go
    expect(preview).to_be_visible()
    answered.page.keyboard.press("Escape")
    expect(preview).to_be_hidden()


def test_a_citation_that_gets_the_focus_shows_its_lines_and_loses_them_with_it(answered):
    preview = answered.page.locator(".preview")
    answered.page.locator("#answer .asked-actions button").last.focus()
    for _ in range(12):
        answered.page.keyboard.press("Tab")
        if preview.is_visible():
            break
    focused = answered.page.locator("a.cite:focus")
    expect(focused).to_have_count(1)
    expect(preview.locator(".path")).to_have_text(lines_cited_by(focused)[0])
    answered.page.keyboard.press("Shift+Tab")
    expect(preview).to_be_hidden()


def test_following_a_citation_marks_its_card_for_two_seconds(answered):
    answered.page.clock.install(time=0)  # however long the machine takes to look
    answered.page.clock.pause_at(1)
    cite = answered.cites.last
    number = cite.get_attribute("data-number")
    cite.click()
    card = answered.page.locator(f"#source-{number}")
    expect(card).to_contain_class("flashed")
    expect(card).to_be_in_viewport()
    answered.page.clock.run_for(1_900)
    expect(card).to_contain_class("flashed")
    answered.page.clock.run_for(200)
    expect(card).not_to_contain_class("flashed")


def test_the_card_leads_back_to_the_citation_that_was_followed(answered):
    cite = answered.cites.nth(3)
    cite.click()
    answered.page.locator(".card.reached").get_by_text("Back to the text").click()
    expect(cite).to_be_focused()


def test_every_card_shows_the_lines_of_its_file(answered):
    for card in answered.page.locator(".cards:not(.also-found .cards) .card").all():
        if card.locator(".more").count():
            card.locator(".more").click()
        path = card.locator(".where .path").text_content()
        for number, text in shown_lines(card.locator(".line")).items():
            assert text == lines_of(CORPUS / path, number, number)


def test_a_source_opens_with_exactly_the_cited_lines_marked(answered):
    cite = answered.cites.nth(4)
    path, first, last = lines_cited_by(cite)
    answered.page.goto(f"{answered.origin}{cite.get_attribute('href')}")
    expect(answered.page.locator(".line.marked").first).to_be_in_viewport()
    assert answered.marked() == list(range(first, last + 1))
    assert shown_lines(answered.page.locator(".line.marked"))[first] == lines_of(
        CORPUS / path, first, first
    )


def test_back_from_a_document_the_answer_is_as_it_was_left(answered):
    answered.cites.nth(5).click()
    card = answered.page.locator(".card.reached")
    before = answered.page.locator(".blocks").inner_html()
    card.get_by_role("link").click()
    answered.page.locator(".line.marked").first.wait_for()
    answered.page.go_back()
    expect(answered.page.locator(".blocks")).to_be_visible()
    assert answered.page.locator(".blocks").inner_html() == before
    left = answered.page.evaluate("() => history.state.scroll")
    assert left > 0
    assert answered.page.evaluate("() => scrollY") == left
    expect(card.get_by_role("link")).to_be_focused()


def test_an_answer_survives_a_reload_and_can_be_opened_by_its_address(answered, watched):
    before = answered.page.locator(".blocks").inner_text()
    answered.page.reload()
    assert answered.page.locator(".blocks").inner_text() == before
    expect(answered.page).to_have_url(re.compile("answer="))
    other = watched().open(answered.page.url.removeprefix(answered.origin))
    expect(other.cites.first).to_be_visible()
    assert other.page.locator(".blocks").inner_text() == before


def test_commands_are_copied_as_they_stand(answered):
    answered.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    code = answered.page.locator(".code").first
    code.get_by_role("button").click()
    expect(code.get_by_role("button")).to_contain_class("copied")
    copied = answered.page.evaluate("() => navigator.clipboard.readText()")
    assert copied == code.locator("pre").inner_text()
    assert "\n" in copied


def test_a_reference_is_copied_in_the_form_that_every_command_reads(answered):
    answered.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    card = answered.page.locator(".card").first
    card.get_by_role("button", name="Copy reference").click()
    copied = answered.page.evaluate("() => navigator.clipboard.readText()")
    path = card.locator(".where .path").text_content()
    assert copied.startswith(f"[Source: {path}, lines ")


def test_a_wrong_citation_is_reported_into_a_file(answered, shelf):
    card = answered.page.locator(".card").first
    card.get_by_role("button", name="Report").click()
    answered.page.locator("dialog textarea").fill("It says the opposite.")
    answered.page.get_by_role("button", name="Send report").click()
    expect(answered.page.locator("dialog")).to_have_count(0)
    expect(answered.page.locator("#announcer")).to_have_text("Reported. Thank you.")
    report = shelf.kb.with_name("reports.jsonl").read_text()
    assert "It says the opposite." in report
    assert card.locator(".where .path").text_content() in report


@pytest.mark.parametrize(("name", "suffix"), [("Markdown", "md"), ("JSON", "json")])
def test_an_answer_is_taken_away_with_its_citations(answered, name, suffix):
    with answered.page.expect_download() as download:
        answered.page.locator(".answer-actions").get_by_role("link", name=name).click()
    assert download.value.suggested_filename.endswith(f".{suffix}")
    text = download.value.path().read_text()
    path, first, last = lines_cited_by(answered.cites.first)
    assert path in text
    assert str(first) in text
    assert str(last) in text
