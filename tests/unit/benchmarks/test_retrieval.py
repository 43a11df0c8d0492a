"""Others' chunks are given the lines that they stand on, and are judged as ours are; skills are counted."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from benchmarks.retrieval import peers as peers_bench
from benchmarks.retrieval import skills
from benchmarks.retrieval.located import AIM, OWN, bare_sections, fixed, joined, run_located_bench
from benchmarks.retrieval.peers import Found, PeerRetrieval
from knowledge_rag.evaluation.datasets import Row, Target
from knowledge_rag.evaluation.evaluation_corpus import Documents
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import local_retrieval
from tests.support.local import CORPUS, RUNBOOKS, WordHashes, minilm, write_files
from tests.support.shared_data import shared_data
from tests.support.tables import shown

TEXT = "# A\n\n1. One\n   two.\n\n## B\n\nThree.\n"


def test_cutters_name_the_lines_that_their_passages_are_from():
    assert [cut.lines for cut in fixed("one\n" * 700)] == [(1, 300), (241, 540), (481, 700)]
    assert joined(TEXT) == [("# A 1. One two. ## B Three.", (1, 8))]
    assert bare_sections(TEXT) == [("1. One\ntwo.", (3, 4)), ("Three.", (8, 8))]


@pytest.mark.parametrize(
    "docs",
    [
        "sample",
        "retrieval/docs/prometheus-operator-runbooks",
        pytest.param("retrieval/docs", marks=pytest.mark.nightly),
    ],
)
def test_passages_of_real_runbooks_are_located_exactly_and_changed_ones_never(docs):
    report = run_located_bench(CORPUS if docs == "sample" else shared_data(docs), OWN, answers=20)
    assert [row.name for row in report.rows] == list(OWN)
    for row in report.rows:
        assert (row.wrong, row.changed_located) == (0, 0), row
        assert row.share >= AIM, row
        assert row.changed > row.passages > 50


def finding(*found):
    return lambda _, limit: found[:limit]


def test_ours_and_the_peers_that_are_installed_are_judged_by_the_same_questions(
    tmp_path, monkeypatch
):
    documents = Documents.of(write_files(tmp_path, RUNBOOKS))
    name = "runbooks/lambda-throttling.md"
    row = Row("1", "throttled", (Target(name),), dataset="alerts")
    line = "Raise the reserved concurrency."

    def absent(*_):
        raise ImportError("not here")

    def present(texts, _):
        assert texts[name] == RUNBOOKS[name]
        return finding(Found(name, line), Found(name, line[:10]))

    monkeypatch.setattr(peers_bench, "PEERS", {"there": present, "not there": absent})
    ours = PeerRetrieval(finding(), {})
    report = peers_bench.run_peers_bench(ours, [row], documents, WordHashes(), lambda *_: None)
    assert report.missing == ("not there",)
    one, other = report.rows
    assert (one.name, one.hit_5, other.name, other.hit_1) == ("knowledge-rag", 0.0, "there", 1.0)
    assert other.exact == 0.5
    assert "not installed: not there" in shown(peers_bench.as_table(report), 120)


def test_a_skill_is_right_if_a_step_of_it_is_on_a_labelled_line(tmp_path):
    disk, cache = "runbooks/disk.md", "runbooks/cache.md"
    full = "the disk of a node is full"
    rows = (
        Row("disk", full, (Target(disk),)),
        Row("lines", full, (Target(disk, (1, 2)),)),
        Row("cache", full, (Target(cache),), (disk,)),
        Row("bread", "how do I bake bread", (Target(disk),)),
    )
    documents = {
        disk: "# Disk of a node full\n\nThe disk of a node is full.\n\n1. Delete old images.\n",
        cache: "# Cache cold\n\n1. Warm the cache.\n",
    }
    words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    path = tmp_path / "team.kb"
    ingest(write_files(tmp_path / "docs", documents), path, embedder=minilm())
    with KnowledgeBase(path, minilm()) as opened, local_retrieval(opened) as retrieval:
        report = skills.run_skills_bench(retrieval, path, rows, words, lambda *_: None)
    assert (report.alerts, report.first, report.named) == (4, 0.5, 0.75)
    assert (report.loaded, round(report.loaded_right, 2)) == (0.75, 0.67)
    assert (report.skills, report.same_bytes, report.flagged, report.listed) == (2, 2, 0, 2)
    assert 0 < report.tokens <= report.most_tokens < 500
    assert "2 of 2" in shown(skills.as_table(report))
