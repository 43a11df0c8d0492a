from __future__ import annotations

import pytest

from knowledge_rag.core.filters import parse_filter
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.local.errors import UnusableKnowledgeBase
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from tests.support.local import write_files


def sources(hits):
    return [hit.metadata["source_file"] for hit in hits]


@pytest.mark.parametrize("search_type", SearchType)
def test_finds_what_is_asked_for(knowledge_base, search_type):
    hits = knowledge_base.search("database failover", search_type=search_type, limit=2)
    assert "rds" in sources(hits)[0]
    assert 0 < hits[1].score <= hits[0].score <= 1


def test_a_filter_narrows_and_may_leave_nothing(knowledge_base):
    wanted = parse_filter({"equals": {"key": "service", "value": "lambda"}})
    assert set(sources(knowledge_base.search("failover", wanted=wanted))) == {
        "runbooks/lambda-throttling.md"
    }
    nothing = parse_filter({"equals": {"key": "service", "value": "kafka"}})
    assert knowledge_base.search("failover", wanted=nothing) == []


def test_the_state_in_memory_knows_which_chunks_are_of_one_document(knowledge_base):
    chunks = knowledge_base.index
    named = [chunks.metadata(row)["source_file"] for row in range(len(chunks))]
    assert 1 < len(set(named)) < len(named)
    pairs = set(zip(named, chunks.documents.tolist(), strict=True))
    assert len(pairs) == len(set(named)) == len(set(chunks.documents.tolist()))


def test_follows_an_ingest(corpus, kb_path, hashes):
    ingest(corpus, kb_path, embedder=hashes)
    with KnowledgeBase(kb_path, hashes) as opened:
        before = opened.chunks
        write_files(corpus, {"kafka.md": "# Kafka\n\nconsumer lag grows\n"})
        ingest(corpus, kb_path, embedder=hashes)
        assert opened.chunks == before + 1
        assert sources(opened.search("kafka consumer lag", limit=1)) == ["kafka.md"]


def test_follows_a_file_that_is_replaced_and_outlives_one_that_is_deleted(
    corpus, kb_path, tmp_path, hashes
):
    ingest(corpus, kb_path, embedder=hashes)
    other = tmp_path / "other.kb"
    ingest(write_files(tmp_path / "o", {"a.md": "# A\n\none\n"}), other, embedder=hashes)
    with KnowledgeBase(kb_path, hashes) as opened:
        other.replace(kb_path)
        assert sources(opened.search("one", limit=9)) == ["a.md"]
        kb_path.unlink()
        assert sources(opened.search("one", limit=9)) == ["a.md"]


def test_a_knowledge_base_of_another_model_is_refused(corpus, kb_path, hashes, model):
    ingest(corpus, kb_path, embedder=hashes)
    with pytest.raises(UnusableKnowledgeBase, match="made with another embedding model"):
        KnowledgeBase(kb_path, model)
