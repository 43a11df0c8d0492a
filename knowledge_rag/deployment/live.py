"""Checks whether AWS resources that runbooks name exist, with read-only calls.

An unknown name is never missing: a refusal, or a throttled or silent service, leaves the name unchecked, and
so does another account, or a region that is a placeholder.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.deployment.errors import CallFailed, Trouble
from knowledge_rag.drift.findings import Finding, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.drift.resources import Resource

MAX_CALLS: Final = 500
"""Maximum calls of one run; each name costs one."""
MAX_SECONDS: Final = 120.0
"""Time limit of one run, after which no further call starts."""
_ENDING: Final = {Trouble.NO_CREDENTIALS, Trouble.EXPIRED, Trouble.INVALID}
"""Failures that would affect every further call."""
_OF_SERVICE: Final = {Trouble.THROTTLED, Trouble.UNREACHABLE, Trouble.TIMEOUT}
"""Failures after which the service is no longer called in the region."""

_WORDS: Final = {
    Trouble.NO_CREDENTIALS: "no credentials",
    Trouble.EXPIRED: "the credentials have expired",
    Trouble.INVALID: "the credentials are unknown to AWS",
    Trouble.THROTTLED: "throttled",
    Trouble.UNREACHABLE: "AWS can't be reached",
    Trouble.TIMEOUT: "no answer in time",
}


@dataclass(frozen=True, slots=True)
class Lookup:
    """How to find one kind of resource.

    Args:
        action: IAM action that the call needs.
        service: as in boto3.
        operation: as in boto3.
        parameters: returns the call's, from a resource and the prefix of a service's ARN.
        absent: the service's codes for "there is none".
        holds: whether an answer shows the resource; ``None`` if any answer does.
    """

    action: str
    service: str
    operation: str
    parameters: Callable[[Resource, Callable[[str], str]], dict[str, Any]]
    absent: tuple[str, ...] = ()
    holds: Callable[[dict[str, Any], Resource], bool] | None = None


def _lists(
    key: str, name: str, *, deleted: str | None = None
) -> Callable[[dict[str, Any], Resource], bool]:
    """Return the function that finds a resource in a list by its name.

    Args:
        key: of the list.
        name: of the field with the name.
        deleted: status of entries that don't count: ECS lists deleted ones for a while.
    """
    return lambda answer, it: any(
        one.get(name) == it.name and (deleted is None or one.get("status") != deleted)
        for one in answer.get(key, ())
    )


LOOKUPS: Final[Mapping[str, Lookup]] = {
    "alarm": Lookup(
        "cloudwatch:DescribeAlarms", "cloudwatch", "describe_alarms",
        lambda it, _: {"AlarmNames": [it.name], "AlarmTypes": ["MetricAlarm", "CompositeAlarm"]},
        holds=lambda answer, it: _lists("MetricAlarms", "AlarmName")(answer, it)
        or _lists("CompositeAlarms", "AlarmName")(answer, it),
    ),
    "Auto Scaling group": Lookup(
        "autoscaling:DescribeAutoScalingGroups", "autoscaling", "describe_auto_scaling_groups",
        lambda it, _: {"AutoScalingGroupNames": [it.name]},
        holds=_lists("AutoScalingGroups", "AutoScalingGroupName"),
    ),
    "bucket": Lookup(
        "s3:ListBucket", "s3", "head_bucket",
        lambda it, _: {"Bucket": it.name}, ("404", "NoSuchBucket", "NotFound"),
    ),
    "dashboard": Lookup(
        "cloudwatch:ListDashboards", "cloudwatch", "list_dashboards",
        lambda it, _: {"DashboardNamePrefix": it.name},
        holds=_lists("DashboardEntries", "DashboardName"),
    ),
    "database cluster": Lookup(
        "rds:DescribeDBClusters", "rds", "describe_db_clusters",
        lambda it, _: {"DBClusterIdentifier": it.name},
        ("DBClusterNotFoundFault", "DBClusterNotFound"),
    ),
    "database instance": Lookup(
        "rds:DescribeDBInstances", "rds", "describe_db_instances",
        lambda it, _: {"DBInstanceIdentifier": it.name},
        ("DBInstanceNotFound", "DBInstanceNotFoundFault"),
    ),
    "ECR repository": Lookup(
        "ecr:DescribeRepositories", "ecr", "describe_repositories",
        lambda it, _: {"repositoryNames": [it.name]}, ("RepositoryNotFoundException",),
    ),
    "ECS cluster": Lookup(
        "ecs:DescribeClusters", "ecs", "describe_clusters", lambda it, _: {"clusters": [it.name]},
        holds=_lists("clusters", "clusterName", deleted="INACTIVE"),
    ),
    "ECS service": Lookup(
        "ecs:DescribeServices", "ecs", "describe_services",
        lambda it, _: {"cluster": it.within, "services": [it.name]},
        ("ClusterNotFoundException",), _lists("services", "serviceName", deleted="INACTIVE"),
    ),
    "EKS cluster": Lookup(
        "eks:DescribeCluster", "eks", "describe_cluster",
        lambda it, _: {"name": it.name}, ("ResourceNotFoundException",),
    ),
    "function": Lookup(
        "lambda:GetFunctionConfiguration", "lambda", "get_function_configuration",
        lambda it, _: {"FunctionName": it.name}, ("ResourceNotFoundException",),
    ),
    "log group": Lookup(
        "logs:DescribeLogGroups", "logs", "describe_log_groups",
        lambda it, _: {"logGroupNamePrefix": it.name}, holds=_lists("logGroups", "logGroupName"),
    ),
    "queue": Lookup(
        "sqs:GetQueueUrl", "sqs", "get_queue_url", lambda it, _: {"QueueName": it.name},
        ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"),
    ),
    "replication group": Lookup(
        "elasticache:DescribeReplicationGroups", "elasticache", "describe_replication_groups",
        lambda it, _: {"ReplicationGroupId": it.name},
        ("ReplicationGroupNotFoundFault", "ReplicationGroupNotFound"),
    ),
    "secret": Lookup(
        "secretsmanager:DescribeSecret", "secretsmanager", "describe_secret",
        lambda it, _: {"SecretId": it.name}, ("ResourceNotFoundException",),
    ),
    "state machine": Lookup(
        "states:DescribeStateMachine", "stepfunctions", "describe_state_machine",
        lambda it, at: {"stateMachineArn": f"{at('states')}:stateMachine:{it.name}"},
        ("StateMachineDoesNotExist",),
    ),
    "stream": Lookup(
        "kinesis:DescribeStreamSummary", "kinesis", "describe_stream_summary",
        lambda it, _: {"StreamName": it.name}, ("ResourceNotFoundException",),
    ),
    "table": Lookup(
        "dynamodb:DescribeTable", "dynamodb", "describe_table",
        lambda it, _: {"TableName": it.name}, ("ResourceNotFoundException",),
    ),
    "topic": Lookup(
        "sns:GetTopicAttributes", "sns", "get_topic_attributes",
        lambda it, at: {"TopicArn": f"{at('sns')}:{it.name}"}, ("NotFound", "NotFoundException"),
    ),
}  # fmt: skip
"""For each kind that :mod:`knowledge_rag.drift.resources` finds. The policy in ``examples`` lists the actions."""


@dataclass(slots=True)
class Live:
    """Looks resources up in one account.

    Args:
        aws: calls with the region from the environment or the profile.
        now: the clock for ``MAX_SECONDS``.

    Attributes:
        account: of the calls, ``""`` until then or if unknown.
        checked: number of names that are known to exist or not.
        unchecked: number of the others, by kind and reason.
    """

    aws: Callable[[str], Aws]
    now: Callable[[], float] = time.monotonic
    account: str = ""
    checked: int = 0
    unchecked: Counter[tuple[str, str]] = field(default_factory=Counter)
    _partition: str = "aws"
    _calls: int = 0
    _until: float = 0.0
    _barred: dict[tuple[str, str], str] = field(default_factory=dict)
    """Calls that aren't repeated: an action or a service in a region, or all, and why."""
    _regions: dict[str, Aws] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of the checked and unchecked names."""
        unchecked = [
            {"kind": kind, "reason": reason, "count": count}
            for (kind, reason), count in sorted(self.unchecked.items())
        ]
        return {"account": self.account, "checked": self.checked, "not_checked": unchecked}

    def check(self, resources: Sequence[Resource]) -> Iterator[Finding]:
        """Find resources that don't exist; each name is looked up once.

        Raises:
            InvalidRequest: no region is set, or its name is invalid.
        """
        if not resources:
            return
        self._until = self.now() + MAX_SECONDS
        self._identify()
        known: dict[tuple[str, ...], bool | str] = {}
        for it in resources:
            key = (it.kind, it.name, it.region, it.account, it.within, it.unknown)
            if key not in known:
                known[key] = self._exists(it)
                if isinstance(found := known[key], str):
                    self.unchecked[it.kind, found] += 1
                else:
                    self.checked += 1
            if known[key] is False:
                place, region = it.place, it.region or self._in("").region
                message = f"account {self.account} has no {it.kind} {it.name} in {region}"
                yield Finding(*place, Kind.MISSING_RESOURCE, it.name, message)

    def _identify(self) -> None:
        self._in("").required_region()
        try:
            answer = self._in("").call("sts", "get_caller_identity", expect="Account")
            self.account = str(answer["Account"])
            self._partition = str(answer.get("Arn", "arn:aws")).split(":")[1]
        except CallFailed as error:
            self._barred["", ""] = _reason(error)

    def _in(self, region: str) -> Aws:
        if region not in self._regions:
            self._regions[region] = self.aws(region)
        return self._regions[region]

    def _exists(self, it: Resource) -> bool | str:
        """Return whether it exists, or why that is unknown."""
        how, region = LOOKUPS[it.kind], it.region or self._in("").region
        if unknown := it.unknown or self._reason_not_to_ask(it, how, region):
            return unknown
        self._calls += 1
        try:
            at = f"{region}:{self.account}"
            parameters = how.parameters(it, lambda of: f"arn:{self._partition}:{of}:{at}")
            answer = self._in(it.region).find(how.service, how.operation, how.absent, **parameters)
        except CallFailed as error:
            return self._bar(error, how, region)
        return answer is not None and (how.holds is None or how.holds(answer, it))

    def _reason_not_to_ask(self, it: Resource, how: Lookup, region: str) -> str:
        for bar in (("", ""), (how.service, region), (how.action, region)):
            if bar in self._barred:
                return self._barred[bar]
        if it.account and it.account != self.account:
            return f"it is in another account than {self.account}"
        if self._calls >= MAX_CALLS:
            return f"after {MAX_CALLS} calls"
        return f"after {MAX_SECONDS:g} seconds" if self.now() > self._until else ""

    def _bar(self, error: CallFailed, how: Lookup, region: str) -> str:
        reason = _reason(error)
        if error.trouble in _ENDING:
            self._barred["", ""] = reason
        elif error.trouble in _OF_SERVICE:
            self._barred[how.service, region] = reason
        elif error.trouble is Trouble.DENIED and how.service != "s3":  # S3 refuses one by one
            self._barred[how.action, region] = reason
        return reason


def _reason(error: CallFailed) -> str:
    return _WORDS.get(error.trouble) or str(error)
