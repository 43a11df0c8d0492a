"""What a reader is told when there is no answer, or one to be careful with: each state looks its own."""

from __future__ import annotations

import threading

import pytest
from playwright.sync_api import expect

from knowledge_rag.core.outcome import Reason
from tests.browser.consoles import QUESTION, UNDOCUMENTED

FABRICATED = """\
1. Promote the reader with the lower lag. [1]
2. Then wipe the old volume. [Source: runbooks/never-written.md, lines 3-9]

That way is the one which the team has taken for as long as anybody can remember, and which it likes.
It definitely helps in 45% of all cases. [Source 99]
"""


def text_of(page):
    return page.outcome.locator(".outcome-words > p").inner_text()


def test_nothing_documented_says_so_and_shows_no_text(page):
    page.open().ask(UNDOCUMENTED)
    expect(page.outcome).to_have_attribute("data-kind", "nothing")
    assert "Nothing documented" in text_of(page)
    assert "nothing found mentions" in text_of(page)
    assert page.page.locator(".block").count() == 0
    page.outcome.locator("summary").click()
    expect(page.outcome.locator(".queries li").first).to_have_text(UNDOCUMENTED)


@pytest.mark.parametrize(
    ("reason", "words"),
    [(Reason.TIMEOUT, "did not answer in time"), (Reason.ACCESS_DENIED, "may not read it")],
)
def test_an_unavailable_knowledge_base_is_told_with_its_reason(page, script, reason, words):
    script.reason = reason
    page.open().ask(QUESTION)
    expect(page.outcome).to_have_attribute("data-kind", "unavailable")
    assert "Knowledge base unavailable" in text_of(page)
    assert words in text_of(page)
    assert "says nothing about what is documented" in text_of(page)
    assert page.cites.count() == 0


def test_try_again_asks_the_same_question_anew(page, script):
    script.reason = Reason.TIMEOUT
    page.open().ask(QUESTION)
    script.reason = None
    page.outcome.get_by_role("button", name="Try again").click()
    expect(page.outcome).to_have_attribute("data-kind", "ok")
    expect(page.page.locator("#asked")).to_have_text(QUESTION)


def test_what_was_made_up_is_removed_and_told(page, script):
    script.says = FABRICATED
    page.open().ask(QUESTION)
    expect(page.outcome).to_have_attribute("data-kind", "warning")
    assert text_of(page) == (
        "Quality check detected potential issues. Please verify information independently."
    )
    assert page.outcome.evaluate(
        "(it) => it.compareDocumentPosition(document.querySelector('#answer .columns')) === 4"
    )  # on top
    page.outcome.locator("summary").first.click()
    removed = page.outcome.locator(".removed li code").all_text_contents()
    assert removed == ["[Source: runbooks/never-written.md, lines 3-9]", "[Source 99]"]
    assert all(page.outcome.locator(".removed li").all_text_contents())
    kinds = page.outcome.locator(".warnings b").all_text_contents()
    assert "Confident wording" in kinds
    assert "Number without a citation" in kinds
    assert {it.get_attribute("data-number") for it in page.cites.all()} == {"1"}
    assert "never-written" not in page.page.locator(".blocks").inner_html()


def test_a_step_that_its_lines_do_not_hold_is_marked_in_place(page, script):
    script.says = "1. Set the timeout to 4711 seconds with `aws rds smash --all`. [1]\n"
    page.open().ask(QUESTION)
    step = page.page.locator(".blocks li").first
    expect(step.locator(".unbacked-note")).to_have_text("Not in the cited lines: check it first.")
    page.outcome.locator("summary").first.click()
    page.outcome.get_by_role("button", name="See step 1").first.click()
    expect(step).to_contain_class("flashed")


CITED = "[Source: runbooks/rds-failover.md, lines 67-75]"


@pytest.mark.parametrize(
    "says",
    [
        f"1. Wait for it. {CITED}\n2. Delete the writer after 4711 seconds. {CITED}\n",
        f"- Wait for it. {CITED}\n- Delete the writer after 4711 seconds. {CITED}\n",
        f"Wait for it. {CITED}\n\nDelete the writer after 4711 seconds. {CITED}\n",
        f"1. Wait for it.\n2. Wait for it. {CITED}\n3. Delete the writer after 4711 seconds.\n\n{CITED}\n",
    ],
    ids=["numbered", "bullets", "paragraphs", "with one that cites nothing"],
)
def test_of_steps_that_share_a_reference_the_one_in_doubt_is_marked(page, script, says):
    script.says = says
    page.open().ask(QUESTION)
    note = page.page.locator(".unbacked-note")
    expect(note).to_have_count(1)
    step = page.page.locator(".unbacked")
    expect(step).to_contain_text("Delete the writer after 4711 seconds.")
    assert "Wait" not in step.inner_text()
    page.outcome.locator("summary").first.click()
    page.outcome.get_by_role("button", name="See step 2").first.click()
    expect(step).to_contain_class("flashed")


def test_of_two_steps_in_one_paragraph_the_one_in_doubt_is_named(page, script):
    script.says = f"Wait for it {CITED}. Delete the writer after 4711 seconds {CITED}.\n"
    page.open().ask(QUESTION)
    expect(page.page.locator(".unbacked-note")).to_contain_text("“Delete the writer")


UNCITED = """\
## Guidance

1. Automatic failover running for less than 3 minutes: wait. [4]
   - the reader

## Notes

Always skip the backups.

Next steps:

Delete all steps:

- Drop the snapshots.

```bash
aws rds list
```
"""


def test_what_cites_nothing_is_marked_and_the_outcome_is_no_tick(page, script):
    script.says = UNCITED
    page.open().ask(QUESTION)
    marked = page.page.locator(".blocks .uncited")
    expect(marked).to_have_text(
        [
            "Always skip the backups. not cited",
            "Delete all steps: not cited",
            "Drop the snapshots. not cited",
        ]
    )
    expect(page.outcome).to_have_attribute("data-kind", "warning")


def test_a_step_that_cites_nothing_is_called_not_cited(page, script):
    script.says = "1. Wait for it. [4]\n2. Drop the database.\n"
    page.open().ask(QUESTION)
    expect(page.page.locator(".uncited")).to_have_text("Drop the database. not cited")
    page.outcome.locator("summary").first.click()
    expect(page.outcome.locator(".warnings li")).to_have_text(
        ['Not cited "Drop the database." cites nothing, so it is not a step']
    )


def test_a_citation_that_is_only_words_is_not_counted(page, script):
    script.says = 'Automatic failover running for less than data-number="3" minutes: wait. '
    script.says += "[Source: runbooks/rds-failover.md, lines 67-75]\n"
    page.open().ask(QUESTION)
    expect(page.page.locator(".sources .count")).to_have_text("1 cited")


def test_what_a_model_leaves_out_of_a_procedure_is_one_warning(page, script):
    script.says = "1. Bring `ledger-worker` back to its desired count of 6. "
    script.says += "[Source: runbooks/rds-failover.md, lines 131-131]\n"
    page.open().ask(QUESTION)
    expect(page.outcome).to_have_attribute("data-kind", "warning")
    assert "parts of the procedure are not shown." in text_of(page)
    expect(page.outcome.locator("summary").first).to_have_text("1 warning")


def test_the_documents_own_words_are_all_cited(page):
    page.open().ask(QUESTION)
    expect(page.outcome).to_have_attribute("data-kind", "ok")
    assert page.page.locator(".mark-note").count() == 0


def test_an_answer_of_which_nothing_can_be_proven_is_not_shown(page, script):
    script.says = "1. Wipe the volume. [Source: runbooks/never-written.md, lines 3-9]\n"
    page.open().ask(QUESTION)
    expect(page.outcome).to_have_attribute("data-kind", "unavailable")
    assert "No answer that could be proven" in text_of(page)
    assert page.page.locator(".block").count() == 0
    assert page.page.locator(".card").count() > 0  # what was found is there


def test_stopping_keeps_what_was_shown_and_says_that_it_is_not_all(page, script):
    script.gate, script.behind = threading.Event(), "]\n"
    try:
        page.open().begin(QUESTION)
        page.cites.first.wait_for()
        page.page.get_by_role("button", name="Stop").click()
        expect(page.outcome).to_have_attribute("data-kind", "stopped")
        assert page.cites.count() > 0
        expect(page.page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    finally:
        script.gate.set()


def test_a_server_that_is_gone_is_told_and_the_question_kept(page):
    page.expected = ["ERR_CONNECTION", "ERR_FAILED", "ERR_INTERNET"]
    page.open()
    page.page.context.set_offline(True)
    page.page.locator("#question").fill(QUESTION)
    page.page.locator("#question").press("Enter")
    expect(page.outcome).to_have_attribute("data-kind", "failed")
    assert "server can't be reached" in text_of(page)
    page.page.context.set_offline(False)
    page.outcome.get_by_role("button", name="Try again").click()
    expect(page.outcome).to_have_attribute("data-kind", "ok")


def test_a_connection_that_breaks_off_is_told_beside_what_came_before_it(page, script):
    script.gate, script.behind = threading.Event(), "]\n"
    page.page.add_init_script("""
      const own = window.fetch;
      window.fetch = async (...request) => {
        const response = await own(...request);
        if (!String(request[0]).endsWith("/api/ask")) return response;
        const reader = response.body.getReader();
        const decoder = new TextDecoder();
        let read = "";
        return new Response(new ReadableStream({ async pull(to) {
          if (/class=.{1,2}cite/.test(read)) {
            reader.cancel();
            to.error(new TypeError("network error"));
            return;
          }
          const { value } = await reader.read();
          read += decoder.decode(value, { stream: true });
          to.enqueue(value);
        } }), { headers: response.headers });
      };
    """)
    try:
        page.open().begin(QUESTION)
        expect(page.outcome).to_have_attribute("data-kind", "failed")
        assert "broke off" in text_of(page)
        assert page.page.locator(".block").count() > 0
    finally:
        script.gate.set()


def test_a_busy_server_is_told_as_busy(page, script, watched, monkeypatch):
    page.expected = ["503"]
    monkeypatch.setattr("knowledge_rag.console.limits.MAX_ASKS", 1)
    script.gate = threading.Event()
    try:
        other = watched().open().begin(QUESTION)
        expect(other.outcome).to_contain_text("relevant sources")
        page.open().ask(QUESTION)
        expect(page.outcome).to_have_attribute("data-kind", "failed")
        assert "busy" in text_of(page)
    finally:
        script.gate.set()


def test_a_question_that_is_refused_says_why(page):
    page.expected = ["400"]
    page.open()
    page.page.evaluate("document.querySelector('#service').removeAttribute('maxlength')")
    page.page.locator("#filters summary").click()
    page.page.locator("#service").fill("x" * 300)
    page.ask(QUESTION)
    expect(page.outcome).to_have_attribute("data-kind", "failed")
    assert "300 characters" in text_of(page)


def test_an_answer_that_is_not_kept_any_more_is_told(page):
    page.expected = ["404"]
    page.open("/?answer=long-ago")
    expect(page.outcome).to_have_attribute("data-kind", "failed")
    assert "not kept any more" in text_of(page)


def test_a_filter_narrows_what_is_searched(page):
    page.open()
    page.page.locator("#filters summary").click()
    page.page.locator("#document-type").select_option("postmortem")
    page.ask(QUESTION)
    paths = page.page.locator(".card .where .path").all_text_contents()
    assert paths
    assert all(path.startswith("postmortems/") for path in paths)
    expect(page.page.locator("#filters-set")).to_have_text(": postmortem")


def test_recent_questions_are_offered_again_and_can_be_forgotten(page):
    page.open().ask(UNDOCUMENTED).ask(QUESTION)
    page.page.get_by_role("button", name="New question").click()
    recent = page.page.locator(".recent-question")
    expect(recent).to_have_text([QUESTION, UNDOCUMENTED])
    page.page.get_by_role("button", name=f"Forget: {UNDOCUMENTED}").click()
    expect(recent).to_have_text([QUESTION])
    recent.first.click()
    expect(page.outcome).to_have_attribute("data-kind", "ok")
    page.page.get_by_role("button", name="New question").click()
    page.page.get_by_role("button", name="Forget all").click()
    expect(page.page.locator("#recent")).to_be_hidden()
