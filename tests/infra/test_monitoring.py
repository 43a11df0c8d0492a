"""Topic and alarms of a synthesized template, against the data that they are made of and what is deployed."""

import re

import boto3
import pytest
from aws_cdk import aws_kms as kms
from moto import mock_aws

from infra.monitoring import alarm_topic
from infra.settings import SettingsError, load_settings
from knowledge_rag.core.alarms import Severity, Thresholds, every_alarm, retrieval_alarms
from tests.infra.iam import render
from tests.infra.parts import bare_stack, of_type, template_of
from tests.infra.synthesis import DISPOSABLE, EVERYTHING, synthesized
from tests.support.cloudwatch import alarms_of
from tests.support.monitoring import monitored, resources

DATA = {alarm.key: alarm for alarm in every_alarm()}
DEPLOYED = pytest.mark.parametrize("chosen", [DISPOSABLE, EVERYTHING], ids=["dev", "prod"])


def test_each_alarm_of_the_data_is_in_the_stack_as_the_data_has_it():
    made = alarms_of(monitored(), "knowledge-rag-dev")
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


@pytest.mark.parametrize("key", DATA)
def test_an_alarm_says_how_loud_it_is_what_it_means_and_where_to_read_on(key):
    properties = alarms_of(monitored(), "knowledge-rag-dev")[key].properties
    description = properties["AlarmDescription"]
    assert description.startswith(DATA[key].severity.value.upper() + ": ")
    assert DATA[key].summary in description
    assert DATA[key].action in description
    assert description.endswith(f" docs/operations/alarms.md#{key}")
    assert len(description) <= 1024


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


def test_a_key_of_the_settings_is_left_as_it_is():
    arn = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    stack = bare_stack()
    key = kms.Key.from_key_arn(stack, "Key", arn)
    alarm_topic(stack, "Topic", settings=load_settings({}), encryption_key=key)
    (topic,) = of_type(template_of(stack), "AWS::SNS::Topic").values()
    assert topic["KmsMasterKeyId"] == arn


def test_mail_is_sent_where_there_is_an_address():
    (mail,) = resources(monitored(alarm_email="on-call@example.com"), "AWS::SNS::Subscription")
    assert (mail["Protocol"], mail["Endpoint"]) == ("email", "on-call@example.com")
    assert not resources(monitored(), "AWS::SNS::Subscription")


PAGERDUTY = "https://events.pagerduty.com/integration/0123456789abcdef/enqueue"
TOPIC = "arn:aws:sns:us-east-1:123456789012:on-call"
TEAM = "0a1b2c3d-0000-4000-8000-000000000001"
TEAMS = f"{TEAM}/{TEAM}/19%3aabc123%40thread.tacv2"


def test_pagerduty_gets_the_loud_alarms_only():
    (subscription,) = resources(monitored(pagerduty_url=PAGERDUTY), "AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("https", PAGERDUTY)
    assert subscription["FilterPolicyScope"] == "MessageBody"
    (prefix,) = subscription["FilterPolicy"]["AlarmDescription"]
    made = alarms_of(monitored(), "knowledge-rag-dev")
    for key, alarm in DATA.items():
        paged = made[key].properties["AlarmDescription"].startswith(prefix["prefix"])
        assert paged is (alarm.severity is Severity.ALARM)


def test_alarms_go_to_a_topic_that_there_is():
    template = monitored(alarm_topic_arn=TOPIC, slack_channel="T0123/C0456")
    assert not resources(template, "AWS::SNS::Topic")
    for alarm in resources(template, "AWS::CloudWatch::Alarm"):
        assert alarm["AlarmActions"] == alarm["OKActions"] == [TOPIC]
    (slack,) = resources(template, "AWS::Chatbot::SlackChannelConfiguration")
    assert slack["SnsTopicArns"] == [TOPIC]


def test_a_chat_channel_shows_alarms_and_runs_nothing():
    template = monitored(slack_channel="T0123/C0456", teams_channel=TEAMS)
    (slack,) = resources(template, "AWS::Chatbot::SlackChannelConfiguration")
    (teams,) = resources(template, "AWS::Chatbot::MicrosoftTeamsChannelConfiguration")
    assert (slack["SlackWorkspaceId"], slack["SlackChannelId"]) == ("T0123", "C0456")
    assert (teams["TeamsTenantId"], teams["TeamId"]) == (TEAM, TEAM)
    for channel in (slack, teams):
        (bound,) = channel["GuardrailPolicies"]
        assert render(bound).endswith(":iam::aws:policy/AWSDenyAll")
    (role,) = resources(template, "AWS::IAM::Role")
    assert not {"Policies", "ManagedPolicyArns"} & set(role)
    assert not resources(template, "AWS::IAM::Policy")


def test_alarms_link_the_handbook_where_people_find_it():
    url = "https://wiki.example.com/ops/alarms"
    template = monitored(handbook_url=url)
    for key, alarm in alarms_of(template, "knowledge-rag-dev").items():
        assert alarm.properties["AlarmDescription"].endswith(f" {url}#{key}")
        assert len(alarm.properties["AlarmDescription"]) <= 1024
    (health,) = resources(template, "AWS::CloudWatch::CompositeAlarm")
    assert health["AlarmDescription"].endswith(f" {url}#health")
    (dashboard,) = resources(template, "AWS::CloudWatch::Dashboard")
    assert url in render(dashboard["DashboardBody"])


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("alarm_topic_arn", "on-call", "the ARN of a standard topic"),
        ("alarm_topic_arn", TOPIC + ".fifo", "the ARN of a standard topic"),
        ("alarm_topic_arn", TOPIC.replace("us-east-1", "eu-west-1"), "a topic in us-east-1"),
        ("slack_channel", "#on-call", "workspace/channel"),
        ("slack_channel", "T0123", "workspace/channel"),
        ("teams_channel", TEAMS.replace("%3a", ":"), "tenant/team/channel"),
        ("pagerduty_url", "https://pagerduty.example.com/x", "https://events.pagerduty.com/"),
        ("pagerduty_url", PAGERDUTY.replace("https", "http"), "https://events.pagerduty.com/"),
        ("handbook_url", "http://wiki.example.com", "an https address"),
        ("handbook_url", "https://wiki.example.com/a#b", "an https address"),
        ("handbook_url", "https://wiki.example.com/a b", "an https address"),
        ("handbook_url", 7, "an https address"),
    ],
)
def test_a_destination_that_is_none_is_refused(key, value, allowed):
    with pytest.raises(SettingsError, match=allowed):
        load_settings({"knowledge-rag": {key: value}}, "us-east-1")


@pytest.mark.parametrize("key", ["alarm_email", "pagerduty_url"])
def test_an_existing_topic_has_subscriptions_of_its_own(key):
    value = {"alarm_email": "a@example.com", "pagerduty_url": PAGERDUTY}[key]
    with pytest.raises(SettingsError, match=f"{key} .*unset with alarm_topic_arn"):
        load_settings({"knowledge-rag": {"alarm_topic_arn": TOPIC, key: value}}, "us-east-1")


def test_thresholds_of_the_settings_reach_the_stack():
    changed = {"zero_result_warning_percent": 30, "zero_result_alarm_percent": 60}
    made = alarms_of(monitored(**changed), "knowledge-rag-dev")
    for alarm in retrieval_alarms(Thresholds(**changed)):
        assert made[alarm.key].properties["Threshold"] == alarm.threshold


@pytest.mark.usefixtures("aws_environment")
def test_cloudwatch_s_own_model_takes_each_alarm_and_the_dashboard():
    template = monitored()
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
    assert {alarm["AlarmName"] for alarm in stored} == {f"knowledge-rag-dev-{key}" for key in DATA}


# both stacks together: what is watched in one is what the other, or it itself, deploys


def everywhere(chosen, kind):
    return [found for part in synthesized(**chosen).templates for found in resources(part, kind)]


def watched(chosen, dimension):
    alarms = alarms_of(synthesized(**chosen).service, f"knowledge-rag-{chosen['preset']}")
    return {
        value
        for alarm in alarms.values()
        for query in alarm.queries.values()
        for name, value in query.series[2]
        if name == dimension
    }


@DEPLOYED
def test_every_function_is_watched_under_the_names_that_it_has_and_emits_under(chosen):
    functions = [
        each
        for each in everywhere(chosen, "AWS::Lambda::Function")
        # CloudFormation tells of their failures
        if not each["FunctionName"].endswith(("-deploy-steps", "-service-steps"))
    ]
    assert watched(chosen, "FunctionName") == {each["FunctionName"] for each in functions}
    emitted = {each["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"] for each in functions}
    assert watched(chosen, "service") == emitted == {f"knowledge-rag-{chosen['preset']}"}


@DEPLOYED
def test_failed_starts_are_logged_in_json_where_they_are_counted(chosen):
    (counted,) = everywhere(chosen, "AWS::Logs::MetricFilter")
    group = synthesized(**chosen).service["Resources"][counted["LogGroupName"]["Ref"]]
    (retrieve,) = (
        it
        for it in resources(synthesized(**chosen).service, "AWS::Lambda::Function")
        if it["FunctionName"].endswith("-retrieve-knowledge")
    )
    assert group["Properties"]["LogGroupName"] == f"/aws/lambda/{retrieve['FunctionName']}"
    assert retrieve["LoggingConfig"]["LogFormat"] == "JSON"
    # the default; those of failures are at WARN
    assert retrieve["LoggingConfig"].get("SystemLogLevel", "INFO") in {"INFO", "WARN"}


@DEPLOYED
def test_logs_and_searches_on_the_dashboard_are_of_what_is_deployed(chosen):
    (dashboard,) = everywhere(chosen, "AWS::CloudWatch::Dashboard")
    body = render(dashboard["DashboardBody"])
    groups = {render(group["LogGroupName"]) for group in everywhere(chosen, "AWS::Logs::LogGroup")}
    read = set(re.findall(r"SOURCE '([^'<]+)'", body))
    assert len(read) == 2
    assert read <= groups
    (collection,) = everywhere(chosen, "AWS::OpenSearchServerless::Collection")
    assert set(re.findall(r'CollectionName=\\"([^"\\]+)', body)) == {render(collection["Name"])}


# logs that services deliver


def delivered(template):
    sources = resources(template, "AWS::Logs::DeliverySource")
    assert len(resources(template, "AWS::Logs::Delivery")) == len(sources)
    assert {each["LogType"] for each in sources} <= {"APPLICATION_LOGS"}
    return {each["Name"]: render(each["ResourceArn"]) for each in sources}


def groups(template):
    found = resources(template, "AWS::Logs::LogGroup")
    return {each["LogGroupName"]: each for each in found}


def test_the_knowledge_base_s_ingestion_is_logged():
    data = synthesized(**DISPOSABLE).data
    name = "knowledge-rag-dev-knowledge-base"
    assert delivered(data) == {name: "<KnowledgeBase.KnowledgeBaseArn>"}
    assert groups(data)[f"/aws/vendedlogs/{name}"]["RetentionInDays"] == 14


def test_the_gateway_s_calls_are_logged_on_demand_only():
    assert delivered(synthesized(**DISPOSABLE).service) == {}
    service = synthesized(**EVERYTHING).service
    name = "knowledge-rag-prod-gateway"
    assert delivered(service) == {name: "<Gateway.GatewayArn>"}
    group = groups(service)[f"/aws/vendedlogs/{name}"]
    assert "KmsKeyId" in group
    assert group["RetentionInDays"] == 90
