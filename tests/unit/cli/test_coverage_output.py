"""The outcome of ``coverage`` as text, SARIF and JUnit's XML."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from knowledge_rag.cli import coverage_output
from knowledge_rag.cli.coverage_junit import as_junit
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import Reason
from knowledge_rag.evaluation.coverage_alerts import Alert, cloudwatch_incident
from knowledge_rag.evaluation.coverage_baseline import Baseline
from knowledge_rag.evaluation.coverage_report import summarise
from knowledge_rag.evaluation.coverage_run import Checked, Hit
from knowledge_rag.evaluation.coverage_runbooks import Gap, NamedBy, Runbook
from knowledge_rag.evaluation.coverage_yaml import Place
from knowledge_rag.evaluation.datasets import Target

POSITION = {"type": "integer", "minimum": 1}
PLACE = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "required": ["artifactLocation", "region"],
            "properties": {
                "artifactLocation": {
                    "required": ["uri"],
                    "properties": {"uri": {"type": "string", "pattern": r"^[^\s\\<>{}|^`]+$"}},
                },
                "region": {
                    "required": ["startLine", "endLine", "startColumn", "endColumn"],
                    "additionalProperties": POSITION,
                },
            },
        }
    },
}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "minItems": 1,
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name", "rules"],
                                "properties": {"rules": {"items": {"required": ["id"]}}},
                            }
                        },
                    },
                    "results": {
                        "items": {
                            "required": ["ruleId", "message", "locations", "level"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"required": ["text"]},
                                "locations": {"minItems": 1, "items": PLACE},
                            },
                        }
                    },
                },
            },
        },
    },
}
"""What the standard (SARIF 2.1.0, sections 3.13 to 3.30) wants of a log with places in files."""


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
KNOWN = Baseline({("Lost", "b.yaml"): 1, ("Gone", "b.yaml"): 1})


@pytest.fixture
def done():
    return summarise([FINE, GAP, LOST], ["rules/a b.yaml", "b.yaml"], top=5, baseline=KNOWN)


def test_text_has_a_line_for_each_gap_that_editors_open(done, capsys):
    coverage_output.write("text", done)
    printed = capsys.readouterr()
    assert printed.out == (
        "rules/a b.yaml:9:14: error: alert Bad\\x07\\u202e has no runbook [alert-without-runbook]\n"
        "b.yaml:12:14: known: alert Lost does not find a.md [runbook-not-found]\n"
        "Not covered: 1 of 3 alerts covered, 1 new, 1 known.\n"
    )
    assert printed.err == "mended Gone in b.yaml: take it out of the baseline\n"


def test_explained_each_alert_says_what_was_asked_and_found(capsys):
    elsewhere = Citation("b.md", 4, 5)
    late = checked("Late", 4, runbook=FOUND, hit=FINE.hit, queries=("p", "q"), instead=(elsewhere,))
    coverage_output.write("text", summarise([late], [], top=5), explain=True)
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
    coverage_output.write("text", summarise([odd], [], top=5), explain=True)
    printed = capsys.readouterr().out
    assert printed.split("\n")[:3] == [
        "rules/a b.yaml:4: Bad Covered: 9 of 9 alerts covered.\\x1b[2J x",
        "  asked: p q\\x1b[31m [red]r[/red]",
        "  found: a.md, lines 2-3",
    ]


def test_what_could_not_be_found_out_is_said_and_is_no_error(capsys):
    coverage_output.write("text", summarise([FINE, SLOW], [], top=5))
    assert capsys.readouterr().out == (
        "b.yaml:15:14: degraded: alert Slow could not be checked: timeout [degraded]\n"
        "Not covered: 1 of 2 alerts covered, 1 could not be checked, wanted: 100%.\n"
    )


def test_json_has_the_figures_the_gaps_and_how_each_runbook_was_found(done, capsys):
    coverage_output.write("json", done)
    told = json.loads(capsys.readouterr().out)
    assert (told["alerts"], told["covered"], told["passed"]) == (3, 1, False)
    assert (told["share"], told["threshold"]) == (0.333333, 0.0)
    assert [each["kind"] for each in told["findings"]] == ["alert-without-runbook"]
    assert [each["alert"] for each in told["known"]] == ["Lost"]
    assert told["mended"] == [{"alert": "Gone", "file": "b.yaml"}]
    assert told["details"][0] == {
        "alert": "Fine", "file": "rules/a b.yaml", "line": 4, "covered": True,
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
    log = coverage_output.as_sarif(done)
    Draft202012Validator(SARIF).validate(log)
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [gap.value for gap in Gap]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "rules/a%20b.yaml"
    assert (place["region"]["startLine"], place["region"]["startColumn"]) == (9, 14)
    assert "\x07" not in result["message"]["text"]


def test_junit_has_a_test_for_each_alert():
    report = summarise([FINE, GAP, LOST, SLOW], ["rules/a b.yaml", "b.yaml"], top=5, baseline=KNOWN)
    text = as_junit(report)
    assert text.isascii()
    root = ET.fromstring(text)
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "4", "1")
    assert (root.get("errors"), root.get("skipped")) == ("1", "1")
    first, second = root
    assert [first.get("name"), second.get("name")] == ["rules/a b.yaml", "b.yaml"]
    fine, bad, lost, slow = root.iter("testcase")
    assert list(fine) == []
    assert (bad.get("line"), bad.get("file"), bad[0].tag) == ("9", "rules/a b.yaml", "failure")
    assert bad[0].get("type") == "alert-without-runbook"
    assert bad.get("name") == "Bad\ufffd\u202e"
    assert [lost[0].tag, slow[0].tag] == ["skipped", "error"]
