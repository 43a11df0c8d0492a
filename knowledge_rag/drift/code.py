"""Names that code repositories define: CloudFormation, Terraform, Kubernetes, Prometheus, Docker Compose.

A part of a name that only a deployment knows (``Ref``, ``${var.x}``, ``{{ .Release.Name }}``) is HOLE. A file
that can't be read defines nothing.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from dataclasses import astuple, dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import tree_sitter_hcl
from tree_sitter import Language, Parser

from knowledge_rag.core.formats import is_document
from knowledge_rag.drift import history
from knowledge_rag.drift.cache import afresh
from knowledge_rag.drift.figures import (
    ALARM_KEYS,
    MAX_EXPRESSION,
    Alert,
    of_alarm,
    of_rule,
    of_values,
)
from knowledge_rag.drift.findings import near
from knowledge_rag.drift.settings import values_in
from knowledge_rag.drift.shell import HOLE, parsed
from knowledge_rag.extract.yaml_nodes import WrongRules, read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from tree_sitter import Node as Tree

    from knowledge_rag.drift.check import Recall
    from knowledge_rag.extract.yaml_nodes import Node

MAX_FILE: Final = 5_000_000
"""Bytes of a file that is read."""
MAX_NAME: Final = 1_000
"""Characters of a name; longer ones define nothing."""
MAX_WORDS: Final = 500
"""Words of an added line among which a removed name's successor is looked for."""
MAX_TAILS: Final = 20
"""Parts at a name's end by which it may be called."""
_HISTORY: Final = ("*.tf", "*.yaml", "*.yml", "*.json", "*.template", "*.tpl", ":(exclude)*lock*")
_SKIPPED: Final = frozenset(
    ("node_modules", "vendor", ".git", ".terraform", "__pycache__", ".venv", ".tox", ".gradle",
     ".cache", ".pytest_cache", ".mypy_cache", ".ruff_cache")
)  # fmt: skip
_DEFINING: Final = re.compile(
    rb"(?:^|[{,])(?:[^\S\n]|[\"'])*+(?:Resources|kind|groups|services|panels)[\"']?\s*:",
    re.MULTILINE,
)
_GO_TEMPLATE_LINE: Final = re.compile(r"^[ \t]*\{\{[^\n]*\}\}[ \t]*$", re.MULTILINE)
_GO_TEMPLATE: Final = re.compile(r"\{\{.*?(?:(?P<end>\}\})|$)", re.MULTILINE)
"""One that isn't closed goes to the line's end, so that the end is searched once."""
_WORD: Final = re.compile(rb"[A-Za-z0-9][\w./:-]*[\w]")
PART: Final = re.compile(r"[-_./:]")
"""Separates the parts of a name."""
_SEPARATOR: Final = re.compile(rb"[-_./:]")
_PARTED: Final = bytes(it if chr(it).isascii() and chr(it).isalnum() else 0x20 for it in range(256))
"""What makes of a text its parts: of words, and of names."""
_SUB: Final = re.compile(r"\$\{[^}]*(?P<end>\})?")

_NAMES: Final = (
    ("alarm", "AWS::CloudWatch::Alarm.AlarmName", "aws_cloudwatch_metric_alarm.alarm_name"),
    ("alarm", "AWS::CloudWatch::CompositeAlarm.AlarmName", "aws_cloudwatch_composite_alarm.alarm_name"),
    ("dashboard", "AWS::CloudWatch::Dashboard.DashboardName", "aws_cloudwatch_dashboard.dashboard_name"),
    ("function", "AWS::Lambda::Function.FunctionName", "aws_lambda_function.function_name"),
    ("queue", "AWS::SQS::Queue.QueueName", "aws_sqs_queue.name"),
    ("topic", "AWS::SNS::Topic.TopicName", "aws_sns_topic.name"),
    ("table", "AWS::DynamoDB::Table.TableName", "aws_dynamodb_table.name"),
    ("table", "AWS::DynamoDB::GlobalTable.TableName", ""),
    ("database", "AWS::RDS::DBCluster.DBClusterIdentifier", "aws_rds_cluster.cluster_identifier"),
    ("database", "AWS::RDS::DBInstance.DBInstanceIdentifier", "aws_db_instance.identifier"),
    ("cluster", "AWS::ECS::Cluster.ClusterName", "aws_ecs_cluster.name"),
    ("cluster", "AWS::EKS::Cluster.Name", "aws_eks_cluster.name"),
    ("service", "AWS::ECS::Service.ServiceName", "aws_ecs_service.name"),
    ("log group", "AWS::Logs::LogGroup.LogGroupName", "aws_cloudwatch_log_group.name"),
    ("bucket", "AWS::S3::Bucket.BucketName", "aws_s3_bucket.bucket"),
    ("secret", "AWS::SecretsManager::Secret.Name", "aws_secretsmanager_secret.name"),
    ("parameter", "AWS::SSM::Parameter.Name", "aws_ssm_parameter.name"),
    ("state machine", "AWS::StepFunctions::StateMachine.StateMachineName", "aws_sfn_state_machine.name"),
    ("auto scaling group", "AWS::AutoScaling::AutoScalingGroup.AutoScalingGroupName", "aws_autoscaling_group.name"),
    ("repository", "AWS::ECR::Repository.RepositoryName", "aws_ecr_repository.name"),
    ("stream", "AWS::Kinesis::Stream.Name", "aws_kinesis_stream.name"),
    ("database", "", "aws_rds_cluster_instance.identifier"),
)  # fmt: skip
"""Kinds of names, each with the type and property that has one in CloudFormation, and in Terraform."""


def _properties(column: int) -> dict[str, tuple[str, str]]:
    """Return the kind of the name that each type of resource has, and its property."""
    found = (row[column].rpartition(".") for row in _NAMES)
    return {of: (row[0], key) for row, (of, _, key) in zip(_NAMES, found, strict=True) if of}


CLOUDFORMATION: Final = _properties(1)
TERRAFORM: Final = _properties(2)


@dataclass(frozen=True, slots=True)
class Removal:
    """The last commit that removed a name: its SHA, day and file, and what it wrote in place of it."""

    commit: str
    day: str
    file: str
    instead: str = ""


@dataclass(slots=True)
class Code:
    """What code defines.

    Args:
        names: for each kind the names, and the file that defines each.
        words: of those that were asked for, the ones that stand anywhere in the code.
        removed: of the other wanted words, those that a commit removed.
        unread: files that look like definitions and can't be read, each with the reason.
        alerts: with their figures, by the file that defines them.
        values: of the wanted settings, by the file that gives them; ``None`` stands for one that isn't known.
    """

    names: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    words: set[str] = field(default_factory=set)
    removed: dict[str, Removal] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    alerts: dict[str, list[Alert]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, dict[str, list[str | None]]] = field(
        default_factory=lambda: defaultdict(dict)
    )


def read_code(
    roots: Sequence[Path],
    wanted: frozenset[str],
    docs: Path,
    recall: Recall = afresh,
    settings: frozenset[str] = frozenset(),
) -> Code:
    """Read what repositories, folders or files define, which wanted words stand in them, and what they give to settings.

    Documents, and whatever lies in the folder of the documents, are no code. Links are not followed.
    """
    code = Code()
    sought, keyed = _Wanted(wanted), _Wanted(settings)
    for root in roots:
        for name, data in _texts(root, docs.resolve()):
            parts = _parts(data)
            if found := sought.standing(data, parts):
                code.words |= found
                sought.drop(found)
            if keys := keyed.standing(data, parts):
                for key, values in values_in(data.decode(errors="replace"), sorted(keys)).items():
                    code.values[key][name] = values
            if _is_definition(name, data):
                _add(code, name, data, recall)
    for root in roots:
        gone = wanted - code.words - code.removed.keys()
        if gone and (root / ".git").exists():
            _add_removals(code, root, gone, recall)
    return code


def _texts(root: Path, docs: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path and bytes of each file that can be read and is text."""
    files = [(root.name, str(root))] if root.is_file() else _files(str(root.resolve()), str(docs))
    for name, path in files:
        try:
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - of 50,000 files
                if os.fstat(file.fileno()).st_size > MAX_FILE:
                    continue
                head = file.read(8192)
                data = b"" if b"\0" in head else head + file.readall()
        except OSError:
            continue
        if data:
            yield name, data


def _add_removals(code: Code, root: Path, gone: frozenset[str], recall: Recall) -> None:
    """Add what commits removed; a history that can't be read is named and not remembered."""
    head, cut = history.position(root)

    def make() -> dict[str, tuple[str, ...]]:
        return {name: astuple(removal) for name, removal in _removals(root, gone).items()}

    try:
        found = recall(("removed", head, cut, *sorted(gone)), make)
    except history.HistoryError as error:
        code.unread.append(f"{root}: {error}: names that commits removed aren't all known")
        return
    code.removed |= {name: Removal(*about) for name, about in found.items()}
    if cut:
        code.unread.append(
            f"{root}: a shallow clone: names that earlier commits removed aren't known"
        )


def _add(code: Code, name: str, data: bytes, recall: Recall) -> None:
    """Add what a file defines."""
    found, alerts, why = recall(("code", name, data), lambda: _definitions(name, data))
    code.unread += why
    for kind, defined in found:
        code.names[kind].setdefault(defined, name)
    if alerts:
        code.alerts[name] += map(Alert.of_wire, alerts)


def _removals(root: Path, wanted: frozenset[str]) -> dict[str, Removal]:
    """Look for wanted words in what the last commits removed from files that define names."""
    found: dict[str, Removal] = {}
    file = ""
    sought = _Wanted(wanted)
    removed: list[str] = []
    for commit, lines in history.log(root, "--patch", "--unified=0", "--", *_HISTORY):
        for line in lines:
            if line.startswith("--- "):
                file = line.removeprefix("--- a/").removeprefix("--- ")
            elif line.startswith("@@"):
                removed = []
            elif line.startswith("-"):
                data = line.encode()
                removed = sorted(sought.standing(data, _parts(data)))
                sought.drop(removed)
                found |= {name: Removal(commit.sha, commit.day, file) for name in removed}
            elif line.startswith("+") and removed:
                for name in removed:
                    if not found[name].instead:
                        found[name] = replace(found[name], instead=_instead(name, line))
    return found


def _instead(name: str, line: str) -> str:
    """Return the word of an added line that most resembles a removed name."""
    words = [word.decode() for word in _WORD.findall(line.encode())]
    return near(name, [word for word in words if len(word) > 3][:MAX_WORDS], 0.4)


def _files(top: str, docs: str) -> Iterator[tuple[str, str]]:
    """Yield the name in a folder, and the path, of each file that may be code."""
    todo = [(top, "")]
    while todo:
        folder, prefix = todo.pop()
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda it: it.name)
        except OSError:
            continue
        folders = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED and entry.path != docs:
                    folders.append((entry.path, f"{prefix}{entry.name}/"))
            elif entry.is_file(follow_symlinks=False) and not is_document(entry.name):
                yield prefix + entry.name, entry.path
        todo += reversed(folders)


def _parts(data: bytes) -> set[bytes]:
    return set(data.translate(_PARTED).split())


class _Wanted:
    """Words to look for in many files, few of which have the last part of one."""

    def __init__(self, words: AbstractSet[str]) -> None:
        self._of_last: dict[bytes, set[bytes]] = defaultdict(set)
        for word in filter(str.isascii, words):
            if parts := word.encode().translate(_PARTED).split():
                self._of_last[parts[-1]].add(word.encode())
        self._lasts = set(self._of_last)

    def drop(self, words: Iterable[str]) -> None:
        """Look for these no more."""
        for word in map(str.encode, words):
            last = word.translate(_PARTED).split()[-1]
            self._of_last[last].discard(word)
            if not self._of_last[last]:
                self._lasts.discard(last)

    def standing(self, data: bytes, parts: set[bytes]) -> set[str]:
        """Return the words that stand in a file, whose :func:`_parts` are given, alone or at the end of a longer name."""
        found: set[bytes] = set()
        for run in set(_WORD.findall(data)) if self._lasts & parts else ():
            words = self._of_last.get(run.translate(_PARTED).split()[-1])
            if words:
                ends = [separator.end() for separator in _SEPARATOR.finditer(run)][-MAX_TAILS:]
                found |= words.intersection([run, *(run[at:] for at in ends)])
        return {word.decode() for word in found}


def tails(name: str) -> Iterator[str]:
    """Return a name, and what is left of it behind each of its last MAX_TAILS separators."""
    yield name
    for separator in list(PART.finditer(name))[-MAX_TAILS:]:
        yield name[separator.end() :]


def _is_definition(path: str, data: bytes) -> bool:
    if path.endswith((".tf", ".tf.json")):
        return True
    return path.endswith((".yaml", ".yml", ".json", ".template", ".tpl")) and bool(
        _DEFINING.search(data)
    )


def _definitions(path: str, data: bytes) -> tuple[list[tuple[str, str]], list[Any], list[str]]:
    """Return the kinds and names that a file defines, its alerts, and why it can't be read, if it can't."""
    found: list[tuple[str, str]] = []
    alerts: list[Alert] = []
    if path.endswith((".tf", ".tf.json")):
        for kind, name, alarm in _terraform(data):
            found.append((kind, name))
            alerts += [alarm] if alarm else []
    else:
        try:
            text = _GO_TEMPLATE.sub(
                lambda it: HOLE_NAME if it["end"] else it[0],
                _GO_TEMPLATE_LINE.sub("", data.decode()),
            )
            for document in read_yaml(text, path):
                found += _of_document(document)
                alerts += _alerts_of(document)
        except (WrongRules, UnicodeDecodeError, RecursionError) as error:
            return [], [], [f"{path}: {error}"]
    named = [(kind, name) for kind, name in found if _is_name(name)]
    return named, [it.to_wire() for it in alerts if _is_name(it.name)], []


def _is_name(text: str) -> bool:
    return len(text) <= MAX_NAME and bool(text.strip(HOLE))


def _alerts_of(document: Node) -> Iterator[Alert]:
    resources = document.get("Resources")
    for resource in resources.entries.values() if resources is not None else ():
        kind, key = CLOUDFORMATION.get(resource.text_at("Type"), ("", ""))
        name, properties = resource.get("Properties", key), resource.get("Properties")
        if kind == "alarm" and name is not None and properties is not None:
            yield of_alarm(_literal(name), properties)
    for listed in _items(document.get("items")):
        yield from _alerts_of(listed)
    for groups in (document.get("groups"), document.get("spec", "groups")):
        for group in _items(groups):
            for rule in _items(group.get("rules")):
                alert, *of = (_plain(rule.text_at(key)) for key in ("alert", "expr", "for"))
                if alert:
                    yield of_rule(alert, *of)


HOLE_NAME: Final = "xxholexx"
"""A template's part while YAML is read, in which HOLE can't stand."""


def _of_document(document: Node) -> Iterator[tuple[str, str]]:
    resources = document.get("Resources")
    if resources is not None:
        for resource in resources.entries.values():
            kind, key = CLOUDFORMATION.get(resource.text_at("Type"), ("", ""))
            name = resource.get("Properties", key)
            if kind and name is not None:
                yield kind, _literal(name)
            for metric in _items(resource.get("Properties", "MetricTransformations")):
                if (name := metric.get("MetricName")) is not None:
                    yield "metric", _literal(name)
            yield from _keys(resource.get("Properties", "Environment", "Variables"))
    elif document.get("kind") is not None:
        yield from _kubernetes(document)
    if document.get("panels") is not None:
        yield "dashboard", _plain(document.text_at("uid"))
    yield from _of_rules(document.get("groups"))
    services = document.get("services")
    if services is not None and services.kind == "mapping" and resources is None:
        for label, service in services.entries.items():
            yield "compose service", _plain(label)
            yield "container", _plain(service.text_at("container_name"))
            yield from _keys(service.get("environment"))


def _kubernetes(document: Node) -> Iterator[tuple[str, str]]:
    kind = document.text_at("kind").lower()
    if kind.endswith("list"):
        for item in _items(document.get("items")):
            yield from _of_document(item)
    if kind == "configmap":
        yield from _keys(document.get("data"))
    yield kind, _plain(document.text_at("metadata", "name"))
    yield "namespace", _plain(document.text_at("metadata", "namespace"))
    for container in _items(document.get("spec", "template", "spec", "containers")):
        yield "container", _plain(container.text_at("name"))
        for variable in _items(container.get("env")):
            yield "config key", _plain(variable.text_at("name"))
    yield from _of_rules(document.get("spec", "groups"))


def _items(node: Node | None) -> tuple[Node, ...]:
    return node.items if node is not None else ()


def _keys(settings: Node | None) -> Iterator[tuple[str, str]]:
    """Yield the keys of a mapping, or of a list as Docker Compose has it (``KEY=value``); files are no keys."""
    if settings is not None:
        listed = [(item.text or "").partition("=")[0] for item in settings.items]
        for key in (*settings.entries, *listed):
            if "." not in key:
                yield "config key", _plain(key)


def _of_rules(groups: Node | None) -> Iterator[tuple[str, str]]:
    for group in _items(groups):
        for rule in _items(group.get("rules")):
            yield "alert", _plain(rule.text_at("alert"))
            yield "metric", _plain(rule.text_at("record"))


def _plain(text: str) -> str:
    return text.replace(HOLE_NAME, HOLE)


def _literal(node: Node) -> str:
    """Return a value of a template, with HOLE for what a deployment fills in."""
    if node.kind == "scalar":
        return HOLE if node.tag == "!Ref" else _filled_in(node.text or "")
    joined = node.get("Fn::Join") or (node if node.tag == "!Join" else None)
    if joined is not None and len(joined.items) == 2:
        between = joined.items[0].text or ""
        parts: list[str] = []
        left = MAX_NAME
        for item in joined.items[1].items:
            parts.append(_literal(item))
            left -= len(parts[-1]) + len(between)
            if left < 0:
                return HOLE
        return between.join(parts)
    substituted = node.get("Fn::Sub") or (node if node.tag == "!Sub" else None)
    if substituted is not None:
        first = substituted.items[0] if substituted.items else substituted
        return _filled_in(first.text or "")
    return HOLE


def _filled_in(text: str) -> str:
    """Return a text with HOLE for its ``${...}``, and HOLE for one that is too long for a name."""
    return (
        _SUB.sub(lambda it: HOLE if it["end"] else it[0], text) if len(text) <= MAX_NAME else HOLE
    )


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_hcl.language()))


def _terraform(data: bytes) -> Iterator[tuple[str, str, Alert | None]]:
    tree = parsed(_parser(), data)
    body = next(iter(tree.root_node.children), None) if tree else None
    for block in body.children if body else ():
        labels = [_source(it).strip('"') for it in block.children if it.type == "string_lit"]
        head = block.children[0].text if block.children else b""
        if head != b"resource" or len(labels) != 2 or labels[0] not in TERRAFORM:
            continue
        kind, key = TERRAFORM[labels[0]]
        attributes = list(_attributes(block))
        for attribute, value in attributes:
            if attribute == key:
                name = _hcl_text(value)
                yield kind, name, _hcl_alarm(name, attributes) if kind == "alarm" else None
                break


def _attributes(block: Tree, depth: int = 3) -> Iterator[tuple[str, Tree]]:
    """Yield the attributes of a block, those of the blocks in it last: an alarm has ``metric_query`` and ``metric``."""
    inner = next((child for child in block.children if child.type == "body"), None)
    children = inner.children if inner else []
    for child in children:
        if child.type == "attribute":
            yield _source(child.children[0]), child.children[-1]
    for child in children:
        if child.type == "block" and depth:
            yield from _attributes(child, depth - 1)


def _hcl_alarm(name: str, attributes: Sequence[tuple[str, Tree]]) -> Alert:
    values: dict[str, list[str]] = defaultdict(list)
    for key, value in attributes:
        if key in ALARM_KEYS.values():
            text = _source(value).strip('"')
            is_known = key == "expression" or re.fullmatch(r"-?[\d.]+", text)
            if not is_known or len(text) > MAX_EXPRESSION:
                return Alert(name, None, is_alarm=True)
            values[key].append(text)
    return Alert(name, of_values(values), is_alarm=True)


def _source(node: Tree) -> str:
    return (node.text or b"").decode(errors="replace").strip()


def _hcl_text(node: Tree) -> str:
    text = _source(node)
    is_string = text.startswith('"') and text.endswith('"')
    return _filled_in(text[1:-1]) if is_string else HOLE
