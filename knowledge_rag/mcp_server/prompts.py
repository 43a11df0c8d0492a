"""The agent's instructions as a prompt that a person can choose in a client."""

from __future__ import annotations

from typing import Final

from mcp import types

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.orchestrator.advisors.prompt import agent_prompt

NAME: Final = "advise"
_QUESTION: Final = "question"
_DESCRIPTION: Final = (
    "Advise on an incident from the documents alone, with a source behind each step"
)
_THEN: Final = "Give the finished answer to verify_citations and show the text that comes back."


def described() -> list[types.Prompt]:
    """Describe the one prompt."""
    question = types.PromptArgument(
        name=_QUESTION, description="The incident, or what you want to know of it", required=True
    )
    return [
        types.Prompt(
            name=NAME, title="Advise on an incident", description=_DESCRIPTION, arguments=[question]
        )
    ]


def filled(name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
    """Give the agent's instructions, then the question.

    Raises:
        InvalidRequest: there is no such prompt, or no question of a query's length.
    """
    if name != NAME:
        raise InvalidRequest(f"no prompt {name[:40]!a}; there is {NAME}")
    question = (arguments or {}).get(_QUESTION, "")
    if not question.strip() or len(question) > MAX_QUERY_CHARACTERS:
        raise InvalidRequest(f"question must have 1 to {MAX_QUERY_CHARACTERS} characters")
    text = f"{agent_prompt()}\n\n{_THEN}\n\n{question}"
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=_DESCRIPTION, messages=[message])
