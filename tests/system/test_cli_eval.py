"""Evaluating from the command line: the real chain with the real model, on documents of its own."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from knowledge_rag.local.bedrock.server import LocalBedrock
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from tests.support.cli import assert_one_line
from tests.support.local import RUNBOOKS, WordHashes, write_files
from tests.support.retrieval_endpoints import ALIAS, endpoint

RDS, THROTTLING = "runbooks/rds-failover.md", "runbooks/lambda-throttling.md"
ROWS = (
    {
        "id": "q1",
        "query": "the writer is gone and connections are refused",
        "relevant": [{"source_file": RDS, "start_line": 8, "end_line": 10}],
        "alert": "RdsWriterGone",
    },
    {
        "id": "q2",
        "query": "promote the replica",
        "relevant": [{"source_file": "postmortems/zebra.md"}],
        "also_acceptable": [RDS],
    },
    {"id": "q3", "query": "raise the concurrency", "relevant": [{"source_file": THROTTLING}]},
)
ELSEWHERE = {"id": "q4", "query": "raise the concurrency", "relevant": [{"source_file": RDS}]}


CASE = {"id": "c1", "query": "how do we promote the replica of RDS?", "kind": "question"}


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with documents, a dataset whose targets are reached, and one that misses one."""
    files = {f"docs/{name}": text for name, text in RUNBOOKS.items()}
    files |= {"docs/postmortems/zebra.md": "# Zebra\n\nA zebra crossed.\n"}
    files |= {"safe.jsonl": lines(CASE | {"files": [RDS]})}
    files |= {"good.jsonl": lines(*ROWS), "bad.jsonl": lines(ELSEWHERE), "cut.jsonl": '{"id'}
    return write_files(tmp_path_factory.mktemp("eval"), files)


@pytest.fixture(scope="module")
def good(settled, place):
    return settled(
        "eval", place / "good.jsonl", "--json",
        "--results", place / "a.jsonl", "--plot", place / "a.svg",
    )  # fmt: skip


@pytest.fixture(scope="module")
def bad(settled, place, good):
    assert good.code == 0
    options = ("--docs", place / "docs", "--results", place / "b.jsonl")
    return settled("eval", place / "good.jsonl", place / "bad.jsonl", *options)


def test_a_dataset_whose_targets_are_reached_exits_0(good):
    assert (good.code, good.err) == (0, "")
    found = good.json
    assert found["queries"] == 3
    assert [found[f"hit@{k}"] for k in (1, 3, 5)] == [1, 1, 1]
    assert found["citation_exact"] == 1
    assert (found["zero_result_rate"], found["degraded_rate"]) == (0, 0)
    assert 0 < found["line_overlap"] <= 1
    assert 0 < found["latency_ms"]["p50"] <= found["latency_ms"]["p99"]
    assert (found["passed"], found["missed"], found["way"]) == (True, [], "local")


def test_what_each_question_gave_and_the_picture_are_written(good, place):
    assert good.code == 0
    head, *rows = (json.loads(line) for line in (place / "a.jsonl").read_text().splitlines())
    assert head["queries"] == 3
    assert [row["id"] for row in rows] == ["q1", "q2", "q3"]
    assert rows[0]["rank"] == 1
    assert rows[0]["results"][0]["source_file"] == RDS
    assert ET.parse(place / "a.svg").getroot().tag.endswith("svg")


def test_one_missed_target_exits_1_and_is_named(bad):
    assert (bad.code, bad.err) == (1, "")
    assert bad.out.rstrip().endswith("missed: relevance (hit@5)")
    assert "by dataset" in bad.out


def test_runs_are_compared_and_those_of_different_questions_are_refused(settled, good, bad, place):
    assert (good.code, bad.code) == (0, 1)
    ran = settled.each(
        {
            "same": ("eval", "--compare", place / "a.jsonl", place / "a.jsonl", "--json"),
            "other": ("eval", "--compare", place / "a.jsonl", place / "b.jsonl"),
        }
    )
    assert ran["same"].code == 0
    assert ran["same"].json["metrics"]["hit@1"]["verdict"] == "the same"
    assert ran["other"].code == 2
    assert_one_line(ran["other"].err, "different questions")


def test_answers_to_labelled_alerts_are_compared_with_what_their_authors_wrote(
    settled, good, place
):
    assert good.code == 0
    ran = settled("eval", "--answers", place / "good.jsonl", "--limit", "5", "--json")
    assert (ran.code, ran.err) == (0, "")
    named = ran.json["runs"]["named"]["all"]  # two rows name no alert
    assert (named["alerts"], named["first"]) == (1, 1.0)
    assert [near["project"] for near in ran.json["near_miss_answers"]] == ["runbooks"] * 2
    assert ran.json["citations_exact"] == ran.json["citations"] > 0


def test_answers_are_scored_and_a_dangerous_one_exits_1(settled, good, place):
    assert good.code == 0  # it has made the knowledge base
    rds = {"title": "The RDS writer is gone"}
    cases = (
        {"id": "c2", "incident": "rds", "files": [RDS]},
        {"id": "c3", "incident": rds, "files": [RDS]},
    )
    files = {"alert.jsonl": lines(*cases)}
    files |= {"incidents/rds.json": json.dumps(rds)}
    nothing = {"id": "c4", "incident": {"colour": "red"}, "none": True}
    files |= {"unsafe.jsonl": lines(CASE | {"bad": [f"{RDS}:1-14", "gone.md:1-1"]}, nothing)}
    write_files(place, files)
    ran = settled.each(
        {
            "safe": ("eval", "--answers", place / "safe.jsonl", place / "alert.jsonl", "--json"),
            "unsafe": ("eval", "--answers", place / "unsafe.jsonl", "--docs", place / "docs"),
        }
    )
    safe, unsafe = ran["safe"], ran["unsafe"]
    assert (safe.code, safe.err) == (0, "")
    assert (safe.json["cases"], safe.json["passed"], safe.json["reached"]) == (3, 3, True)
    assert safe.json["citations_exact"] == safe.json["citations"] > 0
    assert unsafe.code == 1
    assert unsafe.err == "warning case c1: there is no document gone.md\n"
    assert "c1 dangerous\n    bad runbooks/rds-failover.md:1-14: shows" in unsafe.out
    assert "c4 incomplete\n    answered: nothing in it to ask about" in unsafe.out
    assert "near misses given steps: 0 of 1, destructive: 0" in unsafe.out
    assert unsafe.out.rstrip().endswith("missed: passed, dangerous")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--compare", "{}/a.jsonl"), ["requires 2 arguments; see knowledge-rag eval --help"]),
        (("{}/cut.jsonl",), ["cut.jsonl, line 1: not JSON"]),
        (("--answers", "{}/a.jsonl", "--results", "b"), ["leave --results out"]),
        (("--answers", "{}/safe.jsonl", "--limit", "3"), ["--limit samples labelled questions"]),
        (("--answers", "{}/good.jsonl", "--stack", "dev"), ["on this machine"]),
        (("--answers", "{}/bad.jsonl"), ["no question names an alert"]),
    ],
)
def test_what_can_t_be_evaluated_is_said_in_one_line(settled, place, arguments, parts):
    ran = settled("eval", *(argument.format(place) for argument in arguments))
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(ran.err, *parts)


def test_a_deployed_function_is_asked_for_as_much(settled, place, tmp_path):
    ingest(place / "docs", tmp_path / "a.kb", embedder=WordHashes())
    with (
        KnowledgeBase(tmp_path / "a.kb", WordHashes()) as opened,
        LocalBedrock(opened) as bedrock,
        endpoint("function", bedrock) as way,
    ):
        ran = settled(
            "eval", place / "good.jsonl", "--with-alert", "--limit", "2", "--seed", "1",
            "--function", ALIAS, "--region", "us-east-1", "--json",
            AWS_ENDPOINT_URL_LAMBDA=way.switch.url,
            AWS_ACCESS_KEY_ID="testing", AWS_SECRET_ACCESS_KEY="testing",
        )  # fmt: skip
    assert ran.err == ""
    found = ran.json
    assert (found["way"], found["search"], found["with_alert"]) == ("function", "", True)
    assert (found["queries"], found["degraded_rate"], found["citation_exact"]) == (2, 0, 1)
    assert ran.code == int(bool(found["missed"]))
