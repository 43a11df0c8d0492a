"""The Slack app: a mention, a command, a follow-up; each is acknowledged first and answered once."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from slack_bolt import BoltRequest
from slack_sdk import WebClient

from knowledge_rag.channel.message import message_from
from knowledge_rag.channel.receipts import Receipts
from knowledge_rag.channel.settings import Kind
from knowledge_rag.channel.slack_app import FAILED, NOT_HERE, USAGE, Conversations, create_app
from tests.support.cli import eventually
from tests.support.makers import CHANNEL
from tests.unit.console.test_answers import RECOMMENDATION


def answered(question):
    whole = {**RECOMMENDATION, "status": "ok", "warnings": []}
    made = message_from(question, whole, [{"text": f"1. About {question}"}], by_model=False)
    return replace(made, receipt="kr-1")


@pytest.fixture
def asked():
    return []


@pytest.fixture
def send(makers, asked, tmp_path):
    def ask(question, offered):
        assert offered is None
        asked.append(question)
        if "fail" in question:
            raise RuntimeError(question)
        return answered(question)

    client = WebClient("slack-key", base_url=f"{makers.url}/slack/")
    talk = Conversations(ask, Receipts(tmp_path), "slack-key", lambda: 0.0)
    with ThreadPoolExecutor(4) as workers:
        app = create_app(client, talk, workers)

        def dispatch(body):
            return app.dispatch(BoltRequest(body=body, mode="socket_mode"))

        yield dispatch
        app.listener_runner.listener_executor.shutdown()


def mention(text, event_id="Ev1", **more):
    event = {
        "type": "app_mention",
        "user": "U2",
        "text": text,
        "ts": "9.1",
        "channel": CHANNEL,
        **more,
    }
    return {"type": "event_callback", "team_id": "T1", "event_id": event_id, "event": event}


def command(text, url="", channel=CHANNEL):
    return {
        "command": "/runbook", "text": text, "channel_id": channel, "user_id": "U2", "team_id": "T1",
        "response_url": url, "trigger_id": "1",
    }  # fmt: skip


def posted(makers, number):
    eventually(lambda: len(makers.of(Kind.SLACK)) >= number, f"{number} posts")
    return makers.of(Kind.SLACK)


def threads(makers):
    """Let messages of people count as there, as Slack has them."""
    makers.taken.append((Kind.SLACK, CHANNEL, {"ts": "9.1", "text": "", "blocks": []}))


def test_a_mention_is_answered_in_its_thread(send, makers, asked):
    threads(makers)
    assert send(mention("<@U1> SQS queue &lt;orders&gt; is backing up")).status == 200
    (_, answer) = posted(makers, 2)
    assert asked == ["SQS queue <orders> is backing up"]
    assert answer["thread_ts"] == "9.1"
    assert "About SQS queue <orders>" in json.dumps(answer["blocks"])


def test_an_event_that_slack_sends_again_is_answered_once(send, makers, asked):
    threads(makers)
    for _ in range(3):
        send(mention("<@U1> DiskFull"))
    send(mention("<@U1> Other", "Ev2"))
    posted(makers, 3)
    assert sorted(asked) in (["DiskFull", "DiskFull: Other"], ["Other", "Other: DiskFull"])


def test_a_follow_up_is_asked_of_what_its_thread_is_about(send, makers, asked):
    threads(makers)
    send(mention("<@U1> RdsFailover"))
    posted(makers, 2)
    send(mention("<@U1> and how do I undo it?", "Ev2", ts="9.7", thread_ts="9.1"))
    posted(makers, 3)
    assert asked == ["RdsFailover", "RdsFailover: and how do I undo it?"]


def test_the_command_shows_what_was_asked_and_answers_below_it(send, makers, asked):
    assert send(command("SQS queue is backing up")).status == 200
    head, answer = posted(makers, 2)
    assert head["text"] == "/runbook SQS queue is backing up"
    assert answer["thread_ts"] == head["ts"]
    assert asked == ["SQS queue is backing up"]


@pytest.mark.parametrize(
    ("text", "channel", "said"), [("", CHANNEL, USAGE), ("x", "C9999999", NOT_HERE)]
)
def test_a_command_that_cannot_be_answered_says_what_to_do(send, makers, text, channel, said):
    send(command(text, f"{makers.url}/hook", channel))
    eventually(lambda: any(said in str(body) for body in makers.responses), "a response")
    assert not makers.of(Kind.SLACK)


def test_a_look_up_that_fails_says_so_and_not_that_nothing_is_documented(send, makers):
    threads(makers)
    send(mention("<@U1> fail"))
    assert posted(makers, 2)[1]["text"].startswith(FAILED[:20])


def test_it_is_acknowledged_before_anything_is_looked_up(makers, tmp_path):
    begun, go = threading.Event(), threading.Event()

    def slow(question, _):
        begun.set()
        go.wait(60)
        return answered(question)

    client = WebClient("slack-key", base_url=f"{makers.url}/slack/")
    talk = Conversations(slow, Receipts(tmp_path), "slack-key", lambda: 0.0)
    with ThreadPoolExecutor(2) as workers:
        app = create_app(client, talk, workers)
        for _ in range(20):  # more than Slack's library has threads
            response = app.dispatch(BoltRequest(body=command("x"), mode="socket_mode"))
            assert response.status == 200
        assert begun.wait(60)
        assert not any("thread_ts" in it for it in makers.of(Kind.SLACK))
        go.set()
        posted(makers, 40)
        app.listener_runner.listener_executor.shutdown()


def test_what_others_say_is_not_answered(send, makers, asked):
    for more in ({"channel_type": "channel"}, {"channel_type": "im", "bot_id": "B2"}):
        body = mention("DiskFull", "Ev9")
        body["event"] |= {"type": "message", **more}
        send(body)
    assert not asked
    assert not makers.of(Kind.SLACK)
