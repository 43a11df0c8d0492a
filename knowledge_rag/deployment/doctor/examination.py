"""The examination: every check at once, each on its own, and an end that comes in time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.deployment.bounded import all_within
from knowledge_rag.deployment.doctor import agents_classic, cdk, identity, leftovers, models, quotas
from knowledge_rag.deployment.doctor.finding import Finding, Status
from knowledge_rag.deployment.doctor.services import SERVICES, service_check
from knowledge_rag.deployment.doctor.stack_states import STACKS, check_stacks
from knowledge_rag.deployment.errors import CallFailed, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knowledge_rag.deployment.bounded import Ended
    from knowledge_rag.deployment.doctor.finding import Patient

    Check = Callable[[Patient], tuple[Finding, ...]]

IDENTITY_SECONDS: Final = 8.0
REST_SECONDS: Final = 12.0
"""Together the bound on the whole: 20 seconds."""

HERE: Final[Mapping[str, Check]] = {cdk.NODE: cdk.check_node, cdk.CLI: cdk.check_cli}
"""Checks of this machine."""

THERE: Final[Mapping[str, Check]] = {
    **{name: service_check(name) for name in SERVICES},
    models.EMBEDDING: models.check_embedding_model,
    models.AGENT: models.check_agent_model,
    agents_classic.AGENTS_CLASSIC: agents_classic.check_agents_classic,
    quotas.RETRIEVE: quotas.check_retrieve,
    quotas.CONCURRENCY: quotas.check_concurrency,
    quotas.CAPACITY: quotas.check_capacity,
    cdk.BOOTSTRAP: cdk.check_bootstrap,
    STACKS: check_stacks,
    leftovers.COLLECTIONS: leftovers.check_collections,
    leftovers.GROUPS: leftovers.check_groups,
    leftovers.VECTOR_BUCKETS: leftovers.check_vector_buckets,
    leftovers.KNOWLEDGE_BASES: leftovers.check_knowledge_bases,
}
"""Checks of the account."""

ORDER: Final = (identity.CREDENTIALS, identity.REGION, *THERE, *HERE)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings of one examination.

    Args:
        findings: in the order of :data:`ORDER`.
    """

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
        """Give the JSON form."""
        counts = {s.value: sum(f.status is s for f in self.findings) for s in Status}
        return {"findings": [finding.to_dict() for finding in self.findings], "counts": counts}


def examine(patient: Patient, progress: Callable[[int, int, str], None]) -> Diagnosis:
    """Run every check; none of them can stop another.

    Args:
        patient: what is examined.
        progress: called with how many checks are done, of how many, and the latest one.
    """
    total = 2 + len(THERE) + len(HERE)
    found = list(_identity(patient))
    progress(2, total, identity.CREDENTIALS)
    obstacle = _obstacle(found)
    checks = HERE if obstacle else {**THERE, **HERE}
    works = {name: partial(check, patient) for name, check in checks.items()}
    for done, (name, ended) in enumerate(all_within(REST_SECONDS, works), start=3):
        found += _ended(name, ended)
        progress(done, total, name)
    if obstacle:
        found += [_skipped(name, obstacle) for name in THERE]
    return Diagnosis(tuple(sorted(found, key=lambda finding: ORDER.index(finding.check))))


def _identity(patient: Patient) -> tuple[Finding, ...]:
    def ask() -> tuple[Finding, ...]:
        return (identity.check_credentials(patient.aws),)

    ((name, ended),) = all_within(IDENTITY_SECONDS, {identity.CREDENTIALS: ask})
    (caller,) = _ended(name, ended)
    return (caller, identity.check_region(patient.aws, reached=caller.asked))


def _obstacle(found: list[Finding]) -> str:
    """Say why the account can't be asked anything, ``""`` where it can."""
    for finding in found:
        if finding.status is Status.PROBLEM:
            return f"not checked: {finding.detail}"
    if not found[0].asked:
        return "not checked: AWS could not be reached"
    return ""


def _skipped(name: str, obstacle: str) -> Finding:
    return Finding(name, Status.UNKNOWN, obstacle, asked=False, skipped=True)


def _ended(name: str, ended: Ended[tuple[Finding, ...]] | None) -> tuple[Finding, ...]:
    if ended is None:
        action = "Try again; look at the network and its proxies if it stays so."
        return (Finding(name, Status.UNKNOWN, "no answer in time", action, asked=False),)
    try:
        return ended.value
    except CallFailed as error:
        return (_unknown(name, error),)
    except Exception as error:  # noqa: BLE001 - an answer that no model describes: the others go on
        detail = f"the answer makes no sense ({type(error).__name__}: {error})"
        return (Finding(name, Status.UNKNOWN, detail),)


def _unknown(name: str, error: CallFailed) -> Finding:
    if error.trouble is Trouble.DENIED:
        return Finding(name, Status.UNKNOWN, str(error), f"Grant {error.action}, or look by hand.")
    unheard = error.trouble in (Trouble.UNREACHABLE, Trouble.TIMEOUT)
    action = "Look at the network and its proxies." if unheard else "Try again."
    return Finding(name, Status.UNKNOWN, str(error), action, asked=not unheard)
