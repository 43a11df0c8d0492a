"""Answers for a chat and a pager's note: what a person pastes says what the console shows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from knowledge_rag.console.addresses import RepositoryLinks
from knowledge_rag.console.chat_exports import BY_MODEL, to_note, to_slack
from knowledge_rag.console.exports import to_markdown
from tests.support.runbooks import alert
from tests.unit.console.test_answers import answer, card
from tests.unit.console.test_exports import PARTS, answered_for

LINKS = RepositoryLinks("https://git.example/ops/blob/main/{path}#L{start}-L{end}")
RUNBOOK = """\
# Queue

## QueueGrows

> **Warning**: ask @channel & the *duty manager* first.

4. Delete old folders:

   ```sh
   find /work -mtime +1 -delete && echo <done>
     # deeper
   ```

5. Look at `queue_depth`, then wait.
"""


@pytest.fixture(scope="module")
def kept():
    return answered_for(alert("QueueGrows"), {"runbooks/queue.md": RUNBOOK})


def test_slack_gets_the_answer_first_with_its_numbers_commands_and_links(kept):
    text = to_slack(kept, LINKS)
    lines = text.split("\n")
    assert lines[0] == "*Why?*"
    assert lines[1].startswith("Documented. Evidence: strong")
    steps, _, sources = text.partition("\nSources:\n")
    assert "4. Delete old folders:" not in lines  # marked as destructive first
    assert "\n4. *Destructive: delete, find -delete.* Delete old folders:\n" in steps
    command = "```\nfind /work -mtime +1 -delete &amp;&amp; echo &lt;done&gt;\n  # deeper\n```"
    assert command in steps
    assert "\n5. Look at `queue_depth`, then wait. (<https://git.example/ops/" in steps
    assert sources.startswith("- <https://git.example/ops/blob/main/runbooks/queue.md#L")
    assert "|runbooks/queue.md:" in sources


def test_a_note_is_plain_text(kept):
    text = to_note(kept, LINKS)
    assert "5. Look at queue_depth, then wait. (runbooks/queue.md:14)" in text
    assert "       find /work -mtime +1 -delete && echo <done>\n" in text
    assert "\n- runbooks/queue.md:1-14 https://git.example/" in text
    assert "```" not in text
    assert "*" not in text


def test_nobody_is_mentioned_in_a_chat(kept):
    text = to_slack(kept)
    assert "@ channel &amp; the" in text
    assert "@channel" not in text
    assert "http" not in text


@settings(max_examples=150, deadline=None)
@given(PARTS)
def test_whatever_was_written_a_chat_gets_no_link_and_no_mention_of_it(parts):
    told = answer(sources=(card(),), parts=(*parts, {"text": "\n<!channel> <https://evil|x>"}))
    text = to_slack(told, LINKS)
    links = [it.partition(">")[0] for it in text.split("<")[1:]]
    assert all(it.startswith("https://git.example/ops/blob/main/runbooks/a") for it in links)


def test_a_models_words_are_quoted_line_for_line():
    told = answer(text="a\n\n```\nb\nc\n```", sources=(card(),), by_model=True)
    for text in (to_slack(told), to_note(told)):
        quoted = text.partition(BY_MODEL + "\n")[2].partition("\n\nSources:")[0]
        assert all(line.startswith(">") for line in quoted.split("\n"))
        assert "b" in quoted


def test_a_pasted_alert_says_how_bad_it_is():
    row = {"name": "Q", "severity": "critical", "service": "mail", "since": "", "said": ""}
    told = answer(sources=(card(),), incident={"name": "Q", "alerts": [row]})
    assert "\nQ, severity critical, service mail\n" in to_note(told)


def test_markdown_links_cited_lines_alone(kept):
    text = to_markdown(kept, LINKS)
    assert "<https://git.example/ops/blob/main/runbooks/queue.md#L" in text
    assert "http" not in to_markdown(kept)
