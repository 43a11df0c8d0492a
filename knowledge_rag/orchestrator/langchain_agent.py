"""Middleware that verifies a LangChain agent's answers; needs the extra ``models``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from knowledge_rag.core.errors import UnreadableResponse
from knowledge_rag.core.outcome import TOOL_NAMES
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.review import review, review_json
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator.langchain import outcome_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from langchain.agents.middleware import ModelRequest, ModelResponse
    from langchain_core.messages import AnyMessage

    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.guardrails.review import Review

REPORT: Final = "knowledge_rag"
"""Key of a checked message's ``response_metadata``: the report, as ``knowledge-rag verify --json`` prints it."""

MOST: Final = 10
"""Maximum errors in a request to correct an answer."""

_WRONG: Final = (
    "Your answer was checked against what retrieve_knowledge returned, and this is wrong:"
)
_REPAIR: Final = "Correct or remove exactly this, and answer again. Cite only references that retrieve_knowledge returned."


class VerifiedAnswers(AgentMiddleware[Any, Any, Any]):
    """Verifies each message of an agent's model against what :class:`KnowledgeTool` returned in its conversation.

    References that no search returned are removed before the message enters the agent's state. An answer is checked
    as by :func:`knowledge_rag.guardrails.review.review` if it cites, or if the knowledge base was searched since the
    last human message. One with errors goes back to the model; after ``retries`` it is accepted as it is, and its
    ``response_metadata["knowledge_rag"]`` has the report.

    Its refusal and its thoughts are verified, too. A thought that would change is left out, and so is a block of an
    unknown type; the report lists both as ``left_out``.

    The model's words aren't streamed (tag ``nostream``), since they aren't verified yet. Structured responses aren't
    checked.

    Args:
        retries: how often an answer with errors goes back to the model, >= 0.

    Raises:
        ValueError: ``retries`` is negative.
    """

    def __init__(self, retries: int = 1) -> None:
        super().__init__()
        if retries < 0:
            raise ValueError(f"retries must be 0 or more, not {retries}")
        self._retries = retries

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model until its answer has no errors or no retry is left; return it verified."""
        asked = _unstreamed(request)
        response = handler(asked)
        for _ in range(self._retries):
            if (again := _again(asked, response)) is None:
                break
            response = handler(again)
        return _verified(asked, response)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """See :meth:`wrap_model_call`."""
        asked = _unstreamed(request)
        response = await handler(asked)
        for _ in range(self._retries):
            if (again := _again(asked, response)) is None:
                break
            response = await handler(again)
        return _verified(asked, response)


def _unstreamed(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """Return the request with a model whose words appear in no stream of the graph."""
    model = request.model
    tags = [*(model.tags or ()), "nostream"]
    return request.override(model=model.model_copy(update={"tags": tags}))


def _again(request: ModelRequest[Any], response: ModelResponse[Any]) -> ModelRequest[Any] | None:
    """Return the request to correct an answer; ``None`` if there is nothing to correct."""
    for said in response.result:
        if not isinstance(said, AIMessage):
            continue
        reviewed = _reviewed(said, request.messages)
        if reviewed is not None and reviewed.errors:
            wrong = dict.fromkeys(it.message for it in reviewed.errors)
            listed = "\n".join(f"- {it}" for it in list(wrong)[:MOST])
            told = HumanMessage(f"{_WRONG}\n{listed}\n{_REPAIR}")
            return request.override(messages=[*request.messages, said, told])
    return None


def _verified(request: ModelRequest[Any], response: ModelResponse[Any]) -> ModelResponse[Any]:
    messages = [
        _shown(it, request.messages) if isinstance(it, AIMessage) else it for it in response.result
    ]
    return replace(response, result=messages)


def _shown(said: AIMessage, before: Sequence[AnyMessage]) -> AIMessage:
    """Return a message with those of its words that may be shown, and with its report if it was checked."""
    reviewed = _reviewed(said, before)
    ledger = Ledger.of(*(it.results for it in _outcomes(before)))
    verified = reviewed.verified if reviewed is not None else verify(_text_of(said), ledger)
    left_out: list[str] = []
    changed: dict[str, Any] = {
        "content": _with_text(said.content, verified.text, ledger, left_out),
        "additional_kwargs": {
            key: it if key in _CALLS else _verified_words(it, ledger)
            for key, it in said.additional_kwargs.items()
        },
    }
    report: dict[str, Any] = {}
    if reviewed is not None:
        report = {"verified": not reviewed.errors, **review_json(reviewed)}
    if left_out:
        report["left_out"] = left_out
    if report:
        changed["response_metadata"] = {**said.response_metadata, REPORT: report}
    return said.model_copy(update=changed)


def _with_text(
    content: str | list[Any], text: str, ledger: Ledger, left_out: list[str]
) -> str | list[Any]:
    """Return a message's content with this text in place of its own; other blocks stay in order.

    Args:
        content: as the model wrote it.
        text: the words that may be shown.
        ledger: verifies the words outside the text.
        left_out: receives the type of each block that is left out.
    """
    if isinstance(content, str):
        return text
    blocks: list[Any] = []
    is_said = False
    for block in content:
        if _words_of(block) is not None:
            blocks += [] if is_said or not text else [{"type": "text", "text": text}]
            is_said = True
        elif (kind := str(block.get("type"))) in _WITHOUT_WORDS:
            blocks.append(block)
        elif kind in _THOUGHTS and _verified_words(block, ledger) == block:
            blocks.append(block)  # one with other words would no longer fit its signature
        else:
            left_out.append(kind[:_LONGEST_TYPE])
    return blocks


_SAID: Final = {
    "text": "text", "output_text": "text", "text-plain": "text", "refusal": "refusal", None: "text",
}  # fmt: skip
"""Types of blocks with a model's answer, and the field of its words."""
_THOUGHTS: Final = frozenset(("thinking", "reasoning", "reasoning_content"))
_WITHOUT_WORDS: Final = frozenset(
    ("tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta", "redacted_thinking")
)  # fmt: skip
"""Tool calls, which only the tool reads, and encrypted blocks."""
_CALLS: Final = frozenset(("tool_calls", "function_call"))
"""Keys outside the content that only a tool reads."""
_LONGEST_TYPE: Final = 64


def _words_of(block: Any) -> str | None:  # noqa: ANN401 - a model's block
    """Return the words of a block that is part of a model's answer; ``None`` for any other."""
    if isinstance(block, str):
        return block
    field = _SAID.get(kind) if isinstance(kind := block.get("type"), str | None) else None
    words = block.get(field) if field else None
    return words if isinstance(words, str) else None


def _text_of(said: AIMessage) -> str:
    """Return all words of a message, in the order of its blocks."""
    content = said.content
    blocks = [content] if isinstance(content, str) else content
    return "".join(words for it in blocks if (words := _words_of(it)) is not None)


def _verified_words(value: Any, ledger: Ledger) -> Any:  # noqa: ANN401 - of a provider's own form
    """Return a JSON value with all texts in it verified."""
    if isinstance(value, str):
        return verify(value, ledger).text
    if isinstance(value, dict):
        return {key: _verified_words(it, ledger) for key, it in value.items()}
    return [_verified_words(it, ledger) for it in value] if isinstance(value, list) else value


def _reviewed(said: AIMessage, before: Sequence[AnyMessage]) -> Review | None:
    """Return the review of an answer; ``None`` for a message that calls a tool or isn't about runbooks."""
    if said.tool_calls:
        return None
    text, outcomes = _text_of(said), list(_outcomes(before))
    turn = max((n for n, it in enumerate(before) if isinstance(it, HumanMessage)), default=0)
    reviewed = review(
        text,
        Ledger.of(*(it.results for it in outcomes)),
        failed=[it.reason for it in outcomes if it.reason is not None],
    )
    cites = reviewed.verified.citations or reviewed.verified.removed
    return reviewed if cites or any(_outcomes(before[turn:])) else None


def _outcomes(messages: Sequence[AnyMessage]) -> Iterator[RetrievalOutcome]:
    """Yield the tool's outcomes in a conversation."""
    for message in messages:
        if isinstance(message, ToolMessage) and message.name in TOOL_NAMES:
            try:
                yield outcome_of(message)
            except UnreadableResponse:  # the tool was called wrongly
                continue
