"""Whatever happens to an ingest, the state of its last commit opens and is whole."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest

from knowledge_rag.local import ingest as ingest_module
from knowledge_rag.local.errors import IngestFailed, KnowledgeBaseBusy
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.store import commit_batch, ingest_transaction
from tests.support.local import PROJECT, RUNBOOKS, WordHashes, write_files

# Ingests in a process of its own, says where it is, and waits there to be killed.
CHILD = """
import sys
from pathlib import Path
from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.local import store
from knowledge_rag.local.ingest import ingest
from tests.support.local import WordHashes

corpus, kb_path, stop = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def wait_here():
    print("here", flush=True)
    sys.stdin.read()

def progress(done, total, phase):
    if stop == f"{phase} {done}":
        wait_here()

if stop == "half written":
    add = store.Tables._add
    def add_then_wait(self, document, term_ids):
        add(self, document, term_ids)
        wait_here()
    store.Tables._add = add_then_wait
if stop == "limited":
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), int(sys.argv[4])))
try:
    ingest(corpus, kb_path, embedder=WordHashes(), progress=progress)
except KnowledgeRagError as error:
    print(f"{type(error).__name__}: {error}", flush=True)
"""
STOPS = ["reading 0", "reading 2", "embedding 1", "writing 0", "half written", "writing 1"]


@contextmanager
def child(corpus, kb_path, *arguments):
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(corpus), str(kb_path), *map(str, arguments)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


def kill_at(stop, corpus, kb_path):
    with child(corpus, kb_path, stop) as process:
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGKILL)
        process.wait(60)


def files_known(kb_path):
    with KnowledgeBase(kb_path, WordHashes()) as knowledge_base:
        hits = knowledge_base.search("failover", limit=100)
    with closing(sqlite3.connect(kb_path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    return {hit.metadata["source_file"] for hit in hits}


@pytest.fixture
def grown(corpus, kb_path, hashes):
    """Ingest a corpus, then let it grow and change."""
    ingest(corpus, kb_path, embedder=hashes)
    many = {f"new/{n}.md": f"# Note {n}\n\n" + f"failover text {n}\n" * 40 for n in range(30)}
    return write_files(corpus, {**many, "runbooks/rds-failover.md": "# RDS\n\nchanged\n"})


@pytest.mark.parametrize("stop", STOPS)
def test_a_killed_first_ingest_leaves_nothing_in_the_way(stop, corpus, kb_path, hashes):
    kill_at(stop, corpus, kb_path)
    assert len(ingest(corpus, kb_path, embedder=hashes).added) == 3


@pytest.mark.parametrize("kilobytes", [24, 60, 150])
def test_a_full_disk_is_named_and_leaves_the_previous_state(kilobytes, grown, kb_path):
    with child(grown, kb_path, "limited", kilobytes * 1024) as process:
        output, _ = process.communicate(timeout=600)
    assert output.startswith(f"IngestFailed: can't write {kb_path}: the disk is full or failing (")
    assert output.endswith("batches committed before are complete in the knowledge base\n")
    assert files_known(kb_path) == set(RUNBOOKS)


def test_a_full_disk_leaves_no_half_of_a_first_knowledge_base(corpus, kb_path):
    with child(corpus, kb_path, "limited", 8 * 1024) as process:
        output, _ = process.communicate(timeout=600)
    assert output.startswith("IngestFailed: ")
    assert not kb_path.exists()


@pytest.mark.parametrize("stop", ["reading 0", "embedding 1", "half written"])
def test_of_two_ingests_at_once_the_second_is_told_at_once_and_the_first_goes_on(
    stop, grown, kb_path, hashes
):
    with child(grown, kb_path, stop) as process:
        assert process.stdout.readline() == "here\n"
        with pytest.raises(KnowledgeBaseBusy) as failure:
            ingest(grown, kb_path, embedder=hashes)
        assert str(failure.value) == f"another ingest is writing {kb_path}: try again later"
        assert files_known_while_busy(kb_path) == set(RUNBOOKS)
        if stop != "half written":  # which waits at each document
            process.communicate("", timeout=600)
            assert len(files_known(kb_path)) == 33


def files_known_while_busy(kb_path):
    with KnowledgeBase(kb_path, WordHashes()) as knowledge_base:
        hits = knowledge_base.search("failover", limit=100)
    return {hit.metadata["source_file"] for hit in hits}


def interrupting(at, phase):
    def interrupt(done, _total, now):
        if (done, now) == (at, phase):
            raise KeyboardInterrupt

    return interrupt


def test_ctrl_c_while_a_batch_is_written_leaves_the_state_before_it(grown, kb_path, hashes):
    with pytest.raises(KeyboardInterrupt):
        ingest(grown, kb_path, embedder=hashes, progress=interrupting(1, "writing"))
    assert files_known(kb_path) == set(RUNBOOKS)


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(ingest_module, "BATCH_CHUNKS", 5)
    monkeypatch.setattr(ingest_module, "BATCH_SHARE", 0.0)


@pytest.mark.usefixtures("small_batches")
class TestBatches:
    """What is done is committed while an ingest goes on."""

    def test_come_to_the_same_as_one(self, grown, kb_path, hashes, tmp_path):
        in_batches = ingest(grown, kb_path, embedder=hashes)
        at_once = ingest(grown, tmp_path / "once.kb", embedder=hashes)
        assert (in_batches.chunks, len(in_batches.added), len(in_batches.changed)) == (
            at_once.chunks,
            30,
            1,
        )
        assert rows_of(kb_path) == rows_of(tmp_path / "once.kb")
        again = ingest(grown, kb_path, embedder=hashes)
        assert (again.unchanged, again.embedded) == (33, 0)

    def test_are_there_when_a_later_one_fails(self, grown, kb_path, hashes):
        known = []

        def fail(done, _total, phase):
            if phase == "reading" and done == 20:
                known.extend(files_known_while_busy(kb_path))
                raise OSError("the disk is gone")

        with pytest.raises(IngestFailed):
            ingest(grown, kb_path, embedder=hashes, progress=fail)
        assert set(RUNBOOKS) < set(known) == files_known(kb_path)
        with KnowledgeBase(kb_path, hashes) as knowledge_base:
            assert 0 < knowledge_base.unfinished < 20
        assert len(ingest(grown, kb_path, embedder=hashes).added) == 33 - len(known)

    def test_delete_what_is_gone_in_the_end_alone(self, corpus, kb_path, hashes):
        ingest(corpus, kb_path, embedder=hashes)
        write_files(corpus, {f"new/{n}.md": f"# Note {n}\n\nfailover\n" for n in range(12)})
        (corpus / "runbooks/rds-failover.md").unlink()
        with pytest.raises(KeyboardInterrupt):
            ingest(corpus, kb_path, embedder=hashes, progress=interrupting(11, "reading"))
        assert "runbooks/rds-failover.md" in files_known(kb_path)
        ingest(corpus, kb_path, embedder=hashes)
        assert "runbooks/rds-failover.md" not in files_known(kb_path)

    def test_of_another_model_are_one_commit(self, grown, kb_path):
        class Other(WordHashes):
            fingerprint = "another"

        with pytest.raises(KeyboardInterrupt):
            ingest(grown, kb_path, embedder=Other(), progress=interrupting(20, "reading"))
        assert files_known(kb_path) == set(RUNBOOKS)
        assert len(ingest(grown, kb_path, embedder=Other()).added) == 30

    def test_of_another_ingest_in_between_end_this_one(self, grown, kb_path, hashes, monkeypatch):
        begin = ingest_module.commit_batch

        def commit_and_lose(connection):
            connection.execute("COMMIT")
            ingest(grown, kb_path, embedder=WordHashes())
            connection.execute("BEGIN IMMEDIATE")
            monkeypatch.setattr(ingest_module, "commit_batch", begin)
            raise KnowledgeBaseBusy("another")

        monkeypatch.setattr(ingest_module, "commit_batch", commit_and_lose)
        with pytest.raises(KnowledgeBaseBusy):
            ingest(grown, kb_path, embedder=hashes)
        assert len(files_known(kb_path)) == 33

    def test_notice_another_writer_by_the_counter_of_commits(self, corpus, kb_path, hashes):
        ingest(corpus, kb_path, embedder=hashes)

        class Losing:
            def __init__(self, connection):
                self.connection = connection

            def execute(self, statement):
                done = self.connection.execute(statement)
                if statement == "COMMIT":
                    with closing(sqlite3.connect(kb_path, isolation_level=None)) as other:
                        other.execute("INSERT INTO meta VALUES ('x', 'y')")
                return done

        with ingest_transaction(kb_path) as connection, pytest.raises(KnowledgeBaseBusy):
            commit_batch(Losing(connection))


def rows_of(kb_path):
    with closing(sqlite3.connect(kb_path)) as connection:
        rows = connection.execute(
            "SELECT source_file, start_line, end_line, text, metadata, vector FROM documents "
            "JOIN chunks ON document = documents.id JOIN vectors ON chunk = chunks.id ORDER BY 1, 2"
        ).fetchall()
        meta = dict(
            connection.execute("SELECT key, value FROM meta WHERE key NOT IN ('seal', 'index')")
        )
    return rows, meta


def test_ctrl_c_keeps_the_documents_that_are_done_and_the_next_run_goes_on(grown, kb_path, hashes):
    with pytest.raises(KeyboardInterrupt):
        ingest(grown, kb_path, embedder=hashes, progress=interrupting(3, "embedding"))
    known = files_known(kb_path)
    assert set(RUNBOOKS) < known < set(RUNBOOKS) | {f"new/{n}.md" for n in range(30)}
    with KnowledgeBase(kb_path, hashes) as knowledge_base:
        # what was not looked at counts, be it in there from before
        assert 33 - len(known) <= knowledge_base.unfinished < 33
    report = ingest(grown, kb_path, embedder=hashes)
    assert report.unchanged == len(known) - (1 if report.changed else 0)
    assert len(files_known(kb_path)) == 33
    with KnowledgeBase(kb_path, hashes) as knowledge_base:
        assert knowledge_base.unfinished == 0
    assert not [path for path in kb_path.parent.iterdir() if path.name.startswith("knowledge.kb-")]
