"""What is known of one alert of a payload, in the words of a graph's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.orchestrator.links import links_in
from knowledge_rag.orchestrator.names import fold
from knowledge_rag.orchestrator.pager_facts import (
    first,
    folded,
    mapping,
    members,
    pick,
    raw,
    runbooks_in,
    scalars,
)
from knowledge_rag.orchestrator.pager_texts import (
    MAX_RAW,
    clean_title,
    leading_name,
    plain,
    runbook_links,
    unescape_entities,
)
from knowledge_rag.orchestrator.state import ALERT_KEYS, MAX_NAME, MAX_TEXT

if TYPE_CHECKING:
    from knowledge_rag.orchestrator.pager_facts import Facts

NAME_KEYS: Final = (*(fold(key) for key in ALERT_KEYS), "alertrule", "rulename", "monitorname")
SERVICE_KEYS: Final = ("service", "servicename", "affectedservice", "affectedservices", "services")
_TEXT_KEYS: Final = ("description", "summary", "message", "details", "text", "body", "firing")
"""Folded names of custom fields that hold the alert's name, its service, and what it says."""

_OVER: Final = frozenset({
    "resolved", "resolve", "ok", "closed", "close", "recovered", "success", "inactive", "normal",
    "delete", "deleted", "declined", "merged", "canceled", "learning",
})  # fmt: skip
"""Folded states and actions of an alert that is over, of any maker."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert, or one incident, of a payload.

    Args:
        name: of the alert, exactly as written; ``""`` where the payload has none.
        state: what is known of it, as ``Incident.from_state`` reads it.
        is_over: whether it is resolved.
    """

    name: str
    state: dict[str, Any] = field(default_factory=dict)
    is_over: bool = False


def is_prometheus(alert: object) -> bool:
    """Whether something is an alert as Prometheus, Alertmanager and Grafana write it."""
    return any(isinstance(mapping(alert).get(key), Mapping) for key in ("labels", "annotations"))


def prometheus_alert(alert: Facts) -> Alert:
    """Read an alert that has labels and annotations."""
    labels = scalars(alert.get("labels"))
    state = {
        "labels": labels,
        "annotations": mapping(alert.get("annotations")),
        "signals": [alert],
    }
    over = pick(alert, "status.state", "status", "state")
    return Alert(pick(labels, *ALERT_KEYS), state, _is_over(over))


def alerts_in_text(text: str) -> list[Facts]:
    """Return the alerts that Alertmanager and Grafana write into a text, with labels and annotations.

    Their default templates put them into PagerDuty's details and Opsgenie's description::

        Labels:
         - alertname = DiskFull
        Annotations:
         - summary = /data is full
    """
    alerts: list[Facts] = []
    part: dict[str, str] | None = None
    for line in map(str.strip, text[:MAX_RAW].split("\n")):
        if line == "Labels:":
            alerts.append({"labels": (part := {}), "annotations": {}})
        elif line == "Annotations:" and alerts:
            part = alerts[-1]["annotations"]
        elif line.startswith("- ") and " = " in line and part is not None:
            key, _, value = line[2:].partition(" = ")
            part[key.strip()] = value.strip()
        elif line:
            part = None
    return alerts


def detailed_alert(details: object, *, other_name: str = "", **facts: Any) -> list[Alert]:  # noqa: ANN401 - as alert_of
    """Read an alert whose details may be anything, alerts of Alertmanager included."""
    given = mapping({"details": details} if isinstance(details, str) else details)
    described = raw(facts.pop("description", ""))
    inner = [
        Alert(one.name, one.state, is_over)
        for key, is_over in (("firing", False), ("resolved", True))
        for one in map(prometheus_alert, _alerts_of(given.get(key)))
    ]
    if inner := inner or [prometheus_alert(it) for it in alerts_in_text(described)]:
        return [_completed(one, facts) for one in inner]
    known = folded(given)
    says = [text for key in _TEXT_KEYS if (text := raw(known.get(key)))]
    described = described or next(iter(says), "")
    short = {
        key: it
        for key, it in given.items()
        if fold(first(key)) not in _TEXT_KEYS and len(raw(it)) <= MAX_NAME
    }
    name = pick(known, *NAME_KEYS) or leading_name(clean_title(first(facts["title"]))) or other_name
    facts |= {
        "service": pick(known, *SERVICE_KEYS) or facts["service"],
        "labels": {**facts.get("labels", {}), **scalars(short)},
        "signals": [text for text in says if text != described],
    }
    return [alert_of(name=name, description=described, **facts)]


def _alerts_of(detail: object) -> list[Facts]:
    """Return the alerts of a detail that lists them, as objects or in a text."""
    return [it for it in members(detail) if is_prometheus(it)] or alerts_in_text(raw(detail))


def _completed(alert: Alert, facts: Facts) -> Alert:
    """Add what a pager knows of an alert that it carries; the alert's own labels count more."""
    own = {**alert.state["annotations"], **alert.state["labels"]}
    state = {**alert.state, "incident_id": first(facts["incident_id"])}
    if not pick(own, "summary", "title"):
        state["title"] = first(facts["title"], limit=MAX_TEXT)
    if not pick(own, "service", "service_name", "job"):
        state["service"] = first(facts["service"])
    if not pick(own, "severity", "priority"):
        state["severity"] = first(facts["severity"])
    return Alert(alert.name, state, alert.is_over or _is_over(facts["over"]))


def alert_of(  # noqa: PLR0913 - an incident's fields
    *,
    name: object = "",
    title: object = "",
    description: str = "",
    service: object = "",
    severity: object = "",
    incident_id: object = "",
    labels: Mapping[str, object] | None = None,
    signals: list[str] | None = None,
    over: object = "",
    runbooks: object = None,
) -> Alert:
    """Make an alert of facts as a payload has them.

    Without a name it has the one that its title begins with.
    """
    heading = clean_title(first(unescape_entities(raw(title)), limit=MAX_TEXT))
    named = first(name) or leading_name(heading)
    state = {
        "alert_name": named,
        "title": heading,
        "description": plain(description),
        "service": first(service),
        "severity": first(severity),
        "incident_id": first(incident_id),
        "labels": scalars(labels),
        "signals": [plain(signal) for signal in signals or () if signal],
        "runbook": [*runbooks_in(runbooks), *links_of(description)],
    }
    return Alert(named, {key: value for key, value in state.items() if value}, _is_over(over))


def links_of(description: str) -> list[str]:
    """Return the links to runbooks in a description, with its markup."""
    return [*runbook_links(description), *links_in(first(description, limit=MAX_TEXT))]


def _is_over(status: object) -> bool:
    return fold(first(status)) in _OVER
