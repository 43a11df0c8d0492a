"""A document of the sample corpus, asked for by its path: all of it, exact, in line order."""

from __future__ import annotations

import asyncio

import pytest

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.policy_settings import SourcePolicy
from knowledge_rag.core.retrieval import Query, is_whole_document
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator.budget import Budget
from tests.support.local import CORPUS, minilm
from tests.support.sample import sample_copy

DOCUMENTS = sorted(path.relative_to(CORPUS).as_posix() for path in CORPUS.rglob("*.md"))[::3]
NOTHING_LIKE_IT = "how long do I boil eggs"
PATIENT = Budget(30)


@pytest.fixture(scope="module")
def knowledge_base(tmp_path_factory):
    path = sample_copy(tmp_path_factory, tmp_path_factory.mktemp("sample"))
    with KnowledgeBase(path, minilm()) as opened:
        yield opened


@pytest.fixture(scope="module", params=[SourcePolicy.OFF, SourcePolicy.WEBSITE_FIRST])
def retrieval(knowledge_base, request):
    with local_retrieval(knowledge_base, policy=request.param, budget=PATIENT) as made:
        yield made


@pytest.mark.parametrize("path", DOCUMENTS)
def test_all_its_chunks_come_in_line_order_although_the_question_is_not_about_it(retrieval, path):
    query = Query(NOTHING_LIKE_IT, 100, {"source_file": path})
    outcome = asyncio.run(retrieval.retrieve(query))
    chunks = chunk_text(*read_document(path, (CORPUS / path).read_bytes()))
    assert [result.citation for result in outcome.results] == [it.citation for it in chunks]
    assert [result.content for result in outcome.results] == [it.content for it in chunks]
    assert [result.metadata["chunk_id"] for result in outcome.results] == [
        it.chunk_id for it in chunks
    ]
    assert is_whole_document(query, outcome)


def test_the_same_question_of_all_documents_is_below_the_floor(retrieval):
    outcome = asyncio.run(retrieval.retrieve(Query(NOTHING_LIKE_IT, 100)))
    assert outcome.status is Status.NO_MATCH


def test_the_best_of_it_come_where_not_all_are_asked_for(retrieval):
    path = "runbooks/rds-failover.md"
    text = "how to promote the replica"
    whole = asyncio.run(retrieval.retrieve(Query(text, 100, {"source_file": path})))
    query = Query(text, 2, {"source_file": path})
    part = asyncio.run(retrieval.retrieve(query))
    best = sorted(whole.results, key=lambda result: result.relevance_score, reverse=True)[:2]
    assert set(map(str, (it.citation for it in part.results))) == set(
        map(str, (it.citation for it in best))
    )
    assert not is_whole_document(query, part)
    assert part.notice is not None


def test_a_document_that_there_is_not_is_no_match(retrieval):
    query = Query("failover", 100, {"source_file": "runbooks/nowhere.md"})
    outcome = asyncio.run(retrieval.retrieve(query))
    assert (outcome.status, is_whole_document(query, outcome)) == (Status.NO_MATCH, False)
