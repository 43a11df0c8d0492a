"""Both stacks together: what is watched in one is what the other, or it itself, deploys."""

import re

import pytest

from tests.infra.iam import render
from tests.infra.synthesis import synthesized
from tests.support.cloudwatch import alarms_of
from tests.support.monitoring import resources

PRESETS = pytest.mark.parametrize("preset", ["dev", "prod"])


def everywhere(preset, kind):
    return [
        found for part in synthesized(preset=preset).templates for found in resources(part, kind)
    ]


def dashboard(preset):
    (found,) = resources(synthesized(preset=preset).service, "AWS::CloudWatch::Dashboard")
    return render(found["DashboardBody"])


def watched(preset, dimension):
    alarms = alarms_of(synthesized(preset=preset).service, f"knowledge-rag-{preset}")
    return {
        value
        for alarm in alarms.values()
        for query in alarm.queries.values()
        for name, value in query.series[2]
        if name == dimension
    }


@PRESETS
def test_every_function_is_watched_and_nothing_that_is_none(preset):
    deployed = {
        function["FunctionName"] for function in everywhere(preset, "AWS::Lambda::Function")
    }
    assert watched(preset, "FunctionName") == deployed


@PRESETS
def test_metrics_are_looked_for_under_the_name_that_the_functions_emit_them_under(preset):
    emitted = {
        function["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
        for function in everywhere(preset, "AWS::Lambda::Function")
    }
    assert watched(preset, "service") == emitted == {f"knowledge-rag-{preset}"}


@PRESETS
def test_failed_starts_are_logged_in_json_where_they_are_counted(preset):
    (counted,) = everywhere(preset, "AWS::Logs::MetricFilter")
    group = synthesized(preset=preset).service["Resources"][counted["LogGroupName"]["Ref"]]
    (retrieve,) = [
        function
        for function in everywhere(preset, "AWS::Lambda::Function")
        if function["FunctionName"].endswith("-retrieve-knowledge")
    ]
    assert group["Properties"]["LogGroupName"] == f"/aws/lambda/{retrieve['FunctionName']}"
    assert retrieve["LoggingConfig"]["LogFormat"] == "JSON"
    # the default; those of failures are at WARN
    assert retrieve["LoggingConfig"].get("SystemLogLevel", "INFO") in {"INFO", "WARN"}


@PRESETS
def test_logs_and_searches_on_the_dashboard_are_of_what_is_deployed(preset):
    body = dashboard(preset)
    groups = {render(group["LogGroupName"]) for group in everywhere(preset, "AWS::Logs::LogGroup")}
    read = set(re.findall(r"SOURCE '([^'<]+)'", body))
    assert len(read) == 2
    assert read <= groups
    (collection,) = everywhere(preset, "AWS::OpenSearchServerless::Collection")
    assert set(re.findall(r'CollectionName=\\"([^"\\]+)', body)) == {render(collection["Name"])}


@PRESETS
def test_the_stacks_depend_on_no_export(preset):
    assert "Fn::ImportValue" not in str(synthesized(preset=preset).service)
