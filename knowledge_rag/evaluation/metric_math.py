"""Evaluates CloudWatch metric math, as far as the alarms and the dashboard use it.

Numbers, ids of metrics, ``+ - * /``, comparisons, parentheses, ``IF(condition, then, else)``,
``FILL(id, value)`` and ``PERIOD(id)``. It works on one period at a time: each id has one value, and
NaN stands for a period without data, as after a division by zero. Where CloudWatch's documentation
leaves a case open (a branch of ``IF`` that is not taken and has no data), alarms must not depend on
it.
"""

from __future__ import annotations

import ast
import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    """Give a statistic of one period's samples, NaN where there are none.

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
