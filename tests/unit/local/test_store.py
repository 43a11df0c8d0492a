from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

from knowledge_rag.local.errors import UnusableKnowledgeBase
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.store import FORMAT_VERSION, open_for_reading


def read(path):
    open_for_reading(path).close()


def run_sql(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_a_missing_knowledge_base_says_how_to_make_one(kb_path):
    with pytest.raises(UnusableKnowledgeBase) as failure:
        read(kb_path)
    assert str(failure.value) == (
        f"no knowledge base at {kb_path}: create one with `knowledge-rag ingest DIR --kb {kb_path}`"
    )
    assert not kb_path.exists()


def test_an_empty_file_is_an_empty_knowledge_base(kb_path, corpus, hashes):
    kb_path.touch()
    with pytest.raises(UnusableKnowledgeBase, match="is empty: fill it with"):
        read(kb_path)
    ingest(corpus, kb_path, embedder=hashes)
    read(kb_path)


@pytest.mark.parametrize(
    "content", [b"# a runbook\n" * 100, b"\0" * 4096, b"SQLite format 3\0junk"]
)
def test_a_file_of_another_kind_is_refused_and_left_untouched(kb_path, corpus, hashes, content):
    kb_path.write_bytes(content)
    with pytest.raises(UnusableKnowledgeBase):
        read(kb_path)
    with pytest.raises(UnusableKnowledgeBase):
        ingest(corpus, kb_path, embedder=hashes)
    assert kb_path.read_bytes() == content
    assert [path.name for path in kb_path.parent.iterdir() if path.is_file()] == [kb_path.name]


def test_somebody_elses_sqlite_file_is_refused_and_left_untouched(kb_path, corpus, hashes):
    run_sql(kb_path, "CREATE TABLE bookmarks (url TEXT)")
    before = kb_path.read_bytes()
    for attempt in (lambda: read(kb_path), lambda: ingest(corpus, kb_path, embedder=hashes)):
        with pytest.raises(UnusableKnowledgeBase) as failure:
            attempt()
        assert str(failure.value) == f"{kb_path} is a SQLite file, but not a knowledge base"
    assert kb_path.read_bytes() == before


def test_another_version_is_refused_with_the_way_out(ingested, corpus, hashes):
    run_sql(ingested, f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    for attempt in (lambda: read(ingested), lambda: ingest(corpus, ingested, embedder=hashes)):
        with pytest.raises(UnusableKnowledgeBase) as failure:
            attempt()
        assert str(failure.value) == (
            f"{ingested} has format version {FORMAT_VERSION + 1}, and this program reads "
            f"{FORMAT_VERSION}: delete it and ingest again"
        )


def test_a_damaged_knowledge_base_is_refused(ingested):
    data = bytearray(ingested.read_bytes())
    data[100:4096] = b"\xff" * (4096 - 100)
    ingested.write_bytes(data)
    with pytest.raises(UnusableKnowledgeBase, match="damaged"):
        read(ingested)


def test_a_folder_is_no_knowledge_base(tmp_path, corpus, hashes):
    for attempt in (lambda: read(tmp_path), lambda: ingest(corpus, tmp_path, embedder=hashes)):
        with pytest.raises(UnusableKnowledgeBase, match="is a folder, not a knowledge base"):
            attempt()


def test_a_place_that_cannot_be_written_is_named(tmp_path, corpus, hashes):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "x.kb", tmp_path / "file" / "y" / "x.kb"):
        with pytest.raises(
            UnusableKnowledgeBase, match=r"can't create .*x\.kb: .*/file.* not a folder"
        ):
            ingest(corpus, path, embedder=hashes)
    with pytest.raises(UnusableKnowledgeBase, match="File name too long"):
        ingest(corpus, tmp_path / ("x" * 300), embedder=hashes)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to(os.devnull)])
def test_a_pipe_or_a_device_is_refused_without_being_opened(tmp_path, corpus, hashes, make):
    make(tmp_path / "x.kb")
    for attempt in (read, lambda path: ingest(corpus, path, embedder=hashes)):
        with pytest.raises(UnusableKnowledgeBase, match="is not a regular file"):
            attempt(tmp_path / "x.kb")
