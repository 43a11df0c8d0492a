"""Reads alert rules of Prometheus and CloudFormation, and the incident that an agent gets when one fires.

A named file must contain rules. In a folder or pattern, other YAML and JSON is skipped, but a file that
looks like rules and can't be read is an error. None of a broken file's alerts is returned.

CloudFormation templates are read as far as they are literal. Values that only a deployment knows (``Ref``,
``Fn::GetAtt``, a parameter in ``Fn::Sub``) are left out: ``${AWS::StackName}-outage`` is read as ``outage``.
"""

from __future__ import annotations

import codecs
import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.core.files import read_regular
from knowledge_rag.core.lines import decode
from knowledge_rag.extract.yaml_nodes import WrongRules, read_yaml
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.links import RUNBOOK_KEYS, fold, links_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.extract.yaml_nodes import Node, Place

_TEMPLATE: Final = re.compile(r"([\"'`])\{\{[^{}]*\}\}\1|\{\{.*?\}\}", re.DOTALL)
_HOLLOW: Final = re.compile(r"\(\s*\)|\[\s*\]")


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert rule.

    Args:
        name: as written.
        file: of the rule, in the form for reports and baselines.
        place: of its name there.
        incident: for an agent when it fires.
        links: to its runbook, most likely first.
    """

    name: str
    file: str
    place: Place
    incident: Incident
    links: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """Return ``file:line``, which editors open."""
        return f"{self.file}:{self.place.line}"


def without_templates(text: str) -> str:
    """Remove the parts that Prometheus fills in when an alert fires, and quotes and brackets around them."""
    return " ".join(_HOLLOW.sub(" ", _TEMPLATE.sub(" ", text)).split())


def prometheus_incident(
    name: str, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> Incident:
    """Return an alert's incident as in Alertmanager's webhook."""
    alert = {"labels": {"alertname": name, **labels}, "annotations": dict(annotations)}
    return Incident.from_state({**alert, "signals": [alert]})


def cloudwatch_incident(name: str, description: str) -> Incident:
    """Return an alarm's incident as in CloudWatch's notification."""
    return Incident.from_state({"AlarmName": name, "AlarmDescription": description})


RESOURCE: Final = "PrometheusRule"


def is_prometheus(document: Node) -> bool:
    """Whether a document is a rule file, a PrometheusRule, or a list that contains one."""
    return document.get("groups") is not None or any(True for _ in _resources(document))


def prometheus_alerts(document: Node, file: str) -> Iterator[Alert]:
    """Return the alerts of a document, or raise :exc:`WrongRules`; recording rules are no alerts."""
    groups = document.get("groups")
    if groups is not None:
        yield from _of_groups(groups, file)
        return
    for resource in _resources(document):
        groups = resource.get("spec", "groups")
        if groups is not None:
            yield from _of_groups(groups, file)


def _resources(document: Node) -> Iterator[Node]:
    """Return the PrometheusRules of a document: itself, or members of a list, whatever its kind."""
    kind, items = document.text_at("kind"), document.get("items")
    if kind == RESOURCE:
        yield document
    elif kind.endswith("List") and items is not None:
        yield from (item for item in items.items if item.text_at("kind") in (RESOURCE, ""))


def _of_groups(groups: Node, file: str) -> Iterator[Alert]:
    for group in _sequence(groups, file, "groups"):
        rules = group.get("rules")
        if group.kind != "mapping" or (rules is None and not group.text_at("name")):
            raise _wrong(group, file, "a group must be a mapping with name and rules")
        labels = _texts(group, "labels", file)
        for rule in _sequence(rules, file, "rules") if rules is not None else ():
            alert = _alert(rule, labels, file)
            if alert is not None:
                yield alert


def _alert(rule: Node, labels: dict[str, str], file: str) -> Alert | None:
    name = rule.get("alert")
    if name is None:
        if rule.get("record") is None:
            raise _wrong(
                rule, file, "a rule needs alert or record; Grafana's own are not supported"
            )
        return None
    if not name.text:
        raise _wrong(name, file, "the alert has no name")
    annotations = _texts(rule, "annotations", file)
    texts = {key: without_templates(text) for key, text in annotations.items()}
    own = {key: without_templates(text) for key, text in _texts(rule, "labels", file).items()}
    incident = prometheus_incident(name.text, labels | own, texts)
    links = [text for key, text in annotations.items() if fold(key) in RUNBOOK_KEYS and text]
    return Alert(name.text, file, name.place, incident, tuple(links))


def _texts(node: Node, key: str, file: str) -> dict[str, str]:
    found = node.get(key)
    if found is None or (found.kind == "scalar" and found.text is None):
        return {}
    if found.kind != "mapping":
        raise _wrong(found, file, f"{key} must be a mapping of texts")
    for value in found.entries.values():
        if value.kind != "scalar":
            raise _wrong(value, file, f"{key} must be a mapping of texts")
    return {name: value.text or "" for name, value in found.entries.items()}


def _sequence(node: Node, file: str, name: str) -> tuple[Node, ...]:
    if node.kind == "scalar" and node.text is None:
        return ()
    if node.kind != "sequence":
        raise _wrong(node, file, f"{name} is a list")
    return node.items


def _wrong(node: Node, file: str, why: str) -> WrongRules:
    return WrongRules(file, node.place.line, why)


ALARMS: Final = frozenset({"AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"})

_VARIABLE: Final = re.compile(r"\$\{(!?)([^}]*)\}")
_ENDS: Final = " -_./:"


def is_template(document: Node) -> bool:
    """Whether a document is a CloudFormation template."""
    resources = document.get("Resources")
    if resources is None:
        return False
    return any("::" in resource.text_at("Type") for resource in resources.entries.values())


def cloudwatch_alarms(document: Node, file: str) -> Iterator[Alert]:
    """Return the alarms of a template, including composite ones, or raise :exc:`WrongRules`."""
    resources = document.get("Resources")
    for logical_id, resource in resources.entries.items() if resources is not None else ():
        if resource.text_at("Type") not in ALARMS:
            continue
        properties = resource.get("Properties")
        if properties is None or properties.kind != "mapping":
            why = f"alarm {logical_id[:80]!r} has no properties"
            raise WrongRules(file, resource.place.line, why)
        name = literal(properties.get("AlarmName")).strip(_ENDS) or logical_id
        description = literal(properties.get("AlarmDescription"))
        place = resources.keys[logical_id].place if resources is not None else resource.place
        links = (*_tagged(properties.get("Tags")), *links_in(description))
        yield Alert(name, file, place, cloudwatch_incident(name, description), links)


def literal(node: Node | None) -> str:
    """Return the literal text of a value in the template."""
    if node is None:
        return ""
    if node.tag.startswith("!"):
        return _function(node.tag.removeprefix("!"), node)
    if node.kind == "mapping" and len(node.entries) == 1:
        ((name, argument),) = node.entries.items()
        return _function(name.removeprefix("Fn::"), argument)
    return node.text or ""


def _function(name: str, argument: Node) -> str:
    if name == "Sub" and argument.kind == "sequence" and argument.items:
        known = argument.items[1].entries if len(argument.items) > 1 else {}
        return _filled(argument.items[0].text or "", known)
    if name == "Sub":
        return _filled(argument.text or "", {})
    if name == "Join" and len(argument.items) == 2:
        parts = [literal(part) for part in argument.items[1].items]
        return (argument.items[0].text or "").join(parts)
    return ""


def _filled(text: str, known: Mapping[str, Node]) -> str:
    def value(variable: re.Match[str]) -> str:
        if variable[1]:  # ${!Name} is a template's escape for ${Name}
            return f"${{{variable[2]}}}"
        return literal(known.get(variable[2].strip()))

    return _VARIABLE.sub(value, text)


def _tagged(tags: Node | None) -> Iterator[str]:
    for tag in tags.items if tags is not None else ():
        if fold(tag.text_at("Key")) in RUNBOOK_KEYS and (link := literal(tag.get("Value"))):
            yield link


MAX_BYTES: Final = 16 << 20
"""Maximum bytes of a rule file; a template has at most 1 MB."""

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json", ".template", ".rules"})
"""Suffixes of the files to read in a folder."""

UNDERSTOOD: Final = (
    "supported are Prometheus rule files, PrometheusRule resources, and CloudFormation templates"
)
_MARKS: Final = (b"groups", b"PrometheusRule", b"AWS::CloudWatch::")
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""Byte-order marks of texts in which no mark would be found, and which may be rules."""
_ASSETS: Final = "asset."
"""Prefix in a CDK assembly of code beside its templates."""


@dataclass(frozen=True, slots=True)
class RuleFiles:
    """The alerts of all files, in order, and the files that have rules, were skipped, or are broken."""

    alerts: tuple[Alert, ...]
    files: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    broken: tuple[BrokenFile, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokenFile:
    """An unreadable file, or a pattern without matches; the message begins with ``file:line``."""

    file: str
    message: str
    line: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"file": self.file, "line": self.line, "message": self.message}


class NoAlerts(InvalidRequest):
    """The named files contain no alert; the message is that of the last broken one, if any."""

    def __init__(self, message: str, broken: tuple[BrokenFile, ...]) -> None:
        super().__init__(message)
        self.broken = broken


def read_rules(paths: Sequence[str]) -> RuleFiles:
    """Read the alerts of at least one file, folder or pattern such as ``rules/**/*.yaml``.

    Raises:
        NoAlerts: the readable files contain none.
    """
    alerts: list[Alert] = []
    files: list[str] = []
    skipped: list[str] = []
    broken: list[BrokenFile] = []
    for path, is_named in _chosen(paths, broken):
        try:
            found = _alerts(path, is_named=is_named)
        except (InvalidRequest, UnreadableDocument) as error:
            broken.append(BrokenFile(shown(path), str(error), getattr(error, "line", None)))
            continue
        (skipped if found is None else files).append(shown(path))
        alerts += found or ()
    if not alerts:
        nothing = f"no alert in {', '.join(paths)}; {UNDERSTOOD}"
        raise NoAlerts(broken[-1].message if broken else nothing, tuple(broken))
    return RuleFiles(tuple(alerts), tuple(files), tuple(skipped), tuple(broken))


def shown(path: Path) -> str:
    """Return a path in the form for reports and baselines: relative if it is below the current folder."""
    plain = Path(os.path.normpath(path))
    try:
        return plain.absolute().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return plain.as_posix()


def _chosen(paths: Sequence[str], broken: list[BrokenFile]) -> list[tuple[Path, bool]]:
    """Return each file once, by its shortest path, and whether it was named; add names without files to ``broken``.

    A pattern follows links, even in circles, and would count an alert several times.
    """
    chosen: dict[str, tuple[Path, bool]] = {}
    for text in paths:
        path = Path(text)
        before = len(broken)
        if not text.strip():  # an unset variable in a script, and not meant as this folder
            broken.append(BrokenFile(text, "--rules: empty name"))
            continue
        if path.is_dir():
            found = [(each, False) for each in _in_folder(path, broken)]
        elif path.exists() or not glob.has_magic(text):
            found = [(path, True)]
        else:
            matches = sorted(glob.glob(text, recursive=True))  # noqa: PTH207 - absolute patterns, too
            found = [(Path(each), False) for each in matches if Path(each).is_file()]
        if not found and len(broken) == before:
            endings = ", ".join(f"*{suffix}" for suffix in sorted(SUFFIXES))
            why = f"no file in it ends in {endings}" if path.is_dir() else "no file matches"
            broken.append(BrokenFile(text, f"no rules in {text}: {why}"))
        for each, is_named in found:
            known = chosen.get(real := os.path.realpath(each))
            if known is None or len(each.parts) < len(known[0].parts):
                chosen[real] = (each, is_named or (known is not None and known[1]))
    return list(chosen.values())


def _in_folder(folder: Path, broken: list[BrokenFile]) -> Iterator[Path]:
    def closed(error: OSError) -> None:  # its contents were not checked
        name = shown(Path(error.filename or folder))
        broken.append(BrokenFile(name, f"{name}: {error.strerror or error}"))

    for inner, folders, names in os.walk(folder, onerror=closed):
        folders[:] = sorted(name for name in folders if not name.startswith((".", _ASSETS)))
        for name in sorted(names):
            if Path(name).suffix.lower() in SUFFIXES and not name.startswith("."):
                yield Path(inner, name)


def _alerts(path: Path, *, is_named: bool) -> list[Alert] | None:
    """Return the alerts of a file; ``None`` if it has no rules and was not named."""
    name = shown(path)
    data = _read(path, name)
    if not is_named and not data.startswith(_UTF_16) and not any(mark in data for mark in _MARKS):
        return None
    documents = read_yaml(decode(data, name), name)
    alerts: list[Alert] = []
    understood = False
    for document in documents:
        if is_template(document):
            alerts += cloudwatch_alarms(document, name)
        elif is_prometheus(document):
            alerts += prometheus_alerts(document, name)
        else:
            continue
        understood = True
    if understood:
        return alerts
    if is_named:
        line = documents[0].place.line if documents else 1
        raise WrongRules(name, line, f"no rules; {UNDERSTOOD}")
    return None


def _read(path: Path, name: str) -> bytes:
    try:
        data = read_regular(path, MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableDocument(name, error.strerror or str(error)) from error
    if len(data) > MAX_BYTES:
        raise InvalidRequest(f"{name}: larger than {MAX_BYTES >> 20} MiB")
    return data
