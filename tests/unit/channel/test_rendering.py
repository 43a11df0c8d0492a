"""One message, written for Slack, as a note, as text: the same steps, citations and numbers in each."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from knowledge_rag.channel.buttons import Buttons
from knowledge_rag.channel.markdown import to_note
from knowledge_rag.channel.message import BY_MODEL, MASK, message_from
from knowledge_rag.channel.slack import MAX_BYTES, MAX_CHARACTERS, MAX_MESSAGES, _size, to_slack
from knowledge_rag.channel.text import MAX_SHORT, to_short, to_text
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.repository_links import RepositoryLinks
from tests.support.block_kit import buttons_in, numbers_in, pieces_in, problems
from tests.support.examples import up_to
from tests.support.messages import answered
from tests.unit.console.test_answers import RECOMMENDATION
from tests.unit.console.test_exports import PARTS

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

5. Look at `queue_depth` and `a[0]`, then wait.

## QueueGrows, do not

- Never purge the queue.
"""
COMMAND = "find /work -mtime +1 -delete && echo <done>\n  # deeper"


@pytest.fixture(scope="module")
def kept():
    return answered("QueueGrows", {"runbooks/queue.md": RUNBOOK}, LINKS)


def written(text, *, by_model=True, **more):
    parts = [{"text": text}] if isinstance(text, str) else text
    whole = {**RECOMMENDATION, "status": "ok", **more}
    return message_from("Why?", whole, parts, by_model=by_model)


def cites(file="runbooks/a.md", start=3, end=4, text="[Source 1]"):
    return {
        "text": text,
        "citations": [{"number": 1, "citation": Citation(file, start, end).to_dict()}],
    }


class TestSlack:
    def test_the_answer_comes_first_and_commands_stand_alone_in_code(self, kept):
        (posted,) = to_slack(kept)
        texts = [it["text"] for _, it in pieces_in(posted["blocks"])]
        assert texts[0].startswith("QueueGrows")
        assert any("Documented. Evidence: strong" in it for it in texts)
        code = [it["text"] for kind, it in pieces_in(posted["blocks"]) if "pre" in kind]
        assert code == [COMMAND]

    def test_a_destructive_step_and_its_warning_say_so_in_words(self, kept):
        told = json.dumps(to_slack(kept))
        assert "Destructive: delete, find -delete." in told
        assert told.index("Warning") < told.index("Delete old folders")

    def test_the_numbers_in_the_text_are_those_of_the_list_and_lead_to_their_lines(self, kept):
        (posted,) = to_slack(kept)
        inline, listed = numbers_in(posted["blocks"])
        assert inline
        assert set(inline) == set(listed)
        for number, url in inline.items():
            file, start, end = kept.places[number - 1]
            assert url == LINKS.url(file, start, end)

    def test_a_warning_is_labelled_as_the_terminal_s_are(self):
        made = written("x", warnings=[{"kind": "x", "message": "Part is missing."}])
        assert "- Warning: Part is missing." in to_note(made).split("\n")

    def test_brackets_of_a_title_or_a_warning_are_no_citations(self):
        made = written("x", warnings=[{"kind": "x", "message": "It says [1] and [Source 2]."}])
        (posted,) = to_slack(replace(made, title="[FIRING:1] Disk [3]"))
        assert numbers_in(posted["blocks"]) == ({}, {})

    def test_a_long_answer_goes_on_in_its_thread_and_no_step_loses_its_citation(self):
        parts = []
        for number in range(1, 121):
            parts += [{"text": f"\n\n{number}. Do {'this ' * 40}"}, cites(start=number, end=number)]
        posts = to_slack(replace(written(parts, by_model=False), links=LINKS))
        assert 1 < len(posts) <= MAX_MESSAGES
        for posted in posts:
            assert not problems(posted)
            inline, listed = numbers_in(posted["blocks"])
            assert set(inline) == set(listed)
        told = "".join(json.dumps(it["blocks"]) for it in posts)
        left = int(re.search(r"(\d+) further parts not posted here", told)[1])
        shown = [number for it in posts for number in numbers_in(it["blocks"])[0]]
        assert left + len(shown[:-1]) == 120
        assert shown[-1] == shown[-2] + 1  # where the missing ones begin
        assert f"They begin at runbooks/a.md:{shown[-1]} " in told

    def test_a_step_is_posted_whole_or_not_at_all(self):
        code = "\n".join(f"echo {number:04}" for number in range(900))
        steps = [f"{n}. Run:\n\n{code}\n\nNever {n}." for n in range(1, 9)]
        steps = [it.replace("\n", "\n   ").replace("echo 0000", "```\n   echo 0000").replace("echo 0899", "echo 0899\n   ```") for it in steps]  # fmt: skip
        posts = to_slack(written("\n\n".join(steps), by_model=False))
        texts = [it["text"] for one in posts for _, it in pieces_in(one["blocks"])]
        told = "".join(texts)
        assert 1 <= told.count("echo 0000") == told.count("echo 0899") == told.count("Never ")
        assert "further parts not posted here" in told

    @pytest.mark.parametrize("letter", ["日", "\U0001f525", '"', "\\", "[1] "])
    @pytest.mark.parametrize("form", ["{}", "1. {}", "```\n{}\n```", "- `{}`"])
    def test_no_page_is_larger_than_slack_takes_whatever_its_letters(self, letter, form):
        made = written(form.format(letter * (20_000 // len(letter))), by_model=False)
        posts = to_slack(replace(made, receipt="kr-" + "a" * 20), Buttons("k", "C0123ABCDEF"), 25)
        assert all(_size(it["blocks"]) <= MAX_BYTES for it in posts)

    def test_a_huge_command_is_cut_between_its_lines(self):
        code = "\n".join(f"echo {number:04}" for number in range(2000))
        posts = to_slack(written(f"```\n{code}\n```", by_model=False))
        assert all(not problems(it) for it in posts)
        shown = [
            it["text"] for one in posts for kind, it in pieces_in(one["blocks"]) if "pre" in kind
        ]
        assert "".join(shown) == code[: len("".join(shown))]
        assert all(len(it) <= MAX_CHARACTERS and it.endswith("\n") for it in shown[:-1])

    def test_slack_is_told_to_make_no_links_mentions_or_previews(self, kept):
        (posted,) = to_slack(kept)
        assert posted["parse"] == "none"
        assert not any(posted[key] for key in ("mrkdwn", "link_names", "unfurl_links"))
        assert "@channel" not in posted["text"]

    @up_to(examples=150)
    @given(PARTS)
    def test_whatever_was_written_there_is_no_link_of_it(self, parts):
        made = written([*parts, {"text": "\n<!channel> <https://evil|x> @here [9]"}])
        for posted in to_slack(replace(made, links=LINKS)):
            assert not problems(posted)
            kinds = [it["type"] for _, it in pieces_in(posted["blocks"])]
            assert set(kinds) <= {"text", "link"}
            urls = {it["url"] for _, it in pieces_in(posted["blocks"]) if it["type"] == "link"}
            assert urls <= {LINKS.url("runbooks/a_b.md", 3, 3)}


class TestNote:
    @pytest.mark.parametrize("name", ["mermaid", "Mermaid", "geojson", "math", "stl", "mermaid-x"])
    def test_nothing_is_drawn_of_a_code_block(self, name):
        assert "```text\nx\n```" in to_note(written(f"```{name}\nx\n```", by_model=False))
        assert "```sql\nx\n```" in to_note(written("```SQL\nx\n```", by_model=False))

    def test_citations_are_numbers_that_link_to_their_lines(self, kept):
        text = to_note(kept)
        number = next(n for n, it in enumerate(kept.places, 1) if it[1] == 14)
        line = f"#L{kept.places[number - 1][1]}-L{kept.places[number - 1][2]}"
        assert (
            rf"then wait. [\[{number}\]](<https://git.example/ops/blob/main/runbooks/queue.md{line}>)"
            in text
        )
        assert f"```sh\n   {COMMAND.splitlines()[0]}\n" in text

    @up_to(examples=150)
    @given(PARTS)
    def test_whatever_was_written_there_is_no_link_of_it(self, parts):
        made = written(
            [*parts, {"text": "\n@here https://evil.example #12 GH-7 [9](https://e.example)"}]
        )
        note = to_note(replace(made, links=LINKS))
        reader = MarkdownIt("gfm-like", {"html": True, "linkify": False})
        tokens = [it for block in reader.parse(note) for it in (block, *(block.children or ()))]
        links = {it.attrs["href"] for it in tokens if it.type == "link_open"}
        assert links <= {LINKS.url("runbooks/a_b.md", 3, 3)}
        words = "\n".join(it.content for it in tokens if it.type == "text")
        assert not re.search(r"@\w|#\d|GH-\d|https?://|www\.\w", words)
        assert "image" not in {it.type for it in tokens}

    def test_a_models_words_are_quoted_line_for_line(self):
        note = to_note(written("a\n\n```\nb\nc\n```"))
        quoted = note.partition(f"**{BY_MODEL}**\n\n")[2].strip("\n").split("\n")
        assert all(line.startswith(">") for line in quoted)


class TestText:
    def test_a_step_ends_in_its_number_and_the_list_says_where_to_look(self, kept):
        text = to_text(kept)
        step = re.search(r"5\. Look at queue_depth and `a\[0\]`, then wait\. \[(\d+)\]", text)
        assert (
            f"\n[{step[1]}] runbooks/queue.md:14 {LINKS.url('runbooks/queue.md', 14, 14)}\n" in text
        )
        assert "       find /work -mtime +1 -delete && echo <done>\n" in text
        assert "*" not in text

    def test_in_a_chat_commands_stand_between_fences_and_nobody_is_mentioned(self, kept):
        text = to_text(kept, for_chat=True)
        assert f"```\n{COMMAND}\n```" in text
        assert "@ channel & the" in text
        assert "@channel" not in text

    def test_words_of_a_model_are_quoted_and_their_brackets_are_no_citations(self):
        text = to_text(written([{"text": "See [7].\n\n- and `x [8]`"}, cites()]))
        quoted = text.partition(BY_MODEL + "\n")[2].partition("\n\nSources:")[0]
        assert all(line.startswith(">") for line in quoted.split("\n"))
        assert re.findall(r"(?<!`)\[\d+\](?!`)", quoted) == ["[1]"]

    def test_a_text_message_is_short_and_names_file_and_lines(self, kept):
        short = to_short(kept)
        assert len(short) <= MAX_SHORT
        assert short.startswith("QueueGrows: Documented. Evidence: strong")
        assert "1 destructive: runbooks/queue.md:" in short
        assert len(to_short(replace(kept, title="x" * 500))) == MAX_SHORT


class TestEverywhere:
    def test_nothing_documented_has_no_steps_and_names_what_to_read_by_number(self):
        advice = {
            **RECOMMENDATION["recommendation"],
            "reading": [
                {**Citation("runbooks/a.md", 3, 9, "A").to_dict(), "text_sha256": "0" * 64}
            ],
        }
        made = written("1. Do it", by_model=False, status="no_match", recommendation=advice)
        for text in (to_text(made), to_note(made), json.dumps(to_slack(made))):
            assert "Nothing documented." in text
            assert "Closest sections, to read, not to follow" in text
            assert "Do it" not in text
            assert "runbooks/a.md" in text

    def test_a_closest_section_is_named_with_its_page_also_on_its_button(self):
        pages = ("runbooks/kafka-disk-full.md", f"runbooks/{'long-' * 20}.md")
        reading = [
            {**Citation(page, 3, 9, "Resolution").to_dict(), "text_sha256": "0" * 64}
            for page in pages
        ]
        advice = {**RECOMMENDATION["recommendation"], "guidance": [], "reading": reading}
        made = written("", by_model=False, status="no_match", recommendation=advice)
        made = replace(made, receipt="kr-" + "a" * 20)
        for text in (to_text(made), to_note(made), json.dumps(to_slack(made))):
            assert "kafka-disk-full > Resolution" in text or "kafka-disk-full &gt; Res" in text
        (posted,) = to_slack(made, Buttons("key", "C0123ABCDEF"))
        labels = [it["text"]["text"] for it in buttons_in(posted["blocks"])][:2]
        assert labels[0] == "1. kafka-disk-full › Resolution"
        assert len(labels[1]) == 75

    def test_an_outage_never_reads_as_nothing_documented(self):
        made = written("", status="degraded", reason="timeout", reasoning="timed out")
        for text in (to_text(made), to_note(made), json.dumps(to_slack(made)), to_short(made)):
            assert "Nothing documented" not in text
            assert "could not be searched" in text

    def test_a_secret_is_masked_and_the_command_stays_readable(self):
        secret = "ghp_" + "aZ3bY5cX7dW9eV1fU2gT4hS6iR8jQ0kP1lO2"
        made = written(
            f"1. Run:\n\n   ```\n   curl -H 'Authorization: {secret}'\n   ```", by_model=False
        )
        for text in (to_text(made), to_note(made), json.dumps(to_slack(made))):
            assert secret not in text
            assert MASK in text

    def test_a_document_that_its_commit_does_not_hold_has_a_number_and_no_link(self):
        links = replace(LINKS, unlinked=frozenset({"runbooks/a.md"}))
        made = replace(written([{"text": "1. Do it "}, cites()], by_model=False), links=links)
        (posted,) = to_slack(made)
        inline, listed = numbers_in(posted["blocks"])
        assert inline == listed == {1: ""}
        assert "git.example" not in to_note(made) + to_text(made)

    def test_lines_of_extracted_text_have_no_link_since_the_file_has_others(self):
        parts = [{"text": "1. Do it "}, cites("vault.docx")]
        made = replace(written(parts, by_model=False), links=LINKS)
        for text in (to_text(made), to_note(made), json.dumps(to_slack(made))):
            assert "vault.docx (extracted text)" in text
            assert "git.example" not in text


@pytest.mark.parametrize("by_model", [True, False])
def test_a_link_to_a_place_in_the_documents_is_its_words_and_a_web_address_stays_in_sight(by_model):
    text = (
        "- Go to [Encoder down](#encoder-down), see [files](../text/files.txt)"
        " and [the site](https://site.example/a)."
    )
    message = written(text, by_model=by_model)
    slack = "".join(piece["text"] for _, piece in pieces_in(to_slack(message)[0]["blocks"]))
    for shown in (slack, to_note(message), to_text(message)):
        assert "Go to Encoder down, see files and the site" in shown
        assert "encoder-down" not in shown
        assert "https://site.example/a" in shown


@pytest.mark.parametrize("by_model", [True, False])
@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("payments-db.md", "payments-db.md"),
        ("../db/payments.md#close-them", "../db/payments.md"),
        ("/runbooks/a_b.md", "/runbooks/a_b.md"),
    ],
)
def test_a_link_to_a_document_keeps_its_path_behind_its_words(target, path, by_model):
    message = written(f"- Follow [Connections exhausted]({target}).", by_model=by_model)
    slack = "".join(piece["text"] for _, piece in pieces_in(to_slack(message)[0]["blocks"]))
    for shown in (slack, to_note(message), to_text(message)):
        assert f"Follow Connections exhausted ({path})." in shown


@pytest.mark.parametrize(
    "target",
    ["[1].md", "<a.md, lines 3-4>", "<Source: a.md>", "a.md:3", "a%5D.md", "%ee%80%800%ee%80%81.md", "//evil.example/a.md", "a\u202eb.md", "a b.md"],
)  # fmt: skip
def test_a_path_that_may_read_as_a_citation_is_not_kept(target):
    assert " (" not in to_text(written(f"- Follow [the page]({target}), all of it."))


@pytest.mark.parametrize(
    "target", ["javascript:alert(1)", "//evil.example/x", "data:text/html,x", "mailto:a@b.example"]
)
def test_any_other_target_stays_as_it_was_written(target):
    message = written(f"- Go to [here]({target}).")
    shown = to_text(message)
    assert "[here]" in shown
    assert target in shown.replace("`", "")
    assert not [it for _, it in pieces_in(to_slack(message)[0]["blocks"]) if it["type"] == "link"]


def test_each_part_but_the_last_says_that_the_next_one_is_in_the_thread():
    message = written([{"text": "\n\n".join(f"{n}. Wait {'x ' * 200}" for n in range(1, 80))}])
    posts = to_slack(message)
    assert len(posts) > 2
    for post in posts:
        said = [it["text"] for _, it in pieces_in(post["blocks"])]
        assert ("The next part is in the thread." in said) == (post is not posts[-1])
        assert not problems(post)


def test_an_alerts_facts_repeat_no_title_and_have_a_moment_to_read():
    message = answered("QueueGrows", {"runbooks/queue.md": RUNBOOK})
    assert not any(it.startswith("QueueGrows") for it in message.about)


def test_a_files_name_draws_no_citation_and_mentions_nobody():
    name = "runbooks/queue [7] backs up @channel.md"
    made = written([{"text": "1. Look. "}, cites(name)], by_model=False)
    made = replace(made, first=made.places[0], steps=1)
    posts = to_slack(made)
    pieces = [it for one in posts for _, it in pieces_in(one["blocks"])]
    assert not [it for it in pieces if "[7]" in it["text"] and not it.get("style", {}).get("code")]
    for shown in (to_text(made), to_text(made, for_chat=True), to_short(made)):
        assert "queue `[7]` backs up" in shown
        assert "[7]" not in shown.replace("`[7]`", "")
    assert "@channel" not in to_text(made, for_chat=True)
