"""The ``chunk_documents`` function and Bedrock's transformation contract, on moto's S3."""

import contextlib
import hashlib
import io
import json

import pytest
from botocore.exceptions import ClientError

from knowledge_rag.core.errors import InvalidRequest, InvalidSettings
from knowledge_rag.core.metadata import prove
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.extract.documents import extract
from lambdas.chunk_documents import handler as chunk_documents
from tests.support.pdfs import scanned_pdf, text_pdf
from tests.support.shared_data import shared_data
from tests.support.transformation import CORPUS, INTERMEDIATE

RUNBOOK = "---\nservice: rds\n---\n# RDS failover\n\n## Diagnosis\n\nLook at `ReplicaLag`.\n"


def run(event):
    """Call the handler; give its answer, its log lines and its metric record."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        answer = chunk_documents.lambda_handler(event, None)
    *lines, metrics = [json.loads(line) for line in output.getvalue().split("\n") if line]
    return answer, lines, metrics


def proven(content, data):
    """Prove a stored chunk as the retrieval side will, against the original's own lines."""
    result = prove(content["contentBody"], json.loads(json.dumps(content["contentMetadata"])))
    assert isinstance(result, RetrievalResult), result
    text = data.decode("utf-8-sig")
    lines = text.split("\n")
    citation = result.citation
    assert result.content == "\n".join(lines[citation.start_line - 1 : citation.end_line])
    return result


def test_a_document_becomes_chunks_that_the_retrieval_side_can_prove(job):
    job.add("runbooks/rds-failover.md", RUNBOOK.encode(), RUNBOOK)

    answer, lines, metrics = run(job.event)

    assert list(answer) == ["outputFiles"]
    (file,) = answer["outputFiles"]
    assert file["originalFileLocation"] == job.event["inputFiles"][0]["originalFileLocation"]
    assert file["fileMetadata"] == {"team": "platform"}
    (content,) = job.contents(file)
    assert content["contentType"] == "TEXT"
    assert content["contentMetadata"]["start_line"] == 4
    assert content["contentMetadata"]["lang"] == "en"
    result = proven(content, RUNBOOK.encode())
    assert str(result.citation) == "[Source: runbooks/rds-failover.md, lines 4-8]"
    assert result.metadata["service"] == "rds"
    assert [line["message"] for line in lines] == ["document chunked"]
    assert metrics["KnowledgeChunkedFiles"] == [1.0]
    assert metrics["KnowledgeChunkedChunks"] == [1.0]
    assert metrics["KnowledgeChunkingFailedFiles"] == [0.0]
    assert metrics["ingestion_job_id"] == "JOBEXAMPL1"


def test_line_numbers_carry_on_across_the_batches_of_one_file(job):
    text = "".join(f"# Section {n}\n\nText of section {n}.\n\n" for n in range(1200))
    half = len(text) // 2
    job.add("runbooks/long.md", text.encode(), text[:half], text[half:])

    answer, _, metrics = run(job.event)

    (file,) = answer["outputFiles"]
    assert len(file["contentBatches"]) == 3
    contents = job.contents(file)
    results = [proven(content, text.encode()) for content in contents]
    assert [r.citation.start_line for r in results] == list(range(1, 4800, 4))
    assert metrics["KnowledgeChunkingMismatches"] == [0.0]


@pytest.mark.parametrize(
    "data",
    [
        RUNBOOK.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + RUNBOOK.encode(),
        RUNBOOK.replace("ReplicaLag", "Replica\u2028Lag").encode(),
        RUNBOOK.rstrip("\n").encode(),
    ],
)
def test_unusual_line_endings_and_characters_stay_exact(job, data):
    job.add("runbooks/a.md", data, data.decode("utf-8-sig").replace("\r\n", "\n"))
    answer, _, metrics = run(job.event)
    for content in job.contents(answer["outputFiles"][0]):
        proven(content, data)
    assert metrics["KnowledgeChunkingMismatches"] == [0.0]


def test_rare_real_files_stay_exact(job):
    rare = sorted(p for p in shared_data("markdown/rare").iterdir() if p.suffix == ".md")
    for path in rare:
        job.add(path.name, path.read_bytes(), path.read_bytes().decode("utf-8-sig"))
    answer, _, _ = run(job.event)
    assert len(answer["outputFiles"]) == len(rare) > 10
    for path, file in zip(rare, answer["outputFiles"], strict=True):
        contents = job.contents(file)
        assert contents
        for content in contents:
            proven(content, path.read_bytes())


def test_a_bad_file_is_named_and_counted_and_the_others_go_on(job):
    job.add("runbooks/latin-1.md", b"caf\xe9\n", "café")
    job.add("runbooks/good.md", RUNBOOK.encode(), RUNBOOK)
    job.add("runbooks/empty.md", b"", "")
    job.add("runbooks/gone.md", None, "text")
    job.add("runbooks/binary.md", b"a\x00b", "ab")

    answer, lines, metrics = run(job.event)

    assert [len(job.contents(file)) for file in answer["outputFiles"]] == [0, 1, 0, 0, 0]
    errors = [(line["document"], line["reason"]) for line in lines if line["level"] == "ERROR"]
    assert errors == [
        ("runbooks/latin-1.md", "not UTF-8: byte 0xe9 at offset 3"),
        ("runbooks/empty.md", "empty file"),
        (f"s3://{CORPUS}/runbooks/gone.md", "the original is no longer in its bucket"),
        ("runbooks/binary.md", "binary file: NUL byte at offset 1"),
    ]
    assert metrics["KnowledgeChunkingFailedFiles"] == [4.0]
    assert metrics["KnowledgeChunkedFiles"] == [1.0]


def test_a_file_over_the_size_limit_is_not_read(job, aws_environment):
    aws_environment.setenv("MAX_DOCUMENT_BYTES", "10")
    job.add("runbooks/large.md", b"# too long to read\n", "# too long to read\n")
    answer, lines, _ = run(job.event)
    assert answer["outputFiles"][0]["contentBatches"] == []
    assert lines[0]["reason"] == "too large: 19 bytes, at most 10 are read"


def test_a_parser_that_changed_the_text_is_reported_and_the_original_is_kept(job):
    job.add("runbooks/a.md", RUNBOOK.encode(), RUNBOOK.replace("# RDS failover", "RDS failover"))

    answer, lines, metrics = run(job.event)

    (content,) = job.contents(answer["outputFiles"][0])
    assert "# RDS failover" in proven(content, RUNBOOK.encode()).content
    assert metrics["KnowledgeChunkingMismatches"] == [1.0]
    (error,) = [line for line in lines if line["level"] == "ERROR"]
    assert error["message"] == "the parser changed the text; the original's lines are kept"
    assert error["difference"].startswith("from line 4 on")


def test_a_line_over_the_cap_is_warned_about(job):
    text = "# A\n" + "x" * 26_000 + "\n"
    job.add("runbooks/a.md", text.encode(), text)
    _, lines, _ = run(job.event)
    (warning,) = [line for line in lines if line["level"] == "WARNING"]
    assert (warning["document"], warning["lines"]) == ("runbooks/a.md", [2])


def test_what_lint_finds_is_logged_and_counted_without_the_text_and_the_file_is_kept_whole(job):
    text = "# A\n\npassword: k9Vq2mZx\nkube\u200bctl\npassword: Tr0ub4dor\n"
    job.add("runbooks/a.md", text.encode(), text)
    job.add("runbooks/clean.md", RUNBOOK.encode(), RUNBOOK)

    answer, lines, metrics = run(job.event)

    (content,) = job.contents(answer["outputFiles"][0])
    assert "k9Vq2mZx" in proven(content, text.encode()).content
    found = [line for line in lines if line["message"] == "lint found something"]
    assert [
        (line["document"], line["kind"], line["findings"], line["first_line"]) for line in found
    ] == [("runbooks/a.md", "secret", 2, 3), ("runbooks/a.md", "hidden_unicode", 1, 4)]
    assert "k9Vq" not in json.dumps(lines)
    assert metrics["KnowledgeChunkingLintFindings"] == [3.0]
    assert metrics["KnowledgeChunkedFiles"] == [2.0]


def test_what_drift_finds_is_counted_and_logged_by_its_place(job):
    text = "# A\n\n```sh\n" + "kubectl gett pods\n" * 30 + "```\n"
    job.add("runbooks/a.md", text.encode(), text)
    _, lines, metrics = run(job.event)
    found = [line for line in lines if line["message"] == "drift found something"]
    assert [line["line"] for line in found] == list(range(4, 24))
    assert metrics["KnowledgeChunkingDriftFindings"] == [30.0]


def test_a_document_s_drift_findings_are_kept_as_its_report(job):
    job.add("runbooks/a.md", b"`kubectl gett pods`\n", "`kubectl gett pods`")
    job.add("runbooks/b.md", b"# B\n", "# B")
    run(job.event)
    run(job.event)
    report = job.report("drift/")
    (finding,) = report["findings"]
    assert (finding["path"], finding["line"], finding["fix"]) == ("runbooks/a.md", 1, "get")
    assert report["checked_against"]["aws"].startswith("botocore ")


def test_only_a_rising_number_of_findings_counts_as_new(job):
    def new(text):
        job.event["inputFiles"].clear()
        job.add("runbooks/a.md", text.encode(), text)
        _, _, metrics = run(job.event)
        return metrics["KnowledgeChunkingNewDriftFindings"]

    wrong = "`kubectl gett pods`\n\n"
    assert new(wrong) == [1.0]
    assert new(wrong) == [0.0]
    assert new("# Moved\n\n" + wrong) == [0.0]
    assert new(wrong + wrong) == [1.0]
    assert new("`helm instal x`\n") == [1.0]
    assert new("# Mended\n") == [0.0]
    assert job.report("drift/runbooks/a.md.json")["findings"] == []
    assert new(wrong) == [1.0]


def test_a_report_that_is_none_counts_as_empty_and_a_long_name_is_shortened(job):
    wrong = "`kubectl gett pods`\n"
    for text in ("no report", "[]", '{"findings": [1]}'):
        job.s3.put_object(Bucket=INTERMEDIATE, Key="drift/runbooks/a.md.json", Body=text.encode())
        job.event["inputFiles"].clear()
        job.add("runbooks/a.md", wrong.encode(), wrong)
        assert run(job.event)[2]["KnowledgeChunkingNewDriftFindings"] == [1.0]
    long = "/".join(["r" * 200] * 5) + "/" + "a" * 14 + ".md"
    job.event["inputFiles"].clear()
    job.add(long, wrong.encode(), wrong)
    assert run(job.event)[2]["KnowledgeChunkingNewDriftFindings"] == [1.0]
    assert run(job.event)[2]["KnowledgeChunkingNewDriftFindings"] == [0.0]


def test_the_corpus_prefix_is_no_part_of_a_citation(job, aws_environment):
    aws_environment.setenv("CORPUS_PREFIX", "knowledge-corpus/")
    job.add("knowledge-corpus/runbooks/a.md", RUNBOOK.encode(), RUNBOOK)
    answer, _, _ = run(job.event)
    (content,) = job.contents(answer["outputFiles"][0])
    assert content["contentMetadata"]["source_file"] == "runbooks/a.md"


def test_an_escaped_key_is_found_by_its_real_name(job):
    job.add("runbooks/a b.md", RUNBOOK.encode(), RUNBOOK)
    location = job.event["inputFiles"][0]["originalFileLocation"]
    location["s3_location"]["uri"] = f"s3://{CORPUS}/runbooks/a%20b.md"
    answer, _, _ = run(job.event)
    (content,) = job.contents(answer["outputFiles"][0])
    assert content["contentMetadata"]["source_file"] == "runbooks/a b.md"


def test_a_second_run_overwrites_the_first_with_the_same_bytes(job):
    job.add("runbooks/a.md", RUNBOOK.encode(), RUNBOOK)
    first, _, _ = run(job.event)
    before = job.contents(first["outputFiles"][0])
    second, _, _ = run(job.event)
    assert second == first
    assert job.contents(second["outputFiles"][0]) == before


def test_a_web_page_has_no_original_in_s3_and_says_so(job):
    job.add("a.md", b"x\n", "x")
    location = {"type": "WEB", "url": "https://x"}
    job.event["inputFiles"][0]["originalFileLocation"] = location
    answer, lines, _ = run(job.event)
    assert answer["outputFiles"][0]["contentBatches"] == []
    assert lines[0]["reason"] == "its original is not in S3"


@pytest.mark.parametrize(
    "broken",
    [
        *(b"{", b"[]", b"\xff", b'{"fileContents": 3}', b'{"fileContents": [1]}'),
        b'{"fileContents": ' + b"[" * 100_000,
    ],
    ids=lambda broken: ascii(broken[:24]),
)
def test_a_broken_batch_costs_its_own_file_only(job, broken):
    job.add("a.md", RUNBOOK.encode(), RUNBOOK)
    job.add("b.md", RUNBOOK.encode(), RUNBOOK)
    key = job.event["inputFiles"][0]["contentBatches"][0]["key"]
    job.s3.put_object(Bucket=INTERMEDIATE, Key=key, Body=broken)
    answer, lines, _ = run(job.event)
    assert [len(job.contents(file)) for file in answer["outputFiles"]] == [0, 1]
    assert lines[0]["reason"] == "the content batch has no fileContents"


def test_metadata_of_the_parser_s_that_can_t_be_written_cost_their_own_file_only(job):
    job.add("runbooks/a.md", RUNBOOK.encode(), RUNBOOK)
    job.add("runbooks/b.md", RUNBOOK.encode(), RUNBOOK)
    key = job.event["inputFiles"][0]["contentBatches"][0]["key"]
    half = json.dumps({"fileContents": [{"contentMetadata": {"author": "\ud83d"}}]})
    job.s3.put_object(Bucket=INTERMEDIATE, Key=key, Body=half.encode())
    answer, lines, _ = run(job.event)
    assert [len(job.contents(file)) for file in answer["outputFiles"]] == [0, 1]
    assert (lines[0]["document"], lines[0]["reason"]) == (
        "runbooks/a.md",
        "the parser's output contains half a character, a lone surrogate",
    )


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (None, "the event is a NoneType"),
        ({}, "bucketName is missing"),
        ({"bucketName": "b"}, "inputFiles is not a list"),
        ({"bucketName": "b", "inputFiles": [{}]}, r"inputFiles\[0\] has no contentBatches"),
        ({"bucketName": "b", "inputFiles": [{"contentBatches": [{}]}]}, "without a key"),
    ],
)
def test_what_is_no_transformation_event_fails_the_job(event, problem):
    with pytest.raises(InvalidRequest, match=problem):
        chunk_documents.lambda_handler(event, None)


def test_a_bucket_that_refuses_fails_the_job(job):
    job.add("a.md", RUNBOOK.encode(), RUNBOOK)
    job.event["bucketName"] = "no-such-bucket"
    with pytest.raises(ClientError, match="NoSuchBucket"):
        chunk_documents.lambda_handler(job.event, None)


def test_wrong_settings_are_all_named(job, aws_environment):
    aws_environment.setenv("MAX_TOKENS", "12")
    aws_environment.setenv("MAX_DOCUMENT_BYTES", "many")
    aws_environment.setenv("CORPUS_PREFIX", "/corpus")
    with pytest.raises(InvalidSettings) as caught:
        chunk_documents.lambda_handler(job.event, None)
    for name in ("MAX_TOKENS='12'", "MAX_DOCUMENT_BYTES='many'", "CORPUS_PREFIX='/corpus'"):
        assert name in str(caught.value)


PAGE = (
    b"<title>RDS</title><link rel=canonical href=https://a.example/rds>"
    b"<h1>RDS</h1><p>Promote it.<p hidden>planted"
)
HANDBOOK = text_pdf([["Escalation", "Call the owner."], ["Contacts", "See the rota."]])


def kept_text(job, data):
    """Read the text that is kept of a document, by the hash that its citations carry."""
    key = f"extracted/{hashlib.sha256(data).hexdigest()}.txt"
    return job.s3.get_object(Bucket=INTERMEDIATE, Key=key)["Body"].read()


@pytest.mark.parametrize(
    ("key", "data", "cited"),
    [
        ("web/rds.html", PAGE, [("[Source: web/rds.html, lines 1-3]", None)]),
        (
            "handbook.pdf",
            HANDBOOK,
            [("[Source: handbook.pdf, lines 1-2]", 1), ("[Source: handbook.pdf, lines 4-5]", 2)],
        ),
    ],
)
def test_a_page_or_a_pdf_is_cited_by_lines_of_the_text_that_is_kept_of_it(job, key, data, cited):
    job.add(key, data, "what another parser made of it")
    answer, lines, metrics = run(job.event)
    contents = job.contents(answer["outputFiles"][0])
    results = [proven(content, kept_text(job, data)) for content in contents]
    assert [(str(one.citation), one.metadata.get("page")) for one in results] == cited
    for content, (_, page) in zip(contents, cited, strict=True):
        assert content["contentMetadata"].get("page") == page
    assert metrics["KnowledgeChunkingMismatches"] == [0.0]
    assert [line["message"] for line in lines if line["level"] == "ERROR"] == []
    assert kept_text(job, data).decode() == extract(key, data).text


def test_what_a_page_hides_is_logged_and_its_address_goes_with_it(job):
    job.add("web/rds.html", PAGE, "x")
    answer, lines, _ = run(job.event)
    (content,) = job.contents(answer["outputFiles"][0])
    assert content["contentMetadata"]["source_url"] == "https://a.example/rds"
    assert content["contentMetadata"]["document_type"] == "web"
    (warning,) = [line for line in lines if line["level"] == "WARNING"]
    assert (warning["document"], warning["what"]) == (
        "web/rds.html",
        "left out text that the page hides from readers: 1 element, 7 characters",
    )


def test_what_lies_beside_a_document_in_the_corpus_is_taken_over(job):
    said = {"metadataAttributes": {"source_url": "https://a.example/x", "title": "Ours"}}
    for key, data in (("handbook.pdf", HANDBOOK), ("runbooks/a.md", RUNBOOK.encode())):
        job.add(key, data, data.decode("latin-1"))
        job.s3.put_object(Bucket=CORPUS, Key=f"{key}.metadata.json", Body=json.dumps(said).encode())
    answer, _, _ = run(job.event)
    for file in answer["outputFiles"]:
        metadata = job.contents(file)[0]["contentMetadata"]
        assert (metadata["title"], metadata["source_url"]) == ("Ours", "https://a.example/x")


def test_a_pdf_or_page_that_can_not_be_read_is_named_and_counted_and_the_others_go_on(job):
    job.add("locked.pdf", text_pdf([["x"]], password="secret"), "x")
    job.add("scan.pdf", scanned_pdf(), "x")
    job.add("cut.pdf", HANDBOOK[:200], "x")
    job.add("deep.html", b"<div>" * 100_000, "x")
    job.add("handbook.pdf", HANDBOOK, "x")
    answer, lines, metrics = run(job.event)
    assert [len(job.contents(file)) for file in answer["outputFiles"]] == [0, 0, 0, 0, 2]
    assert [(line["document"], line["reason"]) for line in lines if line["level"] == "ERROR"] == [
        ("locked.pdf", "encrypted: it needs a password"),
        ("scan.pdf", "no text on its one page: pictures of text need recognition (OCR) first"),
        ("cut.pdf", "a damaged PDF: it ends early, or its parts can't be found"),
        ("deep.html", "elements nested too deeply, or too many never closed"),
    ]
    assert metrics["KnowledgeChunkingFailedFiles"] == [4.0]
    assert metrics["KnowledgeChunkedFiles"] == [1.0]
