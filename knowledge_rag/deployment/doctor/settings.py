"""Checks of what settings name: documents, keys, a permissions boundary, destinations of advice."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.settings import Kind, read_destinations, read_keys, to_deploy
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.given_bucket import GivenBucket, Harm, faults
from knowledge_rag.core.key_policy import KEY_USERS
from knowledge_rag.deployment.doctor.checks import model_finding, ok, problem, unknown, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.channel.settings import Destination
    from knowledge_rag.core.key_policy import KeyUser
    from knowledge_rag.deployment.doctor.checks import Finding, PlannedDeployment


_KEYS_GUIDE: Final = "see docs/adopt.md"
_CHANNEL_GUIDE: Final = "see docs/channel.md"

# a bucket of documents, a key, a permissions boundary


def check_documents(planned: PlannedDeployment) -> tuple[Finding, ...]:
    """Check the bucket for ``documents_bucket``; nothing if it isn't set."""
    if not planned.documents_bucket:
        return ()
    bucket = GivenBucket(
        name=planned.documents_bucket, region=planned.aws.region, key=planned.documents_key
    )
    found = tuple(
        (warning if fault.harm is Harm.LOST else problem)(fault.detail, fault.action)
        for fault in faults(bucket, partial(planned.aws.find, "s3"))
    )
    return found or (ok(f"{planned.documents_bucket} can be watched"),)


_ROLES: Final = ("kms:Decrypt", "kms:GenerateDataKey")
"""Actions that the stacks' roles get from IAM, if the key's policy allows that."""
_SYMMETRIC: Final = "SYMMETRIC_DEFAULT"


def check_key(planned: PlannedDeployment) -> tuple[Finding, ...]:
    """Check the key for ``kms_key_arn``; nothing if it isn't set."""
    arn = planned.kms_key_arn
    if not arn:
        return ()
    if unusable := _unusable(planned, arn):
        return (unusable,)
    answer = planned.aws.call("kms", "get_key_policy", KeyId=arn, PolicyName="default")
    lacking = tuple(_lacking(planned, arn.split(":")[4], answer["Policy"]))
    return lacking or (ok(f"{arn} can be used"),)


def _unusable(planned: PlannedDeployment, arn: str) -> Finding | None:
    """Return why a key can't encrypt anything, whatever its policy says."""
    here = planned.aws.region
    if ":key/" not in arn:
        return problem(f"{arn} is not a key's ARN", "Use the key's own ARN: an alias may move.")
    if (region := arn.split(":")[3]) != here:
        detail = f"it is in {region}, and the deployment in {here}"
        return problem(detail, f"Use a key of {here}, or the key's replica there.")
    found = planned.aws.find("kms", "describe_key", ("NotFoundException",), KeyId=arn)
    if found is None:
        return problem("there is no such key", "Check its ARN and the account.")
    key = found["KeyMetadata"]
    if key["KeyState"] != "Enabled":
        return problem(f"it is {key['KeyState']}", "Enable it, or use another one.")
    if key.get("KeySpec", _SYMMETRIC) != _SYMMETRIC:
        return problem(f"its kind is {key['KeySpec']}", "Use a symmetric key for encryption.")
    return None


def _lacking(planned: PlannedDeployment, account: str, policy: str) -> Iterator[Finding]:
    """Yield the actions that a key's policy does not allow; conditions are not checked."""
    statements: Any = []
    with suppress(ValueError, AttributeError):
        statements = _listed(json.loads(policy).get("Statement"))
    if missing := _missing(statements, f"arn:*:iam::{account}:root", _ROLES):
        yield problem(
            f"its policy doesn't leave {', '.join(missing)} to IAM, where the roles get it",
            f"Allow the account's root these actions; {_KEYS_GUIDE}.",
        )
    for user in KEY_USERS:
        principal = user.principal.format(region=planned.aws.region)
        if missing := _missing(statements, principal, user.actions):
            yield _service_finding(user, principal, missing)


def _service_finding(user: KeyUser, principal: str, missing: list[str]) -> Finding:
    make = warning if user.unless else problem
    unless = f", unless {user.unless}" if user.unless else ""
    return make(
        f"its policy doesn't allow {principal} {', '.join(missing)}: {user.purpose}{unless}",
        f"Add the statement {user.sid}; {_KEYS_GUIDE}.",
    )


def _missing(statements: list[Any], principal: str, actions: tuple[str, ...]) -> list[str]:
    allowed = [
        action
        for each in statements
        if each.get("Effect") == "Allow" and _names(each.get("Principal"), principal)
        for action in _listed(each.get("Action"))
    ]
    return [it for it in actions if not any(fnmatchcase(it, pattern) for pattern in allowed)]


def _names(principals: Any, wanted: str) -> bool:  # noqa: ANN401 - as the policy has it
    if principals == "*":
        return True
    named = principals.values() if isinstance(principals, dict) else ()
    return any(it == "*" or fnmatchcase(it, wanted) for part in named for it in _listed(part))


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 - likewise
    return value if isinstance(value, list) else [] if value is None else [value]


def check_boundary(planned: PlannedDeployment) -> tuple[Finding, ...]:
    """Check the policy for ``permissions_boundary``; nothing if it isn't set."""
    arn = planned.permissions_boundary
    if not arn:
        return ()
    found = planned.aws.find("iam", "get_policy", ("NoSuchEntity", "InvalidInput"), PolicyArn=arn)
    if found is None:
        return (
            problem(
                f"there is no policy {arn}", "Check its ARN; without it, no role can be created."
            ),
        )
    account = planned.aws.call("sts", "get_caller_identity")["Account"]
    if arn.split(":")[4] not in {account, "aws"}:
        action = "Use a policy of this account: another account's can't be a boundary."
        return (problem(f"it is not in account {account}", action),)
    return (ok(f"{arn} can be the roles' boundary"),)


# the advice stack's destinations, their keys, its model; nothing is sent

_OF_AWS: Final = "alias/aws/"
"""Prefix of the aliases of keys that AWS manages for an account."""
_BOT_TOKEN: Final = "xoxb-"  # noqa: S105 - how one begins


def check_destinations(planned: PlannedDeployment) -> tuple[Finding, ...]:
    """Check the file for ``advice_destinations``, without AWS; nothing if it isn't set."""
    text = planned.advice_destinations
    if not text:
        return ()
    try:
        read = read_destinations(to_deploy(text), None)
    except InvalidSettings as error:
        found = [problem(str(error), f"Fix the file, {_CHANNEL_GUIDE}.")]
    else:
        found = [ok(", ".join(f"{it.name} ({it.kind})" for it in read.destinations.values()))]
        if read.keyed and not planned.advice_secret_arn:
            action = (
                f"Put the keys into a secret, and set advice_secret_arn to it: {_CHANNEL_GUIDE}."
            )
            found.append(problem(f"{', '.join(read.keyed)} needs a key", action))
    return tuple(replace(it, asked=False) for it in found)


def check_topics(planned: PlannedDeployment) -> tuple[Finding, ...]:
    """Check the topics in the file; nothing if it has none, or can't be read."""
    text = planned.advice_destinations
    try:
        found = read_destinations(text, None).destinations.values() if text else ()
    except InvalidSettings:
        return ()  # the check of the destinations reports it
    topics = [it for it in found if it.kind is Kind.SNS]
    names = ", ".join(it.name for it in topics)
    return tuple(each for it in topics for each in _topic(planned, it)) or (
        (ok(f"those of {names} exist"),) if topics else ()
    )


def _topic(planned: PlannedDeployment, destination: Destination) -> Iterator[Finding]:
    name, region = destination.name, destination.topic.split(":")[3]
    if region != planned.aws.region:
        yield unknown(f"{name}: its topic is in {region}", "Check that it exists.")
        return
    absent = ("NotFound", "NotFoundException")
    answer = planned.aws.find("sns", "get_topic_attributes", absent, TopicArn=destination.topic)
    if answer is None:
        yield problem(f"{name}: there is no such topic", "Check its ARN.")
        return
    key = answer["Attributes"].get("KmsMasterKeyId", "")
    if key and _OF_AWS not in key:
        yield warning(
            f"{name}: its topic is encrypted with {key}, which the stack doesn't allow anyone to use",
            "Allow the function's role kms:Decrypt and kms:GenerateDataKey in the key's policy.",
        )


def check_keys(planned: PlannedDeployment) -> tuple[Finding, ...]:
    """Check that the secret has every key that the destinations name; no key is shown."""
    text, arn = planned.advice_destinations, planned.advice_secret_arn
    try:
        keyed = read_destinations(text, None).keyed if text else ()
    except InvalidSettings:
        return ()  # the check of the destinations reports it
    if not keyed or not arn:
        return ()  # as above
    region = arn.split(":")[3] if arn.count(":") >= 6 else ""
    if region != planned.aws.region:
        detail = f"{arn} is not a secret in {planned.aws.region}, the function's region"
        return (problem(detail, "Use the ARN of a secret there, or of a replica."),)
    return tuple(_secret(planned, text)) or (ok(f"the secret has those of {', '.join(keyed)}"),)


def _secret(planned: PlannedDeployment, text: str) -> Iterator[Finding]:
    absent, secret = ("ResourceNotFoundException",), planned.advice_secret_arn
    about = planned.aws.find("secretsmanager", "describe_secret", absent, SecretId=secret)
    if about is None or "DeletedDate" in about:
        yield problem("there is no such secret", "Check its ARN and the account.")
        return
    key = about.get("KmsKeyId", "")
    own = planned.advice_secret_key
    if key and _OF_AWS not in key and key.rpartition("/")[2] != own.rpartition("/")[2]:
        yield problem(
            f"it is encrypted with {key}, which the function may not use",
            "Set advice_secret_key to the key's ARN.",
        )
    given = planned.aws.call("secretsmanager", "get_secret_value", SecretId=secret)
    try:
        found = read_destinations(text, read_keys(given.get("SecretString", "")))
    except InvalidSettings as error:
        yield problem(str(error), f"Put the keys into the secret: {_CHANNEL_GUIDE}.")
        return
    for it in found.destinations.values():
        if it.kind is Kind.SLACK and not it.secret.startswith(_BOT_TOKEN):
            yield warning(
                f"{it.name}: its key doesn't begin with {_BOT_TOKEN}",
                "Use the bot's token, from OAuth & Permissions of the Slack app.",
            )


def check_advice_model(planned: PlannedDeployment) -> tuple[Finding, ...]:
    """Check the model for ``advice_model``; nothing if it isn't set."""
    return (model_finding(planned.aws, planned.advice_model),) if planned.advice_model else ()
