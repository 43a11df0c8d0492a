"""Both stacks as a security review would look at them: linted, and checked for what linters miss."""

import copy
import json
from pathlib import Path

import pytest
from cfnlint.api import ManualArgs, lint_file

from tests.infra.checks import CHECKS, of_type
from tests.infra.synthesis import synthesized

DEPLOYMENTS = [
    {"preset": "prod", "entrypoint": "both"},
    {"preset": "dev"},
    {"preset": "dev", "vector_store": "s3-vectors", "search_type": "SEMANTIC"},
]
"""Each preset, every entry point and both stores; `make nightly` has all combinations."""


@pytest.mark.parametrize("settings", DEPLOYMENTS, ids=json.dumps)
def test_cfn_lint_finds_no_error(settings):
    # W3005: CDK's own, it names dependencies that a reference implies; a warning and no error
    arguments = ManualArgs(regions=["us-east-1"], ignore_checks=["W3005"])
    paths = sorted(synthesized(**settings).folder.glob("*.template.json"))
    assert len(paths) == 2
    assert [str(found) for path in paths for found in lint_file(path, arguments)] == []


@pytest.mark.parametrize("settings", DEPLOYMENTS, ids=json.dumps)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_cfn_lint_does_not_see_is_right(check, settings):
    assert [wrong for each in synthesized(**settings).templates for wrong in check(each)] == []


@pytest.mark.parametrize("settings", DEPLOYMENTS, ids=json.dumps)
def test_cdk_nag_found_nothing_that_is_not_acknowledged_with_a_reason(settings):
    # a finding would have raised at synth already; test_app.py shows that it does
    report = json.loads((synthesized(**settings).folder / "validation-report.json").read_text())
    assert {each["conclusion"] for each in report["pluginReports"]} <= {"success"}
    assert [each for each in violations(report) if each["severity"] == "error"] == []


def violations(report):
    return [each for plugin in report["pluginReports"] for each in plugin.get("violations", [])]


def broken(kind, change):
    """A template of the largest deployment whose resources of a kind went through a change."""
    for template in copy.deepcopy(synthesized(**DEPLOYMENTS[0]).templates):
        found = [properties for _, properties in of_type(template, kind)]
        if found:
            for properties in found:
                change(properties)
            return template
    raise AssertionError(f"no {kind}")


def set_payload(text):
    def change(properties):
        properties["ActionGroups"][0]["ApiSchema"]["Payload"] = text

    return change


def set_dimension(size):
    def change(properties):
        for field in properties["Mappings"]["Properties"].values():
            if field["Type"] == "knn_vector":
                field["Dimension"] = size

    return change


def set_statistic(text):
    def change(properties):
        for query in properties.get("Metrics", []):
            if "MetricStat" in query:
                query["MetricStat"]["Stat"] = text

    return change


SCHEMA = json.loads(
    (Path(__file__).parents[2] / "schemas" / "retrieve_knowledge.openapi.json").read_text()
)


@pytest.mark.parametrize(
    ("kind", "change", "found"),
    [
        ("AWS::Bedrock::Agent", set_payload("{"), "no JSON"),
        (
            "AWS::Bedrock::Agent",
            set_payload(json.dumps(SCHEMA | {"openapi": "3.1.0"})),
            "'3.1.0' does not match",
        ),
        ("AWS::Bedrock::Agent", set_payload(json.dumps(SCHEMA | {"paths": 7})), "7 is not of type"),
        (
            "AWS::CloudWatch::Dashboard",
            lambda properties: properties.update(DashboardBody="{"),
            "the body is no JSON",
        ),
        (
            "AWS::CloudWatch::Dashboard",
            lambda properties: properties.update(
                DashboardBody=json.dumps({"widgets": [{"type": "metric", "x": 20, "width": 9}]})
            ),
            "widget 1 is off the grid",
        ),
        (
            "AWS::CloudWatch::Dashboard",
            lambda properties: properties.update(
                DashboardBody=json.dumps(
                    {
                        "widgets": [
                            {
                                "type": "metric",
                                "properties": {"metrics": [["A", "B", {"stat": "p9x"}]]},
                            }
                        ]
                    }
                )
            ),
            "no statistic p9x",
        ),
        (
            "AWS::OpenSearchServerless::AccessPolicy",
            lambda properties: properties.update(Policy="[{]"),
            "the policy is no JSON",
        ),
        (
            "AWS::OpenSearchServerless::AccessPolicy",
            lambda properties: properties.update(Policy='[{"Rules": []}]'),
            "'Principal' is a required property",
        ),
        (
            "AWS::OpenSearchServerless::SecurityPolicy",
            lambda properties: properties.update(Policy="{}"),
            "is a required property",
        ),
        ("AWS::OpenSearchServerless::Index", set_dimension(0), "0 is no dimension"),
        ("AWS::OpenSearchServerless::Index", set_dimension(256), "dimensions differ"),
        ("AWS::CloudWatch::Alarm", set_statistic("p101"), "p101 is no statistic"),
        (
            "AWS::CloudWatch::Alarm",
            lambda properties: properties.update(ExtendedStatistic="95"),
            "95 is no percentile",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_of_the_checks_turns_red(kind, change, found):
    template = broken(kind, change)
    assert any(found in wrong for check in CHECKS for wrong in check(template))
