"""Reads a pasted alert, and makes its card for the page."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.channel.marks import is_web_address
from knowledge_rag.console.addresses import document_url
from knowledge_rag.orchestrator.incident import Incident, name_of
from knowledge_rag.orchestrator.links import Link, fit
from knowledge_rag.orchestrator.pagers import SUPPORTED

if TYPE_CHECKING:
    from collections.abc import Collection

_JSON: Final = re.compile(r"\s*(?:\{|\[\s*[{\[\"])")
"""The beginning of JSON; ``[FIRING:1] DiskFull`` is a title."""


def pasted_incident(text: str) -> Incident | None:
    """Return the incident whose JSON was pasted; ``None`` for a question in words.

    Raises:
        Refused: it begins like JSON, but isn't JSON or has nothing to look up.
    """
    incident = Incident.pasted_in(text)
    if incident is None and _JSON.match(text):
        raise Refused(400, _trouble(text))
    return incident


def _trouble(text: str) -> str:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return f"the pasted JSON is broken or cut off at {where}: paste all of it, or ask in words"
    except (ValueError, RecursionError):
        return "the pasted JSON can't be read: ask in words"
    return f"the pasted JSON names nothing to look up; {SUPPORTED}"


def alert_card(incident: Incident, source_files: Collection[str] = ()) -> dict[str, Any]:
    """Return the card that the page shows for a pasted incident.

    Args:
        incident: as read.
        source_files: retrieved documents; a link to one of them opens it in the console.
    """
    return {
        "name": name_of(incident),
        "readAs": incident.read_as,
        "since": incident.since,
        "alerts": [_row(one) for one in incident.alerts or (incident,)],
        "runbooks": [_runbook(link, source_files) for link in incident.links],
        "problems": list(incident.problems),
    }


def _row(alert: Incident) -> dict[str, str]:
    name = alert.alert_name or name_of(alert)
    said = next((it for it in (alert.title, alert.description, *alert.signals) if it != name), "")
    return {
        "name": name,
        "severity": alert.severity,
        "service": alert.service,
        "since": alert.since,
        "said": said,
    }


def _runbook(link: str, source_files: Collection[str]) -> dict[str, str]:
    """Return a link as written, and its target: a document if one fits it, otherwise the web."""
    shown = {"text": link}
    meant = Link.said_in(link)
    fits = {name: it for name in source_files if meant.parts and (it := fit(meant, name, ""))}
    if fits:
        source = max(sorted(fits), key=lambda name: fits[name])
        return {**shown, "source": source, "url": document_url(source)}
    return {**shown, "url": link} if is_web_address(link) else shown
