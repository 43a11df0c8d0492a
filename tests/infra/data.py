"""The data stack as it is synthesized, once for each choice of settings."""

import json
from functools import cache
from pathlib import Path

import aws_cdk as cdk
from aws_cdk.assertions import Template

from infra.data_stack import DataStack
from infra.settings import load_settings


def settings(**values):
    return load_settings({"knowledge-rag": values})


def app():
    """Give an app with the flags that users deploy with; CDK reads cdk.json for its own command only."""
    read = json.loads((Path(__file__).parents[2] / "cdk.json").read_text(encoding="utf-8"))
    return cdk.App(context=read["context"], analytics_reporting=False)


@cache
def stack(**values):
    chosen = settings(**values)
    return DataStack(app(), f"{chosen.name}-data", settings=chosen)


@cache
def template(**values):
    return Template.from_stack(stack(**values))


def resources(made, kind):
    """Give the resources of a kind, logical id -> resource."""
    return made.find_resources(kind)


def only(made, kind):
    """Give the properties of the only resource of a kind."""
    (resource,) = made.find_resources(kind).values()
    return resource.get("Properties", {})


def statements(made, name):
    """Give what a role may do, by statement id; the role's logical id starts with the name."""
    (role_id,) = [key for key in resources(made, "AWS::IAM::Role") if key.startswith(name)]
    role = resources(made, "AWS::IAM::Role")[role_id]["Properties"]
    policies = [each["Properties"] for each in resources(made, "AWS::IAM::Policy").values()]
    attached = [each for each in policies if {"Ref": role_id} in each["Roles"]]
    found = [each["PolicyDocument"] for each in (*role["Policies"], *attached)]
    return {each["Sid"]: each for document in found for each in document["Statement"]}


def actions(statement):
    listed = statement["Action"]
    return {listed} if isinstance(listed, str) else set(listed)


def text(value):
    """Render a template's value as one text: references as ``<Logical.Attribute>``."""
    if isinstance(value, dict):
        ((name, argument),) = value.items()
        if name == "Ref":
            return f"<{argument}>"
        if name == "Fn::GetAtt":
            return f"<{'.'.join(argument)}>"
        if name == "Fn::Join":
            return argument[0].join(map(text, argument[1]))
        if name == "Fn::Sub":
            return argument
        raise AssertionError(name)
    return value


def before(made, early, late):
    """Whether CloudFormation makes one resource before another: along references and DependsOn."""
    everything = made.to_json()["Resources"]
    seen, waiting = set(), [late]
    while waiting:
        name = waiting.pop()
        for needed in _needed(everything[name]):
            if needed in everything and needed not in seen:
                seen.add(needed)
                waiting.append(needed)
    return early in seen


def _needed(value):
    if isinstance(value, list):
        for item in value:
            yield from _needed(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "Ref":
                yield item
            elif key == "Fn::GetAtt":
                yield item[0]
            elif key == "DependsOn":
                yield from [item] if isinstance(item, str) else item
            else:
                yield from _needed(item)


def the(made, kind):
    """Give the logical id of the only resource of a kind."""
    (name,) = made.find_resources(kind)
    return name
