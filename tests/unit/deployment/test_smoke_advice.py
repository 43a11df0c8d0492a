"""What smoke says of an advice stack: what waits and is lost in it, and where a test alarm arrives."""

from __future__ import annotations

import json
from types import SimpleNamespace

import httpx
import pytest

from knowledge_rag.channel.destinations import sender
from knowledge_rag.channel.events import events_of_bus
from knowledge_rag.channel.queue import Queue
from knowledge_rag.channel.settings import Kind, read_destinations
from knowledge_rag.channel.worker import DAY, LONGEST_WAIT, Worker
from knowledge_rag.deployment.smoke.advice import QUEUE_KEY, WAIT_SECONDS, AdviceStack
from knowledge_rag.deployment.smoke.promises import Verdict
from lambdas.advise_incident.kept import QUEUE
from tests.support.makers import CHANNEL
from tests.support.played_aws import DENIED
from tests.unit.channel.conftest import answer, fires

NAME, BUCKET, BUS = "knowledge-rag-dev", "kept", "knowledge-rag-dev-alerts"
DESTINATIONS = """
[destinations.oncall]
kind = "slack"
token_env = "SLACK"
channel = "{channel}"
url = "{url}/slack"

[destinations.issue]
kind = "github"
token_env = "GITHUB"
repository = "acme/ops"
issue = 7
url = "{url}/github"

[destinations.pager]
kind = "pagerduty"
token_env = "PAGER"
sender = "bot@acme.example"
url = "{url}/pagerduty"
"""
KEYS = {"SLACK": "slack-key", "GITHUB": "github-key", "PAGER": "pagerduty-key"}


@pytest.fixture
def stack(account, aws, makers, tmp_path):
    """An advice stack whose function runs whenever smoke waits; its time is that of the test."""
    text = DESTINATIONS.format(channel=CHANNEL, url=makers.url)
    s3, sqs = account.client("s3"), account.client("sqs")
    s3.create_bucket(Bucket=BUCKET)
    account.client("events").create_event_bus(Name=BUS)
    dead = sqs.create_queue(
        QueueName=f"{NAME}-alerts-failed.fifo", Attributes={"FifoQueue": "true"}
    )
    variables = {"Environment": {"Variables": {"DESTINATIONS": text}}}
    account.refuse("lambda", "GetFunctionConfiguration", variables)
    queue = Queue(tmp_path / "queue.sqlite")
    clock = SimpleNamespace(now=1_772_439_284.0)
    sent = []
    with httpx.Client(timeout=5.0, trust_env=False) as client:
        settings = read_destinations(text, KEYS)
        worker = Worker(queue, settings, answer, sender(client), lambda: 0.5)

        def keep():
            s3.put_object(Bucket=BUCKET, Key=QUEUE_KEY, Body=queue.content())

        def sleep(seconds):
            """Serve what was put onto the bus, as the function does, and let time pass."""
            while sent:
                event = sent.pop(0)
                if event == "lost":
                    sqs.send_message(
                        QueueUrl=dead["QueueUrl"],
                        MessageBody="{",
                        MessageGroupId="unreadable",
                        MessageDeduplicationId="0",
                    )
                    continue
                maker, events = events_of_bus(event)
                queue.receive(maker.value, events, clock.now)
            while worker.step(clock.now):
                pass
            keep()
            clock.now += seconds

        made = AdviceStack(aws(), NAME, BUS, BUCKET, lambda: clock.now, sleep)
        yield SimpleNamespace(
            stack=made,
            queue=queue,
            clock=clock,
            sent=sent,
            sleep=sleep,
            keep=keep,
            settings=settings,
        )
    queue.close()


@pytest.fixture
def alarmed(stack, monkeypatch):
    """Send the test alarm; what the bus takes is served while smoke waits."""

    def send(*, lost=False):
        really = stack.stack.aws.call

        def call(service, operation, **parameters):
            answered = really(service, operation, **parameters)
            if operation == "put_events":
                (entry,) = parameters["Entries"]
                assert entry["EventBusName"] == BUS
                event = {"source": entry["Source"], "detail": json.loads(entry["Detail"])}
                stack.sent.append("lost" if lost else event)
            return answered

        monkeypatch.setattr(stack.stack.aws, "call", call)
        return stack.stack.send_test_alarm()

    return send


def test_the_queue_has_the_name_that_the_function_gives_it():
    assert QUEUE_KEY == QUEUE


def test_a_marked_alarm_is_followed_to_every_destination(alarmed, makers):
    oncall, issue, pager = alarmed()
    assert {oncall.verdict, issue.verdict} == {Verdict.KEPT}
    (posted,) = makers.of(Kind.SLACK)
    assert "nothing is wrong" in posted["text"]
    assert oncall.detail == f"oncall: posted, {posted['metadata']['event_payload']['id']}"
    assert issue.detail.startswith("issue: posted, kr-")
    assert pager.verdict is Verdict.NOTE
    assert "a note needs one of pagerduty's own incidents" in pager.detail


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("channel_not_found", "oncall: given up (channel_not_found)"),
        ("token_expired", "oncall: waits (token_expired)"),
    ],
)
def test_a_destination_that_refuses_is_named_with_its_reason(alarmed, makers, ending, said):
    makers.plan = [ending]
    oncall, issue, _ = alarmed()
    assert (oncall.verdict, oncall.detail) == (Verdict.BROKEN, said)
    assert "docs/channel.md" in oncall.action
    assert issue.verdict is Verdict.KEPT


def test_a_destination_that_is_down_does_not_hold_smoke_for_ever(alarmed, makers, stack):
    makers.down = True
    begun = stack.clock.now
    oncall, issue, _ = alarmed()
    assert {oncall.verdict, issue.verdict} == {Verdict.BROKEN}
    assert "waits (" in oncall.detail
    assert WAIT_SECONDS <= stack.clock.now - begun < WAIT_SECONDS + 60


def test_an_alarm_among_the_dead_letters_is_said_to_be_there(alarmed):
    (found,) = [it for it in alarmed(lost=True) if it.verdict is not Verdict.NOTE]
    assert (found.verdict, found.detail) == (Verdict.BROKEN, "it is in the dead-letter queue")


def test_what_may_not_be_done_is_unknown_and_names_the_permission(account, stack, aws):
    account.refuse("lambda", "GetFunctionConfiguration", DENIED)
    stack.keep()
    stack = AdviceStack(aws(), NAME, BUS, BUCKET)
    (found,) = stack.send_test_alarm()
    assert found.verdict is stack.check_queue().verdict is Verdict.UNKNOWN
    assert "lambda:GetFunctionConfiguration" in found.detail


def test_an_empty_queue_and_one_that_was_never_kept_are_fine(stack):
    assert stack.stack.check_queue().verdict is Verdict.KEPT
    stack.keep()
    assert stack.stack.check_queue().verdict is Verdict.KEPT


def test_what_is_late_given_up_or_lost_is_told(stack, makers, account):
    makers.plan = ["channel_not_found"]
    stack.queue.receive("alertmanager", events_of_bus(bus(fires("DiskFull")))[1], stack.clock.now)
    stack.sleep(0)
    assert "1 post given up within a day (channel_not_found)" in stack.stack.check_queue().detail
    stack.clock.now += DAY
    makers.down = True
    stack.queue.receive("alertmanager", events_of_bus(bus(fires("NoSpace")))[1], stack.clock.now)
    stack.sleep(2 * LONGEST_WAIT)
    found = stack.stack.check_queue()
    assert (found.verdict, found.detail) == (Verdict.BROKEN, "the oldest has waited for 10 minutes")
    sqs = account.client("sqs")
    url = sqs.get_queue_url(QueueName=f"{NAME}-alerts-failed.fifo")["QueueUrl"]
    sqs.send_message(
        QueueUrl=url, MessageBody="{", MessageGroupId="unreadable", MessageDeduplicationId="1"
    )
    assert "1 in the dead-letter queue" in stack.stack.check_queue().detail


def test_a_queue_that_is_damaged_is_broken(stack, account):
    account.client("s3").put_object(Bucket=BUCKET, Key=QUEUE_KEY, Body=b"x" * 5_000)
    assert stack.stack.check_queue().verdict is Verdict.BROKEN


def bus(payload):
    return {"source": "alertmanager", "detail": payload}
