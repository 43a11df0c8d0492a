"""Whole procedures on the page: as their authors wrote them, or what comes closest."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import violations

QUEUE = """\
# QueueStuck: the mail queue is stuck

Alert `QueueStuck` fires if no mail leaves the queue for ten minutes.

## Resolution

> **Warning**: customers see their mail twice.

1. Pause the senders of the mail queue:

   ```bash
   mailctl pause --all
   ```

2. Delete the spool:

   ```bash
   rm -rf /var/spool/mailer
   ```

3. Start the senders of the mail queue.

## Never do this

- Purge the whole mail queue with `mailctl purge`.

## Old procedure

- Restart the mailer.

## Verification

1. The mail queue is empty.
2. No alert fires.
"""
DISK = """\
# DiskFillsUp: a disk of the database is nearly full

## Resolution

Only in Dublin:

4. Grow the disk of the database with `diskctl grow`.
"""


def alert(name, summary):
    return {
        "status": "firing",
        "labels": {"alertname": name, "severity": "critical"},
        "annotations": {"summary": summary},
        "startsAt": "2026-03-02T08:14:00.000Z",
    }


GROUP = json.dumps(
    {
        "version": "4",
        "receiver": "oncall",
        "status": "firing",
        "groupLabels": {},
        "commonLabels": {},
        "alerts": [
            alert("QueueStuck", "no mail leaves the queue"),
            alert("DiskFillsUp", "91 % of the database's disk are full"),
            alert("KafkaLag", "consumers of the Kafka topic lag"),
        ],
    },
    indent=2,
)


FILES = {"runbooks/mail-queue.md": QUEUE, "runbooks/disk.md": DISK}


def headings(page):
    return page.page.locator(".block").locator("h3, h4, h5").all_inner_texts()


def test_a_procedure_stands_under_its_headings_with_its_authors_numbers(page):
    page.open().ask("QueueStuck")
    own = "runbooks/mail-queue.md: QueueStuck: the mail queue is stuck"
    assert headings(page) == ["Guidance", own, "Resolution", "Verification"]
    lists = page.page.locator(".block > ol")
    assert [it.locator("> li").count() for it in lists.all()] == [3, 2]
    assert page.page.locator(".block pre").all_inner_texts() == [
        "mailctl pause --all",
        "rm -rf /var/spool/mailer",
    ]
    assert page.page.locator(".mark-note").count() == 0


def test_cautions_destructive_steps_and_what_must_not_be_done_are_marked(page):
    page.open().ask("QueueStuck")
    caution = page.page.locator("blockquote", has=page.page.locator("strong.beware"))
    expect(caution).to_contain_text("Warning: customers see their mail twice.")
    expect(caution.locator("a.cite")).to_have_count(1)
    expect(page.page.locator("li strong.never")).to_have_text("Destructive: delete, rm.")
    forbidden = page.page.locator("blockquote", has_text="mailctl purge")
    expect(forbidden.locator("strong.never")).to_have_text("Do not:")
    left_out = "not shown: runbooks/mail-queue.md:27-29 (Old procedure), not used any more"
    expect(page.page.locator(".block em")).to_have_text(left_out)
    assert "Restart the mailer" not in page.page.locator(".blocks").inner_text()


def test_evidence_is_told_in_words_and_the_figure_on_demand(page):
    page.open().ask("QueueStuck")
    evidence = page.outcome.locator(".evidence")
    expect(evidence.locator("summary")).to_contain_text("Evidence: ")
    expect(evidence.locator("p")).not_to_be_visible()
    evidence.locator("summary").click()
    expect(evidence.locator("p")).to_contain_text("Confidence 0.")


def test_of_a_pasted_group_each_alert_gets_its_procedure_or_is_said_to_have_none(page):
    page.open().paste(GROUP)
    title = page.page.locator("#asked")
    title_of_group = "3 alerts: QueueStuck, DiskFillsUp, KafkaLag"
    expect(title).to_have_text(title_of_group)
    told = headings(page)
    assert "QueueStuck: runbooks/mail-queue.md: QueueStuck: the mail queue is stuck" in told
    assert any(it.startswith("DiskFillsUp: runbooks/disk.md: ") for it in told)
    expect(page.page.locator(".blocks")).to_contain_text("KafkaLag: nothing is documented for it")
    expect(page.outcome).to_contain_text("KafkaLag: nothing is documented for it.")
    numbered = page.page.locator('ol[start="4"]')
    expect(numbered).to_contain_text("Grow the disk")
    page.page.get_by_role("button", name="Edit question").click()
    assert page.page.locator("#question").input_value() == GROUP
    page.page.get_by_role("button", name="New question").click()
    expect(page.page.locator(".recent-question")).to_have_text(title_of_group)


def test_a_long_payload_is_not_cut(page):
    page.open()
    labels = {f"label_{n}": "x" * 100 for n in range(400)}
    one = {**alert("QueueStuck", "no mail leaves the queue"), "annotations": labels}
    page.paste(json.dumps({"receiver": "oncall", "status": "firing", "alerts": [one]}))
    expect(page.outcome.locator(".evidence")).to_be_visible()
    assert headings(page)[1].startswith("runbooks/mail-queue.md")


def test_where_nothing_is_documented_the_closest_sections_are_offered_as_reading(page):
    page.open().ask("RabbitMQ mirror queue is stuck and Erlang crashed")
    expect(page.outcome).to_have_attribute("data-kind", "nothing")
    expect(page.outcome.locator("strong").first).to_have_text("Nothing documented")
    expect(page.outcome).to_contain_text("nothing found mentions RabbitMQ")
    assert page.page.locator(".block").count() == 0
    closest = page.page.get_by_role("region", name="Closest sections: to read, not steps to follow")
    closest.get_by_role("link").first.click()
    page.page.locator(".line.marked").first.wait_for()


@pytest.mark.chromium("it ends with a segmentation fault of its own when roles are looked up here")
def test_where_several_may_be_meant_one_is_chosen_by_a_click(page):
    page.open().ask("disk of the mail queue is nearly full")
    expect(page.outcome.locator("strong").first).to_have_text("Which one is meant?")
    assert page.page.locator(".block").count() == 0
    choices = page.page.get_by_role("region", name="It could be")
    places = choices.get_by_role("link").all_inner_texts()
    assert [it.partition(" ")[0] for it in places] == ["runbooks/disk.md", "runbooks/mail-queue.md"]
    assert violations(page.page) == []
    choices.get_by_role("button", name="QueueStuck: the mail queue is stuck").click()
    page.page.locator('#answer[aria-busy="false"] .block').first.wait_for()
    assert headings(page)[1].startswith("runbooks/mail-queue.md")
    expect(page.outcome).to_contain_text("you chose this procedure")
