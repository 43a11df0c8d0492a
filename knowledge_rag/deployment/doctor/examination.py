"""The examination: every check at once, each on its own, with a bound on the whole; and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.deployment.bounded import all_within
from knowledge_rag.deployment.doctor import checks
from knowledge_rag.deployment.doctor.checks import Finding, Status
from knowledge_rag.deployment.errors import CallFailed, Trouble
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future

    from knowledge_rag.deployment.doctor.checks import PlannedDeployment

    Check = Callable[[PlannedDeployment], Finding | tuple[Finding, ...]]

IDENTITY_SECONDS: Final = 8.0
REST_SECONDS: Final = 12.0
"""Together the bound on the whole: 20 seconds."""

HERE: Final[Mapping[str, Check]] = {
    checks.NODE: checks.check_node,
    checks.CDK_CLI: checks.check_cli,
}
"""Checks of this machine."""

THERE: Final[Mapping[str, Check]] = {
    **{name: checks.service_check(name) for name in checks.SERVICES},
    checks.EMBEDDING_MODEL: checks.check_embedding_model,
    checks.AGENT_MODEL: checks.check_agent_model,
    checks.AGENTS_CLASSIC: checks.check_agents_classic,
    checks.RETRIEVE_QUOTA: checks.check_retrieve,
    checks.CONCURRENCY_QUOTA: checks.check_concurrency,
    checks.CAPACITY_QUOTA: checks.check_capacity,
    checks.BOOTSTRAP: checks.check_bootstrap,
    checks.STACKS: checks.check_stacks,
    checks.COLLECTIONS: checks.check_collections,
    checks.GROUPS: checks.check_groups,
    checks.VECTOR_BUCKETS: checks.check_vector_buckets,
    checks.KNOWLEDGE_BASES: checks.check_knowledge_bases,
}
"""Checks of the account."""

ORDER: Final = (checks.CREDENTIALS, checks.REGION, *THERE, *HERE)


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
    """All findings of one examination."""

    findings: tuple[Finding, ...]

    @property
    def problems(self) -> bool:
        """Whether a deployment can't work as things are."""
        return any(finding.status is Status.PROBLEM for finding in self.findings)

    @property
    def blind(self) -> bool:
        """Whether AWS answered nothing at all, so that nothing is known of the account."""
        return not any(
            finding.asked and finding.status is not Status.UNKNOWN for finding in self.findings
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        counts = {s.value: sum(f.status is s for f in self.findings) for s in Status}
        return {"findings": [finding.to_dict() for finding in self.findings], "counts": counts}


def examine(planned: PlannedDeployment, progress: Callable[[int, int, str], None]) -> Diagnosis:
    """Run every check; none of them can stop another."""
    total = 2 + len(THERE) + len(HERE)
    found = list(_identity(planned))
    progress(2, total, checks.CREDENTIALS)
    obstacle = _obstacle(found)
    wanted = HERE if obstacle else {**THERE, **HERE}
    works = {name: partial(check, planned) for name, check in wanted.items()}
    for done, (name, ended) in enumerate(all_within(REST_SECONDS, works), start=3):
        found += _ended(name, ended)
        progress(done, total, name)
    if obstacle:
        found += [_skipped(name, obstacle) for name in THERE]
    return Diagnosis(tuple(sorted(found, key=lambda finding: ORDER.index(finding.check))))


def _identity(planned: PlannedDeployment) -> tuple[Finding, ...]:
    ask = partial(checks.check_credentials, planned.aws)
    ((name, ended),) = all_within(IDENTITY_SECONDS, {checks.CREDENTIALS: ask})
    (caller,) = _ended(name, ended)
    return (caller, checks.check_region(planned.aws, reached=caller.asked))


def _obstacle(found: list[Finding]) -> str:
    """Return why nothing in the account can be checked, ``""`` where it can."""
    for finding in found:
        if finding.status is Status.PROBLEM:
            return f"not checked: {finding.detail}"
    if not found[0].asked:
        return "not checked: AWS could not be reached"
    return ""


def _skipped(name: str, obstacle: str) -> Finding:
    return Finding(name, Status.UNKNOWN, obstacle, asked=False, skipped=True)


def _ended(
    name: str, ended: Future[Finding] | Future[Finding | tuple[Finding, ...]] | None
) -> tuple[Finding, ...]:
    if ended is None:
        action = "Try again; look at the network and its proxies if it stays so."
        return (Finding(name, Status.UNKNOWN, "no answer in time", action, asked=False),)
    try:
        found = ended.result()
    except CallFailed as error:
        return (_unknown(name, error),)
    except Exception as error:  # noqa: BLE001 - an answer that no model describes: the others go on
        detail = f"the answer makes no sense ({type(error).__name__}: {error})"
        return (Finding(name, Status.UNKNOWN, detail),)
    return found if isinstance(found, tuple) else (found,)


def _unknown(name: str, error: CallFailed) -> Finding:
    if error.trouble is Trouble.DENIED:
        return Finding(name, Status.UNKNOWN, str(error), f"Grant {error.action}, or look by hand.")
    unheard = error.trouble in (Trouble.UNREACHABLE, Trouble.TIMEOUT)
    action = "Look at the network and its proxies." if unheard else "Try again."
    return Finding(name, Status.UNKNOWN, str(error), action, asked=not unheard)


def as_text(diagnosis: Diagnosis) -> Text:
    """Lay a diagnosis out; checks that were not made for one and the same reason share a line."""
    return Text("\n").join([*_shown_findings(diagnosis), Text(verdict(diagnosis))])


def verdict(diagnosis: Diagnosis) -> str:
    """Sum a diagnosis up in one line."""
    counts = diagnosis.to_dict()["counts"]
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
    skipped = [finding for finding in diagnosis.findings if finding.skipped]
    shown = [finding for finding in diagnosis.findings if not finding.skipped]
    width = max(len(finding.check) for finding in shown) + _GAP
    for finding in shown:
        yield _shown(finding.check.ljust(width), finding)
        if finding.action:
            yield Text(" " * _STATUS_WIDTH + "-> " + neutralise(finding.action))
    if skipped:
        yield _shown(f"{len(skipped)} others".ljust(width), skipped[0])


def _shown(check: str, finding: Finding) -> Text:
    word = Text(f"{finding.status.value:<{_STATUS_WIDTH}}", _COLOURS[finding.status])
    return Text.assemble(word, check, neutralise(" ".join(finding.detail.split())))
