"""One reader for payloads of pagers and alerting systems.

A payload comes from a file, standard input or a graph's state, or is pasted as a question. Its format
identifies its maker; the result is a graph's state, which ``Incident.from_state`` reads. An unknown payload is
searched for a title and a description. No JSON raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.orchestrator.links import fold
from knowledge_rag.orchestrator.pager_formats import (
    MAKERS,
    at,
    first,
    is_prometheus,
    links_of,
    mapping,
    members,
    pick,
    prometheus_alert,
    raw,
    runbooks_in,
    says_over,
    scalars,
    walk,
)
from knowledge_rag.orchestrator.pager_texts import ALERT_KEYS, MAX_ITEMS, MAX_NAME, MAX_TEXT, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.orchestrator.pager_formats import Alert, Facts

SUPPORTED: Final = (
    "supported: incident, signals, title, service, description; webhooks of "
    "Alertmanager, Grafana, PagerDuty, Opsgenie, Datadog, incident.io, Zabbix, New Relic, Sentry and Google "
    "Cloud; CloudWatch alarms, as they are or from SNS or EventBridge; any JSON with a title or a message"
)

MAX_PASTED: Final = 1_000_000
"""Maximum characters of a text that may contain a payload."""

_MAX_ENVELOPES: Final = 4
_STATE_KEYS: Final = ("incident", "signals", "evidence", "history")
"""Top-level keys that only a graph's state, or an incident in our own format, has."""
_BESIDE: Final = ("service", "severity", "incident_id")
"""Facts that a payload may have beside its alerts."""
_ENVELOPES: Final = (
    *("Message", "message", "body", "payload", "detail", "data", "event"),
    "alert_payload",  # of Grafana OnCall
)
"""Keys of a payload inside another one, as an object or as JSON text."""

_OPENS: Final = re.compile(r"[{\[]")
_MAX_TRIES: Final = 20
"""Maximum brackets in a text that are tried as the beginning of a payload; ``[FIRING:1]`` isn't one."""

_OWN_KEYS: Final = {
    "alert_name": ("alert_name", "alertname", "alert", "alarm_name", "alarm"),
    "title": ("title", "name", "summary"),
    "description": ("description", "details"),
    "service": ("service", "service_name", "job"),
}
"""Our own keys: an incident with these isn't an unrecognised payload."""
_OTHER_KEYS: Final = {
    "alert_name": (
        "alarmname", "alertrule", "alertrulename", "rulename", "monitorname", "checkname", "triggername",
        "conditionname", "policyname", "searchname", "rule", "monitor", "check", "trigger",
    ),
    "title": ("subject", "headline", "shortdescription", "detailtype"),
    "description": (
        "message", "text", "body", "output", "content", "msg", "detail", "longdescription", "reason",
        "error", "statusmessage", "statusreason",
    ),
    "service": ("application", "app", "component", "system"),
    "severity": ("priority", "level", "urgency"),
}  # fmt: skip
"""Folded keys of the same facts in unknown payloads, likeliest first."""
_TITLES: Final = frozenset(
    fold(key) for fact in ("alert_name", "title") for key in (*_OWN_KEYS[fact], *_OTHER_KEYS[fact])
) - {"detailtype"}  # of EventBridge
_ONLY_OUTSIDE: Final = frozenset({"name", "job", "error", "reason"})
"""Keys that count only at the top: ``{"user": {"name": ...}}`` isn't a title."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A payload as a state.

    Args:
        state: the whole payload, in the form that ``Incident.from_state`` reads.
        alerts: the same for each alert name, if there are several.
        read_as: the payload's maker, and the part that was read; ``""`` for a state.
        is_over: whether all of its alerts are resolved; unknown for a state and for unknown payloads.
    """

    state: object
    alerts: tuple[Mapping[str, Any], ...] = ()
    read_as: str = ""
    problems: tuple[str, ...] = ()
    is_over: bool = False


def read(payload: object) -> Reading:
    """Read a payload of any JSON; never raises.

    Args:
        payload: decoded JSON of any maker, a graph's state, or JSON as text.
    """
    if isinstance(payload, str):
        decoded = pasted(payload)
        return Reading(payload) if decoded is None else read(decoded)
    if isinstance(payload, Mapping) and any(payload.get(key) is not None for key in _STATE_KEYS):
        return _of_state(payload)
    known = _recognised(payload)
    return _unrecognised(payload) if known is None else _grouped(known)


def pasted(text: str) -> object | None:
    """Return the payload that was pasted in place of a question; ``None`` if there is none.

    It is a JSON object, or a list with one in it; words may precede it, and a Markdown fence may
    surround it. Texts longer than MAX_PASTED, and JSON nested too deeply, don't count.
    """
    if len(text) > MAX_PASTED:
        return None
    for bracket, _ in zip(_OPENS.finditer(text), range(_MAX_TRIES), strict=False):
        try:
            payload, _ = _DECODER.raw_decode(text, bracket.start())
        except (ValueError, RecursionError):
            continue
        if payload and any(isinstance(one, dict) for one in (payload, *members(payload))):
            return payload  # type: ignore[no-any-return] # JSON of any type
    return None


def _whole(digits: str) -> int | None:
    """Return a whole number; ``None`` for a very long one, which Python refuses to read."""
    return int(digits) if len(digits) <= MAX_NAME else None


_DECODER: Final = json.JSONDecoder(parse_int=_whole)


def _of_state(state: Mapping[Any, Any]) -> Reading:
    """Read a state, whose incident may be a payload, or a text with one pasted into it."""
    written = state.get("incident")
    incident = pasted(written) if isinstance(written, str) else written
    # some makers put the whole payload in a member "incident"
    known = _recognised({"incident": incident}) or _recognised(incident)
    if known is not None:
        reading = _grouped(known)
    elif incident is None or incident is written:
        return Reading(state)
    elif not (reading := _unrecognised(incident)).read_as:
        own = mapping(incident).keys() & {key for fact in _OTHER_KEYS for key in _own_keys(fact)}
        return Reading({**state, "incident": incident} if own else state)
    read_state = mapping(reading.state)
    signals = [*_listed(read_state.get("signals")), *_listed(state.get("signals"))]
    others = {key: it for key, it in state.items() if key != "incident"}
    return replace(reading, state={**others, **read_state, "signals": signals})


def _listed(value: object) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is None else [value]


@dataclass(frozen=True, slots=True)
class _Known:
    """A recognised payload: its maker, its alerts, and the facts that are shared, beside them or left out."""

    maker: str
    alerts: list[Alert]
    shared: Mapping[str, dict[str, str]]
    beside: Mapping[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether all of its alerts are over."""
        return all(alert.is_over for alert in self.alerts)


def _recognised(payload: object, depth: int = 0) -> _Known | None:
    """Recognise a payload, or the first one inside it, at most _MAX_ENVELOPES deep."""
    if isinstance(payload, str):
        payload = _decoded(payload)
    if isinstance(payload, list) and any(map(is_prometheus, payload)):
        alerts = [prometheus_alert(one) for one in payload if isinstance(one, Mapping)]
        return _Known("Alertmanager", alerts, _shared({}))
    if isinstance(payload, Mapping):
        for maker, reads in MAKERS:
            if alerts := reads(payload):
                beside = {key: text for key in _BESIDE if (text := first(payload.get(key)))}
                return _Known(maker, alerts, _shared(payload), beside, _truncated(payload))
    if depth == _MAX_ENVELOPES:
        return None
    if isinstance(payload, list):
        return _joined([_recognised(one, depth + 1) for one in members(payload)])
    inside = (_recognised(one, depth + 1) for one in _carried(mapping(payload)))
    return next(filter(None, inside), None)


def _carried(payload: Facts) -> Iterator[object]:
    """Yield the payloads that one may carry: a function's event, or records of SNS or SQS."""
    records = [mapping(record) for record in members(payload.get("Records"))]
    if records:
        yield [record.get("Sns", record.get("body")) for record in records]
    parts = [payload[key] for key in _ENVELOPES if key in payload]
    opens = _is_envelope(payload)
    yield from (it for it in parts if opens or not isinstance(it, str))


def _is_envelope(payload: Facts) -> bool:
    """Whether JSON in a payload's texts is its contents: a payload with a title of its own was written by its sender.

    Otherwise a log line in an alert's message would replace the alert. SNS has a subject beside its contents.
    """
    own = {fold(first(key)) for key, it in payload.items() if isinstance(it, str) and it.strip()}
    return "TopicArn" in payload or not _TITLES & own


def _joined(found: list[_Known | None]) -> _Known | None:
    """Join the payloads of a list; the first one names the maker."""
    known = [one for one in found if one is not None]
    if not known:
        return None
    alerts = [alert for one in known for alert in one.alerts]
    return replace(known[0], alerts=alerts, problems=[it for one in known for it in one.problems])


def _truncated(payload: Facts) -> list[str]:
    left_out = payload.get("truncatedAlerts")
    if isinstance(left_out, int) and left_out > 0:
        return [f"alerts: the sender left {first(left_out) or 'many'} more out of its payload"]
    return []


def _shared(webhook: Facts) -> dict[str, dict[str, str]]:
    """Return the labels and annotations that a webhook states for all of its alerts."""
    labels = {**scalars(webhook.get("groupLabels")), **scalars(webhook.get("commonLabels"))}
    return {"labels": labels, "annotations": scalars(webhook.get("commonAnnotations"))}


def _grouped(known: _Known) -> Reading:
    """Return the firing alerts, or all if all are over: as one state, and one for each name."""
    firing = [alert for alert in known.alerts if not alert.is_over] or known.alerts
    problems = known.problems
    if len(firing) > MAX_ITEMS:
        problems = [*problems, f"alerts: {len(firing)} firing, the first {MAX_ITEMS} are read"]
    by_name: dict[str, list[Alert]] = {}
    for alert in firing[:MAX_ITEMS]:
        by_name.setdefault(alert.name, []).append(alert)
    merged = [_merged(of_name, known.shared) for of_name in by_name.values()]
    several = len(merged) > 1
    whole = _together(merged, known.shared) if several else merged[0]
    return Reading(
        {**known.beside, **whole},
        tuple(merged) if several else (),
        _read_as(known.maker, known.alerts, len(firing)),
        tuple(problems),
        known.is_over,
    )


def _read_as(maker: str, alerts: Sequence[Alert], firing: int) -> str:
    over = sum(alert.is_over for alert in alerts)
    if len(alerts) == 1:
        return f"{maker} (resolved)" if over else maker
    if over == len(alerts):
        return f"{maker} (all {over} alerts are resolved)"
    read = f"{firing} firing alert{'s' if firing > 1 else ''}"
    return f"{maker} ({read}, {over} resolved left out)" if over else f"{maker} ({read})"


def _merged(alerts: Sequence[Alert], shared: Mapping[str, dict[str, str]]) -> dict[str, Any]:
    """Return one state for the alerts of one name: the first alert's, with the others' texts as signals."""
    states = [alert.state for alert in alerts]
    labels = [state.get("labels", {}) for state in states]
    state = {**states[0], "labels": {**shared["labels"], **_common(labels)}}
    if "annotations" in state:
        state["annotations"] = {**shared["annotations"], **state["annotations"]}
    signals = [
        *state.get("signals", ()),
        *(one for other in states[1:] for one in _signals_of(other)),
    ]
    texts = [_description(one) for one in states]
    signals += [text for text in texts if text and text != texts[0]]
    signals += _differing(labels)
    return {**state, "runbook": _runbooks(states), "signals": signals[:MAX_ITEMS]}


def _together(
    states: Sequence[dict[str, Any]], shared: Mapping[str, dict[str, str]]
) -> dict[str, Any]:
    """Return one state for a group: the facts that its alerts share, and each alert's texts as signals."""
    own = ("alert_name", "service", "severity", "incident_id")
    state = {
        key: text
        for key in own
        if (text := next(filter(None, (one.get(key) for one in states)), ""))
    }
    labels = _common([one.get("labels", {}) for one in states])
    signals = [signal for one in states for signal in _signals_of(one)]
    return {
        **state,
        "labels": {**shared["labels"], **labels},
        "annotations": shared["annotations"],
        "runbook": _runbooks(states),
        "signals": signals[:MAX_ITEMS],
    }


def _signals_of(state: Mapping[str, Any]) -> list[Any]:
    signals = list(state.get("signals", ()))
    if "annotations" in state:  # its signals are the alerts themselves, which say all of it
        return signals
    name, text = raw(state.get("alert_name")), raw(state.get("title")) or _description(state)
    return [text if name in text else ": ".join(filter(None, (name, text))), *signals]


def _description(state: Mapping[str, Any]) -> str:
    return raw(state.get("description")) or raw(at(state, "annotations.description"))


def _runbooks(states: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(link for state in states for link in state.get("runbook", ())))


def _common(labels: Sequence[Mapping[str, str]]) -> dict[str, str]:
    return {key: it for key, it in labels[0].items() if all(own.get(key) == it for own in labels)}


def _differing(labels: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the labels that differ between alerts, in the form ``pod: a-1, a-2``."""
    values: dict[str, dict[str, None]] = {}
    for own in labels:
        for key in own.keys() - _common(labels).keys():
            values.setdefault(key, {})[own[key]] = None
    return [
        first(f"{key}: {', '.join(own)}", limit=MAX_TEXT) for key, own in sorted(values.items())
    ]


def _unrecognised(payload: object) -> Reading:
    """Search an unknown payload for texts under common names."""
    if pick(mapping(payload), *(f"labels.{key}" for key in ALERT_KEYS)):
        return Reading(payload)  # a single alert of Prometheus, which is read as is
    objects = walk(opened(payload))
    found: dict[str, str] = {}
    where: list[tuple[str, ...]] = []
    for fact in _OTHER_KEYS:
        path, text = next(filter(None, (_found(fact, *one) for one in objects)), ((), ""))
        is_ours = len(path) == 1 and isinstance(payload, Mapping) and path[0] in _own_keys(fact)
        if text and not is_ours:
            found[fact] = text
            where.append(path)
    if not found:
        return Reading(payload)
    outside = {path[0] for path in where}
    own = {key for fact in _OTHER_KEYS for key in _own_keys(fact)}
    labels = {key: it for key, it in scalars(payload).items() if key not in outside | own}
    links = [*runbooks_in(payload), *links_of(found.get("description", ""))]
    state = {"runbook": links, "labels": labels, **mapping(payload), **found} | {"runbook": links}
    if "description" in found:
        state["description"] = plain(found["description"])
    keys = ", ".join(repr(".".join(path)) for path in where)
    return Reading(state, read_as=f"unrecognised payload: read {first(keys)}")


def _own_keys(fact: str) -> tuple[str, ...]:
    return _OWN_KEYS.get(fact, (fact,))


def opened(payload: object) -> object:
    """Return a payload, decoded if it is JSON text, with members that are JSON text decoded too."""
    if isinstance(payload, str):
        payload = _decoded(payload)
    if not isinstance(payload, Mapping):
        return payload
    if not _is_envelope(payload):
        return payload
    inner = {key: it for key in _ENVELOPES if isinstance(it := payload.get(key), str)}
    return {**payload, **{key: _decoded(it) or it for key, it in inner.items()}}


def _decoded(text: str) -> object | None:
    return pasted(text) if text.lstrip()[:1] in ("{", "[") else None


def _found(fact: str, path: tuple[str, ...], facts: Facts) -> tuple[tuple[str, ...], str] | None:
    """Return the text that an object has under one of a fact's names, and its path."""
    by_name = {fold(first(key)): key for key in reversed(list(facts)[:MAX_ITEMS])}
    for name in (*map(fold, _own_keys(fact)), *_OTHER_KEYS[fact]):
        if name not in by_name or (path and name in _ONLY_OUTSIDE):
            continue
        key, value = first(by_name[name]), facts[by_name[name]]
        if fact == "alert_name" and isinstance(value, Mapping):
            key, value = f"{key}.name", value.get("name")
        if any(map(str.isalnum, raw(value))):
            return (*path, key), raw(value)
    return None


def is_over(payload: object) -> bool:
    """Whether all alerts of a payload are over."""
    known = _recognised(payload)
    return says_over(mapping(payload)) if known is None else known.is_over
