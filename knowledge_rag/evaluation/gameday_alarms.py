"""Which alarms would fire if a fault lasted, worked out from what the function really emitted."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Final

from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import Source, retrieval_alarms
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.evaluation.faults.model import PERMANENT, UNPROVEN
from knowledge_rag.evaluation.metric_math import aggregate, evaluate

if TYPE_CHECKING:
    from knowledge_rag.core.alarms import Alarm, Metric
    from knowledge_rag.evaluation.faults.model import Fault
    from knowledge_rag.evaluation.faults.player import Played

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


def fired_by(played: Played) -> Fired:
    """Evaluate every alarm on retrieval over a row's own records."""
    at_once, lasting = set(), set()
    for alarm in retrieval_alarms():
        queries = QUERIES_A_MINUTE * alarm.period_seconds // _MINUTE
        if alarm.breached_by(_value(alarm, played, queries)):
            lasting.add(alarm.key)
        if alarm.datapoints == 1 and alarm.breached_by(_value(alarm, played, 1)):
            at_once.add(alarm.key)
    return Fired(frozenset(at_once), frozenset(lasting))


def wanted_for(fault: Fault, reason: str = "") -> Fired:
    """Say which alarms a fault has to fire, from what is expected of it and not from its records.

    Args:
        fault: that was played.
        reason: that it was answered with, where several will do.
    """
    expected = fault.expected.given(reason)
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


def _value(alarm: Alarm, played: Played, queries: int) -> float:
    values = {
        name: aggregate(metric.statistic, list(islice(cycle(found), queries)) if found else [])
        for name, metric in alarm.metrics.items()
        for found in [_samples(metric, played)]
    }
    return evaluate(alarm.expression, values, period_seconds=alarm.period_seconds)


def _samples(metric: Metric, played: Played) -> list[float]:
    """Give a metric's sample of each call that the row made, as often as the fault was met."""
    match metric.source:
        case Source.RETRIEVAL:
            found = (record.get(metric.name, []) for record in played.metrics)
            return [float(value) for values in found for value in values]
        case Source.RETRIEVE_FUNCTION:  # what Lambda itself counts of an invocation
            counted = {
                "Invocations": 1.0,
                "Errors": float(played.crashed),
                "Throttles": 0.0,
                "Duration": played.seconds * 1000,
            }
            return [counted[metric.name]]
        case Source.RETRIEVE_LOG:  # a start that failed, found in the log by a metric filter
            failed = metric.name == telemetry.RETRIEVAL_INIT_FAILURES and played.crashed
            return [1.0] if failed else []
        case _:
            return []
