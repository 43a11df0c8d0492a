"""Topic and alarms of a synthesized template, against the data that they are made of."""

import boto3
import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_kms as kms
from moto import mock_aws

from infra.alarms import alarm_topic
from infra.settings import load_settings
from knowledge_rag.core.alarms import Severity, Thresholds, ingestion_alarms, retrieval_alarms
from tests.infra.iam import render
from tests.support.cloudwatch import alarms_of
from tests.support.monitoring import monitored, resources

PRESETS = pytest.mark.parametrize("preset", ["dev", "prod"])
DATA = {alarm.key: alarm for alarm in (*retrieval_alarms(), *ingestion_alarms())}
OWN_ALARMS = {
    "StringEquals": {"aws:SourceAccount": "<AWS::AccountId>"},
    "ArnLike": {
        "aws:SourceArn": "arn:<AWS::Partition>:cloudwatch:<AWS::Region>:<AWS::AccountId>"
        ":alarm:knowledge-rag-prod-*"
    },
}


def conditions(statement):
    return {
        operator: {key: render(value) for key, value in tests.items()}
        for operator, tests in statement["Condition"].items()
    }


@PRESETS
def test_each_alarm_of_the_data_is_in_the_stack_as_the_data_has_it(preset):
    made = alarms_of(monitored(preset), f"knowledge-rag-{preset}")
    assert made.keys() == DATA.keys()
    for key, alarm in DATA.items():
        properties = made[key].properties
        assert made[key].expression == alarm.expression
        assert made[key].period == alarm.period_seconds
        assert properties["Threshold"] == alarm.threshold
        assert properties["EvaluationPeriods"] == alarm.periods
        assert properties["DatapointsToAlarm"] == alarm.datapoints
        assert {id_: query.statistic for id_, query in made[key].queries.items()} == {
            id_: metric.statistic for id_, metric in alarm.metrics.items()
        }


@PRESETS
@pytest.mark.parametrize("key", DATA)
def test_an_alarm_says_how_loud_it_is_what_it_means_and_where_to_read_on(preset, key):
    properties = alarms_of(monitored(preset), f"knowledge-rag-{preset}")[key].properties
    description = properties["AlarmDescription"]
    assert description.startswith(DATA[key].severity.value.upper() + ": ")
    assert DATA[key].summary in description
    assert DATA[key].action in description
    assert description.endswith(f" docs/operations/alarms.md#{key}")
    assert len(description) <= 1024


@PRESETS
def test_beginning_and_end_of_each_alarm_are_told_to_the_topic(preset):
    template = monitored(preset)
    (topic,) = [
        {"Ref": name}
        for name, resource in template["Resources"].items()
        if resource["Type"] == "AWS::SNS::Topic"
    ]
    for properties in resources(template, "AWS::CloudWatch::Alarm"):
        assert properties["AlarmActions"] == [topic]
        assert properties["OKActions"] == [topic]
        assert properties["TreatMissingData"] == "notBreaching"


def test_health_is_red_while_a_loud_alarm_is_and_tells_nobody():
    template = monitored()
    (health,) = resources(template, "AWS::CloudWatch::CompositeAlarm")
    _, parts = health["AlarmRule"]["Fn::Join"]
    watched = [
        template["Resources"][part["Fn::GetAtt"][0]]["Properties"]["AlarmName"]
        for part in parts
        if isinstance(part, dict)
    ]
    loud = [alarm.key for alarm in DATA.values() if alarm.severity is Severity.ALARM]
    assert watched == [f"knowledge-rag-dev-{key}" for key in loud]
    assert {part for part in parts[1:-1] if isinstance(part, str)} == {'") OR ALARM("'}
    assert health["AlarmName"] == "knowledge-rag-dev-health"
    assert "AlarmActions" not in health


def test_no_alarm_is_named_like_the_one_for_all():
    assert "health" not in DATA


class TestTopic:
    @PRESETS
    def test_only_this_deployment_s_alarms_write_to_it_and_only_encrypted_on_the_way(self, preset):
        (policy,) = resources(monitored(preset, name="knowledge-rag-prod"), "AWS::SNS::TopicPolicy")
        deny, allow = policy["PolicyDocument"]["Statement"]
        assert (deny["Effect"], deny["Condition"]) == (
            "Deny",
            {"Bool": {"aws:SecureTransport": "false"}},
        )
        assert (allow["Effect"], allow["Action"]) == ("Allow", "sns:Publish")
        assert allow["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
        assert conditions(allow) == OWN_ALARMS

    def test_under_a_key_of_ours_alarms_may_use_that_key(self):
        template = monitored("prod")
        (topic,) = resources(template, "AWS::SNS::Topic")
        assert render(topic["KmsMasterKeyId"]) == "<Key.Arn>"
        (key,) = resources(template, "AWS::KMS::Key")
        (statement,) = [
            statement
            for statement in key["KeyPolicy"]["Statement"]
            if statement["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
        ]
        assert statement["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
        assert conditions(statement) == OWN_ALARMS

    def test_without_one_it_is_not_under_a_key_that_alarms_can_t_use(self):
        (topic,) = resources(monitored("dev"), "AWS::SNS::Topic")
        assert "KmsMasterKeyId" not in topic

    def test_a_key_whose_policy_is_not_ours_is_refused_since_alarms_would_be_lost(self):
        stack = Stack(App(), "Bare")
        arn = "arn:aws:kms:us-east-1:123456789012:key/1"
        key = kms.Key.from_key_arn(stack, "Key", arn)
        with pytest.raises(RuntimeError, match="policy"):
            alarm_topic(stack, "Topic", settings=load_settings({}), encryption_key=key)

    def test_mail_is_sent_where_there_is_an_address(self):
        (mail,) = resources(monitored(alarm_email="on-call@example.com"), "AWS::SNS::Subscription")
        assert (mail["Protocol"], mail["Endpoint"]) == ("email", "on-call@example.com")
        assert not resources(monitored(), "AWS::SNS::Subscription")


def test_failed_starts_are_counted_in_the_retrieval_function_s_own_log():
    template = monitored()
    (metric_filter,) = resources(template, "AWS::Logs::MetricFilter")
    group = metric_filter["LogGroupName"]["Ref"]
    assert template["Resources"][group]["Type"] == "AWS::Logs::LogGroup"


def test_thresholds_of_the_settings_reach_the_stack():
    changed = {"zero_result_warning_percent": 30, "zero_result_alarm_percent": 60}
    made = alarms_of(monitored(**changed), "knowledge-rag-dev")
    for alarm in retrieval_alarms(Thresholds(**changed)):
        assert made[alarm.key].properties["Threshold"] == alarm.threshold


@PRESETS
@pytest.mark.usefixtures("aws_environment")
def test_cloudwatch_s_own_model_takes_each_alarm_and_the_dashboard(preset):
    template = monitored(preset)
    with mock_aws():
        cloudwatch = boto3.client("cloudwatch", region_name="us-east-1")
        for properties in resources(template, "AWS::CloudWatch::Alarm"):
            topics = {key: ["arn:aws:sns:us-east-1:1:t"] for key in ("AlarmActions", "OKActions")}
            cloudwatch.put_metric_alarm(**properties | topics)
        (dashboard,) = resources(template, "AWS::CloudWatch::Dashboard")
        name, body = dashboard["DashboardName"], render(dashboard["DashboardBody"])
        cloudwatch.put_dashboard(DashboardName=name, DashboardBody=body)
        assert cloudwatch.get_dashboard(DashboardName=name)["DashboardBody"] == body
        stored = cloudwatch.describe_alarms()["MetricAlarms"]
    assert {alarm["AlarmName"] for alarm in stored} == {
        f"knowledge-rag-{preset}-{key}" for key in DATA
    }
