"""The whole live proof, by the code and the command line that run in an account, in a cloud on loopback."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict

import boto3
import pytest

from knowledge_rag.deployment.smoke.questions import floor_questions
from tools.local_cloud import kinds
from tools.prove_live import steps
from tools.prove_live.record import unfinished
from tools.prove_live.rehearsal import bootstrapped, run_in
from tools.prove_live.run import Stopped

if shutil.which("npx") is None:
    pytest.skip("the CDK command line needs Node.js", allow_module_level=True)

NOT_HERE = {"logs: gateway", "logs: knowledge-base"}
"""Logs that services deliver themselves, which nothing plays here."""
TIMED = {"smoke: latency"}
"""What a busy machine may break."""
OURS = "knowledge-rag-dev"
BOOTSTRAP = []


@pytest.fixture(scope="module")
def life():
    with bootstrapped() as life:
        client("logs").create_log_group(logGroupName=f"/aws/lambda/{OURS}-retrieve-knowledge")
        client("ssm").put_parameter(Name=f"/{OURS}/floor", Value="1", Type="String")
        BOOTSTRAP[:] = kinds.MADE
        yield life


BOTH = ("opensearch", "s3-vectors")


@pytest.fixture(
    scope="module",
    params=[("s3-vectors",), pytest.param(BOTH, marks=pytest.mark.nightly)],
    ids="-".join,
)
def proven(request, life, tmp_path_factory):
    folder = tmp_path_factory.mktemp("proven")
    with pytest.MonkeyPatch.context() as shorter:
        if request.param != BOTH:  # half of the questions, and no second look at the templates
            shorter.setattr(steps, "floor_questions", lambda: floor_questions()[::2])
            shorter.setenv("CDK_VALIDATION", "false")
        code = run_in(life, request.param, folder).prove()
    (path,) = folder.glob("*/report.md")
    return code, path.read_text(encoding="utf-8"), unfinished(folder)


def client(service):
    return boto3.client(service, region_name=kinds.REGION)


def content(text):
    return json.loads(text.partition("```json\n")[2].partition("\n```")[0])


def results(text):
    found = defaultdict(dict)
    for each in content(text)["results"]:
        found[each["deployment"][-2:]][each["step"]] = each
    return found


def what_is_there():
    stacks = client("cloudformation").describe_stacks()["Stacks"]
    groups = client("logs").describe_log_groups()["logGroups"]
    parameters = client("ssm").describe_parameters()["Parameters"]
    alarms = client("cloudwatch").describe_alarms()["MetricAlarms"]
    return {
        "stacks": [each["StackName"] for each in stacks],
        "groups": [each["logGroupName"] for each in groups],
        "parameters": [each["Name"] for each in parameters if OURS in each["Name"]],
        "others": [each["Name"] for each in parameters if "krp-" in each["Name"]],
        "alarms": alarms,
        "made": [each for each in kinds.MADE if each not in BOOTSTRAP],
    }


NOTHING = {
    "stacks": ["CDKToolkit"],
    "groups": [f"/aws/lambda/{OURS}-retrieve-knowledge"],
    "parameters": [f"/{OURS}/floor"],
    "others": [],
    "alarms": [],
    "made": [],
}


def test_every_step_of_each_store_holds(proven):
    found = results(proven[1])
    stores = [found[store] for store in ("os", "s3") if store in found]
    assert len({frozenset(steps) - {"wake"} for steps in stores}) == 1
    for of_store in stores:
        broken = {
            step: each["detail"]
            for step, each in of_store.items()
            if each["verdict"] not in ("kept", "note") and step not in TIMED
        }
        assert set(broken) == NOT_HERE, broken
    assert proven[0] in (1, 3)  # not everything could be tried


def test_each_step_tells_what_it_saw(proven):
    found = results(proven[1])
    details = {step: each["detail"] for step, each in found["s3"].items()}
    assert details["ingest"].startswith("the last job is COMPLETE: 28 documents, 0 failed")
    assert "written and in use" in details["smoke: evidence floor"]
    assert details["smoke: gateway"] == "6 ok"
    assert details["canary"] == "asks; 0 of its questions failed"
    assert details["fault: answer"].startswith("degraded (access_denied), 0 results")
    assert details["fault: metric"].startswith("KnowledgeRetrievalPermanentErrors after")
    assert details["fault: alarm"].startswith("permanent-errors after")
    assert details["teardown"] == "nothing is left"
    if "os" in found:
        assert found["os"]["canary"]["detail"] == "none, since this store sleeps"
        assert "the first query was answered" in found["os"]["wake"]["detail"]


def test_the_report_identifies_no_account(proven):
    text = proven[1]
    assert kinds.ACCOUNT not in text
    assert "arn:aws" not in text
    assert "amazonaws.com" not in text


def test_nothing_is_left_and_nothing_else_was_touched(proven):
    assert proven[2] == []
    assert what_is_there() == NOTHING


@pytest.mark.nightly
def test_a_run_that_dies_with_the_fault_on_the_role_is_removed_later(life, tmp_path, monkeypatch):
    def dies(site, began):  # noqa: ARG001 - as the step is
        raise Stopped
        yield

    with monkeypatch.context() as dying:
        dying.setattr(steps, "_under_fault", dies)
        dying.setattr(steps.Remover, "restore", lambda *_: None)
        assert run_in(life, ("s3-vectors",), tmp_path).prove() == 4
    (record,) = unfinished(tmp_path)
    assert what_is_there()["stacks"] != NOTHING["stacks"]
    role = record.deployments[0].denied_role or f"{record.deployments[0].name}-gone"
    assert run_in(life, ("s3-vectors",), tmp_path).tear_down() == 0
    assert what_is_there() == NOTHING
    with pytest.raises(client("iam").exceptions.NoSuchEntityException):
        client("iam").get_role(RoleName=role)
