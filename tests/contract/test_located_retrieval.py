"""The real function in front of a knowledge base that this project didn't ingest."""

from __future__ import annotations

import contextlib
import json
import tempfile

import boto3
import pytest
from moto.server import ThreadedMotoServer

from knowledge_rag.core import retrieval, telemetry
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.response import read_outcome
from knowledge_rag.core.retrieval import MORE_NOTICE, UNLOCATED_NOTICE
from knowledge_rag.evaluation.faults.payloads import retrieved
from knowledge_rag.evaluation.faults.server import (
    RawServer,
    answering,
    http,
    resetting,
    sending,
    silent,
)
from knowledge_rag.local.bedrock.retrieve import CORPUS_BUCKET, KNOWLEDGE_BASE_ID
from knowledge_rag.local.bedrock.server import LocalBedrock
from lambdas.retrieve_knowledge import service
from tests.support.fixtures import invoke
from tests.support.foreign import BUCKET, PREFIX, Bucket, result
from tests.support.patience import longer, patient_function
from tests.support.sample import sample_copy

RDS = b"# RDS\n\n## Fail over\n\n1. Promote the reader.\n   It takes 30 s.\n\n## Check\n\nLag is 0 s.\n"
SQS = b"# SQS\r\n\r\nPurge the queue.\r\n"
QUERY = {"query": "how do we fail over?"}


@pytest.fixture
def documents(aws_environment, tmp_path):
    """A bucket with two documents, which the function is set to read."""
    bucket = Bucket({f"{PREFIX}runbooks/rds.md": RDS, f"{PREFIX}sqs.md": SQS})
    aws_environment.setenv("AWS_ENDPOINT_URL_S3", bucket.url)
    aws_environment.setenv("SOURCE_BUCKET", BUCKET)
    aws_environment.setenv("SOURCE_PREFIX", PREFIX)
    aws_environment.setattr(tempfile, "tempdir", str(tmp_path))
    with patient_function():
        yield bucket
    service.reset()
    bucket.close()


@pytest.fixture
def ask(knowledge_base, documents):
    assert documents.served == []

    def ask(*results, **arguments):
        ask.server = knowledge_base(answering(http(retrieved(*results))))
        return invoke(QUERY | arguments)

    return ask


def test_what_is_cited_are_the_lines_of_the_document_in_the_bucket(ask):
    ran = ask(
        result("## Fail over 1. Promote the reader. It", f"{PREFIX}runbooks/rds.md", 1, 0.9),
        result("Purge the queue.", f"{PREFIX}sqs.md", 2, 0.8),
    )
    assert (ran.answer["status"], "notice" in ran.answer) == ("ok", False)
    first, second = ran.answer["results"]
    assert first["content"] == "## Fail over\n\n1. Promote the reader.\n   It takes 30 s."
    assert first["citation"] == {
        "source_file": "runbooks/rds.md", "start_line": 3, "end_line": 6, "section_header": "Fail over",
    }  # fmt: skip
    assert (second["content"], second["citation"]["start_line"]) == ("Purge the queue.\r", 3)
    assert (first["relevance_score"], first["metadata"]["title"]) == (0.9, "RDS")
    proven = read_outcome(ran.answer)
    assert (proven.status, len(proven.results)) == (Status.OK, 2)


def test_what_is_not_located_is_dropped_counted_and_said(ask):
    rds = f"{PREFIX}runbooks/rds.md"
    ran = ask(
        result("1. Promote the reader.", rds, 1),
        result("1. Promote the writer.", rds, 2),
        result("Lag is 0 s.\n\nPurge the queue.", rds, 3),
        result("It", rds, 4),
        result("x", f"{PREFIX}gone.md", 5),
        result("x", f"{PREFIX}a.pdf", 6),
        result("x", "other/rds.md", 7),
        result("x", f"{PREFIX}rds.md", 8, bucket="another"),
        result("", rds, 9),
        max_results=10,
    )
    assert [one["citation"]["start_line"] for one in ran.answer["results"]] == [5, 6]
    assert ran.answer["notice"] == UNLOCATED_NOTICE
    (log,), (metrics,) = ran.logs, ran.metrics
    assert log["dropped"] == {"unlocated": 2, "unread": 4, "not_text": 1}
    assert log["documents_unread"] == {"404": 1, "NotText": 1, "NotBelowPrefix": 2}
    assert metrics[telemetry.RETRIEVAL_UNLOCATED_RESULTS] == [6.0]
    assert metrics[telemetry.RETRIEVAL_DROPPED_RESULTS] == [1.0]


def test_nothing_located_is_no_answer_and_never_nothing_documented(ask, documents):
    documents.objects.clear()
    ran = ask(result("1. Promote the reader.", f"{PREFIX}runbooks/rds.md"))
    assert (ran.answer["status"], ran.answer["reason"]) == ("degraded", "unverifiable_results")
    assert ran.answer["notice"] == UNLOCATED_NOTICE


def test_results_below_the_floor_are_not_evidence_and_their_documents_not_read(
    ask, documents, aws_environment
):
    aws_environment.setenv("EVIDENCE_FLOOR_HYBRID", "0.6")
    ran = ask(result("anything", f"{PREFIX}sqs.md"))
    assert ran.answer == {"results": [], "status": "no_match"}
    assert documents.served == []


def test_a_document_is_read_once_a_version(ask, documents):
    found = result("Purge the queue.", f"{PREFIX}sqs.md")
    key = f"{PREFIX}sqs.md"
    for _ in range(2):
        assert ask(found).answer["results"][0]["citation"]["start_line"] == 3
    documents.objects[key] = b"# SQS\n\nWait first.\n\nPurge the queue.\n"
    assert ask(found).answer["results"][0]["citation"]["start_line"] == 5
    documents.objects[key] = b"# SQS\n\nNever purge the queue.\n"
    assert ask(found).answer["status"] == "degraded"
    assert documents.served == [(key, 200), (key, 304), (key, 200), (key, 200)]


def test_a_process_that_starts_anew_takes_the_document_from_its_folder(ask, documents, tmp_path):
    found = result("Purge the queue.", f"{PREFIX}sqs.md")
    folder = tmp_path / "knowledge-rag-documents"
    for change in ("", "", "damage", ""):
        service.reset()
        assert ask(found).answer["results"][0]["citation"]["start_line"] == 3
        (kept,) = folder.iterdir()
        if change == "damage":
            kept.write_bytes(kept.read_bytes().replace(b"Purge", b"Drain"))
    folder.chmod(0o777)
    service.reset()
    assert ask(found).answer["results"][0]["content"] == "Purge the queue.\r"
    assert [status for _, status in documents.served] == [200, 304, 304, 200, 200]


@pytest.mark.parametrize("status", [403, 404, 500, 503, 301])
def test_a_document_that_s3_refuses_costs_only_its_own_passages(ask, documents, status):
    documents.objects[f"{PREFIX}sqs.md"] = status
    ran = ask(
        result("Purge the queue.", f"{PREFIX}sqs.md", 1),
        result("Lag is 0 s.", f"{PREFIX}runbooks/rds.md", 2),
    )
    assert [one["citation"]["source_file"] for one in ran.answer["results"]] == ["runbooks/rds.md"]
    assert ran.logs[-1]["documents_unread"] == {str(status): 1}


def dripping(sock, server):
    server.read_request(sock)
    sock.sendall(b'HTTP/1.1 200 OK\r\nETag: "x"\r\nContent-Length: 1000\r\n\r\n')
    while not server.stopping.wait(0.05):
        sock.sendall(b"a")


@pytest.mark.parametrize(
    "script",
    [
        dripping,
        silent,
        resetting,
        sending(b"nothing like HTTP\r\n\r\n"),
        sending(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut"),
        sending(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
        sending(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
    ],
)  # fmt: skip
def test_a_bucket_that_misbehaves_leaves_time_for_the_answer(ask, aws_environment, script):
    aws_environment.setattr("lambdas.retrieve_knowledge.settings.MAX_DEADLINE_SECONDS", 600.0)
    with contextlib.closing(RawServer(script)) as slow:
        aws_environment.setenv("AWS_ENDPOINT_URL_S3", slow.url)
        for seconds in longer(0.6):
            aws_environment.setenv("DEADLINE_SECONDS", str(seconds))
            service.reset()
            ran = ask(*(result("x", f"{PREFIX}{n}.md", n) for n in range(10)))
            if ran.answer["reason"] != "timeout":
                break
    assert ran.answer["reason"] == "unverifiable_results"
    assert ran.answer["notice"] == UNLOCATED_NOTICE
    assert sum(ran.logs[-1]["documents_unread"].values()) == 10


def asked(ask):
    return json.loads(ask.server.requests[-1][1])["retrievalConfiguration"]


def test_one_document_is_asked_for_by_its_uri(ask):
    ran = ask(
        result("Lag is 0 s.", f"{PREFIX}runbooks/rds.md", 1),
        result("# RDS", f"{PREFIX}runbooks/rds.md", 2),
        source_file="runbooks/rds.md",
    )
    assert [one["citation"]["start_line"] for one in ran.answer["results"]] == [1, 10]
    # it is never taken for the whole document: another chunker may have dropped lines
    assert ran.answer["notice"] == MORE_NOTICE
    assert asked(ask)["vectorSearchConfiguration"]["filter"] == {
        "equals": {
            "key": "x-amz-bedrock-kb-source-uri",
            "value": f"s3://{BUCKET}/{PREFIX}runbooks/rds.md",
        }
    }


def test_a_managed_knowledge_base_is_asked_in_its_own_form(ask, aws_environment):
    aws_environment.setenv("KNOWLEDGE_BASE_TYPE", "managed")
    ran = ask(result("Purge the queue.", f"{PREFIX}sqs.md"), service="sqs")
    assert ran.answer["status"] == "ok"
    assert asked(ask) == {
        "managedSearchConfiguration": {
            "numberOfResults": 10,
            "filter": {"equals": {"key": "service", "value": "sqs"}},
        }
    }


def test_results_with_lines_of_this_product_need_no_bucket(ask, documents):
    from knowledge_rag.evaluation.faults.payloads import item

    assert ask(item()).answer["status"] == "ok"
    assert documents.served == []


def test_lines_that_a_document_of_the_bucket_claims_by_its_metadata_are_not_believed(ask):
    """Whoever may put a document in the bucket may put metadata beside it, hashes that fit included."""
    from knowledge_rag.evaluation.faults.payloads import item

    forged = item()
    assert ask(forged).answer["results"][0]["citation"]["source_file"] != "sqs.md"
    forged["location"] = result("", f"{PREFIX}sqs.md")["location"]
    service.reset()
    assert ask(forged).answer["reason"] == "unverifiable_results"
    forged["content"] = {"text": "Purge the queue."}
    service.reset()
    (one,) = ask(forged).answer["results"]
    assert (one["citation"]["source_file"], one["citation"]["start_line"]) == ("sqs.md", 3)


def test_a_real_bucket_and_a_real_search_give_the_lines_that_our_own_chunks_have(
    aws_environment, tmp_path, tmp_path_factory
):
    """The local knowledge base's results as another ingestion would have stored them, S3 by moto."""
    from knowledge_rag.local.bedrock import retrieve as wire
    from knowledge_rag.local.knowledge_base import KnowledgeBase
    from tests.support.local import CORPUS, minilm

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    moto = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    s3 = boto3.client("s3", endpoint_url=moto, region_name="us-east-1")
    s3.create_bucket(Bucket=CORPUS_BUCKET)
    for path in CORPUS.rglob("*.md"):
        s3.upload_file(str(path), CORPUS_BUCKET, path.relative_to(CORPUS).as_posix())
    kb = sample_copy(tmp_path_factory, tmp_path)
    own = wire.to_wire

    def foreign(hit):
        stored = own(hit)
        length = int(stored["metadata"]["context_length"])
        text = " ".join(stored["content"]["text"][length:].split())
        uri = stored["location"]["s3Location"]["uri"]
        return result(text, uri.partition(f"{CORPUS_BUCKET}/")[2], stored["metadata"]["chunk_id"], hit.score, CORPUS_BUCKET)  # fmt: skip

    question = {"query": "How do we fail over the RDS cluster?", "max_results": 20}
    aws_environment.setattr(tempfile, "tempdir", str(tmp_path))
    aws_environment.setenv("AWS_ENDPOINT_URL_S3", moto)
    aws_environment.setenv("KNOWLEDGE_BASE_ID", KNOWLEDGE_BASE_ID)
    with (
        patient_function(),
        KnowledgeBase(kb, minilm()) as opened,
        LocalBedrock(opened) as served,
    ):
        aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", served.endpoint_url)
        expected = invoke(question).answer["results"]
        aws_environment.setattr(wire, "to_wire", foreign)
        service.reset()
        aws_environment.setenv("SOURCE_BUCKET", CORPUS_BUCKET)
        for _ in range(2):
            located = invoke(question).answer["results"]
            assert [one["content"] for one in located] == [one["content"] for one in expected]
            assert [one["citation"] for one in located] == [one["citation"] for one in expected]
        assert len(located) == 20
    service.reset()
    server.stop()


def test_locating_ends_in_time_to_answer(ask, documents, aws_environment):
    """A hundred passages in four megabytes on one line, each of which takes milliseconds to look for."""
    documents.objects[f"{PREFIX}sqs.md"] = b"ab" * 2_000_000
    passages = (result("ab" * (20 + n) + "b", f"{PREFIX}sqs.md", n) for n in range(99))
    aws_environment.setattr(retrieval, "ANSWERING_SECONDS", 1000.0)
    ran = ask(*passages, max_results=100)
    assert ran.answer["notice"] == UNLOCATED_NOTICE
    assert ran.logs[-1]["dropped"] == {"unread": 99}
    assert ran.logs[-1].get("documents_unread", {}) == {}
