"""Reads the alerts in a pager's webhook, each with a key that identifies repeated deliveries.

A key consists of the pager's identifiers for the alert and its state. Alerts of Alertmanager and Grafana are
read one by one, because a group is sent again whenever another alert joins it. Events that aren't about an
alert's state, such as an added note, are ignored: our own notes would come back as events.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.message import masked
from knowledge_rag.channel.settings import Maker
from knowledge_rag.orchestrator.incident import Incident, name_of
from knowledge_rag.orchestrator.links import fold
from knowledge_rag.orchestrator.pager_formats import STATE_KEYS
from knowledge_rag.orchestrator.pager_texts import MAX_NAME, MAX_TEXT, one_line
from knowledge_rag.orchestrator.pagers import is_over, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_ALERTS: Final = 1000
"""Maximum alerts in one delivery."""

MAX_SHARED: Final = 10_000
"""Maximum JSON characters of a delivery's data that are common to its alerts; they are stored with each."""

_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Event:
    """One alert that fires or is over.

    Args:
        key: the same for each delivery of this state of this alert.
        alert: the same for all states of this alert, which are handled in order.
        payload: for :mod:`~knowledge_rag.orchestrator.pagers` to read.
        subject: the pager's id of the incident or alert, to which a note can be added; ``""`` for none.
    """

    key: str
    alert: str
    name: str
    over: bool
    payload: Mapping[str, Any] = field(default_factory=dict)
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The content of a delivery.

    Args:
        events: its alerts, at most MAX_ALERTS.
        others: recognised content that is no alert; one line each.
        needs: an action for a person; ``""`` for none.
    """

    events: list[Event]
    others: list[str]
    needs: str = ""


def delivery_of(maker: Maker, payload: object) -> Delivery:
    """Return the content of a delivery, decoded from JSON; nothing if it isn't one of its maker's."""
    if not isinstance(payload, Mapping):
        payload = {"alerts": payload} if isinstance(payload, list) else {}
    if payload.get("Type") in ("SubscriptionConfirmation", "UnsubscribeConfirmation"):
        # the address is never opened here, since a forged one could be anything
        url = one_line(payload.get("SubscribeURL"), MAX_TEXT)
        needs = f"{payload['Type']} from SNS: to receive its messages, open its SubscribeURL {url}"
        return Delivery([], [], needs)
    found = (it for it in _READERS[maker](payload) if it is not None)
    kept = list(islice(found, MAX_ALERTS))
    if next(found, None) is not None:
        _logger.error(
            "from=%s | a delivery has more than %d alerts: the rest is ignored", maker, MAX_ALERTS
        )
    events = [it for it in kept if isinstance(it, Event)]
    return Delivery(events, [it for it in kept if isinstance(it, str)])


def events_of(maker: Maker, payload: object) -> list[Event]:
    """Return the alerts in a delivery; see :func:`delivery_of`."""
    return delivery_of(maker, payload).events


def events_of_bus(event: Mapping[str, Any]) -> tuple[Maker, list[Event]]:
    """Return the maker of an EventBridge event, and its alerts.

    For CloudWatch and unknown makers, the event itself is read. For a maker named in the event's source, such as
    ``aws.partner/pagerduty.com/...``, the ``detail`` is read, which is the payload of its webhook.
    """
    source = _text(event.get("source")).lower()
    if source == "aws.cloudwatch":
        return Maker.CLOUDWATCH, events_of(Maker.CLOUDWATCH, event)
    others = (Maker.CLOUDWATCH, Maker.OTHER)
    maker = next((it for it in Maker if it not in others and it.value in source), Maker.OTHER)
    return maker, events_of(maker, event if maker is Maker.OTHER else event.get("detail"))


_Found = Event | str | None
"""An alert, a description of something that is no alert, or ``None`` for an unreadable part."""


def _prometheus(payload: Mapping[str, Any]) -> Iterator[_Found]:
    alerts = payload.get("alerts")
    shared = _within({key: it for key, it in payload.items() if key != "alerts"}, MAX_SHARED)
    if alerts == []:
        yield "no alerts"
    for alert in alerts if isinstance(alerts, list) else ():
        if isinstance(alert, Mapping):
            own = {**shared, "alerts": [alert], "status": alert.get("status")}
            state = [alert.get("startsAt"), alert.get("status")]
            yield _event(own, [alert.get("labels")], state)


def _within(shared: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Return the members with at most this many characters together, as JSON; objects are kept in part."""
    kept: dict[str, Any] = {}
    for key, it in shared.items():
        size = len(canonical({key: it}))
        if size > most and isinstance(it, Mapping):
            it = _within(it, most - len(canonical({key: {}})))  # noqa: PLW2901 - what fits of it
            size = len(canonical({key: it}))
        if size <= most:
            kept[key] = it
            most -= size
    return kept


def _pagerduty(payload: Mapping[str, Any]) -> Iterator[_Found]:
    event = _mapping(payload.get("event"))
    kind, data = _text(event.get("event_type")), _mapping(event.get("data"))
    if kind.startswith("incident.") and kind.partition(".")[2] in _PAGERDUTY and data.get("id"):
        yield _event(payload, [data["id"]], event.get("id"), subject=_text(data["id"]))
    elif kind and kind.removeprefix("incident.") not in _PAGERDUTY:
        yield f"{kind[:MAX_NAME]}, ignored"


def _opsgenie(payload: Mapping[str, Any]) -> Iterator[_Found]:
    action, alert = _text(payload.get("action")), _mapping(payload.get("alert"))
    if action in _OPSGENIE and alert.get("alertId"):
        state = [action, alert.get("createdAt")]
        yield _event(payload, [alert["alertId"]], state, subject=_text(alert["alertId"]))
    elif action and alert and action not in _OPSGENIE:
        yield f"{action[:MAX_NAME]}, ignored"


def _datadog(payload: Mapping[str, Any]) -> Iterator[_Found]:
    identity = payload.get("alert_cycle_key") or payload.get("aggreg_key") or payload.get("id")
    identity = identity or payload.get("alert_id")
    if identity is None:
        yield from _other(payload)
        return
    state = [payload.get(key) for key in ("id", "alert_transition", "last_updated", "date")]
    yield _event(payload, [identity, payload.get("alert_scope")], state)


def _incident_io(payload: Mapping[str, Any]) -> Iterator[_Found]:
    kind = _text(payload.get("event_type"))
    if kind.rpartition(".")[2] not in ("incident_created_v2", "incident_status_updated_v2"):
        yield f"{kind[:MAX_NAME]}, ignored" if kind in payload else None
        return
    incident = _mapping(payload.get(kind))
    incident = _mapping(incident.get("incident")) or incident
    if identity := incident.get("id"):
        state = [kind, _mapping(incident.get("incident_status")).get("id")]
        yield _event(payload, [identity], state, subject=_text(identity))


def _cloudwatch(payload: Mapping[str, Any]) -> Iterator[_Found]:
    """Read an alarm from EventBridge or SNS."""
    detail = _mapping(payload.get("detail"))
    sent = _mapping(_mapping(opened(payload)).get("Message")) or payload
    state = _mapping(detail.get("state"))
    name = _text(detail.get("alarmName")) or _text(sent.get("AlarmName"))
    if name.startswith("TargetTracking-"):
        yield "an AWS scaling alarm"
    elif name and detail:
        identity = [payload.get("account"), payload.get("region"), name]
        yield _event(payload, identity, [state.get("value"), state.get("timestamp")], name=name)
    elif name:
        identity = [sent.get("AlarmArn"), sent.get("AWSAccountId"), sent.get("Region"), name]
        yield _event(
            payload, identity, [sent.get("NewStateValue"), sent.get("StateChangeTime")], name=name
        )


def _other(payload: Mapping[str, Any]) -> Iterator[_Found]:
    kind = _text(_mapping(payload.get("event")).get("event_type"))
    found = list(_pagerduty(payload)) if kind.startswith(("incident.", "pagey.")) else []
    if found:  # as in webhooks, pings, acknowledgements and our own notes are no alerts
        yield from found
    elif payload:
        lasting = {key: it for key, it in payload.items() if fold(key) not in STATE_KEYS}
        yield _event(payload, [lasting], [payload[key] for key in sorted({*payload} - {*lasting})])


_PAGERDUTY: Final = frozenset({"triggered", "reopened", "resolved"})
_OPSGENIE: Final = frozenset({"Create", "Close"})
_READERS: Final[Mapping[Maker, Callable[[Mapping[str, Any]], Iterator[_Found]]]] = {
    Maker.ALERTMANAGER: _prometheus,
    Maker.GRAFANA: _prometheus,
    Maker.PAGERDUTY: _pagerduty,
    Maker.OPSGENIE: _opsgenie,
    Maker.DATADOG: _datadog,
    Maker.INCIDENT_IO: _incident_io,
    Maker.CLOUDWATCH: _cloudwatch,
    Maker.OTHER: _other,
}


def _event(
    payload: Mapping[str, Any],
    identity: list[Any],
    state: object,
    subject: str = "",
    name: str = "",
) -> Event | None:
    incident = Incident.from_state(payload)
    if incident.is_empty:
        return None
    alert = digest(identity)
    own = "" if incident.is_group else incident.alert_name  # a group has all of its names
    name = _shortened(name or own or name_of(incident))
    return Event(digest([alert, state]), alert, name, is_over(payload), payload, subject)


def _shortened(name: str) -> str:
    """Return a name without secrets, at most MAX_NAME characters; one that is cut ends in a hash to stay unique."""
    name = masked(name)  # before cutting: a part of a secret doesn't look like one
    if len(name) <= MAX_NAME:
        return name
    end = f"... {digest(name)[:8]}"
    return name[: MAX_NAME - len(end)] + end


def digest(value: object) -> str:
    """Return the SHA-256 of a JSON value, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def canonical(value: object) -> bytes:
    """Return a JSON value in canonical form: keys sorted, no blanks, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
