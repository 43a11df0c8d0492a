"""Reads a state of any shape: it reports what it can't read, and goes on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_TEXT: Final = 2_000
"""Characters of a text."""

MAX_NAME: Final = 200
"""Characters of a name: an alert's, a service's, a label's."""

MAX_ITEMS: Final = 50
"""Members of a list or a mapping that are read."""

MAX_PROBLEMS: Final = 20

ALERT_KEYS: Final = ("alert_name", "alertname", "alert", "alarm_name", "AlarmName", "alarm")
"""Keys of an alert's name: our own, Prometheus', CloudWatch's."""

NAME_KEYS: Final = (*ALERT_KEYS, "name", "title", "type", "metric", "MetricName")
DETAIL_KEYS: Final = (
    "summary", "message", "description", "text", "detail", "details", "content", "error",
    "reason", "AlarmDescription", "NewStateReason", "resolution", "value",
)  # fmt: skip
"""Keys of a signal's name and text, the likeliest first."""

_MAX_BITS: Final = 1_000
"""Of a whole number; Python refuses to write very long ones."""
_NESTED: Final = ("labels", "annotations")
_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def one_line(value: object, limit: int = MAX_TEXT) -> str | None:
    """Return a scalar as one line of at most ``limit`` characters; ``None`` if it is no scalar."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return None
    # cut first: a state may hold a whole log
    text = value[: 4 * limit] if isinstance(value, str) else str(value)
    return " ".join(_UNPRINTABLE.sub(" ", text).split())[:limit].rstrip()


class StateReader:
    """Reads texts out of mappings, and reports ``problems``; a state that is no mapping is empty."""

    def __init__(self, state: object) -> None:
        self.problems: list[str] = []
        self.state = self.mapping(state, "state")

    def report(self, problem: str) -> None:
        """Add a problem, up to MAX_PROBLEMS."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def mapping(self, value: object, where: str) -> Mapping[object, object]:
        """Return a mapping as it is, nothing for ``None``; report anything else."""
        if isinstance(value, Mapping):
            return value
        if value is not None:
            self.report(f"{where}: {type(value).__name__}, wanted: a mapping")
        return {}

    def name(self, sources: Iterable[tuple[str, Mapping[object, object]]], *keys: str) -> str:
        """Return the first text under any of the keys, source after source; ``""`` if none."""
        return self.text(sources, *keys, limit=MAX_NAME)

    def text(
        self,
        sources: Iterable[tuple[str, Mapping[object, object]]],
        *keys: str,
        limit: int = MAX_TEXT,
    ) -> str:
        """Return the first text found, as :meth:`name` does, longer ones included."""
        for where, source in sources:
            for key in keys:
                if text := self._scalar(f"{where}.{key}", source.get(key), limit):
                    return text
        return ""

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts of a list in the state: each member's own, or what a mapping says."""
        found = (self._of_member(where, member) for where, member in self.members(key))
        return tuple(dict.fromkeys(text for text in found if text))

    def members(self, key: str) -> Iterator[tuple[str, object]]:
        """Return the members of a list (or the values of a mapping) with where they stand."""
        value = self.state.get(key)
        if value is None:
            return
        if isinstance(value, Mapping):
            pairs: Iterable[tuple[object, object]] = value.items()
        elif isinstance(value, Sequence | AbstractSet) and not isinstance(
            value, str | bytes | bytearray
        ):
            pairs = enumerate(value)
        else:
            pairs = ((0, value),)
        for index, member in islice(pairs, MAX_ITEMS):
            yield f"{key}[{one_line(index, 60) or '?'}]", member
        if (
            isinstance(value, Mapping | Sequence)
            and not isinstance(value, str | bytes)
            and len(value) > MAX_ITEMS
        ):
            self.report(f"{key}: {len(value)} members, the first {MAX_ITEMS} are read")

    def labels(self, value: object, where: str) -> dict[str, str]:
        """Return the labels of a mapping whose names and values are scalars."""
        labels: dict[str, str] = {}
        for key, member in islice(self.mapping(value, where).items(), MAX_ITEMS):
            name, text = one_line(key, MAX_NAME), one_line(member, MAX_NAME)
            if not name or text is None:
                self.report(f"{where}[{name or '?'}]: {type(member).__name__}, wanted: a text")
            elif text:
                labels[name] = text
        return labels

    def _scalar(self, where: str, value: object, limit: int) -> str:
        text = one_line(value, limit)
        if text is None and value is not None:
            self.report(f"{where}: {type(value).__name__}, wanted: a text")
        return text or ""

    def _of_member(self, where: str, member: object) -> str:
        if not isinstance(member, Mapping):
            return self._scalar(where, member, MAX_TEXT)
        facts = flattened(member)
        name = next((text for key in NAME_KEYS if (text := one_line(facts.get(key)))), "")
        detail = next((text for key in DETAIL_KEYS if (text := one_line(facts.get(key)))), "")
        if name or detail:
            return f"{name}: {detail}"[:MAX_TEXT] if name and detail else name or detail
        scalars = (one_line(value) for value in islice(facts.values(), MAX_ITEMS))
        text = " ".join(filter(None, scalars))[:MAX_TEXT]
        if not text:
            self.report(f"{where}: a mapping without any text")
        return text


def flattened(member: Mapping[object, object]) -> dict[object, object]:
    """Return a signal's facts with those of its labels and annotations, which it may override."""
    facts: dict[object, object] = {}
    for nested in _NESTED:
        inner = member.get(nested)
        if isinstance(inner, Mapping):
            facts.update(islice(inner.items(), MAX_ITEMS))
    facts.update(islice(member.items(), MAX_ITEMS))
    return facts
