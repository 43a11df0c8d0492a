"""Checks of the advice stack's settings: the destinations' file, their keys, the model. Nothing is sent."""

from __future__ import annotations

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
"""Begins the names of keys that AWS manages for an account."""
_BOT_TOKEN: Final = "xoxb-"  # noqa: S105 - how one begins


def check_destinations(planned: PlannedDeployment) -> tuple[Finding, ...]:
    """Check the file that ``advice_destinations`` would name, and the topics in it; nothing where none is given."""
    text = planned.advice_destinations
    if not text:
        return ()
    try:
        found = read_destinations(to_deploy(text), None).destinations.values()
    except InvalidSettings as error:
        return (problem(str(error), f"Mend the file, {_GUIDE}."),)
    topics = [finding for it in found if it.kind is Kind.SNS for finding in _topic(planned, it)]
    return tuple(topics) or (ok(", ".join(f"{it.name} ({it.kind})" for it in found)),)


def _topic(planned: PlannedDeployment, destination: Destination) -> Iterator[Finding]:
    name, region = destination.name, destination.topic.split(":")[3]
    if region != planned.aws.region:
        yield unknown(f"{name}: its topic is in {region}", "Look whether it exists.")
        return
    absent = ("NotFound", "NotFoundException")
    answer = planned.aws.find("sns", "get_topic_attributes", absent, TopicArn=destination.topic)
    if answer is None:
        yield problem(f"{name}: there is no such topic", "Check its ARN.")
        return
    key = answer["Attributes"].get("KmsMasterKeyId", "")
    if key and _OF_AWS not in key:
        yield warning(
            f"{name}: its topic is encrypted with {key}, which the stack allows nobody to use",
            "Allow the function's role kms:Decrypt and kms:GenerateDataKey in the key's policy.",
        )


def check_keys(planned: PlannedDeployment) -> tuple[Finding, ...]:
    """Check that the secret has every key that the destinations name; no key is shown."""
    text, arn = planned.advice_destinations, planned.advice_secret_arn
    try:
        keyed = read_destinations(text, None).keyed if text else ()
    except InvalidSettings:
        return ()  # the check of the destinations reports it
    if not keyed:
        return ()
    if not arn:
        action = f"Put the keys into a secret, and name it in advice_secret_arn: {_GUIDE}."
        return (problem(f"{', '.join(keyed)} needs a key", action),)
    region = arn.split(":")[3] if arn.count(":") >= 6 else ""
    if region != planned.aws.region:
        detail = f"{arn} is no secret of {planned.aws.region}, where the function would be"
        return (problem(detail, "Give the ARN of a secret there, or of a replica."),)
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
    """Check the model that ``advice_model`` would name; nothing where none is given."""
    return (model_finding(planned.aws, planned.advice_model),) if planned.advice_model else ()
