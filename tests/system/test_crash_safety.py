"""An ingest killed at any statement leaves a whole knowledge base, and readers never see half."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.metadata import stored_text
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.store import open_for_reading
from tests.support.cli import SECONDS, zygote
from tests.support.local import PROJECT, WordHashes, write_files

KILLS = int(os.environ.get("CRASH_KILLS", "15"))
NEVER = 10**6


def files_of(version):
    """A corpus of which every version changes two documents, adds one and drops one."""
    stable = {f"runbooks/stable-{n}.md": f"# Stable {n}\n\nfailover {n}\n" for n in range(2)}
    changing = {
        f"runbooks/changing-{n}.md": f"# Changing {n}\n\n## A\n\nfailover of version {version}\n\n"
        f"## B\n\nsecond part of version {version}\n"
        for n in range(2)
    }
    return stable | changing | {f"postmortems/only-{version}.md": f"# Only {version}\n\nx\n"}


def state_of(files):
    """What a knowledge base of these files holds, as searches show it."""
    chunks = set()
    for name, text in files.items():
        document, decoded = read_document(name, text.encode())
        chunks |= {(name, stored_text(chunk)) for chunk in chunk_text(document, decoded)}
    return frozenset(chunks)


def state_in(knowledge_base):
    hits = knowledge_base.search("failover", limit=1000)
    return frozenset((hit.metadata["source_file"], hit.text) for hit in hits)


def dying_ingest(corpus, kb_path, at):
    """Ingest in a process of its own; returns how it ended and what it printed."""
    command = [
        sys.executable,
        "-m",
        "tests.support.dying_ingest",
        str(corpus),
        str(kb_path),
        str(at),
    ]
    done = zygote().run(command, os.environ, str(PROJECT), SECONDS)
    return done.returncode, done.stdout


def lay_out(corpus, version):
    wanted = files_of(version)
    write_files(corpus, wanted)
    for path in corpus.rglob("*.md"):
        if path.relative_to(corpus).as_posix() not in wanted:
            path.unlink()
        else:  # not a moment ago, however busy the machine is: an ingest notes such files in more statements
            os.utime(path, (version, version))


@contextmanager
def reading(kb_path, model):
    """Read all the time what there is; gives the set of states seen so far."""
    seen, done = set(), threading.Event()

    def read():
        with KnowledgeBase(kb_path, model) as knowledge_base:
            while not done.wait(0.02):
                seen.add(state_in(knowledge_base))

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        try:
            yield seen
        finally:
            done.set()
        reader.result(SECONDS)  # what it met with is raised here


def checked_state(kb_path, model):
    """What a new reader finds, after SQLite and the seals have found nothing wrong."""
    with KnowledgeBase(kb_path, model) as knowledge_base:  # opening checks the seals
        state = state_in(knowledge_base)
    with closing(sqlite3.connect(kb_path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    return state


def test_an_ingest_killed_anywhere_leaves_the_old_state_or_the_new_one_and_resumes(tmp_path):
    model, corpus, kb_path = WordHashes(), tmp_path / "corpus", tmp_path / "team.kb"
    states = [state_of(files_of(version)) for version in range(KILLS + 2)]
    lay_out(corpus, 0)
    ingest(corpus, kb_path, embedder=model)
    lay_out(corpus, 1)
    code, printed = dying_ingest(corpus, kb_path, NEVER)
    assert (code, checked_state(kb_path, model)) == (0, states[1])
    kept = set()
    with reading(kb_path, model) as seen:
        for kill in range(KILLS):
            lay_out(corpus, kill + 2)
            at = kill * int(printed) // KILLS
            assert dying_ingest(corpus, kb_path, at) == (-signal.SIGKILL, b"")
            found = checked_state(kb_path, model)
            assert found in (states[kill + 1], states[kill + 2]), at
            kept.add(found == states[kill + 2])
            assert ingest(corpus, kb_path, embedder=model).skipped == ()
            assert checked_state(kb_path, model) == states[kill + 2], at
    assert seen <= set(states)
    assert False in kept
    left = sorted(path.suffix for path in tmp_path.iterdir() if path.name.startswith("team"))
    assert left == [".index", ".kb"]


# Writes pages of a transaction to the file itself before it commits, and dies there.
DIES_WRITING = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE chunks SET text = text || hex(randomblob(50000))")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_dead_ingest_left_half_written_is_rolled_back_by_whoever_opens_it_next(tmp_path):
    model, kb_path = WordHashes(), tmp_path / "team.kb"
    lay_out(tmp_path / "corpus", 0)
    ingest(tmp_path / "corpus", kb_path, embedder=model)
    whole = kb_path.read_bytes()
    subprocess.run([sys.executable, "-c", DIES_WRITING, str(kb_path)], timeout=SECONDS, check=False)
    assert kb_path.read_bytes() != whole
    assert kb_path.with_name("team.kb-journal").stat().st_size > 0
    assert checked_state(kb_path, model) == state_of(files_of(0))
    assert kb_path.read_bytes() == whole


def test_a_reader_changes_nothing(tmp_path):
    lay_out(tmp_path / "corpus", 0)
    ingest(tmp_path / "corpus", tmp_path / "team.kb", embedder=WordHashes())
    with (
        closing(open_for_reading(tmp_path / "team.kb")) as connection,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        connection.execute("DELETE FROM chunks")
