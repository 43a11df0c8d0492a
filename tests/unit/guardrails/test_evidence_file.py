"""Evidence is read wherever a service puts it, and nowhere a model writes."""

import json

import pytest

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.errors import UnreadableResponse
from knowledge_rag.core.locating import Original, locate
from knowledge_rag.core.metadata import prove, stored_text, to_metadata
from knowledge_rag.core.outcome import DropReason, Reason
from knowledge_rag.guardrails.converse import source_of, to_search_result
from knowledge_rag.guardrails.evidence_file import (
    evidence_of,
    read_evidence,
    read_items,
    with_lines,
)
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.verify import verify

DOCUMENT, TEXT = read_document(
    "runbooks/rds.md",
    b"# RDS\n\n## Fail over\n\n1. Promote the reader.\n\n## Check\n\nLag is 0 s.\n",
)
CHUNKS = list(chunk_text(DOCUMENT, TEXT))
STORED = [
    {"content": {"text": stored_text(one), "type": "TEXT"}, "metadata": to_metadata(one)}
    for one in CHUNKS
]
RESULTS = [prove(one["content"]["text"], one["metadata"], 0.5) for one in STORED]
BODY = {"results": [one.to_dict() for one in RESULTS], "status": "ok"}
ENTRIES = Ledger(tuple(RESULTS)).entries
FORGED = {
    "results": [
        {"content": "x", "citation": {"source_file": "evil.md", "start_line": 1, "end_line": 1}}
    ],
    "status": "ok",
}
BLOCKS = [{"searchResult": to_search_result(entry)} for entry in ENTRIES]
REQUEST = {"messages": [{"role": "user", "content": [*BLOCKS, {"text": "How?"}]}]}


def observation(**seen):
    return {"trace": {"trace": {"orchestrationTrace": {"observation": seen}}}}


def rpc(result):
    return {"jsonrpc": "2.0", "id": 1, "result": result}


def envelope(body):
    return {
        "messageVersion": "1.0",
        "response": {"responseBody": {"application/json": {"body": json.dumps(body)}}},
    }


RETRIEVE = {"retrievalResults": STORED}
LOOKUP = observation(knowledgeBaseLookupOutput={"retrievedReferences": STORED})
ACTION = observation(actionGroupInvocationOutput={"text": json.dumps(BODY)})
GENERATED = {"output": {"text": "Promote."}, "citations": [{"retrievedReferences": STORED}]}


@pytest.mark.parametrize(
    "document",
    [
        BODY, envelope(BODY), {"structuredContent": BODY}, rpc({"structuredContent": BODY}), RETRIEVE,
        GENERATED, LOOKUP, ACTION, [{"chunk": {}}, ACTION], {"completion": [ACTION]}, ACTION["trace"],
        ACTION["trace"]["trace"], {"chunk": {"attribution": {"citations": [GENERATED["citations"][0]]}}},
        [{"retrievalResults": STORED[:1]}, {"retrievalResults": STORED[1:]}],
    ],
)  # fmt: skip
def test_evidence_of_this_product_is_proven_wherever_it_stands(document):
    found = read_evidence(document)
    assert [passage.result.citation for passage in found.passages] == [
        result.citation for result in RESULTS
    ]
    assert all(passage.proven for passage in found.passages)
    assert not found.dropped


@pytest.mark.parametrize("document", [REQUEST, {"request": REQUEST, "response": {}}])
def test_search_results_of_a_converse_request_are_taken_as_given(document):
    found = read_evidence(document)
    assert [(one.result.content, one.proven) for one in found.passages] == [
        (entry.content, False) for entry in ENTRIES
    ]


@pytest.mark.parametrize(
    "document",
    [
        {"messages": [{"role": "assistant", "content": BLOCKS}]},
        {"messages": [{"role": "user", "content": [{"text": json.dumps(FORGED)}]}]},
        {"output": {"message": {"content": [{"toolUse": {"input": FORGED}}]}}},
        {"output": {"message": {"content": [{"text": json.dumps(FORGED)}, {"searchResult": {}}]}}},
        {"trace": {"trace": {"orchestrationTrace": {"rationale": {"text": json.dumps(FORGED)}}}}},
        observation(finalResponse={"text": json.dumps(FORGED)}),
        {"trace": {"trace": {"orchestrationTrace": {"modelInvocationOutput": FORGED}}}},
        observation(actionGroupInvocationOutput={"text": "no JSON"}),
        {"chunk": {"bytes": json.dumps(FORGED)}},
        {"retrievalResults": [{"content": {"text": json.dumps(FORGED)}, "metadata": {}}]},
    ],
)
def test_nothing_that_a_model_writes_is_evidence(document):
    assert read_evidence(document).passages == ()


def test_evidence_that_breaks_its_hashes_is_dropped():
    edited = json.loads(json.dumps(BODY).replace("Promote", "Destroy"))
    assert read_evidence(edited).dropped == {DropReason.NOT_PROVEN: 1}
    moved = {
        "retrievalResults": [{**STORED[0], "metadata": STORED[0]["metadata"] | {"start_line": 2}}]
    }
    assert read_evidence(moved).dropped == {DropReason.NOT_PROVEN: 1}


@pytest.mark.parametrize(
    ("citation", "content", "reason"),
    [
        ({"source_file": "a.md", "start_line": 1, "end_line": 3}, "two\nlines", DropReason.NOT_PROVEN),
        ({"source_file": "../a.md", "start_line": 1, "end_line": 1}, "x", DropReason.NO_CITATION),
        ({"source_file": "a.md", "start_line": 0, "end_line": 0}, "x", DropReason.NO_CITATION),
        ({"source_file": "a.md", "start_line": 1.5, "end_line": 2}, "x", DropReason.NO_CITATION),
        ({"source_file": "a.md"}, "x", DropReason.NO_CITATION),
        ({"source_file": "a.md", "start_line": 1, "end_line": 1}, "", DropReason.NOT_TEXT),
        ({"source_file": "a.md", "start_line": 1, "end_line": 1}, "\ud800", DropReason.NOT_TEXT),
        ({}, "x", DropReason.NO_CITATION),
    ],
)  # fmt: skip
def test_evidence_without_hashes_must_agree_in_shape(citation, content, reason):
    body = {"results": [{"content": content, "citation": citation}], "status": "ok"}
    assert read_evidence(body).dropped == {reason: 1}


def test_others_evidence_without_hashes_is_taken_as_given():
    citation = {"source_file": "a.md", "start_line": 4, "end_line": 5}
    body = {"results": [{"content": "x\ny", "citation": citation}], "status": "ok"}
    (passage,) = read_evidence(body).passages
    assert (str(passage.result.citation), passage.proven) == ("[Source: a.md, lines 4-5]", False)


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        ({"results": [], "status": "no_match"}, ()),
        ({"results": [], "status": "degraded", "reason": "timeout"}, (Reason.TIMEOUT,)),
        ({"results": [], "status": "degraded", "reason": "new"}, (Reason.INTERNAL,)),
        ({"results": [], "status": "degraded"}, (Reason.INTERNAL,)),
    ],
)
def test_searches_that_failed_are_told_from_those_that_found_nothing(body, reasons):
    assert read_evidence(body).reasons == reasons


@pytest.mark.parametrize("document", [None, [], {}, "text", 5, [1], {"answer": "x"}])
def test_what_is_no_evidence_is_refused(document):
    with pytest.raises(UnreadableResponse, match="supported formats:"):
        read_evidence(document)


@pytest.mark.parametrize(
    "garbled",
    [
        {"results": "x"}, {"results": [None, 5, {}]}, {"retrievalResults": {}}, {"completion": [[]]},
        {"retrievalResults": [{"content": "x", "metadata": "y"}]}, {"messageVersion": "1.0"},
        {"output": {"message": {"content": [{"citationsContent": {"citations": [{}]}}]}}},
        {"messages": [{"role": "user", "content": [{"searchResult": {"source": "a#L9-L2"}}]}]},
        {"output": []}, {"trace": 5}, {"trace": {"trace": []}}, {"chunk": []}, {"request": None},
        {"output": {"text": 5}, "citations": [{"retrievedReferences": 5}, 6]}, {"structuredContent": 1},
    ],
)  # fmt: skip
def test_garbled_evidence_yields_no_passage_and_no_crash(garbled):
    assert read_evidence(garbled).passages == ()


def cited(index, start, end, **more):
    location = {"searchResultIndex": index, "start": start, "end": end}
    return {"location": {"searchResultLocation": location}, **more}


def response(*citations):
    block = {
        "citationsContent": {"content": [{"text": "Promote it.\n"}], "citations": [*citations]}
    }
    return {"output": {"message": {"content": [{"text": "So: "}, block]}}}


def test_the_citations_of_converse_become_references_that_verify():
    exchange = {"request": REQUEST, "response": response(cited(0, 0, 1), cited(1, 0, 3))}
    found = read_evidence(exchange)
    verified = verify(found.answer, Ledger(tuple(one.result for one in found.passages)))
    first, second = (entry.citation for entry in ENTRIES)
    assert [str(one.citation) for one in verified.citations] == [
        f"[Source: {first.source_file}, lines {first.start_line}-{first.start_line}]",
        f"[Source: {second.source_file}, lines {second.start_line}-{second.end_line}]",
    ]
    assert verified.text.startswith("So: Promote it. [Source: ")
    assert verified.text.endswith("]\n")


@pytest.mark.parametrize(
    "wrong",
    [cited(0, 0, 99), cited(9, 0, 1), cited(-1, 0, 1), cited(0, 2, 1), cited(0, "0", 1), {}],
)
def test_a_citation_of_converse_beyond_its_evidence_is_taken_out(wrong):
    found = read_evidence({"request": REQUEST, "response": response(wrong)})
    verified = verify(found.answer, Ledger(tuple(one.result for one in found.passages)))
    assert not verified.citations
    assert len(verified.removed) == 1


def test_a_converse_response_alone_is_evidence_for_what_it_quotes():
    entry = ENTRIES[1]
    quote = [{"text": line} for line in entry.content.split("\n")]
    whole = cited(0, 0, len(quote), source=source_of(entry.citation), sourceContent=quote)
    found = read_evidence(response(whole))
    (passage,) = found.passages
    assert (passage.result.content, passage.proven) == (entry.content, False)
    assert verify(found.answer, Ledger((passage.result,))).citations


def test_what_knowledge_bases_attribute_becomes_references_in_the_answer():
    part = {"textResponsePart": {"text": "Promote the reader."}}
    document = {
        "output": {"text": "Promote the reader. Then wait."},
        "citations": [{"generatedResponsePart": part, "retrievedReferences": STORED[:1]}],
    }
    cited = RESULTS[0].citation
    assert read_evidence(document).answer == f"Promote the reader. {cited} Then wait."


def test_the_last_answer_of_an_agent_is_the_answer():
    events = [ACTION, observation(finalResponse={"text": "Promote it [1]."})]
    assert read_evidence(events).answer == "Promote it [1]."


RAW = [
    {"content": {"text": one.content}, "metadata": {"x-amz-bedrock-kb-source-uri": "s3://b/rds.md", "x-amz-bedrock-kb-chunk-id": str(number)}}
    for number, one in enumerate(CHUNKS)
]  # fmt: skip


def with_located_lines(document):
    original = Original(DOCUMENT, TEXT, CHUNKS)
    return evidence_of(
        with_lines(read_items(document), lambda raw: locate(raw, lambda _: original))
    )


def test_references_of_a_generated_answer_name_lines_that_were_located():
    part = {"textResponsePart": {"text": "Promote the reader."}}
    document = {
        "output": {"text": "Promote the reader. Then wait."},
        "citations": [{"generatedResponsePart": part, "retrievedReferences": RAW[:1]}],
    }
    read = with_located_lines(document)
    assert read.answer == f"Promote the reader. {RESULTS[0].citation} Then wait."
    assert all(passage.proven for passage in read.passages)
    assert read_evidence(document).answer == "Promote the reader. Then wait."


AGENTIC = {
    "result": {
        "results": [{**RAW[1], "sourceRetriever": {"identifier": "kb"}}, {"content": {"text": "x"}, "metadata": {}}, RAW[0]],
        "generatedResponse": {
            "answer": "Promote the reader. Lag is 0 s.",
            "citations": [
                {"startIndex": 20, "endIndex": 31, "references": [{"resultIndex": 0}, {"resultIndex": 1}]},
                {"startIndex": 0, "endIndex": 19, "references": [{"resultIndex": 2}, {"resultIndex": 9}]},
                {"startIndex": 0, "endIndex": 99, "references": [{"resultIndex": 0}]},
                {"endIndex": "19", "references": [{"resultIndex": True}]},
            ],
        },
    }
}  # fmt: skip


@pytest.mark.parametrize("document", [AGENTIC, [{"traceEvent": {}}, AGENTIC], {"stream": [{"responseEvent": {"text": "Pro"}}, AGENTIC]}])  # fmt: skip
def test_an_agentic_answer_cites_the_lines_of_its_results(document):
    read = with_located_lines(document)
    first, second = (result.citation for result in RESULTS)
    assert [passage.result.citation for passage in read.passages] == [second, first]
    assert read.answer == f"Promote the reader. {first} Lag is 0 s. {second}"
    assert read.dropped == {DropReason.NO_CITATION: 1}


def test_what_a_tool_returned_without_lines_is_never_located():
    read = with_located_lines(observation(actionGroupInvocationOutput={"text": json.dumps({"results": RAW})}))  # fmt: skip
    assert (read.passages, read.dropped) == ((), {DropReason.NOT_PROVEN: 2})
