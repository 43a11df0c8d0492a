"""Which advisor writes, as the user chose it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.orchestrator.advisors.extractive import ExtractiveAdvisor
from knowledge_rag.orchestrator.advisors.fallback import FallbackAdvisor

if TYPE_CHECKING:
    from knowledge_rag.orchestrator.advisors.advisor import Advisor


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes the guidance, as the user chose it.

    Args:
        name: ``extractive``, ``converse`` or ``agent``.
        model_id: for ``converse``.
        agent: for ``agent``: id and alias, with a slash between them.
        region: wins over what the environment and the AWS configuration say.
    """

    name: str
    model_id: str | None = None
    agent: str | None = None
    region: str | None = None


def chosen_advisor(writer: Writer, deployed_agent: str = "") -> Advisor:
    """Make an advisor; where a model fails, the one without a model takes its place.

    Args:
        writer: whom.
        deployed_agent: that writes for ``agent`` if none is named.

    Raises:
        InvalidRequest: an option is missing or for another advisor, or no region is set.
        InvalidSettings: no model or agent can have such a name.
    """
    name, model_id, agent, region = writer.name, writer.model_id, writer.agent, writer.region
    for option, given, whose in (("--model-id", model_id, "converse"), ("--agent", agent, "agent")):
        if given and name != whose:
            raise InvalidRequest(f"{option} is for --advisor {whose}, not for {name}")
    if name == "converse":
        return FallbackAdvisor(_converse(model_id, region))
    if name == "agent":
        return FallbackAdvisor(_agent(agent or deployed_agent, region))
    return ExtractiveAdvisor()


def _converse(model_id: str | None, region: str | None) -> Advisor:
    from knowledge_rag.orchestrator.advisors.converse import ConverseAdvisor, ConverseSettings
    from knowledge_rag.orchestrator.advisors.prompt import agent_prompt

    if not model_id:
        raise InvalidRequest(
            "--advisor converse needs --model-id ID: a model that cites search results"
        )
    return ConverseAdvisor(ConverseSettings(model_id, _region(region)), agent_prompt())


def _agent(agent: str | None, region: str | None) -> Advisor:
    from knowledge_rag.orchestrator.advisors.bedrock_agent import AgentSettings, BedrockAgentAdvisor

    agent_id, slash, alias_id = (agent or "").partition("/")
    if not slash:
        raise InvalidRequest(
            "--advisor agent needs --agent ID/ALIAS: `make deploy` prints both, --stack finds them"
        )
    return BedrockAgentAdvisor(AgentSettings(agent_id, alias_id, _region(region)))


def _region(region: str | None) -> str:
    from knowledge_rag.deployment.aws import Aws

    return Aws(region).required_region()
