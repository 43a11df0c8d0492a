"""Which alarms would fire if a fault lasted, worked out from the metrics that the function emitted.

Alarms are CloudWatch metric math: numbers, ids of metrics, ``+ - * /``, comparisons, parentheses,
``IF(condition, then, else)``, ``FILL(id, value)`` and ``PERIOD(id)``. It is evaluated for one period at
a time: each id has one value, and NaN stands for a period without data, as after a division by zero.
Where CloudWatch's documentation leaves a case open (a branch of ``IF`` that is not taken and has no
data), alarms must not depend on it.
"""

from __future__ import annotations

import ast
import math
import operator
from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Final

from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import Source, retrieval_alarms
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.evaluation.faults.model import PERMANENT, UNPROVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowledge_rag.core.alarms import Alarm, Metric
    from knowledge_rag.evaluation.faults.model import Fault
    from knowledge_rag.evaluation.faults.run import FaultResult

NO_DATA: Final = math.nan
"""The value of a period without data; compares as over nothing, so it never breaches."""

MAX_EXPRESSION_CHARACTERS: Final = 1024
"""Longest expression that is read; CloudWatch's own limit is 2048."""


class MetricMathError(ValueError):
    """An expression outside the subset, or an id without a value; the message says which."""


_ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[float, float], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass(frozen=True, slots=True)
class _Period:
    """What an expression is evaluated over: each id's value, and the length in seconds."""

    values: Mapping[str, float]
    seconds: float

    def metric(self, name: str) -> float:
        if name not in self.values:
            given = ", ".join(self.values) or "none"
            raise MetricMathError(f"{name!r} has no value; given are {given}")
        return float(self.values[name])


def evaluate(expression: str, values: Mapping[str, float], *, period_seconds: float = 300) -> float:
    """Compute an expression over one period.

    Args:
        expression: metric math, whose syntax is Python's as far as the subset goes.
        values: id -> the metric's statistic over the period; NaN for none.
        period_seconds: length of the period, for ``PERIOD``.

    Returns:
        The value; comparisons give 1 or 0, NaN stands for no data.

    Raises:
        MetricMathError: it is outside the subset, or names an id that has no value.
    """
    if len(expression) > MAX_EXPRESSION_CHARACTERS:
        raise MetricMathError(f"longer than {MAX_EXPRESSION_CHARACTERS} characters")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        return _value(tree.body, _Period(values, period_seconds))
    except MetricMathError as error:
        raise MetricMathError(f"{expression[:80]!r}: {error}") from None
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise MetricMathError(f"{expression[:80]!r} is no metric math: {error}") from error


def _value(node: ast.expr, period: _Period) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id=name):
            return period.metric(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, period)
        case ast.BinOp(op=sign) if type(sign) in _ARITHMETIC:
            left, right = _value(node.left, period), _value(node.right, period)
            return _arithmetic(_ARITHMETIC[type(sign)], left, right)
        case ast.Compare(ops=[sign], comparators=[other]) if type(sign) in _COMPARISONS:
            left, right = _value(node.left, period), _value(other, period)
            return _compared(_COMPARISONS[type(sign)], left, right)
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            return _call(name, node, period)
        case _:
            raise _unsupported(node)


def _call(name: str, node: ast.Call, period: _Period) -> float:
    match name, node.args:
        case "IF", [condition, then, otherwise]:
            chosen, other = _value(then, period), _value(otherwise, period)
            decision = _value(condition, period)
            return decision if math.isnan(decision) else chosen if decision else other
        case "FILL", [ast.Name(id=metric), filler]:
            value, instead = period.metric(metric), _value(filler, period)
            return instead if math.isnan(value) else value
        case "PERIOD", [ast.Name(id=metric)]:
            period.metric(metric)
            return period.seconds
        case _:
            raise _unsupported(node)


def _unsupported(node: ast.expr) -> MetricMathError:
    return MetricMathError(
        f"{ast.unparse(node)[:60]!r} is not supported: use numbers, ids, + - * /, one comparison, "
        "IF(condition, then, else), FILL(id, value), PERIOD(id)"
    )


def _arithmetic(apply: Callable[[float, float], float], left: float, right: float) -> float:
    try:
        return apply(left, right)
    except ZeroDivisionError:
        return NO_DATA


def _compared(apply: Callable[[float, float], bool], left: float, right: float) -> float:
    if math.isnan(left) or math.isnan(right):
        return NO_DATA
    return float(apply(left, right))


def aggregate(statistic: str, samples: Sequence[float]) -> float:
    """Return a statistic of one period's samples, NaN where there are none.

    Args:
        statistic: ``Sum``, ``Average``, ``Minimum``, ``Maximum``, ``SampleCount`` or ``p0``..``p100``.
        samples: in any order.

    Raises:
        MetricMathError: it is another statistic.
    """
    if not samples:
        return NO_DATA
    simple: dict[str, Callable[[], float]] = {
        "Sum": lambda: math.fsum(samples),
        "Average": lambda: math.fsum(samples) / len(samples),
        "Minimum": lambda: min(samples),
        "Maximum": lambda: max(samples),
        "SampleCount": lambda: float(len(samples)),
    }
    if statistic in simple:
        return simple[statistic]()
    return _percentile(statistic, sorted(samples))


def _percentile(statistic: str, ordered: Sequence[float]) -> float:
    """Interpolate between the two nearest ranks; CloudWatch keeps buckets and is close to it."""
    try:
        percent = float(statistic.removeprefix("p")) if statistic.startswith("p") else NO_DATA
    except ValueError:
        percent = NO_DATA
    if not 0 <= percent <= 100:
        raise MetricMathError(f"{statistic!r} is no statistic: use Sum, Average, p95 and the like")
    position = percent / 100 * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


QUERIES_A_MINUTE: Final = 6
"""How often the lasting fault is met: two incidents that ask three times each."""

_MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class Fired:
    """Keys of alarms.

    Args:
        at_once: fire on the first call that meets the fault.
        lasting: fire once the fault has lasted for an alarm's periods; ``at_once`` included.
    """

    at_once: frozenset[str] = frozenset()
    lasting: frozenset[str] = frozenset()


def fired_by(result: FaultResult) -> Fired:
    """Evaluate every alarm on retrieval over a row's own records."""
    at_once, lasting = set(), set()
    for alarm in retrieval_alarms():
        queries = QUERIES_A_MINUTE * alarm.period_seconds // _MINUTE
        if alarm.breached_by(_alarm_value(alarm, result, queries)):
            lasting.add(alarm.key)
        if alarm.datapoints == 1 and alarm.breached_by(_alarm_value(alarm, result, 1)):
            at_once.add(alarm.key)
    return Fired(frozenset(at_once), frozenset(lasting))


def wanted_for(fault: Fault) -> Fired:
    """Return the alarms that a fault has to fire, from what is expected of it and not from its records."""
    expected = fault.expected
    if fault.crashes:
        crash = frozenset({"function-errors", "init-failures"})
        return Fired(crash, crash)
    at_once: set[str] = set()
    if expected.reason in PERMANENT:
        at_once.add("permanent-errors")
    if expected.reason is Reason.GUARDRAIL:
        at_once.add("guardrail-interventions")
    if any(reason in UNPROVEN for reason in expected.dropped or ()):
        at_once.add("dropped-results")
    lasting = set(at_once)
    if expected.status is Status.DEGRADED:
        lasting |= {"outage", "error-rate"}
    if expected.reason is Reason.TIMEOUT:
        lasting.add("timeouts")
    return Fired(frozenset(at_once), frozenset(lasting))


def _alarm_value(alarm: Alarm, result: FaultResult, queries: int) -> float:
    values = {
        name: aggregate(metric.statistic, list(islice(cycle(found), queries)) if found else [])
        for name, metric in alarm.metrics.items()
        for found in [_samples(metric, result)]
    }
    return evaluate(alarm.expression, values, period_seconds=alarm.period_seconds)


def _samples(metric: Metric, result: FaultResult) -> list[float]:
    """Return a metric's sample of each call that the row made, as often as the fault was met."""
    match metric.source:
        case Source.RETRIEVAL:
            found = (record.get(metric.name, []) for record in result.metrics)
            return [float(value) for values in found for value in values]
        case Source.RETRIEVE_FUNCTION:  # what Lambda itself counts of an invocation
            counted = {
                "Invocations": 1.0,
                "Errors": float(result.crashed),
                "Throttles": 0.0,
                "Duration": result.seconds * 1000,
            }
            return [counted[metric.name]]
        case Source.RETRIEVE_LOG:  # a start that failed, found in the log by a metric filter
            failed = metric.name == telemetry.RETRIEVAL_INIT_FAILURES and result.crashed
            return [1.0] if failed else []
        case _:
            return []
