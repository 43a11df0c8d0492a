"""``docs/coverage.md`` and the workflow to copy say what the command does."""

from __future__ import annotations

import json
import re
import shlex

import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from knowledge_rag.cli.app import command_line
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.coverage_runbooks import Gap
from tests.support.local import PROJECT, RUNBOOKS, WordHashes, write_files

PAGE = (PROJECT / "docs/coverage.md").read_text(encoding="utf-8")
WORKFLOW = PROJECT / "examples/github-actions/alert-coverage.yml"


def parses(arguments):
    command = get_command(command_line())
    for name in arguments[:1]:
        command = command.commands[name]
    if hasattr(command, "commands"):
        command, arguments = command.commands[arguments[1]], arguments[1:]
    return command.make_context(arguments[0], list(arguments[1:]))


def test_every_option_and_finding_is_named_and_every_command_there_has_its_options():
    shown = set(
        re.findall(r"--[a-z-]+", CliRunner().invoke(command_line(), ["coverage", "--help"]).output)
    )
    assert shown - {"--help"} <= set(re.findall(r"--[a-z-]+", PAGE))
    for gap in Gap:
        assert f"`{gap}`" in PAGE
    commands = re.findall(r"^\$ knowledge-rag (.*)$", PAGE, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        assert parses(shlex.split(command))


def test_the_workflow_s_commands_are_commands_and_the_check_may_fail_it():
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    steps = [step["run"] for step in workflow["jobs"]["coverage"]["steps"] if "run" in step]
    ours = [step.split(" > ")[0] for step in steps if step.startswith("knowledge-rag ")]
    assert [parses(shlex.split(each)[1:]).info_name for each in ours] == [
        "install", "coverage", "coverage",
    ]  # fmt: skip
    assert "||" not in steps[2]
    assert set(workflow["on" if "on" in workflow else True]) == {"pull_request"}


def test_a_search_that_is_degraded_ends_with_3_and_writes_no_baseline(tmp_path, monkeypatch):
    rules = "groups:\n- name: g\n  rules:\n  - {alert: RdsFailover, expr: x}\n"
    write_files(tmp_path, {f"docs/{name}": text for name, text in RUNBOOKS.items()})
    write_files(tmp_path, {"rules.yaml": rules})
    monkeypatch.setenv("KNOWLEDGE_RAG_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("knowledge_rag.local.embeddings.MiniLm", lambda _: WordHashes())
    monkeypatch.setattr("knowledge_rag.orchestrator.retrieval.Budget.working_seconds", 1e-6)
    known = tmp_path / "known.json"
    done = CliRunner().invoke(
        command_line(),
        ["coverage", "--rules", str(tmp_path / "rules.yaml"), "--docs", str(tmp_path / "docs"),
         "--baseline", str(known), "--write-baseline", "--json"],
    )  # fmt: skip
    assert done.exit_code == 3
    told = json.loads(done.stdout)
    assert [each["reason"] for each in told["degraded"]] == ["timeout"]
    assert (told["findings"], told["passed"], known.exists()) == ([], False, False)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--rules", "a", "--docs", ".", "--write-baseline"), "name the file with --baseline"),
        (
            ("--rules", "a", "--docs", ".", "--write-baseline", "--baseline", "none/b"),
            "its folder is missing",
        ),
    ],
)
def test_what_can_t_work_is_refused_before_anything_is_asked(arguments, problem):
    raised = CliRunner().invoke(command_line(), ["coverage", *arguments]).exception
    assert isinstance(raised, InvalidRequest)
    assert problem in str(raised)
