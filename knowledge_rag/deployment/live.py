"""Checks whether AWS resources that runbooks name exist, with read-only calls.

An unknown name is never missing: a refusal, or a throttled or silent service, leaves the name unchecked, and
so does another account, or a region that is a placeholder.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_rag.deployment.aws import CallFailed, Trouble
from knowledge_rag.drift.findings import Finding, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.drift.resources import Resource

    _Parameters = Callable[[Resource, Callable[[str], str]], dict[str, Any]]
    _Holds = Callable[[dict[str, Any], Resource], bool]

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


class Lookup(NamedTuple):
    """How to find one kind of resource.

    Args:
        service: as in boto3.
        operation: as in boto3.
        parameters: returns the call's, from a resource and the prefix of a service's ARN.
        absent: the service's codes for "there is none".
        holds: whether an answer shows the resource; ``None`` if any answer does.
    """

    service: str
    operation: str
    parameters: _Parameters
    absent: tuple[str, ...] = ()
    holds: _Holds | None = None


def _by(parameter: str) -> _Parameters:
    return lambda it, _: {parameter: it.name}


def _among(parameter: str) -> _Parameters:
    return lambda it, _: {parameter: [it.name]}


def _lists(key: str, name: str, *, deleted: str | None = None) -> _Holds:
    """Find a resource in the list ``key`` by its ``name``, unless its status is ``deleted``: ECS lists those for a while."""
    return lambda answer, it: any(
        one.get(name) == it.name and (deleted is None or one.get("status") != deleted)
        for one in answer.get(key, ())
    )


_NONE: Final = ("ResourceNotFoundException",)
LOOKUPS: Final[Mapping[str, Lookup]] = {
    "alarm": Lookup(
        "cloudwatch", "describe_alarms",
        lambda it, _: {"AlarmNames": [it.name], "AlarmTypes": ["MetricAlarm", "CompositeAlarm"]},
        holds=lambda answer, it: _lists("MetricAlarms", "AlarmName")(answer, it)
        or _lists("CompositeAlarms", "AlarmName")(answer, it),
    ),
    "Auto Scaling group": Lookup(
        "autoscaling", "describe_auto_scaling_groups", _among("AutoScalingGroupNames"),
        holds=_lists("AutoScalingGroups", "AutoScalingGroupName"),
    ),
    "bucket": Lookup("s3", "head_bucket", _by("Bucket"), ("404", "NoSuchBucket", "NotFound")),
    "dashboard": Lookup(
        "cloudwatch", "list_dashboards", _by("DashboardNamePrefix"),
        holds=_lists("DashboardEntries", "DashboardName"),
    ),
    "database cluster": Lookup(
        "rds", "describe_db_clusters", _by("DBClusterIdentifier"),
        ("DBClusterNotFoundFault", "DBClusterNotFound"),
    ),
    "database instance": Lookup(
        "rds", "describe_db_instances", _by("DBInstanceIdentifier"),
        ("DBInstanceNotFound", "DBInstanceNotFoundFault"),
    ),
    "ECR repository": Lookup(
        "ecr", "describe_repositories", _among("repositoryNames"), ("RepositoryNotFoundException",)
    ),
    "ECS cluster": Lookup(
        "ecs", "describe_clusters", _among("clusters"),
        holds=_lists("clusters", "clusterName", deleted="INACTIVE"),
    ),
    "ECS service": Lookup(
        "ecs", "describe_services", lambda it, _: {"cluster": it.within, "services": [it.name]},
        ("ClusterNotFoundException",), _lists("services", "serviceName", deleted="INACTIVE"),
    ),
    "EKS cluster": Lookup("eks", "describe_cluster", _by("name"), _NONE),
    "function": Lookup("lambda", "get_function_configuration", _by("FunctionName"), _NONE),
    "log group": Lookup(
        "logs", "describe_log_groups", _by("logGroupNamePrefix"),
        holds=_lists("logGroups", "logGroupName"),
    ),
    "queue": Lookup(
        "sqs", "get_queue_url", _by("QueueName"),
        ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"),
    ),
    "replication group": Lookup(
        "elasticache", "describe_replication_groups", _by("ReplicationGroupId"),
        ("ReplicationGroupNotFoundFault", "ReplicationGroupNotFound"),
    ),
    "secret": Lookup("secretsmanager", "describe_secret", _by("SecretId"), _NONE),
    "state machine": Lookup(
        "stepfunctions", "describe_state_machine",
        lambda it, at: {"stateMachineArn": f"{at('states')}:stateMachine:{it.name}"},
        ("StateMachineDoesNotExist",),
    ),
    "stream": Lookup("kinesis", "describe_stream_summary", _by("StreamName"), _NONE),
    "table": Lookup("dynamodb", "describe_table", _by("TableName"), _NONE),
    "topic": Lookup(
        "sns", "get_topic_attributes", lambda it, at: {"TopicArn": f"{at('sns')}:{it.name}"},
        ("NotFound", "NotFoundException"),
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
    """Calls that aren't repeated: an operation or a service in a region, or all, and why."""
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
        for bar in (("", ""), (how.service, region), (how.operation, region)):
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
            self._barred[how.operation, region] = reason
        return reason


def _reason(error: CallFailed) -> str:
    return _WORDS.get(error.trouble) or str(error)
