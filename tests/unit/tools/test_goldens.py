"""A comparison fails when behaviour changes, and overlooks what it says it overlooks, nothing else."""

import json
import re
import tomllib

import pytest

from tests.support.local import PROJECT
from tools import goldens
from tools.golden_parts import answers, chunks, infrastructure
from tools.golden_parts.base import Recorded, Run, compact, digest, stable
from tools.goldens import PARTS, Part, differences

FILE = "runbooks/rds-failover.md"


@pytest.fixture
def records(tmp_path, monkeypatch):
    """The recorded files, in a folder that a test may change."""
    monkeypatch.setattr(goldens, "GOLDENS", tmp_path / "goldens")
    return tmp_path / "goldens"


def compared(was, now, part=None, **options):
    found = differences(part or Part("x"), was, Recorded(now), **options)
    return [(each.name, each.where, each.was, each.now) for each in found]


@pytest.mark.usefixtures("records")
class TestCommand:
    def test_what_was_just_recorded_does_not_differ(self, records, capsys):
        assert goldens.main(["record", "chunks"]) == 0
        assert goldens.main(["compare", "chunks"]) == 0
        assert capsys.readouterr().out.endswith("Nothing differs from the record.\n")
        assert (records / "chunks.json").read_text() == (
            PROJECT / "tools/goldens/chunks.json"
        ).read_text()

    def test_a_changed_record_fails_and_names_part_name_and_values(self, capsys):
        goldens.main(["record", "chunks"])
        recorded = goldens.read("chunks")
        chunk = recorded[FILE][3]
        recorded[FILE][3] = "another"
        goldens.write("chunks", recorded)
        capsys.readouterr()
        assert goldens.main(["compare", "--fast", "chunks"]) == 1
        out = capsys.readouterr().out
        assert f'chunks: {FILE}  [3]\n    was "another"\n    is  "{chunk}"\n' in out
        assert "\n1 difference from tools/goldens" in out

    def test_a_part_without_its_data_is_skipped_with_the_reason(self, records, capsys, monkeypatch):
        monkeypatch.setattr(chunks, "SHARED_DATA", records / "none")
        goldens.write("documents", {"thanos": {"files": 1}})
        assert goldens.main(["record", "documents"]) == 0
        assert goldens.main(["compare", "documents"]) == 0
        assert "documents: skipped: " in capsys.readouterr().out
        assert goldens.read("documents") == {"thanos": {"files": 1}}


class TestDifferences:
    def test_names_that_come_and_go_differ(self):
        assert compared({"a": 1}, {"b": 2}) == [("a", "", 1, None), ("b", "", None, 2)]

    def test_a_fast_comparison_misses_no_name_that_it_did_not_record(self):
        assert compared({"a": 1, "b": 1}, {"b": 2}, fast=True) == [("b", "", 1, 2)]

    def test_a_change_deep_inside_is_named_by_its_path(self):
        was, now = ({"a": {"b": [{"c": value}]}} for value in ("x", "y"))
        assert compared(was, now) == [("a", "b[0].c", "x", "y")]

    def test_scores_may_differ_a_little(self):
        assert not compared({"a": 0.712}, {"a": 0.7139})
        assert compared({"a": 0.712}, {"a": 0.715})
        assert compared({"a": 1000}, {"a": 1001})
        assert compared({"a": 1}, {"a": True})
        assert not compared({"a": {"bytes": 1000}}, {"a": {"bytes": 1020}}, PARTS["bundles"])
        assert compared({"a": {"bytes": 1000}}, {"a": {"bytes": 1021}}, PARTS["bundles"])

    def test_what_this_machine_can_t_record_is_not_compared(self):
        now = Recorded({}, {"real *": "its documents are missing"})
        assert not [*differences(Part("x"), {"real 1": 1, "real 2": 2}, now)]


class TestNormalising:
    def test_paths_are_named_and_floats_rounded(self, tmp_path):
        run = Run(tmp_path)
        value = [f"{tmp_path}/data/sample.kb", f"in {PROJECT}/docs", 0.71314]
        assert stable(value, run.places) == ["<run>/data/sample.kb", "in <project>/docs", 0.713]

    def test_a_short_form_differs_wherever_the_value_does(self):
        citation = {"source_file": FILE, "start_line": 3, "end_line": 9, "text_sha256": "a" * 64}
        value = {"citation": {**citation, "section_header": "Diagnosis"}, "text": "x" * 500}
        short = compact(value)
        assert short["citation"] == f"{FILE}:3-9 #{'a' * 12} Diagnosis"
        assert len(short["text"]) < 100
        for name, other in (("end_line", 10), ("text_sha256", "b" * 64), ("section_header", "")):
            assert compact({**value, "citation": {**value["citation"], name: other}}) != short
        assert compact({**value, "text": "x" * 499 + "y"}) != short

    def test_a_template_loses_the_hashes_of_code_alone(self):
        def made(code):
            return {
                "Resources": {
                    f"LiveCurrentVersionA5248B81{code[:32]}": {"Type": "V"},
                    "F": {"Type": "F", "Properties": {"S3Key": f"{code}.zip", "Memory": 512}},
                }
            }

        plain = infrastructure._without_hashes(made("a" * 64))
        assert plain == infrastructure._without_hashes(made("b" * 64))
        assert [*plain["Resources"]] == ["LiveCurrentVersionA5248B81", "F"]
        assert plain["Resources"]["F"]["Properties"]["Memory"] == 512


class TestAnswers:
    def test_one_answer_that_differs_is_named(self, tmp_path):
        was = answers._family("nested", tmp_path)
        now = json.loads(json.dumps(was))
        first, rest = now["answers"][0].split(" ", 1)
        now["answers"][0] = f"{'0000' if first != '0000' else '1111'} {rest}"
        now["text"] = digest("other")
        ((name, _, _, told),) = compared({"nested": was}, {"nested": now}, PARTS["answers"])
        assert name == "nested"
        assert told == "1 differ in text: 0; see --show nested 0"


class TestRecord:
    @pytest.mark.parametrize("part", PARTS)
    def test_every_part_is_recorded_without_anything_of_a_machine(self, part):
        text = (goldens.PROJECT / f"tools/goldens/{part}.json").read_text(encoding="ascii")
        assert json.loads(text)
        assert not re.search(r"/(root|home|Users|tmp|work|var)/|pypi|hunter2-hunter2", text)

    def test_a_wheel_holds_no_tools(self):
        project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
        assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [
            "knowledge_rag",
            "lambdas",
        ]
