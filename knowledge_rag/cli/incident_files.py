"""Takes an incident out of the envelopes in which alerting systems send it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import UnreadableResponse
from knowledge_rag.core.response import read_json

if TYPE_CHECKING:
    from collections.abc import Sequence

UNDERSTOOD: Final = (
    "understood are incident, signals, title, service, description; a webhook of Alertmanager; "
    "an alarm of CloudWatch, as it is or from SNS or EventBridge"
)
"""What a file of an incident may hold, for a message."""


def unwrapped(told: object) -> object:
    """Give the state that an incident is read from, whatever carried it; anything else as it is.

    Args:
        told: decoded JSON: Alertmanager's webhook or a list of its alerts, SNS's notification (or
            the event in which a function gets it), EventBridge's event, or a state already.
    """
    match told:
        case [{}, *_] as alerts:
            return {"signals": _firing(alerts)}
        case {"Records": [{"Sns": notification}, *_]}:
            return unwrapped(notification)
        case {"Type": "Notification", "Message": str() as message, **others}:
            return _of_notification(message, others.get("Subject"))
        case {"source": "aws.cloudwatch", "detail": {"alarmName": _} as alarm}:
            return _of_event(alarm)
        case {"alerts": list() as alerts, **others} if "signals" not in others:
            return _of_alertmanager(others, alerts)
        case _:
            return told


def _of_alertmanager(webhook: Mapping[object, object], alerts: Sequence[object]) -> object:
    """Take the alerts as signals, and what all have in common as the incident's own."""
    state: dict[object, object] = {**webhook, "signals": _firing(alerts)}
    for ours, theirs in (("labels", "commonLabels"), ("annotations", "commonAnnotations")):
        state.setdefault(ours, webhook.get(theirs))
    return state


def _firing(alerts: Sequence[object]) -> list[object]:
    """Leave out alerts that are over, unless all are."""
    firing = [a for a in alerts if not (isinstance(a, Mapping) and a.get("status") == "resolved")]
    return firing or list(alerts)


def _of_notification(message: str, subject: object) -> object:
    try:
        told = read_json(message)
    except UnreadableResponse:
        told = None
    if isinstance(told, Mapping | list):
        return unwrapped(told)
    return {"incident": {"title": subject, "description": message}}


def _of_event(alarm: Mapping[str, Any]) -> dict[str, object]:
    """Name an alarm's facts as SNS does."""
    facts: dict[str, object] = {"AlarmName": alarm["alarmName"]}
    match alarm:
        case {"configuration": {"description": description}}:
            facts["AlarmDescription"] = description
    return facts
