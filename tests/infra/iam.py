"""Reads every permission out of synthesized templates and judges it.

Covered: policies inline in roles, attached and managed ones, who may assume a role, function
permissions, bucket, key, topic, queue and secret policies, OpenSearch Serverless data-access and
network policies. Whatever else carries a policy document is a finding of its own, so that a new kind
of resource can't slip by.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from policy_sentry.querying.actions import get_action_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RESOURCE_POLICIES = {
    "AWS::S3::BucketPolicy": "PolicyDocument",
    "AWS::KMS::Key": "KeyPolicy",
    "AWS::SNS::TopicPolicy": "PolicyDocument",
    "AWS::SQS::QueuePolicy": "PolicyDocument",
    "AWS::S3Vectors::VectorBucketPolicy": "Policy",
    "AWS::BedrockAgentCore::ResourcePolicy": "Policy",
    "AWS::Logs::ResourcePolicy": "PolicyDocument",
}
ROLE_POLICIES = {"AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy"}
COLLECTION_POLICIES = {
    "AWS::OpenSearchServerless::AccessPolicy",
    "AWS::OpenSearchServerless::SecurityPolicy",
}
COLLECTION_PERMISSIONS = {
    f"aoss:{name}"
    for name in (
        "CreateIndex",
        "DeleteIndex",
        "UpdateIndex",
        "DescribeIndex",
        "ReadDocument",
        "WriteDocument",
    )
}
"""Of data-access policies: they are no IAM actions."""
READS = {"Read", "List"}


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a policy, its values rendered as text.

    ``holder`` is the role or the resource whose policy it is; ``principals`` is empty for what a
    role may do.
    """

    holder: str
    effect: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    principals: tuple[str, ...] = ()
    conditions: str = ""
    faults: tuple[str, ...] = field(default=())

    def lines(self) -> Iterator[str]:
        """Give one line for each grant."""
        condition = f" when {self.conditions}" if self.conditions else ""
        who = f" for {', '.join(self.principals)}" if self.principals else ""
        for action in self.actions:
            for resource in self.resources or ("itself",):
                yield f"{self.holder}: {self.effect} {action} on {resource}{who}{condition}"


def render(value: Any) -> str:
    """Render a template's value: intrinsic functions become ``<Logical.Attribute>``."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and len(value) == 1:
        (name, argument), *_ = value.items()
        if name == "Ref":
            return f"<{logical(argument)}>"
        if name == "Fn::GetAtt":
            parts = argument.split(".", 1) if isinstance(argument, str) else argument
            return f"<{logical(parts[0])}.{parts[1]}>"
        if name == "Fn::Join":
            separator, parts = argument
            return separator.join(map(render, parts))
        if name == "Fn::Sub":
            return argument if isinstance(argument, str) else argument[0]
    return json.dumps(value, sort_keys=True)


def logical(name: str) -> str:
    """Strip the digest at the end of a logical id, which changes with nothing that matters."""
    return re.sub(r"[0-9A-F]{32}(?=Parameter$)|[0-9A-F]{8}$", "", name)


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def statements(template: dict[str, Any]) -> list[Statement]:
    """Give every statement of a template, in no particular order."""
    found: list[Statement] = []
    for name, resource in template["Resources"].items():
        found += _of_resource(logical(name), resource["Type"], resource.get("Properties", {}))
    return found


def _of_resource(name: str, kind: str, properties: dict[str, Any]) -> list[Statement]:
    if kind == "AWS::IAM::Role":
        return _of_role(name, properties)
    if kind in ROLE_POLICIES:
        roles = [render(role).strip("<>") for role in listed(properties.get("Roles"))]
        roles = roles or [render(properties.get("RoleName", name)).strip("<>")]
        return [
            read
            for role in roles
            for entry in listed(properties["PolicyDocument"]["Statement"])
            for read in (_statement(role, entry),)
        ]
    if kind == "AWS::Lambda::Permission":
        return [_permission(name, properties)]
    if kind in COLLECTION_POLICIES:
        return _of_collection(name, properties)
    if kind in RESOURCE_POLICIES:
        document = properties[RESOURCE_POLICIES[kind]]
        return [_statement(name, entry) for entry in listed(document["Statement"])]
    return [
        Statement(name, "Allow", (), (), faults=(f"{name}: {kind} has a policy nobody judges",))
        for key in properties
        if "Policy" in key and isinstance(properties[key], dict) and "Statement" in properties[key]
    ]


def _of_role(name: str, properties: dict[str, Any]) -> list[Statement]:
    found = [
        _statement(f"{name} (trust)", entry)
        for entry in listed(properties["AssumeRolePolicyDocument"]["Statement"])
    ]
    for policy in listed(properties.get("Policies")):
        found += [
            _statement(name, entry) for entry in listed(policy["PolicyDocument"]["Statement"])
        ]
    for arn in listed(properties.get("ManagedPolicyArns")):
        fault = f"{name}: managed policy {render(arn)}: what it allows can change without us"
        found.append(Statement(name, "Allow", (), (), faults=(fault,)))
    return found


def _statement(holder: str, entry: dict[str, Any]) -> Statement:
    faults = tuple(
        f"{holder}: {key} grants what nobody listed"
        for key in ("NotAction", "NotResource", "NotPrincipal")
        if key in entry
    )
    return Statement(
        holder,
        entry["Effect"],
        tuple(sorted(map(render, listed(entry.get("Action"))))),
        tuple(sorted(map(render, listed(entry.get("Resource"))))),
        tuple(sorted(_principals(entry.get("Principal")))),
        _conditions(entry.get("Condition")),
        faults,
    )


def _principals(principal: Any) -> Iterator[str]:
    if isinstance(principal, dict) and set(principal) <= {"AWS", "Service", "Federated"}:
        for kind, values in principal.items():
            yield from (f"{kind} {render(value)}" for value in listed(values))
    elif principal is not None:
        yield render(principal)


def _conditions(condition: Any) -> str:
    if not condition:
        return ""
    return " and ".join(
        f"{operator} {key} = {' or '.join(map(render, listed(value)))}"
        for operator, keys in sorted(condition.items())
        for key, value in sorted(keys.items())
    )


def _permission(name: str, properties: dict[str, Any]) -> Statement:
    conditions = " and ".join(
        f"{key} = {render(properties[key])}"
        for key in ("SourceAccount", "SourceArn")
        if key in properties
    )
    return Statement(
        name,
        "Allow",
        (properties["Action"],),
        (render(properties["FunctionName"]),),
        (f"Service {render(properties['Principal'])}",),
        conditions,
        () if conditions else (f"{name}: any caller of the service may invoke the function",),
    )


def _of_collection(name: str, properties: dict[str, Any]) -> list[Statement]:
    """Read OpenSearch Serverless' own policies: data access and network; encryption grants nothing."""
    rules = json.loads(render(properties["Policy"]))
    if properties["Type"] == "encryption":
        return []
    return [
        Statement(
            f"{name} ({properties['Type']})",
            "Allow",
            tuple(sorted(entry.get("Permission", ["connect"]))),
            tuple(sorted(entry["Resource"])),
            tuple(sorted(rule.get("Principal") or _reach(rule))),
        )
        for rule in listed(rules)
        for entry in rule["Rules"]
    ]


def _reach(rule: dict[str, Any]) -> list[str]:
    if rule.get("AllowFromPublic"):
        return ["the internet, signed"]
    return [*rule.get("SourceServices", []), *rule.get("SourceVPCEs", [])]


@lru_cache(maxsize=512)
def access_level(action: str) -> str:
    """Give policy_sentry's access level of an action, ``""`` where it knows none."""
    service, _, name = action.partition(":")
    data = get_action_data(service, name)
    return data[service][0]["access_level"] if data else ""


def faults(found: Iterable[Statement]) -> list[str]:
    """Give what is wrong with any permission, whoever holds it."""
    return [fault for statement in found for fault in (*statement.faults, *_faults(statement))]


def _faults(statement: Statement) -> Iterator[str]:
    if statement.effect != "Allow":
        return
    holder = statement.holder
    own_key = statement.principals == ("AWS arn:<AWS::Partition>:iam::<AWS::AccountId>:root",)
    for action in statement.actions:
        if "*" in action and not own_key and not holder.endswith("(data)"):
            yield f"{holder}: {action} grants more than one action"
        elif _unknown(action):
            yield f"{holder}: {action} is no known action"
    for principal in statement.principals:
        if principal.endswith("*"):
            yield f"{holder}: allows {', '.join(statement.actions)} to anyone"


def _unknown(action: str) -> bool:
    if "*" in action or action == "connect" or action in COLLECTION_PERMISSIONS:
        return False
    return not access_level(action)


def writes(found: Iterable[Statement], holder: str) -> set[str]:
    """Give the allowed actions of a holder that do more than read."""
    return {
        action
        for statement in found
        if statement.holder == holder and statement.effect == "Allow"
        for action in statement.actions
        if access_level(action) not in READS
    }
