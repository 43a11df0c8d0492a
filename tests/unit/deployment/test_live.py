"""Whether resources that runbooks name exist, asked of an account on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import boto3
import pytest
from policy_sentry.querying.actions import get_action_data

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.deployment import live
from knowledge_rag.deployment.aws import Aws, action_of
from knowledge_rag.deployment.live import LOOKUPS, Live
from knowledge_rag.drift.page import read_page
from knowledge_rag.drift.resources import ANOTHER_PROFILE, ANOTHER_REGION, NAMED, resources_in
from tests.support.account import ACCOUNT_ID, REGION
from tests.support.played_aws import DENIED, Fault

POLICY = json.loads((Path(__file__).parents[3] / "examples/drift-live-policy.json").read_text())
ROLE = f"arn:aws:iam::{ACCOUNT_ID}:role/r"
MACHINE = {"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}
TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT_ID}:"
STATES = f"arn:aws:states:{REGION}:{ACCOUNT_ID}:stateMachine:"

MADE = {
    "alarm": (
        "cloudwatch", "put_metric_alarm",
        {"AlarmName": "orders", "MetricName": "m", "Namespace": "n", "Period": 60, "Statistic": "Sum",
         "EvaluationPeriods": 1, "Threshold": 1.0, "ComparisonOperator": "GreaterThanThreshold"},
        "cloudwatch describe-alarms --alarm-names {}",
    ),
    "bucket": ("s3", "create_bucket", {"Bucket": "orders"}, "s3api list-objects-v2 --bucket {}"),
    "dashboard": (
        "cloudwatch", "put_dashboard", {"DashboardName": "orders", "DashboardBody": '{"widgets": []}'},
        "cloudwatch get-dashboard --dashboard-name {}",
    ),
    "database cluster": (
        "rds", "create_db_cluster",
        {"DBClusterIdentifier": "orders", "Engine": "aurora-mysql", "MasterUsername": "root",
         "MasterUserPassword": "hunter2_"},
        "rds failover-db-cluster --db-cluster-identifier {}",
    ),
    "database instance": (
        "rds", "create_db_instance",
        {"DBInstanceIdentifier": "orders", "DBInstanceClass": "db.t3.micro", "Engine": "mysql"},
        "rds reboot-db-instance --db-instance-identifier {}",
    ),
    "ECR repository": (
        "ecr", "create_repository", {"repositoryName": "orders"}, "ecr list-images --repository-name {}",
    ),
    "ECS cluster": (
        "ecs", "create_cluster", {"clusterName": "orders"}, "ecs list-services --cluster {}",
    ),
    "EKS cluster": (
        "eks", "create_cluster", {"name": "orders", "roleArn": ROLE, "resourcesVpcConfig": {}},
        "eks list-nodegroups --cluster-name {}",
    ),
    "log group": (
        "logs", "create_log_group", {"logGroupName": "orders"},
        "logs filter-log-events --log-group-name {}",
    ),
    "queue": (
        "sqs", "create_queue", {"QueueName": "orders"},
        "sqs purge-queue --queue-url https://sqs.us-east-1.amazonaws.com/123456789012/{}",
    ),
    "replication group": (
        "elasticache", "create_replication_group",
        {"ReplicationGroupId": "orders", "ReplicationGroupDescription": "d"},
        "elasticache test-failover --node-group-id 1 --replication-group-id {}",
    ),
    "secret": (
        "secretsmanager", "create_secret", {"Name": "orders", "SecretString": "x"},
        "secretsmanager rotate-secret --secret-id {}",
    ),
    "state machine": (
        "stepfunctions", "create_state_machine",
        {"name": "orders", "definition": json.dumps(MACHINE), "roleArn": ROLE},
        "stepfunctions start-execution --state-machine-arn " + STATES + "{}",
    ),
    "stream": (
        "kinesis", "create_stream", {"StreamName": "orders", "ShardCount": 1},
        "kinesis list-shards --stream-name {}",
    ),
    "table": (
        "dynamodb", "create_table",
        {"TableName": "orders", "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
         "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
         "BillingMode": "PAY_PER_REQUEST"},
        "dynamodb put-item --item file://x --table-name {}",
    ),
    "topic": ("sns", "create_topic", {"Name": "orders"}, "sns publish --message x --topic-arn " + TOPIC + "{}"),
}  # fmt: skip
"""What moto makes, and a command that needs it. The rest is below."""


def resources(*commands: str, path: str = "a.md"):
    text = "```sh\n" + "".join(f"aws {command}\n" for command in commands) + "```\n"
    return resources_in(read_page(path, text))


def asked(aws, *commands: str):
    """Look up what commands name; return the findings, and what did it."""
    aws()  # sets what an unmodified boto3 reads
    looking = Live(lambda region: Aws(region or None))
    return list(looking.check(resources(*commands))), looking


def test_every_kind_that_documents_name_can_be_looked_up():
    assert set(NAMED.values()) == set(LOOKUPS)


@pytest.mark.parametrize("kind", sorted(MADE))
def test_a_resource_that_does_not_exist_is_found_and_one_that_does_is_not(kind, account, aws):
    service, operation, parameters, command = MADE[kind]
    getattr(account.client(service), operation)(**parameters)
    findings, looking = asked(aws, command.format("orders"), command.format("orderz"))
    assert [each.subject for each in findings] == ["orderz"]
    assert findings[0].message == f"account {ACCOUNT_ID} has no {kind} orderz in {REGION}"
    assert (findings[0].line, findings[0].kind.level) == (3, "error")
    assert (looking.checked, looking.unchecked) == (2, {})


def test_groups_and_services_of_clusters_too(account, aws):
    scaling, ecs = account.client("autoscaling"), account.client("ecs")
    scaling.create_launch_configuration(LaunchConfigurationName="l", ImageId="ami-1", InstanceType="t3.nano")  # fmt: skip
    scaling.create_auto_scaling_group(
        AutoScalingGroupName="orders", LaunchConfigurationName="l", MinSize=0, MaxSize=0,
        AvailabilityZones=["us-east-1a"],
    )  # fmt: skip
    ecs.create_cluster(clusterName="prod")
    ecs.register_task_definition(family="t", containerDefinitions=[{"name": "c", "image": "i", "memory": 1}])  # fmt: skip
    ecs.create_service(cluster="prod", serviceName="orders", taskDefinition="t", desiredCount=0)
    findings, looking = asked(
        aws,
        "autoscaling suspend-processes --auto-scaling-group-name orders",
        "autoscaling suspend-processes --auto-scaling-group-name orderz",
        "ecs update-service --cluster prod --service orders --force-new-deployment",
        "ecs update-service --cluster prod --service orderz --force-new-deployment",
        "ecs update-service --cluster gone --service orders",
    )
    assert [(each.line, each.subject) for each in findings] == [
        (3, "orderz"), (5, "orderz"), (6, "gone"), (6, "orders"),
    ]  # fmt: skip
    assert looking.unchecked == {}


def test_a_function_is_missing_only_by_the_code_that_says_so(account, aws):
    play = account.played.play
    play("lambda", "GetFunctionConfiguration", {"FunctionName": "orders"})
    assert asked(aws, "lambda invoke --function-name orders out.json")[0] == []
    play("lambda", "GetFunctionConfiguration", Fault("ResourceNotFoundException", status=404))
    assert len(asked(aws, "lambda invoke --function-name orders out.json")[0]) == 1


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (DENIED, "missing permission lambda:GetFunctionConfiguration"),
        (Fault("AccessDenied", status=403), "missing permission lambda:GetFunctionConfiguration"),
        (Fault("ThrottlingException", status=429), "throttled"),
        (Fault("TooManyRequestsException", status=429), "throttled"),
        (Fault("ExpiredTokenException", status=403), "the credentials have expired"),
        (Fault("UnrecognizedClientException", status=403), "the credentials are unknown to AWS"),
    ],
)
def test_a_refusal_is_not_a_missing_resource_and_is_not_asked_for_again(fault, reason, account, aws):  # fmt: skip
    account.played.play("lambda", "GetFunctionConfiguration", fault)
    before = len(account.played.calls)
    commands = [f"lambda invoke --function-name orders-{n} out.json" for n in range(20)]
    findings, looking = asked(aws, *commands)
    assert findings == []
    assert looking.checked == 0
    assert looking.unchecked == {("function", reason): 20}
    assert len(account.played.calls) - before <= 2  # botocore repeats a throttled call once


def test_an_answer_that_is_no_answer_leaves_the_name_unchecked(account, aws):
    account.played.play("lambda", "GetFunctionConfiguration", Fault("ServiceException", status=500))
    findings, looking = asked(aws, "lambda invoke --function-name orders out.json")
    assert findings == []
    assert sum(looking.unchecked.values()) == 1


def test_without_credentials_nothing_is_checked_and_nothing_is_missing(aws, monkeypatch):
    aws()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    looking = Live(lambda region: Aws(region or None))
    assert list(looking.check(resources("dynamodb scan --table-name orders"))) == []
    assert looking.unchecked == {("table", "no credentials"): 1}


def test_calls_and_time_are_bounded(aws, monkeypatch):
    monkeypatch.setattr(live, "MAX_CALLS", 2)
    commands = [f"dynamodb scan --table-name orders-{n}" for n in range(5)]
    findings, looking = asked(aws, *commands)
    assert len(findings) == 2
    assert looking.unchecked == {("table", "after 2 calls"): 3}
    clock = iter([0.0, *[live.MAX_SECONDS + 1] * 9])
    looking = Live(lambda region: Aws(region or None), lambda: next(clock))
    assert list(looking.check(resources(*commands))) == []
    assert looking.unchecked == {("table", "after 120 seconds"): 5}


def test_a_name_is_looked_up_once_and_found_wherever_it_stands(aws):
    call = "dynamodb scan --table-name orders"
    findings, looking = asked(aws, call, call, call)
    assert [each.line for each in findings] == [2, 3, 4]
    assert looking.checked == 1


def test_other_accounts_regions_and_profiles_are_not_this_one(aws):
    findings, looking = asked(
        aws,
        "sns publish --message x --topic-arn arn:aws:sns:us-east-1:999999999999:orders",
        "dynamodb scan --table-name orders --region <region>",
        "dynamodb scan --table-name orders --profile other",
    )
    assert findings == []
    assert looking.unchecked == {
        ("topic", f"it is in another account than {ACCOUNT_ID}"): 1,
        ("table", ANOTHER_REGION): 1,
        ("table", ANOTHER_PROFILE): 1,
    }
    (finding,) = asked(aws, "dynamodb scan --table-name orders --region eu-west-1")[0]
    assert finding.message.endswith("in eu-west-1")


def test_a_region_is_needed(aws, monkeypatch):
    aws()
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(InvalidRequest, match="no region"):
        list(Live(lambda region: Aws(region or None)).check(resources("sqs purge-queue --queue-url orders")))  # fmt: skip


@pytest.mark.parametrize(
    "commands",
    [
        ["rds restore-db-cluster-from-snapshot --db-cluster-identifier orders --snapshot-identifier s",
         "rds describe-db-clusters --db-cluster-identifier orders"],
        ["dynamodb delete-table --table-name orders"],
        ["dynamodb scan --table-name <table>"],
        ["dynamodb scan --table-name $TABLE"],
        ["dynamodb scan --table-name my-table"],
        ["ecs update-service --cluster $CLUSTER --service orders"],
        ["lambda invoke --function-name arn:aws:lambda:us-east-1:123456789012:function:orders:live x"],
        ["sns publish --message x --topic-arn orders"],
        ["ec2 describe-instances --instance-ids i-1"],
    ],
)  # fmt: skip
def test_what_a_document_makes_or_leaves_open_is_not_looked_up(commands):
    assert [it for it in resources(*commands) if it.kind != "ECS cluster"] == []


def test_what_makes_one_thing_still_needs_another():
    (it,) = resources("dynamodb put-item --table-name orders --item file://x")
    assert (it.kind, it.name) == ("table", "orders")
    text = "rds create-db-instance --db-instance-identifier orders-1 --db-cluster-identifier orders"
    assert [it.name for it in resources(text)] == ["orders"]


def test_the_policy_lists_the_actions_of_all_calls_and_only_such_as_read():
    listed = set(POLICY["Statement"][0]["Action"])
    session = boto3.Session("x", "x", region_name=REGION)
    assert listed == {
        action_of(session.client(how.service), how.operation) for how in LOOKUPS.values()
    }
    for action in listed:
        service, _, name = action.partition(":")
        known = get_action_data(service, name)[service]
        assert {row["access_level"] for row in known} <= {"Read", "List"}
