"""How a new version reaches callers, at once or step by step, and what becomes of old ones."""

import pytest

from tests.infra.parts import before, of_type, only
from tests.infra.synthesis import ADOPTED, DISPOSABLE, synthesized


@pytest.fixture(scope="module")
def template():
    return synthesized(**ADOPTED).service


def live(template):
    """Return the logical id of the retrieval function's alias."""
    (name,) = (it for it in of_type(template, "AWS::Lambda::Alias") if it.startswith("Retrieval"))
    return name


def variables(template, name):
    (found,) = (
        each["Environment"]["Variables"]
        for each in of_type(template, "AWS::Lambda::Function").values()
        if each["FunctionName"].endswith(name)
    )
    return found


def test_a_version_goes_live_at_once_unless_it_is_set_otherwise():
    template = synthesized(**DISPOSABLE).service
    assert "UpdatePolicy" not in template["Resources"][live(template)]
    assert of_type(template, "AWS::CodeDeploy::Application") == {}


def test_codedeploy_moves_the_one_alias_and_its_hook_is_asked_first(template):
    policy = template["Resources"][live(template)]["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]
    hook = policy["BeforeAllowTrafficHook"]["Ref"]
    properties = template["Resources"][hook]["Properties"]
    assert properties["FunctionName"] == "knowledge-rag-prod-check-release"
    assert properties["Handler"] == "lambdas.check_release.handler.lambda_handler"
    moved = [each for each in template["Resources"].values() if "UpdatePolicy" in each]
    assert len(moved) == 1


def test_the_hook_asks_the_version_that_the_alias_is_to_get(template):
    given = variables(template, "check-release")
    alias = template["Resources"][live(template)]["Properties"]
    assert given["NEW_VERSION"] == {"Ref": alias["FunctionVersion"]["Fn::GetAtt"][0]}
    assert given["QUESTION"]  # that of the canary


def test_everything_that_the_hook_needs_is_there_before_the_alias_moves(template):
    for kind in ("AWS::CodeDeploy::DeploymentGroup", "AWS::CodeDeploy::Application"):
        (name,) = of_type(template, kind)
        assert before(template, name, live(template))
    (policy,) = (it for it in of_type(template, "AWS::IAM::Policy") if "ReleaseAskAndTell" in it)
    assert before(template, policy, live(template))


def test_the_first_fault_of_the_function_takes_a_release_back(template):
    group = only(template, "AWS::CodeDeploy::DeploymentGroup")
    names = [
        template["Resources"][alarm["Name"]["Ref"]]["Properties"]["AlarmName"]
        for alarm in group["AlarmConfiguration"]["Alarms"]
    ]
    assert names == [
        f"knowledge-rag-prod-{key}"
        for key in ("permanent-errors", "function-errors", "init-failures")
    ]
    assert group["AlarmConfiguration"]["Enabled"] is True
    assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]


# old versions


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
