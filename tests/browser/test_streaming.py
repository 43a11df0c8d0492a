"""An answer while it comes: nothing that is shown moves, is torn away or can be copied by halves."""

from __future__ import annotations

import re
import threading

import pytest
from playwright.sync_api import expect

from tests.browser.consoles import QUESTION

OTHER = "Why is the SQS queue backing up?"
SIZES = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 360, "height": 740}}
WARNED = (
    "1. Promote the reader with the lower lag. [1]\n2. It definitely helps. [Source 99]\n\n"
    + ("Words of no consequence. " * 40)
)
LAST = {
    None: "--target-db-instance-identifier orders-db-reader-2",
    WARNED: "Words of no consequence.",
}
"""The end of what is written."""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("says", [None, WARNED], ids=["honest", "warned"])
def test_nothing_that_is_shown_moves_while_the_answer_comes(watched, script, size, says):
    script.pause, script.size, script.says, script.end = 0.002, 40, says, threading.Event()
    page = watched(viewport=SIZES[size]).open()
    try:
        page.begin(QUESTION)
        expect(page.page.locator(".blocks")).to_contain_text(LAST[says])
        page.drawn()  # what comes with the end can move it now
    finally:
        script.end.set()
    page.page.locator('#answer[aria-busy="false"]').wait_for()
    for shown in ("block", "outcome", "asked"):
        assert page.shift(shown) == 0, page.page.evaluate("() => watched.shifts")


def test_stages_are_told_politely_and_pieces_of_text_are_not(page, script):
    script.pause, script.size = 0.002, 40
    page.open()
    page.page.evaluate("""() => {
      const region = document.querySelector("#announcer");
      new MutationObserver((all) => {
        for (const one of all) for (const text of one.addedNodes) watched.labels.push(text.textContent);
      }).observe(region, { childList: true });
    }""")
    page.ask(QUESTION)
    expect(page.page.locator("#announcer")).to_contain_text("Answer complete")
    told = page.page.evaluate("() => watched.labels")
    assert told[0] == "Searching the knowledge base …"
    assert any("relevant sources" in one for one in told)
    assert len(told) <= 5
    assert page.page.locator("#announcer").get_attribute("aria-live") == "polite"


FIRST = "1. Promote the reader. [1]\n"
LIST = FIRST + "2. Wait for it. [4]\n"
COMMAND = FIRST + "\n   ```bash\n   aws rds wait\n   ```\n"
"""It makes paragraphs of the list's items, of those that were shown too."""


@pytest.mark.parametrize("says", [LIST, COMMAND], ids=["list", "command"])
def test_the_focus_survives_the_pieces_that_follow(page, script, says):
    script.says, script.gate, script.behind = says, threading.Event(), FIRST
    page.open().begin(QUESTION)
    try:
        page.cites.first.focus()
        before = page.page.locator(".blocks").inner_text()
    finally:
        script.gate.set()
    page.page.locator('#answer[aria-busy="false"]').wait_for()
    assert page.page.locator(".blocks").inner_text() != before
    expect(page.cites.first).to_be_focused()


def test_a_selection_survives_the_pieces_that_follow(page, script):
    script.says, script.gate, script.behind = LIST, threading.Event(), FIRST
    page.open().begin(QUESTION)
    try:
        page.cites.first.wait_for()
        page.page.evaluate(
            "() => getSelection().selectAllChildren(document.querySelector('.blocks li'))"
        )
    finally:
        script.gate.set()
    page.page.locator('#answer[aria-busy="false"]').wait_for()
    assert "Promote the reader." in page.page.evaluate("() => String(getSelection())")
    assert page.page.locator(".blocks li").count() == 2


def test_half_a_command_cannot_be_copied(page, script):
    script.says = (
        "1. Promote it. [1]\n\n   ```bash\n   echo go\n   rm -rf /var/tmp/scratch\n   ```\n"
    )
    script.gate, script.behind = threading.Event(), "rm -rf /var"
    page.open().begin(QUESTION)
    code = page.page.locator(".code").first
    try:
        expect(code).to_contain_text("echo go")
        expect(code).not_to_contain_text("rm -rf")  # of a fence, whole lines are shown
        expect(code.locator(".copy-code")).to_be_hidden()
    finally:
        script.gate.set()
    page.page.locator('#answer[aria-busy="false"]').wait_for()
    expect(code.locator(".copy-code")).to_be_visible()


def test_what_was_shown_is_taken_back_when_the_answer_comes_to_something_else(page, script):
    script.says = "1. Promote the reader. [1]\n\nNothing of this will last.\n"
    script.comes_to = "1. Wait for it. [4]\n"
    script.gate, script.behind = threading.Event(), "last.\n"
    page.open().begin(QUESTION)
    try:
        expect(page.page.locator(".block")).to_have_count(2)
        expect(page.page.locator(".blocks")).to_contain_text("Promote the reader.")
    finally:
        script.gate.set()
    page.page.locator('#answer[aria-busy="false"]').wait_for()
    expect(page.page.locator(".block")).to_have_count(1)
    expect(page.page.locator(".block")).to_contain_text("Wait for it.")
    assert page.cites.evaluate_all("(all) => all.map((it) => it.dataset.number)") == ["4"]


def test_going_back_while_an_answer_comes_leads_to_the_one_of_the_address(page, script):
    page.open().ask(QUESTION)
    first = page.page.url
    script.gate = threading.Event()
    try:
        page.begin(OTHER)
        expect(page.outcome).to_contain_text("relevant sources")
        page.page.go_back()
        expect(page.page.locator("#asked")).to_have_text(QUESTION)
        expect(page.outcome).to_have_attribute("data-kind", "ok")
        expect(page.page.locator("#stop")).to_be_hidden()
        expect(page.page).to_have_url(first)
    finally:
        script.gate.set()
    page.page.reload()
    expect(page.page.locator("#asked")).to_have_text(QUESTION)
    expect(page.page).to_have_url(first)


def test_an_answer_that_ends_while_a_document_is_open_gets_its_address(page, script):
    script.gate = threading.Event()
    try:
        page.open().begin(QUESTION)
        expect(page.outcome).to_contain_text("relevant sources")
        page.follow("/doc/runbooks/rds-failover.md#L5")
        expect(page.page.locator(".line.marked")).to_have_count(1)
    finally:
        script.gate.set()
    expect(page.page.locator("#announcer")).to_contain_text("Answer complete")
    page.page.locator(".back-link").click()
    expect(page.page).to_have_url(re.compile(re.escape(f"{page.origin}/?answer=")))
    expect(page.page.locator("#ask-view")).to_be_visible()
    expect(page.outcome).to_have_attribute("data-kind", "ok")
