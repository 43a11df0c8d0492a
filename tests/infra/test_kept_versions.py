"""Old versions: kept by the template, bounded by the step, and one command goes back to them."""

import shlex
import shutil

import boto3
import jmespath
import pytest

from lambdas.deploy_steps.versions import KEPT
from tests.infra.parts import of_type
from tests.infra.synthesis import DISPOSABLE, synthesized
from tools.local_cloud import kinds
from tools.local_cloud.deployment import cloud, deploy_assembly
from tools.local_cloud.registration import FAILED, run_in_process

FUNCTION = "knowledge-rag-dev-retrieve-knowledge"


def test_a_version_of_the_retrieval_function_outlives_the_next_one_and_others_do_not():
    for template in synthesized(**DISPOSABLE).templates:
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::Lambda::Version":
                kept = "knowledge base" in str(resource["Properties"].get("Description"))
                wanted = "RetainExceptOnCreate" if kept else "Delete"
                assert resource.get("DeletionPolicy", "Delete") == wanted
                assert resource.get("UpdateReplacePolicy", "Delete") == (
                    "Retain" if kept else "Delete"
                )


def test_old_ones_are_removed_once_the_alias_has_moved():
    template = synthesized(**DISPOSABLE).service
    ((_, step),) = (
        (name, each)
        for name, each in template["Resources"].items()
        if each["Type"] == "Custom::KnowledgeVersions"
    )
    (alias,) = (name for name in of_type(template, "AWS::Lambda::Alias") if "Retrieve" in name)
    assert alias in step["DependsOn"]
    version = step["Properties"]["Version"]["Fn::GetAtt"][0]
    assert template["Resources"][version]["Type"] == "AWS::Lambda::Version"


@pytest.mark.skipif(
    shutil.which("npx") is None, reason="npx is not installed: Node >= 20 brings it"
)
def test_one_command_goes_back_and_five_old_versions_stay():
    with cloud():
        (stack,) = deploy_assembly(synthesized(knowledge_base_id="EXISTING01").folder)
        client = boto3.client("lambda", region_name=kinds.REGION)
        live = client.get_alias(FunctionName=FUNCTION, Name="live")["FunctionVersion"]
        assert live == "1"
        for number in range(2, 10):  # as many deployments of other settings
            client.update_function_configuration(FunctionName=FUNCTION, Description=str(number))
            made = client.publish_version(FunctionName=FUNCTION)["Version"]
            client.update_alias(FunctionName=FUNCTION, Name="live", FunctionVersion=made)
        run_in_process(update_of(stack))
        assert FAILED == []
        assert versions(client) == ["4", "5", "6", "7", "8", "9"]
        assert len(versions(client)) == KEPT + 1
        run(client, stack.outputs["RollBack"])
        alias = client.get_alias(FunctionName=FUNCTION, Name="live")
        assert alias["FunctionVersion"] == "8"
        run_in_process(update_of(stack))  # whatever is used stays
        assert versions(client) == ["4", "5", "6", "7", "8", "9"]


def versions(client):
    listed = client.list_versions_by_function(FunctionName=FUNCTION)["Versions"]
    return sorted((it["Version"] for it in listed if it["Version"] != "$LATEST"), key=int)


def update_of(stack):
    (name,) = of_type(stack.template, "Custom::KnowledgeVersions")
    function = boto3.client("lambda", region_name=kinds.REGION).get_function(
        FunctionName="knowledge-rag-dev-service-steps", Qualifier="live"
    )
    return {
        "RequestType": "Update",
        "ServiceToken": function["Configuration"]["FunctionArn"],
        "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/knowledge-rag-dev-service/1",
        "RequestId": "00000000-0000-0000-0000-000000000002",
        "LogicalResourceId": name,
        "PhysicalResourceId": stack.resources[name],
        "ResourceType": "Custom::KnowledgeVersions",
        "ResourceProperties": {"Function": FUNCTION, "Version": "9"},
        "OldResourceProperties": {"Function": FUNCTION, "Version": "8"},
    }


def run(client, command):
    """Do what the command of the AWS command line does, its inner one first."""
    outer, _, rest = command.partition("$(")
    inner, _, _ = rest.rpartition(")")
    *_, query = (it[1] for it in options(inner) if it[0] == "--query")
    listed = client.list_versions_by_function(FunctionName=dict(options(inner))["--function-name"])
    version = jmespath.search(query, listed)
    given = dict(options(f"{outer}{version}"))
    assert given.pop("--region") == kinds.REGION
    client.update_alias(
        FunctionName=given.pop("--function-name"),
        Name=given.pop("--name"),
        FunctionVersion=given.pop("--function-version"),
    )
    assert given == {}


def options(command):
    words = shlex.split(command)
    assert words[:2] == ["aws", "lambda"]
    return list(zip(words[3::2], words[4::2], strict=True))
