"""The view of a file: the right lines, whoever leads there and however long it is."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from knowledge_rag.local.ingest import ingest
from tests.browser.consoles import Script, console, sample_files, shelf_of
from tests.support.cli import lines_of
from tests.support.local import minilm

LONG = "".join(f"Part {at}.\n" if at % 100 == 3 else "\n" for at in range(3, 5001))
CHANGED = "runbooks/sqs-backlog.md"
EDITED = "notes/edited.md"
ODD = "notes/odd.md"
RUNBOOK = "/doc/runbooks/rds-failover.md"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    files = sample_files() | {
        "long.md": "# Widgets\n\n" + LONG,
        EDITED: "# Parcels\n\nOpen the gate.\nCount the parcels.\nClose it.\n",
        ODD: b"\xef\xbb\xbf# Odd\r\n\r\none\r\ntwo \xe2\x80\xa8 three\r\n"
        + b"x" * 20_000
        + b"\r\nlast",
    }
    made = shelf_of(tmp_path_factory.mktemp("documents"), files)
    path = made.folder / CHANGED
    path.write_text("Added later.\n\n" + path.read_text())
    path = made.folder / EDITED
    path.write_text(path.read_text().replace("Count", "Never count"))
    return made


def opened(page, path):
    page.open(path)
    page.page.locator(".document-lines .line").first.wait_for()
    return page


def number(page, line):
    return page.page.locator(f'.document-lines .line-number[data-number="{line}"]')


def test_every_line_is_shown_with_its_number(page, shelf):
    opened(page, RUNBOOK)
    path = RUNBOOK.removeprefix("/doc/")
    shown = page.page.evaluate(
        "() => [...document.querySelectorAll('.document-lines .line-text')].map((it) => it.textContent)"
    )
    assert "\n".join(shown) == lines_of(shelf.folder / path, 1, len(shown))


@pytest.mark.parametrize("address", ["#L89-L94", "#L89-94", "#L94-L89"])
def test_an_address_marks_and_shows_its_lines(page, address):
    opened(page, RUNBOOK + address)
    assert page.marked() == list(range(89, 95))
    expect(number(page, 89)).to_be_in_viewport()
    expect(page.page.locator(".chosen .at")).to_have_text("lines 89–94")


def test_a_line_far_down_a_long_file_is_there_at_once(page):
    opened(page, "/doc/long.md#L4003")
    assert page.page.locator(".document-lines .line").count() == 5000
    expect(number(page, 4003)).to_be_in_viewport()
    assert page.marked() == [4003]


def test_odd_lines_are_lines_of_the_file_and_nothing_else(page, shelf):
    opened(page, f"/doc/{ODD}")
    texts = page.page.locator(".document-lines .line-text").all_text_contents()
    # the line separator is shown by its name, and ends no line
    wanted = lines_of(shelf.folder / ODD, 1, 6).replace("\r", "").replace("\u2028", "U+2028")
    assert texts == wanted.split("\n")


def test_a_click_a_shift_click_and_a_drag_choose_lines_and_the_address_follows(page):
    opened(page, RUNBOOK)
    number(page, 5).click()
    expect(page.page).to_have_url(re.compile("#L5$"))
    number(page, 9).click(modifiers=["Shift"])
    assert page.marked() == [5, 6, 7, 8, 9]
    expect(page.page).to_have_url(re.compile("#L5-L9$"))
    number(page, 14).hover()
    page.page.mouse.down()
    number(page, 12).hover()
    page.page.mouse.up()
    assert page.marked() == [12, 13, 14]
    expect(page.page).to_have_url(re.compile("#L12-L14$"))


def test_a_keyboard_chooses_lines(page):
    opened(page, f"{RUNBOOK}#L20")
    number(page, 20).focus()
    page.page.keyboard.press("ArrowDown")
    expect(number(page, 21)).to_be_focused()
    page.page.keyboard.press("Enter")
    assert page.marked() == [21]
    page.page.keyboard.press("Shift+ArrowDown")
    page.page.keyboard.press("Shift+ArrowDown")
    assert page.marked() == [21, 22, 23]
    expect(page.page).to_have_url(re.compile("#L21-L23$"))


def test_link_and_reference_are_copied(page):
    opened(page, f"{RUNBOOK}#L89-L94")
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copied = "() => navigator.clipboard.readText()"
    page.page.get_by_role("button", name="Copy link").click()
    expect(page.page.locator("#announcer")).to_have_text("Copied: link")
    assert page.page.evaluate(copied) == f"{page.origin}{RUNBOOK}#L89-L94"
    page.page.get_by_role("button", name="Copy reference").click()
    expect(page.page.locator("#announcer")).to_have_text("Copied: reference")
    assert page.page.evaluate(copied) == "[Source: runbooks/rds-failover.md, lines 89-94]"


def test_the_outline_leads_to_its_headings(page):
    opened(page, RUNBOOK)
    page.page.locator(".outline").get_by_role("link", name="Escalation").click()
    (line,) = page.marked()
    expect(page.page.locator(f'.line[data-line="{line}"] .line-text')).to_have_text("## Escalation")
    expect(number(page, line)).to_be_in_viewport()


def test_the_repository_is_linked(page):
    opened(page, RUNBOOK)
    link = page.page.get_by_role("link", name="In the repository")
    assert link.get_attribute("href").startswith("https://example.com/team/runbooks/blob/main/")
    assert "noopener" in link.get_attribute("rel")


def test_a_file_that_has_changed_since_is_told_and_shown_as_it_was(page):
    opened(page, f"/doc/{CHANGED}#L72-L74")
    expect(page.page.locator(".notice").first).to_contain_text("changed since it was ingested")
    expect(page.page.locator(".notice").first).to_contain_text("74-76")  # where the lines went
    expect(page.page.locator(".document-lines")).not_to_contain_text("Added later.")


def test_each_choice_of_lines_gets_the_verdict_and_the_link_of_these_very_lines(page):
    opened(page, f"/doc/{EDITED}#L3")
    notice = page.page.locator(".notice").first
    expect(notice).to_contain_text("Line 3 is still the same.")
    number(page, 4).click()
    expect(notice).to_contain_text("line 4: changed")
    link = page.page.get_by_role("link", name="In the repository")
    assert link.get_attribute("href").endswith(f"{EDITED}#L4-L4")
    number(page, 3).click()
    expect(notice).to_contain_text("Line 3 is still the same.")
    number(page, 4).click(modifiers=["Shift"])
    expect(notice).to_contain_text("lines 3-4: changed")


def test_nothing_is_said_to_be_the_same_before_the_server_has_said_so(page):
    opened(page, f"/doc/{EDITED}#L3")
    notice = page.page.locator(".notice").first
    expect(notice).to_contain_text("Line 3 is still the same.")
    page.expected = ["ERR_FAILED"]
    page.page.route("**/api/document*", lambda route: route.abort())
    number(page, 5).click()
    expect(page.page.locator(".notice")).to_contain_text(["changed", "Not compared"])
    assert "same" not in page.page.locator(".notices").inner_text()


def test_lines_that_are_shown_are_not_fetched_again(page):
    opened(page, f"/doc/{EDITED}#L3")
    with page.page.expect_response("**/api/document*") as answer:
        number(page, 5).click()
    assert "lines" not in answer.value.json()
    expect(page.page.locator(".notices")).to_contain_text("Line 5 is still the same.")
    assert page.marked() == [5]


def test_lines_past_the_end_are_cut_off_and_copied_so(page):
    opened(page, f"/doc/{EDITED}#L4-L5000")
    assert page.marked() == [4, 5]
    expect(page.page.locator(".notices")).to_contain_text("There is no line 5000.")
    expect(page.page.locator(".notices")).to_contain_text("lines 4-5: changed")
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.page.get_by_role("button", name="Copy reference").click()
    expect(page.page.locator("#announcer")).to_have_text("Copied: reference")
    copied = page.page.evaluate("() => navigator.clipboard.readText()")
    assert copied == f"[Source: {EDITED}, lines 4-5]"


def test_a_file_ingested_anew_shows_as_it_is_now_when_it_is_opened_again(watched, tmp_path):
    made = shelf_of(tmp_path, {"a.md": "# Zebra\n\nFeed the zebra.\n"})
    with console(made, Script()) as address:
        page = opened(watched(address), "/doc/a.md#L3")
        page.page.locator(".brand").click()
        (made.folder / "a.md").write_text("# Zebra\n\nHurry.\n\nFeed the zebra twice.\n")
        ingest(made.folder, made.kb, embedder=minilm())
        page.page.go_back()
        expect(page.page.locator(".line.marked .line-text")).to_have_text("Hurry.")
        assert page.page.locator(".document-lines .line").count() == 5


def test_a_file_that_comes_too_late_names_no_tab(page):
    held = []
    page.open()
    page.page.route("**/api/document*", lambda route: held.append(route))  # noqa: PLW0108 - it wants a function
    page.follow("/doc/runbooks/rds-failover.md")
    expect(page.page.locator("#document-view")).to_contain_text("Opening")
    page.page.locator(".brand").click()
    with page.page.expect_response("**/api/document*"):
        held[0].continue_()
    page.page.evaluate(
        "() => new Promise((done) => setTimeout(done, 100))"
    )  # it would be read by now
    assert page.page.title() == "Knowledge RAG"


def test_lines_that_the_file_does_not_have_are_told_and_it_is_shown(page):
    opened(page, f"{RUNBOOK}#L9000")
    expect(page.page.locator(".notice").first).to_contain_text("There is no line 9000.")
    assert page.marked() == []


@pytest.mark.parametrize("path", ["never.md", "..%2f..%2fetc%2fpasswd", "a%00b", "%ff"])
def test_a_document_that_there_is_not_is_told(page, path):
    page.expected = ["404"]
    page.open(f"/doc/{path}")
    expect(page.page.locator("#document-view .outcome")).to_contain_text("No such document")
