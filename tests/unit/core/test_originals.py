"""Documents in a bucket: read once a version, within the deadline, and kept within bounds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from knowledge_rag.core import originals
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.originals import BucketOriginals, create_client
from tests.support.foreign import BUCKET, PREFIX, Bucket

ROOT = f"s3://{BUCKET}/{PREFIX}"


@pytest.fixture
def bucket(aws_environment):
    made = Bucket({})
    aws_environment.setenv("AWS_ENDPOINT_URL_S3", made.url)
    yield made
    made.close()


@pytest.fixture
def documents(bucket, tmp_path):
    assert bucket.url  # where the client is sent
    client = create_client("us-east-1")
    yield BucketOriginals(client, ROOT, tmp_path / "kept")
    client.close()


def put(bucket, **texts):
    bucket.objects |= {f"{PREFIX}{name}.md": data for name, data in texts.items()}


def uris(*names):
    return [f"{ROOT}{name}.md" for name in names]


def read(documents, *names, seconds=60.0):
    return documents.read(uris(*names), Deadline.after(seconds))


def test_many_documents_are_read_at_once_and_cited_relative_to_the_prefix(documents, bucket):
    names = [f"d{n}" for n in range(30)]
    put(bucket, **{name: f"# {name}\n".encode() for name in names})
    found = read(documents, *names, *names)
    assert {uri: one.document.source_file for uri, one in found.originals.items()} == {
        f"{ROOT}{name}.md": f"{name}.md" for name in names
    }
    assert (found.failures, len(bucket.served)) == ({}, 30)


def test_a_key_is_taken_as_it_stands_and_then_decoded(documents, bucket):
    bucket.objects |= {f"{PREFIX}a b.md": b"# A\n", f"{PREFIX}100%.md": b"# B\n"}
    sources = [f"{ROOT}a%20b.md", f"{ROOT}a b.md", f"{ROOT}100%.md"]
    found = documents.read(sources, Deadline.after(60)).originals
    # cited is the file that there is, whatever its URI looks like
    assert {source: one.document.source_file for source, one in found.items()} == dict(
        zip(sources, ("a b.md", "a b.md", "100%.md"), strict=True)
    )


@pytest.mark.parametrize("name", ["../secret", "%2e%2e/secret", "%2e%2e%2fsecret", "\ud800", ""])
def test_no_key_leads_out_of_the_prefix_or_fails_the_query(documents, bucket, name):
    bucket.objects |= {"secret.md": b"# S\n", f"{PREFIX}../secret.md": b"# S\n"}
    put(bucket, good=b"# Good\n")
    found = read(documents, name, "good")
    assert list(found.originals) == uris("good")
    assert sum(found.failures.values()) == 1


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "UnreadableDocument"),
        (b"\xff\xfe", "UnreadableDocument"),
        (b"a\0b", "UnreadableDocument"),
        (b"x" * (5 * 2**20), "ResponseTooLarge"),
        (500, "500"),
        (301, "301"),  # of another region
        (307, "307"),
    ],
)
def test_a_document_that_is_no_text_or_too_large_says_so(documents, bucket, data, code):
    put(bucket, bad=data, good=b"# Good\n")
    found = read(documents, "bad", "good")
    assert (list(found.originals), found.failures) == (uris("good"), {code: 1})


def test_a_name_that_can_not_be_cited_is_left_out(documents, bucket):
    bucket.objects[f"{PREFIX}a\\b.md"] = b"# A\n"
    found = documents.read([f"{ROOT}a\\b.md"], Deadline.after(60))
    assert (found.originals, found.failures) == ({}, {"InvalidCitation": 1})


def test_without_time_nothing_is_asked_for(documents, bucket):
    put(bucket, a=b"# A\n")
    found = read(documents, "a", seconds=originals.RESERVED_SECONDS / 2)
    assert (found.originals, sum(found.failures.values()), bucket.served) == ({}, 1, [])


def test_a_document_that_can_not_be_indexed_in_time_is_indexed_by_the_next_query(
    documents, bucket, monkeypatch
):
    put(bucket, a=b"# A\n")
    monkeypatch.setattr(originals, "INDEX_SECONDS_PER_BYTE", 100)
    assert read(documents, "a").failures == {"NoTimeToIndex": 1}
    monkeypatch.undo()
    assert list(read(documents, "a").originals) == uris("a")
    assert [status for _, status in bucket.served] == [200, 304]


def test_a_document_of_short_lines_is_given_the_time_that_its_lines_take(documents, bucket):
    """Every other line a heading: 2 s and more to index, of which a query has not half."""
    put(bucket, dense=b"a\n=\n" * 250_000, prose=(b"w" * 99 + b"\n") * 10_000)
    came = Deadline(60.0, lambda: 58.2 if bucket.served else 0.0)
    found = documents.read(uris("dense", "prose"), came)
    assert (list(found.originals), found.failures) == (uris("prose"), {"NoTimeToIndex": 1})


def test_documents_beyond_the_memory_come_from_the_folder(documents, bucket, monkeypatch):
    monkeypatch.setattr(documents._kept, "_max_bytes", 0)
    put(bucket, a=b"# A\n", b=b"# B\n")
    for _ in range(3):
        assert len(read(documents, "a", "b").originals) == 2
    assert sorted(status for _, status in bucket.served) == [200, 200, 304, 304, 304, 304]


def test_the_folder_stays_within_its_bound_and_one_that_can_not_be_written_is_not_missed(
    documents, bucket, tmp_path, monkeypatch
):
    monkeypatch.setattr(originals, "MAX_FOLDER_BYTES", 300)
    put(bucket, **{f"d{n}": b"# D\n" + b"x" * 80 for n in range(10)})
    assert len(read(documents, *(f"d{n}" for n in range(10))).originals) == 10
    assert 0 < sum(path.stat().st_size for path in (tmp_path / "kept").iterdir()) <= 400
    client = SimpleNamespace(api=documents._api)
    elsewhere = BucketOriginals(client, ROOT, tmp_path / "no" / "such")
    assert len(read(elsewhere, "d1").originals) == 1


def test_threads_share_what_is_kept(documents, bucket):
    names = [f"d{n}" for n in range(6)]
    put(bucket, **{name: f"# {name}\n".encode() for name in names})
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: read(documents, *names), range(4)))
    assert [(len(one.originals), one.failures) for one in found] == [(6, {})] * 4
