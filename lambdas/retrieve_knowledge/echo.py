"""What an agent's answer repeats of its event, made safe to send.

The service takes the action group's name, path and method as text and both sets of attributes as
maps from text to text. Only that goes back, so that the answer can always be written as JSON,
whatever an event holds.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_NAME_CHARACTERS: Final = 200
"""Cut of a name, path or method; the service's own are no longer."""

MAX_ATTRIBUTE_BYTES: Final = 16_000
"""Attributes beyond it are not repeated, the turn's before the conversation's: both together would
leave an answer no room in its 25 KB."""

_NAMES: Final = ("actionGroup", "apiPath", "httpMethod")


@dataclass(frozen=True, slots=True)
class Echo:
    """Parts of an agent's event that its answer repeats.

    Args:
        names: ``actionGroup``, ``apiPath`` and ``httpMethod``, ``""`` where the event has none.
        session_attributes: of the conversation.
        prompt_attributes: of the turn.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    session_attributes: Mapping[str, str] = field(default_factory=dict)
    prompt_attributes: Mapping[str, str] = field(default_factory=dict)


def echo_of(event: Mapping[str, Any]) -> Echo:
    """Take from an event what its answer repeats; there is none that it fails on."""
    names = {name: _clean(event.get(name))[:MAX_NAME_CHARACTERS] for name in _NAMES}
    session = _attributes(event.get("sessionAttributes"), MAX_ATTRIBUTE_BYTES)
    left = MAX_ATTRIBUTE_BYTES - wire_bytes(session)
    return Echo(names, session, _attributes(event.get("promptSessionAttributes"), left))


def wire_bytes(answer: object) -> int:
    """Count the bytes that an answer takes when Lambda's runtime has written it.

    The runtime escapes everything but ASCII up to Python 3.11 and writes UTF-8 from 3.12 on.
    """
    text = json.dumps(answer, ensure_ascii=sys.version_info < (3, 12), allow_nan=False)
    return len(text.encode())


def _attributes(value: object, most_bytes: int) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    texts = {
        _clean(name): _clean(text)
        for name, text in value.items()
        if isinstance(name, str) and isinstance(text, str)
    }
    return texts if wire_bytes(texts) <= most_bytes else {}


def _clean(value: object) -> str:
    # A lone surrogate is no character and can't be written as UTF-8.
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""
