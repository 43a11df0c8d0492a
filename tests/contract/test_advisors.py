"""Agents and models on loopback, honest ones and those that misbehave, behind the advisors.

botocore's own client speaks to the local server. Whatever comes back, a recommendation cites lines
that were retrieved for it, byte for byte, or says that it has none.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from contextlib import closing
from dataclasses import replace
from random import Random

import pytest

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.guardrails.support.report import Verdict
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.local import answer_writers as writers
from knowledge_rag.local import scripted_agents, scripted_models, stream_faults
from knowledge_rag.local.agent_traces import chunk
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.scripted_agents import AGENT_ID, ALIAS_ID, QUOTING, QUOTING_ID, Evidence
from knowledge_rag.local.scripted_models import MODEL_ID
from knowledge_rag.local.server import LocalBedrock
from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.advisors.bedrock_agent import AgentSettings, BedrockAgentAdvisor
from knowledge_rag.orchestrator.advisors.converse import (
    CUT_NOTE,
    ConverseAdvisor,
    ConverseSettings,
)
from knowledge_rag.orchestrator.advisors.failures import ModelFailed
from knowledge_rag.orchestrator.advisors.fallback import FallbackAdvisor
from knowledge_rag.orchestrator.advisors.prompt import agent_prompt
from knowledge_rag.orchestrator.composition import recommend
from knowledge_rag.orchestrator.findings import Findings
from knowledge_rag.orchestrator.recommendation import Shortfall
from tests.adversarial.answers import fabricated
from tests.adversarial.fabrications import FABRICATIONS
from tests.adversarial.shelf import Shelf
from tests.support.advisors import (
    INCIDENT,
    assert_exact,
    body_of,
    cited_lines,
    searched,
    turn,
    words_of,
)
from tests.support.fixtures import ENVIRONMENT
from tests.support.local import CORPUS, RUNBOOKS, minilm, write_files
from tests.unit.orchestrator.evidence import findings_of, results_of
from tests.unit.orchestrator.schema import VALIDATOR

RUNS = 1_000
OVER_HTTP = 33
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


def never_ending_until_left(messages):
    play = stream_faults.never_ending(0.01, most_seconds=60)(messages)
    try:
        yield from play
    except GeneratorExit:
        LEFT.set()
        raise


FUNCTION = {"ASKSITS000": QUOTING, "CUTTRACES0": scripted_agents.SCRIPTED["CUTTRACES0"]}
"""Agents with the real function behind their action group; the others need none for their part."""
AGENTS = {
    **{
        name: agent
        if agent.evidence is Evidence.CALLER
        else replace(agent, evidence=Evidence.KNOWLEDGE_BASE)
        for name, agent in {
            **scripted_agents.SCRIPTED,
            "FAILSTHROT": scripted_agents.failing_in_stream("ThrottlingException"),
            "FAILSDEPEN": scripted_agents.failing_in_stream("DependencyFailedException"),
            "REFUSES000": scripted_agents.refusing("AccessDeniedException"),
            "RANDOMFABR": replace(QUOTING, write=fabricating),
            "ENDLESS000": replace(QUOTING, transmit=never_ending_until_left),
        }.items()
    },
    **FUNCTION,
}
MODELS = {
    **scripted_models.SCRIPTED,
    "local.throttled": scripted_models.refusing("ThrottlingException"),
    "local.cites-in-text": scripted_models.ScriptedModel(
        writers.saying(f"1. Promote the replica `x` [Source: {RUNBOOK}, lines 14-14].")
    ),
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("advisors") / "corpus", RUNBOOKS)


@pytest.fixture(scope="module")
def bedrock(corpus):
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


@pytest.fixture(scope="module")
def agent_advisor(bedrock):  # noqa: ARG001 - which the environment leads to
    settings = AgentSettings(AGENT_ID, ALIAS_ID, "us-east-1")
    with closing(BedrockAgentAdvisor(settings)) as advisor:
        asyncio.run(advisor.prepare())
        yield advisor


@pytest.fixture
def agent(agent_advisor):
    """Ask an agent; gives the recommendation. One client serves all, whatever went before."""

    def ask(agent_id, seconds=30.0):
        agent_advisor._settings = AgentSettings(agent_id, ALIAS_ID, "us-east-1", seconds)
        return recommended(agent_advisor, Findings())

    return ask


@pytest.fixture(scope="module")
def model_advisor(bedrock):  # noqa: ARG001 - likewise
    settings = ConverseSettings(MODEL_ID, "us-east-1")
    with closing(ConverseAdvisor(settings, agent_prompt(), jitter=lambda: 0.0)) as advisor:
        asyncio.run(advisor.prepare())
        yield advisor


@pytest.fixture
def model(model_advisor):
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


# agents


def test_the_honest_agent_searches_by_the_incidents_queries_and_cites_what_it_found(agent, corpus):
    recommendation = agent(AGENT_ID)
    assert recommendation.advisor == "bedrock-agent"
    assert any("aws rds failover-db-cluster" in step.action for step in recommendation.guidance)
    assert recommendation.reasoning.startswith("2 steps from 1 document; 3 of 3 queries")
    assert files(recommendation) == {RUNBOOK}
    assert_exact(recommendation, corpus)


@pytest.mark.parametrize(
    "agent_id",
    [
        QUOTING_ID,
        "ASKSITS000",
        "NATIVEKB00",
        "NOTATIONS0",
        "FIVEASKED0",
        "PARTTRACES",
        "SPLITBYTES",
        "SPLITREFS0",
        "GIVESFILES",
        "TOMORROWS0",
        "ATTRIBUTES",
    ],
)
def test_an_honest_answer_is_kept_however_it_comes(agent, corpus, agent_id):
    recommendation = agent(agent_id)
    assert recommendation.status is Status.OK
    assert RUNBOOK in files(recommendation)
    assert_exact(recommendation, corpus)


def test_a_fabrication_is_not_shown_and_what_rests_on_it_is_warned_of(agent, corpus):
    recommendation = agent("FABRICATES")
    assert "never-written" not in words_of(recommendation)
    assert "[" not in words_of(recommendation)
    assert_exact(recommendation, corpus)
    # it stands in the paragraph of the last step, which cites something
    resting = [step for step in recommendation.guidance if "old volume" in step.action]
    assert [step.support for step in resting] == [Verdict.UNSUPPORTED]


@pytest.mark.parametrize("agent_id", ["WRONGLINES", "UNCITED000"])
def test_steps_that_cite_nothing_that_was_retrieved_are_no_guidance(agent, agent_advisor, agent_id):
    recommendation = agent(agent_id)
    assert (recommendation.status, recommendation.reason) == (
        Status.DEGRADED,
        Shortfall.UNVERIFIED_ADVICE,
    )
    assert not cited_lines(recommendation)
    instead = recommended(FallbackAdvisor(agent_advisor), Findings())
    assert (instead.status, instead.advisor) == (Status.OK, "extractive")


def test_traces_that_were_cut_are_an_outage_and_no_absence(agent):
    recommendation = agent("CUTTRACES0")
    assert recommendation.reason is Reason.MALFORMED_RESPONSE
    assert not cited_lines(recommendation)


FAILURES = {
    "NOTRACES00": Reason.UNVERIFIABLE_RESULTS,
    "NOOBSERVED": Reason.UNVERIFIABLE_RESULTS,
    "NEVERASKS0": Reason.UNVERIFIABLE_RESULTS,
    "RETURNSCTL": Reason.CONFIGURATION,
    "SILENT0000": Reason.MALFORMED_RESPONSE,
    "CUTOFF0000": Reason.MALFORMED_RESPONSE,
    "ENDSEARLY0": Reason.MALFORMED_RESPONSE,
    "ENDSWHOLE0": Reason.MALFORMED_RESPONSE,
    "BADPRELUDE": Reason.MALFORMED_RESPONSE,
    "BADMESSAGE": Reason.MALFORMED_RESPONSE,
    "NOSTREAM00": Reason.MALFORMED_RESPONSE,
    "NOTHING000": Reason.MALFORMED_RESPONSE,
    "OVERSIZED0": Reason.MALFORMED_RESPONSE,
    "FAILSTHROT": Reason.THROTTLED,
    "FAILSDEPEN": Reason.UNAVAILABLE,
    "REFUSES000": Reason.ACCESS_DENIED,
    "NOSUCHAGEN": Reason.CONFIGURATION,
}


@pytest.mark.parametrize(("agent_id", "cause"), FAILURES.items(), ids=FAILURES)
def test_what_is_no_answer_fails_and_the_lines_take_its_place(agent_advisor, agent_id, cause):
    agent_advisor._settings = AgentSettings(agent_id, ALIAS_ID, "us-east-1")
    with pytest.raises(ModelFailed) as failed:
        recommended(agent_advisor, FINDINGS)
    assert failed.value.cause is cause
    instead = recommended(FallbackAdvisor(agent_advisor), FINDINGS)
    assert instead.status is Status.OK
    assert instead.advisor == "extractive"
    assert any(f"({cause}): these steps are lifted" in it.message for it in instead.warnings)


def test_an_endless_stream_is_left_at_the_deadline(agent):
    LEFT.clear()
    with pytest.raises(ModelFailed, match="timeout"):
        agent("ENDLESS000", seconds=2.0)
    assert LEFT.wait(10)
    assert agent(QUOTING_ID).status is Status.OK


def test_of_random_fabrications_over_http_none_is_shown(agent, corpus):
    WRITTEN.clear()
    for number in range(OVER_HTTP):
        recommendation = agent("RANDOMFABR")
        assert_exact(recommendation, corpus)
        assert len(WRITTEN) == number + 1
        # what is shown are words that are left when every fabrication has gone
        left = WRITTEN[-1].split()
        assert not [
            word for word in words_of(recommendation).split() if "[" in word and word not in left
        ]


# a thousand turns, encoded as the service does and read by botocore's parser


@pytest.fixture(scope="module")
def shelves():
    names = ("runbooks/rds-failover.md", "runbooks/sqs-backlog.md", POSTMORTEM)
    held = [results_of(name, (CORPUS / name).read_text()) for name in names]
    much = tuple(result for results in held for result in results[1:5])
    return Shelf(CORPUS, much), Shelf(CORPUS, tuple(held[0][2:4])), Shelf(CORPUS, (held[1][2],))


def split(data, rng):
    """Cut an answer into chunks, anywhere."""
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(4)))
    return [data[a:b] for a, b in itertools.pairwise([0, *cuts, len(data)])]


@pytest.mark.parametrize("part", range(4))
def test_of_a_thousand_turns_with_fabrications_none_is_shown(shelves, part):
    for seed in range(part * RUNS // 4, (part + 1) * RUNS // 4):
        rng, shelf = Random(f"turn {seed}"), shelves[seed % len(shelves)]
        answer, expected = fabricated(rng, shelf, FABRICATIONS[seed % len(FABRICATIONS)])
        asked = [shelf.results[n : n + 5] for n in range(0, len(shelf.results), 5)]
        traces = [it for n, found in enumerate(asked) for it in searched(body_of(*found), n)]
        read = turn(*traces, *map(chunk, split(answer.encode(), rng)))
        assert read.text == answer
        ledger = read.findings.ledger
        assert [entry.citation for entry in ledger.entries] == [
            result.citation for result in shelf.results
        ]
        assert verify(read.text, ledger).text == expected
        recommendation = recommend(INCIDENT, Advice(read.text, read.findings, "bedrock-agent"))
        assert_exact(recommendation, CORPUS)
        for name, first, last, _ in cited_lines(recommendation):
            assert shelf.holds(name, first, last)


# models


@pytest.mark.parametrize("model_id", ["local.quotes", "local.later", "local.misquotes"])
def test_what_the_api_cites_in_range_is_cited(model, corpus, model_id):
    recommendation = model(model_id)
    assert recommendation.advisor == "converse"
    assert files(recommendation) == {RUNBOOK, POSTMORTEM}
    assert_exact(recommendation, corpus)


def test_what_a_model_cites_in_its_text_is_verified_likewise(model, corpus):
    recommendation = model("local.cites-in-text")
    assert [(cited[1], cited[2]) for cited in cited_lines(recommendation)] == [(14, 14)]
    assert_exact(recommendation, corpus)


def test_what_a_model_makes_up_beside_its_citations_is_not_shown(model, corpus):
    recommendation = model("local.fabricates")
    assert "never-written" not in words_of(recommendation)
    assert "[" not in words_of(recommendation)
    assert files(recommendation) == {RUNBOOK, POSTMORTEM}
    assert_exact(recommendation, corpus)


@pytest.mark.parametrize(
    "model_id",
    [
        "local.uncited",
        "local.index-beyond",
        "local.lines-beyond",
        "local.end-beyond",
        "local.reversed",
        "local.negative",
        "local.no-start",
        "local.no-locations",
        "local.of-a-document",
    ],
)
def test_locations_that_no_evidence_has_are_no_citations(model, model_id, corpus):
    recommendation = model(model_id)
    assert_exact(recommendation, corpus)
    assert recommendation.status is Status.DEGRADED
    assert recommendation.reason is Shortfall.UNVERIFIED_ADVICE


def test_an_answer_that_was_cut_off_says_so(model, corpus):
    recommendation = model("local.max-tokens")
    assert recommendation.guidance
    assert CUT_NOTE in [warned.message for warned in recommendation.warnings]
    assert_exact(recommendation, corpus)


@pytest.mark.parametrize(
    ("model_id", "cause"),
    [
        ("local.throttled", Reason.THROTTLED),
        ("local.unknown", Reason.CONFIGURATION),
        ("local.guardrail", Reason.GUARDRAIL),
        ("local.filtered", Reason.GUARDRAIL),
        ("local.tool-use", Reason.MALFORMED_RESPONSE),
        ("local.empty", Reason.MALFORMED_RESPONSE),
        ("local.silent", Reason.MALFORMED_RESPONSE),
        ("local.no-output", Reason.MALFORMED_RESPONSE),
    ],
)
def test_what_is_no_answer_of_a_model_is_replaced(model, model_id, cause):
    with pytest.raises(ModelFailed) as failed:
        model(model_id)
    assert failed.value.cause is cause
    instead = model(model_id, wrap=FallbackAdvisor)
    assert instead.advisor == "extractive"
    assert any(f"({cause}): these steps are lifted" in it.message for it in instead.warnings)
