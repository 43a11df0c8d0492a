"""Where evidence, and answers, stand in the responses of Bedrock's APIs.

Only members that a service fills are looked at. What a model writes (text, tool input) is never
evidence, whatever it looks like.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from knowledge_rag.core.errors import InvalidCitation
from knowledge_rag.core.outcome import DropReason
from knowledge_rag.guardrails.converse_answer import (
    answer_blocks,
    block_citations,
    converse_answer,
    offsets,
    with_references,
)
from knowledge_rag.guardrails.json_shapes import member, objects, text
from knowledge_rag.guardrails.passages import Passage, read_passage
from knowledge_rag.guardrails.search_results import citation_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.core.citations import Citation


class Said(NamedTuple):
    """An answer that stands beside evidence."""

    text: str


def retrieved(response: object, name: str = "retrievalResults") -> Iterator[Passage | DropReason]:
    """Give the passages of a ``Retrieve`` response, or of any list of such results."""
    for one in objects(member(response, name)):
        yield _stored(one)


def generated(response: object) -> Iterator[Passage | DropReason | Said]:
    """Give passages and answer of a ``RetrieveAndGenerate`` response.

    Behind each part of the answer stand references to what the service says that it is from.
    """
    whole = text(member(response, "output", "text"))
    answer, behind = "", 0
    for citation in objects(member(response, "citations")):
        passages = list(retrieved(citation, "retrievedReferences"))
        yield from passages
        part = text(member(citation, "generatedResponsePart", "textResponsePart", "text")).rstrip()
        found = whole.find(part, behind) if part else -1
        cited = [str(one.result.citation) for one in passages if isinstance(one, Passage)]
        if found >= 0 and cited:
            stop = found + len(part)
            answer, behind = answer + with_references(whole[behind:stop], cited), stop
    yield Said(answer + whole[behind:])


def attributed(chunk: object) -> Iterator[Passage | DropReason]:
    """Give the passages that an agent's answer is attributed to; often there are none."""
    for citation in objects(member(chunk, "attribution", "citations")):
        yield from retrieved(citation, "retrievedReferences")


def converse_request(request: object) -> Iterator[Passage | DropReason]:
    """Give the search results that the user's side of a conversation holds."""
    for block in _search_results(request):
        yield _given(text_of(block), _citation(block))


def converse_response(response: object, request: object) -> Iterator[Passage | DropReason | Said]:
    """Give the answer of a Converse response; without its request also what it quotes.

    Args:
        response: of the service.
        request: whose search results it cites; ``None`` if it is not at hand.
    """
    sources: dict[int, Citation] = {}
    for index, block in enumerate(_search_results(request)):
        if citation := _citation(block):
            sources[index] = citation
    if request is None:
        for block in answer_blocks(response):
            for cited in block_citations(block):
                yield _quoted(cited, sources)
    yield Said(converse_answer(response, sources))


def _stored(one: Mapping[str, Any]) -> Passage | DropReason:
    return read_passage(member(one, "content", "text"), one.get("metadata"), one.get("score"))


def _search_results(request: object) -> Iterator[Mapping[str, Any]]:
    for message in objects(member(request, "messages")):
        if message.get("role") != "user":  # what the model wrote is no evidence
            continue
        for block in objects(message.get("content")):
            inner = objects(member(block, "toolResult", "content"))
            for one in (block, *inner):
                if isinstance(found := one.get("searchResult"), dict):
                    yield found


def _citation(block: Mapping[str, Any]) -> Citation | None:
    try:
        return citation_of(block.get("source"), block.get("title"))
    except InvalidCitation:
        return None


def _given(content: str | None, citation: Citation | None) -> Passage | DropReason:
    return read_passage(content, citation.to_dict() if citation else None)


def _quoted(cited: Mapping[str, Any], sources: dict[int, Citation]) -> Passage | DropReason:
    """Give the lines that the API quotes; note the source that it quotes them from."""
    where, source = offsets(cited), _citation(cited)
    if where is None or source is None:
        return DropReason.NO_CITATION
    index, start, end = where
    if sources.setdefault(index, source) != source:
        return DropReason.NO_CITATION
    lines = {"start_line": source.start_line + start, "end_line": source.start_line + end - 1}
    quoted = text_of({"content": cited.get("sourceContent")})
    return read_passage(quoted, source.to_dict() | lines)
