"""The benchmarks as people run them; what they measure is not for a test to judge."""

from __future__ import annotations

import re

import pytest

from tests.support.cli import assert_one_line
from tests.support.local import write_files

PEERS = ("langchain_text_splitters", "llama_index", "chonkie", "semchunk")


@pytest.mark.parametrize(
    ("arguments", "titles"),
    [
        (["handler", "--calls", "10"], ["10 calls of each", "retrieve_knowledge", "aim: at most"]),
        (["coldstart", "--rounds", "1"], ["best of 1", "boto3 + client", "aim: at most"]),
        (["load", "--calls", "100", "--threads", "2"], ["100 calls by 2 threads", "mixed up: 0"]),
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


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [(["handler", "--calls", "10"], "reached"), (["coldstart", "--rounds", "1"], "reached")],
)
def test_json_says_the_same(benchmarks, arguments, verdict):
    ran = benchmarks(*arguments, "--json")
    assert ran.err == ""
    assert ran.code == int(not ran.json[verdict])
    assert ran.json["rows"][0]["ratio"] == 1.0


@pytest.mark.parametrize("arguments", [["handler", "--calls", "1"], ["load", "--threads", "0"]])
def test_what_can_t_be_measured_is_refused(benchmarks, arguments):
    ran = benchmarks(*arguments)
    assert ran.code == 2


def test_the_benchmark_works_without_peers_and_names_them(benchmarks, tmp_path):
    hidden = {f"{name}/__init__.py": "raise ImportError('not here')\n" for name in PEERS}
    path = str(write_files(tmp_path / "hidden", hidden))
    ran = benchmarks("chunking", "--rounds", "1", PYTHONPATH=path)
    assert (ran.code, ran.err) == (0, "")
    shown = re.sub(r"\s+", " ", ran.out)
    assert "Not installed: langchain headers, " in shown
    for peer in ("llama-index", "chonkie", "semchunk"):
        assert peer in shown.partition("Not installed: ")[2]


def test_the_benchmark_as_json_reports_exact_chunks(benchmarks, tmp_path):
    docs = write_files(tmp_path / "docs", {"a.md": "# A\n\ntext\n", "b.md": b"\0"})
    ran = benchmarks("chunking", "--rounds", "1", "--docs", docs, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["files"] == 1
    ours = ran.json["rows"][0]
    assert (ours["name"], ours["verbatim"], ours["lines"]) == ("ours, 256 tokens", 1.0, 1.0)


def test_documents_without_text_are_refused(benchmarks, tmp_path):
    docs = write_files(tmp_path / "docs", {"a.md": b"\0", "b.txt": b"\xff\xfe"})
    ran = benchmarks("chunking", "--docs", docs)
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(ran.err, f"no document with text in {docs}")


def test_the_finding_of_dates_is_measured(benchmarks):
    ran = benchmarks.each(
        {
            "json": ("dates", "--rounds", "1", "--json"),
            "text": ("dates", "--rounds", "1"),
        }
    )
    figures = ran["json"].json
    ours = figures["rows"][0]
    assert (ours["name"], ours["wrong"], ours["precision"]) == ("knowledge-rag", 0, 1.0)
    assert figures["sentences"] == 226
    assert figures["policy_ms"] > 0
    assert ran["json"].code == int(not figures["reached"])
    assert "226 sentences, 132 of them without a date" in ran["text"].out
    assert "source policy on 60 results" in ran["text"].out


def test_sentences_that_are_none_are_named(benchmarks, tmp_path):
    path = write_files(tmp_path, {"bad.jsonl": "[]\n"}) / "bad.jsonl"
    ran = benchmarks("dates", "--sentences", path)
    assert ran.code == 2
    assert_one_line(ran.err, f"{path}:1: no labelled sentence")


def test_without_a_name_the_benchmarks_are_listed(benchmarks):
    ran = benchmarks()
    shown = ran.out + ran.err
    assert ran.code == 2
    for name in ("chunking", "load", "retrieval", "peers", "guardrails", "dates", "all"):
        assert re.search(rf"^  {name} ", shown, re.MULTILINE)


def test_a_name_that_no_benchmark_has_is_refused(benchmarks):
    ran = benchmarks("fastest")
    assert (ran.code, ran.out) == (2, "")
    assert "No such command 'fastest'" in ran.err
