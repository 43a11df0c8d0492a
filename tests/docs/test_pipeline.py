"""The pipeline in ``examples``: its syntax holds, and all that it calls exists."""

import re
import shlex
import subprocess

import pytest
import yaml
from cfnlint.api import ManualArgs, lint_file

from tests.docs.site import Page
from tests.support.local import PROJECT
from tools.local_cloud.deployment import CDK

FOLDER = PROJECT / "examples/github-actions"
WORKFLOW = yaml.safe_load((FOLDER / "deploy.yml").read_text(encoding="utf-8"))
ROLES = PROJECT / "examples/deploy-roles.yml"
TARGETS = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
SCRIPTS = [step["run"] for step in STEPS if "run" in step]
COMMAND = re.compile(r"((?:make|npx|\.venv/bin/knowledge-rag) .*?)(?=$| \|\||;| #)", re.MULTILINE)
COMMANDS = [found for script in SCRIPTS for found in COMMAND.findall(script)]


def test_the_workflow_has_the_form_that_github_reads():
    assert set(WORKFLOW) == {"name", True, "permissions", "env", "jobs"}  # YAML 1.1 reads `on` so
    assert set(WORKFLOW[True]) == {"pull_request", "push"}
    known = {"if", "runs-on", "environment", "concurrency", "permissions", "steps"}
    for job in WORKFLOW["jobs"].values():
        assert set(job) <= known
        assert job["permissions"] == {"contents": "read", "id-token": "write"}
    for step in STEPS:
        assert len({"run", "uses"} & set(step)) == 1
        assert set(step) <= {"run", "uses", "with"}
        assert re.fullmatch(r"[a-z-]+/[a-z-]+@v\d+", step.get("uses", "a/b@v1"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_step_is_a_script_that_the_shell_reads(script):
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_each_target_of_make_and_the_cdk_command_line_exist():  # test_commands checks ours
    words = [shlex.split(each) for each in COMMANDS]
    made = {rest[0] for program, *rest in words if program == "make"}
    assert made
    assert made <= TARGETS
    assert [CDK in rest for program, *rest in words if program == "npx"] == [True]


def test_it_shows_deploys_and_checks():
    programs = [" ".join(shlex.split(each)[:2]) for each in COMMANDS]
    assert programs == [
        "make synth",
        "make diff",
        "make synth",
        ".venv/bin/knowledge-rag doctor",
        "npx --yes",
        ".venv/bin/knowledge-rag smoke",
    ]


def test_the_options_of_the_cdk_command_line_are_its_own():
    (deploy,) = (shlex.split(each) for each in COMMANDS if each.startswith("npx"))
    page = (PROJECT / "docs/adopt.md").read_text(encoding="utf-8")
    assert (
        " ".join(word for word in deploy if word != "--yes") in page
    )  # deployed so by test_adopted_deployment


def test_cfn_lint_finds_nothing_in_the_roles():
    assert [str(found) for found in lint_file(ROLES, ManualArgs(regions=["us-east-1"]))] == []


def test_the_deploy_role_may_do_what_doctor_and_smoke_need():
    listed = set(
        re.findall(
            r"`([a-z0-9-]+:[A-Z][A-Za-z]+)`",
            Page(PROJECT / "docs/operations/doctor-and-smoke.md").text.partition(
                "## `make prove-live`"
            )[0],
        )
    )
    allowed = set(re.findall(r"\b([a-z0-9-]+:[A-Z][A-Za-z]+)$", ROLES.read_text(), re.MULTILINE))
    of_options = {
        "iam:GetPolicy",
        "kms:DescribeKey",
        "kms:GetKeyPolicy",
        "s3:GetBucketNotification",
        "s3:GetBucketVersioning",
        "s3:GetEncryptionConfiguration",
        "bedrock:InvokeAgent",
        "bedrock-agentcore:InvokeAgentRuntime",
        "bedrock-agentcore:InvokeHarness",
        "ssm:PutParameter",
        # of --advice-destinations and --test-alarm
        "events:PutEvents",
        "lambda:GetFunctionConfiguration",
        "secretsmanager:DescribeSecret",
        "secretsmanager:GetSecretValue",
        "sns:GetTopicAttributes",
        "sqs:GetQueueAttributes",
        "sqs:GetQueueUrl",
    }
    assert listed - allowed == of_options  # which the workflow does not give
    cdk = {"sts:AssumeRole", "sts:AssumeRoleWithWebIdentity"}
    assert allowed - listed == cdk
