"""``docs/measure.md`` says what the command does."""

from __future__ import annotations

import json
import re
from pathlib import Path

from typer.testing import CliRunner

from knowledge_rag.cli.app import command_line
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.datasets import load_datasets
from tests.support.local import PROJECT

PAGE = (PROJECT / "docs" / "measure.md").read_text(encoding="utf-8")


def test_the_row_on_the_page_is_a_row(tmp_path):
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(json.loads(block)))
    (row,) = load_datasets([path])
    assert (row.alert, row.targets[0].lines) == ("RdsWriterDown", (8, 14))


def test_what_can_t_work_is_refused_before_anything_is_asked(tmp_path):
    run = CliRunner()
    for arguments, problem in {
        (): "name a dataset",
        ("a.jsonl", "--compare", "a", "b"): "leave out the datasets",
        ("--compare", "a", "b", "--seed", "0"): "--compare asks nothing: leave --seed out",
        ("--compare", "a", "b", "--json", "--plot", "a.svg"): "leave --plot out",
        ("a.jsonl", "--function", "f", "--knowledge-base", "k"): "choose one",
        ("a.jsonl", "--region", "us-east-1"): "--region goes with",
        ("a.jsonl", "--results", str(tmp_path / "none" / "a")): "its folder is missing",
        ("a.jsonl", "--plot", str(tmp_path / "a.gif")): "must end in .svg or .png",
        ("a.jsonl", "b.jsonl", "--results", "./b.jsonl"): "it is a dataset",
        ("a.jsonl", "--results", "a.svg", "--plot", "./a.svg"): "need different files",
    }.items():
        raised = run.invoke(command_line(), ["eval", *arguments]).exception
        assert isinstance(raised, InvalidRequest)
        assert problem in str(raised)


def test_a_folder_that_may_not_be_written_is_refused_before_anything_is_asked(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("os.access", lambda path, _: Path(path) != tmp_path)
    run = CliRunner().invoke(command_line(), ["eval", "a.jsonl", "--results", str(tmp_path / "a")])
    assert str(run.exception).endswith("its folder is not writable")
