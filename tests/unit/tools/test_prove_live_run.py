"""A run that ends anywhere, by whatever, says so, and what it made is removed by it or by the next one."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace

import pytest

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.deployment.aws import CallFailed, Trouble
from knowledge_rag.deployment.smoke.promises import Verdict
from tests.support.played_aws import Fault
from tools.prove_live import run as running
from tools.prove_live import steps
from tools.prove_live.record import unfinished
from tools.prove_live.steps import Result

STORES = ("opensearch", "s3-vectors")


@pytest.fixture
def make(account, aws, tmp_path, monkeypatch):
    """Make a run whose deployments are small stacks; its other steps are given."""
    account.played.play("bedrock-agent", "ListAgents", {"agentSummaries": []})
    account.environment |= account.played.endpoint("bedrock-agent")
    account.environment |= account.played.endpoint("bedrock-agentcore-control")
    account.played.play("bedrock-agentcore-control", "ListGateways", {"items": []})
    account.played.play("bedrock-agent", "ListKnowledgeBases", {"knowledgeBaseSummaries": []})

    def deploy(site):
        for part in ("data", "service"):
            account.deploy(f"{site.name}-{part}")
            yield Result("deploy", Verdict.KEPT, f"{part} CREATE_COMPLETE")

    def prepared(**changed):
        tried = {"deploy": deploy, **changed}
        monkeypatch.setattr(steps, "STEPS", tried)
        monkeypatch.setattr(running, "STEPS", tried)
        return running.Run(aws(), None, tmp_path, STORES, None, wait=lambda _: None)

    return prepared


def stacks(account):
    found = account.client("cloudformation").describe_stacks()["Stacks"]
    return sorted(each["StackName"] for each in found)


def report(folder):
    (path,) = folder.glob("*/report.md")
    text = path.read_text()
    return json.loads(text.partition("```json\n")[2].partition("\n```")[0])


def found(step, verdict=Verdict.KEPT):
    def tried(_site):
        yield Result(step, verdict, "tried")

    return tried


def ends(error):
    def tried(_site):
        yield Result("half", Verdict.KEPT, "done")
        raise error

    return tried


def test_both_stores_are_proven_and_removed(make, account, tmp_path):
    assert make(smoke=found("smoke")).prove() == 0
    assert stacks(account) == []
    assert unfinished(tmp_path) == []
    content = report(tmp_path)
    told = [(each["deployment"][-2:], each["step"]) for each in content["results"][1:]]
    each = ["deploy", "deploy", "smoke", "teardown"]
    assert told == [*(("os", step) for step in each), *(("s3", step) for step in each)]
    assert content["ended"] == "Everything was tested, and everything was removed."


@pytest.mark.parametrize(
    ("verdict", "code"), [(Verdict.BROKEN, 1), (Verdict.UNKNOWN, 3), (Verdict.NOTE, 0)]
)
def test_the_exit_code_tells_what_was_found(make, verdict, code):
    assert make(smoke=found("smoke", verdict)).prove() == code


def test_a_step_that_fails_stops_no_other(make, tmp_path):
    denied = CallFailed(Trouble.DENIED, "iam:PutRolePolicy", "AccessDenied", "")
    run = make(fault=ends(denied), wrong=ends(ZeroDivisionError("a")), logs=found("logs"))
    assert run.prove() == 1
    verdicts = {each["step"]: each["verdict"] for each in report(tmp_path)["results"]}
    assert verdicts["fault"] == "unknown"
    assert verdicts["wrong"] == "broken"
    assert verdicts["logs"] == "kept"


def test_where_the_deployment_fails_nothing_else_is_tried_and_it_is_removed(
    make, account, tmp_path
):
    def fails(site):
        account.deploy(f"{site.name}-data")
        raise RuntimeError("Collection (AWS::OpenSearchServerless::Collection): limit exceeded")
        yield

    assert make(deploy=fails, smoke=found("smoke")).prove() == 1
    assert stacks(account) == []
    assert "smoke" not in {each["step"] for each in report(tmp_path)["results"]}


def test_ctrl_c_removes_what_was_made_and_tries_nothing_more(make, account, tmp_path):
    run = make(smoke=ends(KeyboardInterrupt()), logs=found("logs"))
    run.prove()
    assert stacks(account) == []
    content = report(tmp_path)
    assert content["ended"] == "It was stopped by Ctrl-C, and everything was removed."
    assert [each["step"] for each in content["results"]][-1] == "half"


def test_ctrl_c_twice_leaves_it_to_the_next_run(make, account, tmp_path, monkeypatch):
    run = make(smoke=ends(KeyboardInterrupt()))

    def again(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(running.Remover, "remove", again)
        with pytest.raises(KeyboardInterrupt):
            run.prove()
    assert len(stacks(account)) == 2
    assert "teardown` removes what is left" in report(tmp_path)["ended"]
    assert make().tear_down() == 0
    assert stacks(account) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_at_once_and_a_teardown_removes_the_rest(make, account, tmp_path, number):
    def killed(_site):
        os.kill(os.getpid(), number)
        yield Result("never", Verdict.KEPT, "")

    assert make(smoke=killed).prove() == 4
    assert len(stacks(account)) == 2
    assert report(tmp_path)["ended"].startswith("It was told to end")
    assert make().tear_down() == 0
    assert (stacks(account), unfinished(tmp_path)) == ([], [])


def test_expired_credentials_end_it_and_the_next_run_removes_the_rest_first(
    make, account, tmp_path, capsys, monkeypatch
):
    expired = CallFailed(Trouble.EXPIRED, "lambda:InvokeFunction", "ExpiredToken", "")
    run = make()

    def refused():
        raise expired

    def expires(_site):
        monkeypatch.setattr(run.aws, "credentials", refused)
        raise expired
        yield

    make(smoke=expires)
    assert run.prove() == 4
    left = stacks(account)
    assert "get new credentials" in report(tmp_path)["ended"]
    assert make().prove() == 0
    assert stacks(account) == []
    assert f"{left[0][:10]} was stopped: removing what is left of it" in capsys.readouterr().out


def test_what_another_account_holds_is_never_looked_for_here(make, account, tmp_path):
    make(smoke=ends(CallFailed(Trouble.EXPIRED, "", "", ""))).prove()
    (record,) = unfinished(tmp_path)
    record.account = "999999999999"
    record.write(tmp_path)
    with pytest.raises(InvalidRequest, match="use credentials of"):
        make().prove()
    assert len(stacks(account)) == 2


def test_nothing_is_deployed_where_doctor_finds_a_problem(make, account, tmp_path, capsys):
    play = account.played.play
    play("bedrock", "GetFoundationModel", Fault("ValidationException", "no model"))
    with pytest.raises(InvalidRequest, match="nothing was deployed"):
        make().prove()
    assert "has no amazon.titan-embed-text-v2:0" in capsys.readouterr().err
    assert list(tmp_path.glob("*/*")) == []
    assert stacks(account) == []


def test_a_store_or_a_gateway_that_the_region_lacks_is_left_out(make, account, tmp_path):
    account.environment["AWS_ENDPOINT_URL_BEDROCK_AGENTCORE_CONTROL"] = "http://127.0.0.1:9"
    account.environment["AWS_ENDPOINT_URL_OPENSEARCHSERVERLESS"] = "http://127.0.0.1:9"
    assert make().prove() == 0
    content = report(tmp_path)
    (deployment,) = content["deployments"]
    assert deployment["settings"]["vector_store"] == "s3-vectors"
    assert deployment["settings"]["entrypoint"] == "none"


def test_an_agent_is_made_where_the_account_has_one(make, account, tmp_path):
    make()
    summaries = {"agentSummaries": [{"agentId": "A", "agentName": "a"}]}
    account.played.play("bedrock-agent", "ListAgents", summaries)
    make().prove()
    entrypoints = {e["settings"]["entrypoint"] for e in report(tmp_path)["deployments"]}
    assert entrypoints == {"both"}


def test_names_that_are_taken_are_refused(make, account, tmp_path, monkeypatch):
    monkeypatch.setattr("secrets.choice", lambda _: "a")
    account.deploy("krp-aaaaaa-s3-data")
    with pytest.raises(InvalidRequest, match="these exist: stack krp-aaaaaa-s3-data"):
        make().prove()
    assert list(tmp_path.glob("*/*")) == []
    assert stacks(account) == ["krp-aaaaaa-s3-data"]


def test_nothing_is_done_unless_the_person_agrees_to_the_price(make, account, tmp_path):
    told = []

    def refuse(announced):
        told.append(announced)
        return False

    run = make()
    assert replace(run, confirm=refuse).prove() == 2
    assert "together about $" in told[0]
    assert stacks(account) == []
    assert list(tmp_path.glob("*/*")) == []
