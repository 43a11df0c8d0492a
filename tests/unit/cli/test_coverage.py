"""The outcome of ``coverage`` as text and SARIF."""

from __future__ import annotations

import json

import pytest

from knowledge_rag.cli import coverage
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import Reason
from knowledge_rag.drift.baseline import Baseline
from knowledge_rag.evaluation.coverage_check import Checked, Hit, Steps, summarise
from knowledge_rag.evaluation.coverage_rules import (
    Alert,
    BrokenFile,
    RuleFiles,
    cloudwatch_incident,
)
from knowledge_rag.evaluation.coverage_runbooks import Gap, NamedBy, Runbook
from knowledge_rag.evaluation.coverage_wanted import StepsCheck, Wanted
from knowledge_rag.evaluation.datasets import Target
from knowledge_rag.extract.yaml_nodes import Place
from tests.support.sarif import assert_sarif


def checked(name, line, file="rules/a b.yaml", **fields):
    place = Place(line, 14, line, 14 + len(name))
    return Checked(Alert(name, file, place, cloudwatch_incident(name, "")), **fields)


FOUND = Runbook((Target("a.md", (1, 9)),), NamedBy.LINK)
FINE = checked("Fine", 4, runbook=FOUND, hit=Hit("q", 2, Citation("a.md", 2, 3)), queries=("q",))
GAP = checked("Bad\x07\u202e", 9, gap=Gap.NO_RUNBOOK, message="alert Bad\x07\u202e has no runbook")
LOST = checked(
    "Lost", 12, file="b.yaml", gap=Gap.NOT_FOUND, message="alert Lost does not find a.md"
)
SLOW = checked("Slow", 15, file="b.yaml", reason=Reason.TIMEOUT)
FILES = RuleFiles((), ("rules/a b.yaml", "b.yaml"))
KNOWN = Baseline({("Lost", "b.yaml"): 1, ("Gone", "b.yaml"): 1})


@pytest.fixture
def done():
    return summarise([FINE, GAP, LOST], FILES, Wanted(5, baseline=KNOWN))


def test_text_has_a_line_for_each_gap_that_editors_open(done, capsys):
    coverage.write("text", done)
    printed = capsys.readouterr()
    assert printed.out == (
        "rules/a b.yaml:9:14: error: alert Bad\\x07\\u202e has no runbook [alert-without-runbook]\n"
        "b.yaml:12:14: known: alert Lost does not find a.md [runbook-not-found]\n"
        "Not covered: 1 of 3 alerts covered, 1 new, 1 known.\n"
    )
    assert printed.err == "mended Gone in b.yaml: remove it from the baseline\n"


def test_explained_each_alert_says_what_was_asked_and_found(capsys):
    elsewhere = Citation("b.md", 4, 5)
    late = checked("Late", 4, runbook=FOUND, hit=FINE.hit, queries=("p", "q"), instead=(elsewhere,))
    coverage.write("text", summarise([late], FILES, Wanted(5)), explain=True)
    assert capsys.readouterr().out == (
        "rules/a b.yaml:4: Late\n"
        "  asked: p\n"
        "  asked: q\n"
        "  found: b.md, lines 4-5\n"
        "  found: a.md, lines 2-3\n"
        "  its runbook by link: result 2 of the last query\n"
        "\n"
        "Covered: 1 of 1 alert covered.\n"
    )


def test_explained_an_alert_can_not_look_like_a_line_of_ours(capsys):
    name = "Bad\nCovered: 9 of 9 alerts covered.\x1b[2J\r\u2028x"
    odd = checked(name, 4, runbook=FOUND, hit=FINE.hit, queries=("p\nq\x1b[31m [red]r[/red]",))
    coverage.write("text", summarise([odd], FILES, Wanted(5)), explain=True)
    printed = capsys.readouterr().out
    assert printed.split("\n")[:3] == [
        "rules/a b.yaml:4: Bad Covered: 9 of 9 alerts covered.\\x1b[2J x",
        "  asked: p q\\x1b[31m [red]r[/red]",
        "  found: a.md, lines 2-3",
    ]


def test_what_could_not_be_found_out_is_said_and_is_no_error(capsys):
    coverage.write("text", summarise([FINE, SLOW], FILES, Wanted(5)))
    assert capsys.readouterr().out == (
        "b.yaml:15:14: degraded: alert Slow could not be checked: timeout [degraded]\n"
        "Not covered: 1 of 2 alerts covered, 1 could not be checked, wanted: 100%.\n"
    )


def test_json_has_the_figures_the_gaps_and_how_each_runbook_was_found(done, capsys):
    coverage.write("json", done)
    told = json.loads(capsys.readouterr().out)
    assert (told["alerts"], told["covered"], told["passed"]) == (3, 1, False)
    assert (told["share"], told["threshold"]) == (0.333333, 0.0)
    assert [each["kind"] for each in told["findings"]] == ["alert-without-runbook"]
    assert [each["alert"] for each in told["known"]] == ["Lost"]
    assert told["mended"] == [{"alert": "Gone", "file": "b.yaml"}]
    assert told["details"][0] == {
        "alert": "Fine", "file": "rules/a b.yaml", "line": 4, "covered": True, "state": "covered",
        "steps": None,
        "runbook": {
            "by": "link", "targets": [{"source_file": "a.md", "start_line": 1, "end_line": 9}],
        },
        "hit": {
            "query": "q", "rank": 2, "source_file": "a.md", "start_line": 2, "end_line": 3,
            "section_header": "",
        },
        "queries": ["q"], "instead": [],
    }  # fmt: skip


def test_sarif_is_what_the_standard_wants_and_has_new_gaps_alone(done):
    log = coverage.as_sarif(done)
    assert_sarif(log)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == [*(gap.value for gap in Gap), "rules-unreadable"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "rules/a%20b.yaml"
    assert (place["region"]["startLine"], place["region"]["startColumn"]) == (9, 14)
    assert "\x07" not in result["message"]["text"]


ELSEWHERE = Citation("b.md", 4, 5)
VAGUE = checked(
    "Vague", 20, runbook=FOUND, hit=FINE.hit, steps=Steps(0, (ELSEWHERE,)),
    message="alert Vague finds a.md, and no step",
)  # fmt: skip
UNSURE = checked("Unsure", 24, runbook=FOUND, hit=FINE.hit, steps=Steps(0, reason=Reason.TIMEOUT))
STEPS = [FINE, VAGUE, UNSURE]


def levels(log):
    return [(result["ruleId"], result["level"]) for result in log["runs"][0]["results"]]


def test_a_covered_alert_without_steps_is_told_and_fails_nothing(capsys):
    done = summarise(STEPS, FILES, Wanted(5))
    coverage.write("text", done)
    assert capsys.readouterr().out == (
        "rules/a b.yaml:20:14: warning: alert Vague finds a.md, and no step [runbook-without-steps]\n"
        "rules/a b.yaml:24:14: degraded: alert Unsure is covered, but its steps could not be checked: "
        "timeout [degraded]\n"
        "Covered: 3 of 3 alerts covered, 1 of them without steps.\n"
    )
    log = coverage.as_sarif(done)
    assert_sarif(log)
    assert levels(log) == [("runbook-without-steps", "warning")]
    coverage.write("json", done)
    told = json.loads(capsys.readouterr().out)
    assert (told["passed"], told["covered"], told["without_steps"], told["findings"]) == (
        True,
        3,
        1,
        [],
    )
    assert [each["kind"] for each in told["warnings"]] == ["runbook-without-steps"]
    assert [each["state"] for each in told["details"]] == [
        "covered",
        "covered_without_steps",
        "covered",
    ]
    assert told["details"][1]["steps"] == {"own": 0, "elsewhere": [ELSEWHERE.to_dict()]}
    assert told["details"][2]["steps"] == {"own": 0, "elsewhere": [], "reason": "timeout"}


def test_where_steps_are_required_their_lack_is_a_gap_and_not_knowing_is_no_pass(capsys):
    done = summarise(STEPS, FILES, Wanted(5, steps=StepsCheck.REQUIRE))
    coverage.write("text", done)
    assert capsys.readouterr().out.endswith(
        "rules/a b.yaml:24:14: degraded: alert Unsure could not be checked: timeout [degraded]\n"
        "Not covered: 1 of 3 alerts covered, 1 could not be checked, wanted: 100%.\n"
    )
    assert levels(coverage.as_sarif(done)) == [("runbook-without-steps", "error")]
    assert [each["state"] for each in done.to_dict()["details"]] == [
        "covered",
        "missing",
        "degraded",
    ]


def test_a_known_lack_of_steps_is_no_finding():
    known = Baseline({("Vague", "rules/a b.yaml"): 1})
    done = summarise(STEPS, FILES, Wanted(5, baseline=known))
    assert (levels(coverage.as_sarif(done)), len(done.known)) == ([], 1)


def test_explained_an_alert_says_how_many_steps_there_are(capsys):
    enough = checked("Enough", 4, runbook=FOUND, hit=FINE.hit, queries=("q",), steps=Steps(3))
    coverage.write("text", summarise([enough], FILES, Wanted(5)), explain=True)
    assert "  its runbook gives 3 steps\n" in capsys.readouterr().out


def test_files_that_were_not_checked_are_in_every_report(capsys):
    broken = (
        BrokenFile("r/c \udcff.yaml", "r/c \udcff.yaml:7: neither YAML nor JSON\x1b", 7),
        BrokenFile("*.rules", "no rules in *.rules: no file matches"),
    )
    done = summarise([FINE], RuleFiles((), FILES.files, broken=broken), Wanted(5))
    coverage.write("text", done)
    assert capsys.readouterr().out == "Not covered: 1 of 1 alert covered, 2 files not checked.\n"
    log = coverage.as_sarif(done)
    assert_sarif(log)
    assert levels(log) == [("rules-unreadable", "error")] * 2
    places = [result["locations"][0]["physicalLocation"] for result in log["runs"][0]["results"]]
    assert [place["region"]["startLine"] for place in places] == [7, 1]
    assert "\x1b" not in json.dumps(log)
