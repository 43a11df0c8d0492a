"""The page that verifies: claims marked in place, the lines that hold them, what is missing, and files to share."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import faults
from tests.browser.consoles import QUESTION
from tests.browser.test_hostile import PAYLOADS
from tests.unit.console.test_verifying import ANSWER, EVIDENCE


def verified(page, answer=ANSWER, evidence=EVIDENCE):
    page.open("/verify")
    page.page.locator("[name=answer]").fill(answer)
    page.page.locator("[name=evidence]").fill(json.dumps(evidence))
    page.page.get_by_role("button", name="Verify").click()
    page.page.locator(".claim-card").first.wait_for()
    return page.page


def test_each_claim_is_marked_in_place_and_leads_to_its_lines(page):
    shown = verified(page)
    text = shown.locator(".verified-answer")
    expect(text.locator(".claim.is-ok")).to_contain_text("Run `widgetctl unjam --press 3`")
    expect(text.locator(".claim.is-error mark")).to_have_text("20 minutes")
    expect(text.locator("del")).to_have_text("[Source: b.md, lines 1-2]")
    expect(shown.locator(".verify-result .outcome")).to_contain_text("Don’t rely on it as it is.")
    expect(shown.locator(".verify-result .outcome")).to_contain_text("References resolved: 2 of 3.")
    shown.get_by_role("link", name=re.compile("^Claim 1, in the cited lines")).focus()
    shown.keyboard.press("Enter")
    card = shown.locator("#claim-1")
    expect(card).to_be_focused()
    expect(card.locator(".cited-line")).to_contain_text("widgetctl unjam --press 3")
    expect(shown.locator("#claim-2")).to_contain_text("number 20 minutes is not in a.md, line 6")


def test_an_answer_is_verified_with_the_sources_that_it_was_written_from(page):
    page.open().ask(QUESTION)
    page.page.get_by_role("link", name="Check each claim").click()
    expect(page.page.locator(".claim-card").first).to_be_visible()
    assert page.page.locator(".claim-card.is-error").count() == 0
    page.page.locator(".claim-lines a").first.click()
    expect(page.page.locator(".line.marked").first).to_be_visible()
    page.page.go_back()
    page.page.get_by_role("link", name="Back to the answer").click()
    expect(page.page.locator("#asked")).to_have_text(QUESTION)


def test_the_result_is_saved_as_a_file_in_which_nothing_is_markup(page):
    shown = verified(page, f"{ANSWER}\n````\n[x](javascript:alert(1)) <b>x</b>\n")
    with shown.expect_download() as saved:
        shown.get_by_role("button", name="Markdown").click()
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    said = "1. Run \\`widgetctl unjam --press 3\\`, then restart."
    assert f"1. **In the cited lines** (a.md, line 5): {said}" in text
    assert "   - number 20 minutes is not in a.md, line 6" in text
    assert "`````text\n1. Run" in text  # a fence that the answer can't end
    with shown.expect_download() as saved:
        shown.get_by_role("button", name="JSON").click()
    assert (
        json.loads(Path(saved.value.path()).read_text(encoding="utf-8"))["metrics"]["claims"] == 2
    )


def test_a_hostile_answer_and_hostile_evidence_are_words(page):
    results = [
        {
            "content": payload,
            "citation": {
                "source_file": f"evil{at}<b>.md",
                "start_line": 1,
                "end_line": 1,
                "section_header": payload,
            },
            "metadata": {"title": payload},
        }
        for at, payload in enumerate(PAYLOADS)
    ]
    answer = "\n".join(f"- {it} [{at}]" for at, it in enumerate(PAYLOADS, 1))
    shown = verified(page, answer, {"status": "ok", "results": results})
    assert "<script>alert(1)</script>" in shown.locator(".verified-answer").inner_text()
    assert "U+202E" in shown.locator(".verify-result").inner_text()
    made = shown.evaluate("""() => [...document.querySelectorAll(".verify-result *")]
      .filter((it) => ["SCRIPT", "IMG", "IFRAME", "FORM", "INPUT", "STYLE", "MATH"].includes(it.tagName.toUpperCase())
        || [...it.attributes].some(({ name }) => name.startsWith("on") || name === "style" || name === "src"))
      .map((it) => it.outerHTML)""")
    assert made == []
    for link in shown.locator(".verify-result a").all():
        assert re.match(r"#claim-\d+$|/doc/", link.get_attribute("href"))


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ("", "Paste the evidence"),
        ('{"status": ', "Evidence: "),
        ("[1, 2]", "there is no evidence in it"),
    ],
)
def test_evidence_that_is_none_is_said_beside_the_form(page, evidence, message):
    page.expected = ["400"]
    page.open("/verify")
    page.page.locator("[name=answer]").fill(ANSWER)
    page.page.locator("[name=evidence]").fill(evidence)
    page.page.get_by_role("button", name="Verify").click()
    expect(page.page.get_by_role("alert").and_(page.page.locator(".refusal"))).to_contain_text(
        message
    )
    assert page.page.locator("[name=answer]").input_value() == ANSWER


def test_a_paste_of_five_megabytes_is_refused_without_being_sent(page):
    page.open("/verify")
    page.page.evaluate(
        "() => { document.querySelector('[name=evidence]').value = 'x'.repeat(5e6); }"
    )
    page.page.get_by_role("button", name="Verify").click()
    expect(page.page.locator(".refusal")).to_contain_text("4.8 MB; 2 MB can be verified here")


def test_an_answer_that_is_not_kept_any_more_is_said(page):
    page.expected = ["404"]
    page.open("/verify?answer=gone")
    expect(page.page.locator(".verify-result")).to_contain_text(
        "Not verified. There is no such answer"
    )


def test_it_is_sound_in_all_widths_and_colours(page):
    verified(page)
    assert faults(page) == {}
