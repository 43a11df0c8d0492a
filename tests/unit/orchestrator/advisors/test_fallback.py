"""Where an advisor fails another one writes, and the reader is told."""

import asyncio
import logging
from contextlib import closing

import pytest

from knowledge_rag.channel.message import place
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.evaluation.faults.server import answering, http, serving
from knowledge_rag.orchestrator.advisors.advisor import Advice, ExtractiveAdvisor
from knowledge_rag.orchestrator.advisors.converse import ConverseAdvisor, ConverseSettings
from knowledge_rag.orchestrator.advisors.fallback import DOUBTED_NOTE, FallbackAdvisor
from knowledge_rag.orchestrator.errors import AdviceFailed, ModelFailed
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.recommendation import Concern
from knowledge_rag.orchestrator.retrieval import Asked, Findings
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE
from knowledge_rag.orchestrator.written import recommend
from tests.support.advisors import INCIDENT
from tests.unit.orchestrator.evidence import FINDINGS, findings_of
from tests.unit.orchestrator.schema import VALIDATOR

TOLD = Incident(
    incident_id="INC-9",
    alert_name="orders-db-writer-unavailable",
    service="rds",
    description="The orders-db writer is gone, failover of the cluster needed",
)
NOTHING = findings_of(())
DOWN = Findings((Asked(Query("why?"), degraded(Reason.TIMEOUT)),))


class Failing:
    """An advisor that fails so, or never comes to an end."""

    def __init__(self, error=None):
        self.error = error

    async def advise(self, *_):
        if self.error is None:
            await asyncio.Event().wait()
        raise self.error


class Writing:
    """An advisor that writes this, from what it is given or what it has found itself."""

    def __init__(self, text="1. Find out who is writer now [1].", found=None):
        self.text, self.found = text, found

    async def advise(self, _, findings):
        return Advice(self.text, self.found or findings, "converse")


def advised(advisor, findings=FINDINGS, incident=TOLD):
    advice = asyncio.run(advisor.advise(incident, findings))
    recommendation = recommend(incident, advice)
    VALIDATOR.validate(recommendation.to_dict())
    return recommendation


def notices(recommendation):
    return [it.message for it in recommendation.warnings if it.kind is Concern.NOTICE]


@pytest.mark.parametrize(
    "text",
    [
        "1. Delete the old volume [1].",
        "1. Find out who is writer now [1], see [99].",
        "1. Run `aws rds delete-db-cluster --skip-final-snapshot` [1].",
    ],
)
def test_where_nobody_asked_an_answer_with_errors_is_replaced(text):
    recommendation = advised(FallbackAdvisor(Writing(text), strict=True))
    assert recommendation.advisor == "extractive"
    assert any("(unverifiable_results)" in it for it in notices(recommendation))
    assert advised(FallbackAdvisor(Writing(text))).advisor == "converse"


def test_one_without_errors_is_left_alone_there_too():
    said = "Find out who is writer now."
    (number,) = [
        number
        for number, it in enumerate(FINDINGS.ledger.entries, start=1)
        if said in FINDINGS.ledger.lines(*place(it.citation)).content
    ]
    writing = Writing(f"1. {said} [{number}]")
    assert advised(FallbackAdvisor(writing, strict=True)).advisor == "converse"


def test_an_advisor_that_writes_is_left_alone():
    assert asyncio.run(FallbackAdvisor(Writing()).advise(TOLD, FINDINGS)) == asyncio.run(
        Writing().advise(TOLD, FINDINGS)
    )


@pytest.mark.parametrize(
    ("error", "happened"),
    [
        (ModelFailed(Reason.THROTTLED, "x"), "could not be reached (throttled)"),
        (ModelFailed(Reason.GUARDRAIL, "x"), "returned no usable answer (guardrail)"),
        (AdviceFailed("out of ink"), "returned no usable answer (internal)"),
        (TimeoutError(), "could not be reached (timeout)"),
        (asyncio.CancelledError(), "returned no usable answer (internal)"),
    ],
)
def test_what_is_lifted_in_its_place_says_so(error, happened):
    recommendation = advised(FallbackAdvisor(Failing(error)))
    alone = advised(ExtractiveAdvisor())
    assert recommendation.advisor == "extractive"
    assert recommendation.guidance == alone.guidance != ()
    assert recommendation.confidence == alone.confidence
    assert notices(recommendation) == [
        f"The model {happened}: these steps are quoted from the retrieved lines."
    ]


def test_where_nothing_is_lifted_in_its_place_it_is_not_said_to_be():
    elsewhere = Incident(alert_name="CoffeeMachineOutOfBeans")
    failing = FallbackAdvisor(Failing(ModelFailed(Reason.THROTTLED, "x")))
    recommendation = advised(failing, incident=elsewhere)
    assert not recommendation.guidance
    assert notices(recommendation) == ["The model could not be reached (throttled)."]


def test_an_answer_of_which_nothing_can_be_verified_is_replaced():
    text = "1. Reboot it [99].\n2. Delete it [Source: runbooks/never-written.md, lines 1-2]."
    recommendation = advised(FallbackAdvisor(Writing(text)))
    assert recommendation.guidance == advised(ExtractiveAdvisor()).guidance
    assert "(unverifiable_results)" in notices(recommendation)[0]


def test_a_models_nothing_documented_is_not_believed_where_lines_say_otherwise():
    recommendation = advised(FallbackAdvisor(Writing(NO_MATCH)))
    assert recommendation.guidance == advised(ExtractiveAdvisor()).guidance != ()
    assert recommendation.advisor == "extractive"
    assert notices(recommendation) == [DOUBTED_NOTE]


def test_a_models_nothing_documented_stands_where_no_line_tells_of_the_incident():
    printer = Incident(alert_name="LabelPrinterPrintsBlankPages", service="warehouse")
    recommendation = advised(FallbackAdvisor(Writing(NO_MATCH)), incident=printer)
    assert (recommendation.status, recommendation.advisor) == (Status.NO_MATCH, "converse")
    assert notices(recommendation) == []


@pytest.mark.parametrize(
    ("text", "found", "happened"),
    [
        (NO_MATCH, NOTHING, "The model's own search found nothing"),
        (UNREACHABLE, DOWN, "The model returned no usable answer (timeout)"),
    ],
)
def test_a_search_of_its_own_that_failed_does_not_hide_what_another_found(text, found, happened):
    recommendation = advised(FallbackAdvisor(Writing(text, found)))
    assert recommendation.guidance == advised(ExtractiveAdvisor()).guidance
    (note,) = notices(recommendation)
    assert note == f"{happened}: these steps are quoted from the retrieved lines."
    assert advised(FallbackAdvisor(Writing(text, found)), NOTHING).advisor != "extractive"
    own = advised(FallbackAdvisor(Writing(found=FINDINGS)), NOTHING)
    assert (own.status, own.advisor) == (Status.OK, "converse")


@pytest.mark.parametrize(
    ("text", "findings", "status"),
    [
        (UNREACHABLE, DOWN, Status.DEGRADED),
        (NO_MATCH, NOTHING, Status.NO_MATCH),
    ],
)
def test_an_advisor_that_honestly_has_nothing_is_believed(text, findings, status):
    recommendation = advised(FallbackAdvisor(Writing(text)), findings)
    assert recommendation.status is status
    assert not notices(recommendation)


def test_a_defect_costs_the_model_and_not_the_advice(caplog):
    recommendation = advised(FallbackAdvisor(Failing(KeyError("secret question"))))
    assert recommendation.guidance
    assert "(internal)" in notices(recommendation)[0]
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.WARNING]
    assert "secret" not in caplog.text
    assert "KeyError" in caplog.text


def test_a_cancellation_is_passed_on():
    async def cancelled():
        task = asyncio.create_task(FallbackAdvisor(Failing()).advise(TOLD, FINDINGS))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())


@pytest.mark.parametrize(
    ("given", "found", "status"),
    [
        (FINDINGS, NOTHING, Status.OK),
        (NOTHING, FINDINGS, Status.OK),
        (DOWN, FINDINGS, Status.OK),
        (Findings(), FINDINGS, Status.OK),
        (DOWN, NOTHING, Status.NO_MATCH),
        (NOTHING, Findings(), Status.NO_MATCH),
        (DOWN, Findings(), Status.DEGRADED),
        (Findings(), DOWN, Status.DEGRADED),
    ],
)
def test_the_substitute_writes_from_whatever_was_found(given, found, status):
    failed = ModelFailed(Reason.UNAVAILABLE, "x", found)
    recommendation = advised(FallbackAdvisor(Failing(failed)), given)
    assert recommendation.status is status
    lifted = ": these steps are quoted from the retrieved lines."
    (note,) = notices(recommendation)
    assert note.endswith(lifted) == (status is Status.OK)


def test_where_nobody_has_searched_nothing_is_said_about_what_is_documented():
    recommendation = advised(
        FallbackAdvisor(Failing(ModelFailed(Reason.THROTTLED, "x"))), Findings()
    )
    assert recommendation.status is Status.DEGRADED
    assert recommendation.reason is Reason.THROTTLED


def test_a_note_stands_before_what_retrieval_has_to_say_and_once():
    outcome = RetrievalOutcome(Status.NO_MATCH, notice="All dates are past.")
    findings = Findings((Asked(Query("why?"), outcome),), notes=("One.", "Two.", "One."))
    assert findings.notices == ("One.", "Two.", "All dates are past.")


def test_a_model_that_is_throttled_for_ever_is_replaced(aws_environment, caplog):
    throttled = http(
        {"message": "secret"},
        "429 Too Many Requests",
        headers=("x-amzn-ErrorType: ThrottlingException",),
    )
    settings = ConverseSettings("m.odel", "eu-west-1", attempts=2)
    with (
        serving(answering(throttled)) as server,
        closing(ConverseAdvisor(settings, "The prompt.", jitter=lambda: 0.0)) as model,
    ):
        aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
        recommendation = advised(FallbackAdvisor(model), incident=INCIDENT)
        assert len(server.requests) == 2
    assert "(throttled)" in notices(recommendation)[0]
    assert recommendation.advisor == "extractive"
    assert "throttled: ThrottlingException" in caplog.text
    assert "secret" not in caplog.text
