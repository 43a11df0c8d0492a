"""The documents of a deployment: lines of the bucket's objects, and of nothing else."""

from __future__ import annotations

import hashlib

import pytest

from knowledge_rag.deployment import bucket_documents
from knowledge_rag.deployment.aws import CallFailed
from knowledge_rag.deployment.bucket_documents import BucketDocuments
from tests.support.local import RUNBOOKS

ODD = "# Odd\r\n\r\nThe \u2028 quokka: caf\u00e9.\x0b\r\n"
FILES = {**RUNBOOKS, "runbooks/odd.md": ODD, "notes.txt": "Call Kim.\n"}


@pytest.fixture
def documents(account, aws):
    s3 = account.client("s3")
    s3.create_bucket(Bucket="corpus")
    for key, text in FILES.items():
        s3.put_object(Bucket="corpus", Key=key, Body=text.encode())
    s3.put_object(Bucket="corpus", Key="logo.png", Body=b"\x89PNG")
    s3.put_object(Bucket="corpus", Key="broken.md", Body=b"\xff\xfe\x00")
    return BucketDocuments(aws(), "corpus")


@pytest.mark.parametrize("source_file", FILES)
def test_passages_are_the_objects_own_lines(documents, source_file):
    passages = documents.passages(source_file)
    lines = FILES[source_file].split("\n")
    assert passages
    for passage in passages:
        at = passage.citation
        assert passage.content == "\n".join(lines[at.start_line - 1 : at.end_line])
        digest = hashlib.sha256(FILES[source_file].encode()).hexdigest()
        assert passage.metadata["document_sha256"] == digest


def test_a_web_page_s_lines_are_those_of_its_text_and_know_where_it_is_from(documents, account):
    s3 = account.client("s3")
    page = b"<title>Fees</title><body><h1>Fees</h1><p>Ten euros a year.</p></body>"
    beside = b'{"metadataAttributes": {"source_url": "https://example.com/fees"}}'
    s3.put_object(Bucket="corpus", Key="web/fees.html", Body=page)
    s3.put_object(Bucket="corpus", Key="web/fees.html.metadata.json", Body=beside)
    (passage,) = documents.passages("web/fees.html")
    assert "Ten euros a year." in passage.content
    assert passage.metadata["source_url"] == "https://example.com/fees"
    assert passage.metadata["document_type"] == "web"


@pytest.mark.parametrize(
    "source_file", ["nowhere.md", "logo.png", "broken.md", "../notes.txt", "/etc/passwd.txt", ""]
)
def test_what_is_no_document_has_no_passages(documents, source_file):
    assert documents.passages(source_file) == []


def test_documents_are_listed_page_by_page_and_found_by_name(documents, monkeypatch):
    names = sorted({*FILES, "broken.md"})
    assert [one.source_file for one in documents.after("", 100)] == names
    assert [one.source_file for one in documents.after(names[0], 2)] == names[1:3]
    assert documents.named_like("RDS", 10) == [name for name in names if "rds" in name]
    monkeypatch.setattr(bucket_documents, "MAX_PAGES", 0)
    assert documents.after("", 100) == []


@pytest.mark.usefixtures("documents")
def test_a_listing_goes_on_where_the_service_cuts_it(aws):
    in_pairs = BucketDocuments(aws(), "corpus", page=2)
    assert len(in_pairs.after("", 5_000)) == len(FILES) + 1


@pytest.mark.usefixtures("account")
def test_a_bucket_that_can_t_be_read_is_told(aws):
    documents = BucketDocuments(aws(), "somebody-elses")
    with pytest.raises(CallFailed):
        documents.after("", 10)
    with pytest.raises(CallFailed):
        documents.passages("notes.txt")


def test_a_prefix_is_no_part_of_a_name(account, aws):
    s3 = account.client("s3")
    s3.create_bucket(Bucket="team")
    for key in ("sre/a.md", "sre/b.md", "other/c.md"):
        s3.put_object(Bucket="team", Key=key, Body=f"# {key}\n".encode())
    below = BucketDocuments(aws(), "team", "sre/", page=1)
    assert [document.source_file for document in below.after("", 9)] == ["a.md", "b.md"]
    assert [document.source_file for document in below.after("a.md", 9)] == ["b.md"]
    assert below.named_like("c.md", 9) == []
    (passage,) = below.passages("a.md")
    assert (passage.citation.source_file, passage.content) == ("a.md", "# sre/a.md")
    assert below.passages("sre/a.md") == []
