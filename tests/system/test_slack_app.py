"""The Slack app over a real socket: acknowledged at once, answered in its thread with the lines."""

from __future__ import annotations

import itertools
import json
import queue
import signal
import threading

import httpx
import pytest
from websockets.sync.server import serve

from knowledge_rag.channel.settings import Kind
from tests.support.block_kit import buttons_in, numbers_in, pieces_in, problems
from tests.support.cli import SECONDS, assert_one_line, eventually
from tests.support.makers import CHANNEL, Makers
from tests.unit.channel.test_buttons import button, pressed, selected

COMMAND = {
    "command": "/runbook", "text": "SQS queue is backing up", "channel_id": CHANNEL, "user_id": "U2",
    "team_id": "T1", "response_url": "", "trigger_id": "1",
}  # fmt: skip


HOOKS = """
[hooks.alerts]
from = "alertmanager"
secret_env = "HOOK_SECRET"
to = ["with-buttons"]
[destinations.with-buttons]
kind = "slack"
token_env = "SLACK_BOT_TOKEN"
channel = "{channel}"
url = "{url}/slack"
buttons = true
"""


@pytest.fixture
def events():
    """What Slack sends, in its order; a test may add more while the app runs."""
    sent: queue.Queue = queue.Queue()
    yield sent
    sent.put(None)


@pytest.fixture
def slack(events):
    """Slack: its API, and the socket that the app connects to."""
    makers = Makers()
    acknowledged: queue.Queue = queue.Queue()

    def send(connection):
        for number in itertools.count(1):
            if (event := events.get()) is None:
                return
            envelope = {"type": event[0], "envelope_id": f"e-{number}", "payload": event[1]}
            connection.send(json.dumps(envelope))

    def talk(connection):
        connection.send(json.dumps({"type": "hello", "num_connections": 1}))
        threading.Thread(target=send, args=(connection,), daemon=True).start()
        for message in connection:
            posts = len(makers.of(Kind.SLACK))
            acknowledged.put((json.loads(message).get("envelope_id"), posts))

    with serve(talk, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.socket.getsockname()[1]
        makers.known["/apps.connections.open"] = {"url": f"ws://127.0.0.1:{port}/"}
        yield makers, acknowledged
        server.shutdown()
        thread.join()
    makers.close()


def keys_of(makers):
    return {
        "SLACK_BOT_TOKEN": "slack-key",
        "SLACK_APP_TOKEN": "xapp-key",
        "SLACK_API_URL": f"{makers.url}/slack/",
    }


def answers(makers):
    """Return the messages that end an answer."""
    return [it for it in makers.of(Kind.SLACK) if "Receipt kr-" in str(it["blocks"])]


def test_a_command_is_acknowledged_and_answered_in_a_thread(sample, slack, events):
    makers, acknowledged = slack
    events.put(("slash_commands", COMMAND))
    with sample.started("slack", **keys_of(makers)) as process:
        envelope, posts = acknowledged.get(timeout=SECONDS)
        assert (envelope, posts <= 1) == ("e-1", True)  # before the answer stands there
        eventually(
            lambda: any("Receipt kr-" in str(it) for it in makers.of(Kind.SLACK)), "an answer"
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
    head, *answer = makers.of(Kind.SLACK)
    assert head["text"] == "/runbook SQS queue is backing up"
    assert answer
    for post in answer:
        assert post["thread_ts"] == head["ts"]
        assert not problems(post)
        inline, listed = numbers_in(post["blocks"])
        assert set(inline) == set(listed)
    code = [
        it["text"] for post in answer for kind, it in pieces_in(post["blocks"]) if "pre" in kind
    ]
    assert any("aws sqs get-queue-attributes" in it for it in code)


def test_a_button_gives_the_procedure_that_was_meant_and_a_wrong_citation_stands_with_the_receipt(
    sample, slack, events
):
    makers, acknowledged = slack
    events.put(("slash_commands", {**COMMAND, "text": "the database is slow"}))
    with sample.started("slack", **keys_of(makers)) as process:
        eventually(lambda: answers(makers), "an answer")
        (offered,) = answers(makers)
        choices = [it for it in buttons_in(offered["blocks"]) if "choose" in it["action_id"]]
        assert 2 <= len(choices) <= 3
        events.put(("interactive", pressed(offered, choices[-1], CHANNEL, "U2", makers.url)))
        eventually(lambda: len(answers(makers)) == 2, "the procedure")
        given = answers(makers)[-1]
        events.put(
            (
                "interactive",
                pressed(given, button(given, "Wrong citation"), CHANNEL, "U2", makers.url),
            )
        )
        eventually(lambda: makers.responses, "a menu")
        (menu,) = buttons_in(makers.responses[0]["blocks"])
        events.put(("interactive", selected(menu["options"][0], makers.url)))
        eventually(lambda: len(makers.responses) == 2, "a report")
        assert [acknowledged.get(timeout=SECONDS)[0] for _ in range(4)] == [
            "e-1",
            "e-2",
            "e-3",
            "e-4",
        ]
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
    posts = makers.of(Kind.SLACK)
    posts = posts[posts.index(offered) :]
    assert {it["thread_ts"] for it in posts} == {offered["thread_ts"]}
    assert "you chose this procedure" in json.dumps(posts[1]["blocks"])
    assert not [it for post in posts for it in problems(post)]
    number, *_ = menu["options"][0]["value"].split(".")
    shown = sample("receipt", number, "--json")
    assert (shown.code, shown.json["problems"]) == (0, [])
    (report,) = shown.json["reports"]
    assert report["citation"]["source_file"] == shown.json["evidence"][0]["source_file"]
    assert "U2" not in shown.out
    assert "reported as wrong: " in sample("receipt", number).out


def test_the_app_answers_a_button_of_a_message_that_a_hook_posted(sample, slack, events, tmp_path):
    makers, _ = slack
    path = tmp_path / "hooks.toml"
    path.write_text(HOOKS.format(channel=CHANNEL, url=makers.url))
    keys = {"HOOK_SECRET": "hook-secret", **keys_of(makers)}
    with sample.started("serve", "--hooks", path, "--port", "0", "--json", **keys) as process:
        url = json.loads(process.stdout.readline())["hooks_url"]
        headers = {"Authorization": "Bearer hook-secret"}
        alert = {"status": "firing", "labels": {"alertname": "RdsFailover"}}
        httpx.post(
            f"{url}hooks/alerts",
            json={"version": "4", "alerts": [alert]},
            headers=headers,
            timeout=SECONDS,
        )
        eventually(lambda: answers(makers), "an answer")
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
    (posted,) = answers(makers)
    wrong = button(posted, "Wrong citation")
    events.put(("interactive", pressed(posted, wrong, CHANNEL, "U2", makers.url)))
    with sample.started("slack", **keys_of(makers)) as process:
        eventually(lambda: makers.responses, "a menu")
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
    (menu,) = buttons_in(makers.responses[0]["blocks"])
    assert any("runbooks/rds-failover.md" in it["text"]["text"] for it in menu["options"])


def test_without_tokens_it_says_which_are_missing(sample):
    ran = sample("slack", SLACK_APP_TOKEN="xapp-1")
    assert ran.code == 2
    assert_one_line(ran.err, "SLACK_BOT_TOKEN")
