"""What the tests of the service stack's constructs share."""

from aws_cdk import App, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Template

from infra.settings import load_settings


def settings(**values):
    return load_settings({"knowledge-rag": values}, "us-east-1")


def bare_stack():
    return Stack(App(), "Bare")


def alias_in(stack):
    """An alias as a construct takes it, of a function that needs no bundle."""
    function = lambda_.Function(
        stack,
        "Retrieve",
        runtime=lambda_.Runtime.PYTHON_3_13,
        handler="index.handler",
        code=lambda_.Code.from_inline("def handler(event, context): ..."),
    )
    return lambda_.Alias(stack, "Live", alias_name="live", version=function.current_version)


def template_of(stack):
    return Template.from_stack(stack).to_json()


def of_type(template, kind):
    return [item for item in template["Resources"].values() if item["Type"] == kind]


def only(template, kind):
    (resource,) = of_type(template, kind)
    return resource["Properties"]


def statements(role):
    return [
        statement
        for policy in role["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
    ]
