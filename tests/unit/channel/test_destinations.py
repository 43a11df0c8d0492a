"""Answers to SNS topics and as OpsItems: their forms, their limits, their signature, and what errors mean."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import httpx
import pytest
from botocore.credentials import ReadOnlyCredentials

from knowledge_rag.channel.destinations import (
    MAX_CHAT,
    MAX_DESCRIPTION,
    Ended,
    call_for,
    posts_of,
    reply_of,
    sender,
    topic_message,
)
from knowledge_rag.channel.settings import Kind, read_destinations
from knowledge_rag.channel.text import in_block
from knowledge_rag.core.errors import InvalidSettings
from tests.support.makers import TOPIC
from tests.unit.channel.conftest import answer, fires

SIGNER = ReadOnlyCredentials("AKIATEST", "secret", "token")
AWS = (Kind.SNS, Kind.OPS_ITEM)


@pytest.fixture
def posting(play, client):
    def begin(*kinds, **more):
        return play(*kinds, send=sender(client, lambda: SIGNER), **more)

    return begin


def forms(makers):
    """What each kind of subscriber gets of the last message."""
    return json.loads(makers.of(Kind.SNS)[-1]["Message"])


def test_an_answer_is_published_for_mail_text_messages_and_chat(posting, makers):
    played = posting(Kind.SNS)
    played.fired("DiskFull")
    published = forms(makers)
    assert "Look at DiskFull" in published["default"]
    assert len(published["sms"]) <= 300
    chat = json.loads(published["https"])
    assert (chat["version"], chat["source"]) == ("1.0", "custom")
    assert chat["content"]["textType"] == "client-markdown"
    assert "Look at DiskFull" in chat["content"]["description"]


def test_an_answer_is_one_ops_item_however_often_it_is_sent(posting, makers):
    makers.plan = ["lost"]
    played = posting(Kind.OPS_ITEM)
    played.fired("DiskFull", seconds=60)
    (item,) = makers.of(Kind.OPS_ITEM)
    assert item["Title"].startswith("DiskFull")
    assert "Receipt kr-" in item["Description"]
    assert played.states() == {"done": 1}


@pytest.mark.parametrize("kind", AWS)
def test_a_long_answer_is_cut_between_lines_and_keeps_its_receipt(posting, makers, kind):
    played = posting(kind, answers=lambda event, now: answer(event, now, 600))
    played.fired("DiskFull")
    assert played.states() == {"done": 1}
    shown = (
        json.loads(forms(makers)["https"])["content"]["description"].strip("`\n")
        if kind is Kind.SNS
        else makers.of(kind)[0]["Description"]
    )
    assert "Steps are missing here" in shown
    assert re.fullmatch(r"Receipt kr-\w+", shown.split("\n")[-1])
    assert len(shown) <= max(MAX_CHAT, MAX_DESCRIPTION)


@pytest.mark.parametrize("kind", AWS)
def test_a_storm_is_summed_up_there_too(posting, makers, kind):
    played = posting(kind)
    for number in range(30):
        played.receive(fires(f"Alert{number}", number))
    played.run(90)
    assert len(makers.of(kind)) == 6
    assert "25 further alerts" in json.dumps(makers.of(kind)[-1])


HOSTILE = "<!channel> <@U123> <https://evil.example|x> @here ``` *b* _i_ &lt;!here&gt; https://evil.example"


def test_nothing_in_chat_can_be_a_link_a_mention_or_markup():
    chat = json.loads(
        json.loads(
            topic_message(HOSTILE, "", in_block(f"{HOSTILE}\n```\n{HOSTILE}"), "", "k")["Message"]
        )["https"]
    )
    title, shown = chat["content"]["title"], chat["content"]["description"]
    assert title == "Runbook"
    assert shown.startswith("```\n")
    assert shown.endswith("\n```")
    inside = shown.removeprefix("```\n").removesuffix("\n```")
    assert "```" not in inside
    assert not re.search("[<>]", inside)
    assert html.unescape(inside).replace("`` `", "```") == f"{HOSTILE}\n```\n{HOSTILE}"


@pytest.mark.parametrize("title", ["Plattenplatz für Bücher", "!x", "", "\u00e9" * 200, " lead"])
def test_a_subject_is_what_sns_takes(title):
    subject = topic_message(title, "t", "c", "s", "k")["Subject"]
    assert re.fullmatch(r"[A-Za-z0-9][ -~]{0,99}", subject)


@pytest.mark.parametrize(
    ("status", "body", "ended"),
    [
        (200, b"<PublishResponse/>", Ended.DONE),
        (400, b"<Code>Throttled</Code>", Ended.LATER),
        (400, b'{"__type": "ThrottlingException"}', Ended.LATER),
        (400, b'{"__type": "OpsItemLimitExceededException"}', Ended.LATER),
        (429, b"", Ended.LATER),
        (403, b"<Code>AuthorizationError</Code>", Ended.KEY),
        (400, b'{"__type": "AccessDeniedException"}', Ended.KEY),
        (403, b"<Code>ExpiredToken</Code>", Ended.KEY),
        (400, b'{"__type": "OpsItemAlreadyExistsException"}', Ended.DONE),
        (404, b"<Code>NotFound</Code>", Ended.NEVER),
        (500, b"<Code>InternalError</Code>", Ended.UNSURE),
        (503, b"", Ended.UNSURE),
        (302, b"", Ended.NEVER),
    ],
)
@pytest.mark.parametrize("kind", AWS)
def test_an_error_means_what_its_code_says(makers, kind, status, body, ended):
    assert reply_of(makers.destination(kind), status, {}, body).ended is ended


def test_a_request_is_signed_for_the_topics_region_and_shows_no_secret(makers):
    sent = []

    def take(request):
        sent.append(request)
        return httpx.Response(200)

    destination = replace(
        makers.destination(Kind.SNS), topic=TOPIC.replace("us-east-1", "eu-west-1")
    )
    (post,) = posts_of(destination, answer_of("DiskFull"))
    with httpx.Client(transport=httpx.MockTransport(take)) as made:
        sender(made, lambda: SIGNER)(call_for(destination, post, 0.0))
    (request,) = sent
    assert "/eu-west-1/sns/aws4_request" in request.headers["Authorization"]
    assert request.headers["X-Amz-Security-Token"] == "token"
    assert b"secret" not in request.content


def answer_of(name):
    class Event:
        key = "k"

    Event.name = name
    return answer(Event, 0.0)


def test_without_credentials_a_post_waits(play, makers, client):
    def none():
        raise httpx.ConnectError("no AWS credentials")

    played = play(Kind.SNS, send=sender(client, none))
    played.fired("DiskFull", seconds=10)
    assert played.states() == {"waiting": 1}
    assert not makers.taken


class TestDestinationsAlone:
    GOOD = (
        '[destinations.mail]\nkind = "sns"\ntopic = "arn:aws:sns:eu-west-1:123456789012:on-call"\n'
    )

    def test_alerts_of_every_maker_go_to_all(self):
        found = read_destinations(self.GOOD, {})
        assert {hook.to for hook in found.hooks.values()} == {("mail",)}
        assert found.destinations["mail"].url == "https://sns.eu-west-1.amazonaws.com"

    def test_china_has_addresses_of_its_own(self):
        text = self.GOOD.replace("arn:aws:", "arn:aws-cn:").replace("eu-west-1", "cn-north-1")
        assert read_destinations(text, {}).destinations["mail"].url.endswith(".amazonaws.com.cn")

    def test_keys_that_are_not_looked_for_are_not_missed(self):
        text = '[destinations.a]\nkind = "slack"\ntoken_env = "T"\nchannel = "C0123ABCDEF"\n'
        assert read_destinations(text, None).destinations["a"].secret == ""
        with pytest.raises(InvalidSettings, match=r"destinations\.a: the secret has no key T"):
            read_destinations(text, {})

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "nothing is posted"),
            ("a = ", "not valid TOML"),
            (GOOD.replace(":sns:", ":sqs:"), "topic must be the ARN"),
            (GOOD.replace('"arn', '"arn:x'), "topic must be the ARN"),
            ('[destinations.a]\nkind = "opsitem"\nregion = "Frankfurt"\n', "region must be an AWS"),
            (GOOD + 'channel = "C1"\n', "unknown setting 'channel'"),
            (
                '[destinations.a]\nkind = "slack"\ntoken_env = "T"\nchannel = "C0123ABCDEF"\nbuttons = true\n',
                "destinations.a: buttons need the data folder",
            ),
        ],
    )
    def test_a_mistake_is_named(self, text, said):
        with pytest.raises(InvalidSettings, match=said):
            read_destinations(text, None)

    def test_the_hooks_of_the_same_file_are_not_used(self):
        hooks = '[hooks.x]\nfrom = "nagios"\nsecret_env = "A"\nto = ["mail"]\n'
        assert "x" not in read_destinations(hooks + self.GOOD, {}).hooks
