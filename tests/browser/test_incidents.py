"""A pasted alert, and its commands: shown whole, filled in here alone, copied with what was filled in."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import violations

QUEUE = """\
# QueueStuck: the mail queue is stuck

## Resolution

1. Pause the senders of the mail queue, or `mailctl pause <queue-name> --gently` one of them:

   ```bash
   # pauses every sender of the queue in this cluster
   mailctl pause --queue <queue-name> --cluster <cluster-id> --reason "the mail queue is stuck" --wait-until-paused --force-takeover

   mailctl status --queue <queue-name>
   ```

2. Look at the page <b>status</b> of `<queue-name>`.
"""
COMMANDS = QUEUE.split("```")[1].split("\n")[1:-1]
HOSTILE = "<img src=x onerror=alert(1)> \u202egnp.exe\x1b[31m"


def alert(**annotations):
    return {
        "status": "firing",
        "labels": {"alertname": "QueueStuck", "severity": "critical", "service": "mail"},
        "annotations": {"summary": "no mail leaves the queue", **annotations},
        "startsAt": "2026-03-02T03:04:00.000Z",
    }


def webhook(*alerts):
    return json.dumps({"receiver": "oncall", "status": "firing", "alerts": alerts})


RUNBOOK = "https://git.example/ops/blob/main/runbooks/mail-queue.md"


FILES = {"runbooks/mail-queue.md": QUEUE}


@pytest.fixture
def pasted(page):
    return page.open().paste(webhook(alert(runbook_url=RUNBOOK)))


def test_a_pasted_alert_is_a_card_that_leads_to_its_runbook(pasted):
    card = pasted.page.get_by_role("region", name="Alert")
    for said in ("critical", "Service mail", "Since 2026-03-02 03:04 UTC", "Read as Alertmanager"):
        expect(card).to_contain_text(said)
    expect(pasted.page.locator("#asked")).to_have_text("QueueStuck")
    assert violations(pasted.page) == []
    card.get_by_role("link", name="runbooks/mail-queue.md").click()
    pasted.page.locator("#document-view h1").wait_for()


def test_a_card_is_there_again_when_the_answer_is_opened_again(pasted, watched):
    pasted.page.wait_for_url("**/?answer=*")
    again = watched().open(pasted.page.url.removeprefix(pasted.origin))
    expect(again.page.get_by_role("region", name="Alert")).to_contain_text("Service mail")


def test_json_is_never_a_heading_not_even_while_it_is_read(page):
    asked = '{"alerts": [{"labels": {"alertname": "Queue'
    page.expected.append("400 (Bad Request)")
    page.open().paste(asked)
    expect(page.page.locator("#asked")).to_have_text("Pasted alert")
    expect(page.outcome).to_contain_text("broken or cut off at line 1, column ")
    page.page.get_by_role("button", name="Edit question").click()
    assert page.page.locator("#question").input_value() == asked


def test_what_is_too_large_stays_in_the_box_and_is_not_sent(page):
    asked = []
    page.page.on("request", lambda it: asked.append(it.url))
    page.open()
    page.page.evaluate(
        "() => { document.querySelector('#question').value = `{\"a\": \"${'x'.repeat(5_000_000)}\"}`; }"
    )
    page.page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.page.get_by_role("alert")).to_contain_text("256 KiB can be read")
    assert not any("/api/ask" in url for url in asked)
    assert page.page.locator("#question").evaluate("it => it.value.length") > 5_000_000


def test_nothing_in_an_alert_is_markup_or_leads_anywhere_but_to_the_web(page):
    one = alert(description=HOSTILE, runbook_url="javascript:alert(1)//runbook.md")
    one["labels"] |= {"service": HOSTILE, "severity": HOSTILE}
    page.open().paste(webhook(one))
    card = page.page.get_by_role("region", name="Alert")
    assert "<img src=x" in card.inner_text()
    assert card.locator("img").count() == 0
    assert card.locator("a").count() == 0
    assert card.locator(".hidden-character").count() >= 2


@pytest.mark.parametrize("width", [320, 390, 834, 1440])
def test_a_command_is_whole_at_every_width(watched, width):
    page = watched(viewport={"width": width, "height": 800}).open().ask("QueueStuck")
    pre = page.page.locator(".code pre")
    assert pre.inner_text() == "\n".join(line[3:] for line in COMMANDS)
    assert pre.evaluate("it => it.scrollWidth <= it.clientWidth")
    box = page.page.locator(".code").bounding_box()
    lines = page.page.locator(".command-line, .code .word")
    assert all(
        it.bounding_box()["x"] + it.bounding_box()["width"] <= box["x"] + box["width"]
        for it in lines.all()
    )


def test_a_placeholder_is_typed_once_and_used_by_every_command_and_copy(pasted):
    page = pasted.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sent = []
    page.on("request", lambda it: sent.append(f"{it.url} {it.post_data}"))
    page.get_by_text("Fill in 2 placeholders").click()
    page.get_by_label("<queue-name>", exact=True).fill("orders-mail")
    assert page.locator(".filled").all_inner_texts() == ["orders-mail"] * 4
    expect(page.get_by_text("Fill in 1 placeholder")).to_be_visible()
    expect(page.locator(".filled-note")).to_have_text(
        "Filled in by you: orders-mail for <queue-name>"
    )
    assert violations(page) == []
    page.locator(".code").get_by_role("button").click()
    expect(page.locator("#announcer")).to_have_text(
        "Copied: command, with <cluster-id> still to fill in"
    )
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied.count("orders-mail") == 2
    assert "<queue-name>" not in copied
    page.locator("li > p, li").locator("> .copy-code").first.click()
    expect(page.locator("#announcer")).to_have_text("Copied: command")
    assert "pause orders-mail --gently" in page.evaluate("() => navigator.clipboard.readText()")
    assert not any("orders-mail" in it for it in sent)


def test_the_documents_own_lines_keep_their_placeholders(pasted):
    page = pasted.page
    page.get_by_text("Fill in 2 placeholders").click()
    page.get_by_label("<cluster-id>").fill("prod-7")
    assert "<cluster-id>" in page.locator(".sources").inner_text()
    assert "prod-7" not in page.locator(".sources").inner_text()
    page.locator(".code .placeholder").first.click()
    expect(page.get_by_label("<queue-name>", exact=True)).to_be_focused()


def test_values_stay_with_their_answer_and_survive_a_reload(pasted):
    page = pasted.page
    page.get_by_text("Fill in 2 placeholders").click()
    page.get_by_label("<cluster-id>").fill("prod-7")
    page.reload()
    assert page.locator(".filled").all_inner_texts() == ["prod-7"]
    pasted.ask("QueueStuck")
    assert page.locator(".filled").count() == 0
    expect(page.get_by_text("Fill in 2 placeholders")).to_be_visible()


def test_a_value_is_text_on_one_line_without_what_cannot_be_seen(pasted):
    page = pasted.page
    page.get_by_text("Fill in 2 placeholders").click()
    page.get_by_label("<cluster-id>").fill(HOSTILE)
    expect(page.locator(".filled")).to_have_text("<img src=x onerror=alert(1)> gnp.exe[31m")
    assert page.locator(".blocks img, .filled-note img").count() == 0
