"""Skills are right if their steps are on labelled lines; each has the bytes of its digest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from benchmarks.retrieval.skills import as_table, run_skills_bench
from knowledge_rag.evaluation.datasets import Row, Target
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import local_retrieval
from tests.support.local import minilm, write_files
from tests.support.tables import shown

if TYPE_CHECKING:
    from benchmarks.retrieval.skills import SkillsReport

ROWS = (
    Row("disk", "the disk of a node is full", (Target("runbooks/disk.md"),)),
    Row("lines", "the disk of a node is full", (Target("runbooks/disk.md", (1, 2)),)),
    Row(
        "cache", "the disk of a node is full", (Target("runbooks/cache.md"),), ("runbooks/disk.md",)
    ),
    Row("bread", "how do I bake bread", (Target("runbooks/disk.md"),)),
)


def words() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> SkillsReport:
    folder = tmp_path_factory.mktemp("skills")
    documents = {
        "runbooks/disk.md": "# Disk of a node full\n\nThe disk of a node is full.\n\n1. Delete old images.\n",
        "runbooks/cache.md": "# Cache cold\n\n1. Warm the cache.\n",
    }
    path = folder / "team.kb"
    ingest(write_files(folder / "docs", documents), path, embedder=minilm())
    with KnowledgeBase(path, minilm()) as opened, local_retrieval(opened) as retrieval:
        return run_skills_bench(retrieval, path, ROWS, words(), lambda *_: None)


def test_a_skill_is_right_if_a_step_of_it_is_on_a_labelled_line(report):
    assert (report.alerts, report.first, report.named) == (4, 0.5, 0.75)
    assert (report.loaded, round(report.loaded_right, 2)) == (0.75, 0.67)


def test_an_alert_is_asked_for_by_its_name_too(tmp_path):
    documents = {
        "runbooks/disk.md": "# DiskOfNodeFull\n\n1. Delete images.\n",
        "runbooks/b.md": "# B\n\n1. Do.\n",
    }
    path = tmp_path / "team.kb"
    row = Row("disk", "it is bad", (Target("runbooks/disk.md"),), alert="DiskOfNodeFull")
    ingest(write_files(tmp_path / "docs", documents), path, embedder=minilm())
    with KnowledgeBase(path, minilm()) as opened, local_retrieval(opened) as retrieval:
        report = run_skills_bench(retrieval, path, [row], words(), lambda *_: None)
    assert (report.first, report.first_with_name) == (0.0, 1.0)


def test_answers_and_list_are_measured_and_each_digest_is_that_of_the_file(report):
    assert (report.skills, report.same_bytes, report.flagged, report.listed) == (2, 2, 0, 2)
    assert 0 < report.tokens <= report.most_tokens < 500
    assert report.reached
    assert "2 of 2" in shown(as_table(report))


@pytest.mark.parametrize("worse", [{"most_tokens": 501}, {"list_tokens": 2_001}, {"same_bytes": 1}])
def test_what_misses_the_aim(worse, report):
    assert not replace(report, **worse).reached
