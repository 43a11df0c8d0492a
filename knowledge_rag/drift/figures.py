"""Durations and shares: those that a sentence states of an alert, and those of the alert's definition in code.

Definitions are rules of Prometheus, and alarms of CloudFormation and Terraform.
"""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_rag.drift.shell import HOLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from knowledge_rag.extract.yaml_nodes import Node

MAX_EXPRESSION: Final = 20_000
"""Characters of an expression whose figures are read."""
_SECONDS: Final = {
    "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_536_000,
}  # fmt: skip
_WORDS: Final = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "sixty": 60,
}  # fmt: skip
_NUMBER: Final = rf"(?:\d+(?:\.\d+)?|(?:{'|'.join(_WORDS)})\b)"
_UNIT: Final = (
    r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)\b"
)
_LENGTH: Final = rf"{_NUMBER}[ -]?{_UNIT}"
_QUANTITY: Final = re.compile(
    rf"(?<![\w.])(?:(?P<share>\d+(?:\.\d+)?) ?(?:%|per ?cent\b)|{_LENGTH}(?:(?:,| and|, and)?\s?{_LENGTH})*)"
)
_ONE_LENGTH: Final = re.compile(rf"({_NUMBER})[ -]?({_UNIT})")
_STRING: Final = re.compile(r"\"(?:\\.|[^\"\\])*+(?P<end>\")?|'(?:\\.|[^'\\])*+(?P<close>')?")
_WINDOW: Final = re.compile(r"(?<!\d)(?:\d++(?:ms|[smhdwy]))+(?![a-z])")
_PLAIN: Final = r"(?<![\w.:])\d+(?:\.\d+)?(?:[eE]\+?\d+)?(?![\w.])"
_PRODUCT: Final = re.compile(rf"{_PLAIN}(?:\s*\*\s*{_PLAIN})+")


class Quantity(NamedTuple):
    """A duration or a share in a text.

    Args:
        start: offset in the text; ``end`` is exclusive.
        seconds: of a duration, else 0.
        parts: the number and seconds of each part of a duration: of "1 hour and 30 minutes", (1, 3600) and (30, 1800).
        percent: of a share, else 0.
    """

    start: int
    end: int
    seconds: float = 0.0
    parts: tuple[tuple[float, float], ...] = ()
    percent: float = 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of an alert's or alarm's definition.

    Args:
        waits: seconds for which its condition has to hold.
        spans: seconds of the other durations.
        numbers: without a unit, products of them included.
    """

    waits: tuple[float, ...] = ()
    spans: tuple[float, ...] = ()
    numbers: tuple[float, ...] = ()

    @property
    def count(self) -> int:
        """Return how many there are."""
        return len(self.waits) + len(self.spans) + len(self.numbers)

    def limits(self, quantity: Quantity) -> bool:
        """Whether the condition has a figure of this kind, and doesn't only ask whether something is so."""
        numbers = any(it not in (0, 1) for it in self.numbers)
        return numbers or bool(quantity.seconds and self.spans)

    def has(self, quantity: Quantity) -> bool:
        """Whether a quantity is one of them, in any unit, or the sum of a wait and another."""
        if not quantity.seconds:
            if quantity.percent in (0, 100):  # all, or none: `== 0`, `> 1`, or a factor
                return True
            shares = (quantity.percent, 100 - quantity.percent)
            return any(
                same(it * factor, share)
                for it in self.numbers
                for factor in (1, 100)
                for share in shares
            )
        others = (*self.spans, *self.numbers)
        known = (*self.waits, *others, *(wait + it for wait in self.waits for it in others))
        alone = [it for it in self.numbers if it > 1]
        return all(
            any(same(it, seconds) or same(it, seconds * 1000) for it in known)
            or any(same(it, number) for it in alone)
            for number, seconds in quantity.parts
        ) or any(same(it, quantity.seconds) for it in known)


def same(one: float, other: float) -> bool:
    """Whether two figures are the same but for rounding."""
    return math.isclose(one, other, rel_tol=1e-6)


def quantities_in(text: str) -> Iterator[Quantity]:
    """Find durations (``15 minutes``, ``1h30m``) and shares (``5 %``) in a sentence."""
    for found in _QUANTITY.finditer(text):
        if found["share"]:
            yield Quantity(found.start(), found.end(), percent=float(found["share"]))
            continue
        parts = tuple(
            (number, number * _SECONDS["ms" if unit[:3] in ("ms", "mil") else unit[0]])
            for number, unit in (
                (float(_WORDS.get(one[1]) or one[1]), one[2])
                for one in _ONE_LENGTH.finditer(found[0])
            )
        )
        seconds = sum(it for _, it in parts)
        if seconds:
            yield Quantity(found.start(), found.end(), seconds, parts)


def seconds_of(text: str) -> float | None:
    """Return the seconds of a duration as Prometheus writes it, ``None`` if it is none.

    >>> seconds_of("1h30m"), seconds_of("soon")
    (5400.0, None)
    """
    text = text.strip()
    if text == "0":
        return 0.0
    return _seconds(text) if _WINDOW.fullmatch(text) else None


def _seconds(window: str) -> float:
    parts = re.findall(r"(\d+)(ms|[smhdwy])", window)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def figures_of(expression: str, wait: float = 0.0) -> Figures:
    """Return the figures of an expression: windows, also in metrics' names, numbers, and products of them."""
    text = _STRING.sub(_unquoted, expression)
    spans = {_seconds(window[0]) for window in _WINDOW.finditer(text)}
    numbers = {float(number[0]) for number in re.finditer(_PLAIN, text)}
    numbers |= {
        math.prod(map(float, re.findall(_PLAIN, product[0]))) for product in _PRODUCT.finditer(text)
    }
    return Figures((wait,) if wait else (), tuple(sorted(spans)), tuple(sorted(numbers)))


def _unquoted(string: re.Match[str]) -> str:
    """Return what counts of a string: a number, and all of one that isn't closed."""
    if not string["end"] and not string["close"]:
        return string[0]
    inner = string[0][1:-1]
    return inner if re.fullmatch(r"[\d.]+", inner) else ""


def joined(figures: Iterable[Figures]) -> Figures:
    """Return the figures of several definitions as one's."""
    every = list(figures)
    return Figures(
        tuple(sorted({it for one in every for it in one.waits})),
        tuple(sorted({it for one in every for it in one.spans})),
        tuple(sorted({it for one in every for it in one.numbers})),
    )


# definitions of alerts

ALARM_KEYS: Final[Mapping[str, str]] = {
    "Period": "period", "EvaluationPeriods": "evaluation_periods",
    "DatapointsToAlarm": "datapoints_to_alarm", "Threshold": "threshold", "Expression": "expression",
}  # fmt: skip
"""Properties of a CloudWatch alarm that have its figures, and what Terraform calls them."""
MAX_FIGURES: Final = 500
"""Of all definitions of one name that are compared."""
_COUNTS: Final = ("evaluation_periods", "datapoints_to_alarm")
_UNLETTERED: Final = re.compile(r"[\W_]+")


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
    is_known = _gather(properties, found)
    return Alert(name, of_values(found) if is_known else None, is_alarm=True)


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
    return _UNLETTERED.sub("", name.replace(HOLE, "")).casefold()
