"""Reads the evidence for verifying an answer, from any supported system.

It supports the JSON of

- this product's function: its body, the action group's envelope, or an MCP tool's result;
- ``ask --json --explain``;
- Bedrock's ``Retrieve`` and ``RetrieveAndGenerate``;
- ``AgenticRetrieveStream``: its events;
- ``InvokeAgent``: its events, or the traces among them;
- Bedrock's ``Converse``: ``{"request": ..., "response": ...}``, or either alone;
- single passages: of ``Retrieve``, or documents of LangChain and LlamaIndex;

and lists of any of these. Only members that a service fills are read: a model's own text and tool
input are never evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_rag.core.errors import InvalidCitation, UnreadableResponse
from knowledge_rag.core.locating import RawPassage, raw_passage
from knowledge_rag.core.metadata import CONTEXT_LENGTH
from knowledge_rag.core.outcome import DropReason, Reason, RetrievalResult, Status
from knowledge_rag.core.response import read_json
from knowledge_rag.guardrails.converse import (
    answer_blocks,
    block_citations,
    citation_of,
    converse_answer,
    member,
    objects,
    offsets,
    text,
    text_of,
    with_references,
)
from knowledge_rag.guardrails.ledger import Passage, read_passage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from knowledge_rag.core.citations import Citation


class Said(NamedTuple):
    """An answer found beside evidence."""

    text: str
    cited: tuple[tuple[int, tuple[Item, ...]], ...] = ()
    """Offsets after parts of the text, in order, and the items that the service names as their sources."""


def _retrieved(results: object) -> Iterator[Passage | RawPassage | DropReason]:
    """Read a list of results as ``Retrieve`` returns them."""
    for one in objects(results):
        raw = raw_passage(one)
        yield raw or read_passage(
            member(one, "content", "text"), one.get("metadata"), one.get("score")
        )


def _generated(response: object) -> Iterator[Item]:
    """Read passages and answer of a ``RetrieveAndGenerate`` response.

    References to the sources that the service names follow each part of the answer.
    """
    whole = text(member(response, "output", "text"))
    cited: list[tuple[int, tuple[Item, ...]]] = []
    behind = 0
    for citation in objects(member(response, "citations")):
        passages = list(_retrieved(citation.get("retrievedReferences")))
        yield from passages
        part = text(member(citation, "generatedResponsePart", "textResponsePart", "text")).rstrip()
        found = whole.find(part, behind) if part else -1
        if found >= 0 and not all(isinstance(one, DropReason) for one in passages):
            behind = found + len(part)
            cited.append((behind, tuple(passages)))
    yield Said(whole, tuple(cited))


def _agentic(event: object) -> Iterator[Item]:
    """Read passages and answer of the ``AgenticRetrieveStream`` event that has the result.

    Its citations are offsets in the answer, with the indexes of the results behind each part.
    """
    passages = list(_retrieved(member(event, "result", "results")))
    yield from passages
    generation = member(event, "result", "generatedResponse")
    answer = text(member(generation, "answer"))
    cited = []
    for citation in objects(member(generation, "citations")):
        stop = citation.get("endIndex")
        indexes = [one.get("resultIndex") for one in objects(citation.get("references"))]
        known = [passages[n] for n in indexes if type(n) is int and 0 <= n < len(passages)]
        if type(stop) is int and 0 < stop <= len(answer) and known:
            cited.append((stop, tuple(known)))
    if answer:
        yield Said(answer, tuple(sorted(cited, key=lambda mark: mark[0])))


def _attributed(event: object) -> Iterator[Passage | RawPassage | DropReason]:
    """Read the passages that an agent's answer is attributed to; often there are none."""
    for citation in objects(member(event, "chunk", "attribution", "citations")):
        yield from _retrieved(citation.get("retrievedReferences"))


def _asked(request: object) -> Iterator[Passage | DropReason]:
    """Read the search results on the user's side of a conversation."""
    for block in _search_results(request):
        citation = _citation(block)
        yield read_passage(text_of(block), citation.to_dict() if citation else None)


def _conversed(response: object, request: object) -> Iterator[Passage | DropReason | Said]:
    """Read the answer of a Converse response; without its request (``None``), also the lines it quotes."""
    sources: dict[int, Citation] = {}
    for index, block in enumerate(_search_results(request)):
        if citation := _citation(block):
            sources[index] = citation
    if request is None:
        for block in answer_blocks(response):
            for cited in block_citations(block):
                yield _quoted(cited, sources)
    yield Said(converse_answer(response, sources))


def _search_results(request: object) -> Iterator[Mapping[str, Any]]:
    for message in objects(member(request, "messages")):
        if message.get("role") != "user":  # the model's own text isn't evidence
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


def _quoted(cited: Mapping[str, Any], sources: dict[int, Citation]) -> Passage | DropReason:
    """Return the lines that the API quotes, and add their source to ``sources``."""
    where, source = offsets(cited), _citation(cited)
    if where is None or source is None:
        return DropReason.NO_CITATION
    index, start, end = where
    if sources.setdefault(index, source) != source:
        return DropReason.NO_CITATION
    lines = {"start_line": source.start_line + start, "end_line": source.start_line + end - 1}
    quoted = text_of({"content": cited.get("sourceContent")})
    return read_passage(quoted, source.to_dict() | lines)


UNDERSTOOD: Final = (
    "the JSON of retrieve_knowledge, ask --explain, Retrieve, RetrieveAndGenerate, InvokeAgent or "
    "AgenticRetrieveStream (their events), Converse (request, response or both), or a list of results with text and location"
)

Item = Passage | RawPassage | DropReason | Reason | Said
"""A passage, one without lines, the reason why one can't be cited or a search failed, or an answer."""

Locate = Callable[[Sequence[RawPassage]], Sequence[RetrievalResult | DropReason]]
"""Returns the lines of each passage of one answer, or the reason why it has none."""


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    """The contents of a file of evidence.

    Args:
        passages: in the order of retrieval, query after query.
        dropped: number of passages that can't be cited, by reason.
        reasons: why searches failed, in order.
        answer: the last answer beside the evidence; ``""`` if there is none.
    """

    passages: tuple[Passage, ...]
    dropped: Mapping[DropReason, int] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    answer: str = ""


def decoded_evidence(text: str) -> object:
    """Decode JSON, or JSON Lines as stored from a stream of events.

    Raises:
        UnreadableResponse: it is neither.
    """
    try:
        return read_json(text)
    except UnreadableResponse:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2 or not lines[0].lstrip().startswith("{"):
            raise
        return [read_json(line) for line in lines]


def read_evidence(document: object) -> EvidenceFile:
    """Read evidence from decoded JSON; passages that name no lines can't be cited.

    Raises:
        UnreadableResponse: its format isn't supported; the message lists the supported ones.
    """
    return evidence_of(with_lines(read_items(document), None))


def evidence_of(items: Sequence[Item]) -> EvidenceFile:
    """Sort items into passages, reasons and the answer."""
    said = [one.text for one in items if isinstance(one, Said)]
    return EvidenceFile(
        tuple(one for one in items if isinstance(one, Passage)),
        dict(Counter(one for one in items if isinstance(one, DropReason))),
        tuple(one for one in items if isinstance(one, Reason)),
        said[-1] if said else "",
    )


def read_items(document: object) -> list[Item]:
    """Read all items of evidence, in order.

    Raises:
        UnreadableResponse: its format isn't supported; the message lists the supported ones.
    """
    documents = document if isinstance(document, list) else [document]
    read = [reader(one) for one in documents if (reader := _reader_of(one))]
    if not read:
        raise UnreadableResponse(f"there is no evidence in it; supported formats: {UNDERSTOOD}")
    return [item for some in read for item in some]


def with_lines(items: Sequence[Item], locate: Locate | None) -> list[Item]:
    """Return items with each passage that names no lines located, or replaced by the reason why not.

    Args:
        items: of one file of evidence.
        locate: finds the lines; without it, such passages can't be cited.
    """
    raw = [item for item in items if isinstance(item, RawPassage)]
    located: Iterable[RetrievalResult | DropReason] = (
        locate(raw)
        if locate is not None
        else [DropReason.NO_CITATION if one.text else DropReason.NOT_TEXT for one in raw]
    )
    passages = (
        Passage(one, proven=True) if isinstance(one, RetrievalResult) else one for one in located
    )
    found: dict[int, Item] = dict(zip(map(id, raw), passages, strict=True))
    items = [found.get(id(item), item) for item in items]
    return [_with_references(item, found) if isinstance(item, Said) else item for item in items]


def _with_references(said: Said, found: Mapping[int, Item]) -> Said:
    """Insert references into an answer; ``found`` has the located passages by ``id()`` of the raw ones."""
    answer, behind = "", 0
    for stop, items in said.cited:
        passages = (found.get(id(item), item) for item in items)
        cited = [str(one.result.citation) for one in passages if isinstance(one, Passage)]
        if cited:
            answer += with_references(said.text[behind:stop], cited)
            behind = stop
    return Said(answer + said.text[behind:])


def _reader_of(document: object) -> Callable[[object], Iterator[Item]] | None:
    """Return the reader of a document, chosen by the first member of _READERS that it has."""
    names = document.keys() if isinstance(document, dict) else ()
    return next((reader for name, reader in _READERS.items() if name in names), None)


def _body(body: object) -> Iterator[Item]:
    """Read the body of the function's answer."""
    for one in objects(member(body, "results")):
        if "citation" not in one and (raw := raw_passage(one)):
            yield raw
            continue
        metadata = {**_object(one.get("metadata")), **_object(one.get("citation"))}
        metadata.pop(CONTEXT_LENGTH, None)  # the function has removed the prefix
        yield read_passage(one.get("content"), metadata, one.get("relevance_score"))
    if member(body, "status") == Status.DEGRADED:
        reason = member(body, "reason")
        known = isinstance(reason, str) and reason in set(Reason)
        yield Reason(reason) if known else Reason.INTERNAL


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _envelope(envelope: object) -> Iterator[Item]:
    body = member(envelope, "response", "responseBody", "application/json", "body")
    return _body(read_json(body) if isinstance(body, str) else body)


def _events(response: object) -> Iterator[Item]:
    events = member(response, "completion") or member(response, "stream")
    for event in objects(events):
        if reader := _reader_of(event):
            yield from reader(event)


def _trace(event: object) -> Iterator[Item]:
    """Read a trace, inside an event or alone."""
    trace = event
    while "trace" in _object(trace):
        trace = member(trace, "trace")
    observation = member(trace, "orchestrationTrace", "observation")
    output = member(observation, "actionGroupInvocationOutput", "text")
    if isinstance(output, str):
        yield from _observed(output)
    yield from _retrieved(member(observation, "knowledgeBaseLookupOutput", "retrievedReferences"))
    final = member(observation, "finalResponse", "text")
    if isinstance(final, str):
        yield Said(final)


def _observed(output: str) -> Iterator[Item]:
    """Read a tool's output to an agent; another product's tool may output anything.

    It may repeat the model's own text, so only passages bound by hashes count; ours always send them.
    """
    try:
        body = read_json(output)
    except UnreadableResponse:
        return
    for one in _body(body):
        is_given = isinstance(one, RawPassage) or (isinstance(one, Passage) and not one.proven)
        yield DropReason.NOT_PROVEN if is_given else one


def _alone(result: object) -> Iterator[Item]:
    return _retrieved([result])


def _exchange(exchange: object) -> Iterator[Item]:
    request = member(exchange, "request")
    yield from _asked(request)
    yield from _conversed(member(exchange, "response"), request)


def _output(response: object) -> Iterator[Item]:
    """Read a response of Converse, alone or beside the messages of its request."""
    request = response if member(response, "messages") is not None else None
    if request is not None:
        yield from _asked(request)
    yield from _conversed(response, request)


_READERS: Final[dict[str, Callable[[object], Iterator[Item]]]] = {
    "retrievalResults": lambda it: _retrieved(member(it, "retrievalResults")),
    "results": _body,
    "agent_outputs": lambda it: _body(member(it, "evidence")),
    "messageVersion": _envelope,
    "structuredContent": lambda it: _body(member(it, "structuredContent")),
    "jsonrpc": lambda it: _body(member(it, "result", "structuredContent")),
    "citations": _generated,
    "completion": _events,
    "stream": _events,
    "result": _agentic,
    "trace": _trace,
    "orchestrationTrace": _trace,
    "chunk": _attributed,
    "request": _exchange,
    "output": _output,
    "messages": _asked,
    "node": _alone,
    "page_content": _alone,
    "location": _alone,
    "metadata": _alone,
}
"""Readers by the member that identifies a document; the first match decides."""
