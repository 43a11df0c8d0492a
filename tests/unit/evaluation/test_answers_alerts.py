"""Answers to labelled alerts, compared with what the alerts' authors wrote."""

import json
from contextlib import closing

import pytest

from knowledge_rag.cli.reports import progress_bar
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.evaluation.answers_alerts import (
    LINKED,
    NAMED,
    UNNAMED,
    AlertsReport,
    Local,
    NearMiss,
    Places,
    Rated,
    as_tables,
    near_misses,
    run_alerts,
    without,
)
from knowledge_rag.evaluation.answers_cases import LabelledLines
from knowledge_rag.evaluation.answers_eval import Tally
from knowledge_rag.evaluation.datasets import Row, Target
from knowledge_rag.evaluation.evaluation_corpus import Documents, ingested
from knowledge_rag.local.store import Tables, open_for_reading
from tests.support.local import WordHashes, write_files
from tests.support.patience import patient_function
from tests.support.tables import shown

DISK, COPY, QUEUE, HANDBOOK = "nodes/DiskFull.md", "copies/DiskFull.md", "queues/runbook.md", "queues/handbook.md"  # fmt: skip
FILES = {
    DISK: (
        "# DiskFull\n\n## Mitigation\n\n1. Rotate the logs of the full volume.\n"
        "2. Remove old core dumps from the volume.\n\n   ```\n   rm /var/crash/*.core\n   ```\n"
    ),
    COPY: "# DiskFull\n\n## Mitigation\n\n1. Make the full volume larger.\n",
    QUEUE: (
        "# Queues\n\n## QueueStuck\n\n- Restart one consumer of the stuck queue.\n\n"
        "## Queue is slow (QueueSlow)\n\n- Add a consumer to the slow queue.\n"
    ),
    HANDBOOK: "# Handbook\n\nThere is no list here.\n",
}
FULL = Row("disk", "The volume is full, rotate its logs.", (Target(DISK),), alert="DiskFull", dataset="nodes")  # fmt: skip
STUCK = Row("stuck", "The queue is stuck, restart a consumer.", (Target(QUEUE, (3, 5)),), alert="QueueStuck", dataset="queues")  # fmt: skip


@pytest.fixture
def documents(tmp_path):
    return Documents.of(write_files(tmp_path / "docs", FILES))


@pytest.fixture
def rate(documents):
    places = Places(LabelledLines(documents.reader()))

    def rate(row, *cited, **more):
        steps = [
            {"action": "x", "citation": {"source_file": name, "start_line": a, "end_line": b}}
            for name, a, b in cited
        ]
        body = {"recommendation": {"guidance": steps, "similar_incidents": []}, "confidence": 0.5}
        return places.rate(row, NAMED, body | more)

    return rate


def test_an_answer_is_compared_with_the_lines_that_its_label_names(rate):
    whole = rate(STUCK, (QUEUE, 5, 5), evidence={"strength": "strong"})
    assert (whole.first, whole.line_recall, whole.precision, whole.whole) == (True, 1, 1, True)
    assert (whole.code_recall, whole.strength) == (None, "strong")
    other = rate(STUCK, (QUEUE, 8, 9), (QUEUE, 5, 5))
    assert (other.first, other.line_recall, other.precision) == (False, 1, 0.5)
    assert (rate(STUCK).precision, rate(STUCK).line_recall, rate(STUCK).strength) == (None, 0, "")


def test_or_with_the_whole_file_and_nine_lines_of_ten_are_whole(rate):
    part = rate(FULL, (DISK, 5, 6))
    assert (part.line_recall, part.code_recall, part.whole) == (2 / 3, 0, False)
    assert rate(FULL, (DISK, 5, 9)).whole
    assert rate(FULL, (DISK, 1, 2)).first
    assert rate(FULL, (QUEUE, 5, 5)).precision == 0


def test_or_with_another_file_that_answers_it_as_well(rate):
    both = Row("disk", "q", (Target(DISK),), (COPY,), alert="DiskFull")
    assert (rate(both, (COPY, 5, 5)).line_recall, rate(FULL, (COPY, 5, 5)).line_recall) == (1, 0)
    assert rate(both, (COPY, 5, 5)).first
    assert not rate(FULL, (COPY, 5, 5)).first


def test_a_place_without_action_lines_is_not_measured(rate):
    row = Row("h", "q", (Target(HANDBOOK),), alert="Handbook")
    assert rate(row, (HANDBOOK, 3, 3)).line_recall is None
    assert not rate(row, (HANDBOOK, 3, 3)).whole


def test_alerts_that_another_project_names_are_no_near_misses(documents):
    lines = LabelledLines(documents.reader())
    named = Row("n", "q", (Target(QUEUE),), alert="queue_slow")
    clone = Row("c", "q", (Target(QUEUE),), (DISK,), alert="Another")
    found = near_misses([FULL, STUCK, named, clone], lines, documents)
    assert found == {"queues": [STUCK, named]}  # DiskFull is a file of copies/, too
    in_a_heading = Row("h", "q", (Target(DISK),), alert="QueueSlow")
    assert near_misses([in_a_heading], lines, documents) == {}


def test_documents_outside_any_folder_are_in_no_project(tmp_path):
    flat = Documents.of(write_files(tmp_path / "flat", {"a.md": "# A\n", "b/c.md": "# C\n"}))
    row = Row("a", "q", (Target("a.md"),), alert="Some")
    assert near_misses([row], LabelledLines(flat.reader()), flat) == {}


@pytest.fixture
def report(documents, tmp_path):
    with (
        patient_function(),
        progress_bar() as progress,
        ingested(documents, tmp_path / "cache", WordHashes()) as opened,
    ):
        local = Local(opened, WordHashes(), SearchType.HYBRID)
        return run_alerts(local, [FULL, STUCK], documents.reader(), progress)


def test_every_alert_is_asked_in_every_run_and_then_without_its_project(report):
    assert [(it.row.id, it.run) for it in report.rated] == [
        (name, run) for run in (NAMED, UNNAMED, LINKED) for name in ("disk", "stuck")
    ]
    assert [(it.row.id, it.run, it.project) for it in report.near] == [
        ("stuck", NAMED, "queues"), ("stuck", UNNAMED, "queues")
    ]  # fmt: skip
    assert not any(near.first.startswith("queues/") for near in report.near)
    assert all(it.first and it.steps for it in report.rated if it.row is STUCK)
    assert report.tally.citations == report.tally.exact > 0
    assert report.missed == ()


def test_a_knowledge_base_without_a_project_holds_everything_else(documents, tmp_path):
    with ingested(documents, tmp_path / "cache", WordHashes()) as opened:
        before = opened.chunks
        with without("queues", Local(opened, WordHashes(), SearchType.HYBRID)) as others:
            path = others.path
            with closing(open_for_reading(path)) as connection:
                assert set(Tables(connection).documents()) == {DISK, COPY}
            assert 0 < others.chunks < before
        assert opened.chunks == before
    assert not path.exists()


def rated(row, confidence, *, first, recall=None, strength="", steps=1):
    precision = 1.0 if steps else None
    return Rated(row, NAMED, steps, first, recall, None, precision, confidence, strength)


def near(confidence, strength="", steps=1):
    return NearMiss(STUCK, NAMED, "queues", steps, "a.md:1-1" if steps else "", confidence, strength)  # fmt: skip


SUMMED = AlertsReport(
    rated=(
        rated(FULL, 0.9, first=True, recall=1.0, strength="strong"),
        rated(FULL, 0.6, first=True, recall=0.5, strength="strong"),
        rated(STUCK, 0.6, first=False, recall=0.0, strength="partial"),
        rated(STUCK, 0.0, first=False, strength="thin", steps=0),
    ),
    near=(near(0.5, "partial"), near(0.0, steps=0)),
    tally=Tally(citations=7, exact=6, p50_ms=1.0),
)


def test_figures_are_means_over_the_alerts_that_they_can_be_measured_on():
    found = SUMMED.completeness(NAMED)
    assert list(found) == ["nodes", "queues", "all"]
    whole = found["all"]
    assert (whole.alerts, whole.first, whole.lost, whole.measured) == (4, 0.5, 0.25, 3)
    assert (whole.lines, whole.code, whole.precision) == (0.5, None, 1.0)
    assert whole.whole == pytest.approx(1 / 3)
    misses = SUMMED.near_misses(NAMED)
    assert (misses["queues"]["asked"], misses["all"]["given"]) == (2, 1)


def test_confidence_is_judged_by_the_answers_that_have_steps():
    # right: .9 and .6; wrong: .6, and the near miss with .5
    assert SUMMED.auroc(NAMED) == (1 + 1 + 0.5 + 1) / 4
    assert SUMMED.auroc(UNNAMED) is None


def test_each_strength_says_what_share_of_its_answers_was_right():
    assert [list(each.values()) for each in SUMMED.reliability] == [
        [NAMED, "strong", 2, 1.0, 0.5, 0], [NAMED, "partial", 1, 0, 0, 1]
    ]  # fmt: skip


def test_the_json_has_the_figures_and_every_answer():
    found = json.loads(json.dumps(SUMMED.to_dict()))
    assert found["runs"][NAMED]["all"]["whole"] == 0.333333
    assert found["runs"][LINKED]["all"]["first"] is None
    assert found["near_misses"][NAMED]["all"] == {"asked": 2, "given": 1}
    assert (found["reached"], found["missed"]) == (False, ["citations exact"])
    assert found["answers"][0] == {
        "id": "disk", "dataset": "nodes", "run": NAMED, "steps": 1, "first": True, "line_recall": 1.0,
        "code_recall": None, "precision": 1.0, "confidence": 0.9, "strength": "strong",
    }  # fmt: skip
    assert found["near_miss_answers"][0]["first"] == "a.md:1-1"


def test_people_see_them_as_tables():
    text = shown(as_tables(SUMMED), 100)
    for part in ("alerts with their names and a link", "near misses", "AUROC", "right and whole"):
        assert part in text
    assert "│ named   │ 0.875 │" in text
    assert text.rstrip().endswith("missed: citations exact")
