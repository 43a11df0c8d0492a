"""One run from the first checks to the teardown, and the teardown of stopped runs."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.deployment.aws import CallFailed
from knowledge_rag.deployment.doctor.checks import (
    DEFAULT_AGENT_MODEL,
    DEFAULT_EMBEDDING_MODEL,
    PlannedDeployment,
    Status,
)
from knowledge_rag.deployment.doctor.examination import as_text, examine
from knowledge_rag.deployment.smoke.promises import Verdict
from tools.prove_live import report as reports
from tools.prove_live.cdk import Cdk
from tools.prove_live.plan import (
    HOURS,
    OPENSEARCH,
    PRICES_OF,
    SHORT,
    Bill,
    bill,
    settings_of,
    store_of,
)
from tools.prove_live.record import Deployment, Record, only_one, unfinished
from tools.prove_live.redaction import Redactor
from tools.prove_live.report import Report
from tools.prove_live.steps import GONE, STEPS, Result, Site, carry_out
from tools.prove_live.teardown import NotRemovedError, Remover, taken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.doctor.examination import Diagnosis

AGAIN: Final = "`make prove-live-teardown` removes what is left"


class Stopped(BaseException):
    """A signal asked the run to end immediately (SIGTERM, SIGHUP)."""


@dataclass(frozen=True, slots=True)
class Run:
    """Options of a run.

    Args:
        aws: the account and region.
        profile: profile of the credentials.
        folder: folder of all records and reports.
        stores: stores to prove, keys of ``SHORT``.
        confirm: asks the person, with a description of the run; ``None`` doesn't ask.
        identifiers: whether to keep account ids and ARNs in the report.
        now: seconds of the cloud's clock.
        wait: waits for a number of seconds.
    """

    aws: Aws
    profile: str | None
    folder: Path
    stores: Sequence[str]
    confirm: Callable[[str], bool] | None
    identifiers: bool = False
    now: Callable[[], float] = time.time
    wait: Callable[[float], None] = time.sleep

    def prove(self) -> int:
        """Prove a deployment of each store; return the exit code.

        Raises:
            InvalidRequest: nothing was started.
            CallFailed: nothing was started.
        """
        with only_one(self.folder) as lock, _signals():
            account = self._account()
            for record in unfinished(self.folder):
                _say(f"{record.run} was stopped: removing what is left of it")
                self._remover(record).check_account(account)
                if not self._remove(record):
                    return ExitCode.FAILED
            diagnosis = self._examined()
            record, skipped = self._planned(account, diagnosis)
            if self.confirm is not None and not self.confirm(_announced(record)):
                return ExitCode.BAD_INPUT
            record.write(self.folder)
            report = Report(record, diagnosis, skipped)
            redactor = self._redactor(account)  # at the end the credentials may have expired
            try:
                self._carry_out(report, lock)
            finally:
                path = reports.write(report, self.folder, redactor)
                _say(f"{report.ended}\nreport: {path}")
            return _exit_code(report)

    def tear_down(self) -> int:
        """Remove the leftovers of stopped runs; return the exit code."""
        with only_one(self.folder), _signals():
            records = unfinished(self.folder)
            account = self._account() if records else ""
            for record in records:
                self._remover(record).check_account(account)
            done = [self._remove(record) for record in records]
            _say("nothing is left" if all(done) else f"something is left: see above; {AGAIN}")
            return ExitCode.OK if all(done) else ExitCode.FAILED

    def _account(self) -> str:
        return str(self.aws.call("sts", "get_caller_identity", expect="Account")["Account"])

    def _examined(self) -> Diagnosis:
        planned = PlannedDeployment(
            self.aws, "krp-000000-os", DEFAULT_EMBEDDING_MODEL, DEFAULT_AGENT_MODEL
        )
        diagnosis = examine(planned, lambda *_: None)
        if diagnosis.problems:
            sys.stderr.write(f"{as_text(diagnosis)}\n")
            raise InvalidRequest("nothing was deployed: fix what `doctor` found, then run again")
        return diagnosis

    def _planned(self, account: str, diagnosis: Diagnosis) -> tuple[Record, list[Result]]:
        """Return the run's record, unwritten, and the parts that can't be proven in this region.

        Raises:
            InvalidRequest: there is nothing to prove here, or the names are taken.
        """
        found = {check: each.status for check, each in diagnosis.findings}
        gateway = found["AgentCore Gateway"] is not Status.WARNING
        agent = found["Agents Classic"] is Status.OK
        entrypoint = {(True, True): "both", (True, False): "gateway", (False, True): "agent"}.get(
            (gateway, agent), "none"
        )
        record = Record.new(account, self.aws.region)
        skipped = []
        if not gateway:
            skipped.append(Result("gateway", Verdict.NOTE, "not offered in this region"))
        if not agent:
            skipped.append(
                Result("agent", Verdict.NOTE, "no agent in this account, so none is created")
            )
        for store in self.stores:
            if store == OPENSEARCH and found["OpenSearch Serverless"] is Status.WARNING:
                skipped.append(Result(store, Verdict.NOTE, "not offered in this region"))
                continue
            name = f"{record.run}-{SHORT[store]}"
            record.deployments.append(Deployment(name, settings_of(store, name, entrypoint)))
        if not record.deployments:
            raise InvalidRequest(f"{self.aws.region} offers none of {', '.join(self.stores)}")
        if there := taken(self.aws, record):
            raise InvalidRequest(f"nothing was deployed, since these exist: {', '.join(there)}")
        return record, skipped

    def _carry_out(self, report: Report, lock: int) -> None:
        record = report.record
        try:
            for deployment in record.deployments:
                self._prove_one(report, deployment, lock)
            report.ended = "Everything was tested, and everything was removed."
        except KeyboardInterrupt:
            report.ended = f"It was stopped by Ctrl-C; {AGAIN}."
            _say("stopping: removing what was created; press Ctrl-C again to leave it for later")
            if self._remove(record):
                report.ended = "It was stopped by Ctrl-C, and everything was removed."
        except Stopped:
            report.ended = f"It was told to end; {AGAIN}."
        except CallFailed as error:
            report.ended = f"It could not go on ({error}): get new credentials, then {AGAIN}."
        if record.left and report.ended.startswith("Everything"):
            report.ended = f"Something could not be removed; {AGAIN}."

    def _prove_one(self, report: Report, deployment: Deployment, lock: int) -> None:
        folder = self.folder / report.record.run
        cdk = Cdk(self.aws, self.profile, folder, lock)
        site = Site(
            self.aws, cdk, report.record, self.folder, deployment, self.now, self.wait, _say
        )
        began = self.now()
        try:
            for name in STEPS:
                _say(f"{deployment.name}: {name} ...")
                for found in carry_out(site, name):
                    report.results.append(found)
                    _say(f"  {found.verdict:<9} {found.step}: {found.detail}")
                if name == "deploy" and report.results[-1].verdict is not Verdict.KEPT:
                    break
            removing = self.now()
            problem = self._removed(report.record, deployment)
            verdict = Verdict.BROKEN if problem else Verdict.KEPT
            seconds = round(self.now() - removing)
            report.results.append(
                Result("teardown", verdict, problem or "nothing is left", deployment.name, seconds)
            )
        finally:
            hours = (self.now() - began) / 3600
            report.bills[deployment.name] = bill(deployment.settings, (hours, hours))

    def _removed(self, record: Record, deployment: Deployment) -> str:
        """Remove a deployment; return why some of it remains, if so."""
        _say(f"{deployment.name}: removing it ...")
        try:
            self._remover(record).remove(deployment)
        except NotRemovedError as error:
            return str(error)
        except CallFailed as error:
            if error.trouble in GONE:
                raise
            return str(error)
        deployment.removed = True
        record.write(self.folder)
        return ""

    def _remove(self, record: Record) -> bool:
        for deployment in record.left:
            if problem := self._removed(record, deployment):
                _say(f"  left: {problem}")
        return not record.left

    def _remover(self, record: Record) -> Remover:
        return Remover(self.aws, record, self.wait, _say)

    def _redactor(self, account: str) -> Redactor:
        credentials = self.aws.credentials()
        frozen = credentials.get_frozen_credentials() if credentials else None
        secrets = [frozen.access_key, frozen.secret_key, frozen.token or ""] if frozen else []
        known = [] if self.identifiers else [account]
        return Redactor([*secrets, *known], identifiers=self.identifiers)


def _announced(record: Record) -> str:
    bills = {
        each.name: bill(each.settings, HOURS[store_of(each.settings)])
        for each in record.deployments
    }
    total = sum(bills.values(), Bill(0.0, 0.0))
    hours = sum(HOURS[store_of(each.settings)][0] for each in record.deployments)
    lines = [
        f"account {record.account}, region {record.region}; about {hours:.0f} hours",
        *(
            f"  {name}: about ${each.usual:.2f}, at most ${each.at_most:.2f}"
            for name, each in bills.items()
        ),
        f"together about ${total.usual:.2f}, at most ${total.at_most:.2f} ({PRICES_OF})",
        "Everything is removed at the end. Archives of a few MB stay in the CDK bootstrap bucket.",
    ]
    return "\n".join(lines)


def _exit_code(report: Report) -> int:
    if report.record.left:
        return ExitCode.FAILED
    if report.verdicts(Verdict.BROKEN):
        return ExitCode.FINDINGS
    return ExitCode.DEGRADED if report.verdicts(Verdict.DEGRADED, Verdict.UNKNOWN) else ExitCode.OK


@contextmanager
def _signals() -> Iterator[None]:
    """Turn signals that end a program immediately into an exception."""

    def stop(*_: object) -> NoReturn:
        raise Stopped

    before = {each: signal.signal(each, stop) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
