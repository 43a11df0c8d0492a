"""An alarm goes off in a cloud on loopback, and Slack shows the procedure with its lines.

Everything is deployed by the real command line: rules, bus, queue, functions, bucket. The makers' APIs are those of ``tests/support/makers.py``.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from infra.advice_stack import QUEUE, RECEIPTS
from knowledge_rag.channel.receipts import Receipts
from knowledge_rag.channel.settings import Kind
from lambdas.start_ingestion import handler as ingestion
from tests.infra.synthesis import synthesized
from tests.support.local import CORPUS
from tests.support.makers import CHANNEL, Makers
from tools.local_cloud.advising import Advising
from tools.local_cloud.deployment import cloud, deploy_assembly
from tools.local_cloud.living import client, living

pytestmark = pytest.mark.skipif(
    shutil.which("npx") is None, reason="npx is not installed: Node >= 20 brings it"
)

NAME = "knowledge-rag-dev"
KEYS = {"SLACK_BOT_TOKEN": "slack-key", "PAGERDUTY_TOKEN": "pagerduty-key"}
DESTINATIONS = """
links = "https://git.example/ops/blob/main/{{path}}#L{{start}}-L{{end}}"
answers_a_minute = 60

[destinations.oncall]
kind = "slack"
token_env = "SLACK_BOT_TOKEN"
channel = "{channel}"
url = "{url}/slack"

[destinations.pager]
kind = "pagerduty"
token_env = "PAGERDUTY_TOKEN"
sender = "bot@acme.example"
url = "{url}/pagerduty"
"""


@pytest.fixture(scope="module")
def makers():
    server = Makers()
    yield server
    server.close()


@pytest.fixture(scope="module")
def deployed(makers, tmp_path_factory):
    ingestion._jobs.cache_clear()
    path = tmp_path_factory.mktemp("advice") / "hooks.toml"
    path.write_text(DESTINATIONS.format(channel=CHANNEL, url=makers.url))
    with cloud() as running, living(running) as life:
        secret = client("secretsmanager").create_secret(
            Name="on-call/keys", SecretString=json.dumps(KEYS)
        )
        settings = {"advice_destinations": str(path), "advice_secret_arn": secret["ARN"]}
        stacks = deploy_assembly(
            synthesized(vector_store="s3-vectors", search_type="SEMANTIC", **settings).folder
        )
        life.wait(1_800)  # the documents are ingested
        advising = Advising(NAME)
        yield SimpleNamespace(
            stacks={it.name.removeprefix(f"{NAME}-"): it for it in stacks},
            advising=advising,
            bus=f"{NAME}-alerts",
        )
        advising.restart()
    ingestion._jobs.cache_clear()


def texts(value):
    """Yield every text in blocks of Slack's."""
    if isinstance(value, dict):
        if isinstance(value.get("text"), str):
            yield value["text"]
        value = list(value.values())
    if isinstance(value, list):
        for it in value:
            yield from texts(it)


def test_the_three_stacks_are_complete(deployed):
    assert set(deployed.stacks) == {"data", "service", "advice"}
    for stack in deployed.stacks.values():
        assert stack.status == "CREATE_COMPLETE"
        assert set(stack.resources) == set(stack.template["Resources"])
        assert set(stack.outputs) == set(stack.template["Outputs"])


def test_an_alarm_brings_its_procedure_with_its_lines_into_slack(deployed, makers):
    deployed.advising.alarm("RDSFailover")
    assert deployed.advising.work() >= 1
    posted = [it for it in makers.of(Kind.SLACK) if it["text"].startswith("RDSFailover")]
    shown = "\n".join(text for it in posted for text in texts(it["blocks"]))
    assert "RDSFailover" in posted[0]["text"]
    cited = re.findall(r"(runbooks/rds-failover\.md):(\d+)(?:-(\d+))?", shown)
    assert cited
    lines = (CORPUS / "runbooks/rds-failover.md").read_text(encoding="utf-8").split("\n")
    code = [line.strip() for line in lines if line.strip().startswith("aws rds ")]
    assert any(line.rstrip("\\").strip() in shown for line in code)
    links = set(re.findall(r'"url": "([^"]+)"', json.dumps(posted)))
    assert links
    assert all(it.startswith("https://git.example/ops/blob/main/") for it in links)


def test_the_same_event_posts_nothing_again_in_another_environment_either(deployed, makers):
    def fires():
        deployed.advising.alarm("LambdaThrottling")
        deployed.advising.work()

    fires()
    before = len(makers.taken)
    for _ in range(2):
        fires()
        deployed.advising.restart()
    assert len(makers.taken) == before > 0


def test_alarms_that_end_those_of_the_deployment_and_those_of_scaling_ask_nothing(deployed, makers):
    before = len(makers.taken)
    deployed.advising.alarm("SQSBacklog", state="OK")
    deployed.advising.alarm(f"{NAME}-outage")
    assert deployed.advising.work() == 0
    deployed.advising.alarm("TargetTracking-table/orders-AlarmHigh")
    assert deployed.advising.work() == 1
    assert len(makers.taken) == before


def test_an_incident_that_a_pager_sends_to_the_bus_gets_its_note(deployed, makers):
    sample = Path(__file__).parents[1] / "data/incidents/pagerduty-v3.json"
    payload = json.loads(sample.read_text(encoding="utf-8"))
    deployed.advising.put("aws.partner/pagerduty.com/acme", "webhook", payload, deployed.bus)
    deployed.advising.work()
    ((where, note),) = [(at, it) for kind, at, it in makers.taken if kind is Kind.PAGERDUTY]
    assert where == payload["event"]["data"]["id"]
    assert "Receipt kr-" in note["note"]["content"]


def test_the_receipt_of_a_post_is_in_the_bucket_and_its_chain_holds(deployed, makers, tmp_path):
    deployed.advising.alarm("DynamoThrottled")
    deployed.advising.work()
    bucket = deployed.stacks["advice"].outputs["AdviceBucketName"]
    s3 = client("s3")
    keys = [it["Key"] for it in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    for key in (it for it in keys if it.startswith(RECEIPTS)):
        content = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        (tmp_path / key.removeprefix(RECEIPTS)).write_bytes(content)
    posted = [it["metadata"]["event_payload"]["id"] for it in makers.of(Kind.SLACK)]
    for it in posted:
        found = Receipts(tmp_path).find(it.rpartition("-")[0])
        assert found.problems == ()
    assert posted
    assert set(keys) == {QUEUE, *(it for it in keys if it.startswith(RECEIPTS))}


def test_what_is_no_event_is_a_dead_letter_and_holds_up_nothing(deployed, makers):
    before = len(makers.of(Kind.SLACK))
    sqs = client("sqs")
    queue = sqs.get_queue_url(QueueName=f"{NAME}-alerts.fifo")["QueueUrl"]
    sqs.send_message(QueueUrl=queue, MessageBody="{", MessageGroupId="alerts")
    deployed.advising.alarm("SQSBacklog")
    deployed.advising.work()
    dead = sqs.receive_message(QueueUrl=deployed.advising.dead_letters)["Messages"]
    assert [it["Body"] for it in dead] == ["{"]
    assert len(makers.of(Kind.SLACK)) > before


def test_the_function_counts_what_it_received_and_posted(deployed):
    deployed.advising.log.clear()
    deployed.advising.alarm("CertificateExpires")
    deployed.advising.work()
    (counted,) = [it for it in deployed.advising.log if "KnowledgeAdviceAlerts" in it]
    assert counted["KnowledgeAdviceAlerts"] == [1]
    assert counted["KnowledgeAdvicePosts"][0] >= 1
    assert counted["KnowledgeAdviceGivenUp"] == counted["KnowledgeAdviceWaitingSeconds"] == [0]


def test_what_the_command_of_the_stack_sends_is_answered(deployed, makers):
    before = len(makers.of(Kind.SLACK))
    command = shlex.split(deployed.stacks["advice"].outputs["TryAdvice"])
    client("events").put_events(Entries=json.loads(command[command.index("--entries") + 1]))
    deployed.advising.work()
    assert len(makers.of(Kind.SLACK)) > before
