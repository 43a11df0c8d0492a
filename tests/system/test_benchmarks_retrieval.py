"""``python -m benchmarks retrieval`` and ``alerts`` from the command line, with the real model."""

from __future__ import annotations

import json

import pytest

from tests.support.cli import assert_one_line
from tests.support.local import RUNBOOKS, write_files

RDS = "runbooks/rds-failover.md"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    rows = [
        {"id": f"q{n}", "query": "promote the replica", "relevant": [{"source_file": RDS}]}
        for n in range(8)
    ]
    files = {f"docs/{name}": text for name, text in RUNBOOKS.items()}
    files["set.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows)
    asked = {"query": "the writer is gone and connections are refused", "alert": "RdsWriterGone"}
    alert = rows[0] | {"id": "alert"} | asked
    files["alerts.jsonl"] = "".join(json.dumps(row) + "\n" for row in (alert, *rows))
    return write_files(tmp_path_factory.mktemp("bench-retrieval"), files)


def test_every_part_is_measured_on_the_half_that_chose_nothing(benchmarks, place):
    ran = benchmarks("retrieval", place / "set.jsonl", "--json")
    assert ran.code == 0
    parts = {part["part"]: part for part in ran.json["parts"]}
    assert list(parts)[-1] == "evidence floor"
    assert parts["evidence floor"]["held_out"]["questions"]["hit@1"] == 1.0
    asked = [parts["RRF"][half]["questions"]["questions"] for half in ("held_out", "choosing")]
    assert sum(asked) == 8


def test_answers_to_labelled_alerts_are_compared_with_what_their_authors_wrote(benchmarks, place):
    ran = benchmarks("alerts", place / "alerts.jsonl", "--limit", "5", "--json")
    assert (ran.code, ran.err) == (0, "")
    named = ran.json["runs"]["named"]["all"]  # the other rows name no alert
    assert (named["alerts"], named["first"]) == (1, 1.0)
    assert ran.json["citations_exact"] == ran.json["citations"] > 0
    nameless = benchmarks("alerts", place / "set.jsonl")
    assert nameless.code == 2
    assert_one_line(nameless.err, "no question here names an alert")


def test_a_dataset_without_documents_is_refused(benchmarks, place):
    ran = benchmarks("retrieval", place / "docs" / RDS)
    assert ran.code == 2
    assert_one_line(ran.err)
