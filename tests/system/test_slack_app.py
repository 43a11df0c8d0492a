"""The Slack app over a real socket: acknowledged at once, answered in its thread with the lines."""

from __future__ import annotations

import json
import queue
import signal
import threading

import pytest
from websockets.sync.server import serve

from knowledge_rag.channel.settings import Kind
from tests.support.block_kit import numbers_in, pieces_in, problems
from tests.support.cli import SECONDS, assert_one_line, eventually
from tests.support.makers import CHANNEL, Makers

COMMAND = {
    "command": "/runbook", "text": "SQS queue is backing up", "channel_id": CHANNEL, "user_id": "U2",
    "team_id": "T1", "response_url": "", "trigger_id": "1",
}  # fmt: skip


@pytest.fixture
def slack():
    """Slack: its API, and the socket that the app connects to."""
    makers = Makers()
    acknowledged: queue.Queue = queue.Queue()

    def talk(connection):
        connection.send(json.dumps({"type": "hello", "num_connections": 1}))
        connection.send(
            json.dumps({"type": "slash_commands", "envelope_id": "e-1", "payload": COMMAND})
        )
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


def test_a_command_is_acknowledged_and_answered_in_a_thread(sample, slack):
    makers, acknowledged = slack
    keys = {
        "SLACK_BOT_TOKEN": "slack-key",
        "SLACK_APP_TOKEN": "xapp-key",
        "SLACK_API_URL": f"{makers.url}/slack/",
    }
    with sample.started("slack", **keys) as process:
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


def test_without_tokens_it_says_which_are_missing(sample):
    ran = sample("slack", SLACK_APP_TOKEN="xapp-1")
    assert ran.code == 2
    assert_one_line(ran.err, "SLACK_BOT_TOKEN")
