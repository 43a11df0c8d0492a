"""Runs all checks at once, independently, within a time limit; and shows the results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.deployment.aws import CallFailed, Trouble, all_within
from knowledge_rag.deployment.doctor import checks, settings
from knowledge_rag.deployment.doctor.checks import Finding, Status
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future

    from knowledge_rag.deployment.doctor.checks import PlannedDeployment

    Check = Callable[[PlannedDeployment], Finding | tuple[Finding, ...]]

IDENTITY_SECONDS: Final = 8.0
REST_SECONDS: Final = 12.0
"""Together the limit for everything: 20 seconds."""

CREDENTIALS: Final = "credentials"
REGION: Final = "region"

HERE: Final[Mapping[str, Check]] = {
    "Node.js": checks.check_node,
    "CDK command line": checks.check_cli,
    "advice destinations": settings.check_destinations,
}
"""Checks of this machine, and of a file on it."""

THERE: Final[Mapping[str, Check]] = {
    **{name: checks.service_check(name) for name in checks.SERVICES},
    "embedding model": checks.check_embedding_model,
    "agent model": checks.check_agent_model,
    "Agents Classic": checks.check_agents_classic,
    "quota: Retrieve": checks.check_retrieve,
    "quota: Lambda concurrency": checks.check_concurrency,
    "quota: OpenSearch capacity": checks.check_capacity,
    "documents bucket": settings.check_documents,
    "encryption key": settings.check_key,
    "permissions boundary": settings.check_boundary,
    "advice topics": settings.check_topics,
    "advice keys": settings.check_keys,
    "advice model": settings.check_advice_model,
    "CDK bootstrap": checks.check_bootstrap,
    "stacks": checks.check_stacks,
    "leftover collections": checks.check_collections,
    "leftover collection groups": checks.check_groups,
    "leftover vector buckets": checks.check_vector_buckets,
    "leftover knowledge bases": checks.check_knowledge_bases,
}
"""Checks of the account."""

ORDER: Final = (CREDENTIALS, REGION, *THERE, *HERE)


_COLOURS: Final = {
    Status.OK: "green",
    Status.WARNING: "yellow",
    Status.PROBLEM: "bold red",
    Status.UNKNOWN: "magenta",
}
_STATUS_WIDTH: Final = max(map(len, Status)) + 2
_GAP: Final = 2


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings of one examination, each with the name of its check, in the order of the checks."""

    findings: tuple[tuple[str, Finding], ...]

    @property
    def problems(self) -> bool:
        """Whether a deployment can't work currently."""
        return any(found.status is Status.PROBLEM for _, found in self.findings)

    @property
    def blind(self) -> bool:
        """Whether AWS answered nothing at all, so that the account's state is unknown."""
        return not any(
            found.asked and found.status is not Status.UNKNOWN for _, found in self.findings
        )

    @property
    def counts(self) -> dict[str, int]:
        """Number of findings by status."""
        return {each.value: sum(f.status is each for _, f in self.findings) for each in Status}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        findings = [
            {
                "check": check,
                "status": found.status.value,
                "detail": found.detail,
                "action": found.action,
            }
            for check, found in self.findings
        ]
        return {"findings": findings, "counts": self.counts}


def examine(planned: PlannedDeployment, progress: Callable[[int, int, str], None]) -> Diagnosis:
    """Run every check; none of them can stop another."""
    total = len(ORDER)
    ask = partial(checks.check_credentials, planned.aws)
    ((_, ended),) = all_within(IDENTITY_SECONDS, {CREDENTIALS: ask})
    (caller,) = _ended(ended)
    region = checks.check_region(planned.aws, reached=caller.asked)
    found = [(CREDENTIALS, caller), (REGION, region)]
    progress(2, total, CREDENTIALS)
    obstacle = _obstacle(caller, region)
    wanted = HERE if obstacle else {**THERE, **HERE}
    works = {name: partial(check, planned) for name, check in wanted.items()}
    for done, (name, result) in enumerate(all_within(REST_SECONDS, works), start=3):
        found += [(name, each) for each in _ended(result)]
        progress(done, total, name)
    if obstacle:
        skipped = Finding(Status.UNKNOWN, obstacle, asked=False, skipped=True)
        found += [(name, skipped) for name in THERE]
    return Diagnosis(tuple(sorted(found, key=lambda each: ORDER.index(each[0]))))


def _obstacle(caller: Finding, region: Finding) -> str:
    """Return why nothing in the account can be checked, ``""`` if it can."""
    for finding in (caller, region):
        if finding.status is Status.PROBLEM:
            return f"not checked: {finding.detail}"
    return "" if caller.asked else "not checked: AWS could not be reached"


def _ended(
    ended: Future[Finding] | Future[Finding | tuple[Finding, ...]] | None,
) -> tuple[Finding, ...]:
    if ended is None:
        action = "Try again; check the network and its proxies if it persists."
        return (Finding(Status.UNKNOWN, "no answer in time", action, asked=False),)
    try:
        found = ended.result()
    except CallFailed as error:
        return (_unknown(error),)
    except Exception as error:  # noqa: BLE001 - an answer that no model describes: the others go on
        return (checks.unknown(f"the answer is invalid ({type(error).__name__}: {error})", ""),)
    return found if isinstance(found, tuple) else (found,)


def _unknown(error: CallFailed) -> Finding:
    if error.trouble is Trouble.DENIED:
        return checks.unknown(str(error), f"Grant {error.action}, or check manually.")
    unheard = error.trouble in (Trouble.UNREACHABLE, Trouble.TIMEOUT)
    action = "Check the network and its proxies." if unheard else "Try again."
    return Finding(Status.UNKNOWN, str(error), action, asked=not unheard)


def as_text(diagnosis: Diagnosis) -> Text:
    """Lay out a diagnosis; checks skipped for the same reason share a line."""
    return Text("\n").join([*_shown_findings(diagnosis), Text(verdict(diagnosis))])


def verdict(diagnosis: Diagnosis) -> str:
    """Sum a diagnosis up in one line."""
    counts = diagnosis.counts
    problems, warnings, unknown = counts["problem"], counts["warning"], counts["unknown"]
    counts_text = (
        f"{counted(problems, 'problem')}, {counted(warnings, 'warning')}, {unknown} unknown"
    )
    if diagnosis.problems:
        return f"A deployment can't work yet: {counts_text}."
    if diagnosis.blind:
        return f"Nothing could be checked: {counts_text}."
    return f"Nothing found that would stop a deployment: {counts_text}."


def _shown_findings(diagnosis: Diagnosis) -> Iterator[Text]:
    skipped = [found for _, found in diagnosis.findings if found.skipped]
    shown = [(check, found) for check, found in diagnosis.findings if not found.skipped]
    width = max(len(check) for check, _ in shown) + _GAP
    for check, found in shown:
        yield _shown(check.ljust(width), found)
        if found.action:
            yield Text(" " * _STATUS_WIDTH + "-> " + neutralise(found.action))
    if skipped:
        yield _shown(f"{len(skipped)} others".ljust(width), skipped[0])


def _shown(check: str, finding: Finding) -> Text:
    word = Text(f"{finding.status.value:<{_STATUS_WIDTH}}", _COLOURS[finding.status])
    return Text.assemble(word, check, neutralise(" ".join(finding.detail.split())))
