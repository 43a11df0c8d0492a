"""Parts of a deployment, synthesized alone, and how tests read a template."""

import json
from functools import cache
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Template

from infra.data_stack import DataStack
from infra.settings import load_settings

PROJECT = Path(__file__).parents[2]
DEV = {"preset": "dev"}
PROD = {"preset": "prod"}
S3_VECTORS = {"preset": "dev", "vector_store": "s3-vectors", "search_type": "SEMANTIC"}


def settings(**values):
    return load_settings({"knowledge-rag": values}, "us-east-1")


def app(**options):
    """Return an app with the flags that users deploy with; CDK reads cdk.json for its own command only.

    CDK's own rules, which take their time, judge whole deployments (``synthesis.py``); nothing copies assets.
    """
    read = json.loads((PROJECT / "cdk.json").read_text(encoding="utf-8"))
    return cdk.App(
        context=read["context"] | {"aws:cdk:disable-asset-staging": True},
        analytics_reporting=False,
        builtin_cloud_formation_validation=False,
        **options,
    )


@cache
def data(**values):
    """Return the data stack's template, synthesized once for each choice of settings."""
    chosen = settings(**values)
    return template_of(DataStack(app(), f"{chosen.name}-data", settings=chosen))


def bare_stack():
    return cdk.Stack(app(), "Bare")


def alias_in(stack):
    """Return an alias as a construct takes it, of a function that needs no bundle."""
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
    """Return the resources of a kind, logical id -> properties."""
    return {
        name: resource.get("Properties", {})
        for name, resource in template["Resources"].items()
        if resource["Type"] == kind
    }


def the(template, kind):
    """Return the logical id of the only resource of a kind."""
    (name,) = of_type(template, kind)
    return name


def only(template, kind):
    """Return the properties of the only resource of a kind."""
    (properties,) = of_type(template, kind).values()
    return properties


def before(template, early, late):
    """Whether CloudFormation makes one resource before another: along references and DependsOn."""
    everything = template["Resources"]
    seen, waiting = set(), [late]
    while waiting:
        for needed in _needed(everything[waiting.pop()]):
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
