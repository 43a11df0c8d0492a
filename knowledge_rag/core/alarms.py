"""The alarms as data, shared by the stack and ``gameday``.

An alarm is a CloudWatch metric-math expression over named metrics, with a bound on its value. Rates need a
minimum number of samples, so that one failed query at night isn't 100 %. At one query an hour no short period
has enough, so each rate also has an alarm over a day. No data means no queries, which is no fault, so missing
data fires only the canary's alarm: the canary asks every five minutes. ``docs/operations/alarms.md`` has a
section for each key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from knowledge_rag.core import telemetry

if TYPE_CHECKING:
    from collections.abc import Mapping


class Severity(StrEnum):
    """How urgent an alarm is: a warning can wait until morning, an alarm can't."""

    WARNING = "warning"
    ALARM = "alarm"


class Source(StrEnum):
    """The source of a metric, and the dimension that identifies it."""

    RETRIEVAL = "retrieval"
    """EMF of ``retrieve_knowledge``: our namespace, dimension ``service``."""
    CHUNKING = "chunking"
    """EMF of ``chunk_documents``: our namespace, dimension ``service``."""
    INGESTION = "ingestion"
    """EMF of ``start_ingestion``: our namespace, dimension ``service``."""
    RETRIEVE_FUNCTION = "retrieve_function"
    """AWS/Lambda, dimension ``FunctionName`` of ``retrieve_knowledge``."""
    CHUNK_FUNCTION = "chunk_function"
    """AWS/Lambda, dimension ``FunctionName`` of ``chunk_documents``."""
    INGESTION_FUNCTION = "ingestion_function"
    """AWS/Lambda, dimension ``FunctionName`` of ``start_ingestion``."""
    CHANGE_RULE = "change_rule"
    """AWS/Events, dimension ``RuleName`` of the rule that turns changes of documents into messages."""
    DEAD_LETTERS = "dead_letters"
    """AWS/SQS, dimension ``QueueName`` of the dead-letter queue for document changes."""
    ADVICE = "advice"
    """EMF of ``advise_incident``: our namespace, dimension ``service``."""
    ADVICE_FUNCTION = "advice_function"
    """AWS/Lambda, dimension ``FunctionName`` of ``advise_incident``."""
    ADVICE_RULE = "advice_rule"
    """AWS/Events, dimension ``RuleName`` of the rule that turns alarms into messages."""
    ADVICE_DEAD_LETTERS = "advice_dead_letters"
    """AWS/SQS, dimension ``QueueName`` of the dead-letter queue for alerts."""
    GATEWAY = "gateway"
    """AWS/Bedrock-AgentCore, by the dimensions ``Operation``, ``Protocol`` and ``Resource`` of the gateway's
    calls as aws-cdk-lib's own gateway names them."""
    RETRIEVE_LOG = "retrieve_log"
    """Metric filters on Lambda's own log lines of ``retrieve_knowledge``: a namespace per deployment,
    no dimension, since a log metric can only have dimensions that its events contain."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of an expression, named as in CloudWatch; a statistic may be a percentile such as ``p95``."""

    name: str
    statistic: str = "Sum"
    source: Source = Source.RETRIEVAL


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The bounds that a deployment may set; the defaults are the requirements'.

    Args:
        latency_p95_ms: milliseconds of the function's run time, its 95th percentile.
        error_rate_percent: degraded queries as a share of all queries, 0..100.
        zero_result_warning_percent: successful queries without results, 0..100.
        zero_result_alarm_percent: the same, at the alarm level.
        timeouts: queries given up within five minutes.
        min_samples: queries in a period below which its rate is ignored.
    """

    latency_p95_ms: int = 2000
    error_rate_percent: float = 5
    zero_result_warning_percent: float = 20
    zero_result_alarm_percent: float = 50
    timeouts: int = 3
    min_samples: int = 10


MINUTE: Final = 60
FIVE_MINUTES: Final = 5 * MINUTE
QUARTER_HOUR: Final = 15 * MINUTE
SIX_HOURS: Final = 6 * 60 * MINUTE
DAY: Final = 4 * SIX_HOURS


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm; it fires when ``value > threshold`` in ``datapoints`` of ``periods`` periods.

    By default: the first occurrence of one metric, ``m``, in five minutes.

    Args:
        key: its name without the deployment's prefix, lower case with hyphens; also the name of its section in
        ``docs/operations/alarms.md``.
        severity: how urgent it is.
        metrics: id in the expression -> metric; ids are lower case.
        summary: its meaning, in one sentence.
        action: the first thing to do, in one sentence.
        expression: metric math over the ids (``IF``, ``+ - * /``, comparisons); a bare id for a single
        metric.
        threshold: the highest value that is still fine.
        period_seconds: length of one period, seconds.
        periods: how many of the last periods count.
        datapoints: how many of them must be over the threshold.
        missing_breaches: whether a period without data counts as over the threshold.
    """

    key: str
    severity: Severity
    metrics: Mapping[str, Metric]
    summary: str
    action: str
    expression: str = "m"
    threshold: float = 0
    period_seconds: int = FIVE_MINUTES
    periods: int = 1
    datapoints: int = 1
    missing_breaches: bool = False

    def over_a_day(self, *, summary: str, action: str) -> Alarm:
        """Return the same rule over a day, as a warning, for traffic too low to fill a short period."""
        return replace(
            self,
            key=f"{self.key}-day",
            severity=Severity.WARNING,
            period_seconds=DAY,
            periods=1,
            datapoints=1,
            summary=summary,
            action=action,
        )

    def breached_by(self, value: float) -> bool:
        """Return whether one period's value is over the threshold; NaN, for no data, never is."""
        return value > self.threshold


QUERIES_OF_AN_INCIDENT: Final = 3
"""Queries that one incident may make: if all of them fail, somebody got no answer."""

_COUNT: Final = Metric(telemetry.RETRIEVAL_COUNT)
_ERRORS: Final = Metric(telemetry.RETRIEVAL_ERRORS)


def retrieval_alarms(thresholds: Thresholds = Thresholds()) -> tuple[Alarm, ...]:
    """Return the alarms on questions and answers, most urgent first."""
    return (*_unanswered(thresholds), *_function(thresholds), *_quality(thresholds))


def _unanswered(thresholds: Thresholds) -> tuple[Alarm, ...]:
    error_rate = Alarm(
        "error-rate",
        Severity.ALARM,
        {"n": _COUNT, "e": _ERRORS},
        expression=f"IF(n >= {thresholds.min_samples}, 100 * e / n, 0)",
        threshold=thresholds.error_rate_percent,
        periods=3,
        datapoints=2,
        summary=f"More than {thresholds.error_rate_percent:g} % of queries go unanswered.",
        action="Look at the reasons of degradation on the dashboard; the most frequent one "
        "names the cause.",
    )
    return (
        Alarm(
            "permanent-errors",
            Severity.ALARM,
            {"m": Metric(telemetry.RETRIEVAL_PERMANENT_ERRORS)},
            period_seconds=MINUTE,
            summary="A query failed for a reason that no retry fixes: access or configuration.",
            action="Read reason and code of the last degraded query in the function's log, and undo "
            "the last change of roles, settings or knowledge base.",
        ),
        Alarm(
            "outage",
            Severity.ALARM,
            {"n": _COUNT, "e": _ERRORS},
            expression=f"IF(n >= {QUERIES_OF_AN_INCIDENT}, e >= n, 0)",
            summary="Every query in five minutes went unanswered.",
            action="Tell whoever is on an incident to open the runbooks by hand, then look at the "
            "reasons of degradation on the dashboard.",
        ),
        Alarm(
            "outage-slow",
            Severity.ALARM,
            {"n": _COUNT, "e": _ERRORS},
            expression="IF(n >= 2, e >= n, 0)",
            period_seconds=SIX_HOURS,
            summary="Every query in six hours went unanswered, two or more.",
            action="As for outage: open the runbooks by hand, then look at the reasons of "
            "degradation on the dashboard.",
        ),
        error_rate,
        error_rate.over_a_day(
            summary=f"More than {thresholds.error_rate_percent:g} % of a day's queries went unanswered.",
            action="Compare the day's reasons of degradation on the dashboard: a few at the same "
            "hour point to a store that sleeps or a quota.",
        ),
        Alarm(
            "timeouts",
            Severity.ALARM,
            {"m": Metric(telemetry.RETRIEVAL_TIMEOUTS)},
            threshold=thresholds.timeouts,
            summary=f"More than {thresholds.timeouts} queries were given up within five minutes.",
            action="Look whether the vector store has capacity: an idle one takes 10 to 30 seconds "
            "to come back.",
        ),
    )


def _function(thresholds: Thresholds) -> tuple[Alarm, ...]:
    """Alarms on problems that the retrieval function can't report itself."""
    duration = Metric("Duration", "p95", Source.RETRIEVE_FUNCTION)
    invocations = Metric("Invocations", "Sum", Source.RETRIEVE_FUNCTION)
    latency = Alarm(
        "latency-p95",
        Severity.ALARM,
        {"n": invocations, "d": duration},
        expression=f"IF(n >= {thresholds.min_samples}, d, 0)",
        threshold=thresholds.latency_p95_ms,
        periods=3,
        datapoints=2,
        summary=f"One call in twenty runs longer than {thresholds.latency_p95_ms} ms, so the "
        "deadline is not kept.",
        action="Compare the function's duration with the latency of answered queries: what "
        "lies between them is the function's own time.",
    )
    return (
        Alarm(
            "function-errors",
            Severity.ALARM,
            {"m": Metric("Errors", "Sum", Source.RETRIEVE_FUNCTION)},
            period_seconds=MINUTE,
            summary="The retrieval function crashed or was killed; its own code answers every fault.",
            action="Read the last lines of the function's log before the error.",
        ),
        Alarm(
            "init-failures",
            Severity.ALARM,
            {"m": Metric(telemetry.RETRIEVAL_INIT_FAILURES, "Sum", Source.RETRIEVE_LOG)},
            period_seconds=MINUTE,
            summary="The retrieval function could not start or be restored, so it emits no metrics.",
            action="Deploy the commit before, then read the error in the log.",
        ),
        Alarm(
            "throttles",
            Severity.ALARM,
            {"m": Metric("Throttles", "Sum", Source.RETRIEVE_FUNCTION)},
            summary="Lambda turned calls of the retrieval function away.",
            action="Compare concurrent executions with reserved_concurrency and the account's quota.",
        ),
        latency,
        latency.over_a_day(
            summary=f"Of a day's calls, one in twenty ran longer than {thresholds.latency_p95_ms} ms.",
            action="Look whether the slow calls of the day are first calls after a pause: those "
            "start the function or wake the store.",
        ),
    )


def _quality(thresholds: Thresholds) -> tuple[Alarm, ...]:
    return (
        _zero_results(
            "zero-results",
            Severity.ALARM,
            thresholds.zero_result_alarm_percent,
            thresholds.min_samples,
            QUARTER_HOUR,
            action="Ask a question that is surely documented; if it finds nothing, the index is "
            "empty or the evidence floor too high.",
        ),
        _zero_results(
            "zero-results-warning",
            Severity.WARNING,
            thresholds.zero_result_warning_percent,
            thresholds.min_samples,
            DAY,
            action="Look which incidents found nothing and write the runbook that they lacked.",
        ),
        Alarm(
            "dropped-results",
            Severity.WARNING,
            {"m": Metric(telemetry.RETRIEVAL_DROPPED_RESULTS)},
            summary="Results were dropped because their lines can't be proven: somebody edited the "
            "store, or another chunker wrote it.",
            action="Ingest again, and see that the data source's transformation is chunk_documents.",
        ),
        Alarm(
            "guardrail-interventions",
            Severity.WARNING,
            {"m": Metric(telemetry.RETRIEVAL_GUARDRAIL_INTERVENED)},
            summary="The guardrail withheld the results of a query.",
            action="Find out whether it was right; if it was not, loosen the policy that matched.",
        ),
    )


def _zero_results(  # noqa: PLR0913 - an alarm's own parts
    key: str, severity: Severity, percent: float, min_samples: int, period: int, *, action: str
) -> Alarm:
    return Alarm(
        key,
        severity,
        {"n": _COUNT, "e": _ERRORS, "z": Metric(telemetry.RETRIEVAL_ZERO_RESULTS)},
        # failed queries have no results either, and are counted elsewhere
        expression=f"IF(n - e >= {min_samples}, 100 * z / (n - e), 0)",
        threshold=percent,
        period_seconds=period,
        summary=f"More than {percent:g} % of answered queries found nothing.",
        action=action,
    )


def canary_alarms() -> tuple[Alarm, ...]:
    """Return the alarms on the canary's question; a deployment without a canary has none."""
    return (
        Alarm(
            "canary",
            Severity.ALARM,
            {"m": Metric(telemetry.CANARY_FAILURES)},
            periods=3,
            datapoints=3,
            summary="For a quarter of an hour, the canary's question found nothing, failed or was not asked.",
            action="Ask the question yourself by the stack's output TryIt, and read the function's log "
            "lines that have canary set.",
            missing_breaches=True,
        ),
    )


_GATEWAY_CALLS: Final = {
    "n": Metric("Invocations", "Sum", Source.GATEWAY),
    "s": Metric("SystemErrors", "Sum", Source.GATEWAY),
    "u": Metric("UserErrors", "Sum", Source.GATEWAY),
    "t": Metric("Throttles", "Sum", Source.GATEWAY),
}


def gateway_alarms() -> tuple[Alarm, ...]:
    """Return the alarms on calls that end in the gateway; a deployment without one has none.

    The function never sees such a call, and the canary doesn't go through the gateway.
    """
    # a kind of error that never occurred has no data
    failed = "FILL(s, 0) + FILL(u, 0) + FILL(t, 0) >= n"
    return (
        Alarm(
            "gateway-outage",
            Severity.ALARM,
            _GATEWAY_CALLS,
            expression=f"IF(n >= {QUERIES_OF_AN_INCIDENT}, {failed}, 0)",
            summary="Every call of the gateway failed for five minutes.",
            action="Open the runbooks by hand, then look on the dashboard whether callers were refused "
            "(UserErrors) or the gateway failed (SystemErrors).",
        ),
        Alarm(
            "gateway-outage-slow",
            Severity.ALARM,
            _GATEWAY_CALLS,
            expression=f"IF(n >= 2, {failed}, 0)",
            period_seconds=SIX_HOURS,
            summary="Every call of the gateway failed for six hours, two or more.",
            action="As for gateway-outage: open the runbooks by hand, then look on the dashboard which "
            "errors they were.",
        ),
        Alarm(
            "gateway-errors",
            Severity.WARNING,
            {"m": _GATEWAY_CALLS["s"]},
            summary="The gateway failed to serve a call.",
            action="Look whether its role may still invoke the function's alias, then at the AWS Health "
            "Dashboard.",
        ),
        Alarm(
            "gateway-throttles",
            Severity.WARNING,
            {"m": _GATEWAY_CALLS["t"]},
            summary="The gateway turned calls away: there were more than it lets through.",
            action="Compare its calls with gateway_requests_per_minute and the account's quota.",
        ),
    )


def ingestion_alarms() -> tuple[Alarm, ...]:
    """Return the alarms on ingestion."""
    return (
        Alarm(
            "ingestion-failed-jobs",
            Severity.WARNING,
            {"m": Metric(telemetry.INGESTION_FAILED_JOBS, "Sum", Source.INGESTION)},
            summary="An ingestion job failed or was stopped.",
            action="Read the job's failure reasons in the log of start_ingestion, then run it again.",
        ),
        Alarm(
            "ingestion-failed-documents",
            Severity.WARNING,
            {"m": Metric(telemetry.INGESTION_FAILED_DOCUMENTS, "Sum", Source.INGESTION)},
            summary="An ingestion job could not index some documents.",
            action="Read their names and reasons in the log of start_ingestion.",
        ),
        Alarm(
            "ingestion-function-errors",
            Severity.WARNING,
            {"m": Metric("Errors", "Sum", Source.INGESTION_FUNCTION)},
            summary="start_ingestion crashed, or Bedrock refuses its calls; it tries again every five minutes.",
            action="Read the end of its log; changed documents are not searchable until a job ran.",
        ),
        Alarm(
            "ingestion-lost-events",
            Severity.WARNING,
            {"m": Metric("FailedInvocations", "Sum", Source.CHANGE_RULE)},
            summary="Changes of documents could not be put into the queue.",
            action="Run the command in the stack's output IngestAgain, then look at the queue's policy.",
        ),
        Alarm(
            "ingestion-dead-letters",
            Severity.WARNING,
            {"m": Metric("ApproximateNumberOfMessagesVisible", "Maximum", Source.DEAD_LETTERS)},
            summary="Changes of documents were given up: for days, no job could be started or none ended.",
            action="Read the log of start_ingestion, remove the cause, and move the messages back.",
        ),
        Alarm(
            "chunking-function-errors",
            Severity.WARNING,
            {"m": Metric("Errors", "Sum", Source.CHUNK_FUNCTION)},
            summary="chunk_documents crashed or was killed, so that its ingestion job failed.",
            action="Read the end of its log: access to a bucket, settings, or a time-out.",
        ),
        Alarm(
            "chunking-failed-files",
            Severity.WARNING,
            {"m": Metric(telemetry.CHUNKING_FAILED_FILES, "Sum", Source.CHUNKING)},
            summary="Documents yield no chunks, so they can't be found.",
            action="Read their names and reasons in the log of chunk_documents, and fix the files.",
        ),
        Alarm(
            "chunking-mismatches",
            Severity.WARNING,
            {"m": Metric(telemetry.CHUNKING_MISMATCHES, "Sum", Source.CHUNKING)},
            summary="Bedrock's parser changed the text of documents; the original's lines were kept.",
            action="Compare the document with the difference that the log of chunk_documents names.",
        ),
        Alarm(
            "chunking-drift",
            Severity.WARNING,
            {"m": Metric(telemetry.CHUNKING_NEW_DRIFT_FINDINGS, "Sum", Source.CHUNKING)},
            summary="Documents contain more commands that their tools don't accept than when they were last ingested.",
            action="Read the documents' reports below drift/ in the intermediate bucket, and fix the documents.",
        ),
    )


LATE_SECONDS: Final = 300
"""Seconds after which a step that wasn't posted is late."""


def advice_alarms() -> tuple[Alarm, ...]:
    """Return the alarms on posted advice; a deployment without destinations has none."""
    return (
        Alarm(
            "advice-late",
            Severity.WARNING,
            {"m": Metric(telemetry.ADVICE_WAITING_SECONDS, "Maximum", Source.ADVICE)},
            threshold=LATE_SECONDS,
            periods=2,
            datapoints=2,
            summary=f"Steps for an alert wait for more than {LATE_SECONDS // 60} minutes to be posted.",
            action="Read the log of advise_incident: it names the destination that is down, or the key that is refused.",
        ),
        Alarm(
            "advice-given-up",
            Severity.WARNING,
            {"m": Metric(telemetry.ADVICE_GIVEN_UP, "Sum", Source.ADVICE)},
            summary="Steps for an alert were not posted, and won't be: a destination refuses them.",
            action="Read in the log of advise_incident which destination and why: a channel or incident that is gone.",
        ),
        Alarm(
            "advice-function-errors",
            Severity.WARNING,
            {"m": Metric("Errors", "Sum", Source.ADVICE_FUNCTION)},
            summary="advise_incident crashed, or can't keep its queue; its messages come again every six minutes.",
            action="Read the end of its log, and look whether its role can use the stack's bucket.",
        ),
        Alarm(
            "advice-lost-events",
            Severity.WARNING,
            {"m": Metric("FailedInvocations", "Sum", Source.ADVICE_RULE)},
            summary="Alarms could not be put into the queue of advise_incident.",
            action="Look at the queue's policy, and open the runbooks of the alarms by hand.",
        ),
        Alarm(
            "advice-dead-letters",
            Severity.WARNING,
            {
                "m": Metric(
                    "ApproximateNumberOfMessagesVisible", "Maximum", Source.ADVICE_DEAD_LETTERS
                )
            },
            summary="Alerts can't be read, or were given up after two hours of failures.",
            action="Read the messages in the dead-letter queue, remove the cause, and move them back.",
        ),
    )


def every_alarm() -> tuple[Alarm, ...]:
    """Return all alarms that a deployment may have, with the default thresholds."""
    return (
        *retrieval_alarms(),
        *canary_alarms(),
        *gateway_alarms(),
        *ingestion_alarms(),
        *advice_alarms(),
    )
