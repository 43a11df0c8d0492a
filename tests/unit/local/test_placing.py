"""The place where a chunk stands counts in its vector."""

from __future__ import annotations

import numpy as np
import pytest

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.chunks import context_prefix
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.metadata import stored_text
from knowledge_rag.local.embeddings import CONTEXT_SHARE, context_of, placed
from knowledge_rag.local.ingest import VectorSource
from tests.support.local import CORPUS, WordHashes


def test_the_context_of_every_chunk_of_the_sample_corpus_is_its_prefix():
    checked = 0
    for path in sorted(CORPUS.rglob("*.md")):
        document, text = read_document(path.relative_to(CORPUS).as_posix(), path.read_bytes())
        for chunk in chunk_text(document, text):
            assert context_of(stored_text(chunk)) + "\n\n" == context_prefix(chunk)
            checked += 1
    assert checked > 100


@pytest.mark.parametrize("text", ["", "one paragraph\nof two lines", "a > b\n"])
def test_a_text_of_one_paragraph_has_no_context_and_its_own_vector(text):
    hashes = WordHashes()
    assert context_of(text) == ""
    assert VectorSource(hashes).vector(text) == hashes.embed(text).tobytes()


def test_a_vector_lies_between_those_of_text_and_context_and_is_of_unit_length():
    hashes = WordHashes()
    whole, context = (
        hashes.embed("rds > failover\n\npromote the reader"),
        hashes.embed("rds > failover"),
    )
    vector = np.frombuffer(
        VectorSource(hashes).vector("rds > failover\n\npromote the reader"), "<f4"
    )
    assert np.array_equal(vector, placed(whole, context))
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)
    assert whole @ context < vector @ context < 1.0
    assert 0 < CONTEXT_SHARE < 1


def test_a_context_that_chunks_share_is_embedded_once():
    hashes = WordHashes()
    source = VectorSource(hashes)
    for lines in ("alpha", "beta", "gamma"):
        source.vector(f"rds > failover\n\n{lines}")
    assert hashes.embedded.count("rds > failover") == 1
    assert source.embedded == 3
