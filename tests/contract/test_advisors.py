"""Agents on loopback, honest ones and those that misbehave, behind the advisor.

botocore's own client speaks to the local server. Whatever comes back, a recommendation cites lines
that were retrieved for it, byte for byte, or says that it has none.
"""

import pytest

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.guardrails.support.report import Verdict
from knowledge_rag.local.bedrock.invoke_agent import AGENT_ID, ALIAS_ID
from knowledge_rag.orchestrator.advisors.bedrock_agent import AgentSettings
from knowledge_rag.orchestrator.advisors.fallback import FallbackAdvisor
from knowledge_rag.orchestrator.errors import ModelFailed
from knowledge_rag.orchestrator.recommendation import Shortfall
from knowledge_rag.orchestrator.retrieval import Findings
from tests.support.advisors import assert_exact, cited_lines, words_of
from tests.support.misbehaving_agents import QUOTING_ID
from tests.support.scripted_advisors import (  # noqa: F401 - fixtures among them
    FINDINGS,
    LEFT,
    RUNBOOK,
    WRITTEN,
    agent_advisor_fixture,
    agent_fixture,
    bedrock_fixture,
    corpus_fixture,
    files,
    recommended,
)

OVER_HTTP = 33


def test_the_honest_agent_searches_by_the_incidents_queries_and_cites_what_it_found(agent, corpus):
    recommendation = agent(AGENT_ID)
    assert recommendation.advisor == "bedrock-agent"
    assert recommendation.guidance
    assert " from 1 document: " in recommendation.reasoning
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
    assert any(f"({cause}): these steps are quoted" in it.message for it in instead.warnings)


def test_an_endless_stream_is_left_at_the_deadline(agent):
    LEFT.clear()
    with pytest.raises(ModelFailed, match="timeout"):
        agent("ENDLESS000", seconds=2.0)
    assert LEFT.wait(60)
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
