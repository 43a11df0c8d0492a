"""A trial as a whole: which half-made deployments are tried, and what is said of their state."""

from __future__ import annotations

import pytest

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.deployment.smoke.promises import Verdict, check_ingestion
from knowledge_rag.deployment.smoke.questions import Question
from knowledge_rag.deployment.smoke.trial import try_deployment
from tests.support.deployed import ALIAS, NAME, Deployment
from tests.support.ingestion import DATA_SOURCE_ID, KNOWLEDGE_BASE_ID, ended
from tests.support.played_aws import DENIED, stack_in

NOTHING = {"status": "no_match", "results": []}


@pytest.fixture
def deployment(account):
    made = Deployment(account, lambda event, context: NOTHING)  # noqa: ARG005 - the function's shape
    yield made
    made.close()


@pytest.fixture
def trial(aws):
    steps = []

    def run():
        made = try_deployment(aws(), NAME, [Question("q", "q")], lambda *step: steps.append(step))
        return made, steps

    return run


def promised(trial, name):
    return [each for each in trial.promises if each.name == name]


def test_there_has_to_be_a_deployment(trial):
    with pytest.raises(InvalidRequest, match="there is no stack"):
        trial()


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ("UPDATE_COMPLETE", Verdict.KEPT),
        ("UPDATE_ROLLBACK_COMPLETE", Verdict.KEPT),
        ("UPDATE_IN_PROGRESS", Verdict.DEGRADED),
        ("ROLLBACK_COMPLETE", Verdict.BROKEN),
    ],
)
def test_the_state_of_a_stack_is_judged(account, trial, state, verdict):
    outputs = {"KnowledgeBaseId": "K", "DataSourceId": "D", "CorpusBucketName": "corpus"}
    outputs |= {"AdviceBusName": "B", "AdviceBucketName": "kept"}
    answer = stack_in(state, **outputs, RetrieveFunctionArn=ALIAS)
    account.refuse("cloudformation", "DescribeStacks", answer)
    account.client("s3").create_bucket(Bucket="corpus")
    made, _ = trial()
    assert {each.verdict for each in promised(made, "stacks")} == {verdict}


def test_a_stack_without_the_outputs_that_callers_need_is_broken(account, trial):
    account.deploy(f"{NAME}-data", KnowledgeBaseId=KNOWLEDGE_BASE_ID)
    made, _ = trial()
    data, service = promised(made, "stacks")
    assert "without DataSourceId, CorpusBucketName" in data.detail
    assert service.detail == f"{NAME}-service is missing"


def test_in_front_of_an_existing_knowledge_base_there_is_no_data_stack_to_miss(account, trial):
    account.deploy(f"{NAME}-service", KnowledgeBaseId=KNOWLEDGE_BASE_ID)
    made, _ = trial()
    service = promised(made, "stacks")[0]
    assert service.detail == f"{NAME}-service is CREATE_COMPLETE, without RetrieveFunctionArn"
    assert len(promised(made, "stacks")) == 1


def test_every_way_that_there_is_gets_its_questions(deployment, trial):
    deployment.make()
    made, steps = trial()
    assert [step[2] for step in steps] == ["function", "agent", "gateway"]
    assert [step[:2] for step in steps] == [(1, 3), (2, 3), (3, 3)]
    assert made.figures["ways"].keys() == {"function", "agent", "gateway"}


def test_a_gateway_without_encryption_is_told_and_not_asked(deployment, trial):
    deployment.make(GatewayUrl="http://gateway.example/mcp")
    made, _ = trial()
    (gateway,) = promised(made, "gateway")
    assert gateway.verdict is Verdict.BROKEN
    assert "must be https" in gateway.detail


# ingestion


@pytest.mark.parametrize(
    ("job", "verdict"),
    [
        (ended("COMPLETE", new=3), Verdict.KEPT),
        (ended("COMPLETE", new=3, failed=1), Verdict.BROKEN),
        (ended("FAILED", "no access"), Verdict.BROKEN),
        (ended("STOPPED"), Verdict.BROKEN),
        ("STARTING", Verdict.DEGRADED),
        ("IN_PROGRESS", Verdict.DEGRADED),
    ],
)
def test_the_last_ingestion_job_is_judged(deployment, aws, job, verdict):
    deployment.ingestion.jobs["JOB0000001"] = [job]
    assert check_ingestion(aws(), KNOWLEDGE_BASE_ID, DATA_SOURCE_ID).verdict is verdict


def test_without_a_job_nothing_was_ever_ingested(deployment, aws):
    deployment.ingestion.jobs.clear()
    promise = check_ingestion(aws(), KNOWLEDGE_BASE_ID, DATA_SOURCE_ID)
    assert promise.verdict is Verdict.BROKEN
    assert f"--data-source-id {DATA_SOURCE_ID}" in promise.action


def test_jobs_that_may_not_be_listed_are_unknown(account, aws):
    account.refuse("bedrock-agent", "ListIngestionJobs", DENIED)
    promise = check_ingestion(aws(), KNOWLEDGE_BASE_ID, DATA_SOURCE_ID)
    assert promise.verdict is Verdict.UNKNOWN
    assert "bedrock:ListIngestionJobs" in promise.detail
