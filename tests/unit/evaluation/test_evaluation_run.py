"""Evaluating through the real function: here, and as it is deployed."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from contextlib import closing

import pytest

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.evaluation import evaluation_corpus
from knowledge_rag.evaluation.datasets import Row, Target
from knowledge_rag.evaluation.evaluation_corpus import Documents, doubts_about_labels, ingested
from knowledge_rag.evaluation.evaluation_report import Setup, summarise
from knowledge_rag.evaluation.evaluation_run import ask_all, judge
from knowledge_rag.local.bedrock.server import LocalBedrock
from knowledge_rag.local.errors import UnusableCorpus
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
from tests.support.local import RUNBOOKS, WordHashes, write_files
from tests.support.retrieval_endpoints import endpoint

RDS = "runbooks/rds-failover.md"
UNAVAILABLE = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
ROWS = (
    Row("q1", "Promote the replica with aws rds failover-db-cluster", (Target(RDS, (12, 14)),)),
    Row("q2", "Raise the reserved concurrency", (Target("runbooks/lambda-throttling.md"),)),
    Row("q3", "zebras galore", (Target("runbooks/zebras.md"),)),
)
SETUP = Setup("local", "hybrid", 10, with_alert=False, rows_sha256="r", docs_sha256="d")


@pytest.fixture
def documents(tmp_path):
    return Documents.of(write_files(tmp_path / "docs", RUNBOOKS))


@pytest.fixture
def knowledge_base(documents, tmp_path):
    with ingested(documents, tmp_path / "cache", WordHashes()) as opened:
        yield opened


def test_every_question_goes_through_the_function_and_is_judged(documents, knowledge_base):
    seen = []
    with local_retrieval(knowledge_base) as retrieval:
        asked = ask_all(retrieval, ROWS, max_results=10, progress=lambda *now: seen.append(now))
    assert seen == [(n, 3, "asking") for n in range(3)]
    assert [each.outcome.status for each in asked] == [Status.OK, Status.OK, Status.NO_MATCH]
    first, second, third = judge(asked, documents.reader())
    assert (first.rank, first.overlap, first.measures["hit@1"]) == (1, 1.0, 1.0)
    assert (second.rank, second.overlap) == (1, None)
    assert (third.rank, third.exact, third.measures["ndcg@10"]) == (None, (), 0.0)
    found = summarise(SETUP, (first, second, third)).figures
    assert found.measures["hit@5"] == pytest.approx(2 / 3, abs=1e-6)
    assert found.citation_exact == 1.0
    assert found.zero_result_rate == pytest.approx(1 / 3, abs=1e-6)


@pytest.mark.parametrize("change", [b"Promote", b"", b"gone"])
def test_a_file_that_is_not_what_was_cited_makes_the_citation_inexact(
    documents, knowledge_base, change
):
    with local_retrieval(knowledge_base) as retrieval:
        asked = ask_all(retrieval, ROWS[:1], max_results=1)
    assert judge(asked, documents.reader())[0].exact == (True,)
    path = documents.files[RDS].path
    if change == b"gone":
        path.unlink()
    else:  # one letter, or everything
        path.write_bytes(path.read_bytes().replace(b"Promote", b"promote") if change else b"")
    assert judge(asked, documents.reader())[0].exact == (False,)


def test_windows_line_ends_and_marks_of_byte_order_are_exact_as_they_stand(tmp_path):
    text = b"\xef\xbb\xbf# Caf\xc3\xa9\r\n\r\nbrew\x0b coffee\xe2\x80\xa8now\r\n"
    documents = Documents.of(write_files(tmp_path / "docs", {"a.md": text}))
    rows = [Row("q", "brew coffee now", (Target("a.md", (1, 3)),))]
    with (
        ingested(documents, tmp_path, WordHashes()) as opened,
        local_retrieval(opened) as retrieval,
    ):
        (judged,) = judge(ask_all(retrieval, rows, max_results=5), documents.reader())
    assert (judged.exact, judged.overlap) == ((True,), 1.0)


def test_a_deployed_function_is_evaluated_and_its_outage_is_no_zero_result(
    documents, knowledge_base
):
    with (
        LocalBedrock(knowledge_base) as bedrock,
        endpoint("function", bedrock) as way,
        closing(BoundedRetrieval(way.make())) as retrieval,
    ):
        way.switch.only, way.switch.fault = b"zebras", UNAVAILABLE
        judged = judge(ask_all(retrieval, ROWS, max_results=10), documents.reader())
    done = summarise(SETUP, judged)
    assert judged[2].asked.outcome.reason is Reason.UNAVAILABLE
    assert done.figures.degraded == {"unavailable": 1}
    assert done.figures.zero_result_rate == 0.0
    assert done.figures.measures["hit@1"] == pytest.approx(2 / 3, abs=1e-6)
    assert done.missed == ("success", "relevance (hit@5)")


def test_documents_are_ingested_once_and_anew_when_a_byte_changes(documents, tmp_path):
    first, second, third = WordHashes(), WordHashes(), WordHashes()
    with ingested(documents, tmp_path, first) as opened:
        path = opened.path
    with ingested(Documents.of(documents.root), tmp_path, second) as opened:
        assert opened.path == path
    assert first.embedded
    assert not second.embedded
    write_files(documents.root, {"runbooks/new.md": "# New\n"})
    with ingested(Documents.of(documents.root), tmp_path, third) as opened:
        assert opened.path != path
    assert {text.partition("\n")[0] for text in third.embedded} == {"runbooks > new > New"}
    changed = Documents.of(documents.root)
    before, fourth = path.read_bytes(), WordHashes()
    with ingested(changed, tmp_path / "else", fourth, besides=[path]) as like:
        assert fourth.embedded == third.embedded
    assert path.read_bytes() == before
    with ingested(changed, tmp_path / "alone", WordHashes()) as alone:
        assert stored(like.path) == stored(alone.path)


def stored(path):
    """Give all that a knowledge base holds, but for the numbers of its rows."""
    with closing(sqlite3.connect(path)) as connection:
        texts = connection.execute(
            "SELECT source_file, sha256, start_line, text, metadata, vector FROM vectors "
            "JOIN chunks ON chunks.id = chunk JOIN documents ON documents.id = document "
            "ORDER BY source_file, start_line"
        ).fetchall()
        return texts, connection.execute(
            "SELECT key, value FROM meta WHERE key = 'model'"
        ).fetchall()


def test_knowledge_bases_that_are_of_no_use_are_not_begun_with(tmp_path):
    docs = Documents.of(write_files(tmp_path / "docs", RUNBOOKS))
    write_files(tmp_path, {"text.kb": "something else", "few/rds.md": RUNBOOKS[RDS]})
    (tmp_path / "folder.kb").mkdir()
    other = WordHashes()
    other.fingerprint = "other"
    ingest(docs.root, tmp_path / "other-model.kb", embedder=other)
    ingest(tmp_path / "few", tmp_path / "few.kb", embedder=WordHashes())
    ingest(docs.root, tmp_path / "damaged.kb", embedder=WordHashes())
    with closing(sqlite3.connect(tmp_path / "damaged.kb")) as connection, connection:
        connection.execute("UPDATE chunks SET text = text || 'x'")
    model = WordHashes()
    names = ("gone", "text", "other-model", "few", "damaged", "folder")
    others = [tmp_path / f"{name}.kb" for name in names]
    with ingested(docs, tmp_path, model, besides=others) as opened:
        assert opened.chunks > 0
    alone = WordHashes()
    with ingested(docs, tmp_path / "alone", alone):
        assert model.embedded == alone.embedded
    assert sorted(path.suffix for path in (tmp_path / "eval").iterdir()) == [".index", ".kb"]


def test_documents_are_ingested_anew_when_what_is_said_beside_one_changes(documents, tmp_path):
    owners = []
    for owner in ("orders", "billing"):
        beside = json.dumps({"metadataAttributes": {"owner": owner}})
        write_files(documents.root, {f"{RDS}.metadata.json": beside})
        with (
            ingested(Documents.of(documents.root), tmp_path, WordHashes()) as opened,
            local_retrieval(opened) as retrieval,
        ):
            (asked,) = ask_all(retrieval, ROWS[:1], max_results=1)
        owners.append(asked.outcome.results[0].metadata.get("owner"))
    assert owners == ["orders", "billing"]


def test_what_killed_runs_left_in_the_cache_goes_in_time(documents, tmp_path):
    write_files(tmp_path / "eval", {"a.7.part": "", "a.7.part-journal": "", "b.8.part": ""})
    long_ago = time.time() - 2 * 86_400
    for name in ("a.7.part", "a.7.part-journal"):
        os.utime(tmp_path / "eval" / name, (long_ago, long_ago))
    with ingested(documents, tmp_path, WordHashes()) as opened:
        assert cached(tmp_path) == {opened.path.name, f"{opened.path.name}.index", "b.8.part"}


def cached(folder):
    """The names of the files in the cache, indexes without the seals of what they are of."""
    return {
        re.sub(r"\.[0-9a-f]{16}(?=\.index$)", "", it.name) for it in (folder / "eval").iterdir()
    }


def test_a_damaged_knowledge_base_in_the_cache_is_made_anew(documents, tmp_path):
    with ingested(documents, tmp_path, WordHashes()) as opened:
        path, chunks = opened.path, opened.chunks
    path.write_bytes(b"something else")
    with ingested(documents, tmp_path, WordHashes()) as opened:
        assert opened.chunks == chunks


def test_the_cache_keeps_a_few_and_nothing_unfinished(documents, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation_corpus, "KEPT", 2)
    used = []
    for number in range(4):
        write_files(documents.root, {"a.md": f"# A {number}\n"})
        with ingested(Documents.of(documents.root), tmp_path, WordHashes()) as opened:
            used.append(opened.path)
    left = set((tmp_path / "eval").iterdir())
    kept = {path.name for path in left if path.suffix == ".kb"}
    assert len(kept) == 2
    assert used[-1].name in kept
    assert cached(tmp_path) == kept | {f"{name}.index" for name in kept}

    class Failing(WordHashes):
        def embed(self, text):
            raise UnusableCorpus(text)

    write_files(documents.root, {"a.md": "# not embedded\n"})
    with pytest.raises(UnusableCorpus), ingested(Documents.of(documents.root), tmp_path, Failing()):
        pass
    assert set((tmp_path / "eval").iterdir()) == left


def test_labels_that_do_not_fit_the_documents_are_named(documents):
    good = Target(RDS, sha256=documents.sha256[RDS])
    changed = Target(RDS, sha256="0" * 64)
    gone = Target("runbooks/zebras.md", sha256="0" * 64)

    def doubts(*targets):
        return list(doubts_about_labels((Row("q", "why?", targets),), documents.reader()))

    assert doubts(good) == doubts(Target(RDS)) == []
    (one,) = doubts(good, gone)
    assert one == (
        f"{documents.root} lacks 1 document that should answer questions: runbooks/zebras.md"
    )
    (one,) = doubts(changed)
    assert one == f"the labels were made on other versions of 1 document: {RDS}"
    length = documents.reader().length(RDS)
    assert doubts(Target(RDS, (length, length))) == []
    (one,) = doubts(Target(RDS, (2, length + 1)), Target(RDS, (1, 2)))
    assert one == (
        f"labelled lines that don't exist: {RDS} has {length} lines, labelled to {length + 1}"
    )


def test_files_that_can_t_be_read_are_told_and_are_part_of_nothing(tmp_path):
    with_one = Documents.of(write_files(tmp_path, {"a.md": "# A\n", "b.md": b"\xff"}))
    assert [error.name for error in with_one.skipped] == ["b.md"]
    assert set(with_one.sha256) == {"a.md"}
