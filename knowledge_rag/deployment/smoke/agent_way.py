"""Asks the agent, and takes from its trace what its tool answered.

What the model writes is no evidence; the trace holds the function's own answers (CONTRACTS 5).
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from botocore.eventstream import ParserError
from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError, ReadTimeoutError

from knowledge_rag.core.outcome import Status
from knowledge_rag.deployment.errors import CallFailed, Trouble, call_failed
from knowledge_rag.deployment.smoke.answers import WayBroken
from knowledge_rag.deployment.smoke.function_way import read_body

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.deployment.aws import Aws

READ_SECONDS: Final = 60
"""A model may think that long between two events."""

_ACTION: Final = "bedrock:InvokeAgent"


class AgentWay:
    """One session a question.

    Args:
        aws: account and region.
        agent_id: of the agent.
        alias_id: of its alias.
    """

    name = "agent"
    seconds = 120.0

    def __init__(self, aws: Aws, agent_id: str, alias_id: str) -> None:
        self._aws = aws
        self._agent_id = agent_id
        self._alias_id = alias_id

    def ask(self, query: str) -> Mapping[str, Any]:
        """Ask, read the stream to its end, and give what the tool answered in this turn."""
        answer = self._aws.call(
            "bedrock-agent-runtime",
            "invoke_agent",
            read_seconds=READ_SECONDS,
            agentId=self._agent_id,
            agentAliasId=self._alias_id,
            sessionId=str(uuid.uuid4()),
            inputText=query,
            enableTrace=True,
        )
        said, bodies = 0, []
        try:
            for event in answer["completion"]:
                said += len(event.get("chunk", {}).get("bytes", b""))
                if (text := _tool_output(event)) is not None:
                    bodies.append(read_body(text, "the agent's tool"))
        except (BotoCoreError, ClientError) as error:
            raise call_failed(error, _ACTION) from error
        except HTTPError as error:  # which botocore lets through while a stream is read
            trouble = (
                Trouble.TIMEOUT if isinstance(error, ReadTimeoutError) else Trouble.UNREACHABLE
            )
            raise CallFailed(trouble, _ACTION, type(error).__name__, str(error)) from error
        except ParserError as error:
            raise WayBroken(f"the agent's stream is damaged ({type(error).__name__})") from error
        if not said:
            raise WayBroken("the agent said nothing")
        if not bodies:
            raise WayBroken("the agent answered without asking the knowledge base")
        return _joined(bodies)


def _tool_output(event: Mapping[str, Any]) -> str | None:
    step = event.get("trace", {}).get("trace", {}).get("orchestrationTrace", {})
    output = step.get("observation", {}).get("actionGroupInvocationOutput", {}).get("text")
    return output if isinstance(output, str) else None


def _joined(bodies: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Make one body of those of a turn's queries: results of all, or the first that was degraded."""
    for body in bodies:
        if "error" in body:
            return body
    results = [result for body in bodies for result in body.get("results", [])]
    if results:
        return {"status": Status.OK.value, "results": results}
    degraded = [body for body in bodies if body.get("status") == Status.DEGRADED]
    return degraded[0] if degraded else bodies[0]
