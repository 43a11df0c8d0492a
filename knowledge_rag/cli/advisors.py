"""Options for the writer of the guidance, and their advisor."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from knowledge_rag.cli.backend import BackendOptions
    from knowledge_rag.orchestrator.advisors.advisor import Advisor


class AdvisorName(StrEnum):
    """Who writes the guidance."""

    EXTRACTIVE = "extractive"
    MODEL = "model"
    CONVERSE = "converse"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class AdvisorChoice:
    """The selected advisor.

    Args:
        name: ``extractive``, ``model`` with ``provider:model``, ``converse`` with a model's id, or
            ``agent`` with ``id/alias``.
    """

    name: str
    model_id: str | None = None
    agent: str | None = None
    region: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """Options for models that may write answers."""

    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="PROVIDER:NAME",
            help="Model of any provider that may write answers, as for ask.",
        ),
    ] = None
    model_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Bedrock model that may write them.")
    ] = None
    agent: Annotated[
        str | None,
        typer.Option(metavar="ID/ALIAS", help="Bedrock agent that may write them, and its alias."),
    ] = None

    @property
    def given(self) -> bool:
        """Whether one of them is given, even if empty."""
        return any(one is not None for one in (self.model, self.model_id, self.agent))

    def or_configured(self) -> WriterOptions:
        """Return these options, or if none is given, with the model of ``knowledge-rag.toml``, and report that."""
        from knowledge_rag.cli.config import config
        from knowledge_rag.cli.terminal import print_note

        if self.given or not (model := (settings := config()).model):
            return self
        print_note(
            "model:", f"{model} writes answers, set in {settings.path}; --model '' uses none"
        )
        return replace(self, model=model)

    def check_region(self, backend: BackendOptions) -> None:
        """Refuse --region if AWS isn't used."""
        of_bedrock = bool(self.model_id or self.agent) or asks_aws("model", self.model)
        backend.check_region("--model-id", "--agent", asks_aws=of_bedrock)

    def advisors(
        self, region: str | None, deployed_agent: str = "", *, strict: bool = False
    ) -> dict[str, Advisor]:
        """Return the advisors by name, the default first. Reports one that can't write, and why."""
        from knowledge_rag.cli.terminal import print_note
        from knowledge_rag.orchestrator.advisors.fallback import FallbackAdvisor

        choices = [AdvisorChoice("extractive")]
        if self.agent:
            choices.insert(0, AdvisorChoice("agent", agent=self.agent, region=region))
        elif deployed_agent:
            choices.append(AdvisorChoice("agent", region=region))
        if self.model_id:
            choices.insert(0, AdvisorChoice("converse", model_id=self.model_id, region=region))
        if self.model:
            choices.insert(0, AdvisorChoice("model", model=self.model, region=region))
        made = {one.name: chosen_advisor(one, deployed_agent, strict=strict) for one in choices}
        for one in made.values():
            if isinstance(one, FallbackAdvisor) and one.unable:
                print_note("model:", f"{one.unable}; answers are quoted from the documents")
        return made

    def advisor(self, region: str | None, deployed_agent: str, *, strict: bool = False) -> Advisor:
        """Return the default advisor."""
        return next(iter(self.advisors(region, deployed_agent, strict=strict).values()))


def asks_aws(advisor: str, model: str | None) -> bool:
    """Whether an advisor uses Bedrock."""
    if advisor == "model":
        return (model or "").startswith("bedrock")
    return advisor != "extractive"


def chosen_advisor(
    choice: AdvisorChoice, deployed_agent: str = "", *, strict: bool = False
) -> Advisor:
    """Return the advisor; a model's fallback is the extractive one, see ``FallbackAdvisor``.

    Raises:
        InvalidRequest: an option is missing or for another advisor, or no region is set.
        InvalidSettings: the name of a model or agent is invalid.
    """
    options = (
        ("--model", choice.model, "model"),
        ("--model-id", choice.model_id, "converse"),
        ("--agent", choice.agent, "agent"),
    )
    for option, given, whose in options:
        if given and choice.name != whose:
            raise InvalidRequest(f"{option} is for --advisor {whose}, not for {choice.name}")
    if choice.name == "extractive":
        from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor

        return ExtractiveAdvisor()
    if choice.name == "model":
        primary = _model(choice.model, choice.region)
    elif choice.name == "converse":
        primary = _converse(choice.model_id, choice.region)
    else:
        primary = _agent(choice.agent or deployed_agent, choice.region)
    # models need botocore and the checks of their words
    from knowledge_rag.orchestrator.advisors.fallback import FallbackAdvisor

    return FallbackAdvisor(primary, strict=strict)


def _model(model: str | None, region: str | None) -> Advisor:
    from knowledge_rag.local.settings import LocalSettings
    from knowledge_rag.orchestrator.advisors.chat_model import (
        ChatModelAdvisor,
        KeylessAdvisor,
        chat_model,
    )
    from knowledge_rag.orchestrator.advisors.spending import spending_of
    from knowledge_rag.orchestrator.errors import MissingKey
    from knowledge_rag.orchestrator.wording import agent_prompt

    if not model:
        raise InvalidRequest(
            "--advisor model needs --model PROVIDER:NAME, such as openai:NAME or ollama:NAME"
        )
    spending = spending_of(os.environ, LocalSettings.from_environment().data_dir)
    try:
        made = chat_model(model, region=region)
        return ChatModelAdvisor(made, agent_prompt(), spending=spending)
    except MissingKey as error:
        return KeylessAdvisor(str(error))


def _converse(model_id: str | None, region: str | None) -> Advisor:
    from knowledge_rag.orchestrator.advisors.converse import ConverseAdvisor, ConverseSettings
    from knowledge_rag.orchestrator.wording import agent_prompt

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
