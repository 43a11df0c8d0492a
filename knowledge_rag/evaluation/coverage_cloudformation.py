"""CloudWatch alarms of a CloudFormation template, as far as it is literal.

What only a deployment knows (``Ref``, ``Fn::GetAtt``, a parameter in ``Fn::Sub``) is left out: a name
``${AWS::StackName}-outage`` is read as ``outage``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.evaluation.coverage_alerts import Alert, cloudwatch_incident
from knowledge_rag.evaluation.coverage_yaml import WrongRules
from knowledge_rag.orchestrator.links import RUNBOOK_KEYS, links_in
from knowledge_rag.orchestrator.names import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.evaluation.coverage_yaml import Node

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
    """Give the alarms of a template, composite ones included.

    Raises:
        WrongRules: an alarm's properties are no mapping.
    """
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
    """Give the text of a value as far as it stands in the template."""
    if node is None:
        return ""
    if node.tag.startswith("!"):
        return _function(node.tag.removeprefix("!"), node)
    if node.kind == "mapping" and len(node.entries) == 1:
        ((name, argument),) = node.entries.items()
        return _function(name.removeprefix("Fn::"), argument)
    return node.text or ""


def _function(name: str, argument: Node) -> str:
    if name == "Sub":
        return _substituted(argument)
    if name == "Join" and len(argument.items) == 2:
        parts = [literal(part) for part in argument.items[1].items]
        return (argument.items[0].text or "").join(parts)
    return ""


def _substituted(argument: Node) -> str:
    if argument.kind == "sequence" and argument.items:
        known = argument.items[1].entries if len(argument.items) > 1 else {}
        return _filled(argument.items[0].text or "", known)
    return _filled(argument.text or "", {})


def _filled(text: str, known: Mapping[str, Node]) -> str:
    def value(variable: re.Match[str]) -> str:
        if variable[1]:  # ${!Name} is how a template writes ${Name} itself
            return f"${{{variable[2]}}}"
        return literal(known.get(variable[2].strip()))

    return _VARIABLE.sub(value, text)


def _tagged(tags: Node | None) -> Iterator[str]:
    for tag in tags.items if tags is not None else ():
        if fold(tag.text_at("Key")) in RUNBOOK_KEYS and (link := literal(tag.get("Value"))):
            yield link
