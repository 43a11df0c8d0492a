"""Checks of the advice stack's settings: the destinations' file, their keys, the model. Nothing is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.channel.settings import Kind, read_destinations, read_keys, to_deploy
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.deployment.doctor.checks import model_finding, ok, problem, unknown, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.channel.settings import Destination
    from knowledge_rag.deployment.doctor.checks import Finding, PlannedDeployment

_GUIDE: Final = "see docs/channel.md"
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
        found = [problem(str(error), f"Fix the file, {_GUIDE}.")]
    else:
        found = [ok(", ".join(f"{it.name} ({it.kind})" for it in read.destinations.values()))]
        if read.keyed and not planned.advice_secret_arn:
            action = f"Put the keys into a secret, and set advice_secret_arn to it: {_GUIDE}."
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
        yield problem(str(error), f"Put the keys into the secret: {_GUIDE}.")
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
