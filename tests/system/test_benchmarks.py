"""The benchmarks as people run them; what they measure is not for a test to judge."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.local import RUNBOOKS, write_files

PEERS = ("langchain_text_splitters", "llama_index", "chonkie", "semchunk")
RDS = "runbooks/rds-failover.md"
CLAIM = {"id": "1", "claim": "Use `-f`.", "supported": False, "evidence": ["Use `-g`."]}
QUESTION = {"query": "promote the replica", "relevant": [{"source_file": RDS}]}


@pytest.fixture
def place(tmp_path):
    return write_files(
        tmp_path,
        {
            **{f"docs/{name}": text for name, text in RUNBOOKS.items()},
            "questions.jsonl": "".join(
                json.dumps({"id": f"q{n}"} | QUESTION) + "\n" for n in range(8)
            ),
            "claims.jsonl": json.dumps(CLAIM) + "\n",
            "some/a.md": "# A\n\ntext\n",
            "some/b.md": b"\0",
            "unreadable/a.md": b"\0",
            "bad.jsonl": "[]\n",
        },
    )


@pytest.mark.parametrize(
    ("arguments", "titles"),
    [
        (["handler", "--calls", "10"], ["10 calls of each", "retrieve_knowledge", "aim: at most"]),
        pytest.param(
            ["coldstart", "--rounds", "1"],
            ["best of 1", "boto3 + client", "aim: at most"],
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_table_shows_what_was_measured_and_the_exit_code_whether_the_aim_was_reached(
    benchmarks, arguments, titles
):
    ran = benchmarks(*arguments)
    assert ran.err == ""
    for title in titles:
        assert title in ran.out
    assert ran.code == int("missed" in ran.out)


def test_json_says_whether_the_aim_was_reached(benchmarks):
    ran = benchmarks("handler", "--calls", "10", "--json")
    assert (ran.code, ran.err) == (int(not ran.json["reached"]), "")
    assert ran.json["rows"][0]["ratio"] == 1.0


def test_dates_are_found_without_a_wrong_one(benchmarks):
    figures = benchmarks("dates", "--rounds", "1", "--json").json
    ours = figures["rows"][0]
    assert (ours["name"], ours["wrong"], ours["precision"]) == ("knowledge-rag", 0, 1.0)
    assert figures["sentences"] == 226
    assert figures["policy_ms"] > 0


@pytest.mark.nightly
def test_claims_of_ones_own_are_checked(benchmarks, place):
    ran = benchmarks("guardrails", "--claims", place / "claims.jsonl", "--json")
    assert (ran.code, ran.err, ran.json["reached"]) == (0, "", True)
    assert ran.json["claims"]["claims.jsonl"][0]["caught"] == 1


def test_every_part_of_retrieval_is_measured_on_the_half_that_chose_nothing(benchmarks, place):
    ran = benchmarks("retrieval", place / "questions.jsonl", "--json")
    assert ran.code == 0
    parts = {part["part"]: part for part in ran.json["parts"]}
    assert list(parts)[-1] == "evidence floor"
    assert parts["evidence floor"]["held_out"]["questions"]["hit@1"] == 1.0
    asked = [parts["RRF"][half]["questions"]["questions"] for half in ("held_out", "choosing")]
    assert sum(asked) == 8


def test_chunks_are_exact_and_peers_that_are_missing_are_named(benchmarks, place):
    hidden = {f"hidden/{name}/__init__.py": "raise ImportError('not here')\n" for name in PEERS}
    path = str(write_files(place, hidden) / "hidden")
    chunking = ("chunking", "--rounds", "1", "--docs", place / "some")
    ran = benchmarks(*chunking, PYTHONPATH=path)
    assert (ran.code, ran.err) == (0, "")
    assert "ours, 256 tokens" in ran.out
    missing = re.sub(r"\s+", " ", ran.out).partition("Not installed: langchain headers, ")[2]
    assert all(peer in missing for peer in ("llama-index", "chonkie", "semchunk"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("handler", "--calls", "1"), "--calls"),
        (("load", "--threads", "0"), "--threads"),
        (("chunking", "--docs", "{}/unreadable"), "no document with text in {}/unreadable"),
        (("dates", "--sentences", "{}/bad.jsonl"), "{}/bad.jsonl:1: no labelled sentence"),
        (("guardrails", "--claims", "{}/bad.jsonl"), "line 1"),
        (("retrieval", f"{{}}/docs/{RDS}"), "rds-failover.md"),
        (("fastest",), "No such command 'fastest'"),
    ],
)
def test_what_can_t_be_measured_is_refused(benchmarks, place, arguments, says):
    ran = benchmarks(*(each.format(place) for each in arguments))
    assert (ran.code, ran.out) == (2, "")
    assert says.format(place) in ran.err
    assert "Traceback" not in ran.err


def test_without_a_name_the_benchmarks_are_listed(benchmarks):
    ran = benchmarks()
    assert ran.code == 2
    for name in ("chunking", "load", "retrieval", "peers", "guardrails", "dates", "all"):
        assert re.search(rf"^  {name} ", ran.out + ran.err, re.MULTILINE)
