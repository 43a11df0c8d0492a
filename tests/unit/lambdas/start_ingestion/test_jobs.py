"""Starting, seeing through and draining ingestion jobs, with a real client on loopback."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from lambdas.custom_resource import PROPAGATION_SECONDS, RETRY_SECONDS, with_new_rights
from lambdas.start_ingestion.jobs import IngestionJobs
from tests.support.ingestion import DATA_SOURCE_ID, KNOWLEDGE_BASE_ID, ended

DENIED = (403, "AccessDeniedException", "User is not authorized to perform the operation")
BUSY = (409, "ConflictException", "An ingestion job is already running")
NO_INDEX = "no such index [knowledge-1a2b3c4d]"


@pytest.fixture
def jobs(bedrock, time):
    def make(end=780):
        return IngestionJobs(bedrock, KNOWLEDGE_BASE_ID, DATA_SOURCE_ID, time.clock(end))

    return make


def test_a_job_is_seen_through_to_its_end(jobs, ingestion, time):
    ingestion.scripts = [["IN_PROGRESS", ended("COMPLETE", new=3, modified=2, deleted=1)]]

    outcome = jobs().run("request")

    assert outcome.complete
    assert (outcome.indexed, outcome.failed, outcome.deleted) == (5, 0, 1)
    assert str(outcome) == "COMPLETE: 5 documents indexed, 0 failed, 1 deleted"
    assert time.slept == [5]


def test_failed_documents_are_told_with_bedrocks_reason(jobs, ingestion):
    ingestion.scripts = [[ended("COMPLETE", "runbooks/a.md:\n is\tempty", new=1, failed=1)]]

    outcome = jobs().run("request")

    assert outcome.complete
    assert (outcome.failed, outcome.reason) == (1, "runbooks/a.md: is empty")


def test_a_job_that_fails_early_for_want_of_an_index_is_run_again(jobs, ingestion, time):
    ingestion.scripts = [[ended("FAILED", NO_INDEX)], [ended("COMPLETE", new=1)]]

    assert jobs().run("request").complete
    assert time.slept == [15]
    assert len(set(ingestion.tokens)) == 2


def test_documents_that_fail_early_for_want_of_rights_are_tried_again(jobs, ingestion):
    early = ended("COMPLETE", "status 403 Forbidden from the vector store", failed=28)
    ingestion.scripts = [[early], [ended("COMPLETE", new=28)]]

    assert jobs().run("request").indexed == 28


def test_after_the_propagation_time_a_failure_is_final(jobs, ingestion, time):
    ingestion.scripts = [[ended("FAILED", NO_INDEX)] for _ in range(20)]

    outcome = jobs().run("request")

    assert outcome.status == "FAILED"
    assert outcome.reason == NO_INDEX
    assert PROPAGATION_SECONDS <= time.now <= PROPAGATION_SECONDS + 15


def test_any_other_failure_is_final_at_once(jobs, ingestion, time):
    ingestion.scripts = [[ended("FAILED", "the embedding model is not enabled")]]

    assert jobs().run("request").status == "FAILED"
    assert time.slept == []


def test_a_start_that_is_refused_early_is_tried_again_with_the_same_token(jobs, ingestion, time):
    ingestion.refusals = [DENIED, DENIED]
    ingestion.scripts = [[ended("COMPLETE")]]

    assert jobs().run("request").complete
    assert time.slept == [15, 15]
    assert len(set(ingestion.tokens)) == 1


def test_a_start_that_stays_refused_raises(jobs, ingestion, time):
    ingestion.refusals = [DENIED] * 20

    with pytest.raises(ClientError, match="not authorized"):
        jobs().run("request")
    assert time.now == PROPAGATION_SECONDS


def test_a_start_that_no_time_mends_raises_at_once(jobs, ingestion, time):
    ingestion.refusals = [(404, "ResourceNotFoundException", "Data source is gone")]

    with pytest.raises(ClientError, match="Data source is gone"):
        jobs().run("request")
    assert time.slept == []


def test_a_job_that_is_already_running_is_waited_for(jobs, ingestion, time):
    ingestion.refusals = [BUSY] * 10
    ingestion.scripts = [[ended("COMPLETE", new=1)]]

    assert jobs().run("request").indexed == 1
    assert time.slept == [15] * 10


def test_another_job_that_never_ends_is_told(jobs, ingestion, time):
    ingestion.refusals = [BUSY] * 100

    outcome = jobs(end=300).run("request")

    assert (outcome.status, outcome.job_id) == ("BUSY", "")
    assert time.now <= 300


def test_a_job_that_is_not_over_in_time_goes_on_and_says_so(jobs, ingestion, time):
    ingestion.scripts = [["IN_PROGRESS"]]

    outcome = jobs(end=60).run("request")

    assert (outcome.status, outcome.complete) == ("IN_PROGRESS", False)
    assert time.now <= 60
    assert "stop" not in ingestion.calls


def test_the_same_request_starts_no_second_job(jobs, ingestion):
    ingestion.scripts = [[ended("COMPLETE")], [ended("COMPLETE")]]

    jobs().run("request")
    jobs().run("request")

    assert len(set(ingestion.tokens)) == 1
    assert len(ingestion.tokens[0]) == 64  # the service wants 33 to 256


def test_draining_stops_what_runs_and_waits_for_it(jobs, ingestion):
    ingestion.jobs = {"JOBOVER001": [ended("COMPLETE")], "JOBRUNS001": ["IN_PROGRESS"]}

    jobs().drain()

    assert ingestion.calls == ["list", "stop", "list"]
    assert ingestion.jobs["JOBRUNS001"] == ["STOPPED"]


def test_draining_finds_the_running_job_behind_many_old_ones(jobs, ingestion):
    ingestion.jobs = {f"JOBOVER{number:03}": [ended("COMPLETE")] for number in range(30)}
    ingestion.jobs["JOBRUNS001"] = ["IN_PROGRESS"]

    jobs().drain()

    assert ingestion.jobs["JOBRUNS001"] == ["STOPPED"]


def test_draining_survives_a_job_that_ended_by_itself_meanwhile(jobs, ingestion):
    ingestion.jobs = {"JOBRUNS001": ["IN_PROGRESS", ended("COMPLETE")]}
    ingestion.stop_refusals = [(400, "ValidationException", "the job is over")]

    jobs().drain()

    assert ingestion.calls == ["list", "stop", "list"]


def test_draining_that_may_not_be_done_raises(jobs, ingestion):
    ingestion.jobs = {"JOBRUNS001": ["IN_PROGRESS"]}
    ingestion.stop_refusals = [DENIED]

    with pytest.raises(ClientError, match="not authorized"):
        jobs().drain()


def test_a_look_that_fails_for_once_is_taken_again(jobs, ingestion):
    ingestion.scripts = [[ended("COMPLETE", new=1)]]
    ingestion.get_refusals = [(429, "ThrottlingException", "slow down")] * 2

    assert jobs().run("request").indexed == 1


def test_draining_where_nothing_runs_stops_nothing(jobs, ingestion, time):
    ingestion.jobs = {"JOBOVER001": [ended("FAILED")]}

    jobs().drain()

    assert ingestion.calls == ["list"]
    assert time.slept == []


def test_draining_gives_up_when_its_time_is_up(jobs, ingestion, time):
    ingestion.jobs = {"JOBSTUCK01": ["STOPPING"]}

    jobs(end=60).drain()

    assert time.now <= 60
    assert "stop" not in ingestion.calls


class Work:
    """Fails with these codes, one a try, and then succeeds."""

    def __init__(self, *codes):
        self.codes = list(codes)
        self.tries = 0

    def __call__(self):
        self.tries += 1
        if self.codes:
            raise ClientError({"Error": {"Code": self.codes.pop(0)}}, "HeadObject")
        return "done"


@pytest.mark.parametrize("code", ["403", "AccessDenied", "AccessDeniedException"])
def test_what_is_refused_at_first_is_done_later(time, code):
    work = Work(code, code)
    assert with_new_rights(work, time.clock()) == "done"
    assert (work.tries, time.slept) == (3, [RETRY_SECONDS] * 2)


def test_nobody_waits_longer_than_rights_take(time):
    with pytest.raises(ClientError, match="403"):
        with_new_rights(Work(*["403"] * 99), time.clock())
    assert time.now == PROPAGATION_SECONDS


def test_nobody_waits_longer_than_there_is_time(time):
    with pytest.raises(ClientError, match="403"):
        with_new_rights(Work("403", "403"), time.clock(end=RETRY_SECONDS))
    assert time.now == RETRY_SECONDS


def test_what_fails_for_another_reason_fails_at_once(time):
    work = Work("NoSuchKey")
    with pytest.raises(ClientError, match="NoSuchKey"):
        with_new_rights(work, time.clock())
    assert (work.tries, time.slept) == (1, [])
