"""What a knowledge base says of its folder, and of the commits of its documents."""

import os
import shutil

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.metadata import prove
from knowledge_rag.guardrails.staleness import CitedLines
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.since_ingest import since_ingest
from tests.support.local import WordHashes, write_files
from tests.support.repository import Repository

DOCUMENTS = {"a.md": "# A\n\nOne.\n", "b/c.md": "# C\n\nTwo.\n"}


@pytest.fixture
def made(tmp_path):
    write_files(tmp_path / "docs", DOCUMENTS)
    ingest(tmp_path / "docs", tmp_path / "kbs/team.kb", embedder=WordHashes())
    return tmp_path / "docs", tmp_path / "kbs/team.kb"


def test_a_folder_as_it_was_ingested_has_nothing_to_say(made):
    since = since_ingest(made[1])
    assert since is not None
    assert not since
    os.utime(made[0] / "a.md", (10**9, 10**9))
    assert not since_ingest(made[1])


def test_changed_new_and_gone_documents_are_named(made):
    folder, kb = made
    write_files(folder, {"a.md": "# A\n\nNew line.\n\nOne.\n", "d.md": "# D\n"})
    shutil.rmtree(folder / "b")
    since = since_ingest(kb)
    assert (since.changed, since.new, since.gone) == (("a.md",), ("d.md",), ("b/c.md",))
    said = since.sentence(kb)
    assert said.startswith("1 document changed (a.md); 1 document new (d.md); 1 document gone")
    assert said.endswith(f"run `knowledge-rag ingest {folder} --kb {kb}`")


def test_cited_lines_that_moved_or_went_are_named_with_their_new_place(made):
    folder, kb = made
    write_files(folder, {"a.md": "# A\n\nNew line.\n\nOne.\n"})
    (folder / "b/c.md").unlink()
    cited = [
        CitedLines(Citation("a.md", 3, 3, "A"), "One."),
        CitedLines(Citation("a.md", 1, 1, "A"), "# A"),
        CitedLines(Citation("b/c.md", 3, 3, "C"), "Two."),
    ]
    assert since_ingest(kb, cited).on_citations() == [
        "a.md, line 3: moved to line 5 since the ingest.",
        "b/c.md, line 3: gone since the ingest.",
    ]


def test_folder_and_knowledge_base_may_move_together(made, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copytree(tmp_path / "docs", moved / "docs")
    shutil.copytree(tmp_path / "kbs", moved / "kbs")
    shutil.rmtree(tmp_path / "docs")
    assert since_ingest(moved / "kbs/team.kb") is not None
    assert since_ingest(made[1]) is None


def test_another_folder_in_its_place_is_not_taken_for_it(made, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copytree(made[1].parent, moved / "kbs")
    write_files(moved / "docs", {"other.md": "# Other\n"})
    assert since_ingest(moved / "kbs/team.kb") is None


def test_a_document_carries_its_commit_as_long_as_its_bytes_are_of_it(tmp_path):
    repository = Repository(tmp_path / "docs")
    sha = repository.commit(DOCUMENTS, "2026-03-01")
    write_files(repository.folder, {"a.md": "# A\n\nChanged.\n"})
    assert _histories(tmp_path) == {"a.md": None, "b/c.md": (sha, "2026-03-01")}
    later = repository.commit({}, "2026-04-02")
    assert _histories(tmp_path) == {"a.md": (later, "2026-04-02"), "b/c.md": (sha, "2026-03-01")}


def _histories(folder):
    ingest(folder / "docs", folder / "kb", embedder=WordHashes())
    with KnowledgeBase(folder / "kb", WordHashes()) as opened:
        results = [
            prove(hit.text, hit.metadata) for hit in opened.search("one two changed", limit=9)
        ]
    return {
        it.citation.source_file: (it.metadata["commit"], it.metadata["last_changed"])
        if "commit" in it.metadata
        else None
        for it in results
    }
