"""Computes the alarms that a lasting fault would fire, from the emitted metrics.

Alarms are CloudWatch metric math, evaluated for one period at a time: each id has one value, and NaN
represents a period without data, like a division by zero. Where CloudWatch's documentation leaves a
case open (the other branch of ``IF``, without data), alarms must not depend on it.
"""

from __future__ import annotations

import ast
import math
import operator
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import Source, retrieval_alarms
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.evaluation.faults.scenario import PERMANENT, UNPROVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowledge_rag.core.alarms import Alarm, Metric
    from knowledge_rag.evaluation.faults.run import FaultResult
    from knowledge_rag.evaluation.faults.scenario import Fault

NO_DATA: Final = math.nan
"""The value of a period without data; never greater than anything, so it never breaches."""


_OPERATIONS: Final[Mapping[type[ast.AST], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_STATISTICS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "Sum": math.fsum,
    "Average": fmean,
    "Minimum": min,
    "Maximum": max,
}


def evaluate(expression: str, values: Mapping[str, float], *, period_seconds: float = 300) -> float:
    """Compute an expression over one period; comparisons return 1 or 0.

    Args:
        expression: numbers, ids, ``+ - * /``, comparisons, ``IF(condition, then, else)``,
            ``FILL(id, value)`` and ``PERIOD(id)``, in Python's syntax.
        values: id -> the metric's statistic over the period; NaN for none.
        period_seconds: length of the period, for ``PERIOD``.

    Raises:
        ValueError: it is outside the subset, or names an id without a value.
        SyntaxError: it isn't an expression.
    """

    def value(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name) if name in values:
                return float(values[name])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case (
                ast.BinOp(left=left, op=sign, right=right)
                | ast.Compare(left=left, ops=[sign], comparators=[right])
            ) if type(sign) in _OPERATIONS:
                return _applied(_OPERATIONS[type(sign)], value(left), value(right))
            case ast.Call(func=ast.Name(id=function), args=arguments):
                return _called(
                    function, [value(argument) for argument in arguments], period_seconds
                )
        raise ValueError(f"{ast.unparse(node)[:60]!r} is not supported metric math")

    return value(ast.parse(expression.strip(), mode="eval").body)


def _called(function: str, given: list[float], period_seconds: float) -> float:
    match function, given:
        case "IF", [condition, then, otherwise]:
            return condition if math.isnan(condition) else (then if condition else otherwise)
        case "FILL", [metric, instead]:
            return instead if math.isnan(metric) else metric
        case "PERIOD", [_]:
            return period_seconds
    raise ValueError(f"{function} of {len(given)} is not supported metric math")


def _applied(operation: Callable[[float, float], float], left: float, right: float) -> float:
    if math.isnan(left) or math.isnan(right):
        return NO_DATA
    try:
        return float(operation(left, right))
    except ZeroDivisionError:
        return NO_DATA


def aggregate(statistic: str, samples: Sequence[float]) -> float:
    """Return a statistic of one period's samples, in any order; NaN if there are none.

    Percentiles, such as ``p95``, are interpolated between the two nearest ranks; CloudWatch's buckets give nearly the
    same.

    Raises:
        ValueError: the statistic is unknown.
    """
    if not samples:
        return NO_DATA
    if statistic in _STATISTICS:
        return float(_STATISTICS[statistic](samples))
    return float(np.percentile(samples, float(statistic.removeprefix("p"))))


QUERIES_A_MINUTE: Final = 6
"""Queries during the lasting fault: two incidents that ask three times each."""

_MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class Fired:
    """Keys of the alarms that fire on the first call, and of those that fire if the fault lasts."""

    at_once: frozenset[str] = frozenset()
    lasting: frozenset[str] = frozenset()


def fired_by(result: FaultResult) -> Fired:
    """Evaluate every alarm on retrieval with a row's own records."""
    at_once, lasting = set(), set()
    for alarm in retrieval_alarms():
        queries = QUERIES_A_MINUTE * alarm.period_seconds // _MINUTE
        if alarm.breached_by(_alarm_value(alarm, result, queries)):
            lasting.add(alarm.key)
        if alarm.datapoints == 1 and alarm.breached_by(_alarm_value(alarm, result, 1)):
            at_once.add(alarm.key)
    return Fired(frozenset(at_once), frozenset(lasting))


def wanted_for(fault: Fault) -> Fired:
    """Return the alarms that a fault has to fire, from its expected behaviour and not from its records."""
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
        lasting |= {"outage", "outage-slow", "error-rate", "error-rate-day"}
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
    """Return a metric's sample for each call of the row, as often as the fault occurred."""
    match metric.source:
        case Source.RETRIEVAL:
            found = (record.get(metric.name, []) for record in result.metrics)
            return [float(value) for values in found for value in values]
        case Source.RETRIEVE_FUNCTION:  # Lambda's own count of an invocation
            counted = {
                "Invocations": 1.0,
                "Errors": float(result.crashed),
                "Throttles": 0.0,
                "Duration": result.seconds * 1000,
            }
            return [counted[metric.name]]
        case Source.RETRIEVE_LOG:  # a failed start, found in the log by a metric filter
            failed = metric.name == telemetry.RETRIEVAL_INIT_FAILURES and result.crashed
            return [1.0] if failed else []
        case _:
            return []
