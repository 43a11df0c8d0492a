"""Reads a state of which nobody promised anything: what it can't read it reports, and goes on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_TEXT: Final = 2_000
"""Characters of one text of a state that are kept."""

MAX_NAME: Final = 200
"""Characters of a name that are kept: an alert's, a service's, a label's."""

MAX_ITEMS: Final = 50
"""Members of a list or a mapping that are looked at."""

MAX_PROBLEMS: Final = 20
"""Problems of one state that are reported."""

ALERT_KEYS: Final = ("alert_name", "alertname", "alert", "alarm_name", "AlarmName", "alarm")
"""Where an alert's name stands: our own key, Prometheus', CloudWatch's."""

NAME_KEYS: Final = (*ALERT_KEYS, "name", "title", "type", "metric", "MetricName")
DETAIL_KEYS: Final = (
    "summary", "message", "description", "text", "detail", "details", "content", "error",
    "reason", "AlarmDescription", "NewStateReason", "resolution", "value",
)  # fmt: skip
"""Where a signal says what it is about, and what it says; the first ones count most."""

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
    """Reads texts out of mappings; ``problems`` tells what it could not read.

    Args:
        state: of any type; what is no mapping reads as empty.
    """

    def __init__(self, state: object) -> None:
        self.problems: list[str] = []
        self.state = self.mapping(state, "state")

    def report(self, problem: str) -> None:
        """Note what could not be read; from MAX_PROBLEMS on nothing is noted."""
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
        """Return the first text found under any of the keys, source after source; ``""`` if none."""
        return self._first(sources, keys, MAX_NAME)

    def text(self, sources: Iterable[tuple[str, Mapping[object, object]]], *keys: str) -> str:
        """Return the first text found, as :meth:`name` does, longer ones included."""
        return self._first(sources, keys, MAX_TEXT)

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
        if isinstance(value, Mapping | Sequence) and not isinstance(value, str | bytes):
            self._report_rest(key, len(value))

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

    def _report_rest(self, key: str, length: int) -> None:
        if length > MAX_ITEMS:
            self.report(f"{key}: {length} members, the first {MAX_ITEMS} are read")

    def _first(
        self,
        sources: Iterable[tuple[str, Mapping[object, object]]],
        keys: tuple[str, ...],
        limit: int,
    ) -> str:
        for where, source in sources:
            for key in keys:
                if text := self._scalar(f"{where}.{key}", source.get(key), limit):
                    return text
        return ""

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
