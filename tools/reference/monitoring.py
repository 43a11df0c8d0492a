"""``docs/reference/monitoring.md``: metrics and alarms, from the constants shared by runtime and stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from infra.alarms import HANDBOOK, Emitters
from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import Metric, Source, every_alarm
from tests.support.local import PROJECT
from tools.reference.markdown import attribute_docs, cell, code, codes, page, table

if TYPE_CHECKING:
    from knowledge_rag.core.alarms import Alarm

ALARMS: Final = every_alarm()
_FUNCTIONS: Final = ("retrieve_knowledge", "chunk_documents", "start_ingestion", "advise_incident")
_NAMES: Final = Emitters(
    deployment="<name>",
    retrieve_function="<name>-retrieve-knowledge",
    chunk_function="<name>-chunk-documents",
    ingestion_function="<name>-start-ingestion",
    change_rule="<name>-changes",
    dead_letters="<name>-changes-failed.fifo",
    gateway_arn="<ARN>",
    advice_function="<name>-advise-incident",
    advice_rule="<name>-advise-alarms",
    advice_dead_letters="<name>-alerts-failed.fifo",
)


def monitoring_page() -> str:
    """Return the page: metrics by emitter, alarms with their bounds, settings of bounds."""
    return page(
        "Metrics and alarms",
        "`<name>` is the deployment's setting `name`. What to do about an alarm: "
        "[the handbook](../operations/alarms.md).",
        _metrics(),
        _sources(),
        _alarms(),
    )


def metrics() -> dict[str, str]:
    """Return our own metrics: constant -> name."""
    return {
        constant: name
        for constant, name in vars(telemetry).items()
        if constant.isupper() and name.startswith("Knowledge") and name != telemetry.NAMESPACE
    }


def _metrics() -> str:
    docs = attribute_docs(telemetry)
    rows = [
        [code(name), codes(emitters(constant)), cell(docs[constant]), _watched(name)]
        for constant, name in metrics().items()
    ]
    return f"## Metrics\n\n{table(['metric', 'emitted by', 'description', 'alarms'], rows)}"


def emitters(constant: str) -> list[str]:
    """Return the functions whose code uses a metric, or Lambda if none does."""
    named = [
        function
        for function in _FUNCTIONS
        for path in (PROJECT / "lambdas" / function).glob("*.py")
        if f"telemetry.{constant}" in path.read_text(encoding="utf-8")
    ]
    return sorted(set(named)) or ["Lambda"]


def _watched(name: str) -> str:
    watching = [
        alarm for alarm in ALARMS if name in {metric.name for metric in alarm.metrics.values()}
    ]
    return ", ".join(f"[{alarm.key}](#alarms)" for alarm in watching)


def _sources() -> str:
    rows = [[code(each), *_place(each)] for each in Source]
    return f"## Namespaces\n\n{table(['source', 'namespace', 'dimension'], rows)}"


def _place(source: Source) -> list[str]:
    metric = _NAMES.metric(Metric("any", source=source))
    dimensions = metric.dimensions or {}
    return [code(metric.namespace), codes(f"{key}={value}" for key, value in dimensions.items())]


def _alarms() -> str:
    heading = (
        "## Alarms\n\nAn alarm is called `<name>-<alarm>` and fires above its threshold. "
        f"`<name>-health` is red while an alarm of severity `ALARM` is. Missing data fires `canary` only, which a deployment has unless its store sleeps. "
        f"Thresholds are the defaults. [Settings](settings.md#of-a-deployment) change "
        f"some. Each alarm links its section in `{HANDBOOK}`."
    )
    header = ["alarm", "severity", "value", "threshold", "when", "means"]
    return f"{heading}\n\n{table(header, map(_alarm, ALARMS))}"


def _alarm(alarm: Alarm) -> list[str]:
    return [
        f"[{alarm.key}](../operations/alarms.md#{alarm.key})",
        alarm.severity,
        _value(alarm),
        f"{alarm.threshold:g}",
        f"{alarm.datapoints} of {alarm.periods} periods of {alarm.period_seconds // 60} min",
        cell(alarm.summary),
    ]


def _value(alarm: Alarm) -> str:
    parts = {
        id_: f"{metric.statistic} of `{metric.name}` ({metric.source})"
        for id_, metric in alarm.metrics.items()
    }
    if alarm.expression in parts:  # a single metric needs no expression
        return parts[alarm.expression]
    return ", ".join([code(alarm.expression), *(f"`{id_}` {part}" for id_, part in parts.items())])
