"""Lines of what another knowledge base returned, found in its documents."""

import json

import pytest

from tests.support.cli import assert_one_line
from tests.support.local import write_files

RUNBOOK = "# RDS\n\n## Fail over\n\n1. Promote the reader.\n   It takes 30 s.\n\n## Check\n\nLag is 0 s.\n"
PAGE = "<html><body><h1>Vault</h1><p>Unseal it with three keys.</p></body></html>"


def retrieved(text, path="runbooks/rds.md", number=1):
    return {
        "content": {"text": text, "type": "TEXT"},
        "location": {"type": "S3", "s3Location": {"uri": f"s3://bucket/docs/{path}"}},
        "metadata": {"x-amz-bedrock-kb-chunk-id": f"1%3A0%3A{number}"},
        "score": 0.5,
    }


FOUND = retrieved("## Fail over 1. Promote the reader. It takes")
CHANGED = retrieved("1. Promote the writer.", number=2)


@pytest.fixture
def case(cli, tmp_path):
    docs = write_files(tmp_path / "docs", {"runbooks/rds.md": RUNBOOK, "vault.html": PAGE})

    def run(results, *options):
        file = tmp_path / "response.json"
        file.write_text(json.dumps(results), encoding="utf-8")
        return cli("locate", "--retrieve-output", file, "--docs", docs, *options)

    return run


def test_located_lines_are_printed_so_that_editors_open_them(case):
    ran = case({"retrievalResults": [FOUND]})
    assert (ran.code, ran.out) == (0, "1  runbooks/rds.md:3-6  (Fail over)\n")
    assert ran.err == "1 of 1 passage located\n"


def test_what_is_not_located_says_why_and_the_exit_code_is_1(case, tmp_path):
    results = [FOUND, CHANGED, retrieved("x", "gone.md"), {"content": {"text": "x"}}]
    ran = case({"retrievalResults": results})
    assert ran.code == 1
    assert ran.out.split("\n")[1:4] == [
        "2  s3://bucket/docs/runbooks/rds.md  unlocated: its document doesn't have exactly this text",
        f"3  s3://bucket/docs/gone.md  unread: no such document in {tmp_path / 'docs'} below s3://bucket/docs/",
        "4  no_citation: names no document",
    ]
    assert ran.err == "1 of 4 passages located\n"


def test_lines_of_a_web_page_are_those_of_its_extracted_text(case):
    ran = case([retrieved("Unseal it with three keys.", "vault.html")])
    assert (ran.code, ran.out) == (0, "1  extracted text, lines 3-3 of vault.html  (Vault)\n")


def test_the_json_is_evidence_for_verify(case, cli, tmp_path):
    ran = case([FOUND, CHANGED], "--json")
    assert (ran.code, ran.json["passages"]) == (1, 2)
    source = "s3://bucket/docs/runbooks/rds.md"
    assert ran.json["dropped"] == [{"passage": 2, "source": source, "reason": "unlocated"}]
    (result,) = ran.json["results"]
    assert result["content"] == "\n".join(RUNBOOK.split("\n")[2:6])
    (tmp_path / "evidence.json").write_text(json.dumps(ran.json))
    (tmp_path / "answer.md").write_text("1. Promote the reader; it takes 30 s [1].\n")
    files = ("--evidence", tmp_path / "evidence.json", "--answer", tmp_path / "answer.md")
    assert cli("verify", *files, "--strict").code == 0


def test_verify_locates_evidence_without_lines_in_the_corpus(cli, tmp_path):
    docs = write_files(tmp_path / "docs", {"runbooks/rds.md": RUNBOOK})
    (tmp_path / "evidence.json").write_text(json.dumps({"retrievalResults": [FOUND, CHANGED]}))
    (tmp_path / "answer.md").write_text("Promote the reader [Source: runbooks/rds.md, line 5].\n")
    files = ("--evidence", tmp_path / "evidence.json", "--answer", tmp_path / "answer.md")
    ran = cli("verify", *files, "--corpus", docs, "--json")
    assert (ran.code, ran.json["verified"]) == (0, True)
    assert ran.json["evidence"] == {
        "passages": 1, "proven": 1, "dropped": {"unlocated": 1}, "degraded": [],
    }  # fmt: skip
    assert [one["state"] for one in ran.json["staleness"]] == ["same"]
    lost = "1 of 2 passages can't be cited: their documents don't have exactly this text (1)\n"
    assert ran.err == f"warning {tmp_path}/evidence.json: {lost}"
    without = cli("verify", *files, "--json")
    assert (without.code, without.json["evidence"]["passages"]) == (1, 0)
    assert without.err.endswith("2 of 2 passages can't be cited: no file and lines (2)\n")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "empty file"),
        ("{", "that are not JSON"),
        ("[]", "there is no evidence in it"),
        ('{"a": 1}', "there is no evidence in it"),
    ],
)
def test_a_file_without_passages_is_bad_input(cli, tmp_path, content, says):
    docs = write_files(tmp_path / "docs", {"a.md": "# A\n"})
    (tmp_path / "response.json").write_text(content)
    ran = cli("locate", "--retrieve-output", tmp_path / "response.json", "--docs", docs)
    assert ran.code == 2
    assert_one_line(ran.err, says)


def test_an_empty_response_finds_nothing_and_a_missing_folder_is_bad_input(case, cli, tmp_path):
    ran = case({"retrievalResults": []})
    assert (ran.code, ran.out, ran.err) == (1, "", "0 of 0 passages located\n")
    gone = cli("locate", "--retrieve-output", tmp_path / "response.json", "--docs", tmp_path / "gone")  # fmt: skip
    assert gone.code == 2
    assert_one_line(gone.err, "no such folder")


def test_lines_that_a_passage_names_itself_are_compared_with_the_documents(case):
    def claimed(content, first, last, path="runbooks/rds.md"):
        citation = {"source_file": path, "start_line": first, "end_line": last}
        return {"content": content, "citation": citation}

    results = [
        claimed("1. Promote the reader.", 5, 5),
        claimed("rm -rf /", 5, 5),
        claimed("1. Promote the reader.", 6, 6),
        claimed("1. Promote the reader.", 500, 500),
        claimed("1. Promote the reader.", 5, 5, "runbooks%2Frds.md"),
        claimed("1. Promote the reader.", 5, 5, "gone.md"),
    ]
    ran = case({"results": results}, "--json")
    assert [one["citation"]["start_line"] for one in ran.json["results"]] == [5]
    assert [(one["passage"], one["reason"]) for one in ran.json["dropped"]] == [
        (2, "not_proven"), (3, "not_proven"), (4, "not_proven"), (5, "not_proven"), (6, "unread"),
    ]  # fmt: skip
    assert ran.code == 1


def test_a_prefix_ends_at_a_folder(case):
    there = {**FOUND, "location": {"uri": {"uri": "s3://bucket/docsrunbooks/rds.md"}}}
    ran = case([there], "--prefix", "s3://bucket/docs", "--json")
    assert ran.json["dropped"][0]["reason"] == "unread"
    assert case([FOUND], "--prefix", "s3://bucket/docs").code == 0


def test_a_folder_stands_for_no_prefix_if_two_fit_as_well(case):
    def of(team):
        uri = f"s3://bucket/{team}/runbooks/rds.md"
        return {**FOUND, "location": {"s3Location": {"uri": uri}}}

    ran = case([of("a"), of("b")], "--json")
    assert [one["reason"] for one in ran.json["dropped"]] == ["unread", "unread"]
    assert case([of("a"), of("b")], "--prefix", "s3://bucket/b/", "--json").json["passages"] == 2


def test_a_location_of_a_hundred_thousand_parts_takes_no_time(case):
    ran = case([{**FOUND, "location": {"s3Location": {"uri": "/a%41" * 100_000}}}], "--json")
    assert ran.json["dropped"][0]["reason"] == "unread"
