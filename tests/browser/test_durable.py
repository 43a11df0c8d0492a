"""Answers that are still there tomorrow: their links, their questions, and what has changed since."""

from __future__ import annotations

import re
import threading
from urllib.parse import urlsplit

from playwright.sync_api import expect

from tests.browser.accessibility import violations
from tests.browser.consoles import Script, console
from tests.browser.test_checklist import QUEUE

FILES = {"runbooks/mail-queue.md": QUEUE}


def path_of(page):
    page.page.wait_for_url(re.compile("answer="))
    return page.page.url.removeprefix(page.origin)


def test_a_link_opens_after_a_restart_and_tells_what_has_changed_since(
    page, watched, shelf, script
):
    path = path_of(page.open().ask("QueueStuck"))
    text = page.page.locator(".blocks").inner_text()
    file = shelf.folder / "runbooks/mail-queue.md"
    with console(shelf, script) as restarted:
        again = watched(restarted).open(path)
        expect(again.page.locator("#asked")).to_have_text("QueueStuck")
        assert again.page.locator(".blocks").inner_text() == text
        expect(again.page.locator(".asked-at")).to_have_text(re.compile(r"Answered 20.* UTC\. $"))
        assert violations(again.page) == []
        file.write_text(QUEUE.replace("Start the senders", "Restart the senders"))
        try:
            again.page.reload()
            since = again.page.locator(".asked-at b")
            expect(since).to_have_text("1 document of it changed since: see its sources.")
        finally:
            file.write_text(QUEUE)


def test_a_question_in_an_address_is_asked_and_stays_in_the_answers_address(page):
    page.page.goto(f"{page.origin}/?q=QueueStuck")
    page.page.locator('#answer[aria-busy="false"] .block').first.wait_for()
    assert path_of(page).endswith("&q=QueueStuck")
    expect(page.page.locator("#asked")).to_have_text("QueueStuck")


def test_an_answer_that_is_gone_is_asked_for_again_by_its_question(page):
    page.expected = ["404"]
    page.open("/?answer=long-ago&q=QueueStuck")
    expect(page.outcome).to_contain_text("not kept any more")
    expect(page.page.locator("#asked")).to_have_text("QueueStuck")
    page.page.get_by_role("button", name="Try again").click()
    expect(page.outcome).to_have_attribute("data-kind", re.compile("ok|warning"))


def test_a_recent_question_opens_its_answer_with_its_ticks(page):
    path = path_of(page.open().ask("QueueStuck"))
    page.page.get_by_role("checkbox").first.check()
    page.page.get_by_role("button", name="New question").click()
    asked = []
    page.page.on("request", lambda it: asked.append(it.url))
    page.page.locator(".recent-question").first.click()
    expect(page.page.locator(".done-count")).to_have_text("1 of 4 steps done")
    assert path_of(page) == path
    assert not any("/api/ask" in url for url in asked)


def test_a_damaged_history_is_no_harm(page, watched, shelf):
    path = path_of(page.open().ask("QueueStuck"))
    name = re.search(r"answer=([\w-]+)", path)[1]
    stored = shelf.kb.with_name("answers") / f"{name}.json"
    stored.write_bytes(stored.read_bytes()[:-100])
    with console(shelf, Script()) as restarted:
        again = watched(restarted)
        again.expected = ["404"]
        again.open(path)
        expect(again.outcome).to_contain_text("not kept any more")


def test_a_server_that_is_restarted_in_mid_answer_is_said_and_asked_again(watched, shelf, script):
    script.gate, script.behind = threading.Event(), "]\n"
    try:
        with console(shelf, script) as address:
            page = watched(address)
            page.expected = ["ERR_", "NetworkError"]
            page.open().begin("QueueStuck")
            page.cites.first.wait_for()
        expect(page.outcome).to_have_attribute("data-kind", "failed")
        expect(page.outcome).to_contain_text("broke off")
        assert page.cites.count() > 0
    finally:
        script.gate.set()
    with console(shelf, Script(), port=urlsplit(address).port) as again:
        assert again == address
        page.outcome.get_by_role("button", name="Try again").click()
        expect(page.outcome).to_have_attribute("data-kind", re.compile("ok|warning"))
