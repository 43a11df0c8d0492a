"""The corpus bucket mirrors the corpus, on moto's S3."""

import io
import json
import zipfile

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends

from knowledge_rag.core.errors import DeadlineExceeded
from lambdas.deploy_steps.mirror import AT_A_TIME, LIST_KEY, Buckets, Mirrored, empty, mirror

BUCKET = "corpus"
INTERMEDIATE = "intermediate"
BUCKETS = Buckets(BUCKET, INTERMEDIATE)
FILES = {"runbooks/a.md": "# A\n", "runbooks/b.md": "# B\n", "postmortems/c.md": "# C\n"}


@pytest.fixture
def s3(aws_environment):  # noqa: ARG001 - sets the environment
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket=BUCKET)
        client.create_bucket(Bucket=INTERMEDIATE)
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield client


def archive(files, links=()):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("runbooks/", "")
        for name, text in files.items():
            written.writestr(name, text)
        for name in links:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o120777 << 16
            written.writestr(entry, "/etc/passwd")
    return zipfile.ZipFile(data)


def objects(s3):
    listed = s3.list_objects_v2(Bucket=BUCKET).get("Contents", ())
    return {
        item["Key"]: s3.get_object(Bucket=BUCKET, Key=item["Key"])["Body"].read().decode()
        for item in listed
    }


def versions(s3):
    listed = s3.list_object_versions(Bucket=BUCKET)
    return len(listed.get("Versions", ())) + len(listed.get("DeleteMarkers", ()))


def test_every_file_is_written_byte_for_byte(s3, time):
    files = FILES | {"runbooks/zürich – 東京.md": "\ufeffcrlf\r\nno final newline"}

    done = mirror(s3, archive(files), BUCKETS, "1", time.clock())

    assert objects(s3) == files
    assert done == Mirrored(written=4, unchanged=0, deleted=0)


def test_what_did_not_change_is_not_written_again(s3, time):
    mirror(s3, archive(FILES), BUCKETS, "1", time.clock())

    done = mirror(s3, archive(FILES | {"runbooks/a.md": "# A2\n"}), BUCKETS, "1", time.clock())

    assert done == Mirrored(written=1, unchanged=2, deleted=0)
    assert objects(s3)["runbooks/a.md"] == "# A2\n"
    assert versions(s3) == 4


def test_another_chunker_writes_everything_anew(s3, time):
    mirror(s3, archive(FILES), BUCKETS, "1", time.clock())

    assert mirror(s3, archive(FILES), BUCKETS, "2", time.clock()).written == 3


def test_what_is_gone_from_the_folder_is_deleted_and_can_be_had_back(s3, time):
    mirror(s3, archive(FILES), BUCKETS, "1", time.clock())

    done = mirror(s3, archive({"runbooks/a.md": "# A\n"}), BUCKETS, "1", time.clock())

    assert list(objects(s3)) == ["runbooks/a.md"]
    assert done == Mirrored(written=0, unchanged=1, deleted=2)
    assert versions(s3) > 1


def test_what_a_person_put_there_or_wrote_over_is_never_deleted(s3, time):
    s3.put_object(Bucket=BUCKET, Key="notes/by-hand.md", Body=b"mine")
    mirror(s3, archive(FILES), BUCKETS, "1", time.clock())
    s3.put_object(Bucket=BUCKET, Key="runbooks/b.md", Body=b"mine too")

    done = mirror(s3, archive({"runbooks/a.md": "# A\n"}), BUCKETS, "1", time.clock())

    assert done.deleted == 1
    assert objects(s3) == {
        "notes/by-hand.md": "mine",
        "runbooks/a.md": "# A\n",
        "runbooks/b.md": "mine too",
    }


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s3: s3.put_object(Bucket=BUCKET, Key="runbooks/a.md", Body=b"edited"),
        lambda s3: s3.delete_object(Bucket=BUCKET, Key="runbooks/a.md"),
    ],
    ids=["edited", "deleted"],
)
def test_a_file_of_the_folder_that_was_spoiled_is_written_again(s3, time, spoil):
    mirror(s3, archive(FILES), BUCKETS, "1", time.clock())
    spoil(s3)
    assert mirror(s3, archive(FILES), BUCKETS, "1", time.clock()).written == 1
    assert objects(s3) == FILES


def test_files_that_did_not_change_cost_no_request_each(s3, time):
    files = {f"{number}.md": "x" for number in range(100)}
    mirror(s3, archive(files), BUCKETS, "1", time.clock())
    asked = []
    s3.meta.events.register("before-send.s3", lambda **_: asked.append(1))
    assert mirror(s3, archive(files), BUCKETS, "1", time.clock()).unchanged == 100
    assert len(asked) == 3  # a listing, and the list read and written


def test_what_was_written_before_the_time_was_up_is_not_written_again(s3, time):
    clock = time.clock()
    files = {f"{number}.md": "x" for number in range(20)}
    put = []

    def pass_time(**_):
        put.append(1)
        time.now += 100

    s3.meta.events.register("before-send.s3.PutObject", pass_time)
    with pytest.raises(DeadlineExceeded):
        mirror(s3, archive(files), BUCKETS, "1", clock)
    s3.meta.events.unregister("before-send.s3.PutObject", pass_time)
    listed = json.loads(s3.get_object(Bucket=INTERMEDIATE, Key=LIST_KEY)["Body"].read())
    assert 0 < len(listed) < len(files)
    done = mirror(s3, archive(files), BUCKETS, "1", time.clock(end=10_000))
    assert done.unchanged == len(listed)


def test_a_symbolic_link_is_no_document(s3, time):
    mirror(s3, archive(FILES, links=["runbooks/link.md"]), BUCKETS, "1", time.clock())

    assert set(objects(s3)) == set(FILES)


def test_files_that_are_copied_at_a_time_do_not_mix(s3, time):
    files = {f"runbooks/{number}.md": f"{number}\n" * 5_000 for number in range(100)}

    assert mirror(s3, archive(files), BUCKETS, "1", time.clock()).written == len(files)

    assert objects(s3) == files


def test_a_bucket_that_refuses_a_file_ends_the_copying(s3, time):
    refusal = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:PutObject",
        "Resource": f"arn:aws:s3:::{BUCKET}/*",
    }
    s3.put_bucket_policy(Bucket=BUCKET, Policy=json.dumps({"Statement": refusal}))
    files = {f"{number}.md": "x" for number in range(100)}
    tried = []
    s3.meta.events.register("before-send.s3.PutObject", lambda **_: tried.append(1))

    with pytest.raises(ClientError, match="Forbidden"):
        mirror(s3, archive(files), BUCKETS, "1", time.clock())

    assert len(tried) <= AT_A_TIME + 1, "one file of each worker, and the list of what was written"


def test_copying_ends_with_the_time(s3, time):
    with pytest.raises(DeadlineExceeded, match=r"copying runbooks/a\.md"):
        mirror(s3, archive(FILES), BUCKETS, "1", time.clock(end=0))


def test_emptying_takes_every_version_and_marker(s3, time):
    mirror(s3, archive(FILES), BUCKETS, "1", time.clock())
    mirror(s3, archive(FILES), BUCKETS, "2", time.clock())
    s3.delete_object(Bucket=BUCKET, Key="runbooks/a.md")

    assert empty(s3, BUCKET, time.clock()) == 7
    s3.delete_bucket(Bucket=BUCKET)


def test_a_version_that_may_not_be_deleted_is_named(s3, time):
    s3.create_bucket(Bucket="locked", ObjectLockEnabledForBucket=True)
    s3.put_object(Bucket="locked", Key="held.md", Body=b"", ObjectLockLegalHoldStatus="ON")

    with pytest.raises(PermissionError, match=r"locked: can't delete held\.md"):
        empty(s3, "locked", time.clock())


def test_more_objects_than_one_request_deletes(s3, time):
    stored = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]  # which a thousand requests would reach slowly
    for number in range(1001):
        stored.put_object(BUCKET, f"{number}.md", b"")

    assert empty(s3, BUCKET, time.clock()) == 1001
    assert versions(s3) == 0
