"""The LangChain tool and retriever: LangChain's own standard tests, and this product's promises."""

import asyncio
import json
from contextlib import closing
from dataclasses import asdict, replace

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from knowledge_rag.core.errors import UnreadableResponse
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.evaluation.faults.server import http
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.local.bedrock.server import LocalBedrock
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.langchain import (
    KnowledgeRetriever,
    KnowledgeTool,
    KnowledgeUnavailable,
    outcome_of,
)
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE
from tests.support.knowledge_bases import knowledge_base_of
from tests.support.local import CORPUS, PROJECT, minilm
from tests.support.retrieval_endpoints import endpoint
from tests.support.retrievals import DOWN, NOTHING, Answering, Waiting, result

AMPLE = Budget(30)
"""A busy machine is no failure."""
FAILOVER = "How do we fail over the RDS cluster when replication lag keeps growing?"
DOCUMENTS = ("runbooks/rds-failover.md", "postmortems/2024-01-rds-incident.md")
EGGS = "how long do I boil eggs"


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    files = {name: (CORPUS / name).read_bytes() for name in DOCUMENTS}
    with knowledge_base_of(files, tmp_path_factory.mktemp("langchain"), minilm()) as opened:
        yield opened


@pytest.fixture(scope="module")
def way(opened):
    with local_retrieval(opened, budget=AMPLE) as retrieval:
        yield retrieval


@pytest.fixture
def tool(way):
    return KnowledgeTool(retrieval=way)


def called(**arguments):
    return {"type": "tool_call", "name": "retrieve_knowledge", "id": "1", "args": arguments}


# LangChain's own

SOME_ASYNC = pytest.mark.filterwarnings("ignore:.*is not an async function")
"""The mark that pytest-asyncio wants is of the whole class, whose tests are of both kinds."""


class _Tool:
    @pytest.fixture(autouse=True)
    def _of_the_sample_runbooks(self, way):
        self.way = way

    @property
    def tool_constructor(self):
        return KnowledgeTool

    @property
    def tool_constructor_params(self):
        return {"retrieval": self.way}

    @property
    def tool_invoke_params_example(self):
        return {"query": FAILOVER, "max_results": 3, "document_type": "runbook"}


class TestToolUnit(_Tool, ToolsUnitTests):
    pass


@SOME_ASYNC
@pytest.mark.asyncio
class TestToolIntegration(_Tool, ToolsIntegrationTests):
    pass


@SOME_ASYNC
@pytest.mark.asyncio
class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _of_the_sample_runbooks(self, way):
        self.way = way

    @property
    def retriever_constructor(self):
        return KnowledgeRetriever

    @property
    def retriever_constructor_params(self):
        return {"retrieval": self.way}

    @property
    def retriever_query_example(self):
        return FAILOVER


# the tool


def both(tool, arguments):
    """Call a tool in each of the ways there are, and give the one message that they all gave."""

    async def within_a_loop():
        return await tool.ainvoke(arguments), tool.invoke(arguments)

    messages = [tool.invoke(arguments), *asyncio.run(within_a_loop())]
    assert messages[1:] == messages[:-1]
    return messages[0]


def lines_of(citation):
    text = (CORPUS / citation.source_file).read_bytes().decode()
    return "\n".join(text.split("\n")[citation.start_line - 1 : citation.end_line])


def test_the_model_gets_each_passage_below_its_source_and_the_program_gets_the_evidence(tool):
    message = both(tool, called(query=FAILOVER, max_results=3))
    outcome = message.artifact
    assert isinstance(outcome, RetrievalOutcome)
    assert len(outcome.results) == 3
    assert message.content == "\n\n".join(
        f"[Source: {it.citation.source_file}, lines {it.citation.start_line}-"
        f"{it.citation.end_line}]\n{lines_of(it.citation)}"
        for it in outcome.results
    )


def test_an_answer_is_verified_against_the_artifact(tool):
    outcome = tool.invoke(called(query=FAILOVER)).artifact
    given = str(outcome.results[0].citation)
    answer = f"Fail over. {given} Drop the table. [Source: runbooks/made-up.md, lines 1-2]"
    verified = verify(answer, Ledger.of(outcome.results))
    assert given in verified.text
    assert "made-up" not in verified.text


@pytest.mark.parametrize(
    ("outcome", "content"),
    [
        (NOTHING, NO_MATCH),
        (DOWN, f"{UNREACHABLE} Reason: unavailable."),
        (
            RetrievalOutcome(Status.OK, (result(),), notice="All dates are past."),
            "Notice: All dates are past.\n\n[Source: runbooks/1.md, lines 1-1]\nRestart the writer.",
        ),
    ],
    ids=["nothing documented", "down", "with a notice"],
)
def test_the_model_is_told_honestly_what_the_search_gave(outcome, content):
    message = both(KnowledgeTool(retrieval=Answering(outcome)), called(query=FAILOVER))
    assert (message.content, message.artifact, message.status) == (content, outcome, "success")


@pytest.mark.parametrize(
    "retrieval",
    [None, Answering(None), Answering(lambda _: 1 / 0)],
    ids=["none", "gives nothing", "raises"],
)
def test_a_broken_way_is_an_outage_and_no_exception(retrieval):
    message = both(KnowledgeTool(retrieval=retrieval), called(query=FAILOVER))
    assert message.content == f"{UNREACHABLE} Reason: internal."
    assert message.artifact.reason is Reason.INTERNAL


def test_a_way_that_never_answers_is_an_outage():
    async def ask():
        tool = KnowledgeTool(retrieval=Waiting(), seconds=0.02)
        return await tool.ainvoke(called(query=FAILOVER)), tool.invoke(called(query=FAILOVER))

    assert {message.artifact.reason for message in asyncio.run(ask())} == {Reason.TIMEOUT}


BAD = {
    "no query": ({}, "query: Field required"),
    "blank": ({"query": " \n"}, "query: must not be blank"),
    "no text": ({"query": ["a"]}, "query: Input should be a valid string"),
    "too long": ({"query": "x" * 20_001}, "query: String should have at most 20000 characters"),
    "no character": ({"query": "a\ud800"}, "query: Input should be a valid string"),
    "no number": ({"query": "a", "max_results": "many"}, "max_results: Input should be a valid"),
    "a half": ({"query": "a", "max_results": 2.5}, "max_results: Input should be a valid integer"),
    "true": ({"query": "a", "max_results": True}, "max_results: must be a whole number"),
    "unknown": ({"query": "a", "k\x1b[2J": 3}, "k\\x1b[2J: Extra inputs are not permitted"),
    "no path": (
        {"query": "a", "source_file": "/etc/passwd"},
        "source_file: must be the path of a document as a citation gives it.",
    ),
    "long path": (
        {"query": "a", "source_file": "x" * 1_025},
        "source_file: String should have at most",
    ),
    "long filter": ({"query": "a", "service": "x" * 201}, "service: String should have at most"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_argument_is_told_to_the_model_and_asks_nothing(name):
    arguments, told = BAD[name]
    retrieval = Answering(NOTHING)
    message = both(KnowledgeTool(retrieval=retrieval), called(**arguments))
    assert message.status == "error"
    assert message.content.startswith("retrieve_knowledge was called wrongly. ")
    assert told in message.content
    assert not retrieval.asked
    with pytest.raises(UnreadableResponse):
        outcome_of(message)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_argument_is_raised_where_that_is_wanted(name):
    tool = KnowledgeTool(retrieval=Answering(NOTHING), handle_tool_error=False)
    with pytest.raises(ToolException, match="was called wrongly"):
        tool.invoke(BAD[name][0])
    with pytest.raises(ToolException, match="was called wrongly"):
        asyncio.run(tool.ainvoke(BAD[name][0]))


@pytest.mark.parametrize(("sent", "asked"), [(0, 1), (-3, 1), ("4", 4), (4.0, 4), (99, 5)])
def test_whole_numbers_outside_count_as_the_nearest_bound(sent, asked):
    retrieval = Answering(NOTHING)
    both(KnowledgeTool(retrieval=retrieval), called(query="a", max_results=sent))
    assert {query.max_results for query in retrieval.asked} == {asked}


def test_filters_narrow_and_blank_ones_do_not():
    retrieval = Answering(NOTHING)
    tool = KnowledgeTool(retrieval=retrieval)
    tool.invoke(called(query="a", document_type="runbook", service=" rds "))
    tool.invoke(called(query="a", document_type=" ", service=None))
    narrowed, wide = retrieval.asked
    assert narrowed.filters == {"document_type": "runbook", "service": "rds"}
    assert wide.filters == {}


def test_of_one_document_a_hundred_passages_may_be_asked_for():
    retrieval = Answering(NOTHING)
    tool = KnowledgeTool(retrieval=retrieval)
    both(tool, called(query="a", max_results=999, source_file="runbooks/rds.md"))
    both(tool, called(query="a", max_results=999, source_file=" "))
    rest, wide = retrieval.asked[0], retrieval.asked[-1]
    assert (rest.max_results, rest.source_file) == (100, "runbooks/rds.md")
    assert (wide.max_results, wide.filters) == (5, {})
    assert all(query in (rest, wide) for query in retrieval.asked)


def test_its_arguments_are_those_of_the_action_groups_schema():
    api = json.loads((PROJECT / "schemas/retrieve_knowledge.openapi.json").read_text())
    body = api["paths"]["/retrieve"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    function = convert_to_openai_tool(KnowledgeTool(retrieval=Answering(NOTHING)))["function"]
    described = function["parameters"]
    for argument in described["properties"].values():
        if argument.get("default") == "":  # leaving it out is the same
            del argument["default"]
    assert function["name"] == "retrieve_knowledge"
    assert described["properties"] == body["properties"]
    assert described["required"] == body["required"]


def test_evidence_that_comes_back_from_a_checkpoint_is_proven_again(tool):
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([tool]))
    graph.add_edge(START, "tools")
    saved = graph.compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    calls = [
        {"name": "retrieve_knowledge", "args": {"query": FAILOVER}, "id": "1"},
        {"name": "retrieve_knowledge", "args": {"question": FAILOVER}, "id": "2"},
    ]
    asyncio.run(saved.ainvoke({"messages": [AIMessage("", tool_calls=calls)]}, thread))
    _, answered, refused = saved.get_state(thread).values["messages"]
    before = tool.invoke(called(query=FAILOVER)).artifact
    assert outcome_of(answered).results == before.results
    assert refused.status == "error"


def test_a_score_that_was_absent_is_absent_after_a_checkpoint(tool):
    message = tool.invoke(called(query=FAILOVER, max_results=1))
    (scored,) = message.artifact.results
    outcome = RetrievalOutcome(Status.OK, (replace(scored, relevance_score=None),))
    message.artifact = asdict(outcome)
    assert outcome_of(message) == outcome


def test_evidence_that_a_checkpoint_altered_is_dropped(tool):
    message = tool.invoke(called(query=FAILOVER, max_results=1))
    stored = message.artifact.to_dict()
    stored["results"][0]["content"] += " Drop the table."
    message.artifact = stored
    assert outcome_of(message).reason is Reason.UNVERIFIABLE_RESULTS


# the retriever


def documents(retriever, query, **narrowed):
    """Ask a retriever in each of the ways there are, and give the documents that they all gave."""

    async def within_a_loop():
        return await retriever.ainvoke(query, **narrowed), retriever.invoke(query, **narrowed)

    given = [retriever.invoke(query, **narrowed), *asyncio.run(within_a_loop())]
    assert given[1:] == given[:-1]
    return given[0]


def test_a_document_is_its_lines_and_knows_where_they_stand(way):
    given = documents(KnowledgeRetriever(retrieval=way), FAILOVER)
    outcome = asyncio.run(way.retrieve(KnowledgeRetriever(retrieval=way)._query(FAILOVER)))
    assert len(given) == 5
    for document, it in zip(given, outcome.results, strict=True):
        assert document.page_content == lines_of(it.citation)
        assert document.id == it.metadata["chunk_id"]
        assert document.metadata == {
            **it.metadata,
            **it.citation.to_dict(),
            "relevance_score": it.relevance_score,
        }


def test_what_is_absent_stays_absent():
    bare = RetrievalOutcome(Status.OK, (result(),), notice="All dates are past.")
    without_score = RetrievalOutcome(
        Status.OK, tuple(type(it)(it.content, it.citation, None) for it in bare.results)
    )
    (document,) = documents(KnowledgeRetriever(retrieval=Answering(without_score)), "a")
    assert (document.id, document.metadata) == (None, result().citation.to_dict())
    (document,) = documents(KnowledgeRetriever(retrieval=Answering(bare)), "a")
    assert document.metadata["notice"] == "All dates are past."


def test_filters_and_k_can_be_set_and_overridden(way):
    retriever = KnowledgeRetriever(retrieval=way, document_type="postmortem", k=2)
    assert {it.metadata["document_type"] for it in documents(retriever, FAILOVER)} == {"postmortem"}
    assert len(documents(retriever, FAILOVER)) == 2
    runbooks = documents(retriever, FAILOVER, document_type="runbook", k=1)
    page = "runbooks/rds-failover.md"
    whole = documents(KnowledgeRetriever(retrieval=way, source_file=page), EGGS, k=100)
    starts = [it.metadata["start_line"] for it in whole]
    assert starts == sorted(starts)
    assert {it.metadata["source_file"] for it in whole} == {page}
    assert [it.metadata["document_type"] for it in runbooks] == ["runbook"]


def test_nothing_documented_is_an_empty_list(way):
    assert documents(KnowledgeRetriever(retrieval=way), EGGS) == []


def test_an_outage_is_raised_and_never_looks_like_nothing():
    retriever = KnowledgeRetriever(retrieval=Answering(DOWN))
    with pytest.raises(KnowledgeUnavailable, match="unavailable") as raised:
        retriever.invoke(FAILOVER)
    assert raised.value.reason is Reason.UNAVAILABLE
    with pytest.raises(KnowledgeUnavailable):
        asyncio.run(retriever.ainvoke(FAILOVER))


def test_a_broken_way_is_an_outage_for_the_retriever_too():
    retriever = KnowledgeRetriever(retrieval=Answering(lambda _: 1 / 0))
    with pytest.raises(KnowledgeUnavailable, match="internal"):
        retriever.invoke(FAILOVER)
    with pytest.raises(KnowledgeUnavailable, match="internal"):
        asyncio.run(retriever.ainvoke(FAILOVER))


def test_a_chain_that_would_rather_go_on_gets_nothing_and_a_warning(caplog):
    retriever = KnowledgeRetriever(retrieval=Answering(DOWN), on_degraded="empty")
    assert documents(retriever, FAILOVER) == []
    assert "reason=unavailable" in caplog.text
    assert FAILOVER not in caplog.text


@pytest.mark.parametrize("bad", [{"k": 0}, {"k": 101}, {"on_degraded": "ignore"}, {"seconds": 0}])
def test_a_setting_that_makes_no_sense_is_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        KnowledgeRetriever(retrieval=Answering(NOTHING), **bad)


@pytest.mark.parametrize(("query", "narrowed"), [(" ", {}), ("a", {"k": 0})])
def test_a_question_that_makes_no_sense_is_refused(query, narrowed):
    retriever = KnowledgeRetriever(retrieval=Answering(NOTHING))
    with pytest.raises(ValueError, match=r"query|max_results"):
        retriever.invoke(query, **narrowed)


# over a real way that fails


def test_a_service_that_fails_is_told_by_both(opened):
    with (
        LocalBedrock(opened) as bedrock,
        endpoint("retrieve", bedrock) as served,
        closing(BoundedRetrieval(served.make(), AMPLE)) as retrieval,
    ):
        served.switch.fault = http({"__type": "ThrottlingException"}, "429 Too Many Requests")
        message = KnowledgeTool(retrieval=retrieval).invoke(called(query=FAILOVER))
        assert message.artifact.reason is Reason.THROTTLED
        with pytest.raises(KnowledgeUnavailable, match="throttled"):
            KnowledgeRetriever(retrieval=retrieval).invoke(FAILOVER)
        served.switch.reset()
        assert KnowledgeRetriever(retrieval=retrieval).invoke(FAILOVER)
