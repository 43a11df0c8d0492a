"""Old versions: kept by the template, bounded by the step, and one command goes back to them."""

from tests.infra.parts import of_type
from tests.infra.synthesis import DISPOSABLE, synthesized

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
