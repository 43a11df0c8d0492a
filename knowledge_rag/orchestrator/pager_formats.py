"""Reads the alerts of each maker's payload, as states of a graph.

A function for each maker takes a payload and returns its alerts, none if the payload is another maker's.
The formats are those of the makers' public documentation; tests/data/incidents/README.md names the pages.
Values may be absent, of another type, or far too large.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from knowledge_rag.orchestrator.links import RUNBOOK_KEYS, fold, links_in
from knowledge_rag.orchestrator.pager_texts import (
    ALERT_KEYS,
    MAX_ITEMS,
    MAX_NAME,
    MAX_RAW,
    MAX_TEXT,
    clean_title,
    leading_name,
    one_line,
    plain,
    runbook_links,
    says_runbook,
    unescape_entities,
)

MAX_NODES: Final = 200
"""Maximum objects of a payload that are searched for runbook links and texts."""

Facts = Mapping[str, Any]


def mapping(value: object) -> Facts:
    """Return a mapping as is; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def members(value: object) -> list[Any]:
    """Return the first MAX_ITEMS members of a list; none for anything else."""
    return value[:MAX_ITEMS] if isinstance(value, list) else []


def at(facts: Facts, path: str) -> Any:  # noqa: ANN401 - JSON is of any type
    """Return the value at a path such as ``"priority.summary"``; ``None`` if there is none."""
    value: object = facts
    for key in path.split("."):
        value = mapping(value).get(key)
    return value


def first(*values: object, limit: int = MAX_NAME) -> str:
    """Return the first value that is a number or a non-blank text, as one line."""
    return next((text for value in values if (text := one_line(value, limit))), "")


def pick(facts: Facts, *paths: str, limit: int = MAX_NAME) -> str:
    """Return the first text at any of the paths, as :func:`first` does."""
    return first(*(at(facts, path) for path in paths), limit=limit)


def passage(facts: Facts, *paths: str) -> str:
    """Return the first text at any of the paths, lines included, at most MAX_RAW characters."""
    return next((text for path in paths if (text := raw(at(facts, path)).strip())), "")


def raw(value: object) -> str:
    """Return a text, lines included; ``""`` for anything else."""
    return value[:MAX_RAW] if isinstance(value, str) else ""


def texts(value: object, limit: int = MAX_NAME) -> list[str]:
    """Return the texts of a list, or the single text in place of a list."""
    found = members(value) if isinstance(value, list) else [value]
    return [text for member in found if (text := first(member, limit=limit))]


def scalars(value: object) -> dict[str, str]:
    """Return the members of a mapping that are texts or numbers, such as labels."""
    pairs = islice(mapping(value).items(), MAX_ITEMS)
    named = ((first(key), first(member)) for key, member in pairs)
    return {key: text for key, text in named if key and text}


def folded(value: object) -> dict[str, Any]:
    """Return a mapping by its folded keys: ``alert_title``, ``alertTitle`` and ``ALERT.TITLE`` are the same."""
    return {fold(first(key)): it for key, it in islice(mapping(value).items(), MAX_NODES)}


def tags(value: object) -> dict[str, str]:
    """Return tags as labels: ``"a:b, c:d"``, a list of such, of objects or of pairs, also as JSON, or a mapping."""
    if raw(value).lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(raw(value))
    if isinstance(value, Mapping):
        value = [[key, text] for key, it in islice(value.items(), MAX_ITEMS) for text in texts(it)]
    found: dict[str, list[str]] = {}
    for tag in members(raw(value).split(",") if isinstance(value, str) else value):
        match tag:
            case str():
                key, _, text = tag.strip().partition(":")
                key, text = (key, text) if text else ("tags", key)
            case [key, text]:
                pass
            case (
                {"tag": key, "value": text}
                | {"key": key, "value": text}
                | {"name": key, "value": text}
            ):
                pass
            case _:
                continue
        if (name := first(key)) and (said := first(text)):
            found.setdefault(name, []).append(said)
    return {key: first(", ".join(said)) for key, said in found.items()}


def walk(payload: object) -> list[tuple[tuple[str, ...], Facts]]:
    """Return a payload's objects, outer ones first, with the keys that lead to them.

    At most MAX_NODES, and MAX_ITEMS members of each.
    """
    found: list[tuple[tuple[str, ...], Facts]] = []
    waiting: deque[tuple[tuple[str, ...], object]] = deque([((), payload)])
    looked_at = 0
    while waiting and len(found) < MAX_NODES and looked_at < MAX_NODES * MAX_ITEMS:
        path, value = waiting.popleft()
        looked_at += 1
        if isinstance(value, Mapping):
            found.append((path, value))
            pairs = islice(value.items(), MAX_ITEMS)
            waiting += [
                ((*path, first(key)), it) for key, it in pairs if isinstance(it, Mapping | list)
            ]
        else:
            waiting += [(path, it) for it in members(value) if isinstance(it, Mapping | list)]
    return found


def runbooks_in(payload: object) -> list[str]:
    """Return all values of a payload that are called a runbook, and links with such a text."""
    found: list[str] = []
    for _, facts in walk(payload):
        for key, value in islice(facts.items(), MAX_ITEMS):
            if fold(first(key)) in RUNBOOK_KEYS:
                found += texts(value, MAX_TEXT)
        target = pick(facts, "href", "url", "link", "value_link", limit=MAX_TEXT)
        if target and any(
            says_runbook(pick(facts, key)) for key in ("text", "name", "title", "label")
        ):
            found.append(target)
    return list(dict.fromkeys(found))


NAME_KEYS: Final = (*map(fold, ALERT_KEYS), "alertrule", "rulename", "monitorname")
SERVICE_KEYS: Final = ("service", "servicename", "affectedservice", "affectedservices", "services")
_TEXT_KEYS: Final = ("description", "summary", "message", "details", "text", "body", "firing")
"""Folded names of custom fields for the alert's name, its service, and its texts."""

_OVER: Final = frozenset({
    "resolved", "resolve", "ok", "closed", "close", "recovered", "recovery", "success", "inactive", "normal",
    "delete", "deleted", "declined", "merged", "canceled", "learning",
})  # fmt: skip
"""Folded states and actions of an alert that is over, for any maker."""


_SURELY_OVER: Final = _OVER & {"resolved", "resolve", "closed", "recovered", "recovery", "ok"}
STATE_KEYS: Final = ("status", "state")
"""Folded keys that state whether an alert fires, in a payload of an unknown maker."""


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert or incident of a payload: its exact name, its state for ``Incident``, and whether it is over."""

    name: str
    state: dict[str, Any] = field(default_factory=dict)
    is_over: bool = False


def is_prometheus(alert: object) -> bool:
    """Whether a value is an alert as Prometheus, Alertmanager and Grafana write it."""
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
    """Read an alert whose details may be anything, including alerts of Alertmanager."""
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
    return alert_of(name=name, description=described, **facts)


def _alerts_of(detail: object) -> list[Facts]:
    return [it for it in members(detail) if is_prometheus(it)] or alerts_in_text(raw(detail))


def _completed(alert: Alert, facts: Facts) -> Alert:
    """Add a pager's facts to an alert in its payload; the alert's own labels take precedence."""
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
) -> list[Alert]:
    """Return the alert of a payload's facts; without a name, its title may begin with one."""
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
    known = {key: value for key, value in state.items() if value}
    return [Alert(named, known, _is_over(over))]


def links_of(description: str) -> list[str]:
    """Return the links to runbooks in a description, with its markup."""
    return [*runbook_links(description), *links_in(first(description, limit=MAX_TEXT))]


def _is_over(status: object) -> bool:
    return fold(first(status)) in _OVER


def says_over(payload: Facts) -> bool:
    """Whether a payload of an unknown maker says that its alert is over: fewer words count, as "success" may be its delivery's."""
    known = folded(payload)
    return any(fold(first(known.get(key))) in _SURELY_OVER for key in STATE_KEYS)


_ZABBIX_SEVERITIES: Final = {
    "0": "Not classified", "1": "Information", "2": "Warning",
    "3": "Average", "4": "High", "5": "Disaster",
}  # fmt: skip
_OF_ZABBIX: Final = frozenset({
    "eventid", "eventseverity", "eventnseverity", "eventvalue", "eventstatus", "eventtags",
    "triggerid", "triggerseverity", "triggerstatus", "hostname", "hosthost", "host",
})  # fmt: skip
"""Folded macros of a Zabbix webhook, beside the name of its trigger or event."""


_NOT_SAID: Final = re.compile(
    r"(?<!\S)@[\w.-]+|^The monitor was last triggered at .*", re.MULTILINE
)
"""Datadog's mentions, and the line that it adds to the author's text."""


Maker = Callable[[Facts], list[Alert]]


def alertmanager(payload: Facts) -> list[Alert]:
    """Read a webhook of Alertmanager, or an API's list of alerts."""
    alerts = payload.get("alerts", at(payload, "data.alerts"))
    if not isinstance(alerts, list) or not any(map(is_prometheus, alerts)):
        return []
    return [prometheus_alert(alert) for alert in alerts if isinstance(alert, Mapping)]


def grafana(payload: Facts) -> list[Alert]:
    """Read a webhook of Grafana: of unified or of legacy alerting."""
    if payload.keys() >= {"ruleName", "ruleUrl"}:
        return alert_of(
            name=payload["ruleName"],
            title=payload.get("title"),
            description=passage(payload, "message"),
            labels=tags(payload.get("tags")),
            over=payload.get("state"),
            runbooks=payload,
        )
    return alertmanager(payload) if "orgId" in payload else []


def cloudwatch(payload: Facts) -> list[Alert]:
    """Read an alarm as SNS delivers it, as EventBridge does, or as it invokes a function."""
    alarm = payload
    if payload.get("source") == "aws.cloudwatch":
        alarm = mapping(payload.get("detail", payload.get("alarmData")))
    name = alarm.get("AlarmName", alarm.get("alarmName"))
    if not isinstance(name, str):
        return []
    labels = {"Region": pick(alarm, "Region") or pick(payload, "region")}
    labels |= scalars({key: at(alarm, f"Trigger.{key}") for key in ("Namespace", "MetricName")})
    labels |= tags(at(alarm, "Trigger.Dimensions"))
    for metric in members(at(alarm, "configuration.metrics")):
        measured = mapping(at(mapping(metric), "metricStat.metric"))
        labels |= {"Namespace": pick(measured, "namespace"), "MetricName": pick(measured, "name")}
        labels |= scalars(measured.get("dimensions"))
    return alert_of(
        name=name,
        # the reason repeats the threshold, so it counts only without a description
        description=passage(alarm, "AlarmDescription", "configuration.description")
        or passage(alarm, "NewStateReason", "state.reason"),
        labels=labels,
        over=pick(alarm, "NewStateValue", "state.value"),
        runbooks=alarm,
    )


def pagerduty(payload: Facts) -> list[Alert]:
    """Read a webhook of PagerDuty (v3, v2), an event for its Events API v2, or its own incidents."""
    event = mapping(payload.get("event"))
    if isinstance(event.get("data"), Mapping) and "event_type" in event:
        return _pagerduty_incident(event["data"])
    sent = [mapping(message) for message in members(payload.get("messages"))]
    if incidents := [it for it in sent if isinstance(it.get("incident"), Mapping)]:
        return [one for it in incidents for one in _pagerduty_incident(it["incident"], it)]
    if isinstance(payload.get("payload"), Mapping) and "event_action" in payload:
        return _pagerduty_event(payload)
    incident = mapping(payload.get("incident", payload))
    if incident.get("type") == "incident" and incident.keys() & {"incident_key", "html_url"}:
        return _pagerduty_incident(incident)
    return []


def _pagerduty_incident(incident: Facts, message: Facts | None = None) -> list[Alert]:
    entries = [at(incident, "first_trigger_log_entry"), *members(at(message or {}, "log_entries"))]
    bodies = [
        at(incident, "body"),
        *(at(mapping(it), "body") for it in members(incident.get("alerts"))),
    ]
    bodies += [at(mapping(entry), "channel") for entry in entries]
    details = (mapping(it).get(key) for it in bodies for key in ("details", "cef_details"))
    return detailed_alert(
        next(filter(None, details), None),
        # a note and a status update have a text, and name their incident only
        title=pick(incident, "title", "incident.summary", "summary", "description", limit=MAX_TEXT),
        description=passage(incident, "content", "message"),
        service=pick(incident, "service.summary", "service.name"),
        severity=pick(incident, "priority.summary", "priority.name", "urgency"),
        incident_id=pick(incident, "incident.id", "id"),
        over=incident.get("status"),
        runbooks=incident,
    )


def _pagerduty_event(event: Facts) -> list[Alert]:
    alert = mapping(event["payload"])
    return detailed_alert(
        alert.get("custom_details"),
        title=alert.get("summary"),
        other_name=pick(alert, "class"),
        service=pick(alert, "component"),
        severity=alert.get("severity"),
        incident_id=event.get("dedup_key"),
        labels={key: alert.get(key) for key in ("source", "component", "group", "class")},
        over=event["event_action"],
        runbooks=event,
    )


def opsgenie(payload: Facts) -> list[Alert]:
    """Read a webhook of Opsgenie, or of the operations of Jira Service Management."""
    alert = mapping(payload.get("alert"))
    if not alert.keys() & {"alertId", "tinyId", "alias"}:
        return []
    named = {key: alert.get(key) for key in ("alias", "entity", "team", "source")}
    return detailed_alert(
        alert.get("details"),
        title=alert.get("message"),
        description=passage(alert, "description"),
        other_name=leading_name(pick(alert, "alias")),
        service=alert.get("entity"),
        severity=alert.get("priority"),
        incident_id=pick(alert, "tinyId", "alertId"),
        labels={**named, **tags(alert.get("tags"))},
        over=payload.get("action"),
        runbooks=alert,
    )


def incident_io(payload: Facts) -> list[Alert]:
    """Read a webhook of incident.io for an incident or an alert, or an event for its alert sources."""
    event = mapping(payload.get(first(payload.get("event_type"))))
    if not event and payload.keys() >= {"title", "deduplication_key", "status"}:
        event = payload
    if not event:
        return []
    incident = mapping(event.get("incident", event.get("alert", event)))
    labels: dict[str, object] = {**scalars(incident.get("metadata"))}
    for entry in map(mapping, members(incident.get("custom_field_entries"))):
        values = map(_incident_io_value, members(entry.get("values")))
        labels[pick(entry, "custom_field.name")] = ", ".join(filter(None, values))
    for entry in map(mapping, members(incident.get("attributes"))):
        values = map(_incident_io_value, [entry.get("value"), *members(entry.get("array_value"))])
        labels[pick(entry, "attribute.name")] = ", ".join(filter(None, values))
    known = folded(labels)
    return alert_of(
        name=pick(known, *NAME_KEYS),
        title=pick(incident, "name", "title", limit=MAX_TEXT),
        description=passage(incident, "summary", "description") or passage(event, "message"),
        service=pick(known, *SERVICE_KEYS),
        severity=pick(incident, "severity.name") or pick(known, "severity", "priority"),
        incident_id=pick(incident, "reference", "deduplication_key", "id"),
        labels=labels,
        over=pick(incident, "incident_status.category", "status"),
        runbooks=[incident, labels],
    )


def _incident_io_value(value: object) -> str:
    return pick(
        mapping(value),
        *("label", "value_catalog_entry.name", "value_option.value", "catalog_entry.name"),
        *("literal", "value_link", "value_text", "value_numeric"),
    )


def new_relic(payload: Facts) -> list[Alert]:
    """Read a webhook of New Relic: an issue of a workflow, or an incident of a legacy channel."""
    if not payload.keys() & {"issueUrl", "alertConditionNames", "condition_name"}:
        return []
    conditions = texts(payload.get("alertConditionNames", payload.get("condition_name")))
    targets = [mapping(target) for target in members(payload.get("targets"))]
    entities = texts(payload.get("impactedEntities", [target.get("name") for target in targets]))
    policies = texts(payload.get("alertPolicyNames", payload.get("policy_name")))
    labels = {"policy": ", ".join(policies)}
    for target in targets:
        labels |= scalars(target.get("labels"))
    return [
        alert
        for name in conditions or [""]
        for alert in alert_of(
            name=name,
            title=pick(payload, "title", limit=MAX_TEXT),
            description=passage(payload, "description", "details")
            or "\n".join(texts(payload.get("alertConditionDescriptions"), MAX_TEXT)),
            service=next(iter(entities), ""),
            severity=pick(payload, "severity", "priority"),
            incident_id=pick(payload, "id", "issueId", "incident_id"),
            labels=labels,
            signals=entities[1:],
            over=pick(payload, "current_state", "state"),
            runbooks=payload,
        )
    ]


def sentry(payload: Facts) -> list[Alert]:
    """Read a webhook of Sentry: an issue alert, a metric alert, an issue; or of its older plugin."""
    data = mapping(payload.get("data"))
    if isinstance(data.get("metric_alert"), Mapping):
        return _sentry_metric(data, payload.get("action"))
    event = mapping(
        next(filter(None, map(data.get, ("event", "error", "issue"))), payload.get("event"))
    )
    if not event.keys() & {"culprit", "issue_id", "event_id", "shortId"}:
        return []
    rule = pick(data, "triggered_rule", "issue_alert.title")
    rule = rule or next(iter(texts(payload.get("triggering_rules"))), "")
    title = pick(event, "title", "metadata.title", limit=MAX_TEXT) or pick(payload, "message")
    labels = {"culprit": pick(event, "culprit"), **tags(event.get("tags"))}
    return alert_of(
        name=rule or title,
        title=title,
        description=passage(event, "message", "logentry.formatted", "metadata.value"),
        service=pick(labels, "service")
        or pick(event, "project.slug", "project.name", "project_slug")
        or pick(payload, "project_name", "project"),
        severity=pick(event, "level") or pick(payload, "level"),
        incident_id=pick(event, "shortId", "issue_id", "id"),
        labels=labels,
        over=pick(event, "status"),
        runbooks=data,
    )


def _sentry_metric(data: Facts, action: object) -> list[Alert]:
    metric = mapping(data["metric_alert"])
    projects = texts(metric.get("projects", at(metric, "alert_rule.projects")))
    return alert_of(
        name=at(metric, "alert_rule.name"),
        title=pick(data, "description_title", limit=MAX_TEXT),
        description=passage(data, "description_text"),
        service=next(iter(projects), ""),
        severity=action,
        incident_id=pick(metric, "identifier", "id"),
        labels={key: at(metric, f"alert_rule.{key}") for key in ("query", "environment")},
        over=action,
        runbooks=data,
    )


def zabbix(payload: Facts) -> list[Alert]:
    """Read a webhook of Zabbix, which sends macros under their names, or an event that it exports."""
    facts = folded(payload)
    hosts = [mapping(host) for host in members(payload.get("hosts"))]
    if not (facts.keys() & {"triggername", "eventname"} and facts.keys() & _OF_ZABBIX):
        if not payload.keys() >= {"eventid", "name", "value", "hosts"}:
            return []
        facts["eventname"] = payload["name"]
    value = pick(facts, "eventvalue", "value")
    severity = pick(facts, "eventseverity", "triggerseverity", "severity", "eventnseverity")
    labels = {
        "host": pick(facts, "hostname", "hosthost", "host") or pick(next(iter(hosts), {}), "name"),
        **tags(next(filter(None, map(facts.get, ("eventtags", "eventtagsjson", "tags"))), None)),
    }
    return alert_of(
        name=pick(facts, "triggername", "eventname"),
        title=pick(facts, "eventname", "triggername", limit=MAX_TEXT),
        description=passage(facts, "triggerdescription", "alertmessage", "message"),
        service=pick(facts, "service") or pick(labels, "service"),
        severity=_ZABBIX_SEVERITIES.get(severity, severity),
        incident_id=pick(facts, "eventid"),
        labels=labels,
        signals=[pick(facts, "eventopdata", "operationaldata", "itemvalue")],
        over="ok" if value == "0" else pick(facts, "eventstatus", "triggerstatus", "status"),
        runbooks=payload,
    )


def datadog(payload: Facts) -> list[Alert]:
    """Read a webhook of Datadog: its default template, and the names that custom ones mostly use."""
    facts = folded(payload.get("metadata")) | folded(payload)
    facts |= {f"alert{key}": it for key, it in folded(payload.get("alert")).items()}
    known = {
        "alerttransition",
        "alertmetric",
        "alertquery",
        "alertscope",
        "alertcyclekey",
        "aggregkey",
    }
    if not (facts.keys() & known or facts.keys() >= {"eventtype", "lastupdated", "title", "body"}):
        return []
    tagged = tags(facts.get("alertscope")) | tags(facts.get("tags"))
    monitor = clean_title(pick(facts, "alerttitle", "monitorname"))
    priority = pick(facts, "alertpriority", "priority")
    said = passage(facts, "textonlymsg", "body", "eventmsg", "eventmessage", "text", "message")
    return alert_of(
        name=pick(folded(tagged), *NAME_KEYS) or leading_name(monitor) or monitor,
        title=pick(facts, "title", "eventtitle", "alerttitle", limit=MAX_TEXT),
        description=_NOT_SAID.sub("", said),
        service=pick(facts, "service") or pick(tagged, "service"),
        # every event has its own priority, normal or low, which is not the monitor's
        severity=pick(facts, "alerttype") if priority in ("", "normal", "low") else priority,
        incident_id=pick(facts, "aggregkey", "id"),
        labels={
            "hostname": facts.get("hostname"),
            "metric": facts.get("alertmetric"),
            **tagged,
        },
        over=pick(facts, "alerttransition", "transition", "alerttype"),
        runbooks=payload,
    )


def google_cloud(payload: Facts) -> list[Alert]:
    """Read a webhook of Google Cloud's monitoring, whose ``incident`` isn't a graph's."""
    incident = mapping(payload.get("incident"))
    if not incident.keys() & {"policy_name", "condition_name"}:
        return []
    labels = {key: incident.get(key) for key in ("condition_name", "resource_name")}
    labels |= scalars(at(incident, "resource.labels")) | scalars(incident.get("policy_user_labels"))
    return alert_of(
        name=pick(incident, "policy_name", "condition_name"),
        title=pick(incident, "documentation.subject", "summary", limit=MAX_TEXT),
        description=passage(incident, "documentation.content", "summary"),
        service=pick(scalars(labels), "service"),
        severity=incident.get("severity"),
        incident_id=incident.get("incident_id"),
        labels=labels,
        over=incident.get("state"),
        runbooks=incident,
    )


MAKERS: Final[tuple[tuple[str, Maker], ...]] = (
    ("Grafana", grafana),
    ("Alertmanager", alertmanager),
    ("CloudWatch", cloudwatch),
    ("PagerDuty", pagerduty),
    ("Opsgenie", opsgenie),
    ("incident.io", incident_io),
    ("New Relic", new_relic),
    ("Sentry", sentry),
    ("Zabbix", zabbix),
    ("Datadog", datadog),
    ("Google Cloud", google_cloud),
)
"""Each maker's name and reader; the first one that finds an alert counts."""
