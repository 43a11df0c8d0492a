"""A message that is too long: whole steps are left out, and it says so."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from knowledge_rag.channel.destinations import notice_of, posts_of
from knowledge_rag.channel.markdown import to_note
from knowledge_rag.channel.marks import tree_of, units_of
from knowledge_rag.channel.message import shortened
from knowledge_rag.channel.settings import Destination, Kind
from knowledge_rag.channel.text import MAX_SHORT, to_text
from tests.unit.channel.test_rendering import LINKS, cites, written

DANGER = """Delete old rows:

   ```sql
   DELETE FROM audit_log
   WHERE created_at < now() - interval '90 days'

   AND tenant = 'test';
   ```

   Never run this on the primary. """
SNS = Destination("s", Kind.SNS, "", "", topic="arn:aws:sns:us-east-1:123456789012:t")
OPS_ITEM = Destination("o", Kind.OPS_ITEM, "", "", region="us-east-1")
FORMS = {
    "sns": lambda it: json.loads(json.loads(posts_of(SNS, it)[0].body["Message"])["https"])[
        "content"
    ]["description"],
    "ops-item": lambda it: posts_of(OPS_ITEM, it)[0].body["Description"],
}


def steps_and(last, before=0, after=0, mark="{n}. "):
    """Return an answer with a step among others, each with a citation."""
    parts = []
    for n in range(1, before + 1):
        parts += [{"text": f"{mark.format(n=n)}Check volume {n} of the store. "}, cites(start=n, end=n), {"text": "\n\n"}]  # fmt: skip
    n = before + 1
    parts += [{"text": mark.format(n=n) + last}, cites(start=500, end=507), {"text": "\n\n"}]
    for n in range(before + 2, before + 2 + after):
        parts += [{"text": f"{mark.format(n=n)}Wait. "}, cites(start=600 + n, end=600 + n), {"text": "\n\n"}]  # fmt: skip
    made = written(parts, by_model=False, warnings=[])
    return replace(made, links=LINKS, receipt="kr-" + "a" * 20)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", range(8, 32, 3))
def test_no_destructive_line_is_left_without_what_guards_it(form, before):
    shown = FORMS[form](steps_and(DANGER, before, after=40))
    assert len(shown) <= 2600
    assert ("DELETE" in shown) == ("Never run this on the primary. [" in shown)
    assert ("DELETE" in shown) == ("AND tenant" in shown)
    assert re.search(r"Steps are missing here.* They begin at runbooks/a.md:\d+", shown)
    assert "Receipt kr-" in shown
    for number in re.findall(r"\[(\d+)\]", shown):
        assert f"\n[{number}] runbooks/a.md:" in shown


@pytest.mark.parametrize(
    "below",
    ["Never on the primary.", "> Never on the primary.", "Only if:\n\n- primary is false\n- the primary."],
)  # fmt: skip
@pytest.mark.parametrize("write", [to_text, to_note])
def test_what_stands_below_a_command_stays_with_it(write, below):
    text = f"1. Look.\n\nDrop it:\n\n```sh\ndrop --now\n```\n\n{below}\n\n2. Wait {'x ' * 400}"
    made = written(text, by_model=False, warnings=[])
    whole = write(made)
    for most in range(300, len(whole), 31):
        shown = shortened(made, write, most)
        assert ("drop --now" in shown) == ("primary." in shown)
        assert "missing here" in shown or "doesn't fit" in shown.replace("\\", "")


def test_a_note_ends_outside_code_whatever_stands_around_its_fences():
    code = "````md\n  # Title\n\n  ```sh\n  run\n\n  stop\n  ```\n  ````"
    made = steps_and("Look. ", 30, after=30, mark="- " + code + "\n\n  ")
    note = to_note(made)
    for most in range(2_000, len(note), 1_111):
        shown = shortened(made, to_note, most)
        assert len(shown) <= most
        tokens = MarkdownIt("commonmark").parse(shown)
        assert not [it for it in tokens if it.type == "fence" and "missing" in it.content]
        assert all(it.content.endswith("```\n") for it in tokens if it.type == "fence")


def test_a_text_without_a_place_to_cut_is_left_out_whole():
    shown = FORMS["ops-item"](steps_and(DANGER + "x " * 2_000))
    assert "DELETE" not in shown
    assert "They begin at runbooks/a.md:500-507." in shown
    assert "[1] runbooks/a.md:500-507 https://git.example/" in shown


def test_long_names_and_lists_never_pass_what_a_form_holds():
    made = replace(steps_and(DANGER), warnings=("&" * 1_500,) * 9, about=("<" * 4_000,))
    for form in FORMS.values():
        shown = form(made)
        assert len(shown) <= 2_500
        assert "DELETE" not in shown
        assert "doesn't fit" in shown
        assert "Receipt kr-" in shown


def test_units_are_steps_with_what_leads_to_them():
    marked = "# A\n\n> first\n\n1. x\n2. y\n\n   z\n\n## B\n\nDo:\n\n- a\n- b\n\nend"
    kinds = [[it.type for it in unit] for unit in units_of(tree_of(marked))]
    assert kinds == [
        ["heading", "blockquote", "list_item"],
        ["list_item"],
        ["heading", "paragraph", "list_item", "list_item", "paragraph"],
    ]


def test_a_notice_by_sms_is_as_short_as_an_answer():
    message = json.loads(notice_of(SNS, "Alarm <x> " * 200, "k").body["Message"])
    assert len(message["sms"]) <= MAX_SHORT
    assert message["sms"].endswith("…")
    assert len(json.loads(message["https"])["content"]["description"]) <= 2_500


def test_a_chat_behind_a_webhook_follows_nothing_in_its_text():
    bad = "<!channel> @here <@U1> <#C1> <https://evil.example|the steps> <mailto:a@b.example|m>"
    made = written(f"1. Tell {bad}\n\n   ```\n   echo <host> {bad}\n   ```", by_model=False)
    hook = Destination("w", Kind.WEBHOOK, "", "s")
    for post in (*posts_of(hook, replace(made, title=bad)), notice_of(hook, bad, "k")):
        text = post.body["text"]
        assert not re.search(r"<[!@#]|<\w+:", text)
        assert not re.search(r"@\w", re.sub("```.*?```", "", text, flags=re.DOTALL))
        assert "evil.example" in text


def test_names_in_a_notice_mention_nobody_and_cite_nothing():
    bad = "2 further alerts: [1] @team (1), see #12 (1)."
    for kind, body in ((Kind.GITHUB, "body"), (Kind.INCIDENT_IO, "message")):
        text = notice_of(Destination("n", kind, "", "s"), bad, "k").body[body]
        assert not re.search(r"(?<!`)(?:\[1\]|@team|#12)", text)
    pager = notice_of(Destination("n", Kind.PAGERDUTY, "", "s"), bad, "k")
    assert pager.body["note"]["content"].startswith(bad)
