"""A new version is asked before callers reach it, and CodeDeploy is told."""

from __future__ import annotations

import json

import pytest

from knowledge_rag.core.errors import InvalidRequest
from lambdas.check_release import handler
from lambdas.check_release.handler import PAUSE_SECONDS, TRIES, lambda_handler
from tests.support.played_aws import DENIED, PlayedAws, Raw

NEW = "arn:aws:lambda:us-east-1:123456789012:function:knowledge-rag-prod-retrieve-knowledge:8"
LIVE = "arn:aws:lambda:us-east-1:123456789012:function:knowledge-rag-prod-retrieve-knowledge:live"
EVENT = {"DeploymentId": "d-ABC", "LifecycleEventHookExecutionId": "hook-1"}
CRASH = Raw(
    b'{"errorType": "Runtime.ImportModuleError"}',
    "application/json",
    200,
    (("X-Amz-Function-Error", "Unhandled"),),
)


def status(name):
    return {"status": name, "results": []}


class Release:
    """CodeDeploy, and two versions of the function that answer as they are told."""

    def __init__(self, played):
        self.played = played
        self.asked = []
        self.told = []
        self.slept = []
        self.answers = {"8": [], "live": []}
        played.play("lambda", "Invoke", self._invoke)
        played.play("codedeploy", "PutLifecycleEventHookExecutionStatus", self._hear)

    def _invoke(self, path, body):
        version = path.removesuffix("/invocations").replace("%3A", ":").rpartition(":")[2]
        self.asked.append((version, json.loads(body)))
        answers = self.answers[version]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def _hear(self, _path, body):
        self.told.append(json.loads(body))
        return {"lifecycleEventHookExecutionId": "hook-1"}

    def check(self, live, *new):
        """Return what CodeDeploy is told for these answers, the last of which lasts."""
        self.answers = {"live": [live], "8": list(new)}
        assert lambda_handler(EVENT, None) is None
        (told,) = self.told
        assert told["deploymentId"] == "d-ABC"
        assert told["lifecycleEventHookExecutionId"] == "hook-1"
        return told["status"]


@pytest.fixture
def release(aws_environment, monkeypatch):
    played = PlayedAws()
    for service in ("lambda", "codedeploy"):
        for name, url in played.endpoint(service).items():
            aws_environment.setenv(name, url)
    for name, value in {
        "AWS_DEFAULT_REGION": "us-east-1",
        "NEW_VERSION": NEW,
        "LIVE_ALIAS": LIVE,
        "QUESTION": "RDS failover",
    }.items():
        aws_environment.setenv(name, value)
    made = Release(played)
    monkeypatch.setattr(handler.time, "sleep", made.slept.append)
    yield made
    played.close()


OK, NOTHING, DEGRADED = map(status, ("ok", "no_match", "degraded"))


@pytest.mark.parametrize(
    ("live", "new"),
    [(OK, OK), (NOTHING, OK), (NOTHING, NOTHING), (DEGRADED, DEGRADED), (CRASH, DEGRADED)],
)
def test_a_version_that_answers_at_least_as_well_goes_on(release, live, new):
    assert release.check(live, new) == "Succeeded"
    assert release.slept == []


@pytest.mark.parametrize(
    ("live", "new"),
    [(OK, NOTHING), (OK, DEGRADED), (OK, CRASH), (NOTHING, DEGRADED), (DEGRADED, CRASH)],
)
def test_a_version_that_answers_worse_is_stopped_after_three_tries(release, live, new):
    assert release.check(live, new) == "Failed"
    assert [version for version, _ in release.asked] == ["live", *["8"] * TRIES]
    assert release.slept == [PAUSE_SECONDS] * (TRIES - 1)


def test_a_first_call_that_is_late_stops_nothing(release):
    assert release.check(OK, DEGRADED, OK) == "Succeeded"


def test_both_are_asked_the_question_as_the_canary_asks_it(release):
    release.check(OK, OK)
    wanted = {"query": "RDS failover", "max_results": 1, "canary": True}
    assert [asked for _, asked in release.asked] == [wanted, wanted]


def test_a_version_that_may_not_be_asked_is_stopped_and_codedeploy_is_told(release):
    release.played.play("lambda", "Invoke", DENIED)
    assert release.check(OK, OK) == "Failed"


def test_an_event_that_is_none_of_codedeploy_s_is_refused(release):
    with pytest.raises(InvalidRequest, match="not a CodeDeploy lifecycle event"):
        lambda_handler({"query": "x"}, None)
    assert release.told == release.asked == []
