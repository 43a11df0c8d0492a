"""Messages of the queue in; what is posted, once, whatever ends an invocation, and what is kept for the next."""

from __future__ import annotations

import asyncio
import json
import os
import re
from dataclasses import replace
from types import SimpleNamespace

import boto3
import pytest
from botocore.exceptions import ClientError

from knowledge_rag.channel.destinations import sender
from knowledge_rag.channel.message import BY_MODEL
from knowledge_rag.channel.settings import Kind
from knowledge_rag.channel.visits import MODEL_SECONDS, PAUSES, SEND_SECONDS, STEP_SECONDS, Patient
from knowledge_rag.core.errors import InvalidRequest, InvalidSettings
from knowledge_rag.core.outcome import Reason
from knowledge_rag.core.retrieval import Query
from lambdas.advise_incident import handler
from tests.support.advice import (
    BUCKET,
    MINUTE,
    SECRET,
    alarm,
    aws_fixture,
    client_fixture,
    function_fixture,
)
from tests.support.block_kit import numbers_in, problems
from tests.support.knowledge_bases import knowledge_base_of
from tests.support.local import RUNBOOKS, WordHashes
from tests.support.misbehaving_models import SCRIPTED, refusing
from tests.support.retrievals import DOWN, NOTHING, Answering, found, result
from tests.support.scripted import LocalBedrock

__all__ = ["aws_fixture", "client_fixture", "function_fixture"]


MODELS = {
    **SCRIPTED,
    "local.throttled": refusing("ThrottlingException"),
    "local.denied": refusing("AccessDeniedException"),
}


def slack(makers):
    return [it["text"].partition(":")[0] for it in makers.of(Kind.SLACK)]


def dead(aws):
    got = aws.sqs.receive_message(QueueUrl=aws.dead, MaxNumberOfMessages=10)
    return [it["Body"] for it in got.get("Messages", ())]


@pytest.mark.parametrize("event", [None, {}, {"Records": 5}, {"Records": [{}]}, {"Records": [1]}])
def test_an_event_that_is_no_batch_is_refused(event):
    with pytest.raises(InvalidRequest, match="not a batch of queue messages"):
        handler.read_messages(event)


def test_an_alarm_is_answered_once_however_often_it_comes(function, makers):
    function(alarm("DiskFull"), alarm("DiskFull"))
    function(alarm("DiskFull"))
    function.renew()
    counted = function(alarm("DiskFull"))
    assert slack(makers) == ["DiskFull"]
    assert counted is None  # nothing to count


def test_each_of_two_incidents_of_one_name_in_one_second_gets_its_note(function, makers):
    function.text = function.text.replace('"pagerduty"', '"incident.io"').replace(
        'sender = "bot@acme.example"\n', ""
    )
    function.text = function.text.replace(f"{makers.url}/pagerduty", f"{makers.url}/incident.io")
    function.keys = lambda: {**SECRET, "PAGER": "incident.io-key"}
    function.renew()
    kind = "public_incident.incident_created_v2"
    function(
        *(
            {
                "source": "incident.io",
                "detail": {"event_type": kind, kind: {"id": number, "name": "DiskFull: /data"}},
            }
            for number in ("01A", "01B", "01A")
        )
    )
    assert sorted(it["incident_id"] for it in makers.of(Kind.INCIDENT_IO)) == ["01A", "01B"]


def test_the_same_alarm_that_begins_again_after_it_was_quiet_is_answered_again(function, makers):
    function(alarm("DiskFull"))
    function.tick(31 * MINUTE)
    function(alarm("DiskFull", at="2026-03-02T09:00:00.000+0000"))
    assert slack(makers) == ["DiskFull", "DiskFull"]


def test_a_destination_that_is_down_for_ten_minutes_gets_it_later_from_any_environment(
    function, makers
):
    makers.down = True
    function(alarm("DiskFull"))
    function.renew()
    waiting = function.tick(10 * MINUTE)["KnowledgeAdviceWaitingSeconds"]
    assert waiting == [10 * MINUTE]
    assert not makers.taken
    makers.down = False
    function.renew()
    counted = function.tick(
        7 * MINUTE
    )  # the longest wait is six minutes; the last tick finds nothing to do
    assert slack(makers) == ["DiskFull"]
    assert counted is None


@pytest.mark.parametrize("taken", [True, False])
def test_an_environment_that_dies_while_it_posts_repeats_only_what_was_not_taken(
    function, makers, client, taken
):
    really = sender(client)

    def dies(call):
        if taken:
            really(call)
        raise KeyboardInterrupt

    function.renew(dies)
    with pytest.raises(KeyboardInterrupt):
        function(alarm("DiskFull"))
    function.renew()
    function(alarm("DiskFull"))  # which comes again, since nobody acknowledged it
    function.tick(2 * MINUTE)
    assert slack(makers) == ["DiskFull"]


def test_of_two_environments_at_once_one_is_refused_before_it_posts(function, makers):
    first, second = function.renew(), function.renew()
    begun = []

    def meanwhile():
        if not begun:
            begun.append(True)
            second.serve([json.dumps(alarm("DiskFull"))], lambda: 120.0)
        return SECRET

    function.keys = meanwhile
    with pytest.raises(ClientError, match="PreconditionFailed"):
        first.serve([json.dumps(alarm("DiskFull"))], lambda: 120.0)
    assert slack(makers) == ["DiskFull"]
    first.serve([json.dumps(alarm("DiskFull"))], lambda: 120.0)
    assert slack(makers) == ["DiskFull"]


def test_a_queue_that_can_not_be_kept_posts_nothing_and_lets_the_messages_come_again(
    function, makers, aws
):
    visits = function.renew()
    s3 = boto3.client("s3", region_name="us-east-1")
    s3.delete_bucket(Bucket=BUCKET)
    with pytest.raises(ClientError, match="NoSuchBucket"):
        function(alarm("DiskFull"))
    assert not makers.taken
    s3.create_bucket(Bucket=BUCKET)
    assert visits is handler._visits()
    function(alarm("DiskFull"))
    assert slack(makers) == ["DiskFull"]
    assert dead(aws) == []


class TestMessages:
    @pytest.mark.parametrize(
        "body", ["", "{", "[]", '"x"', "{}", '{"source": 5}', "NaN", "[" * 9_999]
    )
    def test_what_is_no_event_is_a_dead_letter_and_what_is_beside_it_is_answered(
        self, function, makers, aws, body
    ):
        function(body, alarm("DiskFull"))
        assert dead(aws) == [body or "(empty)"]
        assert slack(makers) == ["DiskFull"]
        (logged,) = [
            it for it in function.records if it.get("message") == "a message contains no event"
        ]
        assert logged["message_id"] == "m-0"

    def test_five_megabytes_are_a_dead_letter_that_is_cut(self, function, makers, aws):
        function(json.dumps(alarm("x" * 5_000_000)))
        (kept,) = dead(aws)
        assert len(kept) == handler.MAX_BURIED
        assert not makers.taken

    @pytest.mark.parametrize(
        "event",
        [
            {"source": "acme.pager", "detail": {}},
            {"source": "aws.cloudwatch", "detail": []},
            {"source": "aws.cloudwatch", "detail": {"alarmName": {"a": 1}}},
            {"source": "aws.partner/pagerduty.com/x", "detail": {"event": {"event_type": "incident.annotated"}}},
            {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}},
        ],
    )  # fmt: skip
    def test_an_event_without_an_alert_asks_nothing(self, function, makers, aws, event):
        assert function(event) is None
        assert not makers.taken
        assert dead(aws) == []
        assert function.retrieval.asked == []

    def test_a_pagers_incident_gets_its_note_and_slack_gets_it_too(self, function, makers):
        data = {"id": "P7", "type": "incident", "title": "DiskFull: /data", "status": "triggered"}
        payload = {"event": {"id": "e7", "event_type": "incident.triggered", "data": data}}
        function({"source": "aws.partner/pagerduty.com/acme", "detail": payload})
        assert [(kind, at) for kind, at, _ in makers.taken if kind is Kind.PAGERDUTY] == [
            (Kind.PAGERDUTY, "P7")
        ]
        assert len(makers.of(Kind.SLACK)) == 1


def test_a_storm_of_five_hundred_alarms_is_five_answers_a_summary_and_a_list_of_the_rest(
    function, makers
):
    for start in range(0, 500, 100):
        function(
            *(
                alarm(f"Alert{n % 50}", at=f"2026-03-02T08:{n // 60:02}:{n % 60:02}")
                for n in range(start, start + 100)
            )
        )
    function.tick(MINUTE)
    assert len(makers.of(Kind.SLACK)) == 6
    summary = makers.of(Kind.SLACK)[-1]["text"]
    assert int(re.match(r"(\d+) further", summary)[1]) == 495
    function.tick(10 * MINUTE)
    listed = makers.of(Kind.SLACK)[6:]
    assert len(listed) == 5  # 45 names, ten a message
    assert all("45 alerts without an answer so far" in it["text"] for it in listed)


def test_a_list_after_a_storm_names_what_there_was_no_time_for(function, makers):
    function(*(alarm(f"Alert{n}") for n in range(20)))
    function.tick(MINUTE)
    asked = len(function.retrieval.asked)
    times = iter([120.0] * 12)
    function.now += 10 * MINUTE
    handler._visits().serve([], lambda: next(times, 20.0))
    function.tick(MINUTE)
    listed = json.dumps(makers.of(Kind.SLACK)[6:])
    assert "Could not be looked up, ask again" in listed
    assert len(function.retrieval.asked) - asked < 15 * 3  # queries of an alert


class TestKeys:
    def test_keys_that_can_not_be_had_hold_everything_until_somebody_mends_them(
        self, function, makers
    ):
        def denied():
            raise InvalidSettings("the secret can't be read: AccessDeniedException")

        function.keys = denied
        function(alarm("DiskFull"))
        counted = function.tick(6 * MINUTE)
        assert counted["KnowledgeAdviceWaitingSeconds"] == [6 * MINUTE]
        logged = [it for it in function.records if it.get("message") == "nothing can be posted"]
        assert "AccessDenied" in logged[0]["reason"]
        assert not makers.taken
        function.keys = lambda: SECRET
        function.tick(MINUTE)
        assert slack(makers) == ["DiskFull"]

    def test_a_key_that_the_secret_lacks_is_named(self, function, makers):
        function.keys = lambda: {"SLACK": "slack-key"}
        function(alarm("DiskFull"))
        (logged,) = [it for it in function.records if it.get("message") == "nothing can be posted"]
        assert "destinations.pager: the secret has no key PAGER" in logged["reason"]
        assert not makers.taken

    def test_a_secret_is_read_again_after_five_minutes(self, aws):  # noqa: ARG002 - the services
        secrets = boto3.client("secretsmanager", region_name="us-east-1")
        arn = secrets.create_secret(Name="keys", SecretString='{"A": "1"}')["ARN"]
        clock = SimpleNamespace(now=0.0)
        keys = handler.Keys(arn, lambda: clock.now)
        assert keys() == {"A": "1"}
        secrets.put_secret_value(SecretId=arn, SecretString='{"A": "2"}')
        assert keys() == {"A": "1"}
        clock.now = handler.KEYS_SECONDS
        assert keys() == {"A": "2"}

    @pytest.mark.parametrize("text", ["xoxb-1", "[]", "5"])
    def test_a_secret_that_is_no_object_is_named_without_its_content(self, aws, text):  # noqa: ARG002
        secrets = boto3.client("secretsmanager", region_name="us-east-1")
        arn = secrets.create_secret(Name="keys", SecretString=text)["ARN"]
        with pytest.raises(InvalidSettings, match="not a JSON object of keys") as raised:
            handler.Keys(arn, lambda: 0.0)()
        assert text not in str(raised.value) or len(text) < 3

    def test_a_secret_that_is_not_there_is_told_by_the_services_code(self, aws):  # noqa: ARG002
        with pytest.raises(InvalidSettings, match="ResourceNotFoundException"):
            handler.Keys("arn:aws:secretsmanager:us-east-1:1:secret:none", lambda: 0.0)()

    def test_without_a_secret_there_are_no_keys(self):
        assert handler.Keys("", lambda: 0.0)() == {}


class TestTime:
    def test_nothing_is_begun_without_time_for_it_and_nothing_is_lost(self, function, makers):
        function.left = STEP_SECONDS - 1
        function(alarm("DiskFull"))
        assert function.retrieval.asked == []
        function.left = 120.0
        function.tick(MINUTE)
        assert slack(makers) == ["DiskFull"]

    def test_a_request_without_time_for_it_waits(self, function, makers):
        times = iter([120.0, *[SEND_SECONDS - 1] * 9])
        visits = handler._visits()
        function.left = 120.0
        visits.serve([json.dumps(alarm("DiskFull"))], lambda: next(times, 120.0))
        assert visits is handler._visits()
        function.tick(6 * MINUTE)
        assert slack(makers) == ["DiskFull"]


STEPS = (
    "# RDS failover",
    "",
    "Stop the consumers.",
    "",
    "Promote the replica with `aws rds promote-read-replica`.",
    "",
)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Bedrock's Converse on loopback, with models that do what their names say."""
    folder = tmp_path_factory.mktemp("models")
    with (
        knowledge_base_of(RUNBOOKS, folder, WordHashes()) as opened,
        LocalBedrock(opened, models=MODELS) as running,
    ):
        yield running


class TestModel:
    @pytest.fixture
    def write(self, function, aws, models):
        """Let a model write from a page of two steps; the function knows it by its variables."""
        aws.environment.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", models.endpoint_url)
        function.retrieval = Answering(found(result(lines=STEPS)))
        made = []

        def named(model):
            aws.environment.setenv("MODEL_ID", model)
            function.advisor = handler.advisor_of(os.environ)
            made.append(function.advisor)
            function.renew()

        yield named
        for it in made:
            it._primary.close()

    def test_without_a_model_nothing_writes(self):
        assert handler.advisor_of({"AWS_REGION": "us-east-1"}) is None
        assert handler.advisor_of({"AWS_REGION": "us-east-1", "MODEL_ID": ""}) is None

    def test_what_a_model_writes_is_marked_as_its_own_and_numbered_by_the_evidence(
        self, function, makers, write
    ):
        write("local.quotes")
        function(alarm("RDS failover"))
        (posted,) = makers.of(Kind.SLACK)
        shown = json.dumps(posted["blocks"])
        assert BY_MODEL in shown
        assert "runbooks/1.md" in shown
        inline, listed = numbers_in(posted["blocks"])
        assert set(inline) == set(listed) != set()
        assert not problems(posted)

    def test_what_the_api_says_of_its_sources_is_not_posted(self, function, makers, write):
        write("local.misquotes")
        function(alarm("RDS failover"))
        (posted,) = makers.of(Kind.SLACK)
        assert BY_MODEL in json.dumps(posted["blocks"])
        assert "never-written" not in json.dumps(posted["blocks"])

    @pytest.mark.parametrize(
        ("model", "cause"),
        [
            ("local.throttled", "could not be reached (throttled)"),
            ("local.denied", "could not be reached (access_denied)"),
            ("local.unknown", "could not be reached (configuration)"),
            ("local.fabricates", "no usable answer (unverifiable_results)"),
            ("local.uncited", "no usable answer (unverifiable_results)"),
            ("local.index-beyond", "no usable answer (unverifiable_results)"),
            ("local.guardrail", "no usable answer (guardrail)"),
            ("local.empty", "no usable answer (malformed_response)"),
        ],
    )
    def test_where_it_fails_the_documents_own_lines_are_posted(
        self, function, makers, write, model, cause
    ):
        write(model)
        function(alarm("RDS failover"))
        (posted,) = makers.of(Kind.SLACK)
        shown = json.dumps(posted["blocks"])
        assert cause in shown
        assert BY_MODEL not in shown
        assert "aws rds promote-read-replica" in shown

    def test_it_has_no_longer_than_its_time(self, function, makers, write, monkeypatch):
        monkeypatch.setattr(handler, "MODEL_SECONDS", 0.3)
        write("local.hangs")
        function(alarm("RDS failover"))
        (posted,) = makers.of(Kind.SLACK)
        assert "could not be reached (timeout)" in json.dumps(posted["blocks"])

    def test_nothing_is_begun_without_time_for_the_model_and_nothing_is_lost(
        self, function, makers, write
    ):
        write("local.quotes")
        function.left = STEP_SECONDS + MODEL_SECONDS - 1
        function(alarm("RDS failover"))
        assert not makers.taken
        function.left = 120.0
        function.tick(MINUTE)
        assert len(makers.of(Kind.SLACK)) == 1

    def test_the_days_limit_holds_in_every_environment(self, function, makers, write):
        function.text = "model_answers_a_day = 2\n" + function.text
        write("local.quotes")
        for number in range(4):
            function.renew()
            function(alarm("RDS failover", at=f"2026-03-02T08:1{number}:00"))
            function.now += 31 * MINUTE
        shown = [BY_MODEL in json.dumps(it["blocks"]) for it in makers.of(Kind.SLACK)]
        assert shown == [True, True, False, False]


def test_receipts_are_kept_for_each_post_in_one_chain(function, makers, tmp_path):
    from knowledge_rag.channel.receipts import Receipts

    function(alarm("DiskFull"), alarm("QueueGrows"))
    function.renew()
    function(alarm("NoSpace"))
    s3 = boto3.client("s3", region_name="us-east-1")
    folder = tmp_path / "receipts"
    folder.mkdir()
    for it in s3.list_objects_v2(Bucket=BUCKET, Prefix="receipts/")["Contents"]:
        body = s3.get_object(Bucket=BUCKET, Key=it["Key"])["Body"].read()
        (folder / it["Key"].rpartition("/")[2]).write_bytes(body)
    ids = [it["metadata"]["event_payload"]["id"].rpartition("-")[0] for it in makers.of(Kind.SLACK)]
    assert len(ids) == 3
    assert all(Receipts(folder).find(it).problems == () for it in ids)


class TestPatience:
    def ask(self, *outcomes):
        """Return the outcome of a search that ends in turn as given, what was asked, and how long it waited."""
        waited, answers = [], iter(outcomes)
        retrieval = Answering(lambda _: next(answers))

        async def sleep(seconds):
            waited.append(seconds)

        ended = asyncio.run(Patient(retrieval, sleep).retrieve(Query("disk")))
        return ended, len(retrieval.asked), waited

    def test_a_store_that_sleeps_is_asked_again(self):
        assert self.ask(DOWN, DOWN, found(result())) == (found(result()), 3, list(PAUSES))

    def test_what_stays_down_is_said_to_be_down(self):
        assert self.ask(DOWN, DOWN, DOWN) == (DOWN, 3, list(PAUSES))

    @pytest.mark.parametrize(
        "outcome", [NOTHING, found(result()), replace(DOWN, reason=Reason.ACCESS_DENIED)]
    )
    def test_an_answer_and_a_refusal_are_final(self, outcome):
        assert self.ask(outcome) == (outcome, 1, [])
