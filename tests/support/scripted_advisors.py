"""Agents and models on loopback, honest ones and those that misbehave, behind the real advisors."""

import asyncio
import itertools
import os
import threading
from contextlib import closing
from dataclasses import replace
from random import Random

import pytest

from knowledge_rag.local.bedrock.converse import MODEL_ID
from knowledge_rag.local.bedrock.invoke_agent import AGENT_ID, ALIAS_ID
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.orchestrator.advisors.bedrock_agent import AgentSettings, BedrockAgentAdvisor
from knowledge_rag.orchestrator.advisors.converse import ConverseAdvisor, ConverseSettings
from knowledge_rag.orchestrator.retrieval import Findings
from knowledge_rag.orchestrator.wording import agent_prompt
from knowledge_rag.orchestrator.written import recommend
from tests.adversarial.answers import fabricated
from tests.adversarial.fabrications import FABRICATIONS
from tests.adversarial.shelf import Shelf
from tests.support import answer_writers as writers
from tests.support import misbehaving_agents, misbehaving_models
from tests.support.advisors import INCIDENT, cited_lines
from tests.support.fixtures import ENVIRONMENT
from tests.support.invoke_agent import never_ending_until
from tests.support.local import CORPUS, RUNBOOKS, minilm, write_files
from tests.support.misbehaving_agents import QUOTING
from tests.support.scripted import Evidence, LocalBedrock, ScriptedModel
from tests.unit.orchestrator.evidence import findings_of, results_of
from tests.unit.orchestrator.schema import VALIDATOR

SEEDS = itertools.count()
WRITTEN: list[str] = []
LEFT = threading.Event()
RUNBOOK, POSTMORTEM = "runbooks/rds-failover.md", "postmortems/2024-01-rds-incident.md"
FINDINGS = findings_of(*(results_of(name, RUNBOOKS[name]) for name in (RUNBOOK, POSTMORTEM)))


def fabricating(_question, outcomes):
    """Write an answer with other fabrications each time."""
    seed = next(SEEDS)
    shelf = Shelf(CORPUS, tuple(result for outcome in outcomes for result in outcome.results))
    written = fabricated(Random(f"http {seed}"), shelf, FABRICATIONS[seed % len(FABRICATIONS)])
    WRITTEN.append(written.expected)
    return written.answer


FUNCTION = {"ASKSITS000": QUOTING, "CUTTRACES0": misbehaving_agents.SCRIPTED["CUTTRACES0"]}
"""Agents with the real function behind their action group; the others need none for their part."""
AGENTS = {
    **{
        name: agent
        if agent.evidence is Evidence.CALLER
        else replace(agent, evidence=Evidence.KNOWLEDGE_BASE)
        for name, agent in {
            **misbehaving_agents.SCRIPTED,
            "FAILSTHROT": misbehaving_agents.failing_in_stream("ThrottlingException"),
            "FAILSDEPEN": misbehaving_agents.failing_in_stream("DependencyFailedException"),
            "REFUSES000": misbehaving_agents.refusing("AccessDeniedException"),
            "RANDOMFABR": replace(QUOTING, write=fabricating),
            "ENDLESS000": replace(QUOTING, transmit=never_ending_until(LEFT)),
        }.items()
    },
    **FUNCTION,
}
MODELS = {
    **misbehaving_models.SCRIPTED,
    "local.throttled": misbehaving_models.refusing("ThrottlingException"),
    "local.cites-in-text": ScriptedModel(
        writers.saying(f"1. Promote the replica `x` [Source: {RUNBOOK}, lines 14-14].")
    ),
}


@pytest.fixture(scope="module", name="corpus")
def corpus_fixture(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("advisors") / "corpus", RUNBOOKS)


@pytest.fixture(scope="module", name="bedrock")
def bedrock_fixture(corpus):
    kb_path = corpus.parent / "knowledge.kb"
    ingest(corpus, kb_path, embedder=minilm())
    with (
        KnowledgeBase(kb_path, minilm()) as opened,
        LocalBedrock(opened, agents=AGENTS, models=MODELS) as running,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        for service in ("BEDROCK_AGENT_RUNTIME", "BEDROCK_RUNTIME"):
            patch.setenv(f"AWS_ENDPOINT_URL_{service}", running.endpoint_url)
        yield running


@pytest.fixture(scope="module", name="agent_advisor")
def agent_advisor_fixture(bedrock):  # noqa: ARG001 - which the environment leads to
    settings = AgentSettings(AGENT_ID, ALIAS_ID, "us-east-1")
    with closing(BedrockAgentAdvisor(settings)) as advisor:
        asyncio.run(advisor.prepare())
        yield advisor


@pytest.fixture(name="agent")
def agent_fixture(agent_advisor):
    """Ask an agent; gives the recommendation. One client serves all, whatever went before."""

    def ask(agent_id, seconds=30.0):
        agent_advisor._settings = AgentSettings(agent_id, ALIAS_ID, "us-east-1", seconds)
        return recommended(agent_advisor, Findings())

    return ask


@pytest.fixture(scope="module", name="model_advisor")
def model_advisor_fixture(bedrock):  # noqa: ARG001 - likewise
    settings = ConverseSettings(MODEL_ID, "us-east-1")
    with closing(ConverseAdvisor(settings, agent_prompt(), jitter=lambda: 0.0)) as advisor:
        asyncio.run(advisor.prepare())
        yield advisor


@pytest.fixture(name="model")
def model_fixture(model_advisor):
    """Ask a model; gives the recommendation."""

    def ask(model_id, *, wrap=lambda advisor: advisor):
        model_advisor._settings = ConverseSettings(model_id, "us-east-1")
        return recommended(wrap(model_advisor), FINDINGS)

    return ask


def recommended(advisor, findings):
    advice = asyncio.run(advisor.advise(INCIDENT, findings))
    recommendation = recommend(INCIDENT, advice)
    VALIDATOR.validate(recommendation.to_dict())
    return recommendation


def files(recommendation):
    return {cited[0] for cited in cited_lines(recommendation)}
