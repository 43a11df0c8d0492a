"""Labelled alerts go the whole way to a recommendation, and what it cites is read from disk again."""

import io
from contextlib import contextmanager

import pytest
from rich.console import Console

from knowledge_rag.evaluation.answers_bench import Known, as_table, run_answers_bench
from knowledge_rag.evaluation.datasets import Row, Target
from knowledge_rag.evaluation.evaluation_corpus import Documents, ingested
from knowledge_rag.local.local_retrieval import local_retrieval
from tests.support.local import RUNBOOKS, WordHashes, write_files
from tests.support.patience import patient_function

RDS, LAMBDA = "runbooks/rds-failover.md", "runbooks/lambda-throttling.md"
ROWS = (
    Row("1", "The writer is gone, connections are refused.", (Target(RDS),), alert="RdsFailover", dataset="rds"),
    Row("2", "Lambda reserved concurrency throttling.", (Target(RDS),), (LAMBDA,), dataset="lambda"),
    Row("3", "The coffee machine is out of beans.", (Target(RDS),), dataset="lambda"),
)  # fmt: skip


@contextmanager
def asked(folder, cache):
    documents = Documents.of(folder)
    with (
        patient_function(),
        ingested(documents, cache, WordHashes(), None) as knowledge_base,
        local_retrieval(knowledge_base) as retrieval,
    ):
        yield (
            documents,
            lambda check, *how: run_answers_bench(retrieval, ROWS, check, lambda *_: None, *how),
        )


@pytest.fixture
def folder(tmp_path):
    return write_files(tmp_path / "docs", RUNBOOKS)


def test_steps_are_counted_by_what_answers_the_alert(folder, tmp_path):
    with asked(folder, tmp_path / "cache") as (documents, run):
        report = run(documents.reader())
    rds, other, whole = report.rows
    assert (rds.name, rds.alerts, rds.answered, rds.first, rds.right) == ("rds", 1, 1.0, 1.0, 1.0)
    assert (other.alerts, other.answered, other.first) == (2, 0.5, 0.5)
    assert (whole.name, whole.alerts, whole.cited) == ("all", 3, rds.cited + other.cited)
    assert whole.exact == 1
    assert report.reached
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(as_table(report))
    shown = console.export_text()
    assert "with their names" in shown
    assert f"{whole.cited} ranges of lines read from disk again" in shown
    assert report.to_dict()["rows"][0]["enough"] == rds.enough


def test_a_cited_line_that_is_no_longer_there_is_an_aim_missed(folder, tmp_path):
    with asked(folder, tmp_path / "cache") as (documents, run):
        text = RUNBOOKS[RDS].replace("Promote the replica", "Promote a replica")
        (folder / RDS).write_text(text)
        report = run(documents.reader())
    assert report.rows[0].exact < 1
    assert not report.reached


def test_names_can_be_left_out(folder, tmp_path):
    with asked(folder, tmp_path / "cache") as (documents, run):
        report = run(documents.reader(), Known(name=False))
    assert "without their names" in str(as_table(report).title)


def test_alerts_may_link_what_answers_them(folder, tmp_path):
    with asked(folder, tmp_path / "cache") as (documents, run):
        plain, linked = run(documents.reader()), run(documents.reader(), Known(link=True))
    # the second is about another page by its words, the first document that answers it is linked
    assert (plain.rows[1].right, linked.rows[1].right) == (1.0, 1.0)
    assert linked.rows[1].answered == 1.0 > plain.rows[1].answered
    assert "and a link" in str(as_table(linked).title)
