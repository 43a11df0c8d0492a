"""The figures by which alerts and alarms fire, as code defines them: Prometheus, CloudFormation and Terraform."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_rag.drift.figures import MAX_EXPRESSION, Figures, figures_of, joined, seconds_of
from knowledge_rag.drift.shell import HOLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from knowledge_rag.extract.yaml_nodes import Node

ALARM_KEYS: Final[Mapping[str, str]] = {
    "Period": "period", "EvaluationPeriods": "evaluation_periods",
    "DatapointsToAlarm": "datapoints_to_alarm", "Threshold": "threshold", "Expression": "expression",
}  # fmt: skip
"""Properties of a CloudWatch alarm that have its figures, and what Terraform calls them."""
MAX_FIGURES: Final = 500
"""Of all definitions of one name that are compared."""
_COUNTS: Final = ("evaluation_periods", "datapoints_to_alarm")
_PLAIN: Final = re.compile(r"[\W_]+")


class Alert(NamedTuple):
    """A definition.

    Args:
        name: of the alert or alarm; HOLE stands for what a deployment fills in.
        figures: ``None`` if a deployment fills one in.
        is_alarm: whether it is one of CloudWatch, whose names begin with the deployment's.
    """

    name: str
    figures: Figures | None
    is_alarm: bool = False

    def to_wire(self) -> list[Any]:
        """Return it as JSON has it."""
        return [self.name, self.figures and astuple(self.figures), self.is_alarm]

    @classmethod
    def of_wire(cls, wire: list[Any]) -> Alert:
        """Return what was made JSON."""
        name, of, is_alarm = wire
        return cls(name, of and Figures(*map(tuple, of)), is_alarm)


def of_rule(name: str, expression: str, wait: str) -> Alert:
    """Return a rule of Prometheus, by its ``expr`` and ``for``."""
    seconds = seconds_of(wait or "0")
    if HOLE in expression or seconds is None or len(expression) > MAX_EXPRESSION:
        return Alert(name, None)
    return Alert(name, figures_of(expression, seconds))


def of_alarm(name: str, properties: Node) -> Alert:
    """Return an alarm of CloudFormation."""
    found: dict[str, list[str]] = defaultdict(list)
    if not _gather(properties, found):
        return Alert(name, None, is_alarm=True)
    return Alert(name, of_values(found), is_alarm=True)


def _gather(node: Node, found: dict[str, list[str]]) -> bool:
    """Collect an alarm's figures, those of its metrics included; whether all are given."""
    for key, value in node.entries.items():
        if key in ALARM_KEYS:
            if value.kind != "scalar" or value.tag or value.text is None:
                return False
            if len(value.text) > MAX_EXPRESSION:
                return False
            found[ALARM_KEYS[key]].append(value.text)
        elif key in ("Metrics", "MetricStat") and not all(_gather(it, found) for it in (value, *value.items)):  # fmt: skip
            return False
    return True


def of_values(values: Mapping[str, Iterable[str]]) -> Figures:
    """Return the figures of an alarm: its numbers, and the time that its periods take together."""
    found = {key: joined(map(figures_of, texts)) for key, texts in values.items()}
    counts = {1.0}.union(*(found[key].numbers for key in _COUNTS if key in found))
    periods = found.pop("period", Figures()).numbers
    spans = tuple(sorted({period * count for period in periods for count in counts}))
    return joined([Figures((), spans), *found.values()])


class Alerts:
    """Alerts and alarms by the names that headings and sentences may give them."""

    def __init__(self, files: Mapping[str, Iterable[Alert]]) -> None:
        self._by_name: dict[str, list[tuple[str, Alert]]] = defaultdict(list)
        for file, alerts in files.items():
            every = list(alerts)
            own = [it.name for it in every if it.is_alarm]
            prefix = os.path.commonprefix(own) if len(own) > 1 else ""  # noqa: RUF071 - cut at a mark below
            begins = max(prefix.rfind(mark) for mark in "-_./:") + 1
            for alert in every:
                self._by_name[plain(alert.name.rpartition(HOLE)[2])].append((file, alert))
                if alert.is_alarm and begins:
                    self._by_name[plain(alert.name[begins:])].append((file, alert))
        self._by_name.pop("", None)
        self._known: dict[str, tuple[str, str, Figures] | None] = {}

    def get(self, name: str) -> tuple[str, str, Figures] | None:
        """Return name, file and figures of what is defined by a name; ``None`` if none are known.

        None are, either, where definitions have more than MAX_FIGURES: any figure might be one of them.
        """
        key = plain(name)
        if key not in self._known:
            self._known[key] = self._joined(self._by_name.get(key, []))
        return self._known[key]

    @staticmethod
    def _joined(found: list[tuple[str, Alert]]) -> tuple[str, str, Figures] | None:
        figures = [alert.figures for _, alert in found if alert.figures]
        if not found or len(figures) < len(found) or sum(it.count for it in figures) > MAX_FIGURES:
            return None
        file, alert = found[0]
        return alert.name, file, joined(figures)

    def defines(self, name: str) -> bool:
        """Whether an alert or alarm has a name."""
        return plain(name) in self._by_name


def plain(name: str) -> str:
    """Return a name's letters and digits, by which a heading and a definition are compared.

    >>> plain("CPU - High") == plain("cpu-high")
    True
    """
    return _PLAIN.sub("", name.replace(HOLE, "")).casefold()
