"""Models on loopback that cite by the API or in their text, honest ones and others, behind the advisor."""

import pytest

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.orchestrator.advisors.fallback import FallbackAdvisor
from knowledge_rag.orchestrator.advisors.writing import CUT_NOTE
from knowledge_rag.orchestrator.errors import ModelFailed
from knowledge_rag.orchestrator.recommendation import Shortfall
from tests.support.advisors import assert_exact, cited_lines, words_of
from tests.support.scripted_advisors import (  # noqa: F401 - fixtures among them
    POSTMORTEM,
    RUNBOOK,
    bedrock_fixture,
    corpus_fixture,
    files,
    model_advisor_fixture,
    model_fixture,
)


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
    assert any(f"({cause}): these steps are quoted" in it.message for it in instead.warnings)
