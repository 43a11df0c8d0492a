"""An alert as its rule has it, and the incident that an agent would be told of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.orchestrator.incident import Incident

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.evaluation.coverage_yaml import Place

_TEMPLATE: Final = re.compile(r"([\"'`])\{\{[^{}]*\}\}\1|\{\{.*?\}\}", re.DOTALL)
_HOLLOW: Final = re.compile(r"\(\s*\)|\[\s*\]")


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert rule.

    Args:
        name: as it is written.
        file: that the rule stands in, as it is shown and as baselines keep it.
        place: of its name there.
        incident: what an agent is told when it fires.
        links: where its author says that the runbook is, the likeliest first.
    """

    name: str
    file: str
    place: Place
    incident: Incident
    links: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """Give ``file:line``, which editors open."""
        return f"{self.file}:{self.place.line}"


def without_templates(text: str) -> str:
    """Take out what Prometheus fills in when an alert fires, and quotes and brackets around it."""
    return " ".join(_HOLLOW.sub(" ", _TEMPLATE.sub(" ", text)).split())


def prometheus_incident(
    name: str, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> Incident:
    """Give the incident of an alert as Alertmanager's webhook tells it."""
    alert = {"labels": {"alertname": name, **labels}, "annotations": dict(annotations)}
    return Incident.from_state({**alert, "signals": [alert]})


def cloudwatch_incident(name: str, description: str) -> Incident:
    """Give the incident of an alarm as CloudWatch's notification tells it."""
    return Incident.from_state({"AlarmName": name, "AlarmDescription": description})
