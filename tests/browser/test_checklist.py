"""Steps that are ticked: kept in the browser, shared by its tabs, handed over as a timeline."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import violations

QUEUE = """\
# QueueStuck: the mail queue is stuck

Alert `QueueStuck` fires if no mail leaves the queue for ten minutes.

## Resolution

> **Warning**: customers see their mail twice.

If only one sender is stuck, go to the senders' page.

4. Pause the *senders* of the mail queue <img src=x onerror=alert(1)>:

   ```bash
   mailctl pause --all --cluster <cluster-id>
   ```

5. Delete the [spool](javascript:alert(1)):

   ```bash
   rm -rf /var/spool/mailer
   ```

6. Start the senders of the mail queue.

## Never do this

- Purge the whole mail queue with `mailctl purge`.

## Old procedure

- Restart the mailer.

## Verification

- The mail queue is empty.
"""


FILES = {"runbooks/mail-queue.md": QUEUE}


@pytest.fixture
def answered(page):
    page.open().ask("QueueStuck")
    page.page.wait_for_url("**/?answer=*")
    return page


def count(page):
    return page.page.locator(".done-count")


def timeline(page):
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.page.get_by_role("button", name="Copy timeline").click()
    expect(page.page.locator("#announcer")).to_have_text("Copied: timeline")
    return page.page.evaluate("() => navigator.clipboard.readText()")


def test_each_step_keeps_its_number_and_has_a_tick(answered):
    steps = answered.page.locator("li.step")
    expect(steps).to_have_count(4)
    expect(answered.page.locator('ol[start="4"] > li.step')).to_have_count(3)
    expect(count(answered)).to_have_text("0 of 4 steps done")
    expect(answered.page.get_by_role("button", name="Copy timeline")).not_to_be_visible()
    assert violations(answered.page) == []


def test_a_tick_has_the_time_and_a_note_and_is_there_after_a_reload(answered):
    page = answered.page
    page.get_by_role("checkbox", name="Done: 5. Delete the").check()
    page.get_by_label("Note", exact=True).fill("spool had 4 GB")
    page.keyboard.press("Tab")
    expect(count(answered)).to_have_text("1 of 4 steps done")
    assert violations(page) == []
    page.reload()
    expect(page.locator(".step.done")).to_contain_text("Done 20")
    expect(page.get_by_label("Note", exact=True)).to_have_value("spool had 4 GB")
    page.get_by_role("button", name="Clear ticks").click()
    expect(page.locator(".step.done, .tick-note")).to_have_count(0)
    expect(count(answered)).to_have_text("0 of 4 steps done")


def test_two_tabs_with_an_answer_have_the_same_ticks(answered):
    page = answered.page
    page.context.remove_listener("page", answered._opened)
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("checkbox").first.check()
    expect(count(answered)).to_have_text("1 of 4 steps done")
    page.get_by_role("checkbox").last.check()
    expect(other.locator(".done-count")).to_have_text("2 of 4 steps done")
    other.close()


def test_the_timeline_names_what_was_done_when_and_by_which_lines(answered):
    page = answered.page
    page.get_by_role("checkbox").nth(1).check()
    page.get_by_role("checkbox").nth(0).check()
    page.get_by_label("Note", exact=True).first.fill("<b>two</b> [senders](javascript:x)")
    page.keyboard.press("Tab")
    told = timeline(answered).split("\n")
    assert told[0] == "# Timeline: QueueStuck"
    assert page.url.startswith(told[2].removeprefix("Steps and lines: "))
    moment = r"- \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, resolution "
    assert re.fullmatch(
        moment + r"5: Delete the .*\(runbooks/mail-queue\.md, lines 17–21\)", told[4]
    )
    assert re.fullmatch(
        moment + r"4: Pause the senders .* Note: \\<b\\>two\\</b\\> \\\[senders\\\]\(.*", told[5]
    )
    assert "<img" not in "\n".join(told).replace("\\<", "")
    assert "2 of 4 steps done." in told


def test_the_timeline_is_saved_as_a_file(answered):
    page = answered.page
    page.get_by_role("checkbox").first.check()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save timeline").click()
    assert re.fullmatch(r"timeline-\d{12}\.md", saved.value.suggested_filename)
    assert "# Timeline: QueueStuck" in saved.value.path().read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "kept", ["{", "[1]", '"x"', '{"ID": 7}', '{"ID": {"ticks": {"0": {"at": 5}, "1": null}}}']
)
def test_damaged_ticks_are_left_out_and_new_ones_kept(answered, kept):
    page = answered.page
    name = page.url.partition("answer=")[2]
    page.evaluate("kept => localStorage.setItem('checklists', kept)", kept.replace("ID", name))
    page.reload()
    expect(count(answered)).to_have_text("0 of 4 steps done")
    page.get_by_role("checkbox").first.check()
    page.reload()
    expect(count(answered)).to_have_text("1 of 4 steps done")


def test_keys_go_from_step_to_step_copy_and_tick(answered):
    page = answered.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#asked").focus()
    for key in "jjk":
        page.keyboard.press(key)
    expect(page.locator("li.step").first).to_be_focused()
    page.keyboard.press("c")
    expect(page.locator("#announcer")).to_have_text(
        "Copied: command, with <cluster-id> still to fill in"
    )
    page.keyboard.press("x")
    expect(count(answered)).to_have_text("1 of 4 steps done")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.type("j?x/")
    expect(page.locator("#question")).to_have_value("j?x/")


@pytest.mark.parametrize(
    ("name", "begins", "holds"),
    [
        ("Copy Markdown", "# Answer\n", "4. Pause the *senders* of"),
        ("Copy for Slack", "QueueStuck\n", "```\nmailctl pause --all --cluster <cluster-id>\n```"),
        (
            "Copy for a PagerDuty note",
            "QueueStuck\n",
            "    mailctl pause --all --cluster <cluster-id>\n",
        ),
    ],
)
def test_an_answer_is_copied_for_where_it_is_pasted(answered, name, begins, holds):
    page = answered.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=name).click()
    expect(page.locator("#announcer")).to_have_text("Copied: answer")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith(begins)
    assert holds in copied
    assert "https://example.com/team/runbooks/blob/main/runbooks/mail-queue.md#L" in copied


def test_what_is_not_shown_is_a_row_that_leads_to_its_lines(answered):
    page = answered.page
    row = page.locator("p", has=page.locator(".gap"))
    expect(row).to_have_text(
        re.compile(r"^not shown: runbooks/mail-queue\.md:\d+-\d+ .* Read them$")
    )
    row.get_by_role("link").click()
    page.locator(".line.marked").first.wait_for()


def test_a_warning_and_a_branch_look_like_what_they_are(answered):
    page = answered.page
    expect(page.locator("strong.beware")).to_have_count(1)
    colours = page.locator("blockquote").evaluate_all(
        "all => all.map((it) => getComputedStyle(it).backgroundColor)"
    )
    assert len(set(colours)) >= 2


def test_a_further_question_is_about_the_procedure_that_is_shown(answered):
    page = answered.page
    topic = "QueueStuck: the mail queue is stuck"
    page.get_by_role("button", name="How do I check that it worked?").click()
    expect(page.locator("#asked")).to_have_text(f"{topic}: How do I check that it worked?")
    page.locator('#answer[aria-busy="false"]').wait_for()
    expect(page.locator(".blocks")).to_contain_text("The mail queue is empty.")
    page.locator("#question").fill("and how do I start the senders?")
    page.locator("#question").press("Enter")
    expect(page.locator("#asked")).to_have_text(f"{topic}: and how do I start the senders?")
    page.locator('#answer[aria-busy="false"]').wait_for()
    page.locator("#question").fill("disk full")
    page.locator("#question").press("Enter")
    expect(page.locator("#asked")).to_have_text("disk full")


def test_what_a_model_wrote_is_no_checklist(page, script):
    script.says = "1. Pause the senders of the mail queue. [1]\n"
    page.open().ask("QueueStuck")
    page.page.locator(".by-model").wait_for()
    expect(page.page.locator(".tick")).to_have_count(0)
    expect(page.page.locator(".checklist")).not_to_be_visible()
