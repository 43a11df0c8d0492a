"""Tests a deployment, one step after the other; no step can stop another."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core import telemetry
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.deployment.aws import CallFailed, Trouble
from knowledge_rag.deployment.smoke.clients import FunctionClient
from knowledge_rag.deployment.smoke.promises import NOTHING_INGESTED, Verdict, check_ingestion
from knowledge_rag.deployment.smoke.questions import floor_questions
from knowledge_rag.deployment.smoke.trial import try_deployment
from tools.prove_live.plan import OPENSEARCH, store_of
from tools.prove_live.teardown import DENIAL, Remover

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.deployment.aws import Aws
    from tools.prove_live.cdk import Cdk
    from tools.prove_live.record import Deployment, Record

QUESTION: Final = "How do we fail over a database?"
POLL_SECONDS: Final = 15.0
INGEST_SECONDS: Final = 40 * 60.0
"""A job starts six minutes after the last document, and wakes the store."""
CANARY_SECONDS: Final = 15 * 60.0
METRIC_SECONDS: Final = 10 * 60.0
RIGHTS_SECONDS: Final = 5 * 60.0
"""Maximum time for IAM to propagate a change."""
LOG_SECONDS: Final = 10 * 60.0
IDLE_SECONDS: Final = 12 * 60.0
"""After ten minutes without a query the collection has no capacity."""
WAKE_SECONDS: Final = 3 * 60.0


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a step.

    Args:
        step: its name; docs/operations/doctor-and-smoke.md explains each.
        deployment: the tested one, ``""`` for none.
        seconds: its duration.
        figures: JSON, for a closer look.
    """

    step: str
    verdict: Verdict
    detail: str
    deployment: str = ""
    seconds: float = 0.0
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Site:
    """A deployment under test, and its clock.

    Args:
        now: seconds of the cloud's clock.
        wait: waits for a number of seconds.
        say: reports progress to the person who waits.
    """

    aws: Aws
    cdk: Cdk
    record: Record
    folder: Path
    deployment: Deployment
    now: Callable[[], float]
    wait: Callable[[float], None]
    say: Callable[[str], None]
    outputs: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The deployment's name."""
        return self.deployment.name

    def until(self, seconds: float, look: Callable[[], bool]) -> float | None:
        """Check repeatedly; return after how many seconds it was true, ``None`` if not in time."""
        began = self.now()
        while True:
            if look():
                return self.now() - began
            if self.now() - began >= seconds:
                return None
            self.wait(POLL_SECONDS)

    def ask(self, question: str = QUESTION) -> RetrievalOutcome:
        """Ask the function."""
        client = FunctionClient(self.aws, self.outputs["RetrieveFunctionArn"])
        return client.ask(question).outcome

    def total(self, metric: str, began: float) -> float | None:
        """Return a metric's sum since a time; ``None`` if it has no data."""
        answer = self.aws.call(
            "cloudwatch",
            "get_metric_statistics",
            Namespace=telemetry.NAMESPACE,
            MetricName=metric,
            Dimensions=[{"Name": "service", "Value": self.name}],
            StartTime=datetime.fromtimestamp(began, UTC) - timedelta(minutes=1),
            EndTime=datetime.fromtimestamp(self.now(), UTC) + timedelta(minutes=1),
            Period=60,
            Statistics=["Sum"],
        )
        points = answer["Datapoints"]
        return sum(each["Sum"] for each in points) if points else None


def deploy(site: Site) -> Iterator[Result]:
    """Deploy both stacks."""
    site.cdk.deploy(site.deployment.settings)
    from knowledge_rag.deployment.stacks import find_stacks, outputs_of

    stacks = find_stacks(site.aws, site.name)
    site.outputs.update(outputs_of(stacks.values()))
    states = {part: stack.status if stack else "missing" for part, stack in stacks.items()}
    complete = all(stack and stack.usable for stack in stacks.values())
    detail = ", ".join(f"{part} {state}" for part, state in states.items())
    yield Result("deploy", Verdict.KEPT if complete else Verdict.BROKEN, detail)


def ingest(site: Site) -> Iterator[Result]:
    """Wait until the deployment's own documents are ingested."""
    ids = site.outputs["KnowledgeBaseId"], site.outputs["DataSourceId"]
    waiting = (Verdict.DEGRADED, Verdict.UNKNOWN)

    def over() -> bool:
        found = check_ingestion(site.aws, *ids)
        return found.verdict not in waiting and found.detail != NOTHING_INGESTED

    seconds = site.until(INGEST_SECONDS, over)
    found = check_ingestion(site.aws, *ids)
    after = f" after {seconds:.0f} s" if seconds is not None else ""
    yield Result("ingest", found.verdict, found.detail + after)


def smoke(site: Site) -> Iterator[Result]:
    """Ask through every entry point, compare every citation, measure the floor and write it."""
    said = 0

    def progress(done: int, total: int, what: str) -> None:
        nonlocal said
        if done * 4 // total != said:
            said = done * 4 // total
            site.say(f"{done} of {total} questions ({what})")

    trial = try_deployment(site.aws, site.name, floor_questions(), progress, apply=True)
    for promise in trial.promises:
        detail = promise.detail + (f" -> {promise.action}" if promise.action else "")
        yield Result(f"smoke: {promise.name}", promise.verdict, detail)
    yield Result("smoke", Verdict.NOTE, "figures", figures=trial.figures)


def canary(site: Site) -> Iterator[Result]:
    """Wait for the canary's next answer; earlier ones may be from a time without documents."""
    if store_of(site.deployment.settings) == OPENSEARCH:
        yield Result("canary", Verdict.NOTE, "none, since this store sleeps")
        return
    began = site.now()
    seconds = site.until(
        CANARY_SECONDS, lambda: site.total(telemetry.CANARY_FAILURES, began) is not None
    )
    if seconds is None:
        yield Result("canary", Verdict.BROKEN, f"no data after {CANARY_SECONDS / 60:.0f} minutes")
        return
    failures = site.total(telemetry.CANARY_FAILURES, began)
    verdict = Verdict.BROKEN if failures else Verdict.KEPT
    yield Result("canary", verdict, f"asks; {failures:.0f} of its questions failed")


def fault(site: Site) -> Iterator[Result]:
    """Revoke the function's right to retrieve: the answer has to report it, and the alarm has to fire."""
    function = site.aws.call(
        "lambda", "get_function_configuration", FunctionName=site.outputs["RetrieveFunctionArn"]
    )
    site.deployment.denied_role = function["Role"].rpartition("/")[2]
    site.record.write(site.folder)
    began = site.now()
    denial = {"Effect": "Deny", "Action": "bedrock:Retrieve", "Resource": "*"}
    site.aws.call(
        "iam",
        "put_role_policy",
        RoleName=site.deployment.denied_role,
        PolicyName=DENIAL,
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [denial]}),
    )
    try:
        yield from _under_fault(site, began)
    finally:
        Remover(site.aws, site.record, site.wait, site.say).restore(site.deployment)
        site.deployment.denied_role = ""
        site.record.write(site.folder)
    healthy = site.until(RIGHTS_SECONDS, lambda: site.ask().status is not Status.DEGRADED)
    if healthy is None:
        yield Result("fault: restored", Verdict.BROKEN, "still degraded after the right is back")
    else:
        yield Result("fault: restored", Verdict.KEPT, f"answers {healthy:.0f} s after")


def _under_fault(site: Site, began: float) -> Iterator[Result]:
    seen: list[RetrievalOutcome] = []

    def degraded() -> bool:
        seen.append(site.ask())
        return seen[-1].status is Status.DEGRADED

    seconds = site.until(RIGHTS_SECONDS, degraded)
    last = seen[-1]
    if seconds is None:
        yield Result("fault: answer", Verdict.BROKEN, f"answers {last.status} without the right")
        return
    honest = last.reason is Reason.ACCESS_DENIED and not last.results
    detail = f"degraded ({last.reason}), {len(last.results)} results, {seconds:.0f} s after"
    yield Result("fault: answer", Verdict.KEPT if honest else Verdict.BROKEN, detail)
    metric = telemetry.RETRIEVAL_PERMANENT_ERRORS
    seconds = site.until(METRIC_SECONDS, lambda: bool(site.total(metric, began)))
    missing = f"{metric} has no data after {METRIC_SECONDS / 60:.0f} minutes"
    yield (
        Result("fault: metric", Verdict.BROKEN, missing)
        if seconds is None
        else Result("fault: metric", Verdict.KEPT, f"{metric} after {seconds:.0f} s")
    )
    alarm = f"{site.name}-permanent-errors"

    def raised() -> bool:
        found = site.aws.call("cloudwatch", "describe_alarms", AlarmNames=[alarm])["MetricAlarms"]
        if any(each["StateValue"] == "ALARM" for each in found):
            return True
        site.ask()  # the alarm evaluates the last minute, which may have passed
        return False

    seconds = site.until(METRIC_SECONDS, raised)
    yield (
        Result("fault: alarm", Verdict.BROKEN, "permanent-errors is not in alarm")
        if seconds is None
        else Result("fault: alarm", Verdict.KEPT, f"permanent-errors after {seconds:.0f} s")
    )


def logs(site: Site) -> Iterator[Result]:
    """Check whether the gateway's and the knowledge base's logs arrive, and which fields a record has."""
    found = site.aws.call(
        "logs", "describe_log_groups", logGroupNamePrefix=f"/aws/vendedlogs/{site.name}-"
    )["logGroups"]
    for group in sorted(each["logGroupName"] for each in found):
        part = group.removeprefix(f"/aws/vendedlogs/{site.name}-")
        events: list[dict[str, Any]] = []

        def arrived(group: str = group, events: list[dict[str, Any]] = events) -> bool:
            page = site.aws.call("logs", "filter_log_events", logGroupName=group, limit=1)
            events.extend(page["events"])
            return bool(events)

        seconds = site.until(LOG_SECONDS, arrived)
        if seconds is None:
            detail = f"nothing arrived in {LOG_SECONDS / 60:.0f} minutes"
            yield Result(f"logs: {part}", Verdict.DEGRADED, detail)
        else:
            fields = _fields(events[0]["message"])
            yield Result(f"logs: {part}", Verdict.KEPT, "arrive", figures={"fields": fields})


def _fields(message: str) -> list[str]:
    """Return the names of a record's members, and none of their values."""
    try:
        record = json.loads(message)
    except ValueError:
        return ["text"]
    return sorted(record) if isinstance(record, dict) else [type(record).__name__]


def dashboard(site: Site) -> Iterator[Result]:
    """Check which series of the dashboard and of the alarms exist; those of alarms by their dimensions."""
    body = json.loads(
        site.aws.call("cloudwatch", "get_dashboard", DashboardName=site.outputs["DashboardName"])[
            "DashboardBody"
        ]
    )
    wanted = sorted({each for widget in body["widgets"] for each in _series(widget)})
    missing = [
        f"{namespace} {metric}"
        for namespace, metric in wanted
        if not _listed(site, Namespace=namespace, MetricName=metric)
    ]
    watched = list(_watched(site))
    missing += [
        f"{each['Namespace']} {each['MetricName']} of an alarm"
        for each in watched
        if not _listed(site, **each)
    ]
    total = len(wanted) + len(watched)
    detail = f"{total - len(missing)} of {total} metrics have data"
    yield Result("dashboard", Verdict.NOTE, detail, figures={"without_data": missing})


def _listed(site: Site, **metric: Any) -> bool:
    return bool(site.aws.call("cloudwatch", "list_metrics", **metric)["Metrics"])


def _watched(site: Site) -> Iterator[dict[str, Any]]:
    """Yield the metrics of the gateway's alarms, whose dimensions only a run in AWS can confirm."""
    described = site.aws.call(
        "cloudwatch", "describe_alarms", AlarmNamePrefix=f"{site.name}-gateway-"
    )["MetricAlarms"]
    seen = set()
    for alarm in described:
        queries = [
            each["MetricStat"]["Metric"]
            for each in alarm.get("Metrics", ())
            if "MetricStat" in each
        ]
        for metric in queries or [alarm]:
            picked = {key: metric[key] for key in ("Namespace", "MetricName", "Dimensions")}
            if picked["MetricName"] not in seen:
                seen.add(picked["MetricName"])
                yield picked


def _series(widget: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for each in widget.get("properties", {}).get("metrics", ()):
        if len(each) >= 2 and isinstance(each[0], str) and isinstance(each[1], str):
            yield each[0], each[1]


def wake(site: Site) -> Iterator[Result]:
    """Let the store fall asleep, and measure how long it takes to answer again."""
    if store_of(site.deployment.settings) != OPENSEARCH:
        return
    site.wait(IDLE_SECONDS)
    first = site.ask()
    if first.status is not Status.DEGRADED:
        yield Result("wake", Verdict.NOTE, "the first query was answered, so it did not sleep")
        return
    seconds = site.until(WAKE_SECONDS, lambda: site.ask().status is not Status.DEGRADED)
    detail = f"the first query was degraded ({first.reason}); "
    if seconds is None:
        yield Result("wake", Verdict.BROKEN, f"{detail}still so after {WAKE_SECONDS:.0f} s")
    else:
        yield Result(
            "wake", Verdict.KEPT, f"{detail}answered within {seconds + POLL_SECONDS:.0f} s"
        )


STEPS: Final = {
    "deploy": deploy,
    "ingest": ingest,
    "smoke": smoke,
    "canary": canary,
    "fault": fault,
    "logs": logs,
    "dashboard": dashboard,
    "wake": wake,
}
"""In order; if the first fails, the others are skipped."""

GONE: Final = frozenset({Trouble.NO_CREDENTIALS, Trouble.EXPIRED, Trouble.INVALID})
"""Failures after which no call can work."""


def carry_out(site: Site, name: str) -> Iterator[Result]:
    """Run a step, and yield its results, each with the time since the previous one.

    Raises:
        CallFailed: the credentials have expired.
    """
    began = site.now()
    try:
        for found in STEPS[name](site):
            seconds, began = site.now() - began, site.now()
            yield Result(
                found.step, found.verdict, found.detail, site.name, round(seconds), found.figures
            )
    except CallFailed as error:
        if error.trouble in GONE:
            raise
        yield Result(name, Verdict.UNKNOWN, str(error), site.name, round(site.now() - began))
    except Exception as error:  # noqa: BLE001 - the other steps still run
        detail = f"{type(error).__name__}: {error}"
        yield Result(name, Verdict.BROKEN, detail, site.name, round(site.now() - began))
