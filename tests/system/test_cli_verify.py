"""``knowledge-rag verify`` as people and build servers run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.local import CORPUS

RUNBOOK = [
    "---", "title: RDS failover", "---", "",
    "## Diagnosis", "", "Verify replica health using CloudWatch metrics:", "",
    "    aws cloudwatch get-metric-statistics --metric-name ReplicaLag", "", "", "", "", "",
    "## Resolution", "", "Initiate a manual failover if the replication lag is > 60s.", "",
    "    aws rds failover-db-cluster", "", "", "", "", "",
    "## After", "", "Update the DNS records after the failover completes.", "", "", "The end.",
]  # fmt: skip
POSTMORTEM = [
    *["."] * 44,
    "## Resolution",
    "",
    "A manual failover resolved it, like",
    "3 similar incidents",
    "in the past 6 months.",
    "End.",
]
EXAMPLE = """\
Based on similar incidents, the recommended resolution is:
1. Verify replica health using CloudWatch metrics [Source: runbooks/rds-failover.md, lines 5-10]
2. Initiate manual failover with `aws rds failover-db-cluster` if replication lag > 60s [Source: runbooks/rds-failover.md, lines 15-20]
3. Update DNS records after failover completes [Source: runbooks/rds-failover.md, lines 25-30]

Manual failover resolved 3 similar incidents in the past 6 months [Source: postmortems/2024-01-rds-incident.md, lines 45-50]
"""
FILES = {
    "runbooks/rds-failover.md": (RUNBOOK, [(5, 10), (15, 20), (25, 30)]),
    "postmortems/2024-01-rds-incident.md": (POSTMORTEM, [(45, 50)]),
}


@pytest.fixture
def case(cli, tmp_path):
    results = []
    for name, (lines, ranges) in FILES.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        for start, end in ranges:
            citation = {"source_file": name, "start_line": start, "end_line": end}
            content = "\n".join(lines[start - 1 : end])
            results.append({"content": content, "citation": {**citation, "section_header": "S"}})
    (tmp_path / "evidence.json").write_text(json.dumps({"results": results, "status": "ok"}))

    def run(answer, *options):
        (tmp_path / "answer.md").write_text(answer, encoding="utf-8")
        files = ("--answer", tmp_path / "answer.md", "--evidence", tmp_path / "evidence.json")
        return cli("verify", *files, *options)

    return run


def test_the_example_answer_passes(case, tmp_path):
    ran = case(EXAMPLE, "--corpus", tmp_path / "docs", "--strict")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(
        "".join(f"| {line}".rstrip() + "\n" for line in EXAMPLE.rstrip("\n").split("\n"))
    )
    assert ran.out.endswith(
        "References resolved: 4 of 4; commands, names and numbers found: 7 of 7; cited claims without an"
        " error: 4 of 4; 0 errors; 0 warnings. Not checked: meaning.\n"
    )


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("lines 5-10", "lines 5-11", "retrieval returned lines 5-10"),
        ("> 60s", "> 90s", "number 90s is not in runbooks/rds-failover.md"),
        ("3 similar", "4 similar", "number 4 is not in postmortems/2024-01"),
        ("rds-failover.md, lines 15", "rds-failovers.md, lines 15", "no line of runbooks/rds-failovers.md; it did return runbooks/rds-failover.md"),
        ("rds failover-db-cluster", "rds delete-db-cluster", "delete-db-cluster is not in runbooks/rds-failover.md, lines 15-20"),
    ],
)  # fmt: skip
def test_one_digit_one_file_name_or_one_command_changed_fails_and_says_what(
    case, tmp_path, right, wrong, says
):
    ran = case(EXAMPLE.replace(right, wrong, 1), "--corpus", tmp_path / "docs", "--json")
    assert ran.code == 1
    errors = [one for one in ran.json["warnings"] if one["level"] == "error"]
    (message,) = [one["message"] for one in (*ran.json["removed"], *errors)]
    assert says in message
    kept = {tuple(one.values())[:3] for one in ran.json["citations"]}
    assert kept <= {(name, *r) for name, (_, ranges) in FILES.items() for r in ranges}


def test_findings_stand_where_an_editor_opens_them(case, tmp_path):
    ran = case(EXAMPLE.replace("lines 5-10", "lines 5-11"))
    assert (
        f"{tmp_path}/answer.md:2:51: error: [Source: runbooks/rds-failover.md, lines 5-11]"
        in ran.out
    )
    assert "have no hash that binds them to their lines; --corpus" in ran.out


def test_marking_shows_where_a_reference_was(case):
    ran = case(EXAMPLE.replace("lines 5-10", "lines 5-11"), "--mark")
    assert "CloudWatch metrics [unverified]\n" in ran.out


def test_evidence_that_the_documents_contradict_is_no_evidence(case, tmp_path):
    path = tmp_path / "docs" / "runbooks" / "rds-failover.md"
    path.write_text(path.read_text().replace("> 60s", "> 90s"))
    ran = case(EXAMPLE, "--corpus", tmp_path / "docs", "--json")
    assert ran.code == 1
    assert [one["state"] for one in ran.json["staleness"]] == ["same", "changed", "same", "same"]
    (wrong,) = [one for one in ran.json["warnings"] if one["level"] == "error"]
    assert (wrong["kind"], wrong["position"]["line"]) == ("stale-citation", 3)
    assert (ran.json["metrics"]["errors"], ran.json["metrics"]["by_kind"]) == (
        1,
        {"stale-citation": 1},
    )


def test_sarif_points_into_the_answer(case):
    ran = case(EXAMPLE.replace("3 similar", "4 similar"), "--format", "sarif")
    (run,) = ran.json["runs"]
    (error,) = [one for one in run["results"] if one["level"] == "error"]
    assert run["tool"]["driver"]["rules"][error["ruleIndex"]]["id"] == error["ruleId"]
    region = error["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 6, "endLine": 6, "startColumn": 26, "endColumn": 27}
    assert ran.json["version"] == "2.1.0"


def test_warnings_fail_only_when_asked_to(case, tmp_path):
    answer = EXAMPLE.replace("Based on", "Obviously, based on")
    assert case(answer, "--corpus", tmp_path / "docs").code == 0
    ran = case(answer, "--corpus", tmp_path / "docs", "--strict")
    assert ran.code == 1
    assert '"Obviously" has no citation' in ran.out


def test_nothing_documented_is_false_when_the_search_failed(cli, tmp_path):
    body = {"results": [], "status": "degraded", "reason": "timeout"}
    (tmp_path / "evidence.json").write_text(json.dumps(body))
    (tmp_path / "answer.md").write_text("No documented guidance found for this scenario")
    files = ("--answer", tmp_path / "answer.md", "--evidence", tmp_path / "evidence.json")
    ran = cli("verify", *files, "--json")
    assert ran.code == 1
    assert [one["kind"] for one in ran.json["warnings"]] == ["false-no-match"]
    (tmp_path / "evidence.json").write_text('{"results": [], "status": "no_match"}')
    assert cli("verify", *files).code == 0


def test_what_retrieve_prints_is_evidence_and_is_proven(sample, first_use, tmp_path):
    (tmp_path / "evidence.json").write_text(first_use.out)
    best = first_use.json["results"][0]
    citation = best["citation"]
    where = f"{citation['source_file']}, lines {citation['start_line']}-{citation['end_line']}"
    (tmp_path / "answer.md").write_text(f"{best['content']}\n\n[Source: {where}]\n")
    files = ("--answer", tmp_path / "answer.md", "--evidence", tmp_path / "evidence.json")
    ran = sample("verify", *files, "--corpus", CORPUS, "--json")
    assert ran.json["verified"] is True
    assert ran.json["evidence"]["proven"] == len(first_use.json["results"])
    assert [one["state"] for one in ran.json["staleness"]] == ["same"]


@pytest.mark.parametrize(
    ("evidence", "options", "says"),
    [
        ('{"answer": 1}', (), "evidence.json: there is no evidence in it; supported formats:"),
        ('{"results": [], "status": "no_match"}', (), "no answer in it; pass its file with --answer"),
        ('{"results": [], "status": "no_match"}', ("--format", "sarif"), "sarif needs --answer"),
        ('{"results": [], "status": "no_match"}', ("--answer", "nowhere.md"), "nowhere.md: No such file"),
        ('{"results": [], "status": "no_match"}', ("--answer", "/dev/null"), "/dev/null: empty file"),
        ('{"results": [], "status": "no_match"}', ("--answer", "/dev/zero"), "/dev/zero: larger than 64 MiB"),
        ('{"results": [], "status": "no_match"}', ("--answer", ""), "--answer: empty name"),
        ('{"results": [], "status": "no_match"}', ("--json", "--format", "sarif"), "--format sarif: choose one"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_2(cli, tmp_path, evidence, options, says):
    (tmp_path / "evidence.json").write_text(evidence)
    ran = cli("verify", "--evidence", tmp_path / "evidence.json", *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert says in ran.err


@pytest.mark.parametrize(("answer", "form"), [("\u200b\n", "json"), ("---\n", "text")])
def test_a_blank_answer_is_a_defect_and_no_pass(case, answer, form):
    ran = case(answer, "--format", form)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("answer.md: no answer in it, not even a letter or digit\n")


def test_evidence_that_counts_for_nothing_is_told(cli, tmp_path):
    results = [
        {"content": "Restart it.", "citation": {"source_file": "a.md", "start_line": 1, "end_line": 9}},
        {"content": "Restart it."},
        {"content": "Wait.", "citation": {"source_file": "a.md", "start_line": 3, "end_line": 3}},
    ]  # fmt: skip
    (tmp_path / "bad.json").write_text(json.dumps({"results": results, "status": "ok"}))
    (tmp_path / "good.json").write_text(json.dumps({"results": results[2:] * 2, "status": "ok"}))
    (tmp_path / "answer.md").write_text("Wait. [Source: a.md, line 3]\n")
    files = [part for name in ("bad", "good") for part in ("--evidence", tmp_path / f"{name}.json")]
    ran = cli("verify", "--answer", tmp_path / "answer.md", *files)
    assert ran.code == 0
    assert ran.err == (
        f"warning {tmp_path}/bad.json: 2 of 3 passages can't be cited: the text doesn't match its "
        "hash or its number of lines (1); no file and lines (1)\n"
    )


def test_what_an_answer_holds_cannot_steer_the_terminal(cli, tmp_path):
    (tmp_path / "evidence.json").write_text('{"results": [], "status": "no_match"}')
    (tmp_path / "answer.md").write_text("a\x1b[31mb [Source: \x1b[2Jx.md, lines 1-2] \u202e\n")
    ran = cli(
        "verify", "--evidence", tmp_path / "evidence.json", "--answer", tmp_path / "answer.md"
    )
    assert ran.code == 1
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out


def test_a_closed_standard_input_is_bad_input(case, tmp_path):
    case("")
    files = ["--evidence", str(tmp_path / "evidence.json"), "--answer", "-"]
    command = [sys.executable, "-m", "knowledge_rag", "verify", *files]
    done = subprocess.run(
        command, capture_output=True, check=False, timeout=60, preexec_fn=lambda: os.close(0)
    )
    assert (done.returncode, done.stderr) == (2, b"error: standard input: closed\n")


def test_a_tab_of_the_answer_stays_one_in_a_pipe(case):
    assert "\n| \tx\ty [1]\n" in case("Restart it:\n\n\tx\ty [1]\n").out


def test_a_file_name_can_not_pass_for_a_line_of_findings(case, cli, tmp_path):
    case("")
    answer = tmp_path / "x\nVerified: all.md"
    answer.write_text("Wait 45 minutes [1].")
    ran = cli("verify", "--evidence", tmp_path / "evidence.json", "--answer", answer)
    assert ran.code == 1
    assert "\nVerified" not in ran.out


@pytest.mark.skipif(sys.platform != "linux", reason="names are text there")
def test_a_file_name_that_is_no_text_has_a_place_in_sarif(case, cli, tmp_path):
    case("")
    answer = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md"))
    answer.write_text("Wait 45 minutes [1].")
    files = ("--evidence", tmp_path / "evidence.json", "--answer", answer)
    ran = cli("verify", *files, "--format", "sarif")
    assert (ran.code, ran.err) == (1, "")
    assert "%3F.md" in ran.out
