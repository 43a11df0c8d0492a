"""A running job is stopped before its data source is deleted, with a real client on loopback."""

import pytest
from botocore.exceptions import ClientError

from lambdas.deploy_steps.handler import _drain
from tests.support.ingestion import DATA_SOURCE_ID, KNOWLEDGE_BASE_ID, ended

DENIED = (403, "AccessDeniedException", "User is not authorized to perform the operation")


@pytest.fixture
def drain(bedrock, time):  # noqa: ARG001 - its endpoint is in the environment
    def run(end=780):
        source = {"knowledgeBaseId": KNOWLEDGE_BASE_ID, "dataSourceId": DATA_SOURCE_ID}
        _drain(source, time.clock(end))

    return run


def test_draining_stops_what_runs_and_waits_for_it(drain, ingestion):
    ingestion.jobs = {"JOBOVER001": [ended("COMPLETE")], "JOBRUNS001": ["IN_PROGRESS"]}

    drain()

    assert ingestion.calls == ["list", "stop", "list"]
    assert ingestion.jobs["JOBRUNS001"] == ["STOPPED"]


def test_draining_finds_the_running_job_behind_many_old_ones(drain, ingestion):
    ingestion.jobs = {f"JOBOVER{number:03}": [ended("COMPLETE")] for number in range(30)}
    ingestion.jobs["JOBRUNS001"] = ["IN_PROGRESS"]

    drain()

    assert ingestion.jobs["JOBRUNS001"] == ["STOPPED"]


def test_draining_survives_a_job_that_ended_by_itself_meanwhile(drain, ingestion):
    ingestion.jobs = {"JOBRUNS001": ["IN_PROGRESS", ended("COMPLETE")]}
    ingestion.stop_refusals = [(400, "ValidationException", "the job is over")]

    drain()

    assert ingestion.calls == ["list", "stop", "list"]


def test_draining_that_may_not_be_done_raises(drain, ingestion):
    ingestion.jobs = {"JOBRUNS001": ["IN_PROGRESS"]}
    ingestion.stop_refusals = [DENIED]

    with pytest.raises(ClientError, match="not authorized"):
        drain()


def test_draining_where_nothing_runs_stops_nothing(drain, ingestion, time):
    ingestion.jobs = {"JOBOVER001": [ended("FAILED")]}

    drain()

    assert ingestion.calls == ["list"]
    assert time.slept == []


def test_draining_gives_up_when_its_time_is_up(drain, ingestion, time):
    ingestion.jobs = {"JOBSTUCK01": ["STOPPING"]}

    drain(end=60)

    assert time.now <= 60
    assert "stop" not in ingestion.calls
