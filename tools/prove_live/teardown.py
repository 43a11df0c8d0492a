"""Removes a run's resources: by the names in its record, and nothing older than the run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.deployment.aws import CallFailed, Trouble
from knowledge_rag.deployment.doctor import checks
from knowledge_rag.deployment.doctor.checks import PlannedDeployment, Status
from knowledge_rag.deployment.stacks import DATA, SERVICE, find_stack
from tools.prove_live.plan import OPENSEARCH, S3_VECTORS, store_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowledge_rag.deployment.aws import Aws
    from tools.prove_live.record import Deployment, Record

DENIAL: Final = "prove-live-fault"
"""Inline policy that revokes a grant temporarily."""

LOG_FOLDERS: Final = ("/aws/lambda", "/aws/vendedlogs")
POLL_SECONDS: Final = 10
STACK_SECONDS: Final = 45 * 60
"""Time limit for deleting a stack; a collection alone takes ten minutes."""
TRIES: Final = 3
_OF_STORE: Final = {
    OPENSEARCH: (checks.check_collections, checks.check_groups),
    S3_VECTORS: (checks.check_vector_buckets,),
}
_SKEW: Final = timedelta(minutes=15)
"""Maximum error of a clock; AWS refuses requests from a clock with a larger one."""
_MAX_PAGES: Final = 50


class NotRemovedError(Exception):
    """Some of a deployment remains; the message names it."""


@dataclass(frozen=True, slots=True)
class Remover:
    """Removes deployments of a run.

    Args:
        record: the run's record.
        wait: waits for a number of seconds.
        say: reports progress to the person who waits.
    """

    aws: Aws
    record: Record
    wait: Callable[[float], None]
    say: Callable[[str], None]

    def check_account(self, account: str) -> None:
        """Check that the credentials are for the run's account.

        Raises:
            InvalidRequest: they are for another account, which has nothing of the run.
        """
        if account != self.record.account or self.aws.region != self.record.region:
            raise InvalidRequest(
                f"{self.record.run} ran in account {self.record.account}, {self.record.region}: use credentials of"
                f" that account and --region {self.record.region}"
            )

    def remove(self, deployment: Deployment) -> None:
        """Remove all of a deployment.

        Raises:
            NotRemovedError: something remains.
            CallFailed: a call failed.
        """
        name = deployment.name
        if not self.record.owns(name):
            raise InvalidRequest(f"{name} is not of {self.record.run}")
        if deployment.denied_role:
            self.restore(deployment)
        for part in (SERVICE, DATA):  # the service stack reads a parameter of the other
            self._remove_stack(f"{name}-{part}")
        self._remove_parameters(name)
        self._remove_log_groups(name)
        if left := self._left(deployment):
            raise NotRemovedError("; ".join(left))

    def restore(self, deployment: Deployment) -> None:
        """Undo the fault, if it is in place; a role with it can't be deleted."""
        self.aws.find(
            "iam",
            "delete_role_policy",
            ("NoSuchEntity", "NoSuchEntityException"),
            RoleName=deployment.denied_role,
            PolicyName=DENIAL,
        )

    def _remove_stack(self, name: str) -> None:
        waited = 0.0
        failures = 0
        asked = False
        while (stack := find_stack(self.aws, name)) is not None:
            if waited >= STACK_SECONDS:
                raise NotRemovedError(f"{name} is still {stack.status}")
            if not asked and stack.status != "DELETE_IN_PROGRESS":
                self.say(f"deleting {name} ({stack.status})")
                self._check_age(name)
                asked = self._delete(name)
            elif stack.status == "DELETE_FAILED":
                failures += 1
                if failures == TRIES:
                    reason = " ".join(stack.reason.split())
                    raise NotRemovedError(f"{name} can't be deleted: {reason}")
                self._empty_buckets(name)
                asked = False
                continue
            self.wait(POLL_SECONDS)
            waited += POLL_SECONDS

    def _delete(self, name: str) -> bool:
        """Request a stack's deletion; return false if something else is happening to it."""
        try:
            self.aws.call("cloudformation", "delete_stack", StackName=name)
        except CallFailed as error:
            if "IN_PROGRESS" in error.detail:
                return False
            raise
        return True

    def _check_age(self, name: str) -> None:
        (stack,) = self.aws.call("cloudformation", "describe_stacks", StackName=name)["Stacks"]
        made = stack["CreationTime"]
        if made.replace(tzinfo=made.tzinfo or UTC) < self._began - _SKEW:
            raise NotRemovedError(f"{name} is older than the run, so it is somebody else's")

    @property
    def _began(self) -> datetime:
        return datetime.fromisoformat(self.record.created)

    def _empty_buckets(self, stack: str) -> None:
        """Empty a stack's buckets, which can't be deleted otherwise."""
        resources = self._pages(
            "cloudformation", "list_stack_resources", "StackResourceSummaries", StackName=stack
        )
        for each in list(resources):
            if each["ResourceType"] == "AWS::S3::Bucket" and each.get("PhysicalResourceId"):
                self._empty(each["PhysicalResourceId"])

    def _empty(self, bucket: str) -> None:
        for _ in range(_MAX_PAGES):
            page = self.aws.find(
                "s3", "list_object_versions", ("NoSuchBucket",), Bucket=bucket, MaxKeys=1000
            )
            found = [
                {"Key": each["Key"], "VersionId": each["VersionId"]}
                for kind in ("Versions", "DeleteMarkers")
                for each in (page or {}).get(kind, ())
            ]
            if not found:
                return
            self.say(f"emptying {bucket}")
            self.aws.call("s3", "delete_objects", Bucket=bucket, Delete={"Objects": found})

    def _remove_parameters(self, name: str) -> None:
        found = self._pages(
            "ssm", "get_parameters_by_path", "Parameters", Path=f"/{name}/", Recursive=True
        )
        for each in list(found):
            self.aws.find("ssm", "delete_parameter", ("ParameterNotFound",), Name=each["Name"])

    def _remove_log_groups(self, name: str) -> None:
        for group in self._log_groups(name):
            self.aws.find(
                "logs", "delete_log_group", ("ResourceNotFoundException",), logGroupName=group
            )

    def _log_groups(self, name: str) -> list[str]:
        return [
            each["logGroupName"]
            for folder in LOG_FOLDERS
            for each in self._pages(
                "logs", "describe_log_groups", "logGroups", logGroupNamePrefix=f"{folder}/{name}-"
            )
        ]

    def _left(self, deployment: Deployment) -> list[str]:
        """Return the remains of a deployment, as far as they can be listed."""
        planned = PlannedDeployment(self.aws, deployment.name, "", "")
        left = [f"log group {each}" for each in self._log_groups(deployment.name)]
        for check in (*_OF_STORE[store_of(deployment.settings)], checks.check_knowledge_bases):
            try:
                found = check(planned)
            except CallFailed as error:
                if error.trouble is not Trouble.DENIED:
                    raise
                self.say(f"could not check for remains: {error}")
                continue
            if found.status in (Status.PROBLEM, Status.WARNING):
                left.append(found.detail)
        return left

    def _pages(
        self, service: str, operation: str, key: str, **parameters: Any
    ) -> Iterator[dict[str, Any]]:
        """Yield the items of a listing, page after page."""
        given, token = _TOKENS[service]
        more: dict[str, Any] = {}
        for _ in range(_MAX_PAGES):
            answer = self.aws.call(service, operation, **parameters, **more)
            yield from answer.get(key, ())
            if not answer.get(token):
                return
            more = {given: answer[token]}


_TOKENS: Final = {
    "cloudformation": ("NextToken", "NextToken"),
    "logs": ("nextToken", "nextToken"),
    "ssm": ("NextToken", "NextToken"),
}


def taken(aws: Aws, record: Record) -> list[str]:
    """Return existing resources with the names of a run."""
    looks = Remover(aws, record, wait=lambda _: None, say=lambda _: None)
    found = []
    for deployment in record.deployments:
        name = deployment.name
        found += [
            f"stack {name}-{part}" for part in (DATA, SERVICE) if find_stack(aws, f"{name}-{part}")
        ]
        found += [f"log group {each}" for each in looks._log_groups(name)]  # noqa: SLF001 - of this module
        found += [
            f"parameter {each['Name']}"
            for each in looks._pages(  # noqa: SLF001 - likewise
                "ssm", "get_parameters_by_path", "Parameters", Path=f"/{name}/", Recursive=True
            )
        ]
    return found
