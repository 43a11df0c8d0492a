"""The Lambda factory: when a function gets a new version, and what is said of it at synth."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Annotations, Match
from cdk_nag import AwsSolutionsChecks

from infra import python_function
from infra.bundling import BUNDLES, NO_BYTE_CODE, PYTHON_RUNTIME, Bundle, bundle
from infra.python_function import RUNTIME, PythonFunction
from tests.infra.parts import app, bare_stack, only, settings, template_of, the
from tests.support.bundles import CHUNK, RETRIEVE


def make(stack, **change):
    given = {
        "name": "here-retrieve",
        "module": RETRIEVE,
        "description": "answers with cited lines",
        "environment": {"SEARCH_TYPE": "HYBRID"},
        "timeout": cdk.Duration.seconds(10),
        "memory_mb": 512,
        "settings": settings(name="here"),
    }
    return PythonFunction(stack, "Retrieve", **(given | change))


def version(**change):
    stack = bare_stack()
    make(stack, **change)
    template = template_of(stack)
    name = the(template, "AWS::Lambda::Version")
    alias = only(template, "AWS::Lambda::Alias")
    assert alias["FunctionVersion"] == {"Fn::GetAtt": [name, "Version"]}
    return name


def test_bundles_are_built_for_the_runtime_it_runs_on():
    assert RUNTIME.name == f"python{PYTHON_RUNTIME}"


def test_the_same_code_and_configuration_are_the_same_version():
    assert version() == version()


@pytest.mark.parametrize(
    "change", [{"environment": {"SEARCH_TYPE": "SEMANTIC"}}, {"module": CHUNK}], ids=str
)
def test_another_configuration_is_another_version(change):
    assert version(**change) != version()


def with_bundle(monkeypatch, *, byte_code):
    other = Bundle(bundle(RETRIEVE, BUNDLES).path, "0" * 64, byte_code=byte_code)
    monkeypatch.setattr(python_function, "_bundle", lambda _: other)


def test_other_code_is_another_version(monkeypatch):
    before = version()
    with_bundle(monkeypatch, byte_code=True)
    assert version() != before


def test_an_acknowledgement_does_not_excuse_what_is_granted_later():
    judged = app()
    cdk.Validations.of(judged).add_plugins(AwsSolutionsChecks(judged))
    made = make(cdk.Stack(judged, "Stack"), snap_start=True)
    made.role.add_to_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=["*"]))
    with pytest.raises(RuntimeError, match="validation-report"):
        judged.synth()


@pytest.mark.parametrize("byte_code", [True, False])
def test_a_bundle_without_byte_code_is_warned_of_and_nothing_else(monkeypatch, byte_code):
    with_bundle(monkeypatch, byte_code=byte_code)
    stack = bare_stack()
    make(stack, snap_start=True)
    warnings = Annotations.from_stack(stack).find_warning("*", Match.any_value())
    assert [NO_BYTE_CODE in warning.entry.data for warning in warnings] == (
        [] if byte_code else [True]
    )
