"""``docs/coverage.md`` says what the command does."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from knowledge_rag.cli.app import command_line
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.coverage_runbooks import Gap
from tests.support.local import PROJECT, RUNBOOKS, WordHashes, write_files

PAGE = (PROJECT / "docs/coverage.md").read_text(encoding="utf-8")


def test_every_finding_is_named():
    assert [gap for gap in Gap if f"`{gap}`" not in PAGE] == []


def test_a_search_that_is_degraded_ends_with_3_and_writes_no_baseline(tmp_path, monkeypatch):
    rules = "groups:\n- name: g\n  rules:\n  - {alert: RdsFailover, expr: x}\n"
    write_files(tmp_path, {f"docs/{name}": text for name, text in RUNBOOKS.items()})
    write_files(tmp_path, {"rules.yaml": rules})
    monkeypatch.setenv("KNOWLEDGE_RAG_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("knowledge_rag.local.embeddings.MiniLm", lambda _: WordHashes())
    monkeypatch.setattr("knowledge_rag.orchestrator.budget.Budget.working_seconds", 1e-6)
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
