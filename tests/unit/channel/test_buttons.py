"""Buttons in Slack: each gives what its answer offered, in its thread, and nothing that was forged or is out of date."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field, replace

import pytest
from slack_bolt import BoltRequest
from slack_sdk import WebClient

from knowledge_rag.channel.buttons import NOT_OURS, Act, Buttons
from knowledge_rag.channel.destinations import posts_of
from knowledge_rag.channel.message import message_from
from knowledge_rag.channel.receipts import Answering, Receipts
from knowledge_rag.channel.settings import Kind
from knowledge_rag.channel.slack import ACTION, commands_in, to_slack
from knowledge_rag.channel.slack_app import (
    ALREADY,
    CHANGED_RECEIPT,
    FAILED,
    NO_RECEIPT,
    Conversations,
    create_app,
)
from knowledge_rag.cli.advice import queries_of
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.repository_links import RepositoryLinks
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.procedures import Why
from tests.support.block_kit import buttons_in, numbers_in, pieces_in, problems
from tests.support.cli import eventually
from tests.support.makers import CHANNEL
from tests.support.runbooks import Search, alert
from tests.unit.channel.test_rendering import cites
from tests.unit.channel.test_slack_app import mention, posted, threads
from tests.unit.console.test_answers import RECOMMENDATION

TOKEN = "slack-key"
MAIL = "# Post\n\n## MailsWait\n\n1. Drain the mails:\n\n   ```sh\n   postqueue -f && echo <done>\n   ```\n\n2. Wait.\n"
LOST = "# Backup\n\n## Mails lost\n\n1. Restore the mails.\n"
UNDO = "# Route\n\n## RouteFlaps\n\n1. Hold the route down.\n2. Call the carrier.\n3. To undo: release the route.\n"
TEXTS = {"runbooks/post.md": MAIL, "runbooks/backup.md": LOST, "runbooks/route.md": UNDO}
OTHER = "C0999999999"


@dataclass
class Bot:
    """The app, and a person who mentions it and presses its buttons."""

    makers: object
    receipts: Receipts
    texts: dict[str, str]
    workers: ThreadPoolExecutor
    calls: list = field(default_factory=list)
    key: str = TOKEN
    hold: threading.Event | None = None

    def __post_init__(self):
        self.restart()

    def restart(self):
        def ask(question, offered):
            self.calls.append(question)
            if self.hold:
                self.hold.wait(60)
            incident = Incident(title=question)
            answering = Answering(Search(self.texts), ExtractiveAdvisor(), None, self.receipts)
            queries = queries_of(question, incident)
            return answering.answer(incident, question, 1e9, queries, offered)

        self.talk = Conversations(ask, self.receipts, self.key, lambda: 1e9)
        client = WebClient(self.key, base_url=f"{self.makers.url}/slack/")
        self.app = create_app(client, self.talk, self.workers)

    def send(self, body):
        return self.app.dispatch(BoltRequest(body=body, mode="socket_mode"))

    def posts(self):
        return self.makers.of(Kind.SLACK)

    def asks(self, question, event="Ev1"):
        """Mention the app, and return the last message of its answer."""
        before = len(self.posts())
        self.send(mention(f"<@U1> {question}", event))
        eventually(lambda: len(self.posts()) > before, "an answer")
        return self.posts()[-1]

    def presses(self, post, label, channel=CHANNEL, user="U2", **changes):
        """Press the button with a label below a message."""
        return self.send(
            pressed(post, button(post, label), channel, user, self.makers.url, **changes)
        )

    def told(self, number=1):
        """Return what was shown to the one who pressed, and to nobody else."""
        eventually(lambda: len(self.makers.responses) >= number, f"{number} responses")
        shown = self.makers.responses[number - 1]
        assert shown["response_type"] == "ephemeral"
        return shown

    def refuses(self, words, posts):
        """Check that a press was refused in words and nothing was posted."""
        assert words in self.told()["text"]
        assert len(self.posts()) == posts


def button(post, label):
    (found,) = [it for it in buttons_in(post["blocks"]) if label in it["text"]["text"]]
    return found


def labels(post):
    return [it["text"]["text"] for it in buttons_in(post["blocks"])]


def pressed(post, element, channel, user, url, **changes):
    """Return what Slack sends of a pressed button."""
    message = {key: post[key] for key in ("ts", "thread_ts", "blocks", "text") if key in post}
    action = {**element, "block_id": "b1", "action_ts": "1.0", **changes}
    return {
        "type": "block_actions", "team": {"id": "T1"}, "user": {"id": user, "team_id": "T1"},
        "channel": {"id": channel, "name": "oncall"}, "actions": [action], "trigger_id": "1", "message": message,
        "container": {"type": "message", "message_ts": post["ts"], "channel_id": channel, "is_ephemeral": False},
        "response_url": f"{url}/hook",
    }  # fmt: skip


def selected(option, url, channel=CHANNEL, user="U2"):
    """Return what Slack sends of a choice in a message that only one person sees."""
    action = {
        "type": "static_select",
        "action_id": f"{ACTION}which",
        "block_id": "b",
        "action_ts": "2.0",
    }
    return {
        "type": "block_actions", "team": {"id": "T1"}, "user": {"id": user, "team_id": "T1"}, "trigger_id": "2",
        "channel": {"id": channel, "name": "oncall"}, "actions": [{**action, "selected_option": option}],
        "container": {"type": "message", "is_ephemeral": True}, "response_url": f"{url}/hook",
    }  # fmt: skip


@pytest.fixture
def bot(makers, tmp_path):
    with ThreadPoolExecutor(4) as workers:
        made = Bot(makers, Receipts(tmp_path / "receipts"), dict(TEXTS), workers)
        threads(makers)
        yield made
        made.app.listener_runner.listener_executor.shutdown()


class TestChoosing:
    def test_each_procedure_that_may_be_meant_has_a_button_that_gives_it_in_the_thread(self, bot):
        offered = bot.asks("mails?")
        assert labels(offered)[:2] == ["1. Post", "2. Backup"]
        bot.presses(offered, "1. Post")
        given = posted(bot.makers, 3)[-1]
        assert given["thread_ts"] == offered["thread_ts"]
        assert commands_in(given["blocks"]) == (["postqueue -f && echo <done>"], 0)
        assert "you chose this procedure" in json.dumps(given["blocks"])
        inline, listed = numbers_in(given["blocks"])
        assert inline
        assert set(inline) == set(listed)

    def test_a_button_outlives_a_restart_and_the_thread_is_about_its_question_again(self, bot):
        offered = bot.asks("mails?")
        bot.restart()
        bot.presses(offered, "2. Backup")
        assert "Restore the mails." in json.dumps(posted(bot.makers, 3)[-1]["blocks"])
        bot.asks("how do I check it?", "Ev2")
        assert bot.calls[-1] == "mails?: how do I check it?"

    def test_a_second_press_posts_nothing_and_says_where_it_stands(self, bot):
        offered = bot.asks("mails?")
        bot.presses(offered, "2. Backup")
        posts = len(posted(bot.makers, 3))
        bot.presses(offered, "2. Backup", user="U9")
        bot.refuses(ALREADY, posts)

    def test_a_press_is_acknowledged_before_anything_is_looked_up(self, bot):
        offered = bot.asks("mails?")
        posts, bot.hold = len(bot.posts()), threading.Event()
        assert bot.presses(offered, "2. Backup").status == 200
        assert len(bot.posts()) == posts
        bot.hold.set()
        posted(bot.makers, posts + 1)

    def test_sections_closest_to_something_undocumented_can_be_chosen_too(self, bot):
        bot.texts["runbooks/redis.md"] = (
            "# Redis\n\nFor `redis-badge`.\n\n## Memory\n\n- Purge the memory of `redis-badge`.\n"
        )
        near = bot.asks("redis-session memory is high")
        assert "Nothing documented." in json.dumps(near["blocks"])
        bot.presses(near, "1. ")
        assert "Purge the memory" in json.dumps(posted(bot.makers, 3)[-1]["blocks"])


class TestAllSteps:
    def test_the_steps_that_an_answer_undoes_are_given_with_it(self, bot):
        undo = bot.asks("how do I undo RouteFlaps")
        assert "not shown: runbooks/route.md" in json.dumps(undo["blocks"])
        bot.presses(undo, "Show all steps")
        given = posted(bot.makers, 3)[-1]
        told = json.dumps(given["blocks"])
        assert told.index("Hold the route") < told.index("Call the carrier") < told.index("release")
        assert "not shown" not in told
        assert "Show all steps" not in labels(given)

    def test_what_is_shown_whole_has_no_such_button(self, bot):
        assert labels(bot.asks("MailsWait")) == ["Copy commands", "Wrong citation"]

    def test_steps_that_slack_had_no_room_for_are_posted_below(self, bot):
        steps = "\n".join(f"{n}. Look at {'this ' * 150}{n}." for n in range(1, 100))
        bot.texts["runbooks/long.md"] = f"# Pumps\n\n## PumpStalls\n\n{steps}\n"
        last = bot.asks("PumpStalls")
        eventually(lambda: "not posted here" in json.dumps(bot.posts()[-1]), "the last part")
        last, before = bot.posts()[-1], len(bot.posts())
        assert "Show all steps" in labels(last)
        bot.presses(last, "Show all steps")
        eventually(lambda: "99." in json.dumps(bot.posts()[-1]["blocks"]), "the last step")
        told = json.dumps([it["blocks"] for it in bot.posts()[before:]])
        assert all(f"{n}. Look at" in told for n in range(1, 100))
        assert "not posted here" not in told

    @pytest.mark.parametrize("why", Why)
    def test_only_steps_that_somebody_may_follow_are_offered(self, why):
        lines = {"source_file": "runbooks/a.md", "start_line": 3, "end_line": 9}
        advice = {
            **RECOMMENDATION["recommendation"],
            "guidance": [{"citation": lines}],
            "procedures": [{**lines, "not_shown": [{**lines, "reason": why.value}]}],
        }
        whole = {**RECOMMENDATION, "status": "ok", "recommendation": advice}
        made = message_from("Why?", whole, [{"text": "1. Do it "}, cites()], by_model=True)
        posts = to_slack(replace(made, receipt="kr-" + "a" * 20), Buttons(TOKEN, CHANNEL))
        may = {Why.ROW, Why.OTHER, Why.UNDONE, Why.NOT_RETRIEVED, Why.NOT_GIVEN}
        assert ("Show all steps" in labels(posts[-1])) is (why in may)


class TestCopying:
    def test_the_commands_alone_are_shown_to_the_one_who_asks(self, bot):
        answer = bot.asks("MailsWait")
        bot.presses(answer, "Copy commands")
        shown = bot.told()
        assert [(kind, it["text"]) for kind, it in pieces_in(shown["blocks"])] == [
            ("rich_text_preformatted", "postqueue -f && echo <done>")
        ]
        assert len(bot.posts()) == 2
        assert shown["thread_ts"] == answer["thread_ts"]

    def test_entities_that_slack_writes_are_the_characters_that_were_posted(self, bot):
        answer = bot.asks("MailsWait")
        escaped = json.loads(
            json.dumps(answer).replace("<done>", "&lt;done&gt;").replace("&& ", "&amp;&amp; ")
        )
        bot.presses(escaped, "Copy commands")
        assert commands_in(bot.told()["blocks"]) == (["postqueue -f && echo <done>"], 0)

    def test_a_destructive_command_stays_in_its_step_with_what_guards_it(self, bot):
        bot.texts["runbooks/disk.md"] = (
            "# Disk\n\n## DiskFull\n\n1. Look:\n\n   ```\n   df -h\n   ```\n\n"
            "2. Only on a replica:\n\n   ```\n   rm -rf /var/lib/data\n   ```\n"
        )
        bot.presses(bot.asks("DiskFull"), "Copy commands")
        shown = bot.told()
        assert commands_in(shown["blocks"]) == (["df -h"], 0)
        assert "1 destructive command left out" in json.dumps(shown["blocks"])

    def test_a_command_that_was_not_posted_is_not_shown(self, bot):
        answer = bot.asks("MailsWait")
        forged = json.loads(json.dumps(answer).replace("postqueue -f", "rm -rf /"))
        bot.presses(forged, "Copy commands")
        bot.refuses(NOT_OURS, 2)


class TestWrongCitation:
    def test_the_citation_that_somebody_selects_is_recorded_beside_the_receipt(self, bot):
        answer = bot.asks("MailsWait")
        bot.presses(answer, "Wrong citation")
        (menu,) = buttons_in(bot.told()["blocks"])
        option = next(it for it in menu["options"] if "post.md:5" in it["text"]["text"])
        for user in ("U2", "U2", "U3"):
            bot.send(selected(option, bot.makers.url, user=user))
        told = bot.told(4)
        assert "Recorded as wrong" in told["text"]
        assert told["replace_original"]
        receipt = option["value"].partition(".")[0]
        reports = bot.receipts.reports(receipt)
        assert len({it["by"] for it in reports}) == len(reports) == 2
        assert {it["citation"]["source_file"] for it in reports} == {"runbooks/post.md"}
        assert not any("U2" in json.dumps(it) for it in reports)
        assert not bot.receipts.find(receipt).problems

    def test_an_option_of_another_channel_or_without_a_signature_records_nothing(self, bot):
        answer = bot.asks("MailsWait")
        bot.presses(answer, "Wrong citation")
        (menu,) = buttons_in(bot.told()["blocks"])
        option = menu["options"][0]
        receipt, _, signed = option["value"].split(".")
        bot.send(selected(option, bot.makers.url, OTHER))
        bot.send(selected({**option, "value": f"{receipt}.2.{signed}"}, bot.makers.url))
        for number in (2, 3):
            assert NOT_OURS in bot.told(number)["text"]
        assert not bot.receipts.reports(receipt)


class TestRefused:
    def test_a_value_of_another_channel(self, bot):
        bot.makers.channels.add(OTHER)
        offered = bot.asks("mails?")
        bot.presses(offered, "2. Backup", channel=OTHER)
        bot.refuses(NOT_OURS, 2)

    @pytest.mark.parametrize("change", ["number", "signature", "words", "act", "none"])
    def test_a_value_that_was_not_signed(self, bot, change):
        offered = deepcopy(bot.asks("mails?"))
        element = button(offered, "2. Backup")
        receipt, number, signed = element["value"].split(".")
        element |= {
            "number": {"value": f"{receipt}.1.{signed}"},
            "signature": {"value": f"{receipt}.{number}.{'0' * 32}"},
            "words": {"value": "runbooks/post.md:5"},
            "act": {"action_id": f"{ACTION}all"},
            "none": {"value": None},
        }[change]
        bot.presses(offered, "2. Backup")
        bot.refuses(NOT_OURS, 2)

    def test_a_value_that_its_message_does_not_have(self, bot):
        offered = bot.asks("mails?")
        other = bot.asks("MailsWait", "Ev2")
        bot.send(pressed(other, button(offered, "2. Backup"), CHANNEL, "U2", bot.makers.url))
        bot.refuses(NOT_OURS, 3)

    def test_a_body_without_a_message_or_with_an_unknown_act(self, bot):
        offered = bot.asks("mails?")
        body = pressed(offered, button(offered, "2. Backup"), CHANNEL, "U2", bot.makers.url)
        bot.send({**body, "message": None})
        bot.refuses(NOT_OURS, 2)
        bot.presses(offered, "2. Backup", action_id=f"{ACTION}delete")
        assert NOT_OURS in bot.told(2)["text"]

    def test_a_document_that_changed_since(self, bot):
        offered = bot.asks("mails?")
        bot.texts["runbooks/backup.md"] = "# Backup\n\nNew.\n\n## Mails lost\n\n1. Buy new ones.\n"
        bot.presses(offered, "2. Backup")
        bot.refuses("runbooks/backup.md has changed since this answer: ask again.", 2)

    def test_a_second_press_after_a_restart_posts_nothing_either(self, bot):
        offered = bot.asks("mails?")
        bot.presses(offered, "2. Backup")
        posts = len(posted(bot.makers, 3))
        bot.restart()
        bot.presses(offered, "2. Backup")
        bot.refuses(ALREADY, posts)

    def test_a_document_that_is_gone(self, bot):
        offered = bot.asks("mails?")
        del bot.texts["runbooks/backup.md"]
        bot.presses(offered, "2. Backup")
        bot.refuses("There are no steps at runbooks/backup.md:", 2)

    def test_a_button_from_before_the_token_was_changed(self, bot):
        offered = bot.asks("mails?")
        bot.key = "slack-key-2"
        bot.restart()
        bot.presses(offered, "2. Backup")
        bot.refuses(NOT_OURS, 2)

    def test_an_answer_without_its_receipt_or_with_a_changed_one(self, bot, tmp_path):
        offered = bot.asks("mails?")
        (path,) = (tmp_path / "receipts").iterdir()
        kept = path.read_bytes()
        path.write_bytes(kept.replace(b"runbooks/backup.md", b"runbooks/post.md"))
        bot.presses(offered, "2. Backup")
        bot.refuses(CHANGED_RECEIPT, 2)
        path.unlink()
        bot.presses(offered, "2. Backup")
        assert NO_RECEIPT in bot.told(2)["text"]

    def test_a_message_that_was_deleted(self, bot):
        offered = bot.asks("mails?")
        for post in bot.posts():
            post["gone"] = True
        bot.presses(offered, "2. Backup")
        bot.refuses("Slack refused the answer: thread_not_found.", 2)

    def test_an_answer_whose_text_is_refused_says_so(self, bot):
        offered = bot.asks("mails?")
        bot.makers.plan = ["msg_blocks_too_long"]
        bot.presses(offered, "2. Backup")
        told = "Slack refused a part of the answer (msg_blocks_too_long). Steps are missing here."
        assert posted(bot.makers, 3)[2]["text"] == told

    @pytest.mark.parametrize("error", ["channel_not_found", "is_archived", "token_expired"])
    def test_a_channel_that_is_gone_and_a_token_that_expired(self, bot, error):
        offered = bot.asks("mails?")
        bot.makers.plan = [error]
        bot.presses(offered, "2. Backup")
        bot.refuses(f"Slack refused the answer: {error}.", 2)
        bot.presses(offered, "2. Backup")  # somebody has mended it
        posted(bot.makers, 3)

    def test_a_look_up_that_fails_says_so(self, bot):
        offered = bot.asks("mails?")
        bot.texts["runbooks/post.md"] = None
        bot.presses(offered, "2. Backup")
        bot.refuses(FAILED[:20], 2)

    def test_a_response_that_slack_does_not_take_any_more_is_in_the_log(self, bot, caplog):
        offered = bot.asks("mails?")
        body = pressed(offered, button(offered, "2. Backup"), OTHER, "U2", bot.makers.url)
        bot.send({**body, "response_url": f"{bot.makers.url}/github/expired"})
        eventually(lambda: "a response to a button was refused: 401" in caplog.text, "a line")
        assert len(bot.posts()) == 2


class TestHooks:
    @pytest.fixture
    def message(self, tmp_path):
        receipts = Receipts(tmp_path / "receipts")
        answering = Answering(Search(TEXTS), ExtractiveAdvisor(), None, receipts)
        return answering.answer(Incident(title="mails?"), "mails?", 1e9)

    def test_a_hooks_message_has_buttons_only_where_the_app_runs(self, makers, message):
        destination = makers.destination(Kind.SLACK)
        assert not [
            it for post in posts_of(destination, message) for it in buttons_in(post.body["blocks"])
        ]
        (post,) = posts_of(replace(destination, buttons=True), message)
        assert len(buttons_in(post.body["blocks"])) == 3

    def test_the_app_answers_the_buttons_of_a_hooks_message_in_its_thread(self, bot, message):
        destination = replace(bot.makers.destination(Kind.SLACK), buttons=True)
        (post,) = posts_of(destination, message)
        head = {**post.body, "ts": "77.1"}
        bot.makers.taken.append((Kind.SLACK, CHANNEL, head))
        bot.presses(head, "2. Backup")
        given = posted(bot.makers, 3)[-1]
        assert given["thread_ts"] == "77.1"
        assert "Restore the mails." in json.dumps(given["blocks"])


def test_an_answer_to_a_group_of_alerts_offers_no_procedure_by_place(tmp_path):
    group = Incident(title="two", alerts=(alert("MailsWait"), alert("RouteFlaps")))
    answering = Answering(Search(TEXTS), ExtractiveAdvisor(), None, Receipts(tmp_path))
    assert not answering.answer(group, "two", 1e9).offers


@pytest.mark.parametrize(
    "value", ["", "kr-x.1." + "0" * 32, "kr-" + "a" * 20 + ".99999." + "0" * 32, 7, None, "\ud800"]
)
def test_whatever_is_no_value_is_refused(value):
    with pytest.raises(InvalidRequest):
        Buttons(TOKEN, CHANNEL).read(Act.CHOOSE, value)


def test_without_a_receipt_there_is_no_button(tmp_path):
    answering = Answering(Search(TEXTS), ExtractiveAdvisor(), None, Receipts(tmp_path))
    made = answering.answer(Incident(title="mails?"), "mails?", 1e9)
    (post,) = to_slack(replace(made, receipt=""), Buttons(TOKEN, CHANNEL))
    assert not buttons_in(post["blocks"])


def test_a_message_that_is_full_is_not_refused_for_its_buttons():
    whole = {**RECOMMENDATION, "status": "ok", "warnings": []}
    links = RepositoryLinks("https://git.example/{path}#L{start}-L{end}")
    seen = set()
    for count in range(40, 66, 3):
        parts = [{"text": "1. Do it "}, *(cites("a.md", n, n) for n in range(10, 10 + count))]
        made = message_from("Why?", whole, parts, by_model=False)
        made = replace(made, links=links, receipt="kr-" + "a" * 20)
        posts = to_slack(made, Buttons(TOKEN, CHANNEL))
        assert not [it for post in posts for it in problems(post)]
        seen.add(bool(buttons_in(posts[-1]["blocks"])))
    assert True in seen
