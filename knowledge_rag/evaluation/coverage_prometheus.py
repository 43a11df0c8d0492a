"""Alerts of Prometheus: rule files, PrometheusRule resources, and lists of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.evaluation.coverage_alerts import (
    Alert,
    prometheus_incident,
    without_templates,
)
from knowledge_rag.evaluation.coverage_yaml import WrongRules
from knowledge_rag.orchestrator.links import RUNBOOK_KEYS
from knowledge_rag.orchestrator.names import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.evaluation.coverage_yaml import Node

RESOURCE: Final = "PrometheusRule"


def is_prometheus(document: Node) -> bool:
    """Whether a document is a rule file, a PrometheusRule, or a list with one in it."""
    return document.get("groups") is not None or any(True for _ in _resources(document))


def prometheus_alerts(document: Node, file: str) -> Iterator[Alert]:
    """Give the alerts of a document; recording rules are none.

    Raises:
        WrongRules: a group or a rule has not the form that Prometheus wants.
    """
    groups = document.get("groups")
    if groups is not None:
        yield from _of_groups(groups, file)
        return
    for resource in _resources(document):
        groups = resource.get("spec", "groups")
        if groups is not None:
            yield from _of_groups(groups, file)


def _resources(document: Node) -> Iterator[Node]:
    """Give the PrometheusRules of a document: itself, or members of a list, whatever its kind."""
    kind, items = document.text_at("kind"), document.get("items")
    if kind == RESOURCE:
        yield document
    elif kind.endswith("List") and items is not None:
        yield from (item for item in items.items if item.text_at("kind") in (RESOURCE, ""))


def _of_groups(groups: Node, file: str) -> Iterator[Alert]:
    for group in _sequence(groups, file, "groups"):
        rules = group.get("rules")
        if group.kind != "mapping" or (rules is None and not group.text_at("name")):
            raise _wrong(group, file, "a group is a mapping with name and rules")
        labels = _texts(group, "labels", file)
        for rule in _sequence(rules, file, "rules") if rules is not None else ():
            alert = _alert(rule, labels, file)
            if alert is not None:
                yield alert


def _alert(rule: Node, labels: dict[str, str], file: str) -> Alert | None:
    name = rule.get("alert")
    if name is None:
        if rule.get("record") is None:
            raise _wrong(rule, file, "a rule has alert or record; Grafana's own are not read")
        return None
    if not name.text:
        raise _wrong(name, file, "the alert has no name")
    told = _texts(rule, "annotations", file)
    texts = {key: without_templates(text) for key, text in told.items()}
    own = {key: without_templates(text) for key, text in _texts(rule, "labels", file).items()}
    incident = prometheus_incident(name.text, labels | own, texts)
    links = [text for key, text in told.items() if fold(key) in RUNBOOK_KEYS and text]
    return Alert(name.text, file, name.place, incident, tuple(links))


def _texts(node: Node, key: str, file: str) -> dict[str, str]:
    found = node.get(key)
    if found is None or (found.kind == "scalar" and found.text is None):
        return {}
    if found.kind != "mapping":
        raise _wrong(found, file, f"{key} is a mapping of texts")
    for value in found.entries.values():
        if value.kind != "scalar":
            raise _wrong(value, file, f"{key} is a mapping of texts")
    return {name: value.text or "" for name, value in found.entries.items()}


def _sequence(node: Node, file: str, name: str) -> tuple[Node, ...]:
    if node.kind == "scalar" and node.text is None:
        return ()
    if node.kind != "sequence":
        raise _wrong(node, file, f"{name} is a list")
    return node.items


def _wrong(node: Node, file: str, why: str) -> WrongRules:
    return WrongRules(file, node.place.line, why)
