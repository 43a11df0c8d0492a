"""AWS resources that commands of a document need to exist.

Only what a command calls by its full name counts: no placeholder, nothing that a command of the same
document makes or removes, and nothing that may be in another account.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.drift.shell import HOLE, commands_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.drift.page import Page
    from knowledge_rag.drift.shell import Command, Word

NAMED: Final[Mapping[tuple[str, str], str]] = {
    ("autoscaling", "--auto-scaling-group-name"): "Auto Scaling group",
    ("autoscaling", "--auto-scaling-group-names"): "Auto Scaling group",
    ("cloudwatch", "--alarm-name"): "alarm",
    ("cloudwatch", "--alarm-names"): "alarm",
    ("cloudwatch", "--dashboard-name"): "dashboard",
    ("dynamodb", "--table-name"): "table",
    ("ecr", "--repository-name"): "ECR repository",
    ("ecr", "--repository-names"): "ECR repository",
    ("ecs", "--cluster"): "ECS cluster",
    ("ecs", "--clusters"): "ECS cluster",
    ("ecs", "--service"): "ECS service",
    ("ecs", "--services"): "ECS service",
    ("eks", "--cluster-name"): "EKS cluster",
    ("elasticache", "--replication-group-id"): "replication group",
    ("kinesis", "--stream-name"): "stream",
    ("lambda", "--function-name"): "function",
    ("logs", "--log-group-name"): "log group",
    ("rds", "--db-cluster-identifier"): "database cluster",
    ("rds", "--db-instance-identifier"): "database instance",
    ("s3api", "--bucket"): "bucket",
    ("secretsmanager", "--secret-id"): "secret",
    ("sns", "--topic-arn"): "topic",
    ("sqs", "--queue-name"): "queue",
    ("sqs", "--queue-url"): "queue",
    ("stepfunctions", "--state-machine-arn"): "state machine",
}
"""Options of ``aws`` whose values have to exist, and what each is called."""
ANOTHER_REGION: Final = "its region is a placeholder"
ANOTHER_PROFILE: Final = "its command names a profile or an address"
_MAKING: Final = re.compile(r"(?:create|put|restore|register|copy|import|delete|deregister)-")
_SUFFIX: Final = re.compile(r"-(?:identifier|names?|id|url|arn)$|(?<=[a-z])s$")
_WHOLE: Final[Mapping[str, re.Pattern[str]]] = {
    "topic": re.compile(r"arn:aws[\w-]*:sns:(?P<region>[\w-]+):(?P<account>\d+):(?P<name>[^:]+)"),
    "state machine": re.compile(
        r"arn:aws[\w-]*:states:(?P<region>[\w-]+):(?P<account>\d+):stateMachine:(?P<name>[^:]+)"
    ),
    "queue": re.compile(
        r"(?:https://sqs\.(?P<region>[\w-]+)\.amazonaws\.com[\w.]*/(?P<account>\d+)/)?(?P<name>[^:/]+)"
    ),
}
"""Kinds whose names stand in an ARN or an address. Other ARNs end in suffixes and versions."""
_NAME: Final = re.compile(r"(?!my|your|some|example|foo|test)/?[A-Za-z0-9][\w.-]{2,}(?:/[\w.-]+)*")


class Place(NamedTuple):
    """Where a name stands: line and columns are 1-based, the last exclusive."""

    path: str
    line: int
    column: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that a command names.

    Args:
        kind: one of those of ``NAMED``.
        name: without what an ARN or an address has before it.
        region: that the command or the ARN names; ``""`` for the caller's.
        account: that the ARN names; ``""`` for the caller's.
        within: the ECS cluster of a service.
        unknown: why it can't be looked up, ``""`` if it can.
    """

    place: Place
    kind: str
    name: str
    region: str = ""
    account: str = ""
    within: str = ""
    unknown: str = ""


def resources_in(page: Page) -> list[Resource]:
    """Find the resources that the commands of a document need to exist, in their order."""
    found: list[Resource] = []
    own: set[tuple[str, str]] = set()
    for command in commands_in(page.codes, frozenset({"aws"})):
        for it, is_made in _named(page.path, command):
            if is_made:
                own.add((it.kind, it.name))
            else:
                found.append(it)
    return [it for it in found if (it.kind, it.name) not in own]


def _named(path: str, command: Command) -> Iterator[tuple[Resource, bool]]:
    """Yield the resources that a command names, and whether it makes or removes each."""
    texts = [word.text for word in command.words]
    at = next((at for at, text in enumerate(texts) if text in _SERVICES), len(texts))
    service, operation = (*texts[at : at + 2], "", "")[:2]
    region, cluster = _value(texts, "--region"), _value(texts, "--cluster") or "default"
    unknown = ANOTHER_REGION if HOLE in region else ""
    if {"--profile", "--endpoint-url"} & {text.partition("=")[0] for text in texts}:
        unknown = ANOTHER_PROFILE
    for option, word, written in _values(command.words):
        kind = NAMED.get((service, option), "")
        whole = _WHOLE[kind].fullmatch(written) if kind in _WHOLE else None
        name = whole["name"] if whole else written if kind not in _WHOLE else ""
        is_service = kind == "ECS service"
        if not kind or not _NAME.fullmatch(name) or (is_service and HOLE in cluster):
            continue
        noun = _SUFFIX.sub("", option.strip("-"))
        yield (
            Resource(
                Place(path, word.line, word.column, word.end_column), kind, name,
                (whole and whole["region"]) or region.replace(HOLE, ""),
                (whole and whole["account"]) or "",
                cluster if is_service else "",
                unknown,
            ),
            noun in operation and _MAKING.match(operation) is not None,
        )  # fmt: skip


_SERVICES: Final = frozenset(service for service, _ in NAMED)


def _value(texts: Sequence[str], option: str) -> str:
    """Return the value of an option, ``""`` if it isn't given."""
    for at, text in enumerate(texts):
        name, equals, value = text.partition("=")
        if name == option:
            return value if equals else next(iter(texts[at + 1 : at + 2]), HOLE)
    return ""


def _values(words: Sequence[Word]) -> Iterator[tuple[str, Word, str]]:
    """Return each value of each option; several may follow one."""
    option = ""
    for word in words:
        name, equals, value = word.text.partition("=")
        if name.startswith("--"):
            option = "" if equals else name
            if equals:
                yield name, word, value
        elif option:
            yield option, word, word.text
            option = option if option.endswith("s") else ""
