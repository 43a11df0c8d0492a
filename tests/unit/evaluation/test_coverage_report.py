"""Known gaps: which findings are new, which entries are mended, and when a build passes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from knowledge_rag.cli.inputs import known_findings
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.core.outcome import Reason
from knowledge_rag.drift.baseline import Baseline
from knowledge_rag.evaluation.coverage_check import (
    FORM,
    Checked,
    Hit,
    Steps,
    as_baseline,
    mended,
    summarise,
)
from knowledge_rag.evaluation.coverage_rules import (
    Alert,
    BrokenFile,
    RuleFiles,
    cloudwatch_incident,
)
from knowledge_rag.evaluation.coverage_runbooks import Gap, read_map
from knowledge_rag.evaluation.coverage_wanted import StepsCheck, Wanted
from knowledge_rag.extract.yaml_nodes import Place


def checked(name, file="a.yaml", line=1, gap=Gap.NO_RUNBOOK):
    alert = Alert(name, file, Place(line, 1, line, 2), cloudwatch_incident(name, ""))
    hit = None if gap else Hit("q", 1, Citation("a.md", 1, 2))
    return Checked(alert, hit=hit, gap=gap, message=f"{name} is bad" if gap else "")


COVERED = checked("Fine", gap=None)
A, B, A2 = checked("A"), checked("B"), checked("A", line=9, gap=Gap.NOT_FOUND)


def test_what_is_written_is_read_again_and_covers_exactly_itself(tmp_path):
    path = tmp_path / "known.json"
    path.write_text(as_baseline([B, A, A2]))
    assert json.loads(path.read_text()) == {
        "version": 1,
        "known": [
            {"alert": "A", "file": "a.yaml", "gap": "runbook-not-found", "count": 2},
            {"alert": "B", "file": "a.yaml", "gap": "alert-without-runbook"},
        ],
    }
    baseline = known_findings(path, FORM, writes=False)
    assert baseline.split([A, A2, B]) == ((), (A, A2, B))
    again = tmp_path / "again.json"
    again.write_text(as_baseline([A2, B, A]))
    assert baseline == known_findings(again, FORM, writes=False)


def test_one_more_rule_of_a_known_name_is_a_new_gap():
    baseline = Baseline({("A", "a.yaml"): 1})
    assert baseline.split([A, A2, B]) == ((A2, B), (A,))


def test_lines_may_move_and_files_may_not():
    baseline = Baseline({("A", "a.yaml"): 1})
    assert baseline.split([checked("A", line=77)])[0] == ()
    moved = checked("A", file="b.yaml")
    assert baseline.split([moved])[0] == (moved,)


def test_entries_that_are_gaps_no_more_are_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "unread.yaml").write_text("")
    known = {("A", "a.yaml"): 2, ("B", "a.yaml"): 1, ("C", "unread.yaml"): 1, ("D", "gone.yaml"): 1}
    gone = mended(Baseline(known), [A], ["a.yaml"])
    assert gone == (("A", "a.yaml"), ("B", "a.yaml"), ("D", "gone.yaml"))


@pytest.mark.parametrize(
    ("gaps", "options", "passes"),
    [
        ((), {}, True),
        ((A,), {}, False),
        ((A,), {"threshold": 0.5}, True),
        ((A, B), {"threshold": 0.5}, False),
        ((A,), {"baseline": Baseline({("A", "a.yaml"): 1})}, True),
        ((A, B), {"baseline": Baseline({("A", "a.yaml"): 1})}, False),
        ((A, B), {"baseline": Baseline({("A", "a.yaml"): 1}), "threshold": 0.1}, False),
        ((A,), {"baseline": Baseline({("A", "a.yaml"): 1}), "threshold": 0.6}, False),
        ((A,), {"baseline": Baseline()}, False),
    ],
)
def test_a_build_passes_by_share_or_by_baseline(gaps, options, passes):
    wanted = Wanted(5, **options)
    assert summarise([COVERED, *gaps], RuleFiles((), ("a.yaml",)), wanted).passed is passes


VAGUE = replace(COVERED, steps=Steps(0))


@pytest.mark.parametrize(
    ("steps", "known", "passes", "figures"),
    [
        (StepsCheck.WARN, {}, True, (2, 0, 1)),
        (StepsCheck.REQUIRE, {}, False, (1, 1, 0)),
        (StepsCheck.WARN, {("Fine", "a.yaml"): 1}, True, (2, 0, 0)),
        (StepsCheck.REQUIRE, {("Fine", "a.yaml"): 1}, True, (1, 0, 0)),
    ],
)
def test_a_runbook_without_steps_fails_where_steps_are_required(steps, known, passes, figures):
    wanted = Wanted(5, steps=steps, baseline=Baseline(known) if known else None)
    done = summarise([VAGUE, replace(COVERED, steps=Steps(2))], RuleFiles((), ("a.yaml",)), wanted)
    assert (done.passed, len(done.known), done.mended) == (passes, len(known), ())
    assert (done.covered, len(done.gaps), len(done.warnings)) == figures


def test_what_a_baseline_knows_is_used_up_by_gaps_before_warnings():
    twice = [replace(VAGUE, alert=A.alert), A2]
    wanted = Wanted(5, baseline=Baseline({("A", "a.yaml"): 1}))
    done = summarise(twice, RuleFiles((), ("a.yaml",)), wanted)
    assert ([each.gap for each in done.known], done.gaps) == ([Gap.NOT_FOUND], ())
    assert [each.alert.name for each in done.warnings] == ["A"]


def test_a_run_that_looks_for_no_steps_calls_no_entry_of_steps_mended(tmp_path):
    path = tmp_path / "known.json"
    path.write_text(as_baseline([VAGUE.needing_steps(), B]))
    assert [entry["gap"] for entry in json.loads(path.read_text())["known"]] == [
        "alert-without-runbook", "runbook-without-steps",
    ]  # fmt: skip
    baseline, files = known_findings(path, FORM, writes=False), RuleFiles((), ("a.yaml",))
    for steps, check in ((None, StepsCheck.OFF), (Steps(0), StepsCheck.WARN)):
        now = replace(COVERED, steps=steps)
        done = summarise([now], files, Wanted(5, steps=check, baseline=baseline))
        assert done.mended == (("B", "a.yaml"),)
    unsure = replace(COVERED, steps=Steps(0, reason=Reason.TIMEOUT))
    assert summarise([unsure], files, Wanted(5, baseline=baseline)).mended == (("B", "a.yaml"),)
    done = summarise([replace(COVERED, steps=Steps(1))], files, Wanted(5, baseline=baseline))
    assert done.mended == (("B", "a.yaml"), ("Fine", "a.yaml"))


def test_files_that_can_t_be_read_let_no_build_pass():
    rules = RuleFiles((), ("a.yaml",), broken=(BrokenFile("b.yaml", "b.yaml:7: odd", 7),))
    done = summarise([COVERED], rules, Wanted(5, threshold=0))
    assert (done.passed, done.covered, done.share) == (False, 1, 1.0)
    assert done.to_dict()["unreadable"] == [
        {"file": "b.yaml", "line": 7, "message": "b.yaml:7: odd"}
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", ":1: no JSON"),
        ("[]", ":1: no baseline of version 1"),
        ('{"version": 2, "known": []}', ":1: no baseline of version 1"),
        ('{"version": 1, "known": [{"alert": "A"}]}', ": an entry is alert, file"),
        ('{"version": 1, "known": [{"alert": "A", "file": "f", "count": 0}]}', ": an entry is"),
        ("[" * 100_000, ":1: no JSON"),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path, text, problem):
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(InvalidRequest) as raised:
        known_findings(path, FORM, writes=False)
    assert str(raised.value).startswith(f"{path}{problem}")
    with pytest.raises(UnreadableDocument, match=r"No such file .*; make it with --write-baseline"):
        known_findings(tmp_path / "none", FORM, writes=False)


def test_a_baseline_is_written_over_no_other_file(tmp_path):
    path = tmp_path / "known.json"
    known_findings(path, FORM, writes=True)
    path.write_text("")
    known_findings(path, FORM, writes=True)
    path.write_text(as_baseline([A]))
    known_findings(path, FORM, writes=True)
    path.write_text("groups: []\n")
    with pytest.raises(
        InvalidRequest, match=r"known\.json is not a baseline, so it is not overwritten"
    ):
        known_findings(path, FORM, writes=True)


def test_a_map_is_names_and_files(tmp_path):
    path = tmp_path / "map.yaml"
    path.write_text("A: a.md#Steps\nB: b.md\n")
    assert read_map(path) == {"A": "a.md#Steps", "B": "b.md"}
    for text, problem in {
        "- a": ":1: a map has entries `AlertName: file#heading`",
        "A: b\nC: [d]\n": ":2: 'C' has no file",
        "A:\n": ":1: 'A' has no file",
    }.items():
        path.write_text(text)
        with pytest.raises(InvalidRequest) as raised:
            read_map(path)
        assert str(raised.value) == f"{path}{problem}"
    path.write_text("# nothing yet\n")
    assert read_map(path) == {}
