"""What each part of the search brings, on a handful of documents."""

from __future__ import annotations

import json

import pytest

from benchmarks.retrieval.ablation import as_tables, run_ablation, sets_of
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.datasets import Row, Target
from knowledge_rag.evaluation.floor import Question
from tests.support.knowledge_bases import knowledge_base_of
from tests.support.local import WordHashes
from tests.support.tables import shown

TOPICS = ("disk", "queue", "certificate", "replica", "throttle", "secret")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    files = {
        f"runbooks/Kube{topic.title()}Full.md": f"# Runbook\n\nWhat to do about the {topic}.\n"
        for topic in TOPICS
    }
    with knowledge_base_of(files, tmp_path_factory.mktemp("ablation"), WordHashes()) as opened:
        yield opened.index


def row(number, *, alert=True):
    topic = TOPICS[number % len(TOPICS)]
    name = f"Kube{topic.title()}Full"
    return Row(
        id=f"q-{number}",
        query=f"the {topic} is in trouble",
        targets=(Target(f"runbooks/{name}.md"),),
        alert=name if alert else "",
    )


ROWS = [row(number) for number in range(30)] + [row(n, alert=False) for n in range(100, 120)]


@pytest.fixture(scope="module")
def ablation(index):
    return run_ablation(index, WordHashes(), ROWS, again=True)


def test_alerts_are_asked_without_and_with_their_name_and_others_apart():
    sets = {
        each.name: [row.question(with_alert=each.with_alert) for row in each.rows]
        for each in sets_of(ROWS)
    }
    assert {name: len(asked) for name, asked in sets.items()} == {
        "alerts": 30,
        "alerts, named": 30,
        "questions": 20,
    }
    assert sets["alerts, named"][0] == "KubeDiskFull the disk is in trouble"


def test_every_question_counts_in_one_half_chosen_by_its_id(ablation):
    for finding in ablation.findings:
        for name, total in (("alerts", 30), ("alerts, named", 30), ("questions", 20)):
            halves = finding.choosing[name].questions, finding.held_out[name].questions
            assert sum(halves) == total
    choosing = sum(Question(f"q-{number}", "").chooses for number in range(30))
    assert ablation.findings[0].choosing["alerts"].questions == choosing


def test_an_identifier_in_a_file_name_is_found_once_it_is_split_and_stored(ablation):
    hits = {
        each.part.name: each.held_out["alerts, named"].hits["hit@1"] for each in ablation.findings
    }
    assert hits["context prefix"] == hits["evidence floor"] == 1.0


def test_each_part_but_the_first_of_its_kind_is_held_beside_one_before_it(ablation):
    names = [finding.part.name for finding in ablation.findings]
    alone = {finding.part.name for finding in ablation.findings if not finding.part.on}
    assert alone == {"plain BM25", "vectors of lines"}
    for place, finding in enumerate(ablation.findings):
        if finding.part.on:
            assert finding.part.on in names[:place]
            gain = finding.held_out["alerts"].gain
            before = ablation.findings[names.index(finding.part.on)].held_out["alerts"].hits
            after = finding.held_out["alerts"].hits
            for each in gain.differences:
                assert each.difference == pytest.approx(after[each.metric] - before[each.metric])
                assert each.low <= each.difference <= each.high


def test_chunks_are_embedded_again_only_when_asked_for(index, ablation):
    short = run_ablation(index, WordHashes(), ROWS)
    again = {"vectors of lines", "vectors with prefix", "prefix's own vector"}
    left = [each.part.name for each in ablation.findings if each.part.name not in again]
    assert [each.part.name for each in short.findings] == left
    last = [run.findings[-1].held_out["alerts"].hits for run in (short, ablation)]
    assert last[0] == last[1]


def test_the_report_is_json_and_two_tables(ablation):
    report = json.loads(json.dumps(ablation.to_dict(), allow_nan=False))
    assert report["chunks"] == len(TOPICS)
    assert report["parts"][-1]["part"] == "evidence floor"
    assert set(report["parts"][-1]["held_out"]["alerts"]["gain"]) == {"hit@1", "hit@5"}
    text = shown(as_tables(ablation), 140)
    assert "hit@1 / hit@5 on the held-out half, 6 chunks" in text
    assert "pairs of words" in text


def test_without_questions_there_is_nothing_to_ask(index):
    with pytest.raises(InvalidRequest):
        run_ablation(index, WordHashes(), [])
