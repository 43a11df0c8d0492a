"""Documents that come, change and go in a deployed bucket, through the deployed rule, queue and function.

Everything is deployed by the real command line to a cloud on loopback; its time passes in no time.
"""

import shutil
from types import SimpleNamespace

import boto3
import pytest

from infra.ingestion import HELD_BACK, LOOK_EVERY, MAX_LOOKS
from lambdas.start_ingestion import handler
from lambdas.start_ingestion.handler import SWALLOWED_SECONDS
from tests.infra.synthesis import synthesized
from tests.support.cloudwatch import alarms_of, emitted, series
from tests.support.ingestion import ended
from tests.support.monitoring import monitored
from tools.local_cloud import kinds
from tools.local_cloud.changes import deployed_changes, matches
from tools.local_cloud.deployment import cloud, deploy_assembly

pytestmark = pytest.mark.skipif(
    shutil.which("npx") is None, reason="npx is not installed: Node >= 20 brings it"
)

NAME = "knowledge-rag-dev"
PREFIX = "runbooks/"
SETTINGS = {
    "documents": "bucket",
    "documents_prefix": PREFIX,
    "vector_store": "s3-vectors",
    "search_type": "SEMANTIC",
    "entrypoint": "none",
}
MINUTE, HOUR, DAY = 60, 3_600, 86_400
ALARMS = alarms_of(monitored(), NAME)


@pytest.fixture(scope="module")
def deployed():
    handler._jobs.cache_clear()
    with cloud() as running:
        stacks = deploy_assembly(synthesized(**SETTINGS).folder)
        data = next(stack for stack in stacks if stack.name.endswith("-data"))
        yield SimpleNamespace(cloud=running, outputs=data.outputs, template=data.template)
    handler._jobs.cache_clear()


@pytest.fixture
def jobs(deployed):
    """The knowledge base's jobs on a new day at nine: none is running, nothing is denied."""
    jobs = deployed.cloud.ingestion
    deployed.cloud.clock.now = (deployed.cloud.clock.now // DAY + 1) * DAY + 9 * HOUR
    ingest = jobs.ingest
    yield jobs
    jobs.denied, jobs.lasting, jobs.ingest = False, 60.0, ingest


@pytest.fixture
def changes(deployed, jobs):  # noqa: ARG001 - it sets the time
    return deployed_changes(NAME, deployed.cloud.clock)


@pytest.fixture
def bucket(deployed, changes):
    """The documents' bucket, whose changes are told of as S3 tells of them."""
    s3 = boto3.client("s3", region_name=kinds.REGION)
    name = deployed.outputs["CorpusBucketName"]

    def put(key, text):
        s3.put_object(Bucket=name, Key=key, Body=text.encode() if isinstance(text, str) else text)
        changes.tell(name, key)

    def delete(key):
        s3.delete_object(Bucket=name, Key=key)
        changes.tell(name, key, "Object Deleted")

    return SimpleNamespace(put=put, delete=delete, name=name)


def reports(changes):
    return [record for record in changes.log if "KnowledgeIngestionJobs" in record]


def started_in(jobs, act):
    before = len(jobs.started)
    act()
    return len(jobs.started) - before


def fired(changes):
    """Return the alarms that what the function wrote sets off."""
    samples = emitted(reports(changes))
    crashed = series("AWS/Lambda", "Errors", FunctionName=f"{NAME}-ingest")
    samples[crashed] = [sum(raised for _, raised in changes.calls)]
    ours = [key for key in ALARMS if key.startswith("ingestion-")]
    return {key for key in ours if ALARMS[key].fires(samples)}


def test_a_deployment_puts_nothing_into_the_bucket_and_waits_for_no_job(deployed, jobs):
    s3 = boto3.client("s3", region_name=kinds.REGION)
    assert s3.list_objects_v2(Bucket=deployed.outputs["CorpusBucketName"])["KeyCount"] == 0
    assert jobs.started == {}
    kinds_made = {resource["Type"] for resource in deployed.template["Resources"].values()}
    assert "Custom::KnowledgeDocuments" not in kinds_made


def test_a_document_is_found_after_it_was_put_changed_and_not_after_it_was_deleted(
    bucket, changes, jobs
):
    key = f"{PREFIX}dns.md"
    bucket.put(key, "# DNS\n\nFlush the cache.\n")
    changes.pass_time(20 * MINUTE)
    (content,) = jobs.contents[key]
    assert content["contentMetadata"]["source_file"] == "dns.md"
    bucket.put(key, "# DNS\n\nRestart the resolver.\n")
    changes.pass_time(20 * MINUTE)
    assert "Restart" in jobs.contents[key][0]["contentBody"]
    bucket.delete(key)
    changes.pass_time(20 * MINUTE)
    assert key not in jobs.contents
    assert fired(changes) == set()
    assert changes.queue.messages == []


def test_what_lies_elsewhere_in_the_bucket_starts_nothing(bucket, changes, jobs):
    bucket.put("drafts/a.md", "# Draft\n")
    assert started_in(jobs, lambda: changes.pass_time(HOUR)) == 0


def test_a_thousand_documents_at_once_are_one_job(deployed, changes, jobs):
    present, seen = set(), []
    jobs.ingest = lambda: (seen.append(len(present)), ended("COMPLETE", new=len(present)))[1]
    for act, what in ((present.add, "Object Created"), (present.discard, "Object Deleted")):
        for number in range(1_000):
            act(number)
            changes.tell(deployed.outputs["CorpusBucketName"], f"{PREFIX}{number}.md", what)
        assert started_in(jobs, lambda: changes.pass_time(2 * HOUR)) == 1
    assert seen == [1_000, 0]


def test_a_change_that_was_swallowed_is_seen_by_the_job_that_follows(bucket, changes, jobs):
    for minute in range(12):  # a sync that takes its time: a message every five minutes
        bucket.put(f"{PREFIX}slow-{minute}.md", f"# Slow {minute}\n")
        changes.pass_time(MINUTE)
        assert len(changes.queue.messages) <= 3
    changes.pass_time(HOUR)
    assert {f"{PREFIX}slow-{minute}.md" for minute in range(12)} <= set(jobs.contents)


def test_a_job_of_two_hours_is_followed_to_its_end_and_never_counted_as_failed(
    bucket, changes, jobs
):
    jobs.lasting = 2 * HOUR
    bucket.put(f"{PREFIX}big.md", "# Big\n")
    changes.pass_time(2 * HOUR)
    assert reports(changes) == []
    assert fired(changes) == set()
    changes.pass_time(20 * MINUTE)
    (metrics,) = reports(changes)
    assert metrics["KnowledgeIngestionJobs"] == [1]
    assert metrics["KnowledgeIngestionFailedJobs"] == [0]
    (told,) = [r for r in changes.log if r.get("message") == "ingestion job is over"]
    assert told["seconds"] == 2 * HOUR
    assert fired(changes) == set()


def test_what_changes_during_a_long_job_is_one_more_job_after_it(bucket, changes, jobs):
    jobs.lasting = 2 * HOUR
    bucket.put(f"{PREFIX}first.md", "# First\n")
    changes.pass_time(10 * MINUTE)
    jobs.lasting = 60.0
    for number in range(20):
        bucket.put(f"{PREFIX}later-{number}.md", f"# Later {number}\n")
        changes.pass_time(5 * MINUTE)
    assert len(changes.queue.messages) > 10
    assert started_in(jobs, lambda: changes.pass_time(2 * HOUR)) == 1
    assert f"{PREFIX}later-19.md" in jobs.contents
    assert changes.queue.messages == []


def test_a_job_that_somebody_else_started_is_waited_for(bucket, changes, jobs):
    jobs.lasting = HOUR
    jobs.by_hand()
    jobs.lasting = 60.0
    changes.pass_time(30 * MINUTE)
    bucket.put(f"{PREFIX}meanwhile.md", "# Meanwhile\n")
    assert started_in(jobs, lambda: changes.pass_time(20 * MINUTE)) == 0
    assert started_in(jobs, lambda: changes.pass_time(30 * MINUTE)) == 1
    assert f"{PREFIX}meanwhile.md" in jobs.contents
    assert fired(changes) == set()


def test_a_poison_object_is_named_and_the_others_are_found(bucket, changes, jobs):
    bucket.put(f"{PREFIX}poison.md", b"# \xff\xfe\n")
    bucket.put(f"{PREFIX}sound.md", "# Sound\n")
    changes.pass_time(20 * MINUTE)
    assert f"{PREFIX}sound.md" in jobs.contents
    assert f"{PREFIX}poison.md" not in jobs.contents
    assert fired(changes) == {"ingestion-failed-documents"}
    assert changes.queue.messages == changes.queue.dead == []


@pytest.mark.parametrize("end", ["FAILED", "STOPPED"])
def test_a_job_that_fails_or_is_stopped_warns_once(bucket, changes, jobs, end):
    jobs.ingest = lambda: ended(end, "the model is not enabled")
    bucket.put(f"{PREFIX}{end}.md", f"# {end}\n")
    changes.pass_time(HOUR)
    assert fired(changes) == {"ingestion-failed-jobs"}
    assert len(reports(changes)) == 1
    assert changes.queue.messages == []


def test_a_refusal_warns_and_heals_without_a_hand(bucket, changes, jobs):
    jobs.denied = True
    bucket.put(f"{PREFIX}denied.md", "# Denied\n")
    assert started_in(jobs, lambda: changes.pass_time(HOUR)) == 0
    assert fired(changes) == {"ingestion-function-errors"}
    jobs.denied = False
    assert started_in(jobs, lambda: changes.pass_time(10 * MINUTE)) == 1
    assert f"{PREFIX}denied.md" in jobs.contents


def test_a_change_that_is_never_served_becomes_a_dead_letter_that_warns(bucket, changes, jobs):
    jobs.denied = True
    bucket.put(f"{PREFIX}never.md", "# Never\n")
    changes.pass_time(MAX_LOOKS * LOOK_EVERY.to_seconds() + DAY)
    assert len(changes.queue.dead) == 1
    queue = f"{NAME}-changes-failed.fifo"
    name = series("AWS/SQS", "ApproximateNumberOfMessagesVisible", QueueName=queue)
    assert ALARMS["ingestion-dead-letters"].fires({name: [len(changes.queue.dead)]})
    assert not ALARMS["ingestion-dead-letters"].fires({name: [0]})


def test_at_night_what_no_event_told_of_is_found(deployed, bucket, changes, jobs):
    s3 = boto3.client("s3", region_name=kinds.REGION)
    s3.put_object(Bucket=bucket.name, Key=f"{PREFIX}silent.md", Body=b"# Silent\n")
    assert started_in(jobs, lambda: changes.pass_time(DAY)) == 1
    assert f"{PREFIX}silent.md" in jobs.contents
    jobs.lasting = 30 * HOUR  # over the next night: its message waits, and one job follows
    bucket.put(f"{PREFIX}long.md", "# Long\n")
    assert started_in(jobs, lambda: changes.pass_time(25 * HOUR)) == 1
    jobs.lasting = 60.0
    assert started_in(jobs, lambda: changes.pass_time(12 * HOUR)) == 1
    assert fired(changes) == set()
    assert deployed.cloud.clock.now > 0


def test_the_queue_holds_a_message_back_until_no_more_changes_are_swallowed_for_it():
    assert HELD_BACK.to_seconds() > SWALLOWED_SECONDS


def test_the_bucket_tells_of_its_changes_and_the_rule_hears_of_no_other(deployed, changes):
    buckets = [
        resource["Properties"]
        for name, resource in deployed.template["Resources"].items()
        if resource["Type"] == "AWS::S3::Bucket" and "Corpus" in name
    ]
    told = {"EventBridgeConfiguration": {"EventBridgeEnabled": True}}
    assert [each["NotificationConfiguration"] for each in buckets] == [told]
    changes.tell("another-bucket", f"{PREFIX}a.md")
    changes.tell(deployed.outputs["CorpusBucketName"], f"{PREFIX}a.md", "Object Tags Added")
    assert changes.queue.sent == 0
    assert matches({"a": [{"prefix": "x"}, "y"]}, {"a": "y"})
