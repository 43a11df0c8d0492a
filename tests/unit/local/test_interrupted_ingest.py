"""Whatever happens to an ingest, the previous state opens and is whole."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, contextmanager

import pytest

from knowledge_rag.local.errors import KnowledgeBaseBusy
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from tests.support.local import PROJECT, RUNBOOKS, WordHashes, write_files

# Ingests in a process of its own, says where it is, and waits there to be killed.
CHILD = """
import sys
from pathlib import Path
from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.local import tables
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
    add = tables.Tables._add
    def add_then_wait(self, document, term_ids):
        add(self, document, term_ids)
        wait_here()
    tables.Tables._add = add_then_wait
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
        process.wait(10)


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
def test_a_killed_ingest_leaves_the_previous_state_and_the_next_one_succeeds(
    stop, grown, kb_path, hashes
):
    kill_at(stop, grown, kb_path)
    assert files_known(kb_path) == set(RUNBOOKS)
    report = ingest(grown, kb_path, embedder=hashes)
    assert (len(report.added), len(report.changed)) == (30, 1)
    assert len(files_known(kb_path)) == 33


@pytest.mark.parametrize("stop", STOPS)
def test_a_killed_first_ingest_leaves_nothing_in_the_way(stop, corpus, kb_path, hashes):
    kill_at(stop, corpus, kb_path)
    assert len(ingest(corpus, kb_path, embedder=hashes).added) == 3


@pytest.mark.parametrize("kilobytes", [24, 60, 150])
def test_a_full_disk_is_named_and_leaves_the_previous_state(kilobytes, grown, kb_path):
    with child(grown, kb_path, "limited", kilobytes * 1024) as process:
        output, _ = process.communicate(timeout=30)
    assert output.startswith(f"IngestFailed: can't write {kb_path}: the disk is full or failing (")
    assert output.endswith("the knowledge base is as it was\n")
    assert files_known(kb_path) == set(RUNBOOKS)


def test_a_full_disk_leaves_no_half_of_a_first_knowledge_base(corpus, kb_path):
    with child(corpus, kb_path, "limited", 8 * 1024) as process:
        output, _ = process.communicate(timeout=30)
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
            process.communicate("", timeout=30)
            assert len(files_known(kb_path)) == 33


def files_known_while_busy(kb_path):
    with KnowledgeBase(kb_path, WordHashes()) as knowledge_base:
        hits = knowledge_base.search("failover", limit=100)
    return {hit.metadata["source_file"] for hit in hits}


def test_readers_see_the_old_state_or_the_new_one(corpus, kb_path, hashes):
    ingest(corpus, kb_path, embedder=hashes)
    write_files(corpus, {f"new/{n}.md": f"# Note {n}\n\nfailover\n" for n in range(40)})
    seen, done = set(), threading.Event()

    def read():
        with KnowledgeBase(kb_path, WordHashes()) as knowledge_base:
            while not done.is_set():
                hits = knowledge_base.search("failover", limit=100)
                seen.add(len({hit.metadata["source_file"] for hit in hits}))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for wanted in (43, 3, 43):
            if wanted == 3:
                for path in (corpus / "new").iterdir():
                    path.unlink()
            else:
                write_files(corpus, {f"new/{n}.md": f"# {n}\n\nfailover\n" for n in range(40)})
            ingest(corpus, kb_path, embedder=hashes)
    finally:
        done.set()
        reader.join(10)
    assert seen <= {3, 43}


def test_ctrl_c_leaves_the_previous_state(grown, kb_path, hashes):
    def interrupt(done, _total, phase):
        if (done, phase) == (3, "embedding"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(grown, kb_path, embedder=hashes, progress=interrupt)
    assert files_known(kb_path) == set(RUNBOOKS)
    assert not [path for path in kb_path.parent.iterdir() if path.name.startswith("knowledge.kb-")]
