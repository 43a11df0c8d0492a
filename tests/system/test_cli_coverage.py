"""Coverage from the command line, as a pull request meets it: real rules, real model, real function."""

from __future__ import annotations

import json

import pytest

from tests.support.cli import assert_one_line
from tests.support.local import RUNBOOKS, write_files

RULES = """groups:
  - name: shop
    rules:
      - alert: RdsFailover
        expr: up == 0
        annotations: {summary: "The writer {{ $labels.db }} is gone and connections are refused"}
      - alert: LambdaThrottled
        expr: throttles > 0
        annotations:
          summary: A function is throttled, raise its concurrency
          runbook_url: https://github.com/example/shop/blob/main/runbooks/lambda-throttling.md
"""
ADDED = """      - alert: QueueStuck
        expr: age > 600
        annotations: {summary: Messages of the queue grow old}
"""
RUNBOOK = (
    "# Queue stuck\n\n## Resolution\n\nMessages of the queue grow old: restart its consumer.\n"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Rules before a change, rules after it, and the runbooks without and with what the change needs."""
    docs = {f"docs/{name}": text for name, text in RUNBOOKS.items()}
    complete = {f"complete/{name}": text for name, text in RUNBOOKS.items()}
    files = {
        "before.yaml": RULES,
        "after.yaml": RULES + ADDED,
        "broken.yaml": RULES + "   - alert: [\n",
        "complete/runbooks/queue-stuck.md": RUNBOOK,
    }
    return write_files(tmp_path_factory.mktemp("coverage"), docs | complete | files)


@pytest.fixture(scope="module")
def red(settled, place):
    """The run on a change that adds an alert and no runbook."""
    return settled("coverage", "--rules", place / "after.yaml", "--docs", place / "docs")


def test_an_alert_without_a_runbook_is_red(red, place):
    assert (red.code, red.err) == (1, "")
    assert red.out == (
        f"{place}/after.yaml:12:16: error: alert QueueStuck has no runbook: no link, and no "
        "document or heading has its name [alert-without-runbook]\n"
        "Not covered: 2 of 3 alerts covered, wanted: 100%.\n"
    )


def test_with_its_runbook_it_is_green(settled, red, place):
    assert red.code == 1
    ran = settled("coverage", "--rules", place / "*.yaml", "--rules", place / "after.yaml",
                  "--docs", place / "complete")  # fmt: skip
    assert ran.code == 2  # one of those files is broken, which is no gap, and hides none
    assert_one_line(ran.err, "broken.yaml:12: neither YAML nor JSON")
    assert ran.out == "Not covered: 5 of 5 alerts covered, 1 file not checked.\n"
    ran = settled(
        "coverage", "--rules", place / "after.yaml", "--docs", place / "complete", "--json"
    )
    assert (ran.code, ran.err) == (0, "")
    assert (ran.json["alerts"], ran.json["covered"], ran.json["passed"]) == (3, 3, True)
    queue = ran.json["details"][2]
    assert (queue["runbook"]["by"], queue["line"]) == ("name", 12)
    assert queue["hit"]["source_file"] == "runbooks/queue-stuck.md"


def test_known_gaps_pass_and_mended_ones_are_told(settled, red, place):
    assert red.code == 1
    known = place / "known.json"
    common = ("coverage", "--rules", place / "after.yaml", "--baseline", known, "--docs")
    ran = settled(*common, place / "docs", "--write-baseline")
    assert (ran.code, ran.err) == (0, f"wrote 1 known gap to {known}\n")
    assert [entry["alert"] for entry in json.loads(known.read_text())["known"]] == ["QueueStuck"]
    ran = settled.each(
        {
            "known": (*common, place / "docs", "--json"),
            "mended": (*common, place / "complete", "--format", "sarif"),
        }
    )
    assert (ran["known"].code, ran["known"].err) == (0, "")
    assert [each["alert"] for each in ran["known"].json["known"]] == ["QueueStuck"]
    assert ran["mended"].code == 0
    assert ran["mended"].json["runs"][0]["results"] == []
    assert ran["mended"].err.startswith("mended QueueStuck in ")


def test_a_runbook_without_steps_is_told_or_fails(settled, place):
    docs = place / "vague"
    write_files(
        docs,
        dict(RUNBOOKS) | {"runbooks/queue-stuck.md": "# Queue stuck\n\n## Resolution\n\nTODO\n"},
    )
    common = ("coverage", "--rules", place / "after.yaml", "--docs", docs)
    told = settled(*common)
    assert told.code == 0
    line = (
        f"{place}/after.yaml:12:16: {{}}: alert QueueStuck finds runbooks/queue-stuck.md, but no step "
        "in it; `knowledge-rag ask` gives none at all [runbook-without-steps]\n"
    )
    assert (
        told.out
        == line.format("warning") + "Covered: 3 of 3 alerts covered, 1 of them without steps.\n"
    )
    required = settled(*common, "--steps", "require")
    assert required.code == 1
    assert (
        required.out == line.format("error") + "Not covered: 2 of 3 alerts covered, wanted: 100%.\n"
    )
    off = settled(*common, "--steps", "off", "--json")
    assert (off.code, off.json["without_steps"], off.json["details"][2]["steps"]) == (0, 0, None)


def test_all_files_that_can_t_be_read_are_told_and_no_baseline_is_written(settled, place):
    write_files(place, {"also.yaml": "groups: 7\n"})
    known = place / "no.json"
    rules = [
        part for name in ("broken", "also", "gone") for part in ("--rules", place / f"{name}.yaml")
    ]
    ran = settled("coverage", *rules, "--docs", place / "docs")
    assert (ran.code, ran.out) == (2, "")
    assert [line.split(": ")[1] for line in ran.err.splitlines()] == [
        f"{place}/broken.yaml:12", f"{place}/also.yaml:1", f"{place}/gone.yaml",
    ]  # fmt: skip
    ran = settled("coverage", *rules, "--rules", place / "before.yaml", "--docs", place / "docs",
                  "--baseline", known, "--write-baseline")  # fmt: skip
    assert (ran.code, ran.out, known.exists()) == (2, "", False)
    assert ran.err.splitlines()[3:] == [
        "error: --write-baseline: the gaps of 3 files that can't be read are unknown"
    ]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--rules", "{}/broken.yaml"), ["broken.yaml:12: neither YAML nor JSON"]),
        (("--rules", "{}/docs"), ["no rules in", "ends in *.json"]),
        (("--rules", "{}/before.yaml", "--write-baseline"), ["name the file with --baseline"]),
        (("--rules", "{}/before.yaml", "--baseline", "{}/none"), ["none: No such file"]),
        (("--rules", "{}/before.yaml", "--map", "{}/before.yaml"), ["has no file"]),
    ],
)
def test_what_can_t_be_checked_is_said_in_one_line(settled, place, arguments, parts):
    named = [argument.format(place) for argument in arguments]
    ran = settled("coverage", *named, "--docs", place / "docs")
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(ran.err, *parts)
