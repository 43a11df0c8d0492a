"""``python -m benchmarks guardrails`` as people run it."""

import json


def test_the_table_ends_in_the_aims_and_the_time(benchmarks):
    ran = benchmarks("guardrails")
    assert (ran.code, ran.err) == (0, "")
    assert "wrong section" in ran.out
    assert "at least 95%" in ran.out
    assert "1,000 words" in ran.out


def test_json_has_the_rows_of_a_file_of_claims(benchmarks, tmp_path):
    row = {"id": "1", "claim": "Use `-f`.", "supported": False, "evidence": ["Use `-g`."]}
    claims = tmp_path / "claims.jsonl"
    claims.write_text(json.dumps(row) + "\n", encoding="utf-8")
    ran = benchmarks("guardrails", "--claims", str(claims), "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["reached"] is True
    assert ran.json["claims"]["claims.jsonl"][0]["caught"] == 1


def test_a_file_that_holds_no_claims_is_bad_input(benchmarks, tmp_path):
    claims = tmp_path / "claims.jsonl"
    claims.write_text("no\n", encoding="utf-8")
    ran = benchmarks("guardrails", "--claims", str(claims))
    assert ran.code == 2
    assert "line 1" in ran.err


def test_help_says_how_it_is_used(benchmarks):
    ran = benchmarks("guardrails", "--help")
    assert ran.code == 0
    assert "--claims" in ran.out
    assert "--json" in ran.out
